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
	First, Middle, Last string // letters only
	Suffix              string // jr, sr, ii, iii, iv
	Company             bool   // Last is its name
	Year, Month, Day    int    // of birth
	Emails, Phones      []string
	Places              []Place
}

// Place is an address: the number of the house, the words of the street, the postal code and the city.
type Place struct{ Number, Street, Zip, City string }

// few bounds how many emails, phones and addresses of a contact are compared.
const few = 4

// Of is what is compared of a contact.
func Of(c *crm.Contact) Record {
	var r Record
	if r.Company = c.IsCompany; r.Company {
		r.Last = companyName(c.Company)
	} else {
		r.name(c)
	}
	if !c.DOB.IsZero() {
		year, month, day := c.DOB.Date()
		r.Year, r.Month, r.Day = year, int(month), day
	}
	for _, key := range c.MatchKeys {
		if email, ok := strings.CutPrefix(key, crm.EmailPrefix); ok && len(r.Emails) < few {
			r.Emails = append(r.Emails, plainEmail(email))
		} else if phone, ok := strings.CutPrefix(key, crm.PhonePrefix); ok && len(r.Phones) < few {
			r.Phones = append(r.Phones, text.Digits(phone))
		}
	}
	for i := range c.Addresses[:min(few, len(c.Addresses))] {
		if p := placeOf(&c.Addresses[i]); p != (Place{}) {
			r.Places = append(r.Places, p)
		}
	}
	return r
}

// fillers are words that stand where a name is not known.
var fillers = []string{"unknown", "anonymous", "anon", "friend", "na", "none", "null", "donor", "no", "name", "test", "mr", "mrs", "ms", "miss", "dr", "rev", "prof", "sir", "fr", "sr", "the", "guest", "tbd", "xxx", "blank"}

var suffixes = map[string]string{"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", "ii": "ii", "iii": "iii", "iv": "iv", "2nd": "ii", "3rd": "iii"}

// name takes the names of a person apart: titles and fillers go, a suffix stands apart, and a second first name is a middle name.
func (r *Record) name(c *crm.Contact) {
	last := text.DistinctWords(c.LastName)
	for len(last) > 1 && suffixes[last[len(last)-1]] != "" {
		r.Suffix, last = suffixes[last[len(last)-1]], last[:len(last)-1]
	}
	if suffix := text.DistinctWords(c.Suffix); len(suffix) > 0 && suffixes[suffix[0]] != "" {
		r.Suffix = suffixes[suffix[0]]
	}
	first := without(text.DistinctWords(c.FirstName), fillers)
	middle := text.DistinctWords(c.MiddleName)
	if len(first) > 1 && len(middle) == 0 {
		first, middle = first[:1], first[1:]
	}
	r.First, r.Middle, r.Last = strings.Join(first, ""), strings.Join(middle, ""), strings.Join(without(last, fillers), " ")
}

func without(words, unwanted []string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(unwanted, word) })
}

var companyForms = []string{"the", "inc", "incorporated", "llc", "ltd", "limited", "corp", "corporation", "co", "company", "gmbh", "plc", "lp", "llp", "and"}

func companyName(name string) string {
	return strings.Join(without(text.DistinctWords(name), companyForms), " ")
}

// plainEmail is an email without what stands behind a plus: that part is for sorting mail.
func plainEmail(email string) string {
	local, domain, _ := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

// streetWords are words of streets that people shorten.
var streetWords = map[string]string{
	"street": "st", "str": "st", "avenue": "ave", "av": "ave", "road": "rd", "drive": "dr", "lane": "ln", "court": "ct", "place": "pl", "boulevard": "blvd",
	"circle": "cir", "terrace": "ter", "parkway": "pkwy", "highway": "hwy", "square": "sq", "trail": "trl", "crescent": "cres", "close": "cl", "mount": "mt",
	"north": "n", "south": "s", "east": "e", "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw", "saint": "st",
	"apartment": "apt", "unit": "apt", "suite": "apt", "ste": "apt", "no": "apt", "number": "apt", "fort": "ft", "heights": "hts", "route": "rte",
}

// placeOf reads an address. The first word with a digit is the number of the house.
func placeOf(a *crm.Address) (p Place) {
	var street []string
	for _, word := range text.DistinctWords(a.Line1) {
		if p.Number == "" && text.Digits(word) != "" {
			p.Number = word
			continue
		}
		if short := streetWords[word]; short != "" {
			word = short
		}
		if word == "apt" {
			break
		}
		street = append(street, word)
	}
	p.Street, p.Zip, p.City = strings.Join(street, " "), crm.ShortZip(a.Zipcode), strings.Join(text.DistinctWords(a.City), "")
	return p
}
