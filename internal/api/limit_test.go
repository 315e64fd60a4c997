package api_test

import "testing"

// The reference and the document count like every other request without a key, and report how many requests are left.
func TestPagesWithoutAKeyAreCountedByAddress(t *testing.T) {
	s := newServer(t, openStore(t), settings{rateLimit: 3})
	for i, want := range []struct {
		path      string
		status    int
		remaining string
	}{
		{"/docs", 200, "2"},
		{"/openapi.json", 200, "1"},
		{"/nowhere", 404, "0"},
		{"/docs", 200, "0"},
		{"/nowhere", 404, "0"},
		{"/v1/contacts", 429, "0"},
	} {
		response := must(s.client.Get(s.url + want.path))(t)
		response.Body.Close()
		h := response.Header
		equal(t, response.StatusCode, want.status, "request %d", i+1)
		equal(t, h.Get("X-RateLimit-Limit"), "3", "request %d", i+1)
		equal(t, h.Get("X-RateLimit-Remaining"), want.remaining, "request %d", i+1)
	}
}
