package duplicate

import (
	"context"
	"strconv"
	"strings"

	"donorbook/internal/crm"
)

// Unlearned is the model of an account with so many contacts that was not looked through yet.
func Unlearned(contacts int) *Model { return newModel(&counts{contacts, nil}) }

// Group compares a few contacts with each other. What comes back are the pairs that are taken for one person, as Run
// finds them.
func (m *Model) Group(ids []int64, records []Record) (all []Found) {
	f := &Finder{counts: m.counts, model: m, seen: make(map[pair]int32)}
	for i := range ids {
		f.Add(ids[i], &records[i])
	}
	f.chunks = append(f.chunks, string(f.chunk))
	for i := range records {
		for j := i + 1; j < len(records); j++ {
			f.compare(int32(i), int32(j), &records[i], &records[j])
		}
	}
	for _, found := range f.group(context.Background()) {
		all = append(all, f.found(found))
	}
	return all
}

// AppendWords appends what contacts are kept by, beside their names and where they are reached, so that those who may
// be the same person find each other: the day of birth, and each house with its ZIP code.
func AppendWords(words []string, c *crm.Contact) []string {
	if !c.DOB.IsZero() {
		year, month, day := c.DOB.Date()
		words = appendBirth(words, year, int(month), day)
	}
	for i := range c.Addresses[:min(few, len(c.Addresses))] {
		if a := &c.Addresses[i]; a.Line1 != "" && a.Zipcode != "" {
			words = appendHouse(words, a.Line1, crm.ShortZip(a.Zipcode))
		}
	}
	return words
}

func (r *Record) words() (words []string) {
	if r.Year != 0 {
		words = appendBirth(words, r.Year, r.Month, r.Day)
	}
	for i := range r.Places {
		words = appendHouse(words, r.Places[i].Number, r.Places[i].Zip)
	}
	return words
}

func appendBirth(words []string, year, month, day int) []string {
	return append(words, "b"+strconv.Itoa(year*10_000+month*100+day))
}

// appendHouse adds the word of a house, by the first digits of its street.
func appendHouse(words []string, street, zip string) []string {
	const digits = "0123456789"
	from := strings.IndexAny(street, digits)
	if from < 0 || zip == "" {
		return words
	}
	number := street[from:]
	return append(words, "h"+number[:len(number)-len(strings.TrimLeft(number, digits))]+"-"+zip)
}
