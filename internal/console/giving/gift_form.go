package giving

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// RecordGift records a gift of the contact in the path.
func RecordGift(r *page.Request, contact crm.Contact) error {
	r.Form.Set("contact_id", page.IDText(contact.ID))
	currency, err := currencyFor(r)
	if err != nil {
		return err
	}
	return saveNewGift(r, currency, func(gift *store.GiftDocument) page.Next {
		return page.Next{To: r.Path(page.ContactPath(r.ID)), Notice: page.Notice{View: r.Path(page.GiftPath(gift.Code)), Link: "View gift"}}
	})
}

// saveNewGift records the gift of a form, once, and leads on as it is told to.
func saveNewGift(r *page.Request, currency string, lead func(*store.GiftDocument) page.Next) error {
	in, err := giving.ReadGiftForm(r.Form, currency, nil, r.Options.Region, r.Today())
	if err != nil {
		return err
	}
	made, err := r.Store.CreateGift(r.Once(func(made store.Result) page.Next {
		gift := made.(store.GiftDocument)
		to := lead(&gift)
		to.Notice.Text = "The gift was recorded."
		return to
	}), r.Account(), in)
	if err != nil {
		return err
	}
	to := lead(&made)
	if to.Notice.Text = recordedWords(&made.Gift); made.Existing {
		to.Notice.Text = "A gift with this external ID already exists, so nothing was added."
	}
	return r.Redirect(to.To, to.Notice)
}

// recordedWords say what was recorded: a gift that was received, or what else it is.
func recordedWords(g *giving.Gift) string {
	switch g.Status {
	case giving.Succeeded:
		return "Recorded " + page.GiftName(g) + "."
	case giving.Pending:
		return "Recorded a pledge of " + page.GiftName(g) + "."
	}
	return "Recorded a " + strings.ToLower(page.Spoken(string(g.Status))) + " gift of " + page.GiftName(g) + "."
}

// RecordGiftOf records a gift of the donor that the form names.
func RecordGiftOf(r *page.Request) error {
	if r.Form.Set("contact_id", r.Form.Value("contact_id")); r.Form.Value(page.AnonymousField) != "" {
		r.Form.Set("contact_id", "")
	} else if err := chooseGiver(r); err != nil {
		return err
	}
	currency, err := currencyFor(r)
	if err != nil {
		return err
	}
	return saveNewGift(r, currency, func(gift *store.GiftDocument) page.Next {
		if r.Form.Value(page.AnotherField) == "" {
			return page.Next{To: r.Path(page.GiftPath(gift.Code)), Notice: page.Notice{View: r.Path("/gifts/new"), Link: "Record another gift"}}
		}
		kept := url.Values{} // often more of the same day, method and campaign
		for _, name := range keptFields {
			kept.Set(name, r.Form.Value(name))
		}
		return page.Next{To: page.WithQuery(r.Path("/gifts/new"), kept), Notice: page.Notice{View: r.Path(page.GiftPath(gift.Code)), Link: "View gift"}}
	})
}

var keptFields = []string{"transacted_at", "method", "campaign_id"}

// NewGiftPage is the form of a gift that asks who gave it.
func NewGiftPage(r *page.Request) error {
	r.Form.SetUnsent("transacted_at", r.Today().Format(time.DateOnly))
	r.Form.SetUnsent("method", "check")
	for _, name := range keptFields {
		if kept := r.URL.Query().Get(name); kept != "" {
			r.Form.SetUnsent(name, kept)
		}
	}
	view, err := r.GiftFields(r.Form, r.Currency(), nil)
	if err != nil {
		return err
	}
	return r.Render("gift_new", page.View{Title: "Record a gift", Section: "gifts", Form: r.Form, Data: view})
}

// chooseGiver finds the contact that the form of a gift names: the one that was chosen, or the only one that has the name, the email or the ID that was typed. Where others
// may be meant, it is refused, and the form offers them.
func chooseGiver(r *page.Request) error {
	f, typed := r.Form, r.Form.Value(page.GiverText)
	if choice := f.Value(page.GiverChoice); choice != "" && typed == f.Value(page.GiverAsked) {
		f.Set("contact_id", choice)
		return nil
	}
	if id := page.ParseID(f.Value("contact_id")); id != 0 {
		contact, err := r.Store.ContactRecord(r.Context(), r.Account(), id)
		if err != nil && !errors.Is(err, crm.ErrNotFound) || err == nil && page.ContactName(contact) == typed {
			return err
		}
	}
	f.Set("contact_id", "")
	if f.Fields.Del(page.GiverAsked); typed == "" {
		f.FailAs(page.GiverText, "Donor", "is required")
		return page.ErrRefused
	}
	view := page.SearchView{Query: typed}
	if err := r.SearchContacts(&view); err != nil {
		return err
	}
	meant := slices.DeleteFunc(slices.Clone(view.Contacts), func(c *crm.Contact) bool { return !isCalled(c, typed) })
	switch {
	case len(meant) == 1 && view.Total <= page.FoundContacts:
		f.Set("contact_id", page.IDText(meant[0].ID))
		return nil
	case len(view.Meant) > 0:
		f.FailAs(page.GiverText, "Donor", "matches no active contact. Did you mean "+view.Meant[0].Text+"?")
	case view.Total == 0:
		f.FailAs(page.GiverText, "Donor", "matches no active contact. Try part of the name, or an email")
	case view.Total > page.FoundContacts:
		f.Set(page.GiverAsked, typed)
		f.FailAs(page.GiverText, "Donor", "matches "+page.Plural(view.Total, "contact")+". Choose one of the first, or type more")
	default:
		f.Set(page.GiverAsked, typed)
		f.FailAs(page.GiverText, "Donor", "matches "+page.Plural(view.Total, "contact")+". Choose one")
	}
	return page.ErrRefused
}

// isCalled tells whether a contact has a name, an email or an ID.
func isCalled(c *crm.Contact, typed string) bool {
	return text.Fold(page.ContactName(*c)) == text.Fold(typed) || page.IDText(c.ID) == typed ||
		slices.ContainsFunc(c.Emails, func(e crm.Email) bool { return text.FoldEmail(e.Value) == text.FoldEmail(typed) })
}

// currencyFor is what the amounts of a form are in: the currency of the plan, of the campaign, or else of the organization.
func currencyFor(r *page.Request) (string, error) {
	plan, err := r.Store.Plan(r.Context(), r.Account(), r.Form.Value("plan_id"))
	if !errors.Is(err, crm.ErrNotFound) {
		return plan.Currency, err
	}
	id := page.ParseID(r.Form.Value("campaign_id"))
	names, err := r.Store.CampaignNames(r.Context(), r.Account(), []int64{id})
	if err != nil || names[id].Currency != "" {
		return names[id].Currency, err
	}
	return r.Currency(), nil
}

func EditGiftPage(r *page.Request, record store.GiftRecord) (err error) {
	g := &record.Gift
	g.FillForm(r.Form.SetUnsent)
	contact, err := r.Store.ContactRecord(r.Context(), r.Account(), g.Contact)
	if err != nil {
		return err
	}
	r.Form.SetUnsent(page.GiverText, page.ContactName(contact))
	r.Form.SetUnsent(page.SeenField, g.Version())
	plans, err := r.Store.ContactPlans(r.Context(), r.Account(), g.Contact, page.ContactPlans)
	if err != nil {
		return err
	}
	view, err := r.GiftFields(r.Form, g.Currency, plans)
	if err != nil {
		return err
	}
	view.Gift = g
	return r.Render("gift_form", page.View{Title: "Edit gift", Section: "gifts", Form: r.Form, Data: view})
}

func SaveGift(r *page.Request, record store.GiftRecord) error {
	g := &record.Gift
	if r.Form.Sends(page.GiverText) {
		if err := chooseGiver(r); err != nil {
			return err
		}
	}
	in, err := giving.ReadGiftForm(r.Form, g.Currency, g, r.Options.Region, r.Today())
	if in.Seen = r.Form.Value(page.SeenField); err == nil {
		_, err = r.Store.UpdateGift(r.Context(), r.Account(), g.Code, in)
	}
	return saved(r, "gift", g.Version(), err, page.GiftPath(g.Code), "Changes saved.")
}

// saved answers a form that changes something of this version, unless someone else has changed it meanwhile.
func saved(r *page.Request, what, version string, err error, path, said string) error {
	if errors.Is(err, crm.ErrChanged) {
		r.Form.FailSeen(what, version)
		return page.ErrRefused
	}
	return r.Done(err, r.Path(path), page.Notice{Text: said})
}
