package console

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
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
	Gift      *giving.Gift // that is edited
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
	in, err := giving.ReadGiftForm(r.form, currency, nil, r.options.Region, r.today())
	if err != nil {
		return err
	}
	made, err := r.store.CreateGift(r.once(func(made store.Made) shown {
		code := made.(gifts.GiftDocument).Code
		return shown{r.path(contactPath(r.id)), notice{Text: "The gift was recorded.", View: r.path(giftPath(code)), Link: "View gift"}}
	}), r.account(), in)
	if err != nil {
		return err
	}
	said := notice{Text: text.Money(made.Donated(), made.Currency) + " was recorded.", View: r.path(giftPath(made.Code)), Link: "View gift"}
	if made.Existing {
		said.Text = "A gift with this external ID was recorded before, so nothing was added."
	}
	return r.redirect(r.path(contactPath(r.id)), said)
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
	for _, plan := range plans {
		if plan.Status != giving.Ended || plan.Code == f.Value("plan_id") {
			view.Plans = append(view.Plans, option{Value: plan.Code, Label: planName(plan)})
		}
	}
	if len(view.Plans) > 0 {
		view.Plans = append([]option{{Label: "No plan"}}, view.Plans...)
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
	in, err := giving.ReadGiftForm(r.form, g.Currency, g, r.options.Region, r.today())
	if in.Seen = r.form.Value(seenField); err == nil {
		_, err = r.store.UpdateGift(r.Context(), r.account(), g.Code, in)
	}
	return r.saved("gift", g.Version(), err, giftPath(g.Code), "The changes were saved.")
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
