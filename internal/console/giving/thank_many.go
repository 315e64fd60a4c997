package giving

import (
	"cmp"
	"net/url"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// manyView says what thanking for many gifts would do, before it is done.
type manyView struct {
	jobs.MailingProgress
	First    *store.ThankYou // that goes out, as an example
	Left     []page.LeftLine
	Whom     string // which gifts, in words
	Seen     int64  // how many
	Mails    bool
	Receipts bool   // it is set up what receipts say
	Query    string // of the list
	Codes    []string
	Back     string
}

// waitingOf are the gifts that are meant: those that were picked, or all that the list shows.
func waitingOf(r *page.Request, sent url.Values) (set jobs.Recipients, view manyView, err error) {
	query, err := url.ParseQuery(sent.Get("query"))
	if err != nil {
		return set, view, err
	}
	if query, err = GiftListing.Whole(query); err != nil {
		return set, view, err
	}
	query.Del("thanks") // which all have in common
	filters := r.Filters(GiftListing, query)
	if err := r.OfferCampaigns(&filters, "campaign", ""); err != nil {
		return set, view, err
	}
	filters.Field("contact").Word = func(string) string { return "one contact" }
	view.Whom = cmp.Or(filters.Words(), "All gifts awaiting thanks")
	query = page.With(query, "thanks", giving.ToThank)
	filter, err := giving.ParseGiftSearch(query.Get, r.Currency())
	if err != nil {
		return set, view, err
	}
	var picked []int64
	if ids := sent["id"]; sent.Get("all") == "" && len(ids) > 0 {
		picked, view.Codes = []int64{}, ids[:min(len(ids), giftsPerPage)]
		for _, id := range view.Codes {
			picked = append(picked, page.ParseID(id))
		}
		view.Whom = "The gifts you selected"
	}
	view.Mails, view.Query, view.Back = r.Store.Mails(), query.Encode(), page.WithQuery(r.Path("/gifts"), query)
	set, err = r.Store.WaitingGifts(r.Context(), r.Account(), picked, filter)
	view.Seen = set.Count()
	return set, view, err
}

// ThankManyPage shows what would go out.
func ThankManyPage(r *page.Request) error {
	set, view, err := waitingOf(r, r.URL.Query())
	if err == nil && set.Count() == 0 {
		return r.Redirect(r.Path(toThankPath), page.Notice{Text: "No gift waits for thanks, so nothing was done."})
	}
	if err == nil {
		view.MailingProgress, view.First, err = r.Store.PreviewMailing(r.Context(), r.Account(), jobs.Mailing{}, set)
	}
	var settings access.AccountSettings
	if err == nil {
		settings, err = r.Store.AccountSettings(r.Context(), r.Account())
	}
	if err != nil {
		return err
	}
	view.Receipts = settings.MakesReceipts()
	view.Left = page.LeftOut(view.MailingProgress.Left, page.Unlisted)
	return r.Render("thank_many", page.View{Title: "Thank for " + page.Plural(view.Total-view.Already, "gift"), Section: "gifts", Form: r.Form, Data: view})
}

// ThankMany begins to thank for as many gifts as the page has shown.
func ThankMany(r *page.Request) error {
	set, view, err := waitingOf(r, r.Form.Fields)
	if err != nil {
		return err
	}
	ask := page.WithQuery(r.Path("/gifts/thank"), url.Values{"query": {view.Query}, "id": view.Codes})
	if answered, err := r.Unconfirmed(view.Seen, "gift", ask); answered {
		return err
	}
	j, err := r.Store.BeginMailing(r.Once(r.Always("/jobs", "This was begun before.")), r.Account(), jobs.Mailing{Receipts: r.Form.Value("receipts") != ""}, set)
	return r.Done(err, r.Path(page.JobPath(j.ID)))
}
