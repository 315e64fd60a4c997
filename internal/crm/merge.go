package crm

import (
	"reflect"
	"slices"
	"time"
)

// NewContact is the contact that a valid input describes. Its id is given by the store.
func NewContact(in ContactInput, now time.Time) (Contact, error) {
	now = now.UTC().Truncate(time.Second)
	c, err := Contact{CreatedAt: now, UpdatedAt: now}.Merge(in, now)
	c.UpdatedAt = now
	return c, err
}

// Merge adds a valid input to the contact that it matches: texts that were sent overwrite, new emails, phones,
// addresses and tags are appended, nothing is dropped. Merging twice is merging once.
func (c Contact) Merge(in ContactInput, now time.Time) (Contact, error) {
	now = changeTime(now, c.UpdatedAt)
	merged := c
	merged.MatchKeys = slices.Clone(c.MatchKeys)
	for _, t := range merged.texts(&in) {
		if t.sent != nil && *t.sent != "" {
			*t.field = *t.sent
		}
	}
	if !in.dob.IsZero() {
		merged.DOB = in.dob
	}
	if in.Emails != nil {
		merged.Emails = slices.Clone(c.Emails)
		for i, email := range *in.Emails {
			if merged.addMatchKey(in.emailKeys[i]) {
				merged.Emails = append(merged.Emails, email)
			}
		}
	}
	if in.Phones != nil {
		merged.Phones = slices.Clone(c.Phones)
		for i, phone := range *in.Phones {
			key := in.phoneKeys[i]
			if key == "" && !merged.hasPhone(phone.Value) || key != "" && merged.addMatchKey(key) {
				merged.Phones = append(merged.Phones, phone)
			}
		}
	}
	if in.Addresses != nil {
		merged.Addresses = slices.Clone(c.Addresses)
		known := addressPlaces(c.Addresses)
		for _, address := range *in.Addresses { // which differ from each other
			if _, found := known[address.normal()]; !found {
				merged.Addresses = append(merged.Addresses, address.at(now))
			}
		}
	}
	if in.Tags != nil {
		merged.Tags = distinct(append(slices.Clone(c.Tags), *in.Tags...))
	}
	return merged.changedFrom(c, now)
}

// Patch changes what was sent: texts are set or cleared, lists replaced whole.
func (c Contact) Patch(in ContactInput, now time.Time) (Contact, error) {
	if in.Seen != "" && in.Seen != c.Version() {
		return c, ErrChanged
	}
	now = changeTime(now, c.UpdatedAt)
	patched := c
	for _, t := range patched.texts(&in) {
		if t.sent != nil {
			*t.field = *t.sent
		}
	}
	if in.DOB != nil {
		patched.DOB = in.dob
	}
	if in.Emails != nil {
		patched.Emails = *in.Emails
		patched.replaceMatchKeys(emailPrefix, in.emailKeys)
	}
	if in.Phones != nil {
		patched.Phones = *in.Phones
		patched.replaceMatchKeys(phonePrefix, in.phoneKeys)
	}
	if in.Addresses != nil {
		patched.Addresses = make([]Address, 0, len(*in.Addresses))
		known := addressPlaces(c.Addresses)
		for _, address := range *in.Addresses {
			if i, found := known[address.normal()]; found {
				address = address.keep(c.Addresses[i], now)
			} else {
				address = address.at(now)
			}
			patched.Addresses = append(patched.Addresses, address)
		}
	}
	if in.Tags != nil {
		patched.Tags = *in.Tags
	}
	return patched.changedFrom(c, now)
}

// Archive and Restore move the contact between its two states.
func (c Contact) Archive(now time.Time) Contact {
	c.ArchivedAt = changeTime(now, c.UpdatedAt)
	c.UpdatedAt = c.ArchivedAt
	return c
}

func (c Contact) Restore(now time.Time) Contact {
	c.ArchivedAt = time.Time{}
	c.UpdatedAt = changeTime(now, c.UpdatedAt)
	return c
}

// hasPhone compares numbers without a match key, as they were written.
func (c *Contact) hasPhone(value string) bool {
	return slices.ContainsFunc(c.Phones, func(p Phone) bool { return p.Value == value })
}

// text pairs a field of a contact with what was sent for it.
type text struct {
	field *string
	sent  *string
}

func (c *Contact) texts(in *ContactInput) []text {
	return []text{
		{&c.FirstName, in.FirstName},
		{&c.MiddleName, in.MiddleName},
		{&c.LastName, in.LastName},
		{&c.Company, in.Company},
		{&c.Title, in.Title},
		{&c.TwitterURL, in.TwitterURL},
		{&c.LinkedinURL, in.LinkedinURL},
		{&c.FacebookURL, in.FacebookURL},
		{&c.Note, in.Note},
	}
}

// changedFrom stamps a contact that differs from what it was, and refuses one that holds too much.
func (c Contact) changedFrom(old Contact, now time.Time) (Contact, error) {
	if c.sameAs(old) {
		return old, nil
	}
	v := &Invalid{}
	for _, list := range []struct {
		field     string
		have, max int
	}{
		{"emails", len(c.Emails), maxEmails},
		{"phones", len(c.Phones), maxEmails},
		{"addresses", len(c.Addresses), maxEmails},
		{"tags", len(c.Tags), maxTags},
	} {
		if list.have > list.max {
			v.Add(list.field, Full, list.max, list.field)
		}
	}
	if field := c.outgrown(&old); field != "" && v.Err() == nil {
		v.Add(field, TooLarge, maxDocument>>10)
	}
	c.UpdatedAt = changeTime(now, old.UpdatedAt)
	return c, v.Err()
}

func (c Contact) sameAs(old Contact) bool {
	empty := func(c Contact) Contact { // nil and empty lists say the same
		if len(c.Emails) == 0 {
			c.Emails = nil
		}
		if len(c.Phones) == 0 {
			c.Phones = nil
		}
		if len(c.Addresses) == 0 {
			c.Addresses = nil
		}
		if len(c.Tags) == 0 {
			c.Tags = nil
		}
		if len(c.MatchKeys) == 0 {
			c.MatchKeys = nil
		}
		return c
	}
	return reflect.DeepEqual(empty(c), empty(old))
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
	for i, address := range slices.Backward(list) {
		places[address.normal()] = i
	}
	return places
}
