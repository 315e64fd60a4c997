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
)

// TestBehindNginx looks at the service as the public does.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	account, keys := newKeys(t, database, 1)
	nodes := []*node{newNode(t, database), newNode(t, database)}
	for _, n := range nodes {
		n.start(t)
	}
	for _, n := range nodes {
		n.waitUntilReady(t)
	}
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
			if p.Meta.Path != public+"/v1/contacts" || p.Links.First != public+"/v1/contacts?per_page=2&page=1" || p.Links.Next == nil ||
				*p.Links.Next != public+"/v1/contacts?per_page=2&page=3" || strings.Contains(string(a.body), "evil") || strings.Contains(string(a.body), `"http:`) {
				t.Errorf("with %q: %s", forged, a)
			}
			if a.header.Get("Strict-Transport-Security") == "" {
				t.Errorf("with %q: no Strict-Transport-Security in %v", forged, a.header)
			}
		}
		if all := c.walk(t, "active", 2); len(all) != 5 {
			t.Errorf("the links lead to %d of 5 contacts", len(all))
		}
	})

	t.Run("both protocols", func(t *testing.T) {
		if a := c.call(t, 200, "GET", "/v1/contacts", ""); a.proto != 2 {
			t.Errorf("HTTP/%d", a.proto)
		}
		if a := nginx.client(t, keys[0], false).call(t, 200, "GET", "/v1/contacts", ""); a.proto != 1 {
			t.Errorf("HTTP/%d", a.proto)
		}
	})

	t.Run("request ids", func(t *testing.T) {
		a := c.call(t, 200, "GET", "/v1/contacts", "", "X-Request-Id", "chosen-by-a-stranger")
		id := a.header.Get("X-Request-Id")
		if len(a.header["X-Request-Id"]) != 1 || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
			t.Fatalf("X-Request-Id %q", a.header["X-Request-Id"])
		}
		waitFor(t, "the node's line", func() bool { return strings.Contains(logs(), `"request_id":"`+id+`"`) })
		waitFor(t, "nginx's line", func() bool { return strings.Contains(readFile(t, nginx.dir+"/access.log"), "request_id="+id+" ") })
		if strings.Contains(logs(), "chosen-by") {
			t.Error("a stranger writes request ids into the log")
		}
	})

	t.Run("links that let people in", func(t *testing.T) {
		for _, path := range []string{"/console/invite/", "/console/setup/", "/console/x/../invite/", "/console//setup/", "/console/%69nvite/"} {
			a, err := c.send("GET", path+"SECRET", "")
			if err != nil || a.status < 400 {
				t.Fatalf("%s: %s, %v", path, a, err)
			}
			var line string
			waitFor(t, "nginx's line", func() (ok bool) {
				_, line, ok = strings.Cut(readFile(t, nginx.dir+"/access.log"), "request_id="+a.header.Get("X-Request-Id")+" ")
				return ok
			})
			if !strings.Contains(line, "path=/console/invite/- ") && !strings.Contains(line, "path=/console/setup/- ") {
				t.Errorf("%s is logged as %s", path, line)
			}
		}
		if strings.Contains(readFile(t, nginx.dir+"/access.log")+logs(), "SECRET") {
			t.Error("a log holds a link that lets people in")
		}
	})

	// A stranger who makes up where a request comes from is counted by the address that nginx sees. All of these share it.
	t.Run("addresses", func(t *testing.T) {
		var remaining []string
		stranger := nginx.client(t, "", true)
		for i := range 4 { // two for each node
			a := stranger.call(t, 401, "GET", "/v1/contacts", "", "X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i), "X-Real-Ip", fmt.Sprintf("198.51.100.%d", i))
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
			if string(a.body) != refusal || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" {
				t.Errorf("%s %v", a, a.header)
			}
		}
	})

	t.Run("other names", func(t *testing.T) {
		_, err := tls.Dial("tcp", nginx.secure, &tls.Config{ServerName: "evil.example", InsecureSkipVerify: true})
		if err == nil {
			t.Error("a name that is not ours was served")
		}
		_, err = tls.Dial("tcp", nginx.secure, &tls.Config{ServerName: "donors.example.org", RootCAs: nginx.roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})
		if err == nil {
			t.Error("TLS 1.1 was accepted")
		}
	})

	// Where nginx refuses, it does so in the node's words.
	t.Run("limits", func(t *testing.T) {
		node := nodes[0].client(t, keys[0])
		tooLarge := `{"first_name":"` + strings.Repeat("x", 1<<20) + `"}`
		fits := `{"first_name":"N","last_name":"N"` + strings.Repeat(" ", 1<<20-len(`{"first_name":"N","last_name":"N"}`)) + `}`
		for _, who := range []*client{c, node} {
			who.call(t, 201, "POST", "/v1/contacts", fits)
		}
		same(t, node.call(t, 413, "POST", "/v1/contacts", tooLarge), c.call(t, 413, "POST", "/v1/contacts", tooLarge))
		header := strings.Repeat("h", 40<<10)
		for _, who := range []*client{c, node} {
			who.call(t, 200, "GET", "/v1/contacts", "", "X-Long", header)
		}
		old := nginx.client(t, keys[0], false) // in HTTP/2 nginx ends the connection
		same(t, node.call(t, 431, "GET", "/v1/contacts", "", "X-Long", header+header), old.call(t, 431, "GET", "/v1/contacts", "", "X-Long", header+header))
		path := "/v1/contacts?x=" + strings.Repeat("y", 100<<10)
		same(t, node.call(t, 431, "GET", path, ""), old.call(t, 431, "GET", path, ""))
		same(t, node.call(t, 404, "GET", "/donorbook-error/413", ""), c.call(t, 404, "GET", "/donorbook-error/413", ""))
	})

	t.Run("a request that is no HTTP", func(t *testing.T) {
		conn, err := tls.Dial("tcp", nginx.secure, &tls.Config{ServerName: "donors.example.org", RootCAs: nginx.roots})
		if err != nil {
			t.Fatal(err)
		}
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
		if string(a.body) != `{"message":"The service is temporarily unavailable. Please try again."}` || a.header.Get("Retry-After") != "1" ||
			a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" {
			t.Errorf("%s %v", a, a.header)
		}
		if _, err := net.Dial("tcp", nodes[0].address); err == nil {
			t.Error("a dead node answers")
		}
	})

}

// same wants the proxy to answer as the node does.
func same(t *testing.T, node, proxy answer) {
	t.Helper()
	if string(node.body) != string(proxy.body) || node.header.Get("Content-Type") != proxy.header.Get("Content-Type") || proxy.header.Get("X-Request-Id") == "" {
		t.Errorf("the node answers %s %v,\nand through nginx it is %s %v", node, node.header, proxy, proxy.header)
	}
}

// upload sends what people send through nginx: a large file to import, and a picture.
func upload(t *testing.T, nginx *proxy, database, account string) {
	password := donorbook(t, database, "user", "create", "--email", "ada@example.org", "--name", "Ada", "--account", account, "--role", "owner")
	var session string
	send := func(path, kind string, body io.Reader) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, public+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {kind}, "Sec-Fetch-Site": {"same-origin"}, "Cookie": {session}}
		browser := nginx.client(t, "", true).http
		browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		a, err := browser.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer a.Body.Close()
		if text, _ := io.ReadAll(a.Body); a.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", path, a.StatusCode, text)
		}
		return a
	}
	for _, cookie := range send("/console/signin", "application/x-www-form-urlencoded", strings.NewReader(url.Values{"email": {"ada@example.org"}, "password": {password}}.Encode())).Cookies() {
		session += cookie.Name + "=" + cookie.Value + "; "
	}
	parts := func(field, name string, content []byte) (string, io.Reader) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		part, err := w.CreateFormFile(field, name)
		if err == nil {
			_, err = part.Write(content)
		}
		err = errors.Join(err, w.WriteField("title", "Coats"))
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		return w.FormDataContentType(), &b
	}
	row := []byte("Ada,Brooks," + strings.Repeat("x", 900) + "\n")
	kind, body := parts("file", "people.csv", append([]byte("first_name,last_name,note\n"), bytes.Repeat(row, 95<<20/len(row))...))
	if to := send("/console/o/"+account+"/contacts/import", kind, body).Header.Get("Location"); !strings.Contains(to, "/imports/") {
		t.Errorf("the import leads to %s", to)
	}
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
