package crm

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

// LeftOut is a value of a file that no contact can have. The rest of its row is taken.
type LeftOut struct {
	Column string `json:"column"`
	Value  string `json:"value"`
	Reason string `json:"reason"`
}

// ValidateRow is Validate for a row of a file, with its custom fields: a value that is wrong and not required is left
// out, so that the person comes in.
func (in *ContactInput) ValidateRow(fields *custom.Fields, region string, now time.Time) (left []LeftOut, err error) {
	if len(in.Custom) > 0 {
		in.Fields = fields
	}
	left = in.LeftOut
	for {
		sent := in.withOwnLists()
		c := doc.NewChecker(nil, true)
		c.Region, c.Now = region, now
		in.region = region
		in.checkNamed(c)
		ContactTable.Check(c, doc.Place{}, in)
		var unlisted *doc.Invalid
		if errors.As(custom.CheckListed(in.custom, nil), &unlisted) {
			c.Faults = append(c.Faults, unlisted.Faults...)
		}
		doc.SortFaults(&c.Invalid, contactFields)
		dropped := sent.drop(c.Faults)
		if len(dropped) == 0 {
			return left, in.asSent(labeled(in.SentAs, c.Err()))
		}
		left = append(left, dropped...)
		*in = sent
	}
}

// fileRules are rules in words for files, where those for programs say how a program writes a value.
var fileRules = map[doc.Rule]doc.Rule{doc.BirthDay: "must be a date with a four-digit year, such as 9/7/1942"}

// labeled calls fields that no column has what people call them.
func labeled(columns map[string]string, err error) error {
	var v *doc.Invalid
	if !errors.As(err, &v) {
		return err
	}
	for i := range v.Faults {
		f := &v.Faults[i]
		if label, known := ContactTable.Label(f.Field); known && columns[f.Field] == "" {
			f.Field = label
		}
	}
	return err
}

// withOwnLists is the input with lists that a check of the other one does not change: a check leaves out what is empty
// or comes twice.
func (in *ContactInput) withOwnLists() ContactInput {
	own := *in
	own.Emails, own.Phones, own.Addresses, own.Tags = ownList(in.Emails), ownList(in.Phones), ownList(in.Addresses),
		ownList(in.Tags)
	own.ExternalIDs, own.AddedIDs = ownList(in.ExternalIDs), slices.Clone(in.AddedIDs)
	own.Custom = slices.Clone(in.Custom)
	return own
}

func ownList[E any](list *[]E) *[]E {
	if list == nil {
		return nil
	}
	own := slices.Clone(*list)
	return &own
}

// drop takes the values out that faults are about, and tells them. The last ones of a list come first, so that the
// others keep their places.
func (in *ContactInput) drop(faults []doc.Fault) (left []LeftOut) {
	gone := "" // the element that was taken out last; it may have several faults
	for _, f := range slices.Backward(faults) {
		element := f.Field[:strings.LastIndex(f.Field, ".")+1]
		if element != "" && element == gone {
			continue
		}
		if value, ok := in.dropAt(f.Field); ok {
			if gone = element; strings.HasPrefix(element, "addresses.") {
				gone = "" // only a part of it
			}
			left = append(left, LeftOut{cmp.Or(in.SentAs[f.Field], in.SentAs[strings.TrimSuffix(element, ".")], f.Label,
				f.Field), value, f.Format(string(cmp.Or(fileRules[f.Rule], f.Rule)))})
		}
	}
	slices.Reverse(left)
	return left
}

// dropAt takes what stands at a path out of the input. The value is that of an element; a text has all of its cell. ok
// is false for what a contact needs.
func (in *ContactInput) dropAt(path string) (value string, ok bool) {
	name, rest, _ := strings.Cut(path, ".")
	index, part, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(index)
	switch isElement := err == nil; {
	case in.needs(name):
		return "", false
	case name == "dob":
		in.DOB = nil
		return "", true
	case name == "emails" && isElement:
		return dropTyped(in.Emails, i, part)
	case name == "phones" && isElement:
		return dropTyped(in.Phones, i, part)
	case name == "external_id":
		return in.dropID()
	case name == "tags" && isElement:
		value = (*in.Tags)[i]
		*in.Tags = slices.Delete(*in.Tags, i, i+1)
		return value, true
	case name == "addresses" && isElement:
		f := slices.IndexFunc(AddressTexts, func(f doc.FormText[*Address, *Address]) bool { return f.Name == part })
		if f < 0 {
			return "", false
		}
		address := &(*in.Addresses)[i]
		value = AddressTexts[f].Text(address)
		AddressTexts[f].Set(address, "")
		return value, true
	case name == "custom_fields":
		before := len(in.Custom)
		in.Custom = slices.DeleteFunc(in.Custom, func(c custom.Input) bool { return custom.Key(c.Field) == rest })
		return "", len(in.Custom) < before
	}
	if f := slices.IndexFunc(ContactTexts, func(f doc.FormText[*Contact,
		*ContactInput]) bool {
		return f.Name == path
	}); f >= 0 {
		ContactTexts[f].Set(in, "")
		return "", true
	}
	return "", false
}

// needs tells whether a contact of its type cannot be without a text.
func (in *ContactInput) needs(name string) bool {
	if in.IsCompany != nil && *in.IsCompany {
		return name == "company"
	}
	return name == "first_name" || name == "last_name"
}

// dropID takes the first external id out that is wrong.
func (in *ContactInput) dropID() (value string, ok bool) {
	i := slices.IndexFunc(in.AddedIDs, func(id ExternalID) bool {
		c := doc.NewChecker(nil, true)
		id.check(c, doc.Place{Name: "external_id"})
		return c.Err() != nil
	})
	if i < 0 {
		return "", false
	}
	value = in.AddedIDs[i].Value
	in.AddedIDs = slices.Delete(in.AddedIDs, i, i+1)
	return value, true
}

// dropTyped takes an email or a phone out of a list, or only its type.
func dropTyped(list *[]Typed, i int, part string) (value string, ok bool) {
	one := &(*list)[i]
	if part == "type" {
		value, one.Type = one.Type, ""
		return value, true
	}
	value = one.Value
	*list = slices.Delete(*list, i, i+1)
	return value, true
}

// The files of an exported account may have been changed since. So a document that is read from them is checked by the
// same rules as what a client sends, as far as these do not depend on the moment or on the server: a phone number was
// read for the country that was set then, and a document may lack what a new one needs.

// CheckImported refuses a contact that no one could have sent.
func (c *Contact) CheckImported(fields *custom.Fields, now time.Time) error {
	var in ContactInput
	for _, f := range ContactTexts {
		if text := f.Text(c); text != "" {
			f.Set(&in, text)
		}
	}
	if day := dayText(c.DOB, "1/2/2006"); day != "" {
		in.DOB = &day
	}
	emails, addresses, tags := slices.Clone(c.Emails), slices.Clone(c.Addresses), slices.Clone(c.Tags)
	ids := slices.Clone(c.ExternalIDs)
	in.Emails, in.Addresses, in.Tags, in.ExternalIDs = &emails, &addresses, &tags, &ids
	check := doc.NewChecker(nil, false)
	check.Now = now
	ContactTable.Check(check, doc.Place{}, &in)
	for i := range c.Phones {
		typedTable.Check(check, doc.ElementOf("phones", i), &c.Phones[i])
	}
	if c.Stats.TotalContributions < 0 || c.Stats.RecurringContributions < 0 {
		check.Add("stats", doc.MoneyRange)
	}
	fields.CheckImported(&check.Invalid, c.Custom)
	c.checkKeys(&check.Invalid)
	return cmp.Or(check.Err(), c.checkRoom(&blank))
}

// checkKeys finds match keys that are not those of an email, a phone or an external id.
func (c *Contact) checkKeys(v *doc.Invalid) {
	if most := len(c.Emails) + len(c.Phones) + len(c.ExternalIDs); len(c.MatchKeys) > most {
		v.Add("match_keys", doc.TooMany, most)
	}
	kinds := KindsOfKeys(c.MatchKeys)
	if len(slices.Concat(kinds[:]...)) < len(c.MatchKeys) || slices.ContainsFunc(c.MatchKeys, isNoKey) ||
		!slices.Equal(kinds[0], SortedKeys(externalKeys(c.ExternalIDs))) {
		v.Add("match_keys", "must be the normal forms of emails, phones and external ids")
	}
}

func isNoKey(key string) bool { return doc.IsLonger(key, maxKey) || doc.TextRule(key) != "" }

const maxKey = 2 * (doc.MaxText + maxSource) // letters that were folded may be more
