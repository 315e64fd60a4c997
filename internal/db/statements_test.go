//go:build drill

package db_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// sqlTexts are the constants of packages that hold SQL, by name: those of a directory, and of all below it. A name that
// others may use begins with SQL instead of sql.
func sqlTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	reader := &constantReader{t: t, fset: token.NewFileSet(), known: make(map[string]*types.Package)}
	texts := make(map[string]string)
	succeed(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || entry.Name() == "testdata" {
			return err
		}
		pkg := reader.read(path)
		for _, name := range pkg.Scope().Names() {
			private := "sql" + strings.TrimPrefix(strings.TrimPrefix(name, "SQL"), "sql")
			if !strings.HasPrefix(strings.ToLower(name), "sql") || name == strings.ToLower(name) ||
				strings.HasPrefix(name, "sqlite") {
				continue
			}
			switch object := pkg.Scope().Lookup(name).(type) {
			case *types.Const:
				text := constant.StringVal(object.Val())
				if other, is := texts[private]; is && other != text {
					t.Errorf("two statements are called %s: no test would look at one of them", name)
				}
				texts[private] = text
			case *types.Var:
				t.Errorf("the variable %s holds SQL that no test looks at: make it a constant", name)
			}
		}
		return nil
	}))
	return texts
}

// constantReader evaluates the constants of our own packages. Other packages need not be known for that.
type constantReader struct {
	t     *testing.T
	fset  *token.FileSet
	known map[string]*types.Package
}

// Import reads a package of the store that a text is put together with.
func (r *constantReader) Import(path string) (*types.Package, error) {
	below, ours := strings.CutPrefix(path, "donorbook/internal/")
	if !ours || !strings.HasPrefix(below, "store") {
		return nil, errors.New("not needed")
	}
	return r.read(filepath.Join("..", filepath.FromSlash(below))), nil
}

func (r *constantReader) read(dir string) *types.Package {
	r.t.Helper()
	if pkg := r.known[dir]; pkg != nil {
		return pkg
	}
	names := must(filepath.Glob(filepath.Join(dir, "*.go")))(r.t)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must(parser.ParseFile(r.fset, name, nil, parser.SkipObjectResolution))(r.t)
		files = append(files, file)
	}
	config := types.Config{Error: func(error) {}, FakeImportC: true, Importer: r}
	r.known[dir], _ = config.Check("donorbook/internal/"+filepath.ToSlash(strings.TrimPrefix(dir, "../")), r.fset,
		files, nil)
	return r.known[dir]
}

// statementTexts are all statements that a store runs on PostgreSQL, by name: the constants of both packages, and those
// that are generated from the descriptions of tables and searches.
func statementTexts(t *testing.T, s *book.Book) map[string]string {
	t.Helper()
	texts := sqlTexts(t, "../store")
	maps.Copy(texts, sqlTexts(t, "."))
	for _, table := range s.DB().Tables() {
		for name, text := range db.TableTexts(table) {
			texts[table.Name+": "+name] = text
		}
	}
	return texts
}

// The pairs of an account may be half a million. What asks for those of some contacts or groups finds them by these,
// and by nothing that more pairs have.
func TestPairsAreFoundByContactOrGroup(t *testing.T) {
	t.Parallel()
	s := open(t, store.Options{Data: t.TempDir()})
	texts := sqlTexts(t, "../store")
	succeed(t, s.DB().Read(t.Context(), func(c db.Conn) error {
		for name, by := range map[string]string{
			"sqlPairsA": "a=?", "sqlForgetPairsA": "a=?", "sqlForgetFoundA": "a=?", "sqlNextSure": "a>?",
			"sqlPair":   "a=? AND b=?",
			"sqlPairsB": "b=?", "sqlForgetPairsB": "b=?", "sqlForgetFoundB": "b=?", "sqlDrop": "a=? AND b=?",
			"sqlGroupPairs": "person=?", "sqlSureOf": "person=?",
		} {
			args := make([]any, 1+strings.Count(texts[name], "$"))
			for i := range args {
				args[i] = int64(1)
			}
			var plan []string
			if err := c.Each(func(r db.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			}, "EXPLAIN QUERY PLAN "+texts[name], args...); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if len(plan) == 0 || !strings.Contains(plan[0], by) ||
				strings.Contains(strings.Join(plan, "\n"), "TEMP B-TREE") {
				t.Errorf("%s is not found by %s: %q", name, by, plan)
			}
		}
		return nil
	}))
}
