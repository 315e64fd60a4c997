package api

import (
	"bytes"
	_ "embed" // the documents are part of the program
	"html"
	"net"
	"net/http"
	"strconv"
	"sync"

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
	parts  [][]byte
	mu     sync.Mutex
	zipped map[string][]byte // by address
}

// keptAddresses is for how many addresses the compressed page is kept. Few servers have more, but a client may send any Host header:
// for other addresses the page is sent uncompressed, which needs no memory.
const keptAddresses = 8

// newDocsPage keeps the option to trust the server's own authority in the examples if there is one.
func newDocsPage(ownAuthority bool) *docsPage {
	body := web.Gunzip(docsHTML)
	if !ownAuthority {
		body = bytes.ReplaceAll(body, []byte(exampleTrust), nil)
	}
	return &docsPage{parts: bytes.Split(body, []byte(exampleBase)), zipped: map[string][]byte{}}
}

// serve answers with the page for an address.
func (p *docsPage) serve(w http.ResponseWriter, r *http.Request, base string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	body, address := net.Buffers{p.parts[0]}, []byte(html.EscapeString(base))
	for _, part := range p.parts[1:] {
		body = append(body, address, part)
	}
	if web.Accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		if zipped := p.zippedAt(base, body); zipped != nil {
			h.Set("Content-Encoding", "gzip")
			body = net.Buffers{zipped}
		}
	}
	size := 0
	for _, part := range body {
		size += len(part)
	}
	h.Set("Content-Length", strconv.Itoa(size))
	_, err := body.WriteTo(w)
	return err
}

// zippedAt is the compressed page, or nil if it is kept for enough other addresses.
func (p *docsPage) zippedAt(base string, body net.Buffers) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.zipped[base] == nil && len(p.zipped) < keptAddresses {
		p.zipped[base] = web.Gzip(bytes.Join(body, nil))
	}
	return p.zipped[base]
}
