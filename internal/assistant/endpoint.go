package assistant

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/guard"
	"donorbook/internal/web"
)

// Endpoint answers assistants that speak to the server itself, over HTTP. It keeps nothing between two requests, so that any node can
// answer any of them.
type Endpoint struct {
	api      http.Handler
	protocol func() http.Handler
}

// NewEndpoint answers for an API, which is given the requests of the tools as if the assistant had sent them itself. The OpenAPI document is
// read for the first assistant, so that the start does not wait for it.
func NewEndpoint(openapi func() []byte, version string, api http.Handler) *Endpoint {
	d := &Endpoint{api: api}
	d.protocol = sync.OnceValue(func() http.Handler {
		server := newServer(openapi(), version, d.send)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true,
			// Serve refuses all browsers. This protection would refuse what a proxy on this machine forwards.
			DisableLocalhostProtection: true,
		})
	})
	return d
}

// outer is the request in which an assistant calls a tool, with its answer.
type outer struct {
	w http.ResponseWriter
	r *http.Request
}

type outerKey struct{}

// copies is how many bytes of memory a byte takes while the protocol reads or writes it.
const copies = 6

// maxLevels is how deep lists and objects may lie in each other in a message. The protocol's own reader takes time for
// each level of each byte: a megabyte of brackets would keep it busy for seconds.
const maxLevels = 16

const tooDeep = "The message has more than 16 levels of lists and objects."

// isDeep looks at the brackets outside of texts. A message that is not JSON is refused later, and no later than here.
func isDeep(message []byte) bool {
	levels, inText := 0, false
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if levels++; levels > maxLevels {
				return true
			}
		case c == '}' || c == ']':
			levels--
		}
	}
	return false
}

// Serve answers one message of the protocol. The key was checked before.
func (d *Endpoint) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Header["Origin"] != nil {
		// Only browsers send it. No page of ours does; one of someone else must not reach a server in the network of its reader.
		return &web.Error{Status: http.StatusForbidden, Message: "Web pages cannot use this address."}
	}
	body, err := web.ReadBody(w, r, web.MaxBody)
	if err == nil {
		err = web.RequireJSON(r)
	}
	if err == nil {
		err = web.Hold(w, copies*len(body))
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return &web.Error{Status: http.StatusBadRequest, Message: "Send one message at a time: batches are not supported."}
	}
	if isDeep(body) {
		return &web.Error{Status: http.StatusBadRequest, Message: tooDeep}
	}
	r = r.WithContext(context.WithValue(r.Context(), outerKey{}, outer{w, r}))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	d.protocol().ServeHTTP(w, r) // returns after the tool has
	return nil
}

const broken = told("Something went wrong on our side. Please try again later.")

// send lets the API answer a request of a tool, in this process.
func (d *Endpoint) send(r *http.Request) (a answer, err error) {
	caller := r.Context().Value(outerKey{}).(outer)
	// The request gets a context of its own: that of the caller knows the connection, which the API would write to.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(caller.r.Context(), cancel)()
	r = r.WithContext(ctx)
	r.Host, r.RemoteAddr, r.TLS, r.RequestURI = caller.r.Host, caller.r.RemoteAddr, caller.r.TLS, r.URL.RequestURI()
	for name, values := range caller.r.Header {
		if name == "Authorization" || web.IsForwarding(name) {
			r.Header[name] = values
		}
	}
	record := &recorder{answer: answer{header: http.Header{}}, limit: maxAnswer}
	if !record.serve(d.api, r) {
		return a, broken
	}
	if err := web.Hold(caller.w, copies*len(record.body)); err != nil && r.Method == http.MethodGet { // a change is made already
		_, message := web.StatusOf(err)
		return a, told(message)
	}
	return record.answer, nil
}

// recorder keeps an answer of the API, up to a limit.
type recorder struct {
	answer
	limit int
}

// serve reports whether the answer is whole. The tools run outside of the server's own goroutines: a panic that it would end a
// connection with would end the process here.
func (a *recorder) serve(api http.Handler, r *http.Request) (whole bool) {
	return guard.Do(func() error { api.ServeHTTP(a, r); return nil }) == nil
}

func (a *recorder) Header() http.Header { return a.header }

func (a *recorder) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *recorder) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.large = a.large || len(a.body)+len(b) > a.limit; !a.large {
		a.body = append(a.body, b...)
	}
	return len(b), nil
}
