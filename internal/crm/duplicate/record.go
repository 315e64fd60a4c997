// Package duplicate tells which contacts are about one person: it normalizes what contacts say, finds pairs worth a look, compares them field by field, and
// says how likely they are one person, and why. It reads no database.
package duplicate

import (
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// Record is what is compared of a contact, in the form in which it is compared. Nothing is known where a text is empty.
type Record struct {
	First, Middle, Last string // the words are those of text.Words; a company has its name as First, because that is what tells it from its neighbors
	Suffix              string // jr, sr, ii, iii, iv
	Company             bool
	Year, Month, Day    int // of birth
	Emails, Phones      []string
	Places              []Place
}

// Place is an address: the number of the house, the words of the street, the apartment, the postal code, the city and the country.
type Place struct{ Number, Street, Unit, Zip, City, Country string }

const (
	few  = 4  // emails, phones and addresses of a contact that are compared
	long = 60 // bytes of a text that are compared
)

// Of is what is compared of a contact.
func Of(c *crm.Contact) (r Record) {
	if r.Company = c.IsCompany; r.Company {
		r.First = companyName(c.Company)
	} else {
		r.name(c)
	}
	if !c.DOB.IsZero() {
		year, month, day := c.DOB.Date()
		r.Year, r.Month, r.Day = year, int(month), day
	}
	for _, key := range c.MatchKeys {
		if email, ok := strings.CutPrefix(key, crm.EmailPrefix); ok && len(r.Emails) < few {
			r.Emails = append(r.Emails, text.Cut(plainEmail(email), long))
		} else if phone, ok := strings.CutPrefix(key, crm.PhonePrefix); ok && len(r.Phones) < few {
			r.Phones = append(r.Phones, text.Cut(text.Digits(phone), long))
		}
	}
	for i := range c.Addresses[:min(few, len(c.Addresses))] {
		if p := placeOf(&c.Addresses[i]); p != (Place{Country: p.Country}) {
			r.Places = append(r.Places, p)
		}
	}
	return r
}

// fillers are words that stand where a name is not known.
var fillers = []string{"unknown", "anonymous", "anon", "friend", "na", "none", "null", "nil", "donor", "no", "name", "test", "guest", "tbd", "xxx", "xx", "blank", "household", "family", "the", "of"}

// name takes the names of a person apart: titles and fillers go, a suffix stands apart, and a second first name is a middle name.
func (r *Record) name(c *crm.Contact) {
	last := text.DistinctWords(c.LastName)
	for len(last) > 1 && crm.Generation(last[len(last)-1]) != "" {
		r.Suffix, last = crm.Generation(last[len(last)-1]), last[:len(last)-1]
	}
	for _, word := range text.DistinctWords(c.Suffix) {
		if generation := crm.Generation(word); generation != "" {
			r.Suffix = generation
		}
	}
	first, middle := bare(text.DistinctWords(c.FirstName)), bare(text.DistinctWords(c.MiddleName))
	if crm.IsCouple(c.FirstName) { // one name, so that neither half of a couple is the couple
		first = slices.Sorted(slices.Values(crm.WithoutAnd(first)))
		first = []string{strings.Join(first, "&")}
	}
	switch last = bare(last); {
	case len(first) > 1 && len(last) == 0: // a whole name in one field
		first, last = first[:len(first)-1], first[len(first)-1:]
		fallthrough
	case len(first) > 1 && len(middle) == 0:
		first, middle = first[:min(1, len(first))], first[min(1, len(first)):]
	}
	r.First, r.Middle, r.Last = compared(first, ""), compared(middle, ""), compared(last, " ")
}

// bare are the words of a name that are neither a title nor a filler.
func bare(words []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return crm.IsTitle(word) || slices.Contains(fillers, word) })
}

func compared(words []string, between string) string {
	return text.Cut(strings.Join(words, between), long)
}

// companyForms are words of a company's name that people leave out.
var companyForms = []string{"the", "inc", "incorporated", "llc", "ltd", "limited", "corp", "corporation", "co", "company", "gmbh", "plc", "lp", "llp", "and", "und"}

func companyName(name string) string {
	words := text.DistinctWords(name)
	if told := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(companyForms, word) }); len(told) > 0 {
		words = told
	}
	return compared(words, " ")
}

// plainEmail is an email without what stands behind a plus: that part is for sorting mail.
func plainEmail(email string) string {
	local, domain, _ := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}
