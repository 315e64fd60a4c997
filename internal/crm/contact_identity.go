package crm

import (
	"encoding/json"
	"io"
	"iter"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Identity is what a person is known by. It finds texts that name an erased person where no contact's id stands beside:
// rows of files, filters that were saved.
type Identity struct {
	Contact int64    `json:"contact"`
	First   []string `json:"first,omitempty"` // names, also those that they had before
	Last    []string `json:"last,omitempty"`
	Emails  []string `json:"emails,omitempty"`
	Phones  []string `json:"phones,omitempty"`  // digits
	Details []string `json:"details,omitempty"` // companies and addresses, which gifts repeat
	// what merges have brought that were undone since: it is what other people are known by
	Others []string `json:"others,omitempty"`
}

// maxIdentity is how many names, emails and phones of each kind are looked for.
const maxIdentity = 200

// Identity is what a contact is known by.
func (c *Contact) Identity() Identity {
	i := Identity{Contact: c.ID, Phones: c.PhoneDigits()}
	i.add(&i.First, c.FirstName)
	i.add(&i.Last, c.LastName)
	if c.IsCompany { // its name is both
		i.add(&i.First, c.Company)
		i.add(&i.Last, c.Company)
	}
	i.add(&i.Details, c.Company)
	for n := range c.Addresses {
		i.add(&i.Details, c.Addresses[n].normal())
	}
	for _, e := range c.Emails {
		i.add(&i.Emails, text.FoldEmail(e.Value))
	}
	i.add(&i.Emails, text.FoldEmail(c.BouncedEmail))
	for _, key := range c.MatchKeys {
		if email, ok := strings.CutPrefix(key, EmailPrefix); ok {
			i.add(&i.Emails, email)
		}
	}
	return i
}

func (i *Identity) add(to *[]string, text string) {
	if text != "" && !slices.Contains(*to, text) && len(*to) < maxIdentity {
		*to = append(*to, text)
	}
}

// Learn adds what the person was known by before a change.
func (i *Identity) Learn(change doc.Differences) {
	for _, d := range change {
		var to *[]string
		switch d.Field {
		case "first_name":
			to = &i.First
		case "last_name":
			to = &i.Last
		case "emails":
			to = &i.Emails
		case "phones":
			to = &i.Phones
		case "company", "addresses":
			to = &i.Details
		}
		for _, known := range knownBy(d.Field, d.Before, d.Out) {
			if !slices.Contains(i.Others, known) {
				i.add(to, known)
			}
		}
	}
}

// LearnOthers notes what a merge has brought that was undone since. It has to come before what the person was known by
// before that.
func (i *Identity) LearnOthers(merge doc.Differences) {
	for _, d := range merge {
		for _, known := range knownBy(d.Field, d.After, d.In) {
			i.add(&i.Others, known)
		}
	}
}

// knownBy is what one side of a difference says that a person is known by.
func knownBy(field string, value json.RawMessage, elements []json.RawMessage) (all []string) {
	switch field {
	case "first_name", "last_name", "company":
		return []string{textIn(value)}
	case "addresses":
		for _, element := range elements {
			a := addressIn(element)
			all = append(all, a.normal())
		}
	case "emails":
		for _, email := range elements {
			all = append(all, text.FoldEmail(valueIn(email)))
		}
	case "phones":
		for _, phone := range elements {
			if digits := text.Digits(valueIn(phone)); len(digits) >= minNamingPhone {
				all = append(all, digits)
			}
		}
	}
	return all
}

func textIn(value json.RawMessage) (text string) {
	_ = json.Unmarshal(value, &text) // null is none
	return text
}

func valueIn(element json.RawMessage) string {
	var one struct{ Value string }
	_ = json.Unmarshal(element, &one)
	return one.Value
}

// Repeats tells whether a text has an address or a company of the person that others do not say.
func (i *Identity) Repeats(said, others string) bool {
	squeeze := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || r == '\u200b' {
				return -1
			}
			return caseless(r)
		}, text)
	}
	said, others = squeeze(said), squeeze(others)
	for _, detail := range i.Details {
		for part := range strings.SplitSeq(squeeze(detail), "\x00") {
			if len(part) >= 3 && strings.Contains(said, part) && !strings.Contains(others, part) {
				return true
			}
		}
	}
	return false
}

// Has tells whether a detail of a giver is one of the person's.
func (i *Identity) Has(detail string) bool {
	return detail != "" && (slices.Contains(i.First, detail) || slices.Contains(i.Last, detail) ||
		slices.Contains(i.Details, detail) || i.reaches(detail))
}

// HasAddress is Has for an address.
func (i *Identity) HasAddress(a *Address) bool {
	return a != nil && slices.Contains(i.Details, a.normal())
}

// HasIn is Has or HasAddress for what the history keeps of a gift.
func (i *Identity) HasIn(said json.RawMessage) bool {
	if strings.HasPrefix(string(said), "{") {
		a := addressIn(said)
		return i.HasAddress(&a)
	}
	return i.Has(textIn(said))
}

func addressIn(element json.RawMessage) (a Address) {
	doc.ReadKept(element, func(r *doc.Reader) { loadAddress(r, &a) })
	return a
}

// minNamingPhone is how many digits a number must have to name a person.
const minNamingPhone = 7

// Said is texts that belong together, such as the cells of a row, read once to look for many people in them.
type Said struct{ texts, words []string }

// SaidBy is what texts say.
func SaidBy(texts ...string) *Said { return &Said{texts, text.Words(texts...)} }

// SaidIn are all texts of a JSON value. A text may be JSON itself, or a query.
func SaidIn(data string) *Said { return SaidBy(textsOf(nil, data)...) }

// SaidInQuery is what a query filters by.
func SaidInQuery(query string) *Said { return SaidBy(valuesOf(nil, query)...) }

// IsNamed tells whether texts name the person: by an email, by a phone number, or by the first and the last name.
func (i *Identity) IsNamed(by *Said) bool {
	if slices.ContainsFunc(by.texts, i.reaches) {
		return true
	}
	return slices.ContainsFunc(i.First, by.has) && slices.ContainsFunc(i.Last, by.has)
}

// People are many who are looked for at once. clues are parts of what each is known by; a text that has none of them
// does not name them.
type People struct {
	all   []Identity
	clues map[string][]int
}

// PeopleOf are those people.
func PeopleOf(all []Identity) *People {
	p := &People{all, make(map[string][]int)}
	for n := range all {
		for _, clue := range slices.Concat(clues(all[n].Phones, all[n].Emails), text.Words(all[n].First...)) {
			if of := p.clues[clue]; len(of) == 0 || of[len(of)-1] != n {
				p.clues[clue] = append(of, n)
			}
		}
	}
	return p
}

// clues are what emails and phone numbers in texts are looked up by.
func clues(texts ...[]string) (all []string) {
	for _, value := range slices.Concat(texts...) {
		all = slices.AppendSeq(all, emailsIn(value))
		if digits := text.Digits(value); len(digits) >= minNamingPhone {
			all = append(all, digits[len(digits)-minNamingPhone:])
		}
	}
	return all
}

// Any tells whether one of the people who may be named by texts is someone in particular.
func (p *People) Any(by *Said, is func(*Identity) bool) bool {
	for _, clue := range slices.Concat(by.words, clues(by.texts)) {
		for _, n := range p.clues[clue] {
			if is(&p.all[n]) {
				return true
			}
		}
	}
	return false
}

// has tells whether a name is said, all its words.
func (s *Said) has(name string) bool {
	parts := text.Words(name)
	return len(parts) > 0 && !slices.ContainsFunc(parts,
		func(part string) bool { return !slices.Contains(s.words, part) })
}

// IsNamedBeyond tells whether texts name the person by something that others do not say, who may share an email, a
// phone number or a name with the person.
func (i *Identity) IsNamedBeyond(others, by *Said) bool {
	named := i.saidBy(by)
	shared := named.saidBy(others)
	return len(named.Emails) > len(shared.Emails) || len(named.Phones) > len(shared.Phones) ||
		len(named.First) > 0 && len(named.Last) > 0 && (len(named.First) > len(shared.First) ||
			len(named.Last) > len(shared.Last))
}

// saidBy is the part of what the person is known by that texts say.
func (i *Identity) saidBy(by *Said) (part Identity) {
	for _, name := range i.First {
		if by.has(name) {
			part.First = append(part.First, name)
		}
	}
	for _, name := range i.Last {
		if by.has(name) {
			part.Last = append(part.Last, name)
		}
	}
	for _, email := range i.Emails {
		if one := (Identity{Emails: []string{email}}); slices.ContainsFunc(by.texts, one.reaches) {
			part.Emails = append(part.Emails, email)
		}
	}
	for _, phone := range i.Phones {
		if one := (Identity{Phones: []string{phone}}); slices.ContainsFunc(by.texts, one.reaches) {
			part.Phones = append(part.Phones, phone)
		}
	}
	return part
}

// reaches tells whether a text has an email or a phone number of the person.
func (i *Identity) reaches(value string) bool {
	if len(i.Emails) > 0 {
		for email := range emailsIn(value) {
			if slices.Contains(i.Emails, email) {
				return true
			}
		}
	}
	digits := strings.TrimLeft(text.Digits(value), "0")
	return len(digits) >= minNamingPhone && slices.ContainsFunc(i.Phones, func(phone string) bool {
		return strings.HasSuffix(phone, digits) || len(phone) >= minNamingPhone && strings.HasSuffix(digits, phone)
	})
}

// emailsIn are the parts of a text that may be emails.
func emailsIn(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.FieldsFuncSeq(value, isAroundEmail) {
			if strings.Contains(part, "@") && !yield(text.FoldEmail(part)) {
				return
			}
		}
	}
}

func isAroundEmail(r rune) bool { return strings.ContainsRune(" \t\r\n,;:<>()[]{}\"'|/?&=", r) }

func valuesOf(texts []string, query string) []string {
	values, _ := url.ParseQuery(query) // what it can read is what counts
	for _, list := range values {
		texts = append(texts, list...)
	}
	return texts
}

func textsOf(texts []string, data string) []string {
	dec := json.NewDecoder(strings.NewReader(data))
	for {
		token, err := dec.Token()
		if err == io.EOF { //nolint:errorlint // Token returns it as it is
			return texts
		}
		if err != nil {
			return append(texts, data) // no JSON
		}
		text, ok := token.(string)
		switch {
		case ok && strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
			texts = textsOf(texts, text)
		case ok && strings.Contains(text, "="):
			texts = append(valuesOf(texts, text), text)
		case ok:
			texts = append(texts, text)
		}
	}
}
