package crm

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CreateMode says what a create does about a match: a contact that shares an email or a phone.
type CreateMode int

const (
	Dedupe    CreateMode = iota // merge into the match, where there is one
	Force                       // always make a new contact
	MergeSeen                   // merge into the match that the input's SeenMatch names, and into no other
	KeepSeen                    // make a new contact beside the match that SeenMatch names, and beside no other
)

// Matched is a create or a change that a person has to decide about first: its emails or phones are those of another contact.
type Matched struct{ Contact Contact }

func (m *Matched) Error() string { return "another contact has this email or phone" }

// MergesInto tells whether a create is merged into its match, which is nil where there is none. A match that the person has
// not seen as it is now is *Matched.
func (in *ContactInput) MergesInto(match *Contact, mode CreateMode) (bool, error) {
	switch {
	case match == nil && mode == MergeSeen:
		return false, ErrChanged
	case match == nil || mode == Force:
		return false, nil
	case mode == Dedupe:
		return true, nil
	}
	return mode == MergeSeen, in.CheckSeen(match)
}

// CheckSeen is *Matched where the input was not decided about this match as it is now.
func (in *ContactInput) CheckSeen(match *Contact) error {
	if in.SeenMatch != match.Snapshot() {
		return &Matched{*match}
	}
	return nil
}

// ParseForceCreate reads the query parameter force_create; an absent one is Dedupe.
func ParseForceCreate(value string, sent bool) (CreateMode, error) {
	switch {
	case !sent, value == "false", value == "0":
		return Dedupe, nil
	case value == "true", value == "1":
		return Force, nil
	}
	return Dedupe, invalid("force_create", "The force_create field must be true, 1, false or 0.")
}

// The kinds of index keys. The first two are match keys.
const (
	emailPrefix   = "e:"
	phonePrefix   = "p:"
	tagPrefix     = "t:"
	namePrefix    = "n:"
	companyPrefix = "c:"
)

// MatchKeys are the normal forms by which this input finds the person it is about, those of emails first.
func (in *ContactInput) MatchKeys() []string {
	return withoutEmpty(slices.Concat(in.emailKeys, in.phoneKeys))
}

// AddedKeys are the match keys that the contact does not have yet.
func (in *ContactInput) AddedKeys(c Contact) []string {
	return slices.DeleteFunc(in.MatchKeys(), func(key string) bool { return slices.Contains(c.MatchKeys, key) })
}

// Shared are the emails and the phones of the input that the contact has too, as the input writes them.
func (in *ContactInput) Shared(c Contact) (emails, phones []string) {
	has := func(key string) bool { return key != "" && slices.Contains(c.MatchKeys, key) }
	for i, key := range in.emailKeys {
		if has(key) {
			emails = append(emails, (*in.Emails)[i].Value)
		}
	}
	for i, key := range in.phoneKeys {
		if has(key) {
			phones = append(phones, (*in.Phones)[i].Value)
		}
	}
	return emails, phones
}

// NameRange is a range of index keys in which everybody of the same name has one; ok is false where the name has no word to
// find it by.
func (in *ContactInput) NameRange() (names KeyRange, ok bool) {
	if in.FirstName == nil || in.LastName == nil {
		return KeyRange{}, false
	}
	all := words(*in.FirstName, *in.LastName)
	for _, lead := range slices.Concat(words(*in.LastName), all) {
		return startingWith(nameKey(namePrefix, lead, all)), true
	}
	return KeyRange{}, false
}

// SplitMatchKeys tells the keys of emails from those of phones.
func SplitMatchKeys(keys []string) (emails, phones []string) {
	at := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, phonePrefix) })
	if at < 0 {
		at = len(keys)
	}
	return keys[:at], keys[at:]
}

// Closer tells whether the input, which shares a match key with both, is rather about a than about b: an email match beats
// a phone match, then the same first and last name, then the lowest id.
func (in *ContactInput) Closer(a, b Contact) bool {
	if am, bm := in.sharesEmail(a), in.sharesEmail(b); am != bm {
		return am
	}
	if an, bn := in.SameName(a), in.SameName(b); an != bn {
		return an
	}
	return a.ID < b.ID
}

func (in *ContactInput) sharesEmail(c Contact) bool {
	return slices.ContainsFunc(in.emailKeys, func(key string) bool { return containsSorted(c.MatchKeys, key) })
}

// SameName compares first and last name without regard to case and marks.
func (in *ContactInput) SameName(c Contact) bool {
	return in.FirstName != nil && in.LastName != nil &&
		fold(*in.FirstName) == fold(c.FirstName) && fold(*in.LastName) == fold(c.LastName)
}

func containsSorted(keys []string, key string) bool {
	_, found := slices.BinarySearch(keys, key)
	return found
}

// addMatchKey adds a key and tells whether it was new. Match keys are kept sorted: equal sets are equal lists.
func (c *Contact) addMatchKey(key string) bool {
	at, known := slices.BinarySearch(c.MatchKeys, key)
	if !known {
		c.MatchKeys = slices.Insert(c.MatchKeys, at, key)
	}
	return !known
}

// replaceMatchKeys replaces the keys of one kind.
func (c *Contact) replaceMatchKeys(prefix string, keys []string) {
	kept := slices.DeleteFunc(slices.Clone(c.MatchKeys), func(key string) bool { return strings.HasPrefix(key, prefix) })
	c.MatchKeys = append(kept, withoutEmpty(keys)...)
	slices.Sort(c.MatchKeys)
}

// withoutEmpty leaves out the keys of values that tell nobody apart.
func withoutEmpty(keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" })
}

// IndexKeys are all the keys under which the contact can be found: e: emails, p: phones, t: tags, n: names and c: companies (see NameKeys).
// They depend on the contact alone, are sorted and distinct.
func (c *Contact) IndexKeys() []string {
	return sortedKeys(slices.Concat(c.MatchKeys, c.tagKeys(), c.NameKeys()))
}

func sortedKeys(keys []string) []string {
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (c *Contact) tagKeys() []string {
	keys := make([]string, 0, len(c.Tags))
	for _, name := range c.Tags {
		keys = append(keys, tagPrefix+name)
	}
	return keys
}

// maxNameKey bounds a name's key, in bytes: people are told apart long before.
const maxNameKey = 400

// NameKeys are the keys of the contact's names (n:) and company (c:), one for each word. After a word of the name stand all the
// others, so everybody whose name begins with what was typed, be it "maria", "maria sm" or "smith mar", has keys side by side.
// After a word of the company stands the rest of the company alone: so colleagues share their keys, which are written to the
// same place of the index. A middle initial has no key of its own: it tells nobody apart.
func (c *Contact) NameKeys() []string {
	names, middle, company := words(c.FirstName, c.LastName), words(c.MiddleName), words(c.Company)
	all := distinct(slices.Concat(names, middle, company))
	if len(names) > 0 {
		middle = slices.DeleteFunc(middle, isInitial)
	}
	names = distinct(append(names, middle...))
	keys := make([]string, 0, len(all))
	for _, word := range names {
		keys = append(keys, nameKey(namePrefix, word, all))
	}
	for _, word := range company {
		if !slices.Contains(names, word) {
			keys = append(keys, nameKey(companyPrefix, word, company))
		}
	}
	return sortedKeys(keys) // what differs beyond the bound only is one key
}

// isInitial tells whether a word is one letter of an alphabet, as in J. Smith.
func isInitial(word string) bool {
	letter, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.ToUpper(letter) != letter
}

// nameKey is the key of one of the words.
func nameKey(prefix, lead string, all []string) string {
	key := append(append(make([]byte, 0, 100), prefix...), lead...)
	for _, word := range all {
		if len(key) >= maxNameKey {
			break
		}
		if word != lead {
			key = append(append(key, ' '), word...)
		}
	}
	return cut(string(key), maxNameKey)
}

// AllNames is the range of the keys of all names.
func AllNames() KeyRange { return startingWith(namePrefix) }

// KeyChange are the index keys that a contact loses and gains by a change. Those of a kind that it leaves alone are not even
// worked out.
func KeyChange(from, to *Contact) (gone, added []string) {
	var old, new []string
	if !slices.Equal(from.MatchKeys, to.MatchKeys) {
		old, new = append(old, from.MatchKeys...), append(new, to.MatchKeys...)
	}
	if !slices.Equal(from.Tags, to.Tags) {
		old, new = append(old, from.tagKeys()...), append(new, to.tagKeys()...)
	}
	if from.named() != to.named() {
		old, new = append(old, from.NameKeys()...), append(new, to.NameKeys()...)
	}
	return keyDifference(sortedKeys(old), sortedKeys(new))
}

// named is everything that NameKeys are made of.
func (c *Contact) named() [4]string {
	return [...]string{c.FirstName, c.MiddleName, c.LastName, c.Company}
}

// keyDifference compares two sorted lists of index keys.
func keyDifference(old, new []string) (gone, added []string) {
	for len(old) > 0 || len(new) > 0 {
		switch {
		case len(new) == 0 || len(old) > 0 && old[0] < new[0]:
			gone, old = append(gone, old[0]), old[1:]
		case len(old) == 0 || new[0] < old[0]:
			added, new = append(added, new[0]), new[1:]
		default:
			old, new = old[1:], new[1:]
		}
	}
	return gone, added
}

// WithEmailKeys is the contact with the match keys of its emails worked out anew. Those of phones stay as they are: they depend on
// the country that was set when a number came in.
func (c Contact) WithEmailKeys() Contact {
	keys := make([]string, 0, len(c.Emails))
	for _, email := range c.Emails {
		key, ok := normalEmail(email.Value)
		if !ok { // it was accepted by other rules
			return c
		}
		keys = append(keys, emailPrefix+key)
	}
	c.replaceMatchKeys(emailPrefix, keys)
	c.MatchKeys = slices.Compact(c.MatchKeys)
	return c
}
