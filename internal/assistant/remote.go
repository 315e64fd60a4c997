package assistant

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Remote is a server that is reached over HTTP.
type Remote struct {
	URL       string // scheme and host
	Key       string // the secret
	Authority []byte // PEM, trusted beside those that this machine trusts; may be empty
}

// What may be wrong with a Remote.
var (
	ErrURL       = errors.New("give scheme and host, such as https://donors.example.org")
	ErrPlainHTTP = errors.New("the key would be sent unencrypted: use https, or a server on this machine")
	ErrAuthority = errors.New("the file has no certificate in PEM")
	ErrKey       = errors.New("the server does not accept the API key: it is incorrect, expired or revoked; \"donorbook key create\" makes another one")
)

// Untrusted is a server whose certificate cannot be trusted, in a sentence that says what to do.
type Untrusted struct{ told }

const (
	attempts       = 3
	pause          = 200 * time.Millisecond
	requestTimeout = time.Minute
)

// sender sends requests to the server. A request whose connection is lost is sent again: with its Idempotency-Key it counts once.
func (at Remote) sender(version string) (sender, error) {
	base, transport, err := at.transport()
	if err != nil {
		return nil, err
	}
	return func(r *http.Request) (answer, error) {
		r.URL.Scheme, r.URL.Host = base.Scheme, base.Host // and no more: a path with .. must stay wrong
		r.Header.Set("Authorization", "Bearer "+at.Key)
		r.Header.Set("User-Agent", "donorbook-mcp/"+version)
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		for attempt := 1; ; attempt++ {
			a, err := exchange(transport, r)
			if err == nil {
				return a, nil
			}
			again := r.Method == http.MethodGet || r.Header.Get("Idempotency-Key") != ""
			var unknown x509.UnknownAuthorityError
			var invalid *tls.CertificateVerificationError
			switch {
			case errors.As(err, &unknown):
				return a, Untrusted{told(fmt.Sprintf("Donorbook at %s cannot be reached: this machine does not trust its certificate. If the server made the "+
					"certificate itself, copy tls/ca.pem from its data directory to this machine, and start donorbook mcp with --ca FILE.", base))}
			case errors.As(err, &invalid):
				return a, Untrusted{told(fmt.Sprintf("Donorbook at %s cannot be reached: its certificate is not valid for this address and time: %v. "+
					"Use a name that the certificate has, or renew it.", base, invalid.Err))}
			case attempt == attempts || !again || ctx.Err() != nil:
				return a, told(fmt.Sprintf("Donorbook at %s cannot be reached: %v", base, err))
			}
			r.Body, _ = r.GetBody() // it is in memory
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(attempt) * pause): // the server may be restarting
			}
		}
	}, nil
}

// checkTime is how long a server may take to say whether it accepts the key. One that is slow or away may answer later.
const checkTime = 5 * time.Second

// Check finds what would make every call fail: a key or a certificate that is refused.
func (at Remote) Check(ctx context.Context, version string) error {
	send, err := at.sender(version)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/custom-fields?per_page=1", strings.NewReader(""))
	if err != nil {
		return err
	}
	a, err := send(r)
	if errors.As(err, new(Untrusted)) {
		return err
	}
	if err == nil && a.status == http.StatusUnauthorized {
		return ErrKey
	}
	return nil
}

// exchange sends a request once. It follows no redirect: the API has none, and the key is for this server alone.
func exchange(transport http.RoundTripper, r *http.Request) (a answer, err error) {
	response, err := transport.RoundTrip(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	return answer{status: response.StatusCode, header: response.Header, body: body, large: len(body) > maxAnswer}, err
}

func (at Remote) transport() (*url.URL, *http.Transport, error) {
	base, err := url.Parse(strings.TrimRight(at.URL, "/"))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil || base.Path+base.RawQuery+base.Fragment != "":
		return nil, nil, ErrURL
	case base.Scheme == "http" && !IsThisMachine(at.URL):
		return nil, nil, ErrPlainHTTP
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if len(at.Authority) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(at.Authority) {
			return nil, nil, ErrAuthority
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return base, transport, nil
}

// IsThisMachine tells whether an address names this machine.
func IsThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
