package sheet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm"
)

// Systems of long ago keep names in capitals, and people who type on a phone have none. An import may write them as people do: JANE MCDONALD is Jane McDonald.

// settleCase writes the names of a person in the usual form where that was asked for, and else notes that they are not.
func (r *row) settleCase() {
	in := &r.contact
	for _, name := range []**string{&in.FirstName, &in.MiddleName, &in.LastName} {
		if *name == nil || !isUnusual(**name) {
			continue
		}
		usual := usualName(**name)
		if in.Unusual = in.Unusual || usual != **name && !r.usual; r.usual {
			*name = &usual
		}
	}
}

// isUnusual tells a name in capitals, or one without any. JP and an initial are written so.
func isUnusual(name string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) || unicode.IsLower(r) {
			return r
		}
		return -1
	}, name)
	n := utf8.RuneCountInString(letters)
	return n > 2 && (letters == strings.ToUpper(letters) || letters == strings.ToLower(letters)) && !strings.Contains(name, "@")
}

// usualName is a name as people write it.
func usualName(name string) string {
	words := strings.Fields(strings.ToLower(name))
	for i, word := range words {
		isJoined := slices.Contains([]string{"und", "and", "et", "y", "von", "vom", "zum", "zur"}, word)
		switch {
		case isJoined && len(words) > 1, i > 0 && isOneOf(word, particles) && word != "mc" && word != "mac" && word != "st" && word != "saint":
		case crm.Generation(word) != "" && strings.Trim(word, "i") == "", word == "iv":
			words[i] = strings.ToUpper(word)
		default:
			words[i] = capitalized(word)
		}
	}
	return strings.Join(words, " ")
}

// capitalized is a word with a capital where it begins, and behind a hyphen, an apostrophe and Mc: O'Neil, Jean-Pierre, McDonald.
func capitalized(word string) string {
	isFirst, before := true, ""
	return strings.Map(func(r rune) rune {
		was := isFirst
		isFirst = strings.ContainsRune("-'’.(/", r)
		if unicode.IsLetter(r) {
			before += string(r)
		} else {
			before = ""
		}
		if was || before == "mc"+string(r) && len(word) > len("mcxx") {
			return unicode.ToUpper(r)
		}
		return r
	}, word)
}
