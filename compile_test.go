package donorbook_test

import (
	"go/ast"
	"go/build"
	typeimporter "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var majorVersion = regexp.MustCompile(`/v\d+$`)

// otherSystem checks the types of our packages as another system has them, from their texts. To compile them would take minutes: SQLite is large. Of
// other packages it knows syscall alone, by which systems differ.
type otherSystem struct {
	context build.Context
	files   *token.FileSet
	system  types.Importer
	done    map[string]*types.Package
	faults  []string
}

func (o *otherSystem) Import(path string) (*types.Package, error) {
	if done := o.done[path]; done != nil {
		return done, nil
	}
	if path == "syscall" {
		return o.system.Import(path)
	}
	dir, ours := strings.CutPrefix(path, "donorbook/")
	if !ours { // what such a package has is not known, and what is missing in it is no fault of ours
		o.done[path] = types.NewPackage(path, strings.TrimPrefix(filepath.Base(majorVersion.ReplaceAllString(path, "")), "go-"))
		o.done[path].MarkComplete()
		return o.done[path], nil
	}
	about, err := o.context.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, name := range about.GoFiles {
		file, err := parser.ParseFile(o.files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, file)
	}
	config := types.Config{Importer: o, FakeImportC: true, Error: o.note}
	o.done[path], _ = config.Check(path, o.files, parsed, nil)
	return o.done[path], nil
}

// note keeps the faults that do not come from what is not known.
func (o *otherSystem) note(err error) {
	said := err.Error()
	_, name, missing := strings.Cut(said, "undefined: ")
	from, _, qualified := strings.Cut(name, ".")
	if missing && (!qualified || from == "syscall" || o.done["donorbook/internal/"+from] != nil) {
		o.faults = append(o.faults, said)
	}
}

// The tests run on Linux. Elsewhere, a name that is missing would only be found by those who build the program there.
func TestNothingIsMissingOnOtherSystems(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output() // a test that was built with -trimpath does not know it
	if err != nil {
		t.Fatal(err)
	}
	usual := build.Default
	defer func() { build.Default = usual }()
	build.Default.GOROOT = strings.TrimSpace(string(root))
	for _, system := range []string{"windows", "darwin", "freebsd"} {
		build.Default.GOOS, build.Default.CgoEnabled = system, false
		files := token.NewFileSet()
		o := &otherSystem{context: build.Default, files: files, system: typeimporter.ForCompiler(files, "source", nil), done: make(map[string]*types.Package)}
		for _, path := range []string{"syscall", "donorbook/cmd/donorbook"} {
			if _, err := o.Import(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, fault := range o.faults {
			t.Errorf("%s: %s", system, fault)
		}
		if o.done["donorbook/internal/db"] == nil || o.done["donorbook/internal/backup"] == nil {
			t.Errorf("%s: not everything was looked at", system)
		}
	}
}
