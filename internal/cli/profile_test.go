package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"donorbook/internal/config"
	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// BenchmarkServer is a busy server as a whole, with what clients ask for most. `make profile` takes the profile from it that
// the released program is compiled with.
func BenchmarkServer(b *testing.B) {
	address, key, account := benchServer(b)
	var serial atomic.Int64
	for _, work := range []struct {
		name string
		next func(n int64) (method, path, body string)
	}{
		{"create", func(n int64) (string, string, string) { return "POST", "/v1/contacts", benchPerson(n) }},
		{"get", func(n int64) (string, string, string) {
			return "GET", fmt.Sprintf("/v1/contacts/%d", crm.MakeID(account, 1+n*7919%benchContacts)), ""
		}},
		{"list", func(n int64) (string, string, string) {
			return "GET", fmt.Sprintf("/v1/contacts?page=%d", 1+n%(benchContacts/20)), ""
		}},
		{"change", func(n int64) (string, string, string) {
			return "PATCH", fmt.Sprintf("/v1/contacts/%d", crm.MakeID(account, 1+n*7919%benchContacts)), fmt.Sprintf(`{"title":"Seen %d"}`, n)
		}},
	} {
		b.Run(work.name, func(b *testing.B) {
			var wg sync.WaitGroup
			left := int64(b.N)
			for range 16 {
				wg.Go(func() {
					for atomic.AddInt64(&left, -1) >= 0 {
						method, path, body := work.next(serial.Add(1))
						if err := benchAsk(method, address+path, key, body); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

const benchContacts = 20_000

// benchServer serves an account with contacts.
func benchServer(b *testing.B) (address, key string, number int64) {
	s, err := store.Open(b.Context(), store.Options{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	account, err := s.CreateAccount(b.Context(), "Busy", "")
	if err == nil {
		_, key, err = s.CreateKey(b.Context(), account.Number, crm.KeyInput{Name: "bench", Permissions: crm.AllPermissions})
	}
	if err != nil {
		b.Fatal(err)
	}
	log, _ := newLogger(io.Discard, "text", "info")
	address = benchListen(b, s, log)
	var n atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := n.Add(1); i <= benchContacts; i = n.Add(1) {
				if err := benchAsk("POST", address+"/v1/contacts", key, benchPerson(-i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return address, key, account.Number
}

func benchListen(b *testing.B, s *store.Store, log *slog.Logger) string {
	command := &serveCommand{Server: config.Server{Listen: "localhost:0", TLS: web.TLSOff, PhoneRegion: "US"}}
	server, err := command.server(s, b.TempDir(), log)
	if err != nil {
		b.Fatal(err)
	}
	listening, stopped := make(chan string, 1), make(chan struct{})
	server.Listening = func(at web.Addresses) { listening <- at.Main }
	ctx, stop := context.WithCancel(b.Context())
	go func() {
		defer close(stopped)
		if err := server.Run(ctx); err != nil {
			b.Error(err)
		}
	}()
	b.Cleanup(func() {
		stop()
		<-stopped
	})
	return "http://" + <-listening
}

var benchClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

func benchAsk(method, url, key, body string) error {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := benchClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s %s", method, url, answer.Status, text)
	}
	return err
}

func benchPerson(n int64) string {
	return fmt.Sprintf(`{"first_name":"Ana%d","last_name":"Okafor%d","company":"Blue Heron Books","title":"Treasurer",
		"emails":[{"type":"personal","value":"p%d@example.org"},{"type":"work","value":"w%[3]d@example.com"}],
		"phones":[{"type":"cell","value":"+1 202 %07[4]d"}],
		"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],
		"tags":["newsletter","gala 2026","volunteer"]}`, n%97, n%1009, n, 5_000_000+n)
}
