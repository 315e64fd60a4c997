package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// File is a body that never changes while the program runs. It is compressed once, for the first client that accepts that, so that
// the start does not wait for it.
type File struct {
	Kind    string // the media type
	Body    []byte
	Version string // differs if the body differs
	zipped  func() []byte
}

// NewFile is a file of a media type.
func NewFile(kind string, body []byte) File {
	hash := sha256.Sum256(body)
	return File{Kind: kind, Body: body, Version: hex.EncodeToString(hash[:6]), zipped: sync.OnceValue(func() []byte { return Gzip(body) })}
}

// Gzip compresses a body as much as possible.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// Serve answers with the file.
func (f File) Serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", f.Kind)
	h.Set("Vary", "Accept-Encoding")
	body := f.Body
	if Accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body)
	return err
}

// Accepts tells whether a header such as Accept or Accept-Encoding names something, with a weight that is not zero. Wildcards do
// not count.
func Accepts(header, name string) bool {
	for each := range strings.SplitSeq(header, ",") {
		named, weight, _ := strings.Cut(each, ";")
		if strings.EqualFold(strings.TrimSpace(named), name) {
			value, _ := strings.CutPrefix(strings.TrimSpace(weight), "q=")
			return strings.Trim(value, "0.") != "" || value == ""
		}
	}
	return false
}
