package console_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"golang.org/x/net/html"

	"donorbook/internal/console"
	"donorbook/internal/crm/access"
)

// The program parses a page when it is first opened; this test finds mistakes earlier.
func TestEveryPageCanBeParsed(t *testing.T) {
	succeed(t, console.ParsePages())
}

// tree is the page as a browser reads it.
func (a answer) tree() *html.Node {
	a.t.Helper()
	return must(html.Parse(strings.NewReader(a.body)))(a.t)
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// sent is what a browser would send of the controls that a test picks, as they stand.
func sent(root *html.Node, of func(*html.Node) bool) url.Values {
	all := url.Values{}
	for n := range root.Descendants() {
		if name := attribute(n, "name"); name != "" && n.Data != "button" && of(n) {
			all[name] = append(all[name], held(n)...)
		}
	}
	return all
}

// held is what a control would send.
func held(c *html.Node) (values []string) {
	switch kind := attribute(c, "type"); {
	case c.Data == "textarea" && c.FirstChild != nil:
		return []string{c.FirstChild.Data}
	case c.Data == "select":
		for option := range c.Descendants() {
			if option.Data == "option" && (has(option, "selected") || len(values) == 0) {
				values = []string{attribute(option, "value")}
			}
		}
		return values
	case c.Data != "textarea" && c.Data != "input", (kind == "checkbox" || kind == "radio") && !has(c, "checked"):
		return nil
	}
	return []string{attribute(c, "value")}
}

// flat are names and values by turns.
func flat(form url.Values) (fields []string) {
	for name, values := range form {
		for _, value := range values {
			fields = append(fields, name, value)
		}
	}
	return fields
}

// fields are all that the page would send, unchanged.
func (a answer) fields() []string {
	a.t.Helper()
	return flat(sent(a.tree(), func(*html.Node) bool { return true }))
}

// controls are the fields of the form on a page that is posted to a path, and whether there is one.
func controls(a answer, path string) (fields url.Values, found bool) {
	a.t.Helper()
	for n := range a.tree().Descendants() {
		action, _, _ := strings.Cut(attribute(n, "action"), "?")
		if n.Data == "form" && attribute(n, "method") == "post" && action == path {
			return filled(n), true
		}
	}
	return nil, false
}

// filled is what a form would send as it stands, of all controls of the page that belong to it.
func filled(form *html.Node) url.Values {
	root := form
	for root.Parent != nil {
		root = root.Parent
	}
	return sent(root, func(n *html.Node) bool {
		if owner := attribute(n, "form"); owner != "" {
			return owner == attribute(form, "id")
		}
		for ; n != nil; n = n.Parent {
			if n == form {
				return true
			}
		}
		return false
	})
}

// resend sends the form of a page that is sent to a path, as it is.
func (p *person) resend(a answer, path string) answer {
	p.site.t.Helper()
	fields, found := controls(a, path)
	if !found {
		p.site.t.Fatalf("no form is sent to %s: %s", path, a.words())
	}
	return p.follow(path, flat(fields)...)
}

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

// No page takes an error of the store for nothing found. What may fail unnoticed is named here, with its reason at its
// place.
func TestNoErrorOfTheStoreIsDropped(t *testing.T) {
	allowed := map[string]string{"CheckNow": "CheckDuplicates", "EndSession": "begin", "RememberDevice": "remember",
		"Membership": "recognize"}
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

// droppedError is the function of the store whose error a statement drops: it is named _, not taken at all, or only
// looked at where there is none.
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
