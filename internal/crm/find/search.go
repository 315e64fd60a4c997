package find

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/text"
)

// SearchWord is one word that a search asks for, or the beginning of one.
type SearchWord struct {
	Text   string
	Prefix bool
}

// SearchChoice is met by a contact that has all of its words.
type SearchChoice []SearchWord

// SearchTerm is met by any of its choices.
type SearchTerm []SearchChoice

// Search is what a person typed to find contacts: a contact is found that meets every term.
type Search struct {
	Text  string // as it was typed, without the spaces around it
	Terms []SearchTerm
}

// maxTerms bounds the work of one search. No one types as many words.
const maxTerms = 20

// ParseSearch understands what was typed: the beginnings of words of a name, a company, a place or a tag, in any order;
// #tag; an email or its domain; a phone number or four digits or more of its beginning or end, however it is written.
func ParseSearch(text, region string) Search {
	text = crm.Searchable(text)
	s := Search{Text: text}
	if name, ok := cutFold(text, "tag:"); ok {
		return TagSearch(name)
	}
	if strings.ReplaceAll(text, " ", "") == tagSign {
		return Search{}
	}
	if word, ok := extensionWord(text, region); ok {
		s.add(SearchTerm{{beginning(word)}})
		return s
	}
	for parts := range searchParts(text) {
		if isNumberPart(parts[0]) {
			s.add(numberTerm(parts, region))
		} else {
			s.add(partTerms(parts[0])...)
		}
	}
	return s
}

// extensionWord is the word of a phone number that was typed together with its extension, such as 312-555-0123 x42.
func extensionWord(value, region string) (word string, ok bool) {
	if value == "" || !strings.Contains("+(0123456789", value[:1]) || strings.Contains(value, tagSign) {
		return "", false
	}
	key, _ := text.NormalPhone(value, region)
	_, extension := text.CutExtension(key)
	return phoneSign + text.Digits(key), extension != ""
}

// searchParts are the parts of what was typed: those of one number together, and everything else by itself.
func searchParts(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for parts := strings.Fields(strings.ReplaceAll(text, "# ", tagSign)); len(parts) > 0; {
			n := max(1, leadingNumber(parts))
			if !yield(parts[:n]) {
				return
			}
			parts = parts[n:]
		}
	}
}

func (s *Search) add(terms ...SearchTerm) {
	s.Terms = append(s.Terms, terms[:min(len(terms), maxTerms-len(s.Terms))]...)
}

// TagSearch finds the contacts with exactly this tag.
func TagSearch(name string) Search {
	if name = crm.Searchable(name); name == "" {
		return Search{}
	}
	word := SearchWord{Text: searchWord(exactTagSign + name)}
	return Search{Text: "tag:" + name, Terms: []SearchTerm{{{word}}}}
}

// NeighborSearch finds the contacts that may have the name of an input and live where it says: those with the last name
// and the ZIP code, and where it has a street, those with all words of the name. ok is false where it has no address or
// no name.
func NeighborSearch(in *crm.ContactInput) (s Search, ok bool) {
	name := in.PersonName()
	last := wordsOf(cmp.Or(name.Last, name.Company, name.First))
	if in.Addresses == nil || len(last) == 0 {
		return s, false
	}
	var term SearchTerm
	for _, a := range *in.Addresses {
		if zip := crm.ShortZip(a.Zipcode); zip != "" {
			term = append(term, inZip(last, zip)...)
		}
		if a.Line1 != "" {
			term = append(term, append(slices.Clip(last), wordsOf(name.First)...))
		}
	}
	s.add(term)
	return s, len(term) > 0
}

// PersonSearch finds the contacts that have what a probe asks for.
func PersonSearch(p *duplicate.Probe) (s Search) {
	var choice SearchChoice
	for _, name := range p.Names {
		choice = append(choice, SearchWord{Text: searchWord(name)})
	}
	if p.Email != "" {
		choice = append(choice, beginning(emailSign+p.Email))
	}
	if p.Word != "" {
		choice = append(choice, SearchWord{Text: searchWord(filterSign + p.Word)})
	}
	if p.Zip != "" {
		return Search{Terms: []SearchTerm{inZip(choice, p.Zip)}}
	}
	return Search{Terms: []SearchTerm{{choice}}}
}

// inZip asks for words and a short ZIP code, which is the first word of a long one: as whole words, since an index goes
// through all codes that begin with a text.
func inZip(words SearchChoice, zip string) SearchTerm {
	with := func(word string) SearchChoice { return append(slices.Clip(words), SearchWord{Text: searchWord(word)}) }
	return SearchTerm{with(zipWord(zip)), with(text.Fold(zip))}
}

func wordsOf(name string) (choice SearchChoice) {
	for _, word := range text.Words(name) {
		choice = append(choice, SearchWord{Text: searchWord(word)})
	}
	return choice
}

// IsEmpty tells whether nothing was asked for.
func (s Search) IsEmpty() bool { return s.Text == "" }

// partTerms are what one part of a text without spaces asks for.
func partTerms(part string) []SearchTerm {
	if name, ok := strings.CutPrefix(part, tagSign); ok {
		if name = text.Fold(name); name == "" {
			return nil
		}
		return []SearchTerm{{{beginning(tagSign + name)}}}
	}
	folded := text.FoldEmail(part)
	if strings.Contains(part, "@") {
		if !strings.HasPrefix(folded, domainSign) {
			folded = emailSign + folded
		}
		return []SearchTerm{{{beginning(folded)}}}
	}
	plain := text.Words(part)
	if strings.Contains(part, ".") { // a domain, or the name of a company
		term := SearchTerm{{beginning(domainSign + folded)}, {beginning(emailSign + folded)}}
		return []SearchTerm{append(term, allBeginnings(plain)...)}
	}
	terms := make([]SearchTerm, 0, len(plain))
	for _, word := range plain {
		term := SearchTerm{{beginning(word)}, {beginning(emailSign + word)}}
		if len(word) >= minDomainPart {
			term = append(term, SearchChoice{beginning(domainSign + word)})
		}
		terms = append(terms, term)
	}
	return terms
}

// minDomainPart is how much of a domain must be typed: less is the beginning of a name.
const minDomainPart = 4

// beginning asks for the words that begin with a text.
func beginning(text string) SearchWord { return SearchWord{Text: searchWord(text), Prefix: true} }

// allBeginnings is one choice of all the words, or none where there is no word.
func allBeginnings(plain []string) []SearchChoice {
	if len(plain) == 0 {
		return nil
	}
	plain = plain[:min(len(plain), maxTerms)]
	choice := make(SearchChoice, 0, len(plain))
	for _, word := range plain {
		choice = append(choice, beginning(word))
	}
	return []SearchChoice{choice}
}

// leadingNumber is how many of the parts are one number as people write it, such as (617) 555-0100.
func leadingNumber(parts []string) (n int) {
	for n < len(parts) && isNumberPart(parts[n]) && (n == 0 || !strings.HasPrefix(parts[n], "+")) {
		n++
	}
	return n
}

// isNumberPart tells whether a text has digits and what people write between them, and nothing else.
func isNumberPart(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0123456789+-()./") == ""
}

// numberTerm asks for a phone number by its beginning or end, or for the plain words that the digits may be: a ZIP
// code, the number in a company's name, or for an email that begins with them.
func numberTerm(parts []string, region string) SearchTerm {
	value := strings.Join(parts, " ")
	term := append(SearchTerm(allBeginnings(text.Words(value))), SearchChoice{beginning(emailSign + value)})
	digits := text.Digits(value)
	if len(digits) < crm.MinPhonePart {
		return term
	}
	starts := append(phoneBeginnings(value, region), phoneSign+digits)
	slices.Sort(starts)
	for _, start := range slices.Compact(starts) {
		term = append(term, SearchChoice{beginning(start)})
	}
	return append(term, SearchChoice{beginning(phoneEndSign + reversed(digits))})
}

// Finds tells whether a contact with these words is what was searched for. It is the rule that the databases follow.
func (s Search) Finds(have []string) bool {
	has := func(w SearchWord) bool {
		return slices.ContainsFunc(have, func(word string) bool {
			return word == w.Text || w.Prefix &&
				strings.HasPrefix(word, w.Text)
		})
	}
	for _, term := range s.Terms {
		met := slices.ContainsFunc(term, func(choice SearchChoice) bool {
			return !slices.ContainsFunc(choice, func(w SearchWord) bool { return !has(w) })
		})
		if !met {
			return false
		}
	}
	return len(s.Terms) > 0
}

// minSuggested is how many letters of a word are looked for among all words while a person types. Fewer are the
// beginning of too many of them.
const minSuggested = 3

// AsTyped is what is asked for while a person still types: the sort names that begin with a word of it, and the search
// without words so short that a large part of all contacts has one. What that finds is more than the search does.
func (s Search) AsTyped() (names []crm.KeyRange, words Search) {
	for _, word := range text.Words(s.Text) {
		if len(names) < maxNamesTyped {
			names = append(names, crm.KeyRange{From: word, To: word + LastSortName})
		}
	}
	words.Text = s.Text
	for _, term := range s.Terms {
		isShort := slices.ContainsFunc(term, func(choice SearchChoice) bool {
			return !slices.ContainsFunc(choice,
				func(w SearchWord) bool { return utf8.RuneCountInString(w.Text) >= minSuggested })
		})
		if !isShort {
			words.Terms = append(words.Terms, term)
		}
	}
	return names, words
}

// maxNamesTyped is how many words of what is typed may be the last name.
const maxNamesTyped = 3

// Named is how many words of the search the name of a contact has.
func (s Search) Named(c *crm.Contact) (n int) {
	have := text.Words(strings.Join([]string{c.FirstName, c.MiddleName, c.LastName, c.Company}, " "))
	for _, word := range text.Words(s.Text) {
		if slices.ContainsFunc(have, func(w string) bool { return strings.HasPrefix(w, word) }) {
			n++
		}
	}
	return n
}

// cutFold cuts a prefix without regard to letter case.
func cutFold(text, prefix string) (rest string, ok bool) {
	if len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		return text[len(prefix):], true
	}
	return "", false
}

// phoneBeginnings are the normal forms that a number may begin with, of which perhaps only a part was typed. Without +
// it is one of the region: its country code takes the place of what people dial within the country.
func phoneBeginnings(value, region string) []string {
	digits := text.Digits(value)
	var beginning string
	switch {
	case strings.HasPrefix(value, "+"):
		return []string{"+" + digits}
	case strings.HasPrefix(digits, "00"):
		beginning = "+" + digits[2:]
	default:
		code, trunk := text.Dialling(region)
		beginning = "+" + strconv.Itoa(code) + strings.TrimPrefix(digits, trunk)
	}
	// a region may have rules of its own
	if whole, _ := text.NormalPhone(value, region); whole != "" && whole != beginning {
		return []string{whole, beginning}
	}
	return []string{beginning}
}
