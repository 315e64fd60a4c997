package crm

import (
	"slices"
	"strings"
	"time"
)

// Change is one thing that is different after a contact was changed, in words for people.
type Change struct {
	Field  string // as a person calls it, such as "Last name" or "Email added"
	Before string // "" where there was nothing
	After  string // "" where nothing is left
}

// Changes lists what differs between two states of a contact.
func Changes(before, after Contact) []Change {
	var list changeList
	list.text("First name", before.FirstName, after.FirstName)
	list.text("Middle name", before.MiddleName, after.MiddleName)
	list.text("Last name", before.LastName, after.LastName)
	list.text("Date of birth", dayInWords(before.DOB), dayInWords(after.DOB))
	list.text("Company", before.Company, after.Company)
	list.text("Title", before.Title, after.Title)
	list.text("Twitter", before.TwitterURL, after.TwitterURL)
	list.text("LinkedIn", before.LinkedinURL, after.LinkedinURL)
	list.text("Facebook", before.FacebookURL, after.FacebookURL)
	list.elements("Email", inWords(before.Emails, Email.inWords), inWords(after.Emails, Email.inWords))
	list.elements("Phone", inWords(before.Phones, Phone.inWords), inWords(after.Phones, Phone.inWords))
	list.text("Note", before.Note, after.Note)
	list.elements("Address", inWords(before.Addresses, Address.inWords), inWords(after.Addresses, Address.inWords))
	list.elements("Tag", before.Tags, after.Tags)
	return list
}

type changeList []Change

func (l *changeList) text(field, before, after string) {
	if before != after {
		*l = append(*l, Change{field, before, after})
	}
}

// elements tells what a list has lost and what it has gained.
func (l *changeList) elements(field string, before, after []string) {
	had, has := setOf(before), setOf(after)
	for _, element := range before {
		if !has.has(element) {
			*l = append(*l, Change{Field: field + " removed", Before: element})
		}
	}
	for _, element := range after {
		if !had.has(element) {
			*l = append(*l, Change{Field: field + " added", After: element})
		}
	}
}

func inWords[T any](list []T, words func(T) string) []string {
	texts := make([]string, 0, len(list))
	for _, element := range list {
		texts = append(texts, words(element))
	}
	return texts
}

func (e Email) inWords() string { return typedInWords(e.Value, e.Type) }

func (p Phone) inWords() string { return typedInWords(p.Value, p.Type) }

func typedInWords(value, kind string) string {
	if kind == "" {
		return value
	}
	return value + " (" + kind + ")"
}

func (a Address) inWords() string {
	parts := []string{a.Line1, a.Line2, a.City, a.State, a.Zipcode, a.Country}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

func dayInWords(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2 Jan 2006")
}
