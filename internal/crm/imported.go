package crm

import (
	"cmp"
	"slices"
	"time"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
)

// The files of an exported account may have been changed since. So a document that is read from them is checked by the same rules as what a
// client sends, as far as these do not depend on the moment or on the server: a phone number was read for the country that was set then, and a
// document may lack what a new one needs.

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
	if len(slices.Concat(kinds[:]...)) < len(c.MatchKeys) || slices.ContainsFunc(c.MatchKeys, isNoKey) || !slices.Equal(kinds[0], SortedKeys(externalKeys(c.ExternalIDs))) {
		v.Add("match_keys", "must be the normal forms of emails, phones and external ids")
	}
}

func isNoKey(key string) bool { return doc.IsLonger(key, maxKey) || doc.TextRule(key) != "" }

const maxKey = 2 * (doc.MaxText + maxSource) // letters that were folded may be more
