package web

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync"
	"testing"

	"donorbook/internal/web/certs"
)

// An HTTP/2 request counts as a connection: one connection cannot carry what many connections are refused for.
func TestRequestsOfHTTP2CountLikeConnections(t *testing.T) {
	t.Parallel()
	proxies, err := NewProxies([]string{"none"}, "")
	if err != nil {
		t.Fatal(err)
	}
	waiting, release := make(chan struct{}, 100), make(chan struct{})
	handler := quietPlumbing().Wrap(func(w http.ResponseWriter, r *http.Request) error {
		if r.URL.Path == "/wait" {
			waiting <- struct{}{}
			<-release
		}
		return answerOK(w, r)
	})
	r := start(t, &Server{TLS: certs.Settings{Mode: certs.Auto, Dir: t.TempDir()}, Handler: handler, Connections: NewConnections(0, 5, proxies, nil)})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(context.Background(), "GET", "https://"+r.Main+path, nil)
		if err != nil {
			t.Error(err)
			return nil
		}
		response, err := client.Do(request)
		if err != nil {
			t.Error(err)
			return nil
		}
		response.Body.Close()
		return response
	}
	if response := get("/"); response == nil || response.ProtoMajor != 2 {
		t.Fatalf("the answer is %+v", response)
	}
	var group sync.WaitGroup
	for range 4 { // with their connection, the maximum for the address
		group.Go(func() { get("/wait") })
	}
	for range 4 {
		<-waiting
	}
	if response := get("/"); response == nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("one more is answered with %+v", response)
	}
	close(release)
	group.Wait()
	if response := get("/"); response == nil || response.StatusCode != http.StatusOK {
		t.Errorf("after the others the answer is %+v", response)
	}
	client.CloseIdleConnections()
}

// Oversized headers are not even read.
func TestHeadersHaveAnEnd(t *testing.T) {
	t.Parallel()
	r := start(t, &Server{TLS: certs.Settings{Mode: certs.Off}, Handler: quietPlumbing().Wrap(answerOK)})
	request, err := http.NewRequest("GET", "http://"+r.Main+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Large", strings.Repeat("x", 900<<10))
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !response.Close {
			t.Errorf("a header of 900 KiB was read: %s", response.Status)
		}
	}
}
