package console_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm/access"
)

// A page that lacks a part because the database failed says so, and is not shown without it.
func TestAGiftPageWhoseNamesCannotBeReadIsAnError(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path, other := s.contact(p, "Zoë", "Okafor"), s.contact(p, "Ann", "Lee")
	p.follow(path+"/gifts", "amount", "50", "transacted_at", "2026-01-31", "method", "check")
	gift := p.org(giftAddress.FindString(p.get(path).body))
	p.follow(gift, "contact_id", idIn(other))
	p.get(gift).sees("changed contact from Zoë Okafor to Ann Lee.")

	conn := must(sqlite3.Open(filepath.Join(s.data, "donorbook.db")))(t)
	defer conn.Close()
	succeed(t, conn.Exec("ALTER TABLE contact RENAME TO lost"))
	p.get(gift).is(500)
}

// No page takes an error of the store for nothing found. What may fail unnoticed is named here, with its reason at its place.
func TestNoErrorOfTheStoreIsDropped(t *testing.T) {
	allowed := map[string]string{"CheckNow": "CheckDuplicates", "EndSession": "begin", "RememberDevice": "remember", "Membership": "recognize"}
	files := must(filepath.Glob("*/*.go"))(t)
	calls := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, declared := range file.Decls {
			fn, is := declared.(*ast.FuncDecl)
			if !is || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				called := calledStore(n)
				if called != "" {
					calls++
				}
				if dropped := droppedError(n); dropped != "" && allowed[dropped] != fn.Name.Name {
					t.Errorf("%s: %s drops the error of store.%s", name, fn.Name.Name, dropped)
				}
				return true
			})
		}
	}
	if calls < 50 {
		t.Errorf("only %d calls were found", calls)
	}
}

// calledStore is the function of the store that an expression calls, "" for none.
func calledStore(n ast.Node) string {
	call, is := n.(*ast.CallExpr)
	if !is {
		return ""
	}
	method, is := call.Fun.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	if of, is := method.X.(*ast.SelectorExpr); !is || of.Sel.Name != "Store" {
		return ""
	}
	return method.Sel.Name
}

// droppedError is the function of the store whose error a statement drops: it is named _, not taken at all, or only looked at where there is none.
func droppedError(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ExprStmt:
		return calledStore(n.X)
	case *ast.AssignStmt:
		if last, is := n.Lhs[len(n.Lhs)-1].(*ast.Ident); is && last.Name == "_" {
			return calledStore(n.Rhs[0])
		}
	case *ast.IfStmt:
		init, is := n.Init.(*ast.AssignStmt)
		if !is || n.Else != nil || init.Tok != token.DEFINE {
			return ""
		}
		if cond, is := n.Cond.(*ast.BinaryExpr); is && cond.Op == token.EQL {
			return calledStore(init.Rhs[0])
		}
	}
	return ""
}
