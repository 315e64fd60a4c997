package console_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"donorbook/internal/console"
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
