package api_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// contract is openapi.yaml as the judge of answers.
type contract struct {
	document *openapi3.T
	mu       sync.Mutex
	passed   map[string]bool // answers that differ from a judged one in nothing but ids, times and counters
}

var loadContract = sync.OnceValues(func() (*contract, error) {
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	return &contract{document: document, passed: map[string]bool{}}, err
})

// checkContract validates an answer against the document: status, headers and body.
func checkContract(t testing.TB, r *http.Request, a answer) {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.check(r, a); err != nil {
		t.Errorf("%s %s: %d %s\nis not what openapi.yaml says: %v", r.Method, r.URL.RequestURI(), a.status, clip(a.body), err)
	}
}

func (c *contract) check(r *http.Request, a answer) error {
	route := c.route(r)
	if route == nil {
		return c.checkNowhere(a)
	}
	fingerprint := fmt.Sprint(route.Method, " ", route.Path, " ", a.status, " ", headersThatMatter(a.header), " ", withoutChance(a.body))
	c.mu.Lock()
	passed := c.passed[fingerprint]
	c.mu.Unlock()
	if passed {
		return nil
	}
	head := r.Method == http.MethodHead
	if head { // kin-openapi does not judge HEAD: its headers are those of GET
		get := *r
		get.Method = http.MethodGet
		r = &get
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: head,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route, Options: options},
		Status:                 a.status, Header: a.header, Options: options,
	}
	input.SetBodyBytes([]byte(a.body))
	err := openapi3filter.ValidateResponse(context.Background(), input)
	if err == nil {
		c.mu.Lock()
		c.passed[fingerprint] = true
		c.mu.Unlock()
	}
	return err
}

// checkNowhere judges the answer of a path that the document does not have.
func (c *contract) checkNowhere(a answer) error {
	if a.status != http.StatusNotFound && a.status != http.StatusTooManyRequests {
		return fmt.Errorf("the document has no such path, but the status is %d", a.status)
	}
	if want := `{"message":"Not found."}`; a.status == http.StatusNotFound && a.body != want {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

// route finds the operation of a request. A method that the path does not have is judged by any that it has: each
// lists what such a request gets.
func (c *contract) route(r *http.Request) *routers.Route {
	for path, item := range c.document.Paths.Map() {
		if !samePath(path, r.URL.Path) {
			continue
		}
		operations := item.Operations()
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		if operations[method] == nil {
			for method = range operations {
				break
			}
		}
		return &routers.Route{Spec: c.document, Path: path, PathItem: item, Method: method, Operation: operations[method]}
	}
	return nil
}

func samePath(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (want[i] != "{id}" || got[i] == "") {
			return false
		}
	}
	return true
}

var (
	anyTime = regexp.MustCompile(`"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\+00:00|\.000000Z)"`)
	anyID   = regexp.MustCompile(`"id":[1-9][0-9]{15},`)
	anyHost = regexp.MustCompile(`"http://127\.0\.0\.1:[0-9]+/`)
)

func withoutChance(body string) string {
	body = anyTime.ReplaceAllString(body, `"time$1"`)
	body = anyID.ReplaceAllString(body, `"id":0,`)
	return anyHost.ReplaceAllString(body, `"base/`)
}

// headersThatMatter are the headers by their names, and by their values where these do not count something.
func headersThatMatter(h http.Header) string {
	var b strings.Builder
	for _, name := range []string{"Content-Type", "X-Contact-Merged", "Allow"} {
		fmt.Fprint(&b, name, h.Values(name))
	}
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"} {
		fmt.Fprint(&b, name, len(h.Values(name)), h.Get(name) != "")
	}
	return b.String()
}
