package crm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm/text"
)

// PersonName is what tells whether two records may be about the same person or company.
type PersonName struct {
	First, Middle, Last, Company string
	IsCompany                    bool // and may have the name of a person to write to
}

// PersonName is what the contact is called.
func (c *Contact) PersonName() PersonName {
	return PersonName{c.FirstName, c.MiddleName, c.LastName, c.Company, c.IsCompany}
}

// PersonName is what the input calls the contact.
func (in *ContactInput) PersonName() PersonName {
	said := func(text *string) string {
		if text == nil {
			return ""
		}
		return *text
	}
	return PersonName{said(in.FirstName), said(in.MiddleName), said(in.LastName), said(in.Company), in.IsCompany != nil && *in.IsCompany}
}

// String is the name in one line.
func (n PersonName) String() string {
	if n.isCompany() {
		return n.Company
	}
	return strings.Join(strings.Fields(n.First+" "+n.Middle+" "+n.Last), " ")
}

// isCompany tells the name of a company: one that is said to be one, or has no person.
func (n PersonName) isCompany() bool {
	return n.Company != "" && (n.IsCompany || n.First == "" && n.Last == "")
}

// Contradicts tells whether two names cannot be those of one person. Case, accents and punctuation do not count; an initial stands for any name that
// begins with it; a name that is missing contradicts nothing, a middle name included. Everything else that differs does, a short form or a name by marriage
// too: two contacts for one person can be merged, and one contact for two people is hard to take apart.
func (n PersonName) Contradicts(other PersonName) bool {
	if n.isCompany() || other.isCompany() {
		return (n.String() != "" && other.String() != "") && (n.isCompany() != other.isCompany() || joined(n.Company) != joined(other.Company))
	}
	return differ(n.given(), other.given()) || differ(lastWords(n.Last), lastWords(other.Last))
}

// given are the first and middle names. Those of a couple are one word, so that neither half of it is the couple.
func (n PersonName) given() []string {
	words := text.Words(n.First)
	one := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return slices.Contains(couples, word) })
	if len(one) < len(words) || strings.ContainsAny(n.First, "&+") {
		return []string{strings.Join(one, "&")}
	}
	return text.Words(n.First, n.Middle)
}

// couples are words between the first names of two people.
var couples = []string{"and", "und", "et"}

// lastWords is a last name as one word: a part of a double name is another name, and so is one with Jr.
func lastWords(last string) []string {
	if word := joined(last); word != "" {
		return []string{word}
	}
	return nil
}

func joined(name string) string { return strings.Join(text.DistinctWords(name), "") }

// differ tells whether words of a name are not those of another one. The one that has more may go on as it likes.
func differ(a, b []string) bool {
	if strings.Join(a, "") == strings.Join(b, "") { // Mary Ann and Maryann
		return false
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && !isInitial(a[i], b[i]) && !isInitial(b[i], a[i]) {
			return true
		}
	}
	return false
}

// isInitial tells whether a word is the first letter of another one. Where letters have no case, one of them is a whole name.
func isInitial(letter, word string) bool {
	r, size := utf8.DecodeRuneInString(letter)
	return size == len(letter) && unicode.IsLower(r) && strings.HasPrefix(word, letter)
}
