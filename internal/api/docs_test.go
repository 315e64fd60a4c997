package api

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// noBook is enough for documents.
var noBook = &book.Book{Store: &store.Store{Now: time.Now}}

// A document is served in its type, plain or compressed, and not sent again to a client that has it.
func TestDocumentsAreServedWithTheirTypes(t *testing.T) {
	types := map[string]string{
		"/openapi.json":  "application/json",
		"/openapi.yaml":  "application/yaml",
		"/docs":          "text/html; charset=utf-8",
		"/docs/docs.css": "text/css; charset=utf-8",
		"/docs/docs.js":  "text/javascript; charset=utf-8",
	}
	equal(t, len(documents)+1, len(types),
		"%d documents are served beside the page, want %d", len(documents), len(types)-1)
	a := New(noBook, Options{})
	for path, contentType := range types {
		for _, encoding := range []string{"", "gzip"} {
			w := readDocument(t, a, path, "Accept-Encoding", encoding)
			h := w.Header()
			if h.Get("Content-Type") != contentType || w.Body.Len() == 0 || h.Get("Content-Encoding") != encoding ||
				h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || h.Get("Cache-Control") != "no-cache" ||
				h.Get("Vary") != "Accept-Encoding" ||
				(h.Get("Content-Security-Policy") == docsPolicy) != (path == "/docs") {
				t.Errorf("%s: %d bytes, %v, want some of %q in the encoding %q", path, w.Body.Len(), h, contentType,
					encoding)
			}
			again := readDocument(t, a, path, "Accept-Encoding", encoding, "If-None-Match", `"x", `+h.Get("ETag"))
			if again.Code != 304 || again.Body.Len() > 0 || h.Get("ETag") == "" {
				t.Errorf("%s, asked again: %d, %d bytes", path, again.Code, again.Body.Len())
			}
		}
	}
}

func readDocument(t *testing.T, a *API, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", "https://donors.example.org:8443"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	succeed(t, a.Serve(w, r))
	return w
}

// contract is the part of the document that the tests compare with the page.
type contract struct {
	Paths map[string]map[string]struct {
		OperationID, Summary string
		Responses            map[string]any
	}
	Components struct {
		Schemas map[string]struct{ Properties map[string]any }
	}
}

func readContract(t *testing.T) contract {
	t.Helper()
	var c contract
	succeed(t, json.Unmarshal(web.Gunzip(openapiJSON), &c))
	return c
}

// anchor is the id of an operation on the page: create-contact for createContact.
func anchor(operation string) string {
	return strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(operation, "-$0"))
}

func TestDocsShowEveryOperation(t *testing.T) {
	page := string(web.Gunzip(docsHTML))
	operations := 0
	for route, methods := range readContract(t).Paths {
		shown := "<code>" + strings.NewReplacer("/", "/<wbr>", ".", ".<wbr>", "_", "_<wbr>").Replace(route) + "</code>"
		contains(t, page, shown, "the page does not show %s", route)
		for method, op := range methods {
			operations++
			for _, want := range []string{
				`id="` + anchor(op.OperationID) + `"`,
				"<code>" + op.OperationID + "</code>",
				strings.ToUpper(method) + "</span> " + shown,
				op.Summary,
			} {
				contains(t, page, want, "%s %s: the page has no", method, route)
			}
			for status := range op.Responses {
				contains(t, page, `id="`+anchor(op.OperationID)+"-"+status+`"`,
					"%s: the page does not explain the status %s", op.OperationID, status)
			}
		}
	}
	if operations < 40 {
		t.Errorf("the document has %d operations, want at least 40", operations)
	}
}

func TestDocsShowEveryField(t *testing.T) {
	page := string(web.Gunzip(docsHTML))
	for name, schema := range readContract(t).Components.Schemas {
		for key := range schema.Properties {
			if field := regexp.MustCompile(`data-title="([^"]*\.)?` + key + `"`); !field.MatchString(page) {
				t.Errorf("the page does not explain %s of %s", key, name)
			}
		}
	}
	for _, field := range []string{"emails[].value", "addresses[].address_1", "meta.links[].label",
		"event.livestream.url", "X-Contact-Merged"} {
		contains(t, page, `data-title="`+field+`"`, "the page does not explain %s", field)
	}
}

// An empty box beside the text would look broken.
func TestDocsShowSamplesBesideEveryOperationAndObject(t *testing.T) {
	articles := strings.Split(string(web.Gunzip(docsHTML)), `<article class="operation" id="`)[1:]
	shown := 0
	for _, article := range articles {
		id, _, _ := strings.Cut(article, `"`)
		_, samples, beside := strings.Cut(article, `<div class="samples">`)
		if beside {
			shown++
			if !regexp.MustCompile(`^\s*(<div class="choice">\s*)?<(figure|details) class="code"`).MatchString(samples) {
				t.Errorf("there is no example beside %s", id)
			}
		}
	}
	if shown < 40+21 {
		t.Errorf("%d operations and objects have examples, want at least 61", shown)
	}
}

// The page must work on a machine that can reach only the server, and under its own policy.
func TestDocsNeedNothingFromOutside(t *testing.T) {
	page := string(web.Gunzip(docsHTML))
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		target := html.UnescapeString(match[1])
		_, isServed := documents[target]
		if !isServed && target != "/console" && !strings.HasPrefix(target, "#") &&
			!strings.HasPrefix(target, "data:image/") {
			t.Errorf("the page refers to %q, which this server does not have", target)
		}
	}
	for _, refused := range []string{`<style`, `\sstyle="`, `<script>`, `<script[^>]*>[^<]`, `\son[a-z]+="`,
		`javascript:`} {
		equal(t, regexp.MustCompile(refused).FindString(page), "", "the page")
	}
	for _, outside := range []string{"@import", "url("} {
		if strings.Contains(string(docsCSS), outside) {
			t.Errorf("docs.css has %q", outside)
		}
	}
}

func TestDocsAnchorsResolve(t *testing.T) {
	page := string(web.Gunzip(docsHTML))
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

// A file that the reader does not have would make every example fail.
func TestExamplesNameTheAuthorityOnlyIfThereIsOne(t *testing.T) {
	for _, own := range []bool{true, false} {
		a := New(noBook, Options{OwnAuthority: own})
		page := readDocument(t, a, "/docs").Body.String()
		equal(t, strings.Contains(page, "ca.pem"), own, "the examples name the file of an authority")
		zipped := readDocument(t, a, "/docs", "Accept-Encoding", "gzip").Body
		equal(t, string(must(io.ReadAll(must(gzip.NewReader(zipped))(t)))(t)), page,
			"the compressed page is another")
	}
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}
