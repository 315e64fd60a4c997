package crm

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/doc"
)

// The types of contacts. A company has a name of its own, and may lack that of a person.
const (
	Individual = "individual"
	Company    = "company"
)

// contactType tells whether a contact is a company.
var contactType = doc.Kind[bool]{
	Read: func(r *doc.Reader) bool {
		sent := r.Text()
		if sent != "" && sent != Individual && sent != Company {
			r.Wrong(doc.OneOf, Individual+", "+Company)
		}
		return sent == Company
	},
	Append: func(dst []byte, isCompany bool) []byte { return doc.AppendText(dst, typeName(isCompany)) },
	Text:   typeName,
	Take:   func(form doc.Form, name string) bool { return form.Value(name) == Company },
}

func typeName(isCompany bool) string {
	if isCompany {
		return Company
	}
	return Individual
}

// Name is the contact as people call it: a company by its name.
func (c *Contact) Name() string {
	if c.IsCompany {
		return c.Company
	}
	return cmp.Or(strings.TrimSpace(c.FirstName+" "+c.LastName), c.knownBy())
}

// knownBy is what a person is called whose name no one knows yet.
func (c *Contact) knownBy() string {
	switch {
	case len(c.Emails) > 0:
		return c.Emails[0].Value
	case len(c.Phones) > 0:
		return c.Phones[0].Value
	case c.Company != "":
		return c.Company
	case len(c.ExternalIDs) > 0:
		return c.ExternalIDs[0].Value
	}
	return ""
}

// checkNamed finds what the type of a contact needs and the input lacks. A change that does not tell the type is
// decided about when the contact is known.
func (in *ContactInput) checkNamed(c *doc.Checker) {
	if !c.IsNew && in.IsCompany == nil {
		return
	}
	need := func(name string, value *string) {
		switch {
		case value != nil && *value != "":
		case c.IsNew:
			c.AddAt(doc.Place{}, name, doc.Required)
		case value != nil:
			c.AddAt(doc.Place{}, name, doc.NotEmpty)
		}
	}
	if in.IsCompany != nil && *in.IsCompany {
		need("company", in.Company)
		return
	}
	if in.FromRow && in.isKnown() {
		return
	}
	need("first_name", in.FirstName)
	need("last_name", in.LastName)
}

// isKnown tells whether there is anything beside a name to know a person by.
func (in *ContactInput) isKnown() bool {
	has := func(n int) bool { return n > 0 }
	return in.Emails != nil && has(len(*in.Emails)) || in.Phones != nil && has(len(*in.Phones)) ||
		has(len(in.AddedIDs)) || in.Addresses != nil && has(len(*in.Addresses)) &&
		said(in.FirstName)+said(in.LastName) != "" ||
		said(in.Company)+said(in.Prefix) != "" && said(in.FirstName)+said(in.LastName) != ""
}

func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// checkStaysNamed refuses a change that leaves a contact without a name that its type needs.
func (in *ContactInput) checkStaysNamed(c, old *Contact) error {
	var v *doc.Invalid
	need := func(name, is string, sent *string) {
		if is == "" && (sent != nil || c.IsCompany != old.IsCompany) {
			if v == nil {
				v = new(doc.Invalid)
			}
			v.Add(name, doc.NotEmpty)
		}
	}
	if c.IsCompany {
		need("company", c.Company, in.Company)
	} else {
		need("first_name", c.FirstName, in.FirstName)
		need("last_name", c.LastName, in.LastName)
	}
	if v == nil {
		return nil
	}
	return v
}

// OtherKind tells that the input is about a person and the contact a company, or the other way round. They are never
// one, though they share an email. An input without a name may be about either.
func (in *ContactInput) OtherKind(c *Contact) bool {
	switch {
	case !c.IsCompany && c.FirstName+c.LastName == "": // no more is known of it
		return false
	case in.IsCompany != nil:
		return *in.IsCompany != c.IsCompany
	}
	return c.IsCompany && !isEmpty(in.FirstName) && !isEmpty(in.LastName)
}

func isEmpty(sent *string) bool { return sent == nil || *sent == "" }

// mark is something that is true of few contacts. One that was made is never lost by a merge.
type mark struct {
	name, label string
	in          func(*Contact) *bool
	of          func(*ContactInput) **bool
	opposite    string // the key that says the opposite, as other services have it; "" for none
}

var marks = []mark{
	{"do_not_mail", "Do not mail", func(c *Contact) *bool { return &c.DoNotMail },
		func(in *ContactInput) **bool { return &in.DoNotMail }, "is_address_subscribed"},
	{"do_not_email", "Do not email", func(c *Contact) *bool { return &c.DoNotEmail },
		func(in *ContactInput) **bool { return &in.DoNotEmail }, "is_email_subscribed"},
	{"do_not_call", "Do not call", func(c *Contact) *bool { return &c.DoNotCall },
		func(in *ContactInput) **bool { return &in.DoNotCall }, "is_phone_subscribed"},
	{"deceased", "Deceased", func(c *Contact) *bool { return &c.Deceased },
		func(in *ContactInput) **bool { return &in.Deceased }, ""},
}

func markFields() (fields doc.Table[*Contact, *ContactInput]) {
	for _, m := range marks {
		f := doc.Sent(m.name, m.label, doc.YesNo, m.in, m.of)
		merge, patch := f.Merge, f.Patch
		f.Merge = func(c *Contact, in *ContactInput, now time.Time) {
			if merge(c, in, now); slices.Contains(in.contrary, m.name) {
				*m.in(c) = true
			}
		}
		f.Patch = func(c *Contact, in *ContactInput, now time.Time) {
			if slices.Contains(in.contrary, m.name) {
				*m.in(c) = !*m.in(c)
			} else {
				patch(c, in, now)
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// subscriptions are the marks that have an opposite, in the order of their answers.
var subscriptions = []*mark{&marks[1], &marks[2], &marks[0]}

// appendSubscriptions appends the opposites of the marks in a stored document. No text holds what is looked for: its
// quotes are escaped.
func appendSubscriptions(dst, body []byte) []byte {
	for _, written := range writtenSubscriptions {
		dst = append(dst, written.opposite...)
		dst = strconv.AppendBool(dst, !bytes.Contains(body, written.set))
	}
	return append(dst, '}')
}

// writtenSubscriptions are the opposites as a document begins them, and the marks as it has them.
var writtenSubscriptions = func() (all []struct{ opposite, set []byte }) {
	for _, m := range subscriptions {
		all = append(all, struct{ opposite, set []byte }{[]byte(`,"` + m.opposite + `":`),
			[]byte(`,"` + m.name + `":true`)})
	}
	return all
}()

// allSubscribed is what a document ends with that has no mark.
var allSubscribed = appendSubscriptions(nil, nil)

// Marks are the names of all marks, in the order of the wire.
var Marks = func() (names []string) {
	for _, m := range marks {
		names = append(names, m.name)
	}
	return names
}()

// BouncedMark is that an email of a contact has bounced. It is filtered by like a mark, as is whether a contact is a
// company.
const BouncedMark = "bounced"

// IsMark tells whether a field is a mark.
func IsMark(name string) bool {
	return slices.ContainsFunc(marks, func(m mark) bool { return m.name == name })
}

// MarkLabel is what people call a mark.
func MarkLabel(name string) string {
	if f := ContactTable.Find(name); f != nil {
		return f.Label
	}
	return name
}

// Marked are the marks that an input gives a contact. touches tells whether it says anything about marks: it may take
// some away.
func (in *ContactInput) Marked() (names []string, touches bool) {
	for _, m := range marks {
		if sent := *m.of(in); sent != nil {
			if touches = true; *sent {
				names = append(names, m.name)
			}
		}
	}
	if in.IsCompany != nil && *in.IsCompany {
		names = append(names, Company)
	}
	if said(in.BouncedEmail) != "" {
		names = append(names, BouncedMark)
	}
	return names, touches || in.IsCompany != nil || in.BouncedEmail != nil
}

// IsKeptFrom tells whether a contact must not be reached in a way that was open before.
func (c *Contact) IsKeptFrom(before *Contact) bool {
	return slices.ContainsFunc(subscriptions, func(m *mark) bool { return *m.in(c) && !*m.in(before) })
}

// MarksAlone is the input as far as it gives a contact marks.
func (in *ContactInput) MarksAlone() (marked ContactInput) {
	for _, m := range marks {
		if sent := *m.of(in); sent != nil && *sent {
			*m.of(&marked) = sent
		}
	}
	return marked
}

// Marked are the marks that a contact has.
func (c *Contact) Marked() (names []string) {
	for _, m := range marks {
		if *m.in(c) {
			names = append(names, m.name)
		}
	}
	if c.IsCompany {
		names = append(names, Company)
	}
	if c.BouncedEmail != "" {
		names = append(names, BouncedMark)
	}
	return names
}
