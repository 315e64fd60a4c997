package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// File is a body that never changes while the program runs. It is given as it is or compressed; the other form is made once, for the
// first client that wants it, so that the start does not wait for it.
type File struct {
	Kind          string // the media type
	Version       string // differs if the body differs
	plain, zipped func() []byte
}

// NewFile is a file of a media type.
func NewFile(kind string, body []byte) File {
	return File{Kind: kind, Version: version(body), plain: func() []byte { return body }, zipped: sync.OnceValue(func() []byte { return Gzip(body) })}
}

// NewZippedFile is a file of a media type that the program holds compressed.
func NewZippedFile(kind string, body []byte) File {
	return File{Kind: kind, Version: version(body), plain: sync.OnceValue(func() []byte { return Gunzip(body) }), zipped: func() []byte { return body }}
}

func version(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:6])
}

// Gzip compresses a body as much as possible.
func Gzip(body []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(body)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// Gunzip is the body that Gzip has compressed. It is for what is part of the program, so a failure is a mistake that every test finds.
func Gunzip(zipped []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return body
}

// Serve answers with the file, unless the client has it.
func (f File) Serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `W/"`+f.Version+`"`) // compressed or not
	if known := r.Header.Get("If-None-Match"); strings.Contains(known, `"`+f.Version+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", f.Kind)
	form := f.plain
	if Accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		form = f.zipped
	}
	body := form()
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
