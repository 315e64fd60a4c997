// Package client talks to the API of a Donorbook server: contacts, campaigns, transactions (gifts), plans and tags.
//
// Its types and calls are made from the OpenAPI document of the API.
//
// Lists are iterators over all pages. A loop that changes what its filter or its order is about (removing the tag that it filters by, archiving) should collect
// the items first, because its changes move items from page to page.
//
// A call that fails because the server is busy, or because the connection broke, is repeated; every
// change carries an Idempotency-Key, so that it is made once even if it is sent twice. An answer that is not a success is an [*Error].
//
// A text, a time or an id that is not set is the zero value of its field: the API never sends an empty text, a zero time or the id 0.
package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Client is an API key of one account. Any number of goroutines can use it at the same time.
type Client struct {
	Contacts     Contacts
	Campaigns    Campaigns
	Transactions Transactions
	Donations    Donations
	Receipts     Receipts
	Templates    Templates
	Plans        Plans
	Tags         Tags
	CustomFields CustomFields
	Duplicates   Duplicates
	Merges       Merges

	base      string
	authorize func(http.Header) // a function, so that no log of a Client shows its key
	http      http.Client
	retries   int
}

// Option changes how a client works.
type Option func(*Client) error

const (
	attemptTimeout  = time.Minute
	defaultRetries  = 4
	idleConnections = 64 // the standard library keeps 2, and would make a busy client connect for most of its calls
)

// New is a client of the server at a base URL, such as https://donors.example.org, with an API key.
func New(baseURL, key string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("the base URL must have the form https://donors.example.org")
	}
	if key == "" {
		return nil, errors.New("the API key is empty")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = idleConnections
	c := &Client{
		base:      strings.TrimSuffix(baseURL, "/"),
		authorize: func(h http.Header) { h.Set("Authorization", "Bearer "+key) },
		http:      http.Client{Transport: transport, Timeout: attemptTimeout},
		retries:   defaultRetries,
	}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, err
		}
	}
	// The API never redirects. Following one could send a change to another place, or as a GET.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.connect()
	return c, nil
}

// WithCAFile makes the client trust the certificate authorities in a PEM file, and no others. A server that made its certificate itself
// keeps its authority in tls/ca.pem of its data directory.
func WithCAFile(path string) Option {
	return func(c *Client) error {
		pem, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s contains no PEM certificate", path)
		}
		transport, ok := c.http.Transport.(*http.Transport)
		if !ok {
			return errors.New("WithCAFile needs an *http.Transport")
		}
		transport = transport.Clone()
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		c.http.Transport = transport
		return nil
	}
}

// WithHTTPClient makes the client send its requests through a copy of h. Its Timeout limits each attempt.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) error {
		c.http = *h
		return nil
	}
}

// WithRetries sets how often a call that failed is repeated: 4 times unless set, never if n is 0.
func WithRetries(n int) Option {
	return func(c *Client) error {
		c.retries = n
		return nil
	}
}

// CloseIdleConnections closes the connections that no call is using.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }
