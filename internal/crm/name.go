package crm

import (
	"cmp"
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
	return PersonName{said(in.FirstName), said(in.MiddleName), said(in.LastName), said(in.Company),
		in.IsCompany != nil && *in.IsCompany}
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

// Contradicts tells whether two names cannot be those of one person. Case, accents and punctuation do not count; an
// initial stands for any name that begins with it; a name that is missing contradicts nothing, a middle name included.
// Everything else that differs does, a short form or a name by marriage too: two contacts for one person can be merged,
// and one contact for two people is hard to take apart.
func (n PersonName) Contradicts(other PersonName) bool {
	if n.isCompany() || other.isCompany() {
		return (n.String() != "" && other.String() != "") &&
			(n.isCompany() != other.isCompany() || joined(n.Company) != joined(other.Company))
	}
	return differ(n.given(), other.given()) || differ(lastWords(n.Last), lastWords(other.Last))
}

// Reads tells whether two names have the same words, though one of them may be taken for that of a person, and the
// other for that of a company.
func (n PersonName) Reads(other PersonName) bool {
	return n.String() != "" && joined(n.String()) == joined(other.String())
}

// OnlyByInitial tells whether the first name of one is an initial of the other's. That is enough for one email, and not
// for one phone, which the others at home have, too.
func (n PersonName) OnlyByInitial(other PersonName) bool {
	a, b := n.given(), other.given()
	return len(a) > 0 && len(b) > 0 && a[0] != b[0] && (IsInitial(a[0], b[0]) || IsInitial(b[0], a[0]))
}

// NameKeys are what tells that rows of a file which have no email or phone are about one person or company: the whole
// name with an external id, or with the ZIP code, and with the street, or alone where there is none of these. There are
// none without a name.
func (in *ContactInput) NameKeys() (keys []string) {
	name := in.PersonName()
	first, last := joined(name.First), joined(name.Last)
	switch {
	case name.isCompany():
		first, last = "", joined(name.Company)
	case first == "" && last == "":
		return nil
	}
	if name.isCompany() && last == "" {
		return nil
	}
	places := in.Places()
	if ids := in.IDKeys(); len(ids) > 0 {
		places = ids
	}
	if len(places) == 0 {
		places = []string{""}
	}
	for _, place := range places {
		keys = append(keys, "n:"+first+"\t"+last+"\t"+place)
	}
	return keys
}

// Places are the ZIP codes and streets of the input, as they are compared.
func (in *ContactInput) Places() []string {
	if in.Addresses == nil {
		return nil
	}
	return placesOf(*in.Addresses)
}

// SameAt tells whether the contact has the name of the input and one of its addresses, exactly: case, accents,
// punctuation and short words for streets do not count, and a street, a ZIP code or a city alone is none.
func (c *Contact) SameAt(in *ContactInput) bool {
	name, is := in.PersonName(), c.PersonName()
	if in.Addresses == nil || name.isCompany() != is.isCompany() || joined(name.String()) != joined(is.String()) ||
		name.String() == "" || Generation(said(in.Suffix)) != Generation(c.Suffix) {
		return false
	}
	places := func(a Address) string {
		return streetOf(a.Line1) + "\t" + streetOf(a.Line2) + "\t" + ShortZip(a.Zipcode) + "\t" + joined(a.City)
	}
	return slices.ContainsFunc(*in.Addresses, func(sent Address) bool {
		isOne := sent.Line1 != "" && sent.Zipcode+sent.City != "" || sent.Zipcode != "" && sent.City != ""
		return isOne && slices.ContainsFunc(c.Addresses, func(a Address) bool { return places(a) == places(sent) })
	})
}

// streetOf is a line of an address as it is compared: Rd. is Road.
func streetOf(line string) string {
	words := text.DistinctWords(line)
	for i, word := range words {
		words[i] = StreetWord(word)
	}
	return strings.Join(words, "")
}

// streetWords are words of streets as people shorten them. What follows an apt is the number of an apartment.
var streetWords = map[string]string{
	"street": "st", "str": "st", "strasse": "st", "avenue": "ave", "av": "ave", "avn": "ave", "road": "rd",
	"drive": "dr", "lane": "ln", "court": "ct", "place": "pl", "boulevard": "blvd",
	"circle": "cir", "circuit": "cct", "terrace": "ter", "parkway": "pkwy", "highway": "hwy", "square": "sq",
	"trail": "trl", "crescent": "cres", "close": "cl", "mount": "mt", "way": "wy",
	"north": "n", "south": "s", "east": "e", "west": "w", "northeast": "ne", "northwest": "nw", "southeast": "se",
	"southwest": "sw", "saint": "st",
	"apartment": "apt", "unit": "apt", "suite": "apt", "ste": "apt", "no": "apt", "number": "apt", "room": "apt",
	"floor": "apt", "fl": "apt", "fort": "ft", "heights": "hts", "route": "rte",
	"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th", "seventh": "7th",
	"eighth": "8th", "ninth": "9th", "tenth": "10th",
	"postfach": "box", "bp": "box",
}

// StreetWord is a word of a street as people shorten it.
func StreetWord(word string) string { return cmp.Or(streetWords[word], word) }

// LivesAt tells whether the contact has one of the places.
func (c *Contact) LivesAt(places []string) bool {
	return slices.ContainsFunc(placesOf(c.Addresses), func(place string) bool { return slices.Contains(places, place) })
}

func placesOf(addresses []Address) (places []string) {
	for i := range addresses {
		if zip := ShortZip(addresses[i].Zipcode); zip != "" {
			places = append(places, "z"+zip)
		}
		if street := joined(addresses[i].Line1); street != "" {
			places = append(places, "s"+street)
		}
	}
	return places
}

// ShortZip is the letters and digits of a ZIP code, without the four digits behind a code of the United States.
func ShortZip(zip string) string {
	const short, long = 5, 9
	if zip = joined(zip); len(zip) == long && text.Digits(zip) == zip {
		zip = zip[:short]
	}
	return zip
}

// given are the first and middle names. Those of a couple are one word, so that neither half of it is the couple.
func (n PersonName) given() []string {
	if IsCouple(n.First) {
		return []string{strings.Join(WithoutAnd(text.Words(n.First)), "&")}
	}
	return text.Words(n.First, n.Middle)
}

// IsCouple tells whether a first name is that of two people.
func IsCouple(first string) bool {
	return strings.ContainsAny(first, "&+") || slices.ContainsFunc(text.Words(first), isAnd)
}

// WithoutAnd leaves out the words between the first names of two people.
func WithoutAnd(words []string) []string { return slices.DeleteFunc(words, isAnd) }

func isAnd(word string) bool { return slices.Contains([]string{"and", "und", "et"}, plainWord(word)) }

// IsTitle tells a word of a name that is neither a first nor a last name: Mrs. and Dr.
func IsTitle(word string) bool { return slices.Contains(titles, plainWord(word)) }

// IsSuffix tells a word behind a last name that does not belong to it: Jr. and PhD.
func IsSuffix(word string) bool {
	return Generation(word) != "" || slices.Contains(degrees, plainWord(word))
}

// Generation is the suffix that tells a parent from a child, in its usual form; "" for any other word.
func Generation(word string) string { return generations[plainWord(word)] }

var (
	titles = []string{"mr", "mrs", "ms", "mx", "miss", "dr", "hon", "sir", "prof", "rev", "herr", "frau", "mme",
		"mlle", "monsieur", "madame", "sra", "srta", "dra", "pastor", "rabbi", "fr", "father", "sister", "brother",
		"capt", "col", "maj", "gen", "sgt", "judge", "eheleute", "familie", "family"}
	degrees     = []string{"phd", "md", "esq"}
	generations = map[string]string{"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr", "ii": "ii", "iii": "iii",
		"iv": "iv", "2nd": "ii", "3rd": "iii"}
)

func plainWord(word string) string { return strings.Trim(strings.ToLower(word), ".,") }

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
		if a[i] != b[i] && !IsInitial(a[i], b[i]) && !IsInitial(b[i], a[i]) {
			return true
		}
	}
	return false
}

// IsInitial tells whether a word is the first letter of another one. Where letters have no case, one of them is a whole
// name.
func IsInitial(letter, word string) bool {
	r, size := utf8.DecodeRuneInString(letter)
	return size == len(letter) && unicode.IsLower(r) && strings.HasPrefix(word, letter)
}
