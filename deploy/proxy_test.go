//go:build drill

package deploy_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// TestBehindNginx looks at the service as the public does.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	database := rig.Database(t)
	account, keys := newKeys(t, database, 1)
	nodes := startNodes(t, 2, database)
	nginx := startNginx(t, nodes)
	c := nginx.client(t, keys[0], true)
	for i := range 5 {
		c.call(t, 201, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"N","last_name":"%d"}`, i))
	}
	logs := func() string { return nodes[0].log.String() + nodes[1].log.String() }

	t.Run("links", func(t *testing.T) {
		for _, forged := range [][]string{
			nil,
			{"X-Forwarded-Proto", "http", "X-Forwarded-Host", "evil.example"},
			{"X-Forwarded-Port", "80", "Forwarded", "proto=http;host=evil.example"},
		} {
			a := c.call(t, 200, "GET", "/v1/contacts?per_page=2&page=2", "", forged...)
			p := decode[page](t, a.body)
			const list = public + "/v1/contacts"
			if p.Meta.Path != list || p.Links.First != list+"?per_page=2&page=1" || p.Links.Next == nil ||
				*p.Links.Next != list+"?per_page=2&page=3" || strings.Contains(string(a.body), "evil") ||
				strings.Contains(string(a.body), `"http:`) {
				t.Errorf("with %q: %s", forged, a)
			}
			if a.header.Get("Strict-Transport-Security") == "" {
				t.Errorf("with %q: no Strict-Transport-Security in %v", forged, a.header)
			}
		}
		assert.Equal(t, len(c.walk(t, "active", 2)), 5, "the links lead")
	})

	t.Run("both protocols", func(t *testing.T) {
		assert.Equal(t, c.call(t, 200, "GET", "/v1/contacts", "").proto, 2, "HTTP/")
		assert.Equal(t, nginx.client(t, keys[0], false).call(t, 200, "GET", "/v1/contacts", "").proto, 1, "HTTP/")
	})

	t.Run("request ids", func(t *testing.T) {
		a := c.call(t, 200, "GET", "/v1/contacts", "", "X-Request-Id", "chosen-by-a-stranger")
		id := a.header.Get("X-Request-Id")
		if len(a.header["X-Request-Id"]) != 1 || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
			t.Fatalf("X-Request-Id %q", a.header["X-Request-Id"])
		}
		waitFor(t, "the node's line", func() bool { return strings.Contains(logs(), `"request_id":"`+id+`"`) })
		waitFor(t, "nginx's line", func() bool { return strings.Contains(nginx.access(t), "request_id="+id+" ") })
		if strings.Contains(logs(), "chosen-by") {
			t.Error("a stranger writes request ids into the log")
		}
	})

	t.Run("links that let people in", func(t *testing.T) {
		for _, path := range []string{"invite/", "setup/", "x/../invite/", "/setup/", "%69nvite/"} {
			a, err := c.send("GET", "/console/"+path+"SECRET", "")
			if err != nil || a.status < 400 {
				t.Fatalf("%s: %s, %v", path, a, err)
			}
			var line string
			waitFor(t, "nginx's line", func() (ok bool) {
				_, line, ok = strings.Cut(nginx.access(t), "request_id="+a.header.Get("X-Request-Id")+" ")
				return ok
			})
			if !strings.Contains(line, "path=/console/invite/- ") && !strings.Contains(line, "path=/console/setup/- ") {
				t.Errorf("%s is logged as %s", path, line)
			}
		}
		if strings.Contains(nginx.access(t)+logs(), "SECRET") {
			t.Error("a log holds a link that lets people in")
		}
	})

	// A stranger who makes up where a request comes from is counted by the address that nginx sees. All of these share
	// it.
	t.Run("addresses", func(t *testing.T) {
		var remaining []string
		stranger := nginx.client(t, "", true)
		for i := range 4 { // two for each node
			made := fmt.Sprintf("198.51.100.%d", i)
			a := stranger.call(t, 401, "GET", "/v1/contacts", "", "X-Forwarded-For", made, "X-Real-Ip", made)
			remaining = append(remaining, a.header.Get("X-Ratelimit-Remaining"))
		}
		slices.Sort(remaining)
		if distinct := slices.Compact(slices.Clone(remaining)); len(distinct) < 2 {
			t.Errorf("each made-up address has requests of its own: %v are left", remaining)
		}
	})

	t.Run("plain HTTP", func(t *testing.T) {
		const refusal = `{"message":"This service only answers over HTTPS."}`
		for _, address := range []string{nginx.plain, nginx.secure} {
			plain := &client{http: &http.Client{Timeout: patience}, base: "http://" + address, key: keys[0]}
			a := plain.call(t, 400, "GET", "/v1/contacts", "", "X-Forwarded-Proto", "https")
			a.isRefusal(t, refusal)
		}
	})

	t.Run("other names", func(t *testing.T) {
		for what, config := range map[string]*tls.Config{
			"a name that is not ours": {ServerName: "evil.example", InsecureSkipVerify: true},
			"TLS 1.1": {ServerName: "donors.example.org", RootCAs: nginx.roots,
				MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
		} {
			if _, err := tls.Dial("tcp", nginx.secure, config); err == nil {
				t.Errorf("%s was served", what)
			}
		}
	})

	// Where nginx refuses, it does so in the node's words.
	t.Run("limits", func(t *testing.T) {
		node := nodes[0].client(t, keys[0])
		tooLarge := `{"first_name":"` + strings.Repeat("x", 1<<20) + `"}`
		const start, end = `{"first_name":"N","last_name":"N"`, `}`
		fits := start + strings.Repeat(" ", 1<<20-len(start+end)) + end
		for _, who := range []*client{c, node} {
			who.call(t, 201, "POST", "/v1/contacts", fits)
		}
		same(t, node, c, 413, "POST", "/v1/contacts", tooLarge)
		header := strings.Repeat("h", 40<<10)
		for _, who := range []*client{c, node} {
			who.call(t, 200, "GET", "/v1/contacts", "", "X-Long", header)
		}
		old := nginx.client(t, keys[0], false) // in HTTP/2 nginx ends the connection
		same(t, node, old, 431, "GET", "/v1/contacts", "", "X-Long", header+header)
		same(t, node, old, 431, "GET", "/v1/contacts?x="+strings.Repeat("y", 100<<10), "")
		same(t, node, c, 404, "GET", "/donorbook-error/413", "")
	})

	t.Run("a request that is no HTTP", func(t *testing.T) {
		config := &tls.Config{ServerName: "donors.example.org", RootCAs: nginx.roots}
		conn := assert.Must(tls.Dial("tcp", nginx.secure, config))(t)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprint(conn, "GET /v1/contacts HTTP/1.1\r\nHost: a b\r\n\r\n")
		text, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(text), "HTTP/1.1 400 ") || !strings.Contains(string(text), `{"message":`) {
			t.Errorf("%s", text)
		}
	})

	t.Run("uploads", func(t *testing.T) { upload(t, nginx, database, account) })

	t.Run("no node", func(t *testing.T) {
		for _, n := range nodes {
			n.kill()
		}
		a := c.call(t, 503, "POST", "/v1/contacts", `{"first_name":"N","last_name":"N"}`)
		a.isRefusal(t, `{"message":"The service is temporarily unavailable. Please try again."}`)
		if a.header.Get("Retry-After") != "1" {
			t.Errorf("%v", a.header)
		}
		if _, err := net.Dial("tcp", nodes[0].address); err == nil {
			t.Error("a dead node answers")
		}
	})

}

// same wants the proxy to answer a request as the node does.
func same(t *testing.T, node, proxy *client, status int, method, path, body string, headers ...string) {
	t.Helper()
	want := node.call(t, status, method, path, body, headers...)
	got := proxy.call(t, status, method, path, body, headers...)
	isSame := string(want.body) == string(got.body) && want.header.Get("Content-Type") == got.header.Get("Content-Type")
	if !isSame || got.header.Get("X-Request-Id") == "" {
		t.Errorf("the node answers %s %v,\nand through nginx it is %s %v", want, want.header, got, got.header)
	}
}

// upload sends what people send through nginx: a large file to import, and a picture.
func upload(t *testing.T, nginx *proxy, database, account string) {
	password := donorbook(t, database, "user", "create", "--email", "ada@example.org", "--name", "Ada",
		"--account", account, "--role", "owner")
	var session string
	send := func(path, kind string, body io.Reader) *http.Response {
		t.Helper()
		r := assert.Must(http.NewRequestWithContext(t.Context(), "POST", public+path, body))(t)
		r.Header = http.Header{"Content-Type": {kind}, "Sec-Fetch-Site": {"same-origin"}, "Cookie": {session}}
		browser := nginx.client(t, "", true).http
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		a := assert.Must(browser.Do(r))(t)
		defer a.Body.Close()
		if text, _ := io.ReadAll(a.Body); a.StatusCode != 303 {
			t.Fatalf("%s: %d %s", path, a.StatusCode, text)
		}
		return a
	}
	form := url.Values{"email": {"ada@example.org"}, "password": {password}}.Encode()
	in := send("/console/signin", "application/x-www-form-urlencoded", strings.NewReader(form))
	for _, cookie := range in.Cookies() {
		session += cookie.Name + "=" + cookie.Value + "; "
	}
	parts := func(field, name string, content []byte) (string, io.Reader) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		assert.Must(assert.Must(w.CreateFormFile(field, name))(t).Write(content))(t)
		assert.Succeed(t, errors.Join(w.WriteField("title", "Coats"), w.Close()))
		return w.FormDataContentType(), &b
	}
	row := []byte("Ada,Brooks," + strings.Repeat("x", 900) + "\n")
	rows := append([]byte("first_name,last_name,note\n"), bytes.Repeat(row, 95<<20/len(row))...)
	kind, body := parts("file", "people.csv", rows)
	to := send("/console/o/"+account+"/contacts/import", kind, body).Header.Get("Location")
	assert.Contains(t, to, "/imports/", "the import leads")
	noise := image.NewNRGBA(image.Rect(0, 0, 800, 600))
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise.Pix) // never fails
	var picture bytes.Buffer
	if err := png.Encode(&picture, noise); err != nil || picture.Len() < 1<<20 {
		t.Fatalf("a picture of %d bytes: %v", picture.Len(), err)
	}
	kind, body = parts("cover.url_file", "cover.png", picture.Bytes())
	send("/console/o/"+account+"/campaigns", kind, body)
}
