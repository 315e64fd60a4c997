package crm

import (
	"errors"
	"slices"
	"time"

	"donorbook/internal/crm/doc"
)

// shorthand is what a client says with keys that stand for the first element of a list: email or primary_email, phone or primary_phone,
// and the parts of an address. They count where the list itself was not sent. So a contact that is sent back, with its emails and its
// primary_email, means what its lists say.
type shorthand struct {
	emails, phones []sentText // at most two of each
	address        Address
	parts          []sentText // of the address; their values stand there
}

// sentText is a text with the key that it was sent under. What is wrong with it matters only if the key counts.
type sentText struct {
	key, value string
	faults     []doc.Fault
}

// aliasKeys are the keys of this kind that are no fields of a contact.
var aliasKeys = append([]string{"email", "phone"}, AddressTable.Names()...)

// read takes the value of one key. It reports whether the key is one of these.
func (s *shorthand) read(r *doc.Reader, key string) bool {
	switch key {
	case "primary_email", "email":
		s.emails = append(s.emails, readSentText(r, key, r.Text))
	case "primary_phone", "phone":
		s.phones = append(s.phones, readSentText(r, key, r.Text))
	default:
		part := AddressTable.Find(key)
		if part == nil {
			return false
		}
		s.parts = append(s.parts, readSentText(r, key, func() string {
			part.Read(r, &s.address)
			return part.Text(&s.address)
		}))
	}
	return true
}

// readSentText reads a text, and keeps what is wrong with it apart from the faults of the document.
func readSentText(r *doc.Reader, key string, read func() string) sentText {
	before := len(r.Fault.Faults)
	sent := sentText{key: key, value: read()}
	sent.faults = slices.Clone(r.Fault.Faults[before:])
	r.Fault.Faults = r.Fault.Faults[:before]
	return sent
}

// expand makes the lists that the keys stand for. From then on, faults are those of the lists; SentAs gives them back the names that
// the client wrote.
func (s *shorthand) expand(r *doc.Reader, in *ContactInput) {
	s.expandTyped(r, "emails", s.emails, &in.Emails)
	s.expandTyped(r, "phones", s.phones, &in.Phones)
	if in.Addresses != nil || len(s.parts) == 0 || r.Fault.HasFault("addresses") {
		return
	}
	in.Addresses = &[]Address{s.address}
	r.StandsFor("addresses", s.parts[0].key)
	for _, part := range s.parts {
		takeFor(r, doc.ElementOf("addresses", 0).Field(part.key), part)
	}
}

func (*shorthand) expandTyped(r *doc.Reader, name string, sent []sentText, list **[]Typed) {
	if *list != nil || r.Fault.HasFault(name) {
		return
	}
	said := slices.DeleteFunc(sent, func(t sentText) bool { return t.value == "" && t.faults == nil }) // null and "" say nothing
	for i, text := range said {
		switch {
		case i == 0:
			*list = &[]Typed{{Value: text.value}}
			r.StandsFor(name, text.key)
			takeFor(r, doc.ElementOf(name, 0).Field("value"), text)
		case text.faults != nil:
			r.Fault.Faults = append(r.Fault.Faults, text.faults...)
		case text.value != said[0].value:
			r.Fault.Add(text.key, doc.OtherValue, said[0].key)
		}
	}
}

// takeFor notes that a text was sent for what stands at a path, and what is wrong with it.
func takeFor(r *doc.Reader, path string, text sentText) {
	r.StandsFor(path, text.key)
	for _, fault := range text.faults {
		r.Fault.Add(path, fault.Rule, fault.Args...)
	}
}

// asSent is an error that calls every field as the client did.
func (in *ContactInput) asSent(err error) error {
	var v *doc.Invalid
	if in.SentAs == nil || !errors.As(err, &v) {
		return err
	}
	for i := range v.Faults {
		if key, found := in.SentAs[v.Faults[i].Field]; found {
			v.Faults[i].Field = key
		}
	}
	return err
}

// isFirst tells whether the input is about the first element of a list, and not about the whole list.
func (in *ContactInput) isFirst(list string) bool { return in.SentAs[list] != "" }

// toFront is a list in which the value is the first one. Where the list had it, in any spelling, it keeps its type.
func (rule *typedRule) toFront(list []Typed, first Typed, region string) []Typed {
	moved := make([]Typed, 1, len(list)+1)
	identity := rule.identity(first.Value, region)
	for _, known := range list {
		if rule.identity(known.Value, region) == identity {
			first.Type = known.Type
		} else {
			moved = append(moved, known)
		}
	}
	moved[0] = first
	return moved
}

// patchFirst changes the parts that were sent of the first address, or makes it. It is gone where nothing is left of it.
func (in *ContactInput) patchFirst(list []Address, now time.Time) []Address {
	var sent, first Address
	if len(*in.Addresses) > 0 {
		sent = (*in.Addresses)[0]
	}
	if len(list) > 0 {
		first = list[0]
	}
	for i := range AddressTable {
		if part := &AddressTable[i]; in.SentAs[doc.ElementOf("addresses", 0).Field(part.Name)] != "" {
			part.Patch(&first, &sent, now)
		}
	}
	switch {
	case len(list) == 0:
		first, list = first.at(now), []Address{{}}
	case first == list[0]:
		return list
	default:
		first = first.keep(list[0], now)
	}
	if AddressTable.Size(&first) == 0 {
		return list[1:]
	}
	normal := first.normal()
	others := slices.DeleteFunc(slices.Clone(list[1:]), func(a Address) bool { return a.normal() == normal })
	return append([]Address{first}, others...)
}
