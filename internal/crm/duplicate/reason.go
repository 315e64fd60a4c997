package duplicate

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Found is a pair of contacts that are taken for one person.
type Found struct {
	A, B        int64
	Group       int64 // the id of one contact of all those that are taken for this person
	Probability float64
	Level       Level
	Reasons     []string // what speaks for it
	Against     []string // what speaks against it
}

// found is a match with its reasons.
func (f *Finder) found(m match) Found {
	var a, b Record
	f.read(&a, int(m.a))
	f.read(&b, int(m.b))
	found := f.model.Compare(&a, &b)
	if m.through {
		found.Reasons = append(found.Reasons, "both are like another contact")
	}
	found.A, found.B, found.Group, found.Probability, found.Level = f.ids[m.a], f.ids[m.b], f.ids[m.group], m.probability, levelOf(m.probability)
	return found
}

// Compare compares two contacts. The level is "" where they are rather two people.
func (m *Model) Compare(a, b *Record) (found Found) {
	p, ok := compare(a, b, m.counts)
	if !ok {
		return found
	}
	if found.Probability = m.probability(&p); found.Probability >= possible {
		found.Level = levelOf(found.Probability)
	}
	for f, level := range p.levels {
		words := levels[f][level].words
		switch {
		case words == "":
		case f == first && level == shortFirst && (isShortFor(a.First, b.First)):
			found.Reasons = append(found.Reasons, fmt.Sprintf(words, shown(a.First), shown(b.First)))
		case f == first && level == shortFirst:
			found.Reasons = append(found.Reasons, fmt.Sprintf(words, shown(b.First), shown(a.First)))
		case a.Company && f == first:
			found.Reasons = append(found.Reasons, strings.Replace(words, "first name", "company name", 1))
		case int(level) == len(levels[f])-1 || f == suffix && level == oneSuffix:
			found.Against = append(found.Against, words)
		default:
			found.Reasons = append(found.Reasons, words)
		}
	}
	return found
}

// shown is a folded name with its capital letter.
func shown(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}
