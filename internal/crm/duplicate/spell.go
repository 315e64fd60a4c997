package duplicate

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// shortest is how many letters a word must have before it may be mistyped: nearly all shorter ones are one letter from
// each other.
const shortest = 4

// alphabets are the letters that a word may lack, by the script of its letters, folded. A word of another script is
// corrected by leaving out and exchanging letters.
var alphabets = []struct {
	script  *unicode.RangeTable
	letters string
}{
	{unicode.Latin, "abcdefghijklmnopqrstuvwxyz"},
	{unicode.Cyrillic, "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ"},
	{unicode.Greek, "αβγδεζηθικλμνξοπρστυφχψω"},
}

// Spellings are the words that a folded word may have been meant for: those that are one edit away, as isOneEdit tells,
// and the names by which someone of this first name may be called. Some hundred come back, most of which are no words.
func Spellings(word string) (all []string) {
	runes := []rune(word)
	if all = calls(word); len(runes) < shortest || len(word) > long || slices.ContainsFunc(runes, unicode.IsDigit) {
		runes = nil
	}
	for i := range runes {
		head, tail := string(runes[:i]), string(runes[i+1:])
		all = append(all, head+tail)
		if i+1 < len(runes) {
			all = append(all, head+string(runes[i+1])+string(runes[i])+string(runes[i+2:]))
		}
	}
	for _, letter := range lettersOf(runes) {
		for i := range runes {
			all = append(all, string(runes[:i])+string(letter)+string(runes[i:]),
				string(runes[:i])+string(letter)+string(runes[i+1:]))
		}
		all = append(all, word+string(letter))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(other string) bool { return other == word })
}

func lettersOf(word []rune) string {
	for _, a := range alphabets {
		if len(word) > 0 && unicode.Is(a.script, word[0]) {
			return a.letters
		}
	}
	return ""
}

// IsNear tells whether two folded words are one, but for typing errors.
func IsNear(a, b string) bool {
	return min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) >= shortest && isNear(a, b)
}
