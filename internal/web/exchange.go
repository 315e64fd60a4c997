package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// exchange is one request on its way through the wrapper: the ResponseWriter that handlers get, and what the log
// line will say. Exchanges are pooled; nobody may keep one after its handler returned.
type exchange struct {
	request
	supply
}

// request is what an exchange forgets when it is used again.
type request struct {
	w       http.ResponseWriter
	render  ErrorRenderer
	start   time.Time
	id      string
	status  int
	bytes   int64
	account int64
	key     int64
	user    int64
	err     error
	budget  *budget
	holds   []hold // of the budget
	quiet   bool   // a probe: not worth a line unless it fails

	writeFailed bool // the client left, or was too slow

	// While a mux looks for a route, what it would say itself is held back: its answers are plain text.
	routing   bool
	muxStatus int
	muxHeader http.Header

	attrs [12]slog.Attr
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func newExchange(w http.ResponseWriter) *exchange {
	x := exchanges.Get().(*exchange)
	x.w, x.start = w, time.Now()
	return x
}

func (x *exchange) release() {
	x.request = request{}
	exchanges.Put(x)
}

// supply hands out the small texts and slices that the headers of an answer are made of. They outlive the exchange,
// because net/http sends headers after the handler returned, so each is handed out once; but many come out of one
// allocation.
type supply struct {
	text   strings.Builder
	values []string
}

func (s *supply) string(b []byte) string {
	if s.text.Cap()-s.text.Len() < len(b) {
		s.text.Reset()
		s.text.Grow(max(1024, len(b)))
	}
	from := s.text.Len()
	s.text.Write(b)
	return s.text.String()[from:]
}

// value is a header value of one text.
func (s *supply) value(text string) []string {
	if len(s.values) == 0 {
		s.values = make([]string, 32)
	}
	value := s.values[:1:1]
	s.values = s.values[1:]
	value[0] = text
	return value
}

// exchangeOf finds the wrapper's exchange behind the writers that handlers may have put around it: the last one on
// the way to the connection.
func exchangeOf(w http.ResponseWriter) *exchange {
	var found *exchange
	for {
		switch v := w.(type) {
		case *exchange:
			found, w = v, v.w
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			return found
		}
	}
}

// Note tells the log on whose behalf a request was made.
func Note(w http.ResponseWriter, account, key int64) {
	if x := exchangeOf(w); x != nil {
		x.account, x.key = account, key
	}
}

// NoteUser tells the log which user of the console made a request.
func NoteUser(w http.ResponseWriter, user int64) {
	if x := exchangeOf(w); x != nil {
		x.user = user
	}
}

// RenderErrors chooses how an error of this request is shown. A mux that renders errors itself, and takes the request later,
// has the last word.
func RenderErrors(w http.ResponseWriter, render ErrorRenderer) {
	if x := exchangeOf(w); x != nil {
		x.render = render
	}
}

// RequestID is the id that the answer carries, for pages that show it to people.
func RequestID(w http.ResponseWriter) string {
	if x := exchangeOf(w); x != nil {
		return x.id
	}
	return ""
}

func (x *exchange) Header() http.Header {
	if x.routing {
		if x.muxHeader == nil {
			x.muxHeader = make(http.Header)
		}
		return x.muxHeader
	}
	return x.w.Header()
}

func (x *exchange) WriteHeader(status int) {
	if x.routing {
		x.muxStatus = status
		return
	}
	if x.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		x.status = status
	}
	x.w.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.routing {
		return len(b), nil
	}
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.write(b)
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) && !errors.Is(err, http.ErrContentLength) {
		x.writeFailed = true
	}
	return n, err
}

// A client must take each step of a long answer within the pace: then the answer may last as long as it needs, and a client
// that does not read is given up soon. Short answers have the time that the server gives everything.
const paceStep = 64 << 10

var pace = 10 * time.Second

func (x *exchange) write(b []byte) (written int, err error) {
	for {
		step := b[written:min(len(b), written+paceStep)]
		if x.bytes+int64(len(b)-written) > paceStep {
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(pace)) // a writer without deadlines does not block
		}
		n, err := x.w.Write(step)
		written += n
		x.bytes += int64(n)
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// Flush sends what was written so far.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is what http.ResponseController looks for before it unwraps.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return http.NewResponseController(x.w).Flush()
}
