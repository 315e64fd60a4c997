// Package pay asks payment providers: it starts payments on their pages, reads their events, and finds out what is true. What follows from that is decided in
// crm/donate.
package pay

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"donorbook/internal/crm/donate"
)

// wait is how long a provider has for one request.
const wait = 10 * time.Second

// client is what providers are asked by. Their addresses are known, so it follows no redirect, and no proxy that someone's shell has named.
var client = &http.Client{
	Timeout:       wait,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: wait,
		MaxIdleConns: 16, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, ForceAttemptHTTP2: true,
	},
}

// Desk opens connections to providers. Only one that NewDesk has made knows payments without money.
type Desk struct {
	*Pretended
	Stripe string // where Stripe is, "" for where it really is: for tests
}

// NewDesk makes the desk of a demo with this address.
func NewDesk(base string) *Desk { return &Desk{Pretended: newPretended(base)} }

// Open is a connection to a provider. It asks nothing yet.
func (d *Desk) Open(c donate.Connection) (donate.Provider, error) {
	switch {
	case c.Provider == StripeName:
		c.Address = cmp.Or(c.Address, d.Stripe)
		return openStripe(c)
	case c.Provider == PretendName && d.Pretended != nil:
		return &pretender{d.Pretended, c}, nil
	}
	return nil, refused(donate.Definite, "There is no payment provider called "+c.Provider+".", nil)
}

// handover checks the address of a provider's page: givers are sent there.
func handover(address string, session donate.Ref, expires time.Time, isExpected func(host string) bool) (donate.Handover, error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || !isExpected(u.Hostname()) || u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return donate.Handover{}, refused(donate.Definite, "The payment provider named a page that is not its own.", nil)
	}
	return donate.Handover{URL: address, Session: session, Expires: expires}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func refused(reason donate.Reason, text string, err error) error {
	if asked := new(url.Error); errors.As(err, &asked) {
		err = asked.Err // its address has what was asked
	}
	if err != nil {
		err = errors.New(clean(err.Error()))
	}
	return &donate.Refused{Reason: reason, Text: clean(text), Err: err}
}

// secret is a key, or a part of one, as a provider's sentences have it.
var secret = regexp.MustCompile(`\b(?:sk|rk|pk|whsec|ek)_(?:live_|test_)?[A-Za-z0-9*.]{6,}`)

// clean is a text without keys.
func clean(text string) string { return strings.TrimSpace(secret.ReplaceAllString(text, "(key)")) }
