package crm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func (in *ContactInput) validateEmails(v *Invalid) {
	if in.Emails == nil || v.has("emails") { // more were sent than are looked at
		return
	}
	valid := typedRule{list: "emails", kinds: []string{"personal", "work"}, prefix: emailPrefix,
		normal: normalEmail, broken: EmailForm}
	*in.Emails, in.emailKeys = checkTyped(v, valid, *in.Emails, func(e Email) (string, string) { return e.Type, e.Value })
}

func (in *ContactInput) validatePhones(v *Invalid, region string) {
	if in.Phones == nil || v.has("phones") {
		return
	}
	valid := typedRule{list: "phones", kinds: []string{"work", "home", "cell"}, prefix: phonePrefix,
		normal: func(value string) (string, bool) { return normalPhone(value, region) }, broken: PhoneForm, args: []any{region}}
	*in.Phones, in.phoneKeys = checkTyped(v, valid, *in.Phones, func(p Phone) (string, string) { return p.Type, p.Value })
}

// place is an element of a list, as in emails.0. Its name is put together only where something is wrong there.
type place struct {
	list string
	n    int
}

// field is the name of a part of the element, or of the element itself where the part is "".
func (p place) field(part string) string {
	name := p.list + "." + strconv.Itoa(p.n)
	if part != "" {
		name += "." + part
	}
	return name
}

func (v *Invalid) hasAt(at place, part string) bool {
	return len(v.Faults) > 0 && v.has(at.field(part))
}

// addAt notes a fault of an element.
func (v *Invalid) addAt(at place, part string, rule Rule, args ...any) {
	v.Add(at.field(part), rule, args...)
}

// validateTextAt is validateText for a part of an element.
func validateTextAt(v *Invalid, at place, part, value string, limit int) {
	if broken := textRule(value); broken != "" && !v.hasAt(at, part) {
		v.addAt(at, part, broken)
	} else if isLonger(value, limit) && !v.hasAt(at, part) {
		v.addAt(at, part, TooLong, limit)
	}
}

// typedRule is what a list of {type, value} must satisfy.
type typedRule struct {
	list   string
	kinds  []string
	prefix string // of the match keys
	normal func(value string) (string, bool)
	broken Rule // by what is not normal
	args   []any
}

// checkTyped checks each element and keeps those that differ by normal form, with their match keys. A value that is fine
// but tells nobody apart has the key "", and is compared as it was written. Once there are too many, the rest is not looked at.
func checkTyped[T any](v *Invalid, rule typedRule, list []T, parts func(T) (kind, value string)) (kept []T, keys []string) {
	kept = make([]T, 0, min(len(list), maxEmails+1))
	var seen textSet
	for i, element := range list {
		if len(kept) > maxEmails {
			break
		}
		at := place{rule.list, i}
		if v.hasAt(at, "") {
			continue
		}
		kind, value := parts(element)
		if kind != "" && !slices.Contains(rule.kinds, kind) && !v.hasAt(at, "type") {
			v.addAt(at, "type", OneOf, strings.Join(rule.kinds, ", "))
		}
		validateTextAt(v, at, "value", value, maxText)
		if v.hasAt(at, "value") {
			continue
		}
		if value == "" {
			v.addAt(at, "value", Required)
			continue
		}
		normal, ok := rule.normal(value)
		if !ok {
			v.addAt(at, "value", rule.broken, rule.args...)
			continue
		}
		key := ""
		if normal != "" {
			key = rule.prefix + normal
		}
		if seen.add(cmp.Or(key, value)) {
			kept, keys = append(kept, element), append(keys, key)
		}
	}
	tooMany(v, rule.list, len(kept), maxEmails)
	return kept, keys
}

func (in *ContactInput) validateAddresses(v *Invalid) {
	if in.Addresses == nil || v.has("addresses") {
		return
	}
	kept := []Address{}
	var seen textSet
	for i, a := range *in.Addresses {
		if len(kept) > maxEmails {
			break
		}
		at := place{"addresses", i}
		for _, part := range addressParts {
			validateTextAt(v, at, part, *a.part(part), maxText)
		}
		if a.State != "" && !isTwoLetters(a.State) && !v.hasAt(at, "state") {
			v.addAt(at, "state", StateCode)
		}
		if a.Country != "" && !isCountry(a.Country) && !v.hasAt(at, "country") {
			v.addAt(at, "country", Country)
		}
		if !a.empty() && seen.add(a.normal()) {
			kept = append(kept, a)
		}
	}
	tooMany(v, "addresses", len(kept), maxEmails)
	*in.Addresses = kept
}

func isTwoLetters(s string) bool {
	return len(s) == 2 && isLetter(s[0]) && isLetter(s[1])
}

func (a Address) empty() bool {
	return a.Line1 == "" && a.Line2 == "" && a.City == "" && a.State == "" && a.Zipcode == "" && a.Country == ""
}

// normal is the form that addresses are compared by: all parts without regard to case and spaces.
func (a *Address) normal() string {
	parts := [...]string{a.Line1, a.Line2, a.City, a.State, a.Zipcode, a.Country}
	size := len(parts)
	for _, part := range parts {
		size += len(part)
	}
	key := make([]byte, 0, size)
	for _, part := range parts {
		for _, r := range part {
			if !unicode.IsSpace(r) {
				key = utf8.AppendRune(key, caseless(r))
			}
		}
		key = append(key, 0) // no part holds it
	}
	return string(key)
}

// caseless is the same letter for all that strings.EqualFold takes for equal: the first of them.
func caseless(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	first := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		first = min(first, other)
	}
	return first
}
