//go:build drill

package donorbook_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

// saved is how a page says into which file its program goes.
var saved = regexp.MustCompile("Save this as `([^`]+)`")

// TestProgramsOfTheClientPagesWork runs the program of each page in docs/clients, as someone would who follows the
// page, against an organization of its own.
func TestProgramsOfTheClientPagesWork(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.serve("bin/donorbook serve")
	for _, page := range []string{"curl", "python", "javascript", "php", "go"} {
		t.Run(page, func(t *testing.T) {
			w.t = t
			text := assert.Must(os.ReadFile(filepath.Join("docs", "clients", page+".md")))(t)
			w.paste(`ACCOUNT=$(bin/donorbook account create --name "River Aid")
				export DONORBOOK_KEY=$(bin/donorbook key create --account $ACCOUNT --name Program)
				curl -sSf --cacert donorbook-data/tls/ca.pem -H "Authorization: Bearer $DONORBOOK_KEY" -H "Content-Type: application/json" \
					https://localhost:8443/v1/contacts -d '{"first_name": "Cleo", "last_name": "Marsh"}'`) // a contact that no filter for a tag finds
			w.follow(string(text))
		})
	}
}

// follow does what a page says: saves its program, runs its commands, and compares what they print.
func (w *walk) follow(page string) {
	printed := false
	for _, b := range readBlocks(page) {
		switch b.kind {
		case "sh":
			w.paste(b.text)
		case "text":
			printed = true
			assert.Equal(w.t, w.output, b.text, "the program prints")
		default:
			names := saved.FindAllStringSubmatch(page[:b.start], -1)
			if len(names) == 0 {
				w.t.Fatalf("the page does not say into which file to save its %s", b.kind)
			}
			program := strings.ReplaceAll(b.text, "localhost:8443", "localhost:"+w.port)
			assert.Succeed(w.t, os.WriteFile(filepath.Join(w.dir, names[len(names)-1][1]), []byte(program), 0o600))
		}
	}
	if !printed {
		w.t.Error("the page does not say what its program prints")
	}
}
