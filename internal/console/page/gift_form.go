package page

import (
	"cmp"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// GiftFormView is the form that edits a gift, or records one.
type GiftFormView struct {
	Form      *Form
	Currency  string
	Campaigns []Option
	Plans     []Option // of the contact; empty where there are none
	MoreOpen  bool
	Gift      *giving.Gift   // that is edited
	Found     []*crm.Contact // whom the donor that was typed may be
}

// The fields that say who gave, where no page tells: what was typed, the contacts that it was chosen from, and the choice.
const (
	GiverText   = "donor"
	GiverAsked  = "donor_asked"
	GiverChoice = "donor_choice"

	AnonymousField = "anonymous"
	AnotherField   = "another" // the next form follows at once
)

// GiftFields fills in what every form of a gift offers. plans are those of the contact.
func (r *Request) GiftFields(f *Form, currency string, plans []giving.Plan) (view GiftFormView, err error) {
	view = GiftFormView{Form: f, Currency: currency}
	if f.Sends(GiverText) {
		f.Blame("contact_id", GiverText, "Donor")
	}
	if asked := f.Value(GiverAsked); asked != "" {
		found := SearchView{Query: asked}
		if err := r.SearchContacts(&found); err != nil {
			return view, err
		}
		view.Found = found.Contacts
	}
	for _, plan := range plans {
		if plan.Status != giving.Ended || plan.Code == f.Value("plan_id") {
			view.Plans = append(view.Plans, Option{Value: plan.Code, Label: PlanName(plan)})
		}
	}
	if len(view.Plans) > 0 {
		view.Plans = append([]Option{{Label: "Not recurring"}}, view.Plans...)
	}
	view.Campaigns, err = r.CampaignOptions(f.Value("campaign_id"), "No campaign", currency)
	view.MoreOpen = slices.ContainsFunc(moreFields, func(name string) bool { return f.Value(name) != "" || f.Fault(name, "") != "" })
	return view, err
}

// moreFields are those that the form shows when they are asked for.
var moreFields = []string{
	"note", "fee", "fee_covered", "check_number", "check_deposited_at", "dedication.type", "dedication.name", "dedication.recipient_name",
	"dedication.recipient_email", "external_id", "status",
}

// NewGiftForm is the form on a contact's page. A link may name the plan whose gift it is; the method is that of the last gift.
func (r *Request) NewGiftForm(f *Form, last, currency string, plans []giving.Plan) (GiftFormView, error) {
	f = f.IfSentTo("/gifts")
	f.SetUnsent("transacted_at", r.Today().Format(time.DateOnly))
	f.SetUnsent("method", cmp.Or(last, "check"))
	for _, plan := range plans {
		if plan.Code == r.URL.Query().Get("plan") {
			f.SetUnsent("amount", text.MoneyInput(plan.Amount, plan.Currency))
			f.SetUnsent("method", plan.Method)
			f.SetUnsent("campaign_id", IDText(plan.Campaign))
			f.SetUnsent("plan_id", plan.Code)
		}
	}
	return r.GiftFields(f, currency, plans)
}
