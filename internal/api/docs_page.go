package api

import (
	"bytes"
	"html"
	"net/http"
	"strconv"
	"sync"

	"donorbook/internal/web"
)

// What the examples say before it is known where they are read, and whether curl must be told to trust the server.
const (
	exampleBase  = "https://localhost:8443"
	exampleTrust = "--cacert donorbook-data/tls/ca.pem"
)

// docsPage is the reference page with the server's address in its examples. It is cut where they name the server, so that a request
// needs no copy of it.
type docsPage struct {
	document
	parts [][]byte

	mu     sync.Mutex
	zipped map[string][]byte // by address
}

// keptAddresses is for how many addresses the page is kept compressed. Few servers have more, and a client may claim any number of
// them: those beyond are sent as they are, which costs nothing.
const keptAddresses = 8

// newDocsPage names the file of the server's own authority in the examples where there is one.
func newDocsPage(ownAuthority bool) *docsPage {
	p := &docsPage{document: documents()["/docs"], zipped: map[string][]byte{}}
	body := p.Body
	if !ownAuthority {
		body = bytes.ReplaceAll(body, []byte("\n "+string(shellCode(" "+exampleTrust))+" \\"), nil)
	}
	p.parts = bytes.Split(body, []byte(exampleBase))
	return p
}

// serve answers with the page as it is read at an address.
func (p *docsPage) serve(w http.ResponseWriter, r *http.Request, base string) error {
	p.setHeaders(w.Header())
	address := []byte(html.EscapeString(base))
	parts, between := p.parts, address
	if web.Accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		if zipped := p.zippedAt(base, address); zipped != nil {
			w.Header().Set("Content-Encoding", "gzip")
			parts, between = [][]byte{zipped}, nil
		}
	}
	size := len(between) * (len(parts) - 1)
	for _, part := range parts {
		size += len(part)
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	for i, part := range parts {
		if i > 0 {
			if _, err := w.Write(between); err != nil {
				return err
			}
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// zippedAt is the page compressed, or nil where it is kept for enough other addresses.
func (p *docsPage) zippedAt(base string, address []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	zipped, known := p.zipped[base]
	if !known && len(p.zipped) < keptAddresses {
		zipped = web.Gzip(bytes.Join(p.parts, address))
		p.zipped[base] = zipped
	}
	return zipped
}
