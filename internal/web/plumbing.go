package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/guard"
)

// Plumbing is what every request passes through. The zero value works: it logs to the default logger, counts nothing and trusts
// proxies on this machine.
type Plumbing struct {
	Log     *slog.Logger
	Metrics *Metrics
	Proxies *Proxies
	Health  *Health // says when the server stops; may be nil

	// RequireHTTPS refuses requests that did not arrive over HTTPS, here or at a trusted proxy, unless they come
	// from this machine. It matters if the server itself speaks plain HTTP.
	RequireHTTPS bool
}

// Wrap puts the plumbing around a handler.
func (p *Plumbing) Wrap(next HandlerFunc) http.Handler {
	log := p.Log
	if log == nil {
		log = slog.Default()
	}
	return &wrapper{Plumbing: *p, log: log.Handler(), next: next, budget: newBudget(), turns: newTurns()}
}

type wrapper struct {
	Plumbing
	log    slog.Handler
	next   HandlerFunc
	budget *budget
	turns  *turns
}

func (p *wrapper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{w: w, start: time.Now(), budget: p.budget, turns: p.turns, health: p.Health}
	defer p.finish(x, r)
	p.Metrics.begin()
	x.err = p.serve(x, r)
	if x.err != nil {
		p.fail(x, r)
	} else if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
}

// serve sets the headers of every answer, refuses requests that no handler should see, and calls the handler.
func (p *wrapper) serve(x *exchange, r *http.Request) error {
	x.id = p.requestID(r)
	h := x.w.Header()
	h["X-Request-Id"] = []string{x.id}
	h["X-Content-Type-Options"] = nosniff
	h["Cache-Control"] = noStore
	if r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0) {
		// It may have had a Content-Length too, which net/http removes. A proxy that went by that would take what follows for
		// something else than we do (request smuggling), so this is the last request of the connection.
		h["Connection"] = connectionClose
	}
	if len(r.RequestURI)+headerSize(r.Header) > headerLimit {
		clear(r.Header) // so that they take no memory while a slow client reads the answer
		return &Error{Status: http.StatusRequestHeaderFieldsTooLarge, Message: messageLargeHeaders}
	}
	if !validHost(r.Host) {
		return &Error{Status: http.StatusBadRequest, Message: "The Host header is not a host name."}
	}
	if p.Proxies.arrivedOverHTTPS(r) {
		if isPublicName(r.Host) {
			h["Strict-Transport-Security"] = hsts
		}
	} else if p.RequireHTTPS && !isProbe(r.URL.Path) && !FromThisMachine(r) {
		return httpsOnly()
	}
	return p.next(x, r)
}

// requestID is the id that a trusted proxy gave, so that its log and ours can be read side by side, or a new one.
func (p *wrapper) requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) && p.Proxies.trustsPeer(r) {
		return given[0]
	}
	return rand.Text()
}

// validRequestID accepts what is safe in a log and in a header: 1 to 64 letters, digits, dots, dashes, underscores.
func validRequestID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; !isLetterOrDigit(c) && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// fail renders the error of a handler.
func (p *wrapper) fail(x *exchange, r *http.Request) {
	if errors.Is(x.err, context.Canceled) && r.Context().Err() == nil {
		x.err = fmt.Errorf("%w: %v", crm.ErrUnavailable, x.err) // the server gave up, not the client
	}
	if x.status != 0 {
		// Half an answer must not look complete. finish logs, then cuts the connection.
		panic(http.ErrAbortHandler)
	}
	h := x.w.Header()
	h["Cache-Control"] = noStore
	for _, key := range [...]string{"Content-Encoding", "Content-Length", "Content-Disposition", "Etag", "Last-Modified"} {
		delete(h, key)
	}
	if x.render != nil {
		x.render(x, r, x.err)
	} else {
		WriteJSONError(x, x.err)
	}
}

// finish runs at the end of every request, also of one that panicked: it logs, counts and releases what the request held.
func (p *wrapper) finish(x *exchange, r *http.Request) {
	x.leaveTurn()
	x.letGo()
	panicked := recover()
	if panicked == nil {
		p.record(x, r)
		drain(x, r)
		return
	}
	x.routing = false
	if panicked != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http compares
		x.err = guard.Of(panicked)
		if x.status == 0 {
			p.fail(x, r)
			p.record(x, r)
			return
		}
	}
	p.record(x, r)
	panic(http.ErrAbortHandler)
}

// record writes the line of the access log and counts the request. It never contains a path without a route, nor a query:
// both may hold personal data.
func (p *wrapper) record(x *exchange, r *http.Request) {
	took := time.Since(x.start)
	status := x.status
	switch {
	case x.writeFailed, x.err == nil && status == 0:
		status = StatusClientClosed
	case x.err != nil:
		status, _ = StatusOf(x.err)
	}
	if r.Method == http.MethodHead {
		x.bytes = 0
	}
	p.Metrics.end(r.Method, r.Pattern, status, took)
	p.logLine(x, r, status, took)
}

func (p *wrapper) logLine(x *exchange, r *http.Request, status int, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case x.quiet && (status < http.StatusInternalServerError || p.Health.isStopping()): // a server that stops is not ready, as it should be
		level = slog.LevelDebug
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	}
	ctx := r.Context()
	if !p.log.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("request_id", x.id),
		slog.String("method", knownMethod(r.Method)),
		slog.String("route", routeOf(r.Pattern)),
		slog.Int("status", status),
		slog.Int64("bytes", x.bytes),
		slog.Duration("duration", took),
	)
	if client := p.Proxies.Client(r); client.IsValid() { // a trusted proxy may have sent none that is
		attrs = append(attrs, slog.String("client", client.String()))
	}
	if x.account != 0 {
		attrs = append(attrs, slog.Int64("account", x.account))
	}
	if x.key != 0 {
		attrs = append(attrs, slog.Int64("key", x.key))
	}
	if x.user != 0 {
		attrs = append(attrs, slog.Int64("user", x.user))
	}
	if x.err != nil {
		if private := cause(x.err, status); private != nil {
			attrs = append(attrs, slog.String("error", private.Error()))
		}
	}
	line := slog.NewRecord(x.start.Add(took), level, "request", 0)
	line.AddAttrs(attrs...)
	_ = p.log.Handle(ctx, line) // there is no other place to report it
}

// routeOf is a pattern without its method, or "none" if no route matched.
func routeOf(pattern string) string {
	if pattern == "" {
		return "none"
	}
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return pattern
}

// knownMethod keeps made-up methods out of metrics and logs.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	default:
		return "other"
	}
}
