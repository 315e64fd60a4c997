package crm

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// googleSeparator stands between several values in a cell of an address book of Google.
const googleSeparator = ":::"

// splitEmails are the emails of a cell, which may be several.
func splitEmails(cell string) []string {
	if strings.Count(cell, "@") < 2 {
		return []string{cell}
	}
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(";,|: \t\r\n", r) })
}

// splitPhones are the phones of a cell. Numbers have spaces in them, so these separate nothing; nor does what stands before an extension.
func splitPhones(cell string) []string {
	phones := strings.FieldsFunc(strings.ReplaceAll(cell, googleSeparator, ";"), func(r rune) bool { return strings.ContainsRune(";,|\n", r) })
	for i, phone := range phones {
		phones[i] = strings.TrimSpace(phone)
		if digits := strings.FieldsFunc(phone, func(r rune) bool { return r < '0' || r > '9' }); len(strings.Join(digits, "")) < 5 {
			return []string{cell}
		}
	}
	return phones
}

// splitTags are the tags of a cell: separated by semicolons, or else by bars, or else by commas. A backslash keeps a separator in a tag, and so do
// quotes around it.
func splitTags(cell string) (tags []string) {
	cell = strings.ReplaceAll(cell, googleSeparator, ";")
	separator := byte(',')
	for _, other := range []byte{'|', ';'} {
		if strings.IndexByte(cell, other) >= 0 && len(cutTags(cell, other)) > 1 {
			separator = other
		}
	}
	for _, tag := range cutTags(cell, separator) {
		if tag != "" && tag != "* myContacts" { // a group that Google puts all contacts into
			tags = append(tags, tag)
		}
	}
	return tags
}

// cutTags cuts a cell at a separator.
func cutTags(cell string, separator byte) (tags []string) {
	var tag []byte
	quoted, escaped, kept := false, false, 0 // kept: what a backslash or quotes keep is not trimmed
	end := func() {
		text := string(tag)
		if kept == 0 {
			text = strings.TrimSpace(text)
		}
		tags, tag, kept = append(tags, text), nil, 0
	}
	for i := range len(cell) {
		c := cell[i]
		switch {
		case escaped:
			if c == 'n' {
				c = '\n'
			}
			tag, escaped = append(tag, c), false
		case c == '\\' && i+1 < len(cell) && strings.IndexByte(`\;,|n"*:`, cell[i+1]) >= 0:
			escaped = true
		case c == '"' && (quoted || len(strings.TrimSpace(string(tag))) == 0):
			quoted = !quoted
			if tag = tag[:len(tag):len(tag)]; quoted {
				tag = nil
			}
		case c == separator && !quoted:
			end()
		default:
			tag = append(tag, c)
		}
	}
	end()
	return tags
}

// emailType and phoneType are types as we call them, "" where the words tell none.
func emailType(words string) string {
	switch group := groupOf(words); group {
	case "home":
		return "personal"
	case "work":
		return "work"
	}
	return ""
}

func phoneType(words string) string {
	if group := groupOf(words); group == "home" || group == "work" || group == "cell" {
		return group
	}
	return ""
}

// groupOf is where a value belongs, by words such as "Work", "* Mobile" or "privat".
func groupOf(text string) (group string) {
	for _, word := range headingWords(text) {
		if meaning := headings[word]; meaning.group != "" && (group == "" || meaning.group == "cell") {
			group = meaning.group
		}
	}
	return group
}

// titles and particles are the words of a name that are neither a first nor a last name by themselves.
var (
	titles    = []string{"mr", "mrs", "ms", "miss", "dr", "prof", "rev", "herr", "frau", "mme", "mlle", "monsieur", "madame"}
	particles = []string{"van", "von", "vom", "zu", "zum", "zur", "der", "den", "de", "del", "della", "di", "da", "dos", "du", "des", "la", "le", "el", "al", "bin", "ibn", "ter", "ten", "st", "saint", "mac", "mc"}
	suffixes  = []string{"jr", "sr", "ii", "iii", "iv", "phd", "md", "esq"}
)

func isOneOf(word string, words []string) bool {
	return slices.Contains(words, strings.Trim(fold(word), ".,"))
}

// splitName makes a first and a last name of a full one: "Ana Lopez", "Lopez, Ana", "Dr. Ludwig van Beethoven".
func splitName(name string) (first, last string) {
	if last, first, found := strings.Cut(name, ","); found && !isOneOf(strings.TrimSpace(first), suffixes) {
		return strings.TrimSpace(first), strings.TrimSpace(last)
	}
	words := strings.Fields(name)
	for len(words) > 2 && isOneOf(words[0], titles) {
		words = words[1:]
	}
	from := len(words) - 1
	if from > 1 && isOneOf(words[from], suffixes) {
		from--
	}
	for from > 1 && isOneOf(words[from-1], particles) {
		from--
	}
	if from < 1 {
		return strings.Join(words, " "), ""
	}
	return strings.Join(words[:from], " "), strings.Join(words[from:], " ")
}

// isHousehold tells the name that Salesforce made up for a family from the name of a company.
func isHousehold(column, company string) bool {
	return plainName(column) == "accountname" && (strings.HasSuffix(fold(company), " household") || strings.HasSuffix(fold(company), " household account"))
}

// birthDay is a day as Validate takes it: m/d/Y. What is no day stays as it is, and a day without a year, which some systems keep, is "", since it is
// no date of birth.
func birthDay(text string, dayFirst bool) string {
	day, _, _ := strings.Cut(text, "T")
	day, _, _ = strings.Cut(strings.TrimSpace(day), " 00:00")
	if strings.Trim(day, "0-/. ") == "" || yearless.MatchString(day) {
		return ""
	}
	forms := []string{"2006-1-2", "2006/1/2", "20060102", "2.1.2006", "1/2/2006", "2/1/2006", "1-2-2006", "2-1-2006", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "2-Jan-2006"}
	if dayFirst {
		forms = append([]string{"2/1/2006", "2-1-2006"}, forms...)
	}
	for _, form := range forms {
		if firstSign(form) != firstSign(day) {
			continue // an attempt costs more than a look
		}
		if at, err := time.Parse(form, day); err == nil {
			return at.Format("1/2/2006")
		}
	}
	return text
}

// firstSign is the first character of a day that is no digit, 'a' for any letter.
func firstSign(day string) rune {
	for _, r := range day {
		switch {
		case unicode.IsLetter(r):
			return 'a'
		case r < '0' || '9' < r:
			return r
		}
	}
	return 0
}

// yearless is a birthday such as 01/31, 31.01. and --01-31.
var yearless = regexp.MustCompile(`^(\d{1,2}[/.-]\d{1,2}\.?|--\d\d-\d\d)$`)

// profileURL is the address of a profile, of which people also write the name alone.
func profileURL(text, site string) string {
	switch {
	case strings.Contains(text, "://"):
		return text
	case strings.Contains(text, "/"):
		return "https://" + text
	case strings.ContainsAny(text, " \t\n"):
		return text
	}
	return site + strings.TrimPrefix(text, "@")
}

// abroad is a phone number with its country code, where it is no number of the region but one of the country of the address.
func abroad(phone, country, region string) string {
	code := alpha2(country)
	if code == "" || code == region || strings.HasPrefix(phone, "+") {
		return phone
	}
	if _, ok := normalPhone(phone, region); ok {
		return phone
	}
	if number, local, ok := parsePhone(phone, code); ok && !local {
		return phonenumbers.Format(number, phonenumbers.INTERNATIONAL)
	}
	return phone
}

// splitAddress finds the parts of an address that is in one cell: parts are separated by two spaces, by line breaks or by commas, and the last ones are
// the country, the postal code, the state and the city. What cannot be told apart is its first line.
func splitAddress(text string) (a Address) {
	parts := cutAddress(text)
	pop := func() (last string) {
		last, parts = parts[len(parts)-1], parts[:len(parts)-1]
		return last
	}
	whole := strings.Join(strings.Fields(text), " ")
	if len(parts) < 3 {
		return Address{Line1: whole}
	}
	if _, ok := countryCode(parts[len(parts)-1]); ok && !isState(parts[len(parts)-1], parts) {
		a.Country = pop()
	}
	if words := strings.Fields(parts[len(parts)-1]); len(words) == 2 && isZip(words[1]) { // IL 62701
		parts = append(parts[:len(parts)-1], words...)
	}
	if len(parts) > 2 && isZip(parts[len(parts)-1]) {
		a.Zipcode = pop()
	}
	if _, ok := stateCode(parts[len(parts)-1]); ok && len(parts) > 2 {
		a.State = pop()
	}
	if a.Zipcode == "" && a.State == "" || len(parts) < 2 {
		return Address{Line1: whole}
	}
	a.City = pop()
	a.Line1, a.Line2 = parts[0], strings.Join(parts[1:], ", ")
	return a
}

// isState tells the state in "Springfield, CA" from a country.
func isState(last string, parts []string) bool {
	_, state := stateCode(last)
	return state && len(last) == 2 && !isZip(parts[len(parts)-2])
}

func cutAddress(text string) (parts []string) {
	separator := ","
	if strings.Contains(text, "  ") {
		separator = "  "
	} else if strings.Contains(text, "\n") {
		text, separator = strings.ReplaceAll(text, "\n", ","), ","
	}
	for _, part := range strings.Split(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// isZip tells a postal code by its digits.
func isZip(text string) bool {
	return len(text) >= 3 && len(text) <= 10 && strings.ContainsAny(text, "0123456789") && !strings.ContainsAny(text, ",.#")
}
