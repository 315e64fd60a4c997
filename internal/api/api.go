// Package api is the JSON API: it turns requests into inputs of crm, calls the store, and turns results into bytes.
// It has no rules of its own.
package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// Options are what the API needs besides the store.
type Options struct {
	Proxies      *web.Proxies
	Region       string // of phone numbers without +
	RateLimit    int    // requests per minute and key, 0 is no limit
	Created      func(merged bool)
	OwnAuthority bool // the server made its certificate itself, so curl needs an option to trust it
}

// API serves /v1, the contract document and its reference page.
type API struct {
	store     *book.Book
	options   Options
	mux       *web.Mux
	keys      *web.Limiter[int64] // requests of each key
	strangers web.Networks        // requests without a valid key, by address
}

// call is what is known about a request before its handler runs.
type call struct {
	op   *operation
	who  access.Principal
	id   int64  // of a contact, a campaign or a merge, from the path
	code string // public id of a gift or a plan, or the name of a tag, from the path

	strict bool // the client wants no part of its request to be ignored
}

// New is the API over a store.
func New(s *book.Book, o Options) *API {
	a := &API{
		store: s, options: o, mux: web.NewMux(),
		keys: web.NewLimiter[int64](o.RateLimit), strangers: web.NewNetworks(o.RateLimit, time.Minute),
	}
	for _, op := range withOthers(operations) {
		a.mux.Handle(op.route, a.guard(&op))
	}
	page := sync.OnceValue(func() web.File { return newDocsPage(o.OwnAuthority) })
	a.mux.Handle("GET /docs", a.counted(func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Security-Policy", docsPolicy)
		return page().Serve(w, r)
	}))
	for path, file := range documents {
		a.mux.Handle("GET "+path, a.counted(func(w http.ResponseWriter, r *http.Request) error {
			w.Header().Set("Cache-Control", "no-cache")
			return file().Serve(w, r)
		}))
	}
	return a
}

// Mux takes further routes, such as the probes.
func (a *API) Mux() *web.Mux { return a.mux }

// Serve answers a request. A request that fails without a valid key is counted by address, so that guessing keys is limited too
// and every answer has the headers of the limit.
func (a *API) Serve(w http.ResponseWriter, r *http.Request) error {
	trimSlashes(r)
	err := a.mux.Serve(w, r)
	if err == nil || w.Header()["X-Ratelimit-Limit"] != nil {
		return err
	}
	if tooMany := a.countStranger(w, r); tooMany != nil && errors.Is(err, crm.ErrUnauthenticated) {
		return tooMany // only a client that guesses keys has to wait; a wrong path stays a 404
	}
	return err
}

// trimSlashes makes /v1/contacts/ the path /v1/contacts. An escaped slash is the end of a name and stays.
func trimSlashes(r *http.Request) {
	escaped := r.URL.EscapedPath()
	trimmed := strings.TrimRight(escaped, "/")
	if !strings.HasPrefix(escaped, "/v1/") || trimmed == escaped {
		return
	}
	shorter := *r.URL
	shorter.Path = shorter.Path[:len(shorter.Path)-(len(escaped)-len(trimmed))]
	if shorter.RawPath != "" {
		shorter.RawPath = trimmed
	}
	r.URL = &shorter
}

// counted counts a page that needs no key by the client's address, and shows it even over the limit: many people may share
// an address.
func (a *API) counted(next web.HandlerFunc) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		_ = a.countStranger(w, r)
		return next(w, r)
	}
}

// countStranger counts a request without a valid key, and sets the headers of the limit.
func (a *API) countStranger(w http.ResponseWriter, r *http.Request) error {
	remaining, wait, ok := a.strangers.Take(a.options.Proxies.Client(r), a.store.Now())
	a.strangers.SetHeaders(w, remaining)
	if !ok {
		return web.TooManyRequests(wait)
	}
	return nil
}

// guard checks, in this order, the id in the path, the key, the rate limit and the permission. A change that the client may send again
// goes through once.
func (a *API) guard(op *operation) web.HandlerFunc {
	isRepeatable := op.isRepeatable()
	return func(w http.ResponseWriter, r *http.Request) error {
		c := call{op: op}
		if op.id != nil && !op.id.parse(&c, r.PathValue(op.id.name)) {
			return web.NotFound()
		}
		var err error
		if c.who, err = a.admit(w, r, op.permission); err != nil {
			return err
		}
		if len(r.URL.RawQuery) > maxQuery {
			return errLongQuery
		}
		if r.Header["If-Match"] != nil && !op.tagged {
			return errNoTag
		}
		if prefers := r.Header["Prefer"]; prefers != nil {
			c.prefer(w, prefers)
		}
		if r.URL.RawQuery != "" {
			if err := c.ignore(w, "X-Ignored-Query", unknownIn(r.URL.RawQuery, op.query)); err != nil {
				return err
			}
		}
		if keys := r.Header["Idempotency-Key"]; keys != nil && isRepeatable {
			return a.once(w, r, c, keys)
		}
		return a.run(w, r, c)
	}
}

// run lets the handler answer. A body that the operation has no use for is read nevertheless: a client of HTTP/2 would take an answer before its end
// for a failure.
func (a *API) run(w http.ResponseWriter, r *http.Request, c call) error {
	if c.op.ignoresBody() {
		body, err := web.ReadBody(w, r, web.MaxBody)
		if err == nil && len(body) > 0 {
			err = c.ignore(w, "X-Ignored-Body", doc.KeysOf(body))
		}
		if err != nil {
			return err
		}
	}
	return refusal(c.op.handle(a, w, r, c))
}

var errNoTag = &web.Error{Status: http.StatusPreconditionFailed, Message: "Nothing here has an ETag to compare with If-Match, so nothing was done. Send the request without If-Match."}

// maxQuery is how long a query string may be, in bytes: a list repeats it in each of its links.
const maxQuery = 8 << 10

var errLongQuery = &web.Error{Status: http.StatusRequestURITooLong, Message: "The query string must have at most 8192 bytes."}

// admit checks the key, the rate limit and the permission; a key with any of several permissions is admitted.
func (a *API) admit(w http.ResponseWriter, r *http.Request, permission access.Permission) (who access.Principal, err error) {
	secret, ok := bearer(r.Header["Authorization"])
	if !ok {
		if account, ok := r.Context().Value(ownAccount{}).(int64); ok {
			return access.Principal{Account: account, Permissions: access.AllPermissions}, nil
		}
		return who, crm.ErrUnauthenticated
	}
	if who, err = a.store.Authenticate(r.Context(), secret); err != nil {
		return who, err
	}
	web.Note(w, who.Account, who.Key)
	remaining, wait, ok := a.keys.Take(who.Key, a.store.Now())
	a.keys.SetHeaders(w, remaining)
	if !ok {
		return who, web.TooManyRequests(wait)
	}
	if err := web.InTurn(w, r); err != nil {
		return who, err
	}
	if who.Permissions&permission == 0 {
		w.Header().Set("X-Required-Permission", strings.Join(permission.Names(), ", "))
		return who, crm.ErrForbidden
	}
	return who, nil
}

// ownAccount is the key of a context whose requests are made in this process, by someone who can open the database.
type ownAccount struct{}

// ForAccount is a context for requests without a key, which may do everything with an account. They are in the history as the context says.
func ForAccount(ctx context.Context, account int64) context.Context {
	return context.WithValue(ctx, ownAccount{}, account)
}

// HandleKeyed adds a route for clients with any valid key.
func (a *API) HandleKeyed(pattern string, handle web.HandlerFunc) {
	a.mux.Handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
		if _, err := a.admit(w, r, access.AllPermissions); err != nil {
			return err
		}
		return handle(w, r)
	})
}

// by is the context of a change, for the history of what is changed, with the condition that the client has made.
func (c *call) by(r *http.Request) context.Context {
	ctx := r.Context()
	if c.who.Key != 0 {
		ctx = store.By(ctx, history.APIChannel, "API key "+c.who.KeyName)
	}
	if tags := r.Header["If-Match"]; tags != nil {
		ctx = store.IfMatch(ctx, tags)
	}
	return ctx
}

// refusal is the API's policy for what the store cannot give: what is foreign, archived or was never given out is forbidden, so that no
// client can probe other accounts. What no field of the request is wrong about, but something that is stored, is a conflict with that.
func refusal(err error) error {
	var invalid *doc.Invalid
	switch {
	case errors.Is(err, crm.ErrNotFound), errors.Is(err, crm.ErrArchived):
		return crm.ErrForbidden
	case errors.As(err, &invalid) && invalid.Faults[0].Field == "":
		return &web.Error{Status: http.StatusConflict, Message: err.Error()}
	}
	return err
}

// bearer takes the secret out of the header: the word Bearer in any letter case, one space, the secret.
func bearer(values []string) (string, bool) {
	const scheme = "bearer "
	if len(values) != 1 || len(values[0]) <= len(scheme) || !strings.EqualFold(values[0][:len(scheme)], scheme) {
		return "", false
	}
	return values[0][len(scheme):], true
}

// parseID reads a decimal integer. One that is too large for an id is still an integer: it becomes 0, which is
// never an id.
func parseID(text string) (id int64, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if id > (1<<62)/10 {
			id = -1 // too large
		}
		if id >= 0 {
			id = id*10 + int64(c-'0')
		}
	}
	if id < 0 || digits != text {
		id = 0
	}
	return id, true
}
