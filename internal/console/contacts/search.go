package contacts

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// How much a search shows of each kind, and how many campaigns it looks at, the newest first.
const (
	minSuggestion     = 2 // letters
	foundCampaigns    = 5
	searchedCampaigns = 1000
)

// SearchPage finds contacts as their list does, campaigns by title or slug, and anything by its id. Where an id is all that was found, it
// leads there.
func SearchPage(r *page.Request) error {
	view := page.SearchView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	view.List = page.WithQuery(r.Path("/contacts"), url.Values{"q": {view.Query}})
	if view.Query != "" {
		for _, search := range []func(*page.Request, *page.SearchView) error{(*page.Request).SearchContacts, searchCampaigns, searchGifts} {
			if err := search(r, &view); err != nil {
				return err
			}
		}
	}
	if len(view.Exact) == 1 && len(view.Contacts)+len(view.Campaigns)+len(view.Gifts) == 1 {
		return r.Redirect(view.Exact[0])
	}
	return r.Render("search", page.View{Title: "Search", Section: "search", Data: &view})
}

// Suggestions are what a field for a search offers while a person types, or a field for a contact. Each costs a few rows of indexes, however many contacts there are.
func Suggestions(r *page.Request) (err error) {
	view := page.SearchView{Query: strings.TrimSpace(r.URL.Query().Get("q")), Pick: r.URL.Query().Has("pick")}
	view.List = page.WithQuery(r.Path("/search"), url.Values{"q": {view.Query}})
	if utf8.RuneCountInString(view.Query) < minSuggestion {
		view.Query = ""
	} else {
		err = suggest(r, &view)
	}
	if err != nil {
		return err
	}
	return r.RenderPart("search", "suggestions", page.View{Data: &view})
}

func suggest(r *page.Request, view *page.SearchView) error {
	found, err := r.Store.SuggestContacts(r.Context(), r.Account(), find.ParseSearch(view.Query, r.Options.Region), page.FoundContacts)
	if err == nil {
		err = r.FoundByID(view, found)
	}
	if err != nil || view.Pick {
		view.Contacts = slices.DeleteFunc(view.Contacts, (*crm.Contact).Archived) // which can get no gift
		return err
	}
	campaigns, err := r.Store.NewestCampaigns(r.Context(), r.Account(), page.OfferedCampaigns)
	for _, c := range campaigns {
		if strings.Contains(text.Fold(c.Title), text.Fold(view.Query)) && len(view.Named) < foundCampaigns {
			view.Named = append(view.Named, c)
		}
	}
	return err
}

func searchCampaigns(r *page.Request, view *page.SearchView) error {
	wanted, request := strings.ToLower(view.Query), crm.PageRequest{Page: 1, PerPage: 100}
	for ; request.Skip() < searchedCampaigns; request.Page++ {
		some, _, err := r.Store.CampaignPage(r.Context(), r.Account(), campaign.AllCampaigns, request)
		if err != nil || len(some) == 0 {
			return err
		}
		for _, c := range some {
			if !strings.Contains(strings.ToLower(c.Title), wanted) && !strings.Contains(c.Slug, wanted) {
				continue
			}
			if view.Campaigns = append(view.Campaigns, r.CampaignRow(c)); len(view.Campaigns) == foundCampaigns {
				return nil
			}
		}
	}
	return nil
}

// searchGifts finds a gift by its ID, by the number that receipts show, or by the ID that another system knows it by.
func searchGifts(r *page.Request, view *page.SearchView) error {
	var found []store.GiftRecord
	number, _ := strconv.ParseInt(strings.TrimPrefix(view.Query, "#"), 10, 64)
	byCode, err := r.Store.GiftRecord(r.Context(), r.Account(), view.Query)
	if errors.Is(err, crm.ErrNotFound) {
		byCode, err = r.Store.GiftNumbered(r.Context(), r.Account(), number)
	}
	switch {
	case err == nil:
		found = append(found, byCode)
	case !errors.Is(err, crm.ErrNotFound):
		return err
	}
	byReference, _, err := r.Store.GiftPage(r.Context(), r.Account(), giving.GiftFilter{ExternalID: view.Query}, crm.PageRequest{Page: 1, PerPage: 1})
	if err != nil {
		return err
	}
	if view.Gifts, err = r.GiftRows(append(found, byReference...)); err != nil {
		return err
	}
	for _, row := range view.Gifts {
		view.Exact = append(view.Exact, r.Path(page.GiftPath(row.Code)))
	}
	return nil
}
