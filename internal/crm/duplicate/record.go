// Package duplicate tells which contacts are about one person: it normalizes what contacts say, finds pairs worth a
// look, compares them field by field, and says how likely they are one person, and why. It reads no database.
package duplicate

import (
	"encoding/binary"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
)

// Record is what is compared of a contact, in the form in which it is compared. Nothing is known where a text is empty.
type Record struct {
	// the words are those of text.Words; a company has its name as First, because that is what tells it from its
	// neighbors
	First, Middle, Last string
	Suffix              string // jr, sr, ii, iii, iv
	Company             bool
	Year, Month, Day    int // of birth
	Emails, Phones      []string
	Places              []Place
}

// Place is an address: the number of the house, the words of the street, the apartment, the postal code, the city and
// the country.
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
			r.Phones = append(r.Phones, text.Cut(plainPhone(phone), long))
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
var fillers = []string{"unknown", "anonymous", "anon", "friend", "na", "none", "null", "nil", "donor", "no", "name",
	"test", "guest", "tbd", "xxx", "xx", "blank", "household", "family", "the", "of"}

// name takes the names of a person apart: titles and fillers go, a suffix stands apart, and a second first name is a
// middle name.
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
	return slices.DeleteFunc(words, func(word string) bool {
		return crm.IsTitle(word) ||
			slices.Contains(fillers, word)
	})
}

func compared(words []string, between string) string {
	return text.Cut(strings.Join(words, between), long)
}

// companyForms are words of a company's name that people leave out.
var companyForms = []string{"the", "inc", "incorporated", "llc", "ltd", "limited", "corp", "corporation", "co",
	"company", "gmbh", "plc", "lp", "llp", "and", "und"}

func companyName(name string) string {
	words := text.DistinctWords(name)
	if told := slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return slices.Contains(companyForms,
			word)
	}); len(told) > 0 {
		words = told
	}
	return compared(words, " ")
}

// plainEmail is an email without what stands behind a plus, which is for sorting mail, and without the points that
// Google ignores.
func plainEmail(email string) string {
	local, domain, _ := strings.Cut(email, "@")
	local, _, _ = strings.Cut(local, "+")
	if domain == "gmail.com" || domain == "googlemail.com" {
		local = strings.ReplaceAll(local, ".", "")
	}
	return local + "@" + domain
}

// plainPhone are the digits of a number, and those of its extension behind an x.
func plainPhone(key string) string {
	number, extension := text.CutExtension(key)
	if extension != "" {
		extension = extensionSign + extension
	}
	return text.Digits(number) + extension
}

const extensionSign = "x"

// placeOf reads an address. The first word with a digit is the number of the house, or of a post office box.
func placeOf(a *crm.Address) (p Place) {
	line := strings.ReplaceAll(a.Line1, "#", " apt ")
	if text.Digits(a.Line2) != "" {
		line += " apt " + a.Line2
	}
	var street []string
	inUnit := false
	for _, word := range text.DistinctWords(line) {
		switch word = crm.StreetWord(word); {
		case word == "apt":
			inUnit = true
		case inUnit:
			p.Unit += word
		case p.Number == "" && text.Digits(word) != "":
			p.Number = word
		case word != "p" && word != "o" && word != "po" && word != "post" && word != "office":
			street = append(street, strings.TrimLeft(word, "0"))
		}
	}
	p.Street, p.Zip, p.City, p.Country = compared(street, " "), text.Cut(crm.ShortZip(a.Zipcode), long),
		compared(text.DistinctWords(a.City), ""), text.Cut(a.Country, long)
	p.Number, p.Unit = text.Cut(p.Number, long), text.Cut(p.Unit, long)
	return p
}

// key is the address as one text, by which it is counted.
func (p *Place) key() string { return p.Number + " " + p.Street + " " + p.Zip }

// word is the word of the street that tells most: the longest one.
func (p *Place) word() (best string) {
	for word := range strings.SplitSeq(p.Street, " ") {
		if len(word) > len(best) {
			best = word
		}
	}
	return best
}

// append writes a record in a short form.
func (r *Record) append(dst []byte) []byte {
	text := func(s string) { dst = append(append(dst, byte(len(s))), s...) }
	texts := func(list []string) {
		dst = append(dst, byte(len(list)))
		for _, s := range list {
			text(s)
		}
	}
	company := byte(0)
	if r.Company {
		company = 1
	}
	dst = append(dst, company, byte(r.Month), byte(r.Day))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(r.Year))
	text(r.First)
	text(r.Middle)
	text(r.Last)
	text(r.Suffix)
	texts(r.Emails)
	texts(r.Phones)
	dst = append(dst, byte(len(r.Places)))
	for _, p := range r.Places {
		for _, s := range [...]string{p.Number, p.Street, p.Unit, p.Zip, p.City, p.Country} {
			text(s)
		}
	}
	return dst
}

// read is the record that append wrote at the beginning of a text. Its texts are parts of that one.
func (r *Record) read(src string) {
	text := func() (s string) {
		n := 1 + int(src[0])
		s, src = src[1:n], src[n:]
		return s
	}
	count := func() (n int) {
		n, src = int(src[0]), src[1:]
		return n
	}
	r.Company, r.Month, r.Day, r.Year, src = src[0] == 1, int(src[1]), int(src[2]), int(src[3])|int(src[4])<<8, src[5:]
	r.First, r.Middle, r.Last, r.Suffix = text(), text(), text(), text()
	r.Emails, r.Phones, r.Places = r.Emails[:0], r.Phones[:0], r.Places[:0]
	for range count() {
		r.Emails = append(r.Emails, text())
	}
	for range count() {
		r.Phones = append(r.Phones, text())
	}
	for range count() {
		r.Places = append(r.Places, Place{text(), text(), text(), text(), text(), text()})
	}
}

// Digest stands for all that is compared of a contact: it changes when any of that does.
func (r *Record) Digest() uint64 { return hash(string(r.append(nil))) }
