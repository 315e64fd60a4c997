// Package stripetest is a Stripe for tests: it takes requests as Stripe does, has the page on which people pay, keeps the books, and sends events. Everything it sends is
// checked against the published schema by the tests of the module honest, and what it claims about Stripe's behavior has its source there.
package stripetest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Object is anything that Stripe sends.
type Object = map[string]any

// Server is a Stripe with one organization. Its test mode and its live mode are two servers.
type Server struct {
	URL    string
	Key    string // that is accepted
	Secret string // that signs events

	LateFees bool                  // fees are known only after Fees, as at Stripe, where they come in the background
	Sent     func(o Object)        // sees each object that is sent, and each event
	Asked    func(r *http.Request) // sees each request, with its form

	mu      sync.Mutex
	http    *httptest.Server
	live    bool
	skip    time.Duration // by which its clock is ahead
	objects map[string]Object
	ids     map[string][]string   // of each kind of object, oldest first
	found   map[string][]string   // the same, by what an object names: refund charge ch_1
	wants   map[string]url.Values // the forms that sessions were made by
	answers map[string]answer     // by idempotency key
	outbox  []Delivery
	faults  []int
	forbid  string
	broke   map[string]bool // subscriptions whose card is declined
}

type answer struct {
	asked  string
	status int
	body   []byte
}

// New starts a server. Close stops it.
func New(live bool) *Server {
	mode := map[bool]string{true: "live", false: "test"}[live]
	s := &Server{Key: "rk_" + mode + "_0123456789abcdef", Secret: "whsec_0123456789abcdef", live: live, objects: map[string]Object{}, ids: map[string][]string{}, found: map[string][]string{}, wants: map[string]url.Values{}, answers: map[string]answer{}, broke: map[string]bool{}}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// lock locks the server, until what it returns is called.
func (s *Server) lock() (unlock func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Fail answers the next requests with these statuses.
func (s *Server) Fail(statuses ...int) {
	defer s.lock()()
	s.faults = append(s.faults, statuses...)
}

// Revoke lets the key be refused from now on; Forbid lets it be refused for paths that contain a word.
func (s *Server) Revoke() {
	defer s.lock()()
	s.Key = "revoked"
}

// Forbid takes a permission from the key: requests whose method and path contain the word are refused, such as "POST /v1/refunds".
func (s *Server) Forbid(word string) {
	defer s.lock()()
	s.forbid = word
}

// Delivery is an event on its way.
type Delivery struct {
	Event, Type string
	Body        []byte
}

// Deliveries are the events that were not delivered yet, in the order in which they happened.
func (s *Server) Deliveries() []Delivery {
	defer s.lock()()
	waiting := s.outbox
	s.outbox = nil
	return waiting
}

// Shuffle loses some deliveries, doubles some, and brings them into any order.
func Shuffle(r *rand.Rand, all []Delivery, lost, doubled float64) (some []Delivery) {
	for _, d := range all {
		if r.Float64() >= lost {
			some = append(some, d)
		}
		if r.Float64() < doubled {
			some = append(some, d)
		}
	}
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some
}

// Sign is the header of a delivery.
func Sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// Post delivers an event to an address, as Stripe does.
func (s *Server) Post(from *http.Client, address string, d Delivery) (status int, err error) {
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(string(d.Body)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Stripe-Signature", Sign(d.Body, s.Secret, time.Now()))
	response, err := from.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// fault is an answer that refuses.
type fault struct {
	status              int
	kind, code, message string
}

func (f *fault) Error() string { return f.message }

func invalid(code, message string) error { return fails(http.StatusBadRequest, code, message) }

func fails(status int, code, message string) error {
	return &fault{status, "invalid_request_error", code, message}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer s.lock()()
	_ = r.ParseForm() // what is no form has no values
	if s.Asked != nil {
		s.Asked(r)
	}
	if id, found := strings.CutPrefix(r.URL.Path, "/c/pay/"); found {
		s.page(w, r, id)
		return
	}
	if len(s.faults) > 0 {
		status := s.faults[0]
		s.faults = s.faults[1:]
		s.write(w, nil, &fault{status, "api_error", "", "Something went wrong."})
		return
	}
	switch key, _, _ := r.BasicAuth(); {
	case r.Header.Get("Authorization") != "Bearer "+s.Key && key != s.Key:
		s.write(w, nil, fails(http.StatusUnauthorized, "api_key_expired",
			"Expired API Key provided: rk_test_*********cdef"))
		return
	case s.forbid != "" && strings.Contains(r.Method+" "+r.URL.Path, s.forbid):
		s.write(w, nil, fails(http.StatusForbidden, "",
			"The provided key 'rk_test_*********cdef' does not have the required permissions for this endpoint on account 'acct_1'."))
		return
	}
	key, asked := r.Header.Get("Idempotency-Key"), r.Method+" "+r.URL.Path+" "+r.PostForm.Encode()
	if before, known := s.answers[key]; known && key != "" && r.Method == http.MethodPost {
		if before.asked != asked {
			s.write(w, nil, &fault{http.StatusBadRequest, "idempotency_error", "",
				"Keys for idempotent requests can only be used with the same parameters they were first used with."})
			return
		}
		w.Header().Set("Idempotent-Replayed", "true")
		w.WriteHeader(before.status)
		_, _ = w.Write(before.body)
		return
	}
	o, err := s.do(r, strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/"))
	status, body := s.write(w, o, err)
	if key != "" && r.Method == http.MethodPost {
		s.answers[key] = answer{asked, status, body}
	}
}

func (s *Server) write(w http.ResponseWriter, o Object, err error) (status int, body []byte) {
	status = http.StatusOK
	if err != nil {
		f := err.(*fault)
		status, o = f.status, Object{"error": Object{"type": f.kind, "code": f.code, "message": f.message}}
		if f.code == "" {
			delete(o["error"].(Object), "code")
		}
	} else if s.Sent != nil {
		s.Sent(o)
	}
	body = encode(o)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked has gone away
	return status, body
}

// do answers a request.
func (s *Server) do(r *http.Request, path []string) (o Object, err error) {
	kind := strings.TrimSuffix(path[0], "s")
	if kind == "checkout" {
		kind, path = "checkout.session", path[1:]
	}
	switch {
	case bases[kind] == nil:
		return nil, fails(http.StatusNotFound, "", "Unrecognized request URL.")
	case r.Method == http.MethodGet && len(path) == 1:
		return s.list(kind, r.Form), nil
	case r.Method == http.MethodPost && len(path) == 1:
		o, err = s.create(kind, r.PostForm)
	default:
		o = s.objects[path[1]]
		if o == nil || o["object"] != kind {
			return nil, fails(http.StatusNotFound, "resource_missing", "No such "+kind+": '"+path[1]+"'")
		}
		if r.Method != http.MethodGet {
			o, err = s.change(o, r.Method == http.MethodDelete, r.PostForm)
		}
	}
	if err != nil {
		return nil, err
	}
	return s.expanded(copied(o), r.Form), nil
}

// expanded is an object with what the request wants to see of the objects that it names.
func (s *Server) expanded(o Object, form url.Values) Object {
	for _, path := range values(form, "expand[") {
		s.expand(o, strings.Split(path, "."))
	}
	return o
}

func (s *Server) expand(o Object, path []string) {
	if len(path) == 0 || o == nil {
		return
	}
	switch key := path[0]; {
	case o["object"] == "charge" && key == "refunds" && o[key] == nil:
		o[key] = s.list("refund", url.Values{"charge": {o["id"].(string)}})
	case o["object"] == "invoice" && key == "payments" && o[key] == nil:
		o[key] = s.list("invoice_payment", url.Values{"invoice": {o["id"].(string)}})
	}
	switch v := o[path[0]].(type) {
	case string:
		if known := s.objects[v]; known != nil {
			inner := copied(known)
			s.expand(inner, path[1:])
			o[path[0]] = inner
		}
	case Object:
		s.expand(v, path[1:])
	case []any:
		for _, element := range v {
			if inner, isObject := element.(Object); isObject {
				s.expand(inner, path[1:])
			}
		}
	}
}

// list is a page of objects of a kind, newest first.
func (s *Server) list(kind string, form url.Values) Object {
	limit, _ := strconv.Atoi(form.Get("limit"))
	if limit == 0 {
		limit = 10
	}
	since, _ := strconv.ParseInt(form.Get("created[gte]"), 10, 64)
	types, after := values(form, "types["), form.Get("starting_after")
	data, more, ids := []any{}, false, s.ids[kind]
	for _, key := range named {
		if value := cmp.Or(form.Get(key), form.Get("payment["+key+"]")); value != "" {
			ids = s.found[kind+" "+key+" "+value]
		}
	}
	for _, id := range slices.Backward(ids) {
		o := s.objects[id]
		switch {
		case after != "":
			if id == after {
				after = ""
			}
		case o == nil, created(o) < since, len(types) > 0 && !slices.Contains(types, text(o, "type")):
		case len(data) == limit:
			more = true
		default:
			data = append(data, copied(o))
		}
	}
	return s.expanded(Object{"object": "list", "data": data, "has_more": more, "url": "/v1/" + kind}, form)
}

// named are what objects are found by.
var named = []string{"charge", "payment_intent", "invoice", "subscription"}

func text(o Object, key string) string { value, _ := o[key].(string); return value }

func created(o Object) int64 { return number(o, "created") }

func number(o Object, key string) int64 {
	n, _ := o[key].(int64)
	return n
}

// copied is a copy that no later change reaches.
func copied(o Object) Object {
	c := maps.Clone(o)
	for key, value := range c {
		switch v := value.(type) {
		case Object:
			c[key] = copied(v)
		case []any:
			list := slices.Clone(v)
			for i := range list {
				if inner, isObject := list[i].(Object); isObject {
					list[i] = copied(inner)
				}
			}
			c[key] = list
		}
	}
	return c
}

// page is where people pay.
func (s *Server) page(w http.ResponseWriter, r *http.Request, id string) {
	o := s.objects[id]
	if o == nil || o["object"] != "checkout.session" {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPost {
		how := How(r.PostForm.Get("how"))
		if how == "back" {
			http.Redirect(w, r, text(o, "cancel_url"), http.StatusSeeOther)
			return
		}
		if s.pay(o, how); text(o, "status") == "complete" {
			http.Redirect(w, r, text(o, "success_url"), http.StatusSeeOther)
			return
		}
	}
	fmt.Fprintf(w, "<!doctype html><title>Stripe for tests</title><h1>%d %s</h1><p>%s</p><form method=post>", number(o, "amount_total"), text(o, "currency"), text(o, "status"))
	for _, how := range []How{Card, Debit, Decline, "back"} {
		fmt.Fprintf(w, "<button name=how value=%s>%s</button> ", how, how)
	}
}

// Endpoints is how many addresses are registered for events.
func (s *Server) Endpoints() int {
	defer s.lock()()
	return len(s.list("webhook_endpoint", url.Values{})["data"].([]any))
}
