package find

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/text"
)

// NearSearch is a search that found nothing, with what may have been meant by its words.
type NearSearch struct{ parts []nearPart }

// nearPart is a part of what was typed.
type nearPart struct {
	typed string
	word  string   // folded; "" for a part that is taken as it is
	meant []string // the words that it may have been meant for
	terms []SearchTerm
}

// maxNear is how many words a search may have. Each is asked for in some hundred spellings.
const maxNear = 4

// ParseNear understands what was typed as ParseSearch does, and allows for a typing error in each word. ok is false
// where no word can be meant for another one.
func ParseNear(typed, region string) (n NearSearch, ok bool) {
	typed = crm.Searchable(typed)
	if _, isTag := cutFold(typed, "tag:"); isTag {
		return n, false
	}
	for parts := range searchParts(typed) {
		whole := strings.Join(parts, " ")
		words := text.DistinctWords(whole)
		if isNumberPart(parts[0]) || strings.ContainsAny(whole, "@#.") || len(words) == 0 {
			n.parts = append(n.parts, nearPart{typed: whole, terms: ParseSearch(whole, region).Terms})
			continue
		}
		for _, word := range words {
			part := nearPart{typed: word, word: word, meant: duplicate.Spellings(word), terms: partTerms(word)}
			if len(words) == 1 {
				part.typed = whole
			}
			n.parts = append(n.parts, part)
			ok = ok || len(part.meant) > 0
		}
	}
	return n, ok && len(n.parts) <= maxNear
}

// Words are the folded words that may be mistyped.
func (n *NearSearch) Words() (words []string) {
	for i := range n.parts {
		if n.parts[i].word != "" {
			words = append(words, n.parts[i].word)
		}
	}
	return words
}

// Allow allows for more words that one was meant for.
func (n *NearSearch) Allow(word string, meant []string) {
	for i := range n.parts {
		if n.parts[i].word == word {
			n.parts[i].meant = append(n.parts[i].meant, meant...)
		}
	}
}

// Search finds the contacts that have each word, or one that was meant by it.
func (n *NearSearch) Search() (s Search) {
	for i := range n.parts {
		terms := slices.Clone(n.parts[i].terms)
		for _, word := range n.parts[i].meant {
			terms[0] = append(slices.Clip(terms[0]), SearchChoice{{Text: searchWord(word)}})
		}
		s.add(terms...)
	}
	return s
}

// Meant is what should have been typed to find a contact, in the contact's spelling: the most common one first, but
// those who are only called by another name last.
func (n *NearSearch) Meant(found []crm.Contact) (texts []string) {
	type meaning struct {
		text    string
		named   bool // a word of it is not one that was mistyped
		changed int
		count   int
	}
	var all []meaning
	for i := range found {
		var m meaning
		words := spelledWords(&found[i])
		for j := range n.parts {
			word, changed := n.parts[j].meantBy(words)
			if m.text = strings.TrimSpace(m.text + " " + word); changed {
				m.changed++
				m.named = m.named || !duplicate.IsNear(n.parts[j].word, strings.Join(text.DistinctWords(word), ""))
			}
		}
		if m.changed == 0 {
			continue
		}
		at := slices.IndexFunc(all, func(o meaning) bool { return strings.EqualFold(o.text, m.text) })
		if at < 0 {
			at, all = len(all), append(all, m)
		}
		all[at].count++
	}
	slices.SortStableFunc(all, func(a, b meaning) int {
		named := func(m meaning) int {
			if m.named {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(a.changed, b.changed), cmp.Compare(named(a), named(b)), cmp.Compare(b.count, a.count),
			cmp.Compare(a.text, b.text))
	})
	for _, m := range all {
		texts = append(texts, m.text)
	}
	return texts
}

// meantBy is the word of a contact that a part was meant for, or the part as it was typed where the contact has that.
func (p *nearPart) meantBy(words []spelledWord) (word string, changed bool) {
	if p.word == "" || slices.ContainsFunc(words, func(w spelledWord) bool {
		return strings.HasPrefix(w.folded,
			p.word)
	}) {
		return p.typed, false
	}
	best := -1
	for i, w := range words {
		if slices.Contains(p.meant, w.folded) && (best < 0 || duplicate.IsNear(p.word, w.folded) &&
			!duplicate.IsNear(p.word, words[best].folded)) {
			best = i
		}
	}
	if best < 0 { // it was found by something that is no word of it, such as an email
		return p.typed, false
	}
	return words[best].written, true
}

// spelledWord is a word as a contact has it, and as it is compared.
type spelledWord struct{ written, folded string }

// spelledWords are the words of names and places, which people mistype.
func spelledWords(c *crm.Contact) (words []spelledWord) {
	values := []string{c.LastName, c.FirstName, c.Company, c.MiddleName}
	for i := range c.Addresses {
		values = append(values, c.Addresses[i].City)
	}
	for _, value := range append(values, c.Tags...) {
		for written := range strings.FieldsSeq(value) {
			for _, part := range strings.FieldsFunc(written, func(r rune) bool {
				return text.IsBetweenWords(r) &&
					r != '\'' && r != '’'
			}) {
				if folded := text.DistinctWords(part); len(folded) == 1 {
					words = append(words, spelledWord{part, folded[0]})
				}
			}
		}
	}
	return words
}

// NamesLike is where the last names begin like a folded word, in the order of their names.
func NamesLike(word string) crm.KeyRange {
	const alike = 2 // letters
	runes := []rune(word)
	start := string(runes[:min(alike, len(runes))])
	return crm.KeyRange{From: start, To: start + LastSortName}
}

// LastNameOf has the words of the last name, or of the name of a company, of a sort name, and where those end that have
// it.
func LastNameOf(sortName string) (words []string, end string) {
	at := strings.IndexAny(sortName, betweenNames+afterNames)
	if at < 0 {
		return text.DistinctWords(sortName), sortName
	}
	return text.DistinctWords(sortName[:at]), sortName[:at] + afterNames + LastSortName
}
