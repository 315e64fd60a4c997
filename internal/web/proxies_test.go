package web

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"donorbook/internal/rig/rows"
)

func requestFrom(peer string, header ...string) *http.Request {
	r := httptest.NewRequest("GET", "http://donors.example.org/v1/contacts", nil)
	r.RemoteAddr = peer
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func mustProxies(t *testing.T, trusted []string, baseURL string) *Proxies {
	t.Helper()
	return must(NewProxies(trusted, baseURL))(t)
}

// requestTo is a request to a host, with headers that have a bar between them.
func requestTo(host, peer, headers string) *http.Request {
	r := requestFrom(peer)
	r.Host = host
	for header := range strings.SplitSeq(headers, " | ") {
		if name, value, found := strings.Cut(header, ": "); found {
			r.Header.Add(name, value)
		}
	}
	return r
}

func TestClientAddress(t *testing.T) {
	proxies := map[string]*Proxies{
		"wide": mustProxies(t, []string{"10.0.0.0/8", "127.0.0.1", "fd00::/8"}, ""),
		"none": mustProxies(t, []string{"none"}, ""),
	}
	for _, test := range rows.Of[struct{ Name, Trusted, Peer, Headers, Want string }](`
		direct                  wide     203.0.113.9:1        ""                                                         203.0.113.9
		direct, spoofed         wide     203.0.113.9:1        X-Forwarded-For: 127.0.0.1                                 203.0.113.9
		one proxy               wide     10.1.1.1:1           X-Forwarded-For: 198.51.100.7                              198.51.100.7
		client's own entry      wide     10.1.1.1:1           X-Forwarded-For: 127.0.0.1, 198.51.100.7                   198.51.100.7
		two proxies             wide     10.1.1.1:1           X-Forwarded-For: 1.1.1.1, 198.51.100.7,10.2.2.2            198.51.100.7
		two lines               wide     10.1.1.1:1           X-Forwarded-For: 198.51.100.7 | X-Forwarded-For: 10.2.2.2  198.51.100.7
		with port               wide     10.1.1.1:1           X-Forwarded-For: 198.51.100.7:4711                         198.51.100.7
		IPv6                    wide     [fd00::1]:1          X-Forwarded-For: [2001:db8::7]:4711                        2001:db8::7
		mapped                  wide     [::ffff:10.1.1.1]:1  X-Forwarded-For: ::ffff:198.51.100.7                       198.51.100.7
		all trusted             wide     10.1.1.1:1           X-Forwarded-For: 10.3.3.3, 10.2.2.2                        10.3.3.3
		garbage                 wide     10.1.1.1:1           X-Forwarded-For: unknown                                   invalid IP
		nobody trusted          none     127.0.0.1:1          X-Forwarded-For: 198.51.100.7                              127.0.0.1
		default                 default  127.0.0.1:1          X-Forwarded-For: 198.51.100.7                              198.51.100.7
	`) {
		client := proxies[test.Trusted].Client(requestTo("donors.example.org", test.Peer, test.Headers))
		equal(t, client.String(), test.Want, "%s", test.Name)
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	handler := (&Plumbing{
		Log: discard(), Proxies: mustProxies(t, []string{"127.0.0.0/8", "::1", "10.0.0.1"}, ""), RequireHTTPS: true,
	}).Wrap(answerOK)
	for _, test := range rows.Of[struct {
		OK                        bool
		Name, Host, Peer, Headers string
	}](`
		true   this machine                      localhost:8443      127.0.0.1:1    ""
		true   this machine, IPv6                [::1]:8443          [::1]:1        ""
		true   this machine, another name        app.localhost       127.0.0.1:1    ""
		true   this machine, its address         127.0.0.1           127.0.0.2:1    ""
		false  this machine, without a name      ""                  127.0.0.1:1    ""
		false  a proxy here, which says nothing  donors.example.org  127.0.0.1:1    ""
		false  the same over IPv6                donors.example.org  [::1]:1        ""
		false  a proxy here, hides the name      127.0.0.1:8080      127.0.0.1:1    X-Forwarded-Host: donors.example.org
		false  a proxy here, port alone          localhost           127.0.0.1:1    X-Forwarded-Port: 80
		false  a proxy here, other name          localhost           [::1]:1        X-Client-Ip: 8.8.8.8
		false  a tunnel to this machine          localhost           127.0.0.1:1    Cf-Connecting-Ip: 203.0.113.9
		false  a network in front                localhost           127.0.0.1:1    True-Client-Ip: 203.0.113.9
		false  a proxy here, old header          localhost           127.0.0.1:1    X-Forwarded: for=8.8.8.8
		false  passes on what a client wrote     localhost           127.0.0.1:1    X-Forwarded-For: 127.0.0.1
		false  outside, a name of this machine   localhost           203.0.113.9:1  ""
		false  outside                           donors.example.org  203.0.113.9:1  ""
		false  outside, spoofed scheme           donors.example.org  203.0.113.9:1  X-Forwarded-Proto: https
		false  outside, spoofed address          donors.example.org  203.0.113.9:1  X-Forwarded-For: 127.0.0.1
		true   a proxy here, https               donors.example.org  127.0.0.1:1    X-Forwarded-Proto: https | X-Forwarded-For: 203.0.113.9
		false  a proxy here, http                donors.example.org  127.0.0.1:1    X-Forwarded-Proto: http | X-Forwarded-For: 203.0.113.9
		false  a proxy here, spoofed client      donors.example.org  127.0.0.1:1    X-Forwarded-Proto: http | X-Forwarded-For: 127.0.0.1, 203.0.113.9
		false  a proxy here, client unnamed      donors.example.org  127.0.0.1:1    X-Forwarded-Proto: http
		false  a proxy here, other header        donors.example.org  127.0.0.1:1    Forwarded: for=203.0.113.9;proto=http
		false  a proxy here, no address          donors.example.org  127.0.0.1:1    X-Forwarded-For: unknown
		false  a proxy here for this machine     donors.example.org  127.0.0.1:1    X-Forwarded-Proto: http | X-Forwarded-For: 127.0.0.1
		true   a proxy elsewhere, https          donors.example.org  10.0.0.1:1     X-Forwarded-Proto: HTTPS
		false  a proxy elsewhere, http           donors.example.org  10.0.0.1:1     X-Forwarded-Proto: http
		false  a proxy elsewhere, half way       donors.example.org  10.0.0.1:1     X-Forwarded-Proto: https,http
		false  no proxy of ours                  donors.example.org  10.0.0.2:1     X-Forwarded-Proto: https
	`) {
		rec := try(handler, requestTo(test.Host, test.Peer, test.Headers))
		want := map[bool]string{true: "200 {}",
			false: `400 {"message":"This service only answers over HTTPS."}`}[test.OK]
		equal(t, fmt.Sprint(rec.Code, " ", rec.Body), want, "%s", test.Name)
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		r := requestFrom("203.0.113.9:1")
		r.URL.Path = probe
		rec := try(handler, r)
		equal(t, rec.Code, 200, "%s (%v)", probe, rec.Body)
	}
}

func TestBaseURL(t *testing.T) {
	set := mustProxies(t, nil, "https://give.example.org/app/")
	for _, test := range rows.Of[struct{ Base, Host, Peer, Headers, Want string }](`
		""    donors.example.org  203.0.113.9:1  ""                        http://donors.example.org
		""    donors.example.org  203.0.113.9:1  X-Forwarded-Proto: https  http://donors.example.org
		""    donors.example.org  127.0.0.1:1    X-Forwarded-Proto: https  https://donors.example.org
		TLS   donors.example.org  203.0.113.9:1  ""                        https://donors.example.org
		""    [::1]:8443          127.0.0.1:1    X-Forwarded-Proto: https  https://[::1]:8443
		set   donors.example.org  203.0.113.9:1  ""                        https://give.example.org/app
	`) {
		r := requestTo(test.Host, test.Peer, test.Headers)
		if test.Base == "TLS" {
			r.TLS = new(tls.ConnectionState)
		}
		equal(t, map[string]*Proxies{"set": set}[test.Base].BaseURL(r), test.Want)
	}
	equal(t, set.BaseHost(), "give.example.org", "base host")
}

func TestWrongProxySettings(t *testing.T) {
	for _, trusted := range []string{"10.0.0.0/99", "proxy.example.org", ""} {
		if _, err := NewProxies([]string{trusted}, ""); err == nil || !strings.Contains(err.Error(), trusted) {
			t.Errorf("%q: %v", trusted, err)
		}
	}
	for _, base := range []string{"donors.example.org", "ftp://x", "https://", "https://a b/", "https://x/?q=1",
		"https://u:p@x"} {
		if _, err := NewProxies(nil, base); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}

func TestWeirdHostIsRefused(t *testing.T) {
	handler := quietPlumbing().Wrap(answerOK)
	for host, status := range rows.Pairs(`
		donors.example.org  200
		localhost:8443      200
		[::1]:8443          200
		""                  200
		evil.org/path       400
		a@b                 400
		a b                 400
		a"b                 400
		a_b%41              400
	`) {
		equal(t, fmt.Sprint(try(handler, requestTo(host, "127.0.0.1:1", "")).Code), status, "%q", host)
	}
}

func TestStrictTransportSecurity(t *testing.T) {
	handler := quietPlumbing().Wrap(answerOK)
	for _, test := range rows.Of[struct {
		Host string
		TLS  bool
		Want string
	}](`
		donors.example.org       true   max-age=31536000
		donors.example.org:8443  true   max-age=31536000
		donors.example.org       false  ""
		localhost                true   ""
		localhost:8443           true   ""
		app.localhost:8443       true   ""
		127.0.0.1:8443           true   ""
		192.0.2.1                true   ""
		[::1]:8443               true   ""
		:8443                    true   ""
		""                       true   ""
	`) {
		r := requestTo(test.Host, "203.0.113.9:1", "")
		if test.TLS {
			r.TLS = new(tls.ConnectionState)
		}
		rec := try(handler, r)
		equal(t, rec.Header().Get("Strict-Transport-Security"), test.Want, "%q", test.Host)
		equal(t, rec.Code, 200, "%q", test.Host)
	}
}
