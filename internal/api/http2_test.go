package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A client of HTTP/2 may take an answer that comes before the end of its body for a failure. So operations that ignore
// the body read it first.
func TestConcurrentBodyThatIsIgnoredIsReadToItsEnd(t *testing.T) {
	s := anyServer(t)
	key := s.anyKey(t)
	id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
	secure := httptest.NewUnstartedServer(s.handler)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	send := func(r *http.Request) error {
		response, err := secure.Client().Do(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode/100 != 2 ||
			response.ProtoMajor != 2 {
			return fmt.Errorf("%s %s, %w", response.Proto, response.Status, err)
		}
		return nil
	}
	for _, operation := range [][2]string{{"DELETE", ""}, {"POST", "/restore"}, {"DELETE", ""}, {"PATCH", "/restore"}} {
		body, client := io.Pipe()
		r := s.request(t, operation[0], secure.URL+"/v1/contacts/"+id+operation[1], key, "")
		r.Body, r.ContentLength = body, -1
		r.Header.Set("Content-Type", "application/json")
		answered := make(chan error, 1)
		go func() { answered <- send(r) }()
		_, _ = io.WriteString(client, `{"note":`)
		for range 10 { // meanwhile, the server could have answered long ago
			succeed(t, send(s.request(t, "POST", secure.URL+"/v1/contacts", key,
				`{"first_name":"Bob","last_name":"Lee"}`)))
		}
		select {
		case err := <-answered:
			t.Fatalf("%v: the answer came before the end of the body: %v", operation, err)
		default:
		}
		_, _ = io.WriteString(client, `null}`)
		_ = client.Close()
		if err := <-answered; err != nil {
			t.Errorf("%v: %v", operation, err)
		}
	}
}
