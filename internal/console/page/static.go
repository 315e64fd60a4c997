package page

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"donorbook/internal/web"
)

//go:embed static style
var static embed.FS

// styleSheet is what is in style/, the parts before the pages that are made of them, as one file: a page asks for no more.
func styleSheet() []byte {
	names, err := fs.Glob(static, "style/*.css") // in the order of their names
	if err != nil {
		panic(err)
	}
	var all bytes.Buffer
	for _, name := range names {
		part, err := static.ReadFile(name)
		if err != nil {
			panic(err)
		}
		all.Write(part)
	}
	return all.Bytes()
}

// fileKinds are the media types of our files. What the machine thinks of an ending has no say in it.
var fileKinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}

// StaticFiles are read once: the program is all that they depend on, so a failure is a mistake that every test finds.
var StaticFiles = sync.OnceValue(func() map[string]web.File {
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		panic(err)
	}
	files, sheet := map[string]web.File{}, styleSheet()
	for _, name := range names {
		body, err := static.ReadFile(name)
		if err != nil {
			panic(err)
		}
		if plain, zipped := strings.CutSuffix(name, ".gz"); zipped { // one that never changes: the program is smaller
			files[path.Base(plain)] = web.NewZippedFile(fileKinds[path.Ext(plain)], body)
		} else {
			files[path.Base(name)] = web.NewFile(fileKinds[path.Ext(name)], body)
		}
		sheet = bytes.ReplaceAll(sheet, []byte("url("+path.Base(name)+")"), []byte("url("+path.Base(name)+"?v="+files[path.Base(name)].Version+")"))
	}
	files["console.css"] = web.NewFile(fileKinds[".css"], sheet)
	return files
})

// fileAddress is where a page finds a file. It holds the file's version, so browsers keep it for good.
func fileAddress(name string) string {
	return Root + "/static/" + name + "?v=" + StaticFiles()[name].Version
}

func (s *Site) ServeFile(w http.ResponseWriter, r *http.Request) error {
	f, ok := StaticFiles()[r.PathValue("file")]
	if !ok {
		return web.NotFound()
	}
	if r.URL.Query().Get("v") == f.Version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	return f.Serve(w, r)
}
