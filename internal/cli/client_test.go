package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"donorbook/client"
)

// TestAClientIsToldToWait: over the rate limit, a client that has less time than the server asks for gets the refusal
// immediately, with everything that is needed to look it up.
func TestAClientIsToldToWait(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "3")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := p.api(key)
	for i := range 4 {
		_, err := c.Contacts.Page(ctx, client.ContactFilter{}, 1)
		if i < 3 {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || refused.RetryAfter <= 0 || refused.RetryAfter > time.Minute || ctx.Err() != nil {
			t.Fatalf("the fourth call: %v, %+v", err, refused)
		}
		p.waitFor("the log line of the request", func() bool { return strings.Contains(p.stderr.String(), refused.RequestID) })
	}
	p.stop()
}

// TestAClientTrustsNoStranger: without the server's authority, a client sends nothing.
func TestAClientTrustsNoStranger(t *testing.T) {
	t.Parallel()
	data := onlySQLite(t)
	_, key := newKey(t, data)
	p := serve(t, data)
	c, err := client.New(p.url, key)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Contacts.Create(t.Context(), client.ContactInput{FirstName: "Ada", LastName: "King"})
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) {
		t.Errorf("the call ended with %v", err)
	}
	if n := len(p.contacts(key, "all")); n != 0 {
		t.Errorf("%d contacts are there", n)
	}
	p.stop()
}
