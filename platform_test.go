//go:build drill

package donorbook_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"donorbook/internal/rig/assert"
)

// The program is right for every other system, each on one kind of processor: no file of ours depends on that. Its
// types are checked, which finds what a compiler does, and of packages of others what they declare. Nothing is
// compiled: "make release" does that for all eight platforms.
func TestTheProgramIsRightForOtherSystems(t *testing.T) {
	for _, platform := range []string{"windows/amd64", "darwin/arm64", "freebsd/amd64"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			system, processor, _ := strings.Cut(platform, "/")
			list := exec.CommandContext(t.Context(), "go", "list", "-deps",
				"-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error", "./cmd/donorbook")
			list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
			list.Stderr = os.Stderr
			out := assert.Must(list.Output())(t)
			checkTypes(t, json.NewDecoder(strings.NewReader(string(out))), types.SizesFor("gc", processor))
		})
	}
}

// listed is a package as "go list" tells of it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// known are packages whose types were checked, by their paths.
type known struct {
	types map[string]*types.Package
	names map[string]string // of the package that imports them
}

func (k known) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if name := k.names[path]; name != "" {
		path = name
	}
	if p := k.types[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("no package " + path)
}

// checkTypes checks packages, each after those that it imports.
func checkTypes(t *testing.T, packages *json.Decoder, sizes types.Sizes) {
	t.Helper()
	checked, ours := known{types: make(map[string]*types.Package)}, 0
	for {
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		fset, files := token.NewFileSet(), []*ast.File(nil)
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		mine := p.Module != nil && p.Module.Main
		if mine {
			ours++
		}
		config := types.Config{Importer: known{checked.types, p.ImportMap}, IgnoreFuncBodies: !mine, Sizes: sizes,
			Error: func(err error) {
				if mine {
					t.Error(err)
				}
			}}
		checked.types[p.ImportPath], _ = config.Check(p.ImportPath, fset, files, nil) // Error tells
	}
	if ours < 40 {
		t.Errorf("only %d packages of ours were checked", ours)
	}
}
