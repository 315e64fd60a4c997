// Package thanks has what an organization says to the people who gave: its thank-you texts.
package thanks

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
)

// Occasion is what a gift is thanked for as. Every gift has one; a person may choose another.
type Occasion string

const (
	First     Occasion = "first"
	Repeat    Occasion = "repeat"
	Large     Occasion = "large"
	Honor     Occasion = "honor" // of someone, or in their memory
	Recurring Occasion = "recurring"
)

// Occasions are all of them, in the order of the pages.
var Occasions = []Occasion{First, Repeat, Recurring, Honor, Large}

// Label is what people call an occasion.
func (o Occasion) Label() string {
	return map[Occasion]string{First: "First gift", Repeat: "Another gift", Large: "Large gift", Honor: "In honor or in memory", Recurring: "Recurring gift"}[o]
}

// Template is what is said at an occasion: a text with fields.
type Template struct {
	Occasion Occasion
	Subject  string
	Body     string
	Amount   int64 // from how much on a gift is large, in the smallest unit of the account's currency; 0 for never
	Own      bool  // the organization has written it
}

const (
	maxSubject = 200
	maxBody    = 5_000
)

const (
	opening = "{salutation},\n\n"
	closing = "\n\nWarm regards,\n{organization}"
)

// Default is what is said as long as an organization has not written a text.
func Default(o Occasion) Template {
	t := Template{Occasion: o, Subject: "Thank you for your gift to {organization}"}
	switch o {
	case First:
		t.Subject = "Welcome, and thank you from {organization}"
		t.Body = "Thank you for your gift of {amount} on {date}. It is your first gift to us, and we are glad that you are with us.\n\nYour gift goes to {campaign}. We will let you know what it makes possible."
	case Recurring:
		t.Subject = "Thank you for your recurring gift to {organization}"
		t.Body = "Thank you for your recurring gift of {amount}, which arrived on {date} for {campaign}. Gifts that we can count on let us plan ahead.\n\nIf you want to change or end your recurring gift, answer this letter and we will take care of it."
	case Honor:
		t.Body = "Thank you for your gift of {amount} on {date}, {dedication}. We are honored that you chose {campaign} to remember what matters to you."
	case Large:
		t.Body = "Thank you for your generous gift of {amount} on {date} for {campaign}. A gift of this size changes what we can do, and we would like to tell you in person what it makes possible."
	default:
		t.Body = "Thank you for your gift of {amount} on {date} for {campaign}. That you give again means a great deal to us."
	}
	t.Body = opening + t.Body + closing
	return t
}

// Facts is what is known about a gift, for the fields of a text.
type Facts struct {
	Gift         *giving.Gift
	Contact      *crm.Contact
	Organization string
	Campaign     string // its title, "" for none

	Receipt *ReceiptFacts // for receipts alone
}

// field is what a text may have in braces.
type field struct {
	name  string
	typed bool // people have typed it, perhaps strangers
	value func(*Facts) string
}

var fields = []field{
	{"salutation", true, func(f *Facts) string { return Salutation(f.Contact) }},
	{"first_name", true, func(f *Facts) string { return cmp.Or(f.Contact.FirstName, f.Contact.Name()) }},
	{"last_name", true, func(f *Facts) string { return cmp.Or(f.Contact.LastName, f.Contact.Name()) }},
	{"name", true, func(f *Facts) string { return f.Contact.Name() }},
	{"amount", false, func(f *Facts) string { return Amount(f.Gift) }},
	{"date", false, func(f *Facts) string { return f.Gift.Local.Format("January 2, 2006") }},
	{"campaign", true, func(f *Facts) string { return cmp.Or(f.Campaign, f.Organization) }},
	{"dedication", true, func(f *Facts) string { return dedication(f.Gift.Dedication) }},
	{"organization", true, func(f *Facts) string { return f.Organization }},
}

// Fields are the names of the fields, as texts have them.
func Fields() []string { return namesOf(fields) }

func namesOf(fields []field) (names []string) {
	for _, f := range fields {
		names = append(names, "{"+f.name+"}")
	}
	return names
}

// Salutation is how a letter to a contact begins: as they want it, or as one would write it.
func Salutation(c *crm.Contact) string {
	switch {
	case c.Salutation != "":
		return c.Salutation
	case c.IsCompany && c.FirstName == "":
		return "Dear friends at " + c.Company
	case c.Prefix != "" && c.LastName != "":
		return "Dear " + c.Prefix + " " + c.LastName
	}
	return "Dear " + cmp.Or(c.FirstName, c.LastName, "friend")
}

// Amount is what was given, in words for a letter. What was no money has no amount: determining its value is up to the giver.
func Amount(g *giving.Gift) string {
	switch {
	case g.Method == "stock":
		return "stock"
	case !g.IsMoney():
		return "goods"
	}
	return text.MoneyExact(g.Left(), g.Currency)
}

func dedication(d *giving.Dedication) string {
	switch {
	case d == nil || d.Name == "":
		return "in honor of someone dear to you"
	case strings.HasSuffix(d.Type, "memory_of"):
		return "in memory of " + d.Name
	}
	return "in honor of " + d.Name
}

// split cuts a text at its fields: what stands between them, and the names of the fields. ok is false where a brace is left over.
func split(body string) (between, names []string, ok bool) {
	for {
		before, rest, found := strings.Cut(body, "{")
		if between = append(between, before); strings.Contains(before, "}") {
			return nil, nil, false
		}
		if !found {
			return between, names, true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, nil, false
		}
		names, body = append(names, name), after
	}
}

// The rules of texts.
const (
	looseBrace   doc.Rule = "has a brace that is not part of a field. Fields are written like {first_name}"
	unknownField doc.Rule = "has the unknown field {%v}. Use %v"
)

// Check refuses a text that could not be filled in, and brings it into the form in which it is kept.
func (t *Template) Check() error {
	v := new(doc.Invalid)
	if !slices.Contains(Occasions, t.Occasion) {
		v.Add("occasion", doc.OneOf, strings.Join(text.Strings(Occasions), ", "))
	}
	t.Subject, t.Body = strings.Join(strings.Fields(t.Subject), " "), strings.TrimSpace(strings.ReplaceAll(t.Body, "\r\n", "\n"))
	for _, part := range []struct {
		field, text string
		most        int
	}{{"subject", t.Subject, maxSubject}, {"body", t.Body, maxBody}} {
		checkText(v, part.field, part.text, part.most, fields)
	}
	if t.Amount < 0 || t.Amount > text.MaxSentMoney {
		v.Add("amount", doc.MoneyRange)
	}
	if t.Occasion != Large {
		t.Amount = 0
	}
	return v.Err()
}

// checkText finds what is wrong with a text with fields.
func checkText(v *doc.Invalid, name, text string, most int, fields []field) {
	_, names, ok := split(text)
	switch {
	case text == "":
		v.Add(name, doc.Required)
	case doc.IsLonger(text, most):
		v.Add(name, doc.TooLong, most)
	case !ok:
		v.Add(name, looseBrace)
	}
	for _, used := range names {
		if !slices.Contains(namesOf(fields), "{"+used+"}") {
			v.Add(name, unknownField, used, strings.Join(namesOf(fields), ", "))
			break
		}
	}
}

// fill fills in one line of a text. Whatever people have typed, it is no link.
func fill(line string, f *Facts, fields []field) mail.Line {
	between, names, ok := split(line)
	if !ok {
		return mail.NewLine(line)
	}
	sentence := between[0]
	var typed []string
	for i, name := range names {
		at := slices.IndexFunc(fields, func(known field) bool { return known.name == name })
		switch {
		case at < 0: // a field of a later version
		case fields[at].typed:
			sentence, typed = sentence+"{}", append(typed, fields[at].value(f))
		default:
			sentence += fields[at].value(f)
		}
		sentence += between[i+1]
	}
	return mail.Say(sentence, typed...)
}

// Note is a thank-you that is filled in, for a mail and for a letter.
type Note struct {
	Occasion Occasion
	Subject  mail.Line
	Says     []mail.Line
}

// Write fills in a text.
func (t Template) Write(f *Facts) Note {
	return Note{Occasion: t.Occasion, Subject: fill(t.Subject, f, fields), Says: fillAll(t.Body, f, fields)}
}

func fillAll(body string, f *Facts, fields []field) (says []mail.Line) {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); line != "" {
			says = append(says, fill(line, f, fields))
		}
	}
	return says
}

// OccasionOf is what a gift is thanked for as. isFirst tells whether its giver gave nothing before. large are from how much on a gift in the account's currency is large, 0 for never.
func OccasionOf(g *giving.Gift, isFirst bool, large int64, currency string) Occasion {
	switch {
	case g.Dedication != nil && g.Dedication.Name != "":
		return Honor
	case large > 0 && g.Currency == currency && g.Left() >= large:
		return Large
	case g.PlanCode != "":
		return Recurring
	case isFirst:
		return First
	}
	return Repeat
}

// NoMail says why a mail cannot thank for a gift, "" where it can.
func NoMail(g *giving.Gift, c *crm.Contact) string {
	switch {
	case g.Net() <= 0:
		return "The gift has not arrived, or was refunded."
	case c.Erased() || c.Archived():
		return "The contact is archived."
	case c.Deceased:
		return "The contact is deceased."
	case c.DoNotEmail:
		return "The contact does not want email."
	case len(c.Emails) == 0:
		return "The contact has no email address."
	}
	return ""
}

// NoLetter says why a letter should not thank for a gift, "" where it can.
func NoLetter(g *giving.Gift, c *crm.Contact) string {
	switch {
	case g.Net() <= 0:
		return "The gift has not arrived, or was refunded."
	case c.Erased() || c.Archived():
		return "The contact is archived."
	case c.Deceased:
		return "The contact is deceased."
	case c.DoNotMail:
		return "The contact does not want letters."
	}
	return ""
}
