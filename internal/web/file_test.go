package web

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFilesAreCompressedForWhoeverTakesThemSo(t *testing.T) {
	text := strings.Repeat("the same again, ", 1000)
	for _, f := range []File{
		NewFile("text/plain; charset=utf-8", []byte(text)),
		NewZippedFile("text/plain; charset=utf-8", Gzip([]byte(text))),
	} {
		checkFile(t, f, text)
		if other := NewFile("text/plain", []byte("something else")); other.Version == f.Version || f.Version == "" {
			t.Errorf("two files have the version %q", f.Version)
		}
	}
}

func checkFile(t *testing.T, f File, text string) {
	t.Helper()
	for accepted, want := range map[string]bool{
		"": false, "identity": false, "gzip": true, "br, GZIP;q=0.5": true, "deflate, gzip ; q=1.0": true,
		"gzip;q=0": false, "gzip; q=0.000": false, "x-gzip": false,
	} {
		r := httptest.NewRequest("GET", "/file", nil)
		r.Header.Set("Accept-Encoding", accepted)
		w := httptest.NewRecorder()
		succeed(t, f.Serve(w, r))
		body := io.Reader(w.Body)
		zipped := w.Header().Get("Content-Encoding") == "gzip"
		if zipped != want || w.Header().Get("Vary") != "Accept-Encoding" ||
			w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %v", accepted, w.Header())
		}
		if zipped {
			unzipped := must(gzip.NewReader(w.Body))(t)
			body = unzipped
		}
		equal(t, string(must(io.ReadAll(body))(t)), text, "%q", accepted)
	}
}
