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

// ValidateRow is Validate for a row of a file, with its custom fields: a value that is wrong and not required is left out, so that the person comes in.
func (in *ContactInput) ValidateRow(fields *custom.Fields, region string, now time.Time) (left []LeftOut, err error) {
	if len(in.Custom) > 0 {
		in.Fields = fields
	}
	for {
		sent := in.withOwnLists()
		c := doc.NewChecker(nil, true)
		c.Region, c.Now = region, now
		in.region = region
		ContactTable.Check(c, doc.Place{}, in)
		var unlisted *doc.Invalid
		if errors.As(custom.CheckListed(in.custom, nil), &unlisted) {
			c.Faults = append(c.Faults, unlisted.Faults...)
		}
		doc.SortFaults(&c.Invalid, contactFields)
		dropped := sent.drop(c.Faults)
		if len(dropped) == 0 {
			return left, in.asSent(c.Err())
		}
		left = append(left, dropped...)
		*in = sent
	}
}

// withOwnLists is the input with lists that a check of the other one does not change: a check leaves out what is empty or comes twice.
func (in *ContactInput) withOwnLists() ContactInput {
	own := *in
	own.Emails, own.Phones, own.Addresses, own.Tags = ownList(in.Emails), ownList(in.Phones), ownList(in.Addresses), ownList(in.Tags)
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

// drop takes the values out that faults are about, and tells them. The last ones of a list come first, so that the others keep their places.
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
			left = append(left, LeftOut{cmp.Or(in.SentAs[f.Field], f.Label, f.Field), value, f.Format(string(f.Rule))})
		}
	}
	slices.Reverse(left)
	return left
}

// dropAt takes what stands at a path out of the input. The value is that of an element; a text has all of its cell. ok is false for what a contact needs.
func (in *ContactInput) dropAt(path string) (value string, ok bool) {
	name, rest, _ := strings.Cut(path, ".")
	index, part, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(index)
	switch isElement := err == nil; {
	case name == "first_name", name == "last_name":
		return "", false
	case name == "dob":
		in.DOB = nil
		return "", true
	case name == "emails" && isElement:
		return dropTyped(in.Emails, i, part)
	case name == "phones" && isElement:
		return dropTyped(in.Phones, i, part)
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
	if f := slices.IndexFunc(ContactTexts, func(f doc.FormText[*Contact, *ContactInput]) bool { return f.Name == path }); f >= 0 {
		ContactTexts[f].Set(in, "")
		return "", true
	}
	return "", false
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
