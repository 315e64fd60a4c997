package web

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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

func TestClientAddress(t *testing.T) {
	wide := mustProxies(t, []string{"10.0.0.0/8", "127.0.0.1", "fd00::/8"}, "")
	none := mustProxies(t, []string{"none"}, "")
	for _, test := range []struct {
		name    string
		proxies *Proxies
		r       *http.Request
		want    string
	}{
		{"direct", wide, requestFrom("203.0.113.9:1"), "203.0.113.9"},
		{"direct, spoofed", wide, requestFrom("203.0.113.9:1", "X-Forwarded-For", "127.0.0.1"), "203.0.113.9"},
		{"one proxy", wide, requestFrom("10.1.1.1:1", "X-Forwarded-For", "198.51.100.7"), "198.51.100.7"},
		{"client's own entry is not believed", wide,
			requestFrom("10.1.1.1:1", "X-Forwarded-For", "127.0.0.1, 198.51.100.7"), "198.51.100.7"},
		{"two proxies", wide, requestFrom("10.1.1.1:1", "X-Forwarded-For", "1.1.1.1, 198.51.100.7,10.2.2.2"), "198.51.100.7"},
		{"two lines", wide,
			requestFrom("10.1.1.1:1", "X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", "10.2.2.2"), "198.51.100.7"},
		{"with port", wide, requestFrom("10.1.1.1:1", "X-Forwarded-For", "198.51.100.7:4711"), "198.51.100.7"},
		{"IPv6", wide, requestFrom("[fd00::1]:1", "X-Forwarded-For", "[2001:db8::7]:4711"), "2001:db8::7"},
		{"mapped", wide, requestFrom("[::ffff:10.1.1.1]:1", "X-Forwarded-For", "::ffff:198.51.100.7"), "198.51.100.7"},
		{"all trusted", wide, requestFrom("10.1.1.1:1", "X-Forwarded-For", "10.3.3.3, 10.2.2.2"), "10.3.3.3"},
		{"garbage", wide, requestFrom("10.1.1.1:1", "X-Forwarded-For", "unknown"), "invalid IP"},
		{"nobody trusted", none, requestFrom("127.0.0.1:1", "X-Forwarded-For", "198.51.100.7"), "127.0.0.1"},
		{"default", nil, requestFrom("127.0.0.1:1", "X-Forwarded-For", "198.51.100.7"), "198.51.100.7"},
	} {
		equal(t, test.proxies.Client(test.r).String(), test.want, "%s", test.name)
	}
}

func TestPlainHTTPIsRefused(t *testing.T) {
	handler := (&Plumbing{
		Log: discard(), Proxies: mustProxies(t, []string{"127.0.0.0/8", "::1", "10.0.0.1"}, ""), RequireHTTPS: true,
	}).Wrap(func(w http.ResponseWriter, r *http.Request) error {
		return WriteJSON(w, http.StatusOK, []byte(`{"secret":true}`))
	})
	for _, test := range []struct {
		name string
		r    *http.Request
		ok   bool
	}{
		{"this machine", requestTo("localhost:8443", "127.0.0.1:1"), true},
		{"this machine, IPv6", requestTo("[::1]:8443", "[::1]:1"), true},
		{"this machine, another name", requestTo("app.localhost", "127.0.0.1:1"), true},
		{"this machine, its address", requestTo("127.0.0.1", "127.0.0.2:1"), true},
		{"this machine, without a name", requestTo("", "127.0.0.1:1"), false},
		{"proxy on this machine that says nothing", requestFrom("127.0.0.1:1"), false},
		{"proxy on this machine that says nothing, IPv6", requestFrom("[::1]:1"), false},
		{"proxy on this machine that hides the name", requestTo("127.0.0.1:8080", "127.0.0.1:1", "X-Forwarded-Host", "donors.example.org"), false},
		{"proxy on this machine, port alone", requestTo("localhost", "127.0.0.1:1", "X-Forwarded-Port", "80"), false},
		{"proxy on this machine, other name", requestTo("localhost", "[::1]:1", "X-Client-Ip", "8.8.8.8"), false},
		{"tunnel to this machine", requestTo("localhost", "127.0.0.1:1", "Cf-Connecting-Ip", "203.0.113.9"), false},
		{"network in front", requestTo("localhost", "127.0.0.1:1", "True-Client-Ip", "203.0.113.9"), false},
		{"proxy on this machine, old header", requestTo("localhost", "127.0.0.1:1", "X-Forwarded", "for=8.8.8.8"), false},
		{"proxy on this machine that passes on what a client wrote", requestTo("localhost", "127.0.0.1:1", "X-Forwarded-For", "127.0.0.1"), false},
		{"outside, to a name of this machine", requestTo("localhost", "203.0.113.9:1"), false},
		{"outside", requestFrom("203.0.113.9:1"), false},
		{"outside, spoofed scheme", requestFrom("203.0.113.9:1", "X-Forwarded-Proto", "https"), false},
		{"outside, spoofed address", requestFrom("203.0.113.9:1", "X-Forwarded-For", "127.0.0.1"), false},
		{"proxy on this machine, https", requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "https", "X-Forwarded-For", "203.0.113.9"), true},
		{"proxy on this machine, http", requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "http", "X-Forwarded-For", "203.0.113.9"), false},
		{"proxy on this machine, spoofed client", requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "http", "X-Forwarded-For", "127.0.0.1, 203.0.113.9"), false},
		{"proxy on this machine, client unnamed", requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "http"), false},
		{"proxy on this machine, other header", requestFrom("127.0.0.1:1", "Forwarded", "for=203.0.113.9;proto=http"), false},
		{"proxy on this machine, client not an address", requestFrom("127.0.0.1:1", "X-Forwarded-For", "unknown"), false},
		{"proxy on this machine for this machine", requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "http", "X-Forwarded-For", "127.0.0.1"), false},
		{"proxy elsewhere, https", requestFrom("10.0.0.1:1", "X-Forwarded-Proto", "HTTPS"), true},
		{"proxy elsewhere, http", requestFrom("10.0.0.1:1", "X-Forwarded-Proto", "http"), false},
		{"proxy elsewhere, half way", requestFrom("10.0.0.1:1", "X-Forwarded-Proto", "https,http"), false},
		{"no proxy of ours", requestFrom("10.0.0.2:1", "X-Forwarded-Proto", "https"), false},
	} {
		rec := try(handler, test.r)
		equal(t, (rec.Code == 200), test.ok, "%s: %d %s", test.name, rec.Code, rec.Body)
		if rec.Code != 200 && (rec.Code != 400 || rec.Body.String() != `{"message":"This service only answers over HTTPS."}`) {
			t.Errorf("%s: %d %s", test.name, rec.Code, rec.Body)
		}
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		r := requestFrom("203.0.113.9:1")
		r.URL.Path = probe
		rec := try(handler, r)
		equal(t, rec.Code, 200, "%s (%v)", probe, rec.Body)
	}
}

// requestTo is a request to a host.
func requestTo(host, client string, headers ...string) *http.Request {
	r := requestFrom(client, headers...)
	r.Host = host
	return r
}

func TestBaseURL(t *testing.T) {
	secure := requestFrom("203.0.113.9:1")
	secure.TLS = new(tls.ConnectionState)
	port := requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "https")
	port.Host = "[::1]:8443"
	set := mustProxies(t, nil, "https://give.example.org/app/")
	for _, test := range []struct {
		proxies *Proxies
		r       *http.Request
		want    string
	}{
		{nil, requestFrom("203.0.113.9:1"), "http://donors.example.org"},
		{nil, requestFrom("203.0.113.9:1", "X-Forwarded-Proto", "https"), "http://donors.example.org"},
		{nil, requestFrom("127.0.0.1:1", "X-Forwarded-Proto", "https"), "https://donors.example.org"},
		{nil, secure, "https://donors.example.org"},
		{nil, port, "https://[::1]:8443"},
		{set, requestFrom("203.0.113.9:1"), "https://give.example.org/app"},
	} {
		equal(t, test.proxies.BaseURL(test.r), test.want)
	}
	equal(t, set.BaseHost(), "give.example.org", "base host")
}

func TestWrongProxySettings(t *testing.T) {
	for _, trusted := range []string{"10.0.0.0/99", "proxy.example.org", ""} {
		if _, err := NewProxies([]string{trusted}, ""); err == nil || !strings.Contains(err.Error(), trusted) {
			t.Errorf("%q: %v", trusted, err)
		}
	}
	for _, base := range []string{"donors.example.org", "ftp://x", "https://", "https://a b/", "https://x/?q=1", "https://u:p@x"} {
		if _, err := NewProxies(nil, base); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}

func TestWeirdHostIsRefused(t *testing.T) {
	handler := quietPlumbing().Wrap(answerOK)
	for host, status := range map[string]int{
		"donors.example.org": 200, "localhost:8443": 200, "[::1]:8443": 200, "": 200,
		"evil.org/path": 400, "a@b": 400, "a b": 400, `a"b`: 400, "a_b%41": 400,
	} {
		r := requestFrom("127.0.0.1:1")
		r.Host = host
		rec := try(handler, r)
		equal(t, rec.Code, status, "%q", host)
	}
}

func TestStrictTransportSecurity(t *testing.T) {
	handler := quietPlumbing().Wrap(answerOK)
	for _, test := range []struct {
		host string
		tls  bool
		want string
	}{
		{"donors.example.org", true, "max-age=31536000"},
		{"donors.example.org:8443", true, "max-age=31536000"},
		{"donors.example.org", false, ""},
		{"localhost", true, ""},
		{"localhost:8443", true, ""},
		{"app.localhost:8443", true, ""},
		{"127.0.0.1:8443", true, ""},
		{"192.0.2.1", true, ""},
		{"[::1]:8443", true, ""},
		{":8443", true, ""},
		{"", true, ""},
	} {
		r := requestFrom("203.0.113.9:1")
		r.Host = test.host
		if test.tls {
			r.TLS = new(tls.ConnectionState)
		}
		rec := try(handler, r)
		equal(t, rec.Header().Get("Strict-Transport-Security"), test.want, "%q", test.host)
		equal(t, rec.Code, 200, "%q", test.host)
	}
}
