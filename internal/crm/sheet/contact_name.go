package sheet

import (
	"slices"
	"strings"
	"unicode"

	"donorbook/internal/crm"
)

// Systems of long ago keep names in capitals, and people who type on a phone have none. An import may write them as people do: JANE MCDONALD is Jane McDonald.

// settleCase writes the names of a person in the usual form where that was asked for, and else notes that they are not.
func (r *row) settleCase() {
	in := &r.contact
	names := [...]**string{&in.FirstName, &in.MiddleName, &in.LastName}
	hasCapitals := false
	for _, name := range names {
		hasCapitals = hasCapitals || *name != nil && strings.ContainsFunc(**name, unicode.IsUpper)
	}
	for _, name := range names {
		if *name == nil || !isUnusual(**name, hasCapitals) {
			continue
		}
		usual := usualName(**name)
		if in.Unusual = in.Unusual || usual != **name && !r.usual; r.usual {
			*name = &usual
		}
	}
}

// isUnusual tells a name in capitals, or one without any, unless other parts of it have some: Okafor household. JP and an initial are written so.
func isUnusual(name string, hasCapitals bool) bool {
	capitals, small := 0, 0
	for _, r := range name {
		if unicode.IsUpper(r) {
			capitals++
		} else if unicode.IsLower(r) || r == '@' {
			small++
		}
	}
	return capitals > 2 && small == 0 || small > 2 && !hasCapitals && !strings.Contains(name, "@")
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
