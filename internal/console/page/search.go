package page

import (
	"errors"
	"net/url"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
)

// FoundContacts is how many contacts a search shows.
const FoundContacts = 8

// SearchView is what a search in everything has found.
type SearchView struct {
	Query     string
	Contacts  []*crm.Contact
	Meant     []MeantLink // what else may have been typed, where no contact was found
	Total     int64       // of contacts that match
	List      string      // address of all of them
	Campaigns []CampaignRow
	Gifts     []*GiftRow
	Named     []store.CampaignName // campaigns, while a person types
	Pick      bool                 // a contact is chosen, and no page opened
	Exact     []string             // addresses of what has the text as its id
}

func (v *SearchView) Empty() bool { return len(v.Contacts)+len(v.Campaigns)+len(v.Gifts) == 0 }

func (r *Request) SearchContacts(view *SearchView) error {
	_, filter, err := r.ContactQuery(url.Values{"q": {view.Query}})
	if err != nil {
		return err
	}
	filter.Sort = find.Sort{Descending: true} // the newest first, as in the list
	found, result, err := r.Store.MatchingContacts(r.Context(), r.Account(), crm.Active, filter, crm.PageRequest{Page: 1, PerPage: FoundContacts})
	if err != nil {
		return err
	}
	view.Total = result.Total
	if err = r.FoundByID(view, found); err == nil && len(view.Contacts) == 0 {
		view.Meant, err = r.Meant(view.Query, func(text string) string { return WithQuery(r.Path("/search"), url.Values{"q": {text}}) })
	}
	return err
}

// FoundByID adds the contact that has what was typed as its id to those that were found.
func (r *Request) FoundByID(view *SearchView, found []crm.Contact) error {
	if id, err := strconv.ParseInt(view.Query, 10, 64); err == nil && view.Query[0] != '0' { // the number of a gift may begin with 0
		contact, err := r.Store.ContactRecord(r.Context(), r.Account(), id)
		switch {
		case err == nil:
			found = append([]crm.Contact{contact}, slices.DeleteFunc(found, func(c crm.Contact) bool { return c.ID == id })...)
			view.Exact = append(view.Exact, r.Path(ContactPath(id)))
		case !errors.Is(err, crm.ErrNotFound):
			return err
		}
	}
	view.Contacts = Pointers(found)
	return nil
}

// MeantLink leads to a search for what was probably meant.
type MeantLink struct{ Text, Address string }

// Meant are the searches that were probably meant by one that found no contact.
func (r *Request) Meant(typed string, address func(text string) string) (links []MeantLink, err error) {
	texts, err := r.Store.NearSearches(r.Context(), r.Account(), typed, r.Options.Region)
	for _, text := range texts {
		links = append(links, MeantLink{text, address(text)})
	}
	return links, err
}
