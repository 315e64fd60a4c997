package api

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/web"
)

func TestDocumentsAreServedWithTheirTypes(t *testing.T) {
	types := map[string]string{
		"/openapi.json":  "application/json",
		"/openapi.yaml":  "application/yaml",
		"/docs":          "text/html; charset=utf-8",
		"/docs/docs.css": "text/css; charset=utf-8",
		"/docs/docs.js":  "text/javascript; charset=utf-8",
	}
	served := documents()
	if len(served) != len(types) || len(documentPaths) != len(types) {
		t.Errorf("%d documents are served at %d paths, want %d", len(served), len(documentPaths), len(types))
	}
	for path, contentType := range types {
		if !slices.Contains(documentPaths, path) {
			t.Errorf("nothing leads to %s", path)
		}
		d := served[path]
		if d.Kind != contentType || len(d.Body) == 0 {
			t.Errorf("%s: %d bytes of %q, want some of %q", path, len(d.Body), d.Kind, contentType)
		}
		if isPage := path == "/docs"; isPage != (d.policy != "") {
			t.Errorf("%s: policy is %q", path, d.policy)
		}
	}
}

func TestDocsShowEveryOperation(t *testing.T) {
	page := string(documents()["/docs"].Body)
	var api openapi
	if err := json.Unmarshal(openapiJSON, &api); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, route := range api.Paths.keys {
		shown := "<code>" + string(breakable(route)) + "</code>"
		if !strings.Contains(page, shown) {
			t.Errorf("the page does not show %s", route)
		}
		for method, op := range api.Paths.values[route].values {
			operations++
			for _, want := range []string{
				`id="` + kebab(op.OperationID) + `"`,
				"<code>" + op.OperationID + "</code>",
				strings.ToUpper(method) + "</span> " + shown,
				op.Summary,
			} {
				if !strings.Contains(page, want) {
					t.Errorf("%s %s: the page has no %q", method, route, want)
				}
			}
			for _, status := range op.Responses.keys {
				if id := `id="` + kebab(op.OperationID) + "-" + status + `"`; !strings.Contains(page, id) {
					t.Errorf("%s: the page does not explain the status %s", op.OperationID, status)
				}
			}
		}
	}
	if operations != 10 {
		t.Errorf("the document has %d operations, want 10", operations)
	}
}

func TestDocsShowEveryField(t *testing.T) {
	page := string(documents()["/docs"].Body)
	var api openapi
	if err := json.Unmarshal(openapiJSON, &api); err != nil {
		t.Fatal(err)
	}
	for _, name := range api.Components.Schemas.keys {
		for _, key := range api.Components.Schemas.values[name].Properties.keys {
			if field := regexp.MustCompile(`data-title="([^"]*\.)?` + key + `"`); !field.MatchString(page) {
				t.Errorf("the page does not explain %s of %s", key, name)
			}
		}
	}
	for _, field := range []string{"emails[].value", "addresses[].address_1", "meta.links[].label", "event.livestream.url", "X-Contact-Merged"} {
		if !strings.Contains(page, `data-title="`+field+`"`) {
			t.Errorf("the page does not explain %s", field)
		}
	}
}

// The page must work on a machine that reaches nothing but the server, and under its own policy.
func TestDocsNeedNothingFromOutside(t *testing.T) {
	served := documents()
	page := string(served["/docs"].Body)
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		target := html.UnescapeString(match[1])
		_, isServed := served[target]
		if !isServed && target != "/console" && !strings.HasPrefix(target, "#") && !strings.HasPrefix(target, "data:image/") {
			t.Errorf("the page refers to %q, which this server does not have", target)
		}
	}
	for _, refused := range []string{`<style`, `\sstyle="`, `<script>`, `<script[^>]*>[^<]`, `\son[a-z]+="`, `javascript:`} {
		if found := regexp.MustCompile(refused).FindString(page); found != "" {
			t.Errorf("the page has %q, which its policy refuses", found)
		}
	}
	for _, outside := range []string{"@import", "url("} {
		if strings.Contains(string(docsCSS), outside) {
			t.Errorf("docs.css has %q", outside)
		}
	}
}

func TestDocsAnchorsResolve(t *testing.T) {
	page := string(documents()["/docs"].Body)
	var ids []string
	for _, match := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, match[1]) {
			t.Errorf("two places are called #%s", match[1])
		}
		ids = append(ids, match[1])
	}
	for _, match := range regexp.MustCompile(`(?:href="#|aria-labelledby="|aria-describedby="|for="|popovertarget=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !slices.Contains(ids, match[1]) {
			t.Errorf("a link leads to #%s, which is nowhere", match[1])
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for text, want := range map[string]string{
		"a < b & `<c>`":           "<p>a &lt; b &amp; <code>&lt;c&gt;</code></p>",
		"**x** and [y](#y)":       `<p><strong>x</strong> and <a href="#y">y</a></p>`,
		"[y](javascript:alert)":   "<p>[y](javascript:alert)</p>",
		"- one\n  more\n- `two`":  "<ul><li>one more</li><li><code>two</code></li></ul>",
		"first\nline\n\n- second": "<p>first line</p><ul><li>second</li></ul>",
	} {
		if got := string(markdown(text)); got != want {
			t.Errorf("markdown(%q)\n got %s\nwant %s", text, got, want)
		}
	}
}

// readDocs is the reference page as a client gets it under a host name.
func readDocs(t *testing.T, a *API, host, encoding string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "https://"+host+"/docs", nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	if err := a.Serve(w, r); err != nil {
		t.Fatal(err)
	}
	h := w.Header()
	if h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || h.Get("Content-Security-Policy") != docsPolicy || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s: %d bytes, %v", host, w.Body.Len(), h)
	}
	if h.Get("Content-Encoding") != "gzip" {
		return w.Body.String()
	}
	unzipped, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestExamplesNameTheHostTheyAreReadFrom(t *testing.T) {
	at := func(baseURL string) *web.Proxies {
		proxies, err := web.NewProxies(nil, baseURL)
		if err != nil {
			t.Fatal(err)
		}
		return proxies
	}
	for _, test := range []struct {
		options Options
		base    string
	}{
		{Options{}, "https://donors.example.org:8443"},
		{Options{Proxies: at("")}, "https://donors.example.org:8443"},
		{Options{Proxies: at("https://give.example.net/book/"), OwnAuthority: true}, "https://give.example.net/book"},
	} {
		a := New(nil, test.options)
		page := readDocs(t, a, "donors.example.org:8443", "")
		for _, part := range []string{"&#34;" + test.base + "/v1/contacts/", ">" + test.base + "/v1/contacts<", `href="/console"`} {
			if !strings.Contains(page, part) {
				t.Errorf("%s: the page lacks %s", test.base, part)
			}
		}
		if strings.Contains(page, "localhost") {
			t.Errorf("%s: the page names another host", test.base)
		}
		// A file that the reader does not have would make every example fail.
		if named := strings.Contains(page, "ca.pem"); named != test.options.OwnAuthority {
			t.Errorf("%s: the examples name the file of an authority: %t", test.base, named)
		}
		if readDocs(t, a, "donors.example.org:8443", "gzip") != page {
			t.Errorf("%s: the compressed page is another", test.base)
		}
	}
}

// A client that claims many host names fills no memory, and each gets the page that it asked for.
func TestThePageIsKeptForFewHosts(t *testing.T) {
	page := newDocsPage(false)
	for i := range 3 * keptAddresses {
		base := "https://host" + strconv.Itoa(i) + ".example.org"
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/docs", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		if err := page.serve(w, r, base); err != nil {
			t.Fatal(err)
		}
		if zipped := w.Header().Get("Content-Encoding") == "gzip"; zipped != (i < keptAddresses) || !zipped && !strings.Contains(w.Body.String(), base) {
			t.Errorf("%s: %v", base, w.Header())
		}
	}
	if len(page.zipped) != keptAddresses {
		t.Errorf("%d pages are kept", len(page.zipped))
	}
}
