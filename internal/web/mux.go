package web

import "net/http"

// Mux is http.ServeMux for handlers that return errors. What ServeMux itself would answer in plain text becomes an error
// too: no route is 404, a wrong method is 405 with Allow. It never redirects: a path must be written exactly as its route.
type Mux struct {
	mux    *http.ServeMux
	render ErrorRenderer
}

// NewMux is a mux without routes.
func NewMux() *Mux { return &Mux{mux: http.NewServeMux()} }

// RenderErrors chooses how errors of this mux's routes are shown. Without it, the mux around this one decides; the default is JSON.
func (m *Mux) RenderErrors(render ErrorRenderer) { m.render = render }

// Handle adds a route in the pattern language of http.ServeMux, as in "GET /v1/contacts/{id}".
func (m *Mux) Handle(pattern string, handle HandlerFunc) {
	m.mux.Handle(pattern, route(handle))
}

// Serve is the mux as a handler: for Plumbing.Wrap, or as a route of another mux.
func (m *Mux) Serve(w http.ResponseWriter, r *http.Request) error {
	x, ok := w.(*exchange)
	if !ok { // a handler has wrapped the exchange in a writer of its own
		x = &exchange{w: w}
	}
	if m.render != nil {
		x.render = m.render
	}
	x.routing, x.err = true, nil
	m.mux.ServeHTTP(x, r)
	if !x.routing {
		return x.err
	}
	x.routing = false
	r.Pattern = "" // ServeMux puts the target of its redirects here, with the raw path
	if x.muxStatus == http.StatusMethodNotAllowed {
		return MethodNotAllowed(x.muxHeader.Get("Allow"))
	}
	return NotFound()
}

// route stores a handler's error in the exchange, because ServeMux has no place for it.
type route HandlerFunc

func (handle route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := w.(*exchange)
	x.routing = false
	x.err = handle(x, r)
}
