package crm

import (
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// checkKept finds texts that every stored document has.
func checkKept(c *doc.Checker, texts map[string]string) {
	for name, text := range texts {
		if text == "" {
			c.AddAt(doc.Place{}, name, doc.Required)
		}
	}
}

// readDecimal reads a number that is not negative; null is 0.
func readDecimal(r *doc.Reader, decimals, digits int, rule doc.Rule, args ...any) int64 {
	value, ok := r.Number()
	if !ok {
		return 0
	}
	n, ok := text.ParseDecimal(value, decimals, digits)
	if !ok {
		r.Wrong(rule, args...)
	}
	return n
}

// matching is a text that keeps to a rule, which says all about it.
func matching(ok func(string) bool, rule doc.Rule, args ...any) doc.Kind[string] {
	k := doc.String(doc.MaxText)
	k.Check = func(c *doc.Checker, at doc.Place, name string, value *string) {
		if *value != "" && !ok(*value) {
			c.AddAt(at, name, rule, args...)
		}
	}
	return k
}

// among is one of a few texts.
func among(known ...string) doc.Kind[string] {
	return matching(func(value string) bool { return slices.Contains(known, value) }, doc.OneOf, strings.Join(known, ", "))
}

// emptyWhere is a text, or nothing.
func emptyWhere(empty bool, text string) string {
	if empty {
		return ""
	}
	return text
}

// yesNo is a box of a form that is ticked or not.
var yesNo = doc.Kind[bool]{
	Read: (*doc.Reader).Boolean, Append: strconv.AppendBool,
	Text: func(yes bool) string { return emptyWhere(!yes, ticked) },
	Take: func(form doc.Form, name string) bool { return form.Value(name) == ticked },
}

const ticked = "yes" // what a box of a form holds
