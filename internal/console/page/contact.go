package page

import (
	"cmp"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/store/merges"
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

// OfContact has a handler answer about the contact in the path, or leads to the one that it was merged into.
func OfContact(handle func(*Request, crm.Contact) error) Handler {
	return Of((*Request).ContactOf, func(r *Request, contact crm.Contact) error {
		if contact.MergedInto != 0 {
			return r.ToSurvivor(contact)
		}
		return handle(r, contact)
	})
}

// OfActive is OfContact for a contact that may be changed. A person with an old page of one that is archived by now is told so.
func OfActive(handle func(*Request, crm.Contact) error) Handler {
	return OfContact(func(r *Request, contact crm.Contact) error {
		if !contact.Archived() {
			return handle(r, contact)
		}
		said := Notice{Text: ContactName(contact) + " is archived, so nothing was changed. Restore the contact first."}
		return r.Redirect(r.Path(ContactPath(r.ID)), said)
	})
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

// TidyView is what is to be done about contacts that may be there twice.
type TidyView struct {
	Sure    int64 // groups that are surely one person
	Reviews int64 // merges to look at
}

// ToTidy counts what the pages of contacts and the home page mention.
func (r *Request) ToTidy() (view TidyView, err error) {
	if view.Sure, err = r.Store.SureGroups(r.Context(), r.Account()); err != nil {
		return view, err
	}
	_, reviews, err := r.Store.Merges(r.Context(), r.Account(), merges.Filter{Review: true}, crm.PageRequest{Page: 1, PerPage: 1})
	view.Reviews = reviews.Total
	return view, err
}
