package crm

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm/doc"
)

// shorthand is what a client says with keys that stand for others: email or primary_email, phone or primary_phone,
// company_name, and the parts of one whole address. They count where the field itself was not sent. So a contact that
// is sent back, with its emails and its primary_email, means what its lists say.
type shorthand struct {
	emails, phones, company []sentText // under all of their names
	subscribed              []subscribed
	address                 Address
	parts                   []sentText // of the address; their values stand there
}

// subscribed is what was sent about the opposite of a mark.
type subscribed struct {
	mark *mark
	yes  bool
}

// sentText is a text with the key that it was sent under. What is wrong with it matters only if the key counts.
type sentText struct {
	key, value string
	part       string // of an address
	faults     []doc.Fault
}

// addressKeys are the names under which clients send the parts of an address, beside those that AddressTable has.
var addressKeys = map[string]string{
	"address_line1": "address_1", "address_line_1": "address_1", "address": "address_1", "street": "address_1",
	"address_line2": "address_2", "address_line_2": "address_2", "zip": "zipcode", "postal_code": "zipcode",
}

// aliasKeys are the keys of this kind that are no fields of a contact.
var aliasKeys = slices.Concat([]string{"email", "phone", "company_name", "external_id"}, oppositeKeys(),
	AddressTable.Names(), slices.Sorted(maps.Keys(addressKeys)))

func oppositeKeys() (keys []string) {
	for _, m := range subscriptions {
		keys = append(keys, m.opposite)
	}
	return keys
}

// read takes the value of one key. It reports whether the key is one of these.
func (s *shorthand) read(r *doc.Reader, key string) bool {
	switch key {
	case "primary_email", "email":
		s.emails = append(s.emails, readSentText(r, key, r.Text))
	case "primary_phone", "phone":
		s.phones = append(s.phones, readSentText(r, key, r.Text))
	case "company_name":
		s.company = append(s.company, readSentText(r, key, r.Text))
	case "address":
		if r.Next() == '{' {
			r.Element(func(key string) {
				if !s.readPart(r, key) {
					r.Ignore()
				}
			})
			return true
		}
		fallthrough
	default:
		return s.readSubscribed(r, key) || s.readPart(r, key)
	}
	return true
}

// readSubscribed takes the opposite of a mark; null says nothing.
func (s *shorthand) readSubscribed(r *doc.Reader, key string) bool {
	for _, m := range subscriptions {
		switch {
		case m.opposite != key:
			continue
		case r.Next() == 'n':
			r.Skip()
		default:
			s.subscribed = append(s.subscribed, subscribed{m, r.Boolean()})
		}
		return true
	}
	return false
}

// ReadAddressPart takes a part of an address under any of its names. It reports whether the key is one of these.
func ReadAddressPart(r *doc.Reader, key string, a *Address) bool {
	part := AddressTable.Find(cmp.Or(addressKeys[key], key))
	if part != nil {
		part.Read(r, a)
	}
	return part != nil
}

func (s *shorthand) readPart(r *doc.Reader, key string) bool {
	part := AddressTable.Find(cmp.Or(addressKeys[key], key))
	if part == nil {
		return false
	}
	var sent Address
	text := readSentText(r, key, func() string {
		part.Read(r, &sent)
		return part.Text(&sent)
	})
	if text.part = part.Name; text.value != "" {
		part.Patch(&s.address, &sent, time.Time{})
	}
	s.parts = append(s.parts, text)
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

// expand makes the fields that the keys stand for. From then on, faults are those of the fields; SentAs gives them back
// the names that the client wrote.
func (s *shorthand) expand(r *doc.Reader, in *ContactInput) {
	s.expandTyped(r, "emails", s.emails, &in.Emails)
	s.expandTyped(r, "phones", s.phones, &in.Phones)
	if in.Company == nil && !r.Fault.HasFault("company") {
		for _, sent := range s.company {
			in.Company = &sent.value
			takeFor(r, "company", sent)
		}
	}
	for _, sent := range s.subscribed {
		switch of := sent.mark.of(in); {
		case *of == nil:
			*of = new(!sent.yes)
		case **of == sent.yes:
			in.contrary = append(in.contrary, sent.mark.name)
		}
	}
	if in.Addresses != nil || len(s.parts) == 0 || r.Fault.HasFault("addresses") {
		return
	}
	in.Addresses = &[]Address{s.address}
	r.StandsFor("addresses", s.parts[0].key)
	for i, sent := range s.parts {
		if !s.sayTwice(r, i) {
			takeFor(r, doc.ElementOf("addresses", 0).Field(sent.part), sent)
		}
	}
}

// sayTwice notes that a part of the address was sent under another name before, and differs.
func (s *shorthand) sayTwice(r *doc.Reader, i int) bool {
	sent := s.parts[i]
	for _, before := range s.parts[:i] {
		if before.part == sent.part && before.value != "" {
			if sent.value != "" && sent.value != before.value {
				r.Fault.Add(sent.key, doc.OtherValue, before.key)
			}
			return true
		}
	}
	return false
}

func (*shorthand) expandTyped(r *doc.Reader, name string, sent []sentText, list **[]Typed) {
	if *list != nil || r.Fault.HasFault(name) {
		return
	}
	// null and "" say nothing
	said := slices.DeleteFunc(sent, func(t sentText) bool { return t.value == "" && t.faults == nil })
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

// patchFirst changes the first address. With a street the one that was sent is whole: no part of another address is
// left in it. Without a street its parts are changed alone. An address of which nothing is left is removed.
func (in *ContactInput) patchFirst(list []Address, now time.Time) []Address {
	var first Address
	if len(*in.Addresses) > 0 {
		first = (*in.Addresses)[0]
	}
	if len(list) == 0 {
		if AddressTable.Size(&first) == 0 {
			return list
		}
		return []Address{first.at(now)}
	}
	sent := func(part string) bool { return in.SentAs[doc.ElementOf("addresses", 0).Field(part)] != "" }
	if !sent("address_1") {
		for i := range AddressTable {
			if part := &AddressTable[i]; !sent(part.Name) {
				part.Patch(&first, &list[0], now)
			}
		}
	}
	if AddressTable.Size(&first) == 0 {
		return list[1:]
	}
	normal := first.normal()
	others := slices.DeleteFunc(slices.Clone(list[1:]), func(a Address) bool { return a.normal() == normal })
	return append([]Address{first.keep(list[0], now)}, others...)
}

// DecodeContact reads the body of a create. Keys that are unknown or read-only are ignored. Faults of
// type come back together with the input, so that Validate can add its own and tell them all at once.
func DecodeContact(r *doc.Reader) (in ContactInput, faults *doc.Invalid, err error) {
	return decodeContact(r, true)
}

// DecodeContactChange reads the body of an update in the same way.
func DecodeContactChange(r *doc.Reader) (in ContactInput, faults *doc.Invalid, err error) {
	return decodeContact(r, false)
}

func decodeContact(r *doc.Reader, isNew bool) (in ContactInput, faults *doc.Invalid, err error) {
	var short shorthand
	r.Document(func(key string) {
		switch {
		case key == "force_create" && !isNew:
			r.Ignore()
		case key == "force_create":
			in.ForceCreate = r.Literal()
		case key == "external_id":
			in.readAddedID(r)
		case !short.read(r, key):
			ContactTable.Read(r, key, &in)
		}
	})
	if err := r.End(); r.Err != nil {
		return ContactInput{}, nil, err
	}
	short.expand(r, &in)
	in.SentAs = r.SentAs
	return in, &r.Fault, nil
}
