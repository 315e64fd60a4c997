package api

import (
	"compress/gzip"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// noBook is enough for documents.
var noBook = &book.Book{Base: &store.Base{Now: time.Now}}

func TestDocumentsAreServedWithTheirTypes(t *testing.T) {
	types := map[string]string{
		"/openapi.json":  "application/json",
		"/openapi.yaml":  "application/yaml",
		"/docs":          "text/html; charset=utf-8",
		"/docs/docs.css": "text/css; charset=utf-8",
		"/docs/docs.js":  "text/javascript; charset=utf-8",
	}
	if len(documents)+1 != len(types) {
		t.Errorf("%d documents are served beside the page, want %d", len(documents), len(types)-1)
	}
	a := New(noBook, Options{})
	for path, contentType := range types {
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest(http.MethodGet, "https://localhost"+path, nil)
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			if err := a.Serve(w, r); err != nil {
				t.Errorf("nothing leads to %s: %v", path, err)
			}
			h := w.Header()
			if h.Get("Content-Type") != contentType || w.Body.Len() == 0 || h.Get("Content-Encoding") != encoding ||
				h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || h.Get("Cache-Control") != "no-cache" || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %d bytes, %v, want some of %q in the encoding %q", path, w.Body.Len(), h, contentType, encoding)
			}
			if isPage := path == "/docs"; isPage != (h.Get("Content-Security-Policy") != "") {
				t.Errorf("%s: policy is %q", path, h.Get("Content-Security-Policy"))
			}
		}
	}
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
		if !strings.Contains(page, shown) {
			t.Errorf("the page does not show %s", route)
		}
		for method, op := range methods {
			operations++
			for _, want := range []string{
				`id="` + anchor(op.OperationID) + `"`,
				"<code>" + op.OperationID + "</code>",
				strings.ToUpper(method) + "</span> " + shown,
				op.Summary,
			} {
				if !strings.Contains(page, want) {
					t.Errorf("%s %s: the page has no %q", method, route, want)
				}
			}
			for status := range op.Responses {
				if id := `id="` + anchor(op.OperationID) + "-" + status + `"`; !strings.Contains(page, id) {
					t.Errorf("%s: the page does not explain the status %s", op.OperationID, status)
				}
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
	for _, field := range []string{"emails[].value", "addresses[].address_1", "meta.links[].label", "event.livestream.url", "X-Contact-Merged"} {
		if !strings.Contains(page, `data-title="`+field+`"`) {
			t.Errorf("the page does not explain %s", field)
		}
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

// readDocs is the reference page as a client gets it for a host name.
func readDocs(t *testing.T, a *API, host, encoding string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "https://"+host+"/docs", nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	succeed(t, a.Serve(w, r))
	h := w.Header()
	if h.Get("Content-Length") != strconv.Itoa(w.Body.Len()) || h.Get("Content-Security-Policy") != docsPolicy || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s: %d bytes, %v", host, w.Body.Len(), h)
	}
	if h.Get("Content-Encoding") != "gzip" {
		return w.Body.String()
	}
	unzipped := must(gzip.NewReader(w.Body))(t)
	body := must(io.ReadAll(unzipped))(t)
	return string(body)
}

// A file that the reader does not have would make every example fail.
func TestExamplesNameTheAuthorityOnlyIfThereIsOne(t *testing.T) {
	for _, own := range []bool{true, false} {
		a := New(noBook, Options{OwnAuthority: own})
		page := readDocs(t, a, "donors.example.org:8443", "")
		if named := strings.Contains(page, "ca.pem"); named != own {
			t.Errorf("the examples name the file of an authority: %t, there is one: %t", named, own)
		}
		if readDocs(t, a, "donors.example.org:8443", "gzip") != page {
			t.Error("the compressed page is another")
		}
	}
}

// A client that has one of the documents is not sent it again.
func TestDocumentsHaveValidators(t *testing.T) {
	all := maps.Clone(documents)
	all["/docs"] = func() web.File { return newDocsPage(false) }
	for path, file := range all {
		for _, encoding := range []string{"", "gzip"} {
			first, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			r.Header.Set("Accept-Encoding", encoding)
			if err := file().Serve(first, r); err != nil || first.Code != http.StatusOK || first.Header().Get("ETag") == "" {
				t.Fatalf("%s: %d %v %v", path, first.Code, first.Header(), err)
			}
			again := httptest.NewRecorder()
			r.Header.Set("If-None-Match", `"x", `+first.Header().Get("ETag"))
			if err := file().Serve(again, r); err != nil || again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("%s, asked again: %d, %d bytes, %v", path, again.Code, again.Body.Len(), err)
			}
		}
	}
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
