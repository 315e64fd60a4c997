// Package text is what is written in one form and means another: names to search for, emails, phone numbers, amounts,
// days, countries, currencies and time zones, as people and files write them. It knows neither a document nor a fault.
package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// folding is what a search should not tell apart and Unicode's own foldings leave alone: letters with a stroke or
// a ligature that do not decompose, and the apostrophes of different keyboards.
var folding = map[rune]string{
	'ł': "l", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ı': "i", 'ħ': "h", 'ŧ': "t",
	'‘': "'", '’': "'", '‛': "'", 'ʼ': "'", 'ʻ': "'", 'ʹ': "'", '′': "'", '`': "'", '´': "'",
}

// Fold makes two spellings of one name the same text: Łukasz and lukasz, José and JOSE, Straße and strasse.
// It is for searching; what is shown is always what was sent.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ReplaceAll(strings.ToLower(s), "`", "'")
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.ReplaceAll(s, "´", "'") // it would decompose to a space
	s = bare(norm.NFKD.String(s))
	s = lower(s)
	return bare(norm.NFKD.String(s)) // folding brings a few letters back that decompose
}

// FoldCase makes capital and small letters the same, and é in one character the same as e with an accent after it.
func FoldCase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s) // no copy where nothing changes
	}
	return norm.NFC.String(lower(norm.NFD.String(s)))
}

// lower folds letters alone. What Unicode folds is put in small letters once more, because x/text exchanges the capital
// and small letters of Cherokee.
func lower(s string) string { return strings.ToLower(cases.Fold().String(s)) }

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// bare drops accents and invisible format characters, and applies our own foldings.
func bare(s string) string {
	if isASCII(s) {
		return strings.ReplaceAll(s, "`", "'")
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if plain, ok := folding[r]; ok {
			b = append(b, plain...)
		} else if !unicode.In(r, unicode.Mn, unicode.Cf) {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// Words are the distinct folded words of the texts, in order.
func Words(texts ...string) []string {
	var all []string
	for _, text := range texts {
		all = AppendWords(all, text)
	}
	return Distinct(all)
}

// DistinctWords are the folded words of a text: those of "Straße Nr. 5" are strasse, nr and 5.
func DistinctWords(text string) []string { return AppendWords(nil, text) }

// AppendWords adds the folded words of a text. A word is letters and digits. An apostrophe is dropped, because O'Brien
// is also typed OBrien; a hyphen splits, because people search for either half of Smith-Jones; so does everything else.
func AppendWords(found []string, text string) []string {
	return slices.AppendSeq(found, strings.FieldsFuncSeq(strings.ReplaceAll(Fold(text), "'", ""), IsBetweenWords))
}

// IsBetweenWords is false for marks as well: those left after folding are vowels, as in Hindi.
func IsBetweenWords(r rune) bool {
	if r < utf8.RuneSelf {
		return !isLetter(byte(r)) && !IsDigit(byte(r))
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// Digits are the digits in a text, and nothing else of it.
func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// Cut is a text of at most so many bytes, in whole characters.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// IsNamed tells whether a name in snake case was written as it is, or in camel case: created_after or createdAfter.
func IsNamed(written, name string) bool {
	if written == name {
		return true
	}
	n := 0
	for i := 0; i < len(name); i++ {
		letter := name[i]
		if letter == '_' && i+1 < len(name) {
			i++
			letter = name[i] &^ 0x20
		}
		if n == len(written) || written[n] != letter {
			return false
		}
		n++
	}
	return n == len(written)
}
