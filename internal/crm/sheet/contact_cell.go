package sheet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
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

// joinTags is tags in one cell. What an import may take for a separator within a tag is written behind a backslash.
func joinTags(tags []string) string {
	joined := make([]string, len(tags))
	for i, tag := range tags {
		joined[i] = tagEscapes.Replace(tag)
	}
	return strings.Join(joined, "; ")
}

var tagEscapes = strings.NewReplacer(`\`, `\\`, `;`, `\;`, `,`, `\,`, `|`, `\|`, `"`, `\"`, ":::", `\:\:\:`, "* ", `\* `, "\n", `\n`)

// groupOf is where a value belongs, by words such as "Work", "* Mobile" or "privat".
func groupOf(text string) (group string) {
	for _, word := range headingWords(text) {
		if vocabulary[word] == "cell" {
			return "cell"
		}
		group = cmp.Or(group, places[vocabulary[word]])
	}
	return group
}

// places are where emails and phones are, by the meanings of words.
var places = map[string]string{"landline": "home", "home": "home", "work": "work", "company": "work", "employer": "work"}

// particles are words that a last name begins with.
var particles = []string{"van", "von", "vom", "zu", "zum", "zur", "der", "den", "de", "del", "della", "di", "da", "dos", "du", "des", "la", "le", "el", "al", "bin", "ibn", "ter", "ten", "st", "saint", "mac", "mc"}

func isOneOf(word string, words []string) bool {
	return slices.Contains(words, strings.Trim(strings.ToLower(word), ".,"))
}

// splitPrefix takes the titles that a name, or the first name behind a comma, begins with: "Mr. and Mrs. Paul Greene", "M. et Mme Martin".
func splitPrefix(name string) (prefix, rest string) {
	if last, first, found := strings.Cut(name, ","); found && !crm.IsSuffix(strings.TrimSpace(first)) { // Kay, Dr. & Mrs. Alan
		prefix, first = splitPrefix(strings.TrimSpace(first))
		if prefix == "" && isPrefix(first) {
			prefix, first = first, ""
		}
		return prefix, strings.TrimSuffix(last+", "+first, ", ")
	}
	words := strings.Fields(name)
	isTitle := func(i int) bool {
		return crm.IsTitle(words[i]) || isMonsieur(words[i]) && i+2 < len(words) && crm.IsCouple(words[i+1]) && crm.IsTitle(words[i+2])
	}
	n := 0
	for n < len(words)-1 && (isTitle(n) || n > 0 && crm.IsCouple(words[n]) && isTitle(n+1) && n+2 < len(words)) {
		n++
	}
	return strings.Join(words[:n], " "), strings.Join(words[n:], " ")
}

// Words of companies: those that no person is called, and those that are names of people, too.
var (
	companyWords = strings.Fields("of sons charitable charities kiwanis sparkasse volksbank kirchengemeinde pfarrgemeinde mairie ayuntamiento inc incorporated llc llp ltd limited corp corporation company gmbh ag kg ohg ug ev ggmbh foundation fondation fundacion stiftung verein ministries ministry association associates society university institute sarl sas eurl club rotary committee council nonprofit enterprises industries holdings restaurant agency verband gemeinde ngo asbl asociacion sl slu srl bv")
	perhapsWords = strings.Fields("church bank trust fund group center centre school college hospital museum library parish temple partners co bau services solutions studio market farm farms store shop")
)

// isCompanyName tells the name of a company from that of a person, by its words.
func isCompanyName(name string) bool {
	if prefix, _ := splitPrefix(name); prefix != "" || strings.Contains(name, ",") && !crm.IsSuffix(name) && strings.Count(name, " ") < 2 {
		return false
	}
	words := text.DistinctWords(strings.ReplaceAll(name, ".", ""))
	has := func(list []string) bool {
		return len(words) > 1 && slices.ContainsFunc(words, func(word string) bool { return slices.Contains(list, word) })
	}
	return has(companyWords) || has(perhapsWords) && len(words) > 2
}

// isCompanyInTwo tells the name of a company of which a form has taken the last word for a last name: Harbor Rotary, Club. People have last names such as Church and Bank.
// Where one of the two is missing, the other one is the whole name.
func isCompanyInTwo(first, last *string) bool {
	if first == nil || last == nil {
		return isCompanyName(*cmp.Or(first, last))
	}
	words := text.DistinctWords(strings.ReplaceAll(*last, ".", ""))
	return len(words) > 0 && slices.Contains(companyWords, words[len(words)-1]) && isCompanyName(*first+" "+*last)
}

// withComma writes a name whose column has the last name first, DUPONT Jean, as people do elsewhere: DUPONT, Jean. The last name is in capitals, or else one word.
func withComma(name string) string {
	words := strings.Fields(name)
	n := 0
	for n < len(words) && words[n] == strings.ToUpper(words[n]) {
		n++
	}
	if n == len(words) {
		n = 1
	}
	if prefix, _ := splitPrefix(name); len(words) < 2 || strings.Contains(name, ",") || prefix != "" || isCompanyName(name) {
		return name
	}
	return strings.Join(words[:max(n, 1)], " ") + ", " + strings.Join(words[max(n, 1):], " ")
}

// splitName makes a first and a last name of a full one: "Ana Lopez", "Lopez, Ana", "Dr. Ludwig van Beethoven".
func splitName(name string) (first, last string) {
	if last, first, found := strings.Cut(name, ","); found && !crm.IsSuffix(strings.TrimSpace(first)) {
		first, last = strings.TrimSpace(first), strings.TrimSpace(last)
		if at := strings.LastIndex(first, " "); at > 0 && crm.IsSuffix(first[at+1:]) { // Quill, Roy Jr.
			first, last = first[:at], last+first[at:]
		}
		return first, last
	}
	words := strings.Fields(name)
	for len(words) > 2 && crm.IsTitle(words[0]) {
		words = words[1:]
	}
	from := len(words) - 1
	if from > 1 && crm.IsSuffix(words[from]) {
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

// withoutHousehold leaves out the name that Salesforce made up for a family, and that is no company.
func withoutHousehold(c *cell, company string) string {
	name := strings.TrimSuffix(strings.ToLower(company), " account")
	if plainName(c.name) == "accountname" && strings.HasSuffix(name, " household") {
		return ""
	}
	return company
}

// readBirthDay takes a day of birth. Of a year with two digits, no one is born in the future, and someone may want to look at it. What is no day stays as it is, and so does a day without a
// year, which some systems keep: it is listed as left out.
func readBirthDay(r *row, c *cell, value string) {
	if strings.Trim(value, "0-/.:TZ ") == "" {
		return
	}
	day := value
	for _, dayFirst := range []bool{c.dayFirst, !c.dayFirst} {
		m, ok := text.ReadMoment(value, dayFirst)
		if !ok {
			continue
		}
		isShort := !strings.Contains(value, strconv.Itoa(m.At.Year()))
		if isShort && m.At.After(time.Now()) {
			m.At = m.At.AddDate(-100, 0, 0)
		}
		if day = m.At.Format(time.DateOnly); isShort && !isSerial(value) {
			r.contact.ReadAs = append(r.contact.ReadAs, crm.LeftOut{Column: c.name, Value: value, Reason: "is read as " + day})
		}
		break
	}
	setText(&r.contact, "dob", day)
}

// isSerial tells the number by which a workbook has a day.
func isSerial(value string) bool { return strings.Trim(value, "0123456789.") == "" }

// profileOn makes the address of a profile on a site, of which people also write the name alone.
func profileOn(site string) func(*cell, string) string {
	return func(_ *cell, text string) string {
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
}

// splitAddress finds the parts of an address that is in one cell: parts are separated by two spaces, by line breaks or by commas, and the last ones are
// the country, the postal code, the state and the city. What cannot be told apart is its first line.
func splitAddress(value string) (a crm.Address) {
	parts := cutAddress(value)
	pop := func() (last string) {
		last, parts = parts[len(parts)-1], parts[:len(parts)-1]
		return last
	}
	whole := strings.Join(strings.Fields(value), " ")
	if len(parts) < 3 {
		return crm.Address{Line1: whole}
	}
	if _, ok := text.FindCountry(parts[len(parts)-1]); ok && !isState(parts[len(parts)-1], parts) {
		a.Country = pop()
	}
	if code, zip, found := strings.Cut(parts[len(parts)-1], " "); found && isZip(zip) { // IL 62701, ON M5H 1A1
		if _, known := text.FindState(code); known || !strings.Contains(zip, " ") {
			parts = append(parts[:len(parts)-1], code, zip)
		}
	}
	if len(parts) > 2 && isZip(parts[len(parts)-1]) {
		a.Zipcode = pop()
	}
	if _, ok := text.FindState(parts[len(parts)-1]); ok && len(parts) > 2 {
		a.State = pop()
	}
	if a.Zipcode == "" && a.State == "" || len(parts) < 2 {
		return crm.Address{Line1: whole}
	}
	a.City = pop()
	a.Line1, a.Line2 = parts[0], strings.Join(parts[1:], ", ")
	return a
}

// isState tells the state in "Springfield, CA" from a country.
func isState(last string, parts []string) bool {
	_, state := text.FindState(last)
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

// fieldsOf are the words of a text that may be missing.
func fieldsOf(text *string) []string {
	if text == nil {
		return nil
	}
	return strings.Fields(*text)
}
