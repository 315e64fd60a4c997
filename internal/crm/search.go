package crm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyRange is a stretch of index keys, both ends included.
type KeyRange struct{ From, To string }

// Has tells whether a key lies in the range.
func (r KeyRange) Has(key string) bool { return r.From <= key && key <= r.To }

// startingWith is the range of all keys that begin with a text: nothing that is searched by its beginning holds the last
// character of Unicode, which is none that is ever given out.
func startingWith(prefix string) KeyRange { return KeyRange{prefix, prefix + "\U0010FFFF"} }

// Search is what somebody typed to find contacts: ranges of index keys, those that fit best first.
type Search struct {
	Text   string // as it was typed, without the spaces around it
	places []searchPlace
}

// searchPlace is one range to look in.
type searchPlace struct {
	KeyRange
	words []string // each begins a word of the key too, any but the first
	needs KeyRange // where it holds no key, nothing is found here nor in the places that follow; "" is no condition
}

// ParseSearch understands what was typed: words of a name, the beginning of an email, a phone number, #tag.
func ParseSearch(text, region string) Search {
	text = searchable(text)
	if name, ok := taggedName(text); ok {
		return TagSearch(name)
	}
	s := Search{Text: text}
	switch {
	case text == "":
	case strings.Contains(text, "@"):
		s.addRange(startingWith(emailPrefix + foldCase(text)))
	case looksLikePhone(text):
		for _, number := range phoneBeginnings(text, region) {
			s.addRange(startingWith(phonePrefix + number))
		}
		s.addNames(words(text)) // somebody may be called 1984
	default:
		s.addNames(words(text))
		if !strings.ContainsFunc(text, unicode.IsSpace) {
			s.addRange(startingWith(emailPrefix + foldCase(text)))
		}
	}
	return s
}

// TagSearch finds everybody with exactly this tag.
func TagSearch(name string) Search {
	if name = searchable(name); name == "" {
		return Search{}
	}
	key := tagPrefix + name
	return Search{Text: "#" + name, places: []searchPlace{{KeyRange: KeyRange{key, key}}}}
}

// IsEmpty tells whether nothing was asked for.
func (s Search) IsEmpty() bool { return s.Text == "" }

// Ranges are the stretches of index keys to look in, one after the other.
func (s Search) Ranges() []KeyRange {
	ranges := make([]KeyRange, 0, len(s.places))
	for _, place := range s.places {
		ranges = append(ranges, place.KeyRange)
	}
	return ranges
}

// Finds tells whether a key is what the range of this number looks for.
func (s Search) Finds(place int, key string) bool {
	p := s.places[place]
	return p.Has(key) && !slices.ContainsFunc(p.words, func(word string) bool { return !strings.Contains(key, " "+word) })
}

// First is where the contact is found before anywhere else. A contact has several keys; it is shown there and only there.
func (s Search) First(c Contact) (place int, key string) {
	keys := c.IndexKeys()
	for place := range s.places {
		for _, key := range keys {
			if s.Finds(place, key) {
				return place, key
			}
		}
	}
	return -1, ""
}

// Needs is a range of index keys that must hold one, or else nothing is found in the range of this number and in those after it.
func (s Search) Needs(place int) (needs KeyRange, ok bool) {
	needs = s.places[place].needs
	return needs, needs.From != ""
}

func (s *Search) addRange(keys KeyRange) { s.places = append(s.places, searchPlace{KeyRange: keys}) }

// namesFrom is the range of the keys of names that begin with what was typed, which may be longer than any of them.
func namesFrom(typed string) KeyRange { return startingWith(cut(typed, maxNameKey)) }

// maxSearchWords are as many as a search looks for: each is looked for beside all the others.
const maxSearchWords = 20

// addNames looks for the words in the order in which they were typed, which is one range of keys for names and one for companies.
// Any other order is found among the keys of one word, the longest, which the fewest people share. Where that is a word of a
// company, whose keys have no names in them, somebody of that company may be found by the keys of another word.
func (s *Search) addNames(words []string) {
	if len(words) == 0 {
		return
	}
	words = words[:min(len(words), maxSearchWords)]
	s.addRange(namesFrom(namePrefix + strings.Join(words, " ")))
	s.addRange(namesFrom(companyPrefix + strings.Join(words, " ")))
	if len(words) == 1 {
		return
	}
	leads := slices.Clone(words)
	slices.SortStableFunc(leads, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for i, lead := range leads {
		others := slices.Delete(slices.Clone(leads), i, i+1)
		place := searchPlace{KeyRange: namesFrom(namePrefix + lead), words: others}
		if i > 0 && !isInitial(leads[i-1]) {
			place.needs = namesFrom(companyPrefix + leads[i-1])
		}
		s.places = append(s.places, place)
		if i == 0 {
			s.places = append(s.places, searchPlace{KeyRange: namesFrom(companyPrefix + lead), words: others})
		}
	}
}

// searchable is a text as it can be searched for: what no stored text holds is left out, and so is what is longer than any.
func searchable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", "")
	return strings.TrimSpace(cut(strings.TrimSpace(text), utf8.UTFMax*maxText))
}

// taggedName reads tag:NAME and #NAME.
func taggedName(text string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(text, "#"); ok {
		return name, true
	}
	const word = "tag:"
	if len(text) >= len(word) && strings.EqualFold(text[:len(word)], word) {
		return text[len(word):], true
	}
	return "", false
}

// looksLikePhone tells whether a text is a number as people write it, or the beginning of one.
func looksLikePhone(text string) bool {
	digits := 0
	for _, r := range text {
		switch {
		case '0' <= r && r <= '9':
			digits++
		case !unicode.IsSpace(r) && !strings.ContainsRune("+-()./", r):
			return false
		}
	}
	return digits >= 3
}

// phoneBeginnings are the normal forms that a number may begin with, of which perhaps only a part was typed. Without + it is
// one of the region: its country code takes the place of what people dial within the country.
func phoneBeginnings(text, region string) []string {
	digits := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
	var beginning string
	switch {
	case strings.HasPrefix(text, "+"):
		return []string{"+" + digits}
	case strings.HasPrefix(digits, "00"):
		beginning = "+" + digits[2:]
	default:
		code, trunk := dialling(region)
		beginning = "+" + strconv.Itoa(code) + strings.TrimPrefix(digits, trunk)
	}
	if whole, _ := normalPhone(text, region); whole != "" && whole != beginning { // a region may have rules of its own
		return []string{whole, beginning}
	}
	return []string{beginning}
}

// cut is a text of at most so many bytes, in whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
