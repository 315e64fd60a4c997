package crm

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Unreached says why a mail or a letter must not go to a contact, "" where it may. Whatever is sent to people asks
// these two.
type Unreached string

// The reasons. "The contact" stands before each of them.
const (
	IsArchived  Unreached = "is archived"
	IsDeceased  Unreached = "is deceased"
	NoMailAsked Unreached = "does not want email"
	NoEmail     Unreached = "has no email address"
	HasBounced  Unreached = "has an email address that bounced"
	NoLetters   Unreached = "does not want letters"
	Unreadable  Unreached = "cannot be read"
	NoAddress   Unreached = "has no address"
)

// Sentence is the reason for a person, "" for none.
func (u Unreached) Sentence() string {
	if u == "" {
		return ""
	}
	return "The contact " + string(u) + "."
}

// LeftLine says how many contacts get nothing for a reason.
type LeftLine struct {
	Why  Unreached
	Text string
}

// LeftWords say who gets nothing, and why, the most first. contacts is how many contacts there are, in words.
func LeftWords(left map[Unreached]int64, contacts func(n int64) string) (lines []LeftLine) {
	for _, why := range slices.SortedFunc(maps.Keys(left),
		func(a, b Unreached) int { return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b)) }) {
		words := string(why)
		if left[why] > 1 {
			clauses := strings.Split(words, " and ")
			for i, clause := range clauses {
				verb, rest, _ := strings.Cut(clause, " ")
				clauses[i] = cmp.Or(map[string]string{"is": "are", "has": "have", "does": "do"}[verb], verb) + " " +
					rest
			}
			words = strings.Join(clauses, " and ")
		}
		lines = append(lines, LeftLine{why, contacts(left[why]) + " " + words + "."})
	}
	return lines
}

func (c *Contact) gone() Unreached {
	switch {
	case c.Erased() || c.Archived():
		return IsArchived
	case c.Deceased:
		return IsDeceased
	}
	return ""
}

// NoMail says why the contact gets no mail, "" where one goes to the primary email.
func (c *Contact) NoMail() Unreached {
	switch gone := c.gone(); {
	case gone != "":
		return gone
	case c.DoNotEmail:
		return NoMailAsked
	case len(c.Emails) == 0:
		return NoEmail
	case c.Bounced(c.Emails[0].Value):
		return HasBounced
	}
	return ""
}

// NoLetter says why the contact gets no letter. One without an address may be handed over; NoPost is for what goes by
// post.
func (c *Contact) NoLetter() Unreached {
	if gone := c.gone(); gone != "" {
		return gone
	}
	if c.DoNotMail {
		return NoLetters
	}
	return ""
}

// NoPost is NoLetter for what is sent by post, and needs an address.
func (c *Contact) NoPost() Unreached {
	if why := c.NoLetter(); why != "" || len(c.Addresses) > 0 && len(c.Addresses[0].Lines("")) > 0 {
		return why
	}
	return NoAddress
}

// Way is how something reaches a contact.
type Way string

// The ways.
const (
	NoWay    Way = ""
	ByMail   Way = "mail"
	ByLetter Way = "letter"
)

// Way is how the contact is reached: by mail where mails are sent and one may go, else by a letter; or why not at all.
func (c *Contact) Way(mails bool) (Way, Unreached) {
	noMail, noPost := c.NoMail(), c.NoPost()
	switch {
	case mails && noMail == "":
		return ByMail, ""
	case noPost == "":
		return ByLetter, ""
	case !mails || noMail == noPost:
		return NoWay, noPost
	}
	return NoWay, noMail + " and " + noPost
}

// Bounced tells whether mail to an email of the contact came back.
func (c *Contact) Bounced(email string) bool {
	return c.BouncedEmail != "" && sameEmail(c.BouncedEmail, email)
}

func sameEmail(a, b string) bool { return emailRule.identity(a, "") == emailRule.identity(b, "") }

// bouncedField is the email of the contact that mail came back from. A form of the contact does not have it: a person
// marks the address on its page.
func bouncedField() doc.Field[*Contact, *ContactInput] {
	f := doc.Sent("bounced_email", "Bounced email", doc.Choice(doc.MaxText, doc.EmailForm, isEmail),
		func(c *Contact) *string { return &c.BouncedEmail },
		func(in *ContactInput) **string { return &in.BouncedEmail })
	f.Take = nil
	return f
}

func isEmail(value string) bool {
	_, ok := text.NormalEmail(value)
	return ok
}

// bouncedOther is the fault of an address that is not the contact's.
const bouncedOther doc.Rule = "must be one of the contact's emails"

// settleBounced forgets that an email has bounced which the contact no longer has. Saying so of a foreign one is a
// mistake; a row of a file may be older than the contact.
func (in *ContactInput) settleBounced(c *Contact) error {
	if c.BouncedEmail == "" {
		return nil
	}
	if i := c.emailAt(c.BouncedEmail); i >= 0 {
		c.BouncedEmail = c.Emails[i].Value
		return nil
	}
	c.BouncedEmail = ""
	if said(in.BouncedEmail) != "" && !in.FromRow {
		return doc.NewInvalid("bounced_email", bouncedOther)
	}
	return nil
}

func (c *Contact) emailAt(email string) int {
	return slices.IndexFunc(c.Emails, func(e Typed) bool { return sameEmail(e.Value, email) })
}

// BouncedWith is a contact that was part of another one: it takes along what is known of its email.
func (c Contact) BouncedWith(other *Contact) Contact {
	if i := c.emailAt(other.BouncedEmail); i >= 0 {
		c.BouncedEmail = c.Emails[i].Value
	}
	return c
}

// BouncedOf are changes that may have told of emails which another change has brought that mail to them came back.
func BouncedOf(brought doc.Differences) (all doc.Differences) {
	for _, d := range brought {
		if d.Field == "emails" {
			for _, email := range d.In {
				value, _ := json.Marshal(valueIn(email)) // a text
				all = append(all, doc.Difference{Field: "bounced_email", Before: json.RawMessage("null"), After: value,
					At: -1})
			}
		}
	}
	return all
}

// Greeting is how a letter to a contact begins: as they want it, or as one would write it.
func (c *Contact) Greeting() string {
	first, last, prefix := strings.TrimSpace(c.FirstName), strings.TrimSpace(c.LastName), strings.TrimSpace(c.Prefix)
	switch {
	case c.Salutation != "":
		return c.Salutation
	case c.IsCompany && first == "":
		return "Dear " + strings.TrimSpace(c.Company) + " team"
	case strings.Contains(first, "@") || first+last == "": // no one knows their name yet
		return "Dear friend"
	case prefix != "" && (IsCouple(prefix) || !IsCouple(first)):
		return "Dear " + prefix + " " + cmp.Or(last, first)
	}
	return "Dear " + strings.ReplaceAll(cmp.Or(first, last), " & ", " and ")
}

// PostLines are the name and the primary address of a contact, as an envelope has them that is sent from a country.
func (c *Contact) PostLines(home string) (lines []string) {
	name := strings.Join(strings.Fields(strings.Join([]string{c.Prefix, c.FirstName, c.MiddleName, c.LastName,
		c.Suffix}, " ")), " ")
	if c.FirstName+c.LastName == "" {
		name = c.Name()
	}
	switch {
	case c.IsCompany && c.FirstName+c.LastName != "":
		lines = []string{c.Company, name}
	case c.IsCompany || c.Company == "" || c.Company == name:
		lines = []string{name}
	default:
		lines = []string{name, c.Company}
	}
	if len(c.Addresses) > 0 {
		lines = append(lines, c.Addresses[0].Lines(home)...)
	}
	return lines
}
