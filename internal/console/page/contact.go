package page

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

func ContactName(c crm.Contact) string {
	if c.IsCompany {
		return c.Company
	}
	names := []string{c.FirstName, c.MiddleName, c.LastName}
	return cmp.Or(strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), " "), c.Name())
}

func (r *Request) ContactOf() (crm.Contact, error) {
	return r.Store.ContactRecord(r.Context(), r.Account(), r.ID)
}

// ActiveContact is one that may be changed. A person with an old page of one that is archived by now is told so.
func (r *Request) ActiveContact() (contact crm.Contact, ok bool, err error) {
	if contact, err = r.ContactOf(); err != nil || !contact.Archived() {
		return contact, err == nil, err
	}
	if contact.MergedInto != 0 {
		return contact, false, r.ToSurvivor(contact)
	}
	said := Notice{Text: ContactName(contact) + " is archived, so nothing was changed. Restore the contact first."}
	return contact, false, r.Redirect(r.Path(ContactPath(r.ID)), said)
}

// Employer is the company that a person belongs to.
func Employer(c *crm.Contact) string {
	if c.IsCompany {
		return ""
	}
	return c.Company
}

// ToSurvivor leads from a contact that was merged to the one that it is part of now.
func (r *Request) ToSurvivor(contact crm.Contact) (err error) {
	survivor := contact
	for survivor.MergedInto != 0 {
		if survivor, err = r.Store.ContactRecord(r.Context(), r.Account(), survivor.MergedInto); err != nil {
			return err
		}
	}
	said := Notice{Text: ContactName(contact) + " was merged into this contact."}
	return r.Redirect(r.Path(ContactPath(survivor.ID)), said)
}
