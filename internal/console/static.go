package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"donorbook/internal/web"
)

//go:embed static
var static embed.FS

// file is one that never changes while the program runs. Its address holds a hash of it, so browsers keep it for good.
type file struct {
	kind    string
	body    []byte
	zipped  []byte
	version string
}

// staticFiles are read once: the program is all that they depend on, so a failure is a mistake that every test finds.
var staticFiles = sync.OnceValue(func() map[string]file {
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		panic(err)
	}
	files := map[string]file{}
	for _, name := range names {
		body, err := static.ReadFile(name)
		if err != nil {
			panic(err)
		}
		hash := sha256.Sum256(body)
		files[path.Base(name)] = file{
			kind: mime.TypeByExtension(path.Ext(name)), body: body, zipped: zipped(body), version: hex.EncodeToString(hash[:6]),
		}
	}
	return files
})

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// fileAddress is where a page finds a file.
func fileAddress(name string) string {
	return root + "/static/" + name + "?v=" + staticFiles()[name].version
}

func (c *Console) serveFile(w http.ResponseWriter, r *http.Request) error {
	f, ok := c.files[r.PathValue("file")]
	if !ok {
		return web.NotFound()
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	if r.URL.Query().Get("v") == f.version {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := f.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body)
	return err
}
