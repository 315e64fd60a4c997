// Package thanks has what an organization says to the people who gave: its thank-you texts.
package thanks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

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

	Letter Occasion = "letter" // to everyone in a list, whatever they gave
)

// Occasions are those of gifts, in the order of the pages. Texts are all that an organization can write.
var (
	Occasions = []Occasion{First, Repeat, Recurring, Honor, Large}
	Texts     = append(slices.Clip(Occasions), Letter)
)

// Label is what people call an occasion.
func (o Occasion) Label() string {
	return map[Occasion]string{First: "First gift", Repeat: "Another gift", Large: "Large gift",
		Honor: "In honor or in memory", Recurring: "Recurring gift", Letter: "Letter to a list"}[o]
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
	case Letter:
		t.Subject = "News from {organization}"
		t.Body = "Your support makes our work possible, and we would like to tell you what we have done with it this year."
	case First:
		t.Subject = "Welcome, and thank you from {organization}"
		t.Body = "Thank you for your gift of {amount} on {date}. It is your first gift to us, and we are glad that you are with us.\n\nYour gift goes to {campaign}. We will let you know what it makes possible."
	case Recurring:
		t.Subject = "Thank you for your recurring gift to {organization}"
		t.Body = "Thank you for your recurring gift of {amount}, which arrived on {date} for {campaign}. Gifts that we can count on let us plan ahead."
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

// Facts is what is known about a gift, for the fields of a text. A letter to a list is about no gift, and has the day
// on which it is written.
type Facts struct {
	Gift         *giving.Gift
	Day          time.Time
	Contact      *crm.Contact
	Organization string
	Campaign     string // its title, "" for none

	Receipt *ReceiptFacts // for receipts alone
}

// field is what a text may have in braces.
type field struct {
	name  string
	typed bool // people have typed it, perhaps strangers
	gift  bool // it is about a gift
	value func(*Facts) string
}

var fields = []field{
	{"salutation", true, false, func(f *Facts) string { return f.Contact.Greeting() }},
	{"first_name", true, false, func(f *Facts) string { return cmp.Or(f.Contact.FirstName, f.Contact.Name()) }},
	{"last_name", true, false, func(f *Facts) string { return cmp.Or(f.Contact.LastName, f.Contact.Name()) }},
	{"name", true, false, func(f *Facts) string { return f.Contact.Name() }},
	{"amount", false, true, func(f *Facts) string { return Amount(f.Gift) }},
	{"date", false, false, func(f *Facts) string { return f.day().Format("January 2, 2006") }},
	{"campaign", true, true, func(f *Facts) string { return cmp.Or(f.Campaign, f.Organization) }},
	{"dedication", true, true, func(f *Facts) string { return dedication(f.Gift.Dedication) }},
	{"organization", true, false, func(f *Facts) string { return f.Organization }},
}

func (f *Facts) day() time.Time {
	if f.Gift == nil {
		return f.Day
	}
	return f.Gift.Local
}

func namesOf(fields []field) (names []string) {
	for _, f := range fields {
		names = append(names, "{"+f.name+"}")
	}
	return names
}

// Fields are the names of the fields that texts of an occasion can have.
func (o Occasion) Fields() (names []string) {
	for _, f := range fields {
		if !f.gift || o != Letter {
			names = append(names, "{"+f.name+"}")
		}
	}
	return names
}

// Amount is what was given, in words for a letter. What was no money has no amount: determining its value is up to the
// giver.
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

// split cuts a text at its fields: what stands between them, and the names of the fields. ok is false where a brace is
// left over.
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
	if !slices.Contains(Texts, t.Occasion) {
		v.Add("occasion", doc.OneOf, strings.Join(text.Strings(Texts), ", "))
	}
	t.Subject, t.Body = strings.Join(strings.Fields(t.Subject), " "),
		strings.TrimSpace(strings.ReplaceAll(t.Body, "\r\n", "\n"))
	for _, part := range []struct {
		field, text string
		most        int
	}{{"subject", t.Subject, maxSubject}, {"body", t.Body, maxBody}} {
		checkText(v, part.field, part.text, part.most, t.Occasion.Fields())
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
func checkText(v *doc.Invalid, name, text string, most int, known []string) {
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
		if !slices.Contains(known, "{"+used+"}") {
			v.Add(name, unknownField, used, strings.Join(known, ", "))
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
		case at < 0 || fields[at].gift && f.Gift == nil: // a field of a later version
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

// OccasionOf is what a gift is thanked for as. isFirst tells whether its giver gave nothing before. large are from how
// much on a gift in the account's currency is large, 0 for never.
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
func NoMail(g *giving.Gift, c *crm.Contact) string { return unthanked(g, c.NoMail()) }

// NoLetter says why a letter should not thank for a gift, "" where it can.
func NoLetter(g *giving.Gift, c *crm.Contact) string { return unthanked(g, c.NoLetter()) }

func unthanked(g *giving.Gift, why crm.Unreached) string {
	if !g.HasArrived() {
		return "The gift has not arrived, or was refunded."
	}
	return why.Sentence()
}

// StatementMail is the mail that has a statement in it.
func StatementMail(s *giving.Statement, c *crm.Contact, organization, taxID string, noReturn bool) *mail.Message {
	year := strconv.FormatInt(s.Year, 10)
	m := &mail.Message{Subject: mail.Say("Your giving statement for "+year+" from {}", organization),
		Says: []mail.Line{mail.Say("{},", c.Greeting()), mail.Say("Here is what you gave to {} in "+year+":",
			organization)}}
	for _, g := range s.Gifts {
		amount := cmp.Or(g.Amount, "Non-cash")
		if g.Refunded != "" {
			amount += " (" + g.Paid + " less " + g.Refunded + " refunded)"
		}
		m.Says = append(m.Says, mail.Say(g.At.Format("January 2, 2006")+": "+amount+", {}, "+g.Method,
			cmp.Or(g.Campaign, "General")))
	}
	for _, sentence := range s.Says("{}", noReturn) {
		m.Says = append(m.Says, mail.Say(sentence, organization))
	}
	if taxID != "" {
		m.Says = append(m.Says, mail.Say("Tax ID of {}: {}", organization, taxID))
	}
	return m
}
