package console

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

// giftFormView is the form that edits a gift, or records one.
type giftFormView struct {
	Form      *form
	Currency  string
	Campaigns []option
	Plans     []option // of the contact; empty where there are none
	MoreOpen  bool
	Gift      *giving.Gift   // that is edited
	Found     []*crm.Contact // whom the donor that was typed may be
}

// Sends tells whether a form has a field at all, or a part of it.
func (f *form) Sends(name string) bool {
	for sent := range f.values {
		if sent == name || strings.HasPrefix(sent, name+".") {
			return true
		}
	}
	return false
}

// recordGift records a gift of the contact in the path.
func (r *request) recordGift() error {
	currency, ok, err := r.formOfContact()
	if err != nil || !ok {
		return err
	}
	return r.saveNewGift(currency, func(gift *gifts.GiftDocument) shown {
		return shown{r.path(contactPath(r.id)), notice{View: r.path(giftPath(gift.Code)), Link: "View gift"}}
	})
}

// saveNewGift records the gift of a form, once, and leads on as it is told to.
func (r *request) saveNewGift(currency string, lead func(*gifts.GiftDocument) shown) error {
	in, err := giving.ReadGiftForm(r.form, currency, nil, r.options.Region, r.today())
	if err != nil {
		return err
	}
	made, err := r.store.CreateGift(r.once(func(made store.Result) shown {
		gift := made.(gifts.GiftDocument)
		to := lead(&gift)
		to.Notice.Text = "The gift was recorded."
		return to
	}), r.account(), in)
	if err != nil {
		return err
	}
	to := lead(&made)
	if to.Notice.Text = "Recorded " + giftName(&made.Gift) + "."; made.Existing {
		to.Notice.Text = "A gift with this external ID already exists, so nothing was added."
	}
	return r.redirect(to.To, to.Notice)
}

// The fields that say who gave, where no page tells: what was typed, the contacts that it was chosen from, and the choice.
const (
	giverText   = "donor"
	giverAsked  = "donor_asked"
	giverChoice = "donor_choice"

	anonymousField = "anonymous"
	anotherField   = "another" // the next form follows at once
)

// recordGiftOf records a gift of the donor that the form names.
func (r *request) recordGiftOf() error {
	if r.form.set("contact_id", r.form.Value("contact_id")); r.form.Value(anonymousField) != "" {
		r.form.set("contact_id", "")
	} else if err := r.chooseGiver(); err != nil {
		return err
	}
	currency, err := r.currencyFor()
	if err != nil {
		return err
	}
	return r.saveNewGift(currency, func(gift *gifts.GiftDocument) shown {
		if r.form.Value(anotherField) == "" {
			return shown{r.path(giftPath(gift.Code)), notice{View: r.path("/gifts/new"), Link: "Record another gift"}}
		}
		kept := url.Values{} // often more of the same day, method and campaign
		for _, name := range keptFields {
			kept.Set(name, r.form.Value(name))
		}
		return shown{withQuery(r.path("/gifts/new"), kept), notice{View: r.path(giftPath(gift.Code)), Link: "View gift"}}
	})
}

var keptFields = []string{"transacted_at", "method", "campaign_id"}

// newGiftPage is the form of a gift that asks who gave it.
func (r *request) newGiftPage() error {
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	r.form.setUnsent("transacted_at", r.today().Format(time.DateOnly))
	r.form.setUnsent("method", "check")
	for _, name := range keptFields {
		if kept := r.URL.Query().Get(name); kept != "" {
			r.form.setUnsent(name, kept)
		}
	}
	view, err := r.giftFields(r.form, currency, nil)
	if err != nil {
		return err
	}
	return r.render("gift_new", page{Title: "Record a gift", Section: "gifts", Form: r.form, Data: view})
}

// chooseGiver finds the contact that the form of a gift names: the one that was chosen, or the only one that has the name, the email or the ID that was typed. Where others
// may be meant, it is refused, and the form offers them.
func (r *request) chooseGiver() error {
	f, typed := r.form, r.form.Value(giverText)
	if choice := f.Value(giverChoice); choice != "" && typed == f.Value(giverAsked) {
		f.set("contact_id", choice)
		return nil
	}
	if id := idOf(f.Value("contact_id")); id != 0 {
		contact, err := r.store.ContactRecord(r.Context(), r.account(), id)
		if err != nil && !errors.Is(err, crm.ErrNotFound) || err == nil && contactName(contact) == typed {
			return err
		}
	}
	f.set("contact_id", "")
	if f.values.Del(giverAsked); typed == "" {
		f.failAs(giverText, "Donor", "is required")
		return errRefused
	}
	view := searchView{Query: typed}
	if err := r.searchContacts(&view); err != nil {
		return err
	}
	meant := slices.DeleteFunc(slices.Clone(view.Contacts), func(c *crm.Contact) bool { return !isCalled(c, typed) })
	switch {
	case len(meant) == 1 && view.Total <= foundContacts:
		f.set("contact_id", idText(meant[0].ID))
		return nil
	case len(view.Meant) > 0:
		f.failAs(giverText, "Donor", "matches no active contact. Did you mean "+view.Meant[0].Text+"?")
	case view.Total == 0:
		f.failAs(giverText, "Donor", "matches no active contact. Try part of the name, or an email")
	case view.Total > foundContacts:
		f.set(giverAsked, typed)
		f.failAs(giverText, "Donor", "matches "+plural(view.Total, "contact")+". Choose one of the first, or type more")
	default:
		f.set(giverAsked, typed)
		f.failAs(giverText, "Donor", "matches "+plural(view.Total, "contact")+". Choose one")
	}
	return errRefused
}

// failAs notes that a field with a label of its own is wrong.
func (f *form) failAs(field, label, message string) {
	f.Faults, f.first = append(f.Faults, doc.Fault{Field: field, Label: label, Rule: doc.Rule(message)}), nil
}

// isCalled tells whether a contact has a name, an email or an ID.
func isCalled(c *crm.Contact, typed string) bool {
	return text.Fold(contactName(*c)) == text.Fold(typed) || idText(c.ID) == typed ||
		slices.ContainsFunc(c.Emails, func(e crm.Email) bool { return strings.EqualFold(e.Value, typed) })
}

// formOfContact lets the form be about the contact in the path, and tells what its amounts are in. It is not ok where the contact is archived.
func (r *request) formOfContact() (currency string, ok bool, err error) {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return "", false, err
	}
	r.form.set("contact_id", idText(contact.ID))
	currency, err = r.currencyFor()
	return currency, true, err
}

// currencyFor is what the amounts of a form are in: the currency of the plan, of the campaign, or else of the organization.
func (r *request) currencyFor() (string, error) {
	plan, err := r.store.Plan(r.Context(), r.account(), r.form.Value("plan_id"))
	if !errors.Is(err, crm.ErrNotFound) {
		return plan.Currency, err
	}
	id := idOf(r.form.Value("campaign_id"))
	names, err := r.store.CampaignNames(r.Context(), r.account(), []int64{id})
	if err != nil || names[id].Currency != "" {
		return names[id].Currency, err
	}
	return r.store.Currency(r.Context(), r.account())
}

// giftFields fills in what every form of a gift offers. plans are those of the contact.
func (r *request) giftFields(f *form, currency string, plans []giving.Plan) (view giftFormView, err error) {
	view = giftFormView{Form: f, Currency: currency}
	for i := range f.Faults {
		if f.Faults[i].Field == "contact_id" && f.Sends(giverText) {
			f.Faults[i].Field, f.Faults[i].Label, f.first = giverText, "Donor", nil
		}
	}
	if asked := f.Value(giverAsked); asked != "" {
		found := searchView{Query: asked}
		if err := r.searchContacts(&found); err != nil {
			return view, err
		}
		view.Found = found.Contacts
	}
	for _, plan := range plans {
		if plan.Status != giving.Ended || plan.Code == f.Value("plan_id") {
			view.Plans = append(view.Plans, option{Value: plan.Code, Label: planName(plan)})
		}
	}
	if len(view.Plans) > 0 {
		view.Plans = append([]option{{Label: "Not recurring"}}, view.Plans...)
	}
	view.Campaigns, err = r.campaignOptions(f.Value("campaign_id"), "No campaign", currency)
	view.MoreOpen = slices.ContainsFunc(moreFields, func(name string) bool { return f.Value(name) != "" || f.fault(name, "") != "" })
	return view, err
}

// moreFields are those that the form shows when they are asked for.
var moreFields = []string{
	"note", "fee", "fee_covered", "check_number", "check_deposited_at", "dedication.type", "dedication.name", "dedication.recipient_name",
	"dedication.recipient_email", "external_id", "status",
}

// newGiftForm is the form on a contact's page. A link may name the plan whose gift it is; the method is that of the last gift.
func (r *request) newGiftForm(f *form, last, currency string, plans []giving.Plan) (giftFormView, error) {
	f = f.ifSentTo("/gifts")
	f.setUnsent("transacted_at", r.today().Format(time.DateOnly))
	f.setUnsent("method", cmp.Or(last, "check"))
	for _, plan := range plans {
		if plan.Code == r.URL.Query().Get("plan") {
			f.setUnsent("amount", text.MoneyInput(plan.Amount, plan.Currency))
			f.setUnsent("method", plan.Method)
			f.setUnsent("campaign_id", idText(plan.Campaign))
			f.setUnsent("plan_id", plan.Code)
		}
	}
	return r.giftFields(f, currency, plans)
}

func (r *request) editGiftPage(record gifts.GiftRecord) (err error) {
	g := &record.Gift
	g.FillForm(r.form.setUnsent)
	contact, err := r.store.ContactRecord(r.Context(), r.account(), g.Contact)
	if err != nil {
		return err
	}
	r.form.setUnsent(giverText, contactName(contact))
	r.form.setUnsent(seenField, g.Version())
	plans, err := r.store.ContactPlans(r.Context(), r.account(), g.Contact, contactPlans)
	if err != nil {
		return err
	}
	view, err := r.giftFields(r.form, g.Currency, plans)
	if err != nil {
		return err
	}
	view.Gift = g
	return r.render("gift_form", page{Title: "Edit gift", Section: "gifts", Form: r.form, Data: view})
}

func (r *request) saveGift(record gifts.GiftRecord) error {
	g := &record.Gift
	if r.form.Sends(giverText) {
		if err := r.chooseGiver(); err != nil {
			return err
		}
	}
	in, err := giving.ReadGiftForm(r.form, g.Currency, g, r.options.Region, r.today())
	if in.Seen = r.form.Value(seenField); err == nil {
		_, err = r.store.UpdateGift(r.Context(), r.account(), g.Code, in)
	}
	return r.saved("gift", g.Version(), err, giftPath(g.Code), "Changes saved.")
}

// saved answers a form that changes something of this version, unless someone else has changed it meanwhile.
func (r *request) saved(what, version string, err error, path, said string) error {
	if errors.Is(err, crm.ErrChanged) {
		r.form.failSeen(what, version)
		return errRefused
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(path), notice{Text: said})
}
