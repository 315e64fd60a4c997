package doc

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/text"
)

// CheckKept finds texts that every stored document has.
func CheckKept(c *Checker, texts map[string]string) {
	for name, text := range texts {
		if text == "" {
			c.AddAt(Place{}, name, Required)
		}
	}
}

// ReadDecimal reads a number that is not negative; null is 0.
func ReadDecimal(r *Reader, decimals, digits int, rule Rule, args ...any) int64 {
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

// Matching is a text that keeps to a rule, which says all about it.
func Matching(ok func(string) bool, rule Rule, args ...any) Kind[string] {
	k := String(MaxText)
	k.Check = func(c *Checker, at Place, name string, value *string) {
		if *value != "" && !ok(*value) {
			c.AddAt(at, name, rule, args...)
		}
	}
	return k
}

// Among is one of a few texts.
func Among(known ...string) Kind[string] {
	return Matching(func(value string) bool { return slices.Contains(known, value) }, OneOf, strings.Join(known, ", "))
}

// EmptyWhere is a text, or nothing.
func EmptyWhere(empty bool, text string) string {
	if empty {
		return ""
	}
	return text
}

// YesNo is a box of a form that is ticked or not.
var YesNo = Kind[bool]{
	Read: (*Reader).Boolean, Append: strconv.AppendBool,
	Text: func(yes bool) string { return EmptyWhere(!yes, ticked) },
	Take: func(form Form, name string) bool { return form.Value(name) == ticked },
}

const ticked = "yes" // what a box of a form holds

// NotBefore refuses an end that comes before its start.
func (f Field[D, I]) NotBefore(start string, times func(in I) (start, end time.Time)) Field[D, I] {
	check := f.Check
	f.Check = func(c *Checker, at Place, in I) {
		check(c, at, in)
		if from, to := times(in); !from.IsZero() && !to.IsZero() && to.Before(from) {
			c.AddAt(at, f.Name, NotBefore, at.Field(start))
		}
	}
	return f
}
