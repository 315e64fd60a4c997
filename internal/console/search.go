package console

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/gifts"
)

// How much a search shows of each kind, and how many campaigns it looks at, the newest first.
const (
	minSuggestion     = 2 // letters
	foundCampaigns    = 5
	searchedCampaigns = 1000
)

// foundContacts is how many contacts a search shows.
const foundContacts = 8

// searchView is what a search in everything has found.
type searchView struct {
	Query     string
	Contacts  []*crm.Contact
	Meant     []meantLink // what else may have been typed, where no contact was found
	Total     int64       // of contacts that match
	List      string      // address of all of them
	Campaigns []campaignRow
	Gifts     []*giftRow
	Named     []gifts.CampaignName // campaigns, while a person types
	Pick      bool                 // a contact is chosen, and no page opened
	exact     []string             // addresses of what has the text as its id
}

func (v *searchView) Empty() bool { return len(v.Contacts)+len(v.Campaigns)+len(v.Gifts) == 0 }

// searchPage finds contacts as their list does, campaigns by title or slug, and anything by its id. Where an id is all that was found, it
// leads there.
func (r *request) searchPage() error {
	view := searchView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	view.List = withQuery(r.path("/contacts"), url.Values{"q": {view.Query}})
	if view.Query != "" {
		for _, search := range []func(*request, *searchView) error{(*request).searchContacts, (*request).searchCampaigns, (*request).searchGifts} {
			if err := search(r, &view); err != nil {
				return err
			}
		}
	}
	if len(view.exact) == 1 && len(view.Contacts)+len(view.Campaigns)+len(view.Gifts) == 1 {
		return r.redirect(view.exact[0])
	}
	return r.render("search", page{Title: "Search", Section: "search", Data: &view})
}

func (r *request) searchContacts(view *searchView) error {
	_, filter, err := r.contactQuery(url.Values{"q": {view.Query}})
	if err != nil {
		return err
	}
	filter.Sort = find.Sort{Descending: true} // the newest first, as in the list
	found, result, err := r.store.MatchingContacts(r.Context(), r.account(), crm.Active, filter, crm.PageRequest{Page: 1, PerPage: foundContacts})
	if err != nil {
		return err
	}
	view.Total = result.Total
	if err = r.foundByID(view, found); err == nil && len(view.Contacts) == 0 {
		view.Meant, err = r.meant(view.Query, func(text string) string { return withQuery(r.path("/search"), url.Values{"q": {text}}) })
	}
	return err
}

// foundByID adds the contact that has what was typed as its id to those that were found.
func (r *request) foundByID(view *searchView, found []crm.Contact) error {
	if id, err := strconv.ParseInt(view.Query, 10, 64); err == nil && view.Query[0] != '0' { // the number of a gift may begin with 0
		contact, err := r.store.ContactRecord(r.Context(), r.account(), id)
		switch {
		case err == nil:
			found = append([]crm.Contact{contact}, slices.DeleteFunc(found, func(c crm.Contact) bool { return c.ID == id })...)
			view.exact = append(view.exact, r.path(contactPath(id)))
		case !errors.Is(err, crm.ErrNotFound):
			return err
		}
	}
	view.Contacts = pointers(found)
	return nil
}

// meantLink leads to a search for what was probably meant.
type meantLink struct{ Text, Address string }

// meant are the searches that were probably meant by one that found no contact.
func (r *request) meant(typed string, address func(text string) string) (links []meantLink, err error) {
	texts, err := r.store.NearSearches(r.Context(), r.account(), typed, r.options.Region)
	for _, text := range texts {
		links = append(links, meantLink{text, address(text)})
	}
	return links, err
}

// suggestions are what a field for a search offers while a person types, or a field for a contact. Each costs a few rows of indexes, however many contacts there are.
func (r *request) suggestions() (err error) {
	view := searchView{Query: strings.TrimSpace(r.URL.Query().Get("q")), Pick: r.URL.Query().Has("pick")}
	view.List = withQuery(r.path("/search"), url.Values{"q": {view.Query}})
	if utf8.RuneCountInString(view.Query) < minSuggestion {
		view.Query = ""
	} else {
		err = r.suggest(&view)
	}
	if err != nil {
		return err
	}
	return r.renderPart("search", "suggestions", page{Data: &view})
}

func (r *request) suggest(view *searchView) error {
	found, err := r.store.SuggestContacts(r.Context(), r.account(), find.ParseSearch(view.Query, r.options.Region), foundContacts)
	if err == nil {
		err = r.foundByID(view, found)
	}
	if err != nil || view.Pick {
		view.Contacts = slices.DeleteFunc(view.Contacts, (*crm.Contact).Archived) // which can get no gift
		return err
	}
	campaigns, err := r.store.NewestCampaigns(r.Context(), r.account(), offeredCampaigns)
	for _, c := range campaigns {
		if strings.Contains(text.Fold(c.Title), text.Fold(view.Query)) && len(view.Named) < foundCampaigns {
			view.Named = append(view.Named, c)
		}
	}
	return err
}

func (r *request) searchCampaigns(view *searchView) error {
	wanted, request := strings.ToLower(view.Query), crm.PageRequest{Page: 1, PerPage: 100}
	for ; request.Skip() < searchedCampaigns; request.Page++ {
		some, _, err := r.store.CampaignPage(r.Context(), r.account(), campaign.AllCampaigns, request)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, c := range some {
			if !strings.Contains(strings.ToLower(c.Title), wanted) && !strings.Contains(c.Slug, wanted) {
				continue
			}
			if view.Campaigns = append(view.Campaigns, r.campaignRow(c)); len(view.Campaigns) == foundCampaigns {
				return nil
			}
		}
	}
	return nil
}

// searchGifts finds a gift by its ID, by the number that receipts show, or by the ID that another system knows it by.
func (r *request) searchGifts(view *searchView) error {
	var found []gifts.GiftRecord
	number, _ := strconv.ParseInt(strings.TrimPrefix(view.Query, "#"), 10, 64)
	byCode, err := r.store.GiftRecord(r.Context(), r.account(), view.Query)
	if errors.Is(err, crm.ErrNotFound) {
		byCode, err = r.store.GiftNumbered(r.Context(), r.account(), number)
	}
	switch {
	case err == nil:
		found = append(found, byCode)
	case !errors.Is(err, crm.ErrNotFound):
		return err
	}
	byReference, _, err := r.store.GiftPage(r.Context(), r.account(), giving.GiftFilter{ExternalID: view.Query}, crm.PageRequest{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	if view.Gifts, err = r.giftRows(append(found, byReference...)); err != nil {
		return err
	}
	for _, row := range view.Gifts {
		view.exact = append(view.exact, r.path(giftPath(row.Code)))
	}
	return nil
}
