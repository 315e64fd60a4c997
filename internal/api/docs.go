package api

import (
	"bytes"
	_ "embed" // the documents are part of the program
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

// The reference page can be read without its script and needs nothing from any other address.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// exampleTrust is the option that makes curl trust the server's certificate.
const exampleTrust = "\n <span class=\"key\"> --cacert</span> donorbook-data/tls/ca.pem \\"

// documents are the files beside the page, by path. Each is made for the first request, so that the start does not wait for it.
var documents = map[string]func() web.File{
	"/openapi.json":  sync.OnceValue(func() web.File { return web.NewZippedFile("application/json", openapiJSON) }),
	"/openapi.yaml":  sync.OnceValue(func() web.File { return web.NewZippedFile("application/yaml", openapiYAML) }),
	"/docs/docs.css": sync.OnceValue(func() web.File { return web.NewZippedFile("text/css; charset=utf-8", docsCSS) }),
	"/docs/docs.js":  sync.OnceValue(func() web.File { return web.NewZippedFile("text/javascript; charset=utf-8", docsJS) }),
}

// Document is the contract as JSON.
func Document() []byte { return web.Gunzip(openapiJSON) }

// newDocsPage is the reference page. Its script puts the address that the page was read from into the examples: put in here, every
// address that a client makes up would need a page of its own. The option to trust the server's own authority stays if there is one.
func newDocsPage(ownAuthority bool) web.File {
	const kind = "text/html; charset=utf-8"
	if ownAuthority {
		return web.NewZippedFile(kind, docsHTML)
	}
	return web.NewFile(kind, bytes.ReplaceAll(web.Gunzip(docsHTML), []byte(exampleTrust), nil))
}
