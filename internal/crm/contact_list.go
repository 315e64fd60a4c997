package crm

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// Typed is a value with its type, as the client wrote both.
type Typed struct {
	Type  string // "" where it was not given
	Value string
}

type (
	Email = Typed // personal or work
	Phone = Typed // work, home or cell
)

var typedTable = doc.Table[*Typed, *Typed]{
	doc.Part("type", "type", doc.String(doc.MaxText), func(t *Typed) *string { return &t.Type }),
	doc.Part("value", "", doc.String(doc.MaxText), func(t *Typed) *string { return &t.Value }),
}

// typedElements are sent as objects, or as texts alone.
var typedElements = func() doc.Element[Typed] {
	of := doc.Objects(typedTable, 32, (*Typed).inWords)
	of.Read = func(r *doc.Reader, t *Typed) {
		switch r.Next() {
		case '"':
			t.Value = r.Text()
			path := r.Path()
			r.StandsFor(path+".value", path)
		case '{':
			hasValue := false
			r.Element(func(key string) {
				hasValue = hasValue || key == "value"
				typedTable.Read(r, key, t)
			})
			if !hasValue {
				r.Fault.Add(r.Path()+".value", doc.Required)
			}
		default:
			r.Skip()
			r.Wrong(doc.ObjectOrText)
		}
	}
	return of
}()

func (t *Typed) inWords() string {
	if t.Type == "" {
		return t.Value
	}
	return t.Value + " (" + t.Type + ")"
}

func appendPrimary(dst []byte, list []Typed) []byte {
	if len(list) == 0 {
		return append(dst, `null`...)
	}
	return doc.AppendText(dst, list[0].Value)
}

func emailsField() doc.Field[*Contact, *ContactInput] {
	return typedField("emails", "Email", "Emails", &emailRule,
		func(c *Contact) *[]Typed { return &c.Emails }, func(in *ContactInput) **[]Typed { return &in.Emails },
		func(in *ContactInput) *[]string { return &in.emailKeys })
}

func phonesField() doc.Field[*Contact, *ContactInput] {
	return typedField("phones", "Phone", "Phones", &phoneRule,
		func(c *Contact) *[]Typed { return &c.Phones }, func(in *ContactInput) **[]Typed { return &in.Phones },
		func(in *ContactInput) *[]string { return &in.phoneKeys })
}

// typedRule is what a list of typed values must satisfy.
type typedRule struct {
	kinds  []string
	prefix string                                           // of the match keys
	normal func(value, region string) (key string, ok bool) // what values are compared by
	refuse func(c *doc.Checker, at doc.Place)               // a value that has no normal form
}

var (
	emailRule = typedRule{kinds: []string{"personal", "work"}, prefix: EmailPrefix,
		normal: func(value, _ string) (string, bool) { return text.NormalEmail(value) },
		refuse: func(c *doc.Checker, at doc.Place) { c.AddAt(at, "value", doc.EmailForm) }}
	phoneRule = typedRule{kinds: []string{"work", "home", "cell"}, prefix: PhonePrefix, normal: text.NormalPhone,
		refuse: func(c *doc.Checker, at doc.Place) { c.AddAt(at, "value", doc.PhoneForm, c.Region) }}
)

// typedField is a list of emails or phones; each has a match key in step with it.
func typedField(name, label, plural string, rule *typedRule, in func(*Contact) *[]Typed,
	of func(*ContactInput) **[]Typed, keys func(*ContactInput) *[]string,
) doc.Field[*Contact, *ContactInput] {
	elements := typedElements
	elements.Key = func(t *Typed, region string) string { return rule.identity(t.Value, region) }
	f := doc.List(name, label, plural, maxEmails, maxSent, elements, in, of)
	f.Check = func(c *doc.Checker, _ doc.Place, in *ContactInput) {
		if sent := *of(in); sent != nil && !c.HasFault(name) { // more were sent than are looked at
			*sent, *keys(in) = rule.check(c, name, *sent)
		}
	}
	f.Merge = func(c *Contact, sent *ContactInput, _ time.Time) {
		if *of(sent) == nil {
			return
		}
		merged := slices.Clone(*in(c))
		for i, element := range **of(sent) {
			key := (*keys(sent))[i]
			same := func(known Typed) bool { return known.Value == element.Value }
			if key == "" && !slices.ContainsFunc(merged, same) || key != "" && c.addMatchKey(key) {
				merged = append(merged, element)
			}
		}
		*in(c) = merged
	}
	takeBack := f.Undo
	f.Undo = func(c *Contact, d *doc.Difference, region string) bool {
		left := takeBack(c, d, region)
		c.MatchKeys = rule.rekeyed(c.MatchKeys, *in(c), c.MatchKeys, region)
		return left
	}
	replace := f.Patch
	f.Patch = func(c *Contact, sent *ContactInput, now time.Time) {
		switch {
		case *of(sent) == nil:
		case sent.isFirst(name):
			*in(c) = rule.toFront(*in(c), (**of(sent))[0], sent.region)
			if key := (*keys(sent))[0]; key != "" {
				c.addMatchKey(key)
			}
		default:
			replace(c, sent, now)
			c.replaceMatchKeys(rule.prefix, *keys(sent))
		}
	}
	return f
}

// key is the match key of a value, "" where it tells no two people apart. ok is false where the value has no normal
// form.
func (rule *typedRule) key(value, region string) (key string, ok bool) {
	normal, ok := rule.normal(value, region)
	if normal == "" {
		return "", ok
	}
	return rule.prefix + normal, ok
}

// rekeyed are match keys with those of a list. A number without its country has the key by which it was known, and not
// the one that it would have in the region of today.
func (rule *typedRule) rekeyed(keys []string, list []Typed, known []string, region string) []string {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return strings.HasPrefix(key, rule.prefix) })
	for i := range list {
		key, _ := rule.key(list[i].Value, region)
		if rule == &phoneRule && !ContainsSorted(known, key) {
			key = cmp.Or(knownPhone(list[i].Value, known), key)
		}
		keys = append(keys, key)
	}
	return SortedKeys(WithoutEmpty(keys))
}

// knownPhone is the match key that a number has in the country by which it was known, "" where it was not.
func knownPhone(value string, known []string) string {
	for _, key := range known {
		if number, isPhone := strings.CutPrefix(key, PhonePrefix); isPhone {
			if same, ok := text.SamePhone(value, number); ok {
				return PhonePrefix + same
			}
		}
	}
	return ""
}

// identity is what two values of a list are compared by.
func (rule *typedRule) identity(value, region string) string {
	key, _ := rule.key(value, region)
	return cmp.Or(key, value)
}

// check looks at each element and keeps those that say something and differ by normal form, with their match keys. A
// value that is fine but tells no two people apart has the key "", and is compared as it was written. Once there are
// too many, the rest is not looked at.
func (rule *typedRule) check(c *doc.Checker, name string, sent []Typed) (kept []Typed, keys []string) {
	kept = make([]Typed, 0, min(len(sent), maxEmails+1))
	var seen text.Set
	for i, element := range sent {
		if len(kept) > maxEmails {
			break
		}
		at := doc.ElementOf(name, i)
		if element.Value == "" || c.HasAt(at, "") { // website forms send blanks
			continue
		}
		if element.Type != "" && !slices.Contains(rule.kinds, element.Type) {
			c.AddAt(at, "type", doc.OneOf, strings.Join(rule.kinds, ", "))
		}
		c.CheckText(at, "value", element.Value, doc.MaxText)
		if c.HasAt(at, "value") {
			continue
		}
		key, ok := rule.key(element.Value, c.Region)
		if !ok {
			rule.refuse(c, at)
			continue
		}
		if seen.Add(cmp.Or(key, element.Value)) {
			kept, keys = append(kept, element), append(keys, key)
		}
	}
	c.TooMany(name, len(kept), maxEmails)
	return kept, keys
}

// Address is a postal address; each part is optional.
type Address struct {
	Line1, Line2, City, State, Zipcode, Country string
	CreatedAt, UpdatedAt                        time.Time
}

// AddressTable are the parts that a client may send.
var AddressTable = doc.Table[*Address, *Address]{
	doc.Part("address_1", "street", doc.String(doc.MaxText), func(a *Address) *string { return &a.Line1 }),
	doc.Part("address_2", "line 2", doc.String(doc.MaxText), func(a *Address) *string { return &a.Line2 }),
	doc.Part("city", "city", doc.String(doc.MaxText), func(a *Address) *string { return &a.City }),
	doc.Part("state", "state", doc.Choice(doc.MaxText, doc.StateCode, text.IsTwoLetters),
		func(a *Address) *string { return &a.State }),
	doc.Part("zipcode", "postal code", doc.String(doc.MaxText), func(a *Address) *string { return &a.Zipcode }),
	doc.Part("country", "country", doc.Choice(doc.MaxText, doc.Country, text.IsCountry),
		func(a *Address) *string { return &a.Country }),
}

func loadAddress(r *doc.Reader, a *Address) {
	r.Element(func(key string) {
		switch key {
		case "created_at":
			a.CreatedAt = microTime.Read(r)
		case "updated_at":
			a.UpdatedAt = microTime.Read(r)
		default:
			AddressTable.Load(r, key, a)
		}
	})
}

func addressesField() doc.Field[*Contact, *ContactInput] {
	of := doc.Objects(AddressTable, 256, (*Address).inWords)
	of.Append = func(dst []byte, a *Address, i int) []byte { return a.append(dst, i == 0) }
	of.Key = func(a *Address, _ string) string { return a.normal() }
	of.Load = loadAddress
	f := doc.List("addresses", "Address", "Addresses", maxEmails, maxSent, of,
		func(c *Contact) *[]Address { return &c.Addresses },
		func(in *ContactInput) **[]Address { return &in.Addresses })
	f.Check = func(c *doc.Checker, _ doc.Place, in *ContactInput) {
		if in.Addresses != nil && !c.HasFault("addresses") {
			*in.Addresses = checkAddresses(c, *in.Addresses)
		}
	}
	f.Merge = func(c *Contact, in *ContactInput, now time.Time) {
		if in.Addresses == nil {
			return
		}
		merged, known := slices.Clone(c.Addresses), addressPlaces(c.Addresses)
		for i := range *in.Addresses { // which differ from each other
			if _, found := known[(*in.Addresses)[i].normal()]; !found {
				merged = append(merged, (*in.Addresses)[i].at(now))
			}
		}
		c.Addresses = merged
	}
	f.Patch = func(c *Contact, in *ContactInput, now time.Time) {
		switch {
		case in.Addresses == nil:
			return
		case in.isFirst("addresses"):
			c.Addresses = in.patchFirst(c.Addresses, now)
			return
		}
		patched, known := make([]Address, 0, len(*in.Addresses)), addressPlaces(c.Addresses)
		for _, address := range *in.Addresses {
			if i, found := known[address.normal()]; found {
				address = address.keep(c.Addresses[i], now)
			} else {
				address = address.at(now)
			}
			patched = append(patched, address)
		}
		c.Addresses = patched
	}
	return f
}

// checkAddresses looks at each address and keeps those that say something and differ from each other.
func checkAddresses(c *doc.Checker, sent []Address) []Address {
	kept := []Address{}
	var seen text.Set
	for i := range sent {
		if len(kept) > maxEmails {
			break
		}
		a := &sent[i]
		AddressTable.Check(c, doc.ElementOf("addresses", i), a)
		if AddressTable.Size(a) > 0 && seen.Add(a.normal()) {
			kept = append(kept, *a)
		}
	}
	c.TooMany("addresses", len(kept), maxEmails)
	return kept
}

// spellAddresses replaces the names of states and countries by their codes. What has none stays, and is refused.
func (in *ContactInput) spellAddresses() {
	if in.Addresses == nil {
		return
	}
	for i := range *in.Addresses {
		a := &(*in.Addresses)[i]
		if code, known := text.FindState(a.State); known {
			a.State = strings.ToUpper(code)
		}
		if code, known := text.FindCountry(a.Country); known {
			a.Country = strings.ToUpper(code)
		}
	}
}

func (a *Address) append(dst []byte, primary bool) []byte {
	dst = AddressTable.AppendObject(dst, a)
	dst = append(dst[:len(dst)-1], `,"type":"home","is_primary":`...)
	if primary {
		dst = append(dst, '1')
	} else {
		dst = append(dst, '0')
	}
	dst = microTime.Append(append(dst, `,"created_at":`...), a.CreatedAt)
	dst = microTime.Append(append(dst, `,"updated_at":`...), a.UpdatedAt)
	return append(dst, '}')
}

func appendPrimaryAddress(dst []byte, c *Contact) []byte {
	if len(c.Addresses) == 0 {
		return append(dst, `null`...)
	}
	return c.Addresses[0].append(dst, true)
}

// at dates a new address.
func (a Address) at(now time.Time) Address {
	a.CreatedAt, a.UpdatedAt = now, now
	return a
}

// keep is an address that stays in a replaced list: it keeps its dates.
func (a Address) keep(old Address, now time.Time) Address {
	a.CreatedAt, a.UpdatedAt = old.CreatedAt, old.UpdatedAt
	if a != old { // written differently
		a.UpdatedAt = now
	}
	return a
}

// addressPlaces tells where in a list each address is, by its normal form. The first of several counts.
func addressPlaces(list []Address) map[string]int {
	if len(list) == 0 {
		return nil
	}
	places := make(map[string]int, len(list))
	for i := range slices.Backward(list) {
		places[list[i].normal()] = i
	}
	return places
}

func (a *Address) inWords() string {
	var texts []string
	for i := range AddressTable {
		if text := AddressTable[i].Text(a); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

// zipFirst are countries where the postal code stands before the city.
var zipFirst = strings.Fields("AUT BEL BGR CHE CZE DEU DNK ESP EST FIN FRA GRC HRV HUN ISL ISR ITA LIE LUX MEX NLD NOR POL PRT ROU SRB SVK SVN SWE TUR")

// Lines is an address as it stands on an envelope that is sent from a country: that one is left out, and any other is
// written in capitals. Whatever else is missing, the rest is there.
func (a *Address) Lines(home string) []string {
	if strings.EqualFold(a.Country, home) {
		return a.lines("")
	}
	return a.lines(strings.ToUpper(text.CountryName(a.Country)))
}

// OneLine is an address as pages show it.
func (a *Address) OneLine() string {
	return strings.Join(a.lines(text.CountryName(a.Country)), ", ")
}

func (a *Address) lines(country string) []string {
	city := a.City
	if city != "" && a.State != "" {
		city += ","
	}
	place := strings.Join(strings.Fields(city+" "+a.State+" "+a.Zipcode), " ")
	if a.State == "" && slices.Contains(zipFirst, strings.ToUpper(a.Country)) {
		place = strings.TrimSpace(a.Zipcode + " " + a.City)
	}
	return WithoutEmpty([]string{a.Line1, a.Line2, place, country})
}

// normal is the form that addresses are compared by: all parts without regard to case and spaces.
func (a *Address) normal() string {
	key := make([]byte, 0, len(AddressTable)+AddressTable.Size(a))
	for i := range AddressTable {
		for _, r := range AddressTable[i].Text(a) {
			if !unicode.IsSpace(r) {
				key = utf8.AppendRune(key, caseless(r))
			}
		}
		key = append(key, 0) // no part holds it
	}
	return string(key)
}

// caseless is the same letter for all that strings.EqualFold takes for equal: the first of them.
func caseless(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	first := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		first = min(first, other)
	}
	return first
}

// AddressTexts are the text fields of an address, in the order of the wire.
var AddressTexts = AddressTable.Texts()

// Detail is a way to reach a contact.
type Detail string

// The details that a contact can be asked to have, or to lack.
const (
	EmailDetail Detail = "email"
	PhoneDetail Detail = "phone"
)

// Details are all of them.
var Details = []Detail{EmailDetail, PhoneDetail}

// HasDetail tells whether a contact can be reached in a way.
func (c *Contact) HasDetail(d Detail) bool {
	if d == PhoneDetail {
		return len(c.Phones) > 0
	}
	return len(c.Emails) > 0
}

// ContactList is what a form has to know about a list of a contact: what people call an element, the parts of one, and
// how many there may be.
func ContactList(name string) (label string, parts []string, limit int) {
	f := ContactTable.Find(name)
	return f.Label, f.Parts, f.Limit
}
