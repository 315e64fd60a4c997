package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// wideAddresses are n addresses of about 1,100 bytes each in the document.
func wideAddresses(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"address_1":"%d %s","address_2":"%s","city":"%[2]s"}`, i,
			strings.Repeat("a", 240), strings.Repeat("b", 240)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// withLargeContacts returns a key of a new account with contacts of about 100 KB each.
func withLargeContacts(t *testing.T, s *server, n int) (secret string) {
	t.Helper()
	account := newAccount(t, s.store, "large", "")
	body := fmt.Sprintf(`{"first_name":"Ana","last_name":"Large","addresses":%s}`, wideAddresses(90))
	in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, true, "US", time.Now())
	}
	for range n {
		if err == nil {
			_, err = s.store.CreateContact(t.Context(), account.Number, in, crm.Force)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return newKey(t, s.store, account)
}

func TestALargePageArrivesWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		secret := withLargeContacts(t, s, 12)
		a := s.ask(t, "GET", "/v1/contacts?per_page=100", secret, "")
		var page struct {
			Data []struct{ Addresses []any }
			Meta struct{ Total, To int }
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || len(page.Data) != 12 || page.Meta.Total != 12 ||
			page.Meta.To != 12 {
			t.Fatalf("%v: %d contacts, %+v", err, len(page.Data), page.Meta)
		}
		for i, contact := range page.Data {
			equal(t, len(contact.Addresses), 90, "contact %d", i)
		}
		equal(t, a.header.Get("Content-Length"), "",
			"a page of %d bytes was kept in memory until its length was known", len(a.body))
		small := s.ask(t, "GET", "/v1/contacts?per_page=2", secret, "")
		equal(t, small.header.Get("Content-Length"), fmt.Sprint(len(small.body)), "a page")
	})
}

// plainly makes a request and looks only at the status and at how long to wait.
func (s *server) plainly(t *testing.T, want int, method, target, secret, body, retryAfter string) {
	t.Helper()
	response := must(s.client.Do(s.request(t, method, target, secret, body)))(t)
	defer response.Body.Close()
	if got := response.Header.Get("Retry-After"); response.StatusCode != want || got != retryAfter {
		t.Errorf("%s %s: %d, Retry-After %q; want %d and %q",
			method, target, response.StatusCode, got, want, retryAfter)
	}
}

// slow is a client that takes its answer when others let it.
type slow struct {
	*httptest.ResponseRecorder
	wait func()
}

func (c slow) Write(b []byte) (int, error) {
	if c.Code < 300 {
		c.wait()
	}
	return c.ResponseRecorder.Write(b)
}

// hold begins requests of slow clients. It returns when each of them waits, or has been refused.
func (s *server) hold(requests []*http.Request) (release func()) {
	begun, free := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() {
			signal := sync.OnceFunc(func() { begun <- struct{}{} })
			r.RemoteAddr = "127.0.0.1:1"
			s.handler.ServeHTTP(slow{httptest.NewRecorder(), func() {
				signal()
				<-free
			}}, r)
			signal()
		})
	}
	for range requests {
		<-begun
	}
	return func() {
		close(free)
		all.Wait()
	}
}

func TestClientsThatDoNotReadUseUpTheirOwnShareAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, shared *server) {
		s := newServer(t, shared.store, settings{})
		hostile, good := withLargeContacts(t, s, 100), withLargeContacts(t, s, 20)
		const large = "/v1/contacts?per_page=100"
		var requests []*http.Request
		for range 40 {
			requests = append(requests, s.request(t, "GET", large, hostile, ""))
		}
		release := s.hold(requests)
		s.plainly(t, 503, "GET", large, hostile, "", "1")
		s.plainly(t, 200, "GET", "/v1/contacts?per_page=1&page=200", hostile, "", "")
		s.plainly(t, 200, "GET", large, good, "", "")
		release()
		s.plainly(t, 200, "GET", large, hostile, "", "")
	})
}

// departing is a body whose client disconnects once it has been read.
type departing struct {
	io.Reader
	leave func()
}

func (d departing) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil {
		d.leave()
	}
	return n, err
}

// A body is not even checked if its client has gone.
func TestNothingIsDoneForAClientThatHasLeft(t *testing.T) {
	s := anyServer(t)
	account := newAccount(t, s.store, "main", "")
	secret := newKey(t, s.store, account)
	ctx, leave := context.WithCancel(t.Context())
	r := s.request(t, "POST", "/v1/contacts", secret, "").WithContext(ctx)
	r.Body, r.ContentLength, r.RemoteAddr = io.NopCloser(departing{strings.NewReader(`{"first_name":1}`), leave}), -1,
		"127.0.0.1:1"
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	equal(t, recorder.Code, 503, "%v", recorder.Body)
}

func TestAnAnswerIsNotFarLargerThanTheBodyThatIsWrong(t *testing.T) {
	s := anyServer(t)
	secret := s.anyKey(t)
	wrong := strings.Repeat(`{"address_1":1,"address_2":1,"city":1,"state":1,"zipcode":1,"country":1},`, 1_000)
	a := s.ask(t, "POST", "/v1/contacts", secret, `{"first_name":"A","last_name":"B","addresses":[`+
		strings.TrimSuffix(wrong, ",")+`]}`)
	if a.status != 422 || len(a.body) > 200_000 || !strings.Contains(a.body,
		`"The addresses.0.address_1 field must be a string. (and 5999 more errors)"`) {
		t.Errorf("%d, %d bytes: %s", a.status, len(a.body), clip(a.body))
	}
}
