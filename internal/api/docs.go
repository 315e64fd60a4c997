package api

import (
	"bytes"
	"compress/flate"
	_ "embed" // the documents are part of the program
	"encoding/binary"
	"hash/crc32"
	"html"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"donorbook/internal/crm/doc"
	"donorbook/internal/web"
)

// The documents are part of the program as make openapi compresses them, which is how most clients want them.
var (
	//go:embed openapi.yaml.gz
	openapiYAML []byte
	//go:embed openapi.json.gz
	openapiJSON []byte
	//go:embed docs.html.gz
	docsHTML []byte // made from openapi.json by the package reference
	//go:embed docs.css.gz
	docsCSS []byte
	//go:embed docs.js.gz
	docsJS []byte
)

// The reference page is complete without its script and needs nothing from any other address.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// What the page contains in place of the server's address, and the option that makes curl trust its certificate.
const (
	exampleBase  = "https://localhost:8443"
	exampleTrust = "\n <span class=\"key\"> --cacert</span> donorbook-data/tls/ca.pem \\"
)

// documents are the files beside the page, by path. Each is made for the first request, so that the start does not wait for it.
var documents = map[string]func() web.File{
	"/openapi.json":  sync.OnceValue(func() web.File { return web.NewZippedFile("application/json", openapiJSON) }),
	"/openapi.yaml":  sync.OnceValue(func() web.File { return web.NewZippedFile("application/yaml", openapiYAML) }),
	"/docs/docs.css": sync.OnceValue(func() web.File { return web.NewZippedFile("text/css; charset=utf-8", docsCSS) }),
	"/docs/docs.js":  sync.OnceValue(func() web.File { return web.NewZippedFile("text/javascript; charset=utf-8", docsJS) }),
}

// Document is the contract as JSON.
func Document() []byte { return web.Gunzip(openapiJSON) }

// docsPage is the reference page with the server's address in its examples. It is split where they name the server, so that a request
// needs no copy of it.
type docsPage struct {
	parts   [][]byte
	zipped  [][]byte // each compressed by itself, so that any address fits between them
	version string
}

// newDocsPage keeps the option to trust the server's own authority in the examples if there is one.
func newDocsPage(ownAuthority bool) *docsPage {
	body := web.Gunzip(docsHTML)
	if !ownAuthority {
		body = bytes.ReplaceAll(body, []byte(exampleTrust), nil)
	}
	p := &docsPage{parts: bytes.Split(body, []byte(exampleBase)), version: doc.VersionOf(body)}
	for _, part := range p.parts {
		p.zipped = append(p.zipped, deflate(part))
	}
	return p
}

// serve answers with the page for an address.
func (p *docsPage) serve(w http.ResponseWriter, r *http.Request, base string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("Vary", "Accept-Encoding")
	tag := doc.VersionOf([]byte(p.version + base))
	h.Set("ETag", `W/"`+tag+`"`)
	if known := r.Header.Get("If-None-Match"); strings.Contains(known, `"`+tag+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	address := []byte(html.EscapeString(base))
	body := between(p.parts, address)
	if web.Accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = gzipped(between(p.zipped, storedBlock(address)), body)
	}
	size := 0
	for _, part := range body {
		size += len(part)
	}
	h.Set("Content-Length", strconv.Itoa(size))
	_, err := body.WriteTo(w)
	return err
}

// between has an address between parts.
func between(parts [][]byte, address []byte) net.Buffers {
	body := net.Buffers{parts[0]}
	for _, part := range parts[1:] {
		body = append(body, address, part)
	}
	return body
}

// deflate compresses a part of a page, up to a whole byte.
func deflate(part []byte) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression) // the level is valid
	_, _ = w.Write(part)                               // a buffer takes everything
	_ = w.Flush()
	return b.Bytes()
}

// storedBlock is a text among compressed parts. An address is shorter than a block can be.
func storedBlock(text []byte) []byte {
	block := binary.LittleEndian.AppendUint16([]byte{0}, uint16(len(text)))
	block = binary.LittleEndian.AppendUint16(block, ^uint16(len(text)))
	return append(block, text...)
}

// gzipped is a gzip file of compressed parts, which are those of the body.
func gzipped(zipped, body net.Buffers) net.Buffers {
	sum, size := crc32.NewIEEE(), 0
	for _, part := range body {
		_, _ = sum.Write(part) // never fails
		size += len(part)
	}
	end := binary.LittleEndian.AppendUint32([]byte{1, 0, 0, 0xff, 0xff}, sum.Sum32()) // behind the last block, which is empty
	end = binary.LittleEndian.AppendUint32(end, uint32(size))
	return slices.Concat(net.Buffers{{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}}, zipped, net.Buffers{end})
}
