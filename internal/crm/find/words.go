package find

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/text"
)

// The search finds a contact by its words. What is more than a plain word begins with a sign that no plain word has, so
// that an email, a phone number and a tag can each be asked for by themselves.
const (
	domainSign   = "@" // of an email
	phoneSign    = "+" // E.164
	phoneEndSign = "~" // the same digits backward, so that the end of a number is the beginning of a word
	tagSign      = "#" // the folded name
	exactTagSign = "=" // the name to the letter
	emailSign    = "-"
	// what contacts are filtered by, and no search: a whole first name, a ZIP code, the value of a custom field, common
	// words, a day of birth and a house
	filterSign = "."
)

const (
	maxWord = 300 // bytes of a word; people are told apart long before
)

// WordsVersion counts the changes of SearchWords and SortName, of match keys, and of what else the store derives from
// contacts. A database whose words are of another version gets all of them anew when it is opened.
const WordsVersion = 9

// SearchWords are the words under which the search finds the contact, sorted and distinct. They depend on the contact
// alone.
func SearchWords(c *crm.Contact) []string {
	found := make([]string, 0, 32)
	if !c.IsCompany {
		found = append(found, firstNameWord(c.FirstName))
	}
	for _, value := range [...]string{c.FirstName, c.MiddleName, c.LastName, c.Company} {
		found = text.AppendWords(found, value)
	}
	for _, a := range c.Addresses {
		for _, written := range [...]string{a.City, a.State, a.Zipcode} {
			found = text.AppendWords(found, written)
		}
		if word := zipWord(a.Zipcode); word != "" {
			found = append(found, word)
		}
	}
	for _, name := range c.Tags {
		found = append(text.AppendWords(found, name), tagSign+text.Fold(name), exactTagSign+name)
	}
	for _, e := range c.Emails {
		email := text.FoldEmail(e.Value)
		found = append(found, emailSign+email)
		if _, domain, ok := strings.Cut(email, "@"); ok {
			found = append(found, domainSign+domain)
		}
	}
	for _, number := range c.PhoneDigits() {
		found = append(found, phoneSign+number, phoneEndSign+reversed(number))
	}
	for _, id := range c.ExternalIDs {
		found = text.AppendWords(found, id.Value)
	}
	for _, v := range c.Custom { // what is no text is not looked for; a date is one
		if typed, ok := v.Quoted(); ok {
			found = text.AppendWords(found, typed)
		}
		if word, common := fieldValueWord(v.Field, v.Text()); !common {
			found = append(found, word)
		}
	}
	plain := len(found)
	found = duplicate.AppendWords(found, c)
	for i := plain; i < len(found); i++ {
		found[i] = filterSign + found[i]
	}
	for i := range found {
		found[i] = searchWord(found[i])
	}
	return crm.SortedKeys(found)
}

// CommonWords are what many contacts may have together: marks, cities, the beginnings of ZIP codes, custom fields with
// a value, and values that are one of a few. They are sorted and distinct. No search finds them: the contacts of each
// are a set, since an index of words hands out contacts one by one.
func CommonWords(c *crm.Contact) []string {
	words := make([]string, 0, 4)
	add := func(word string) {
		if word != "" {
			words = append(words, word)
		}
	}
	for _, mark := range c.Marked() {
		add(markWord(mark))
	}
	for i := range c.Addresses {
		add(cityWord(c.Addresses[i].City))
		add(zipArea(zipWord(c.Addresses[i].Zipcode)))
	}
	for _, v := range c.Custom {
		add(FieldWord(v.Field))
		if word, common := fieldValueWord(v.Field, v.Text()); common {
			add(word)
		}
	}
	return crm.SortedKeys(words)
}

// InputCommonWords are those of what was sent.
func InputCommonWords(in *crm.ContactInput) []string {
	var c crm.Contact
	if in.Addresses != nil {
		c.Addresses = *in.Addresses
	}
	c.Custom = in.CustomValues()
	words := CommonWords(&c)
	marked, _ := in.Marked()
	for _, mark := range marked {
		words = append(words, markWord(mark))
	}
	return words
}

const (
	shortValue  = 4  // letters of a value of which there cannot be many
	commonValue = 40 // of what is called by a name, such as a kind of member
)

func isCommon(value string) bool {
	return !doc.IsLonger(value, shortValue) || !doc.IsLonger(value, commonValue) &&
		!strings.ContainsFunc(value, unicode.IsDigit)
}

// FieldWord is the common word of contacts that have any value in a custom field.
func FieldWord(id int64) string { return filterSign + "f" + strconv.FormatInt(id, 10) }

// fieldValueWord is a value as contacts are filtered by it, without regard to letter case and marks. It is common where
// the value looks like one of a few: short, or letters alone. What has digits is mostly a number, a date or a code, of
// which there are many.
func fieldValueWord(id int64, value string) (word string, common bool) {
	value = text.Fold(strings.TrimSpace(value))
	return searchWord(FieldWord(id) + "=" + value), isCommon(value)
}

// TellCommonWord says what a common word means, as far as it can be told; "" is no common word.
func TellCommonWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if r >= privateUse && breaksWord(r-privateUse) {
			return r - privateUse
		}
		return r
	}, word)
	for _, kind := range [...]struct{ sign, name string }{{"c", "city "}, {"z", "ZIP code "}, {"f", "custom field "},
		{"m", "marked as "}} {
		if text, ok := strings.CutPrefix(word, filterSign+kind.sign); ok {
			return kind.name + text
		}
	}
	return ""
}

// markWord is a mark of contacts.
func markWord(mark string) string { return filterSign + "m" + mark }

// firstNameWord is a whole first name as contacts are filtered by it, without regard to letter case and marks.
func firstNameWord(name string) string { return searchWord(filterSign + "n" + text.Fold(name)) }

// cityWord is a city as contacts are filtered by it, without regard to letter case and marks; "" is none.
func cityWord(city string) string { return text.Cut(string(appendCity(nil, city)), maxWord) }

// zipWord is the letters and digits of a ZIP code as contacts are filtered by it; "" is none.
func zipWord(zip string) string { return text.Cut(string(appendZip(nil, zip)), maxWord) }

// zipArea is the beginning of a ZIP code: the word of all codes that begin so, which are those of a region.
func zipArea(word string) string { return text.Cut(word, maxArea) }

const maxArea = len(filterSign+"z") + 3 // digits

func appendCity(b []byte, city string) []byte {
	if city = text.Fold(strings.TrimSpace(city)); city == "" {
		return b
	}
	b = append(b, filterSign+"c"...)
	for _, r := range city {
		if breaksWord(r) {
			r += privateUse
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

func appendZip(b []byte, zip string) []byte {
	none := b
	b = append(b, filterSign+"z"...)
	start := len(b)
	for _, r := range text.Fold(zip) {
		if !text.IsBetweenWords(r) {
			b = utf8.AppendRune(b, r)
		}
	}
	if len(b) == start {
		return none
	}
	return b
}

func reversed(digits string) string {
	b := []byte(digits)
	slices.Reverse(b)
	return string(b)
}

// searchWord makes one word of a text, as every full-text index takes it: small letters, digits, a few signs and what
// lies beyond ASCII. A space would end a word, and an index may make capital letters small; characters that no text has
// stand for those.
func searchWord(value string) string {
	if strings.IndexFunc(value, breaksWord) >= 0 {
		value = strings.Map(func(r rune) rune {
			if breaksWord(r) {
				return privateUse + r
			}
			return r
		}, value)
	}
	return text.Cut(value, maxWord) // at last, so that a word is its own word
}

func breaksWord(r rune) bool {
	if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r >= utf8.RuneSelf {
		return false
	}
	switch r {
	case '@', '.', '#', '+', '~', '=', '-':
		return false
	}
	return true
}

// privateUse is where Unicode has characters that mean nothing by themselves.
const privateUse = 0xF800

// WordSpace stands before every word of an account's contacts, always of one length: so no search meets the words of
// another account.
func WordSpace(account int64) string {
	number := strconv.FormatInt(account, 36)
	return strings.Repeat("0", max(0, 7-len(number))) + number
}

// SearchDocument is what a database indexes for one contact of an account: its words in their space.
func SearchDocument(c *crm.Contact, account int64) string {
	space := WordSpace(account)
	b := make([]byte, 0, 512)
	for i, word := range SearchWords(c) {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, space...), word...)
	}
	return string(b)
}

// SortName is what contacts are sorted by in the order of their names: the last name, then the first, without regard to
// letter case and marks. A company comes by its name, after people whose last name that is: it is in no range of last
// names.
func SortName(c *crm.Contact) string {
	if c.IsCompany {
		return text.Cut(sortable(c.Company)+afterNames, maxSortName)
	}
	return nameRange(c.LastName, c.FirstName).From
}

const (
	// maxSortName bounds it, in bytes; names that agree so far are in the order of their ids.
	maxSortName = 200

	// betweenNames comes before everything that a sort name holds.
	betweenNames = "\x01"
	afterNames   = "\x02"
)

// LastSortName is after all sort names, which are shorter.
var LastSortName = strings.Repeat("\U0010FFFF", maxSortName)

// sortable is a name as it is sorted by.
func sortable(name string) string {
	return strings.ReplaceAll(text.Fold(name), betweenNames, afterNames)
}

// nameRange is the sort names of all contacts with a last name, and with a first name where that is not "". Of names
// that are longer than what is sorted by, there may be others in it.
func nameRange(last, first string) crm.KeyRange {
	name := sortable(last) + betweenNames
	if first = sortable(first); first == "" {
		return crm.KeyRange{From: text.Cut(name, maxSortName), To: name + LastSortName}
	}
	name = text.Cut(name+first, maxSortName)
	return crm.KeyRange{From: name, To: name}
}
