package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
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
	Methods   []option
	Campaigns []option
	Plans     []option // of the contact; empty where there are none
	MoreOpen  bool
	Gift      *giving.Gift // that is edited
}

// Attempt tells this form from the next one.
func (giftFormView) Attempt() string {
	token, _ := access.NewToken()
	return token
}

// sends tells whether a form has a field at all.
func (f *form) sends(name string) bool {
	_, found := f.values[name]
	return found
}

// giftInput reads a form of a gift. A field that the form does not have is not sent. Amounts are in a currency that was found before.
func giftInput(f *form, currency string) (in giving.GiftInput, faults *doc.Invalid) {
	faults = new(doc.Invalid)
	for _, field := range giving.GiftTexts {
		if f.sends(field.Name) {
			field.Set(&in, f.Value(field.Name))
		}
	}
	for name, to := range map[string]**int64{"amount": &in.Amount, "fee": &in.Fee, "fee_covered": &in.FeeCovered} {
		*to = giving.ParseMoney(faults, name, f.Value(name), currency, true)
	}
	for name, to := range map[string]**int64{"campaign_id": &in.Campaign, "contact_id": &in.Contact} {
		if f.sends(name) {
			id := f.id(name, faults)
			*to = &id
		}
	}
	for name, to := range map[string]**string{"transacted_at": &in.GivenAt, "check_deposited_at": &in.DepositedAt} {
		if f.sends(name) {
			text := f.Value(name)
			*to = &text
		}
	}
	if f.sends("dedication.type") {
		d := &giving.Dedication{Type: f.Value("dedication.type"), Name: f.Value("dedication.name"), RecipientName: f.Value("dedication.recipient_name"), RecipientEmail: f.Value("dedication.recipient_email")}
		if *d == (giving.Dedication{}) {
			d = nil
		}
		in.Dedication = &d
	}
	return in, faults
}

// id reads the id of something that the form names; nothing is 0.
func (f *form) id(name string, faults *doc.Invalid) int64 {
	text := f.Value(name)
	id, err := strconv.ParseInt(text, 10, 64)
	if text != "" && (err != nil || id <= 0) {
		faults.Add(name, doc.IDForm)
	}
	return id
}

const attemptField = "attempt" // a random text that tells a form from the next one

// recordGift records a gift of the contact in the path.
func (r *request) recordGift() error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	currency, err := r.currencyFor()
	if err != nil {
		return err
	}
	in, faults := giftInput(r.form, currency)
	in.Contact = &contact.ID
	if err := in.Validate(faults, true, r.options.Region, r.today()); err != nil {
		return err
	}
	made, err := r.store.CreateGift(onceFor(r.Context(), r.form), r.account(), in)
	var first *store.Replayed
	if errors.As(err, &first) { // the button was clicked twice
		said := notice{Text: "The gift was recorded.", View: r.path(giftPath(string(first.Body))), Link: "View gift"}
		return r.redirect(r.path(contactPath(r.id)), said)
	}
	if err != nil {
		return err
	}
	said := notice{Text: text.Money(made.Donated(), made.Currency) + " was recorded.", View: r.path(giftPath(made.Code)), Link: "View gift"}
	if made.Existing {
		said.Text = "A gift with this external ID was recorded before, so nothing was added."
	}
	return r.redirect(r.path(contactPath(r.id)), said)
}

// onceFor is a context in which a form records one gift, however often it is sent as it is. A form without an attempt of its own has no such
// help; one that was changed is another attempt.
func onceFor(ctx context.Context, f *form) context.Context {
	if f.Value(attemptField) == "" {
		return ctx
	}
	hash := access.HashToken(f.values.Encode())
	return store.Attempting(ctx, &store.Attempt{Key: "form:" + hash, Fingerprint: []byte(hash), Answer: func(made store.Made) store.Answer {
		gift, _ := made.(gifts.GiftDocument)
		return store.Answer{Body: []byte(gift.Code)}
	}})
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
	view = giftFormView{Form: f, Currency: currency, Methods: spokenOptions(giving.Methods...)}
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
	if r.form.path == "" {
		fillGiftForm(r.form, g)
	}
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

func fillGiftForm(f *form, g *giving.Gift) {
	for _, field := range giving.GiftTexts {
		f.set(field.Name, field.Text(g))
	}
	for name, value := range map[string]string{
		"campaign_id": idText(g.Campaign), "contact_id": idText(g.Contact), "transacted_at": g.Local.Format(time.DateOnly),
		"check_deposited_at": dayInput(g.Deposited), "amount": text.MoneyInput(g.Payment().Amount, g.Currency), seenField: g.Version(),
	} {
		f.set(name, value)
	}
	for name, fee := range map[string]int64{"fee": g.Payment().Fee, "fee_covered": g.Payment().FeeCovered} {
		if fee != 0 {
			f.set(name, text.MoneyInput(fee, g.Currency))
		}
	}
	if d := g.Dedication; d != nil {
		f.set("dedication.type", d.Type)
		f.set("dedication.name", d.Name)
		f.set("dedication.recipient_name", d.RecipientName)
		f.set("dedication.recipient_email", d.RecipientEmail)
	}
}

// dayInput is a day as a form holds it, "" for none.
func dayInput(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func (r *request) saveGift(record gifts.GiftRecord) (err error) {
	g := &record.Gift
	in, faults := giftInput(r.form, g.Currency)
	in.Seen = r.form.Value(seenField)
	readCorrection(r.form, &in, faults)
	if in.GivenAt != nil && *in.GivenAt == dayInput(g.Local) { // a form knows the day only, and the time of that day stays
		in.GivenAt = nil
	}
	if in.DepositedAt != nil && *in.DepositedAt == dayInput(g.Deposited) {
		in.DepositedAt = nil
	}
	if err := in.Validate(faults, false, r.options.Region, r.today()); err != nil {
		return err
	}
	_, err = r.store.UpdateGift(r.Context(), r.account(), g.Code, in)
	if errors.Is(err, crm.ErrChanged) {
		r.form.failSeen("gift", g.Version())
		return errRefused
	}
	if err != nil {
		return err
	}
	return r.redirect(r.path(giftPath(g.Code)), notice{Text: "The changes were saved."})
}
