package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ReadBody returns the whole body of a request, of at most limit bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if known, ok := r.Body.(*knownBody); ok {
		return known.body, nil
	}
	switch {
	case r.ContentLength > limit:
		return nil, bodyTooLarge(limit)
	case r.ContentLength == 0 || r.Body == nil:
		return nil, nil
	case r.ContentLength < 0:
		return readChunks(w, r, limit)
	}
	if err := Hold(w, bodyCopies*int(r.ContentLength)); err != nil {
		return nil, err
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, brokenBody(err)
	}
	return body, nil
}

// knownBody is a body that was read already.
type knownBody struct {
	io.ReadCloser
	body []byte
}

// WithBody is a request whose body was read already: ReadBody returns it again.
func WithBody(r *http.Request, body []byte) *http.Request {
	again := *r
	again.Body = &knownBody{r.Body, body}
	return &again
}

// readChunks reads a body of unknown length.
func readChunks(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, min(limit, smallBody)+1))
	if err == nil && len(body) > smallBody {
		if err := Hold(w, bodyCopies*int(limit)); err != nil {
			return nil, err
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r.Body, limit+1-int64(len(body))))
		body = append(body, rest...)
	}
	if err != nil {
		return nil, brokenBody(err)
	}
	if int64(len(body)) > limit {
		return nil, bodyTooLarge(limit)
	}
	return body, nil
}

// bodyCopies is how many bytes of memory a byte of a body takes: itself, and the copy that the decoded strings are parts of.
const bodyCopies = 2

// smallBody is how much of a body of unknown length is read before it counts as large.
const smallBody = budgetFree / bodyCopies

// PacedBody is the body of a request that may be long, such as a file. It may take as long as the client needs, while each step of it arrives
// within the pace.
func PacedBody(w http.ResponseWriter, r *http.Request) io.Reader {
	return &pacedBody{body: r.Body, control: http.NewResponseController(w)}
}

type pacedBody struct {
	body    io.Reader
	control *http.ResponseController
	left    int // bytes of the step
}

func (p *pacedBody) Read(b []byte) (int, error) {
	if p.left <= 0 {
		p.left = paceStep
		_ = p.control.SetReadDeadline(time.Now().Add(pace)) // a reader without deadlines is one of a test
		_ = p.control.SetWriteDeadline(time.Now().Add(answerTime))
	}
	n, err := p.body.Read(b)
	p.left -= n
	if err != nil && !errors.Is(err, io.EOF) {
		err = brokenBody(err)
	}
	return n, err
}

// answerTime is how long the answer may take after the last step of a body.
const answerTime = time.Minute

func brokenBody(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Status: http.StatusRequestTimeout, Message: "The request body did not arrive in time.", Err: err}
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read to its end.", Err: err}
}

// maxDrain is how much of a refused body is read and discarded.
const maxDrain = 16 << 20

// drain reads the rest of a refused request. Simple clients send everything before they read the answer: if the connection were
// closed at once, they would see it break and never learn why. net/http itself does this for 256 KiB only. The answer is sent
// first, for clients that read while they send. The request's read timeout ends it in any case.
func drain(x *exchange, r *http.Request) {
	switch {
	case r.ContentLength == 0 || x.status < http.StatusBadRequest || x.writeFailed:
		return
	case r.ProtoMajor != 1 || r.Header["Expect"] != nil:
		return // HTTP/2 resets only the stream; a client that sent Expect sends no body after a refusal
	}
	if x.FlushError() == nil {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // the answer was sent, so an error does not matter
	}
}

// RequireJSON refuses a body whose type is not JSON in UTF-8. A body without a type is taken for JSON.
func RequireJSON(r *http.Request) error {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return notReadable("The request body must not be compressed: send it without Content-Encoding.")
	}
	value := r.Header.Get("Content-Type")
	if value == "" || value == "application/json" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(value)
	if err != nil {
		return notJSON()
	}
	sub, isApplication := strings.CutPrefix(kind, "application/")
	if !isApplication || sub != "json" && !strings.HasSuffix(sub, "+json") {
		return notJSON()
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return notReadable("The request body must be in UTF-8: send Content-Type: application/json without another charset.")
	}
	return nil
}

// net/http sets Content-Length for answers up to this size, and sends longer ones in chunks.
const countedByServer = 2048

// BeginJSON begins an answer of unknown length.
func BeginJSON(w http.ResponseWriter, status int) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
}

// WriteJSON answers with JSON.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h["Content-Type"] = jsonType
	if len(body) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// budget limits the memory of large bodies and answers while slow clients send or read them. Small ones are free: the number of
// connections limits them. No owner gets more than what was free for another, so that several who take what
// they can get leave something.
type budget struct {
	mu     sync.Mutex
	used   int
	owners map[owner]int
}

// owner is who the memory is held for: an account, or a user, or all strangers together.
type owner struct{ account, user int64 }

const (
	budgetTotal = 32 << 20 // for all together
	budgetShare = 8 << 20  // for one owner
	budgetFree  = 64 << 10 // a body or an answer of this size is not counted
)

func newBudget() *budget { return &budget{owners: make(map[owner]int)} }

func (b *budget) take(o owner, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owners[o]+bytes > min(budgetShare, budgetTotal-b.used) {
		return false
	}
	b.used += bytes
	b.owners[o] += bytes
	return true
}

func (b *budget) give(o owner, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	if b.owners[o] -= bytes; b.owners[o] == 0 {
		delete(b.owners, o)
	}
}

// hold is a part of the budget that a request has taken.
type hold struct {
	owner owner
	bytes int
}

// Hold reserves memory for a large body or answer until the request is answered. If too much is held already, the error is a 503.
func Hold(w http.ResponseWriter, bytes int) error {
	x := exchangeOf(w)
	if bytes <= budgetFree || x.budget == nil {
		return nil
	}
	o := owner{account: x.account}
	if x.account == 0 {
		o.user = x.user
	}
	if !x.budget.take(o, bytes) {
		return errBudget
	}
	x.holds = append(x.holds, hold{o, bytes})
	return nil
}

// letGo gives back what the request holds.
func (x *exchange) letGo() {
	for _, h := range x.holds {
		x.budget.give(h.owner, h.bytes)
	}
	x.holds = nil
}

var errBudget = &Error{
	Status: http.StatusServiceUnavailable, Message: "Too many large requests are being answered. Please try again in a moment.",
	Header: http.Header{"Retry-After": {"1"}}, Err: errors.New("too many large bodies and answers are in flight"),
}
