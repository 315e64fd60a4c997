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

	"donorbook/internal/api"
)

// contract checks answers against the OpenAPI document.
type contract struct {
	document *openapi3.T
	mu       sync.Mutex
	passed   map[string]bool
}

var loadContract = sync.OnceValues(func() (*contract, error) {
	document, err := openapi3.NewLoader().LoadFromData(api.Document())
	return &contract{document: document, passed: map[string]bool{}}, err
})

// checkContract validates an answer against the document: status, headers and body.
func checkContract(t testing.TB, r *http.Request, a answer) {
	t.Helper()
	c := must(loadContract())(t)
	if err := c.check(r, a); err != nil {
		t.Errorf("%s %s: %d %s\nis not what the OpenAPI document says: %v", r.Method, r.URL.RequestURI(), a.status,
			clip(a.body), err)
	}
}

func (c *contract) check(r *http.Request, a answer) error {
	// it means the path without
	if strings.HasPrefix(r.URL.Path, "/v1/") && strings.HasSuffix(r.URL.EscapedPath(), "/") {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = strings.TrimRight(r.URL.Path, "/"), strings.TrimRight(r.URL.RawPath, "/")
	}
	route := c.route(r)
	if route == nil {
		return c.checkNowhere(a)
	}
	// kin-openapi compiles a schema for each header and body that it checks. So headers and body are checked
	// separately, and an answer that differs from a checked one only in random values is not checked again.
	err := c.once(fmt.Sprint(route.Method, " ", route.Path, " ", a.status, " ", headersThatMatter(a.header)),
		func() error {
			return validate(r, route, a, &openapi3filter.Options{ExcludeResponseBody: true})
		})
	if err != nil || r.Method == "HEAD" {
		return err
	}
	response := route.Operation.Responses.Status(a.status).Value
	name := route.Path
	if content := response.Content.Get(a.header.Get("Content-Type")); content != nil && content.Schema.Ref != "" {
		name = content.Schema.Ref
	}
	return c.once(fmt.Sprint(name, a.header.Get("Content-Type"), withoutChance(a.body)), func() error {
		bare := *response
		bare.Headers = nil
		operation := *route.Operation
		operation.Responses = openapi3.NewResponses(openapi3.WithStatus(a.status, &openapi3.ResponseRef{Value: &bare}))
		body := *route
		body.Operation = &operation
		return validate(r, &body, a, &openapi3filter.Options{})
	})
}

// once checks what has not passed before.
func (c *contract) once(fingerprint string, judge func() error) error {
	c.mu.Lock()
	passed := c.passed[fingerprint]
	c.mu.Unlock()
	if passed {
		return nil
	}
	if err := judge(); err != nil {
		return err
	}
	c.mu.Lock()
	c.passed[fingerprint] = true
	c.mu.Unlock()
	return nil
}

func validate(r *http.Request, route *routers.Route, a answer, options *openapi3filter.Options) error {
	if r.Method == "HEAD" { // kin-openapi does not check HEAD: its headers are those of GET
		get := *r
		get.Method = "GET"
		r = &get
	}
	options.IncludeResponseStatus, options.MultiError = true, true
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: route, Options: options},
		Status:                 a.status, Header: a.header, Options: options,
	}
	input.SetBodyBytes([]byte(a.body))
	return openapi3filter.ValidateResponse(context.Background(), input)
}

// checkNowhere checks the answer of a path that is not in the document.
func (c *contract) checkNowhere(a answer) error {
	if a.status != 404 && a.status != 429 {
		return fmt.Errorf("the document has no such path, but the status is %d", a.status)
	}
	if want := `{"message":"Not found."}`; a.status == 404 && a.body != want {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

// route finds the operation of a request. A method that the path does not have is checked against any method that it
// has: each lists what such a request gets.
func (c *contract) route(r *http.Request) *routers.Route {
	for path, item := range c.document.Paths.Map() {
		if !samePath(path, r.URL.EscapedPath()) {
			continue
		}
		operations := item.Operations()
		method := r.Method
		if method == "HEAD" {
			method = "GET"
		}
		if operations[method] == nil {
			for method = range operations {
				break
			}
		}
		return &routers.Route{Spec: c.document, Path: path, PathItem: item, Method: method,
			Operation: operations[method]}
	}
	return nil
}

func samePath(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

var (
	anyTime = regexp.MustCompile(`"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\+00:00|\.000000Z)"`)
	anyID   = regexp.MustCompile(`"id":[1-9][0-9]{0,15},`)
	anyHost = regexp.MustCompile(`"http://127\.0\.0\.1:[0-9]+/`)
)

func withoutChance(body string) string {
	body = anyTime.ReplaceAllString(body, `"time$1"`)
	body = anyID.ReplaceAllString(body, `"id":0,`)
	return anyHost.ReplaceAllString(body, `"base/`)
}

// headersThatMatter are the names of the headers, with their values unless these are counters.
func headersThatMatter(h http.Header) string {
	var b strings.Builder
	for _, name := range []string{"Content-Type", "X-Contact-Merged", "Idempotent-Replayed", "Allow"} {
		fmt.Fprint(&b, name, h.Values(name))
	}
	for _, name := range []string{"X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After", "Link",
		"X-Ignored-Query"} {
		fmt.Fprint(&b, name, len(h.Values(name)), h.Get(name) != "")
	}
	return b.String()
}
