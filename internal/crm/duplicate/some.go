package duplicate

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
)

// Unlearned is the model of an account with so many contacts that was not looked through yet.
func Unlearned(contacts int) *Model { return newModel(&counts{contacts, nil}) }

// Group compares a few contacts with each other. What comes back are the pairs that are taken for one person, as Run finds them.
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

// Words are what contacts are kept by, beside their names and where they are reached, so that those who may be the same person find each other: the day of birth, and each house with its ZIP code.
func Words(c *crm.Contact) (words []string) {
	var r Record
	if !c.DOB.IsZero() {
		year, month, day := c.DOB.Date()
		r.Year, r.Month, r.Day = year, int(month), day
	}
	for i := range c.Addresses[:min(few, len(c.Addresses))] {
		r.Places = append(r.Places, placeOf(&c.Addresses[i]))
	}
	return r.words()
}

func (r *Record) words() (words []string) {
	if r.Year != 0 {
		words = append(words, fmt.Sprintf("b%d-%d-%d", r.Year, r.Month, r.Day))
	}
	for i := range r.Places {
		if p := &r.Places[i]; p.Number != "" && p.Zip != "" {
			words = append(words, "h"+p.Number+"-"+p.Zip)
		}
	}
	return words
}
