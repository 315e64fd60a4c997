package web

import (
	"errors"
	"net/http"
	"time"
)

// exchange is one request in the wrapper: the ResponseWriter that handlers get, and what the log line will say.
type exchange struct {
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
	turns   *turns
	inTurn  bool // it has a place
	health  *Health
	holds   []hold // of the budget
	quiet   bool   // a probe, which is logged only if it fails

	writeFailed bool // the client left, or was too slow

	// While a mux looks for a route, its own answers, which are plain text, are held back.
	routing   bool
	muxStatus int
	muxHeader http.Header
}

// exchangeOf finds the wrapper's exchange inside the writers that handlers may have put around it: the one nearest to the
// connection. Outside of the wrapper it is a new one, which is never read.
func exchangeOf(w http.ResponseWriter) *exchange {
	var found *exchange
	for {
		switch v := w.(type) {
		case *exchange:
			found, w = v, v.w
		case interface{ Unwrap() http.ResponseWriter }:
			w = v.Unwrap()
		default:
			if found == nil {
				found = new(exchange)
			}
			return found
		}
	}
}

// Note records the account and the key of a request for the log.
func Note(w http.ResponseWriter, account, key int64) {
	x := exchangeOf(w)
	x.account, x.key = account, key
}

// NoteUser records the user of the console who made a request for the log.
func NoteUser(w http.ResponseWriter, user int64) { exchangeOf(w).user = user }

// RenderErrors chooses how an error of this request is shown. A mux with a renderer of its own that gets the request later
// overrides it.
func RenderErrors(w http.ResponseWriter, render ErrorRenderer) { exchangeOf(w).render = render }

// RequestID is the id in the answer's header, for pages that show it.
func RequestID(w http.ResponseWriter) string { return exchangeOf(w).id }

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
		x.begin(status)
	}
	x.w.WriteHeader(status)
}

// begin is called before the headers are sent. A server that stops closes the connection after this answer, even if it was asked before.
func (x *exchange) begin(status int) {
	x.status = status
	x.leaveTurn()
	if x.health.isStopping() {
		x.w.Header()["Connection"] = connectionClose
	}
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.routing {
		return len(b), nil
	}
	if x.status == 0 {
		x.begin(http.StatusOK)
	}
	n, err := x.write(b)
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) && !errors.Is(err, http.ErrContentLength) {
		x.writeFailed = true
	}
	return n, err
}

// A client must read each step of a long answer within the pace. So a long answer may take as long as it needs, and a client that
// does not read is dropped soon. Short answers have the server's write timeout.
const paceStep = 64 << 10

var pace = 10 * time.Second

func (x *exchange) write(b []byte) (written int, err error) {
	for {
		step := b[written:min(len(b), written+paceStep)]
		if x.bytes+int64(len(b)-written) > paceStep {
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(pace)) // a writer without deadlines never blocks
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

// FlushError is what http.ResponseController calls.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.begin(http.StatusOK)
	}
	return http.NewResponseController(x.w).Flush()
}
