package giving

import (
	"cmp"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

const (
	plansPerPage = 50
	overduePlans = 50 // above the list of all plans
	planGifts    = 5  // that a plan's page shows
)

// planColumns are those of a list of plans. Only those who may record gifts see the last one.
var planColumns = []page.Column{
	{Name: "plan", Label: "Recurring gift", Sort: string(giving.ByAmount)}, {Name: "contact", Label: "Contact"}, {Name: "campaign", Optional: true, Usual: true, Label: "Campaign", Told: true}, {Name: "next", Optional: true, Usual: true, Label: "Next gift", Told: true, Sort: string(giving.ByNextBill)},
	{Name: "status", Optional: true, Usual: true, Label: "Status", Told: true}, {Name: "act", Label: "Actions", Class: "right"},
}

func planTable(r *page.Request, id, caption string, plans []giving.Plan) (t page.Table, err error) {
	t = r.NewList(PlanListing, caption, nil)
	if !t.MayEdit() {
		t.Columns = page.Without(t.Columns, "act")
	}
	t.ID = id
	t.Rows, err = r.PlanRows(plans)
	return t, err
}

// PlanListing is the list of plans. Its address has the parameters of the API.
var PlanListing = &page.Listing{
	Name: "plans", Things: "recurring gifts", Columns: planColumns, Order: "-" + string(giving.ByCreation), More: []string{"campaign_code", "external_id", "sort"},
	Fields: []page.Filter{
		{Name: "status", Label: "Status", Choices: append(page.NewOptions("=All statuses"), page.SpokenOptions(text.Strings(giving.PlanStatuses)...)...)},
		{Name: "frequency", Label: "Frequency", Choices: append(page.NewOptions("=All frequencies"), page.SpokenOptions(giving.Frequencies...)...)},
		{Name: "campaign_id", Label: "Campaign"},
		{Name: "method", Label: "Method", Choices: append(page.NewOptions("=All methods"), page.SpokenOptions(giving.Methods...)...)},
		{Name: "contact_id", Said: "Contact "},
	},
}

// plansView is the list of plans. What is overdue stands above it where no filter asks for others.
type plansView struct {
	page.Table
	page.Filters
	Tabs         []page.Tab
	Found        string      // how many plans the filters find
	Overdue      *page.Table // nil for none
	OverdueTotal int64
}

func PlansPage(r *page.Request) error {
	q, to := r.Asked(PlanListing)
	if to != "" {
		return r.Redirect(to)
	}
	view := plansView{Filters: r.Filters(PlanListing, q), Tabs: givingTabs(r, "plans")}
	if err := r.OfferCampaigns(&view.Filters, "campaign_id", "All campaigns"); err != nil {
		return err
	}
	filter, err := giving.ParsePlanFilter(view.Value)
	if err == nil {
		err = listPlans(r, &view, filter)
	}
	if err := view.Refuse(err); err != nil {
		return err
	}
	return r.Render("plans", page.View{Title: "Recurring gifts", Section: "gifts", Form: view.Panel, Data: &view})
}

func listPlans(r *page.Request, view *plansView, filter giving.PlanFilter) error {
	if !view.Asked.Has("sort") {
		filter.Sort = giving.Sort{Descending: true} // the newest first
	}
	l := view.List(r, plansPerPage)
	plans, found, err := r.Store.Plans(r.Context(), r.Account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	if view.Table, err = planTable(r, "", "All recurring gifts", plans); err != nil {
		return err
	}
	view.Columns, view.Pager = view.Sorted(view.Columns), l.Pager(found.Total)
	if view.Found = page.Plural(found.Total, "recurring gift"); l.Page > 1 || !filter.IsEmpty() {
		return nil
	}
	if plans, view.OverdueTotal, err = r.Store.OverduePlans(r.Context(), r.Account(), overduePlans); err != nil || view.OverdueTotal == 0 {
		return err
	}
	overdue, err := planTable(r, "overdue-list", "Overdue recurring gifts, the longest overdue first", plans)
	view.Overdue = &overdue
	return err
}

// planView is the page of one plan.
type planView struct {
	*page.PlanRow
	Gifts    *page.Table // the latest ones, nil for none
	History  page.Timeline
	Provider string // that takes the gifts; "" where people record them
}

func PlanOf(r *page.Request) (giving.Plan, error) {
	return r.Store.Plan(r.Context(), r.Account(), r.PathValue("plan"))
}

func PlanPage(r *page.Request, plan giving.Plan) (err error) {
	rows, err := r.PlanRows([]giving.Plan{plan})
	if err != nil {
		return err
	}
	gifts, err := r.Store.LatestGifts(r.Context(), r.Account(), giving.GiftFilter{Plan: plan.Code}, planGifts)
	if err != nil {
		return err
	}
	view := planView{PlanRow: rows[0]}
	if view.Provider, err = takerOf(r, &plan); err != nil {
		return err
	}
	if view.Gifts, err = r.GiftTable("The latest of these gifts", gifts, "who"); err != nil {
		return err
	}
	if view.History, err = r.TimelineOf(history.PlanNoun, plan.ID, crm.PageRequest{Page: 1, PerPage: page.ActivitiesPerPage}); err != nil {
		return err
	}
	return r.Render("plan", page.View{Title: page.PlanName(plan) + " from " + page.GiverName(rows[0].Giver), Section: "gifts", Data: view})
}

// takerOf is what people call the payment provider that takes the gifts of a plan, "" for none.
func takerOf(r *page.Request, plan *giving.Plan) (string, error) {
	provider, _, err := r.Store.PlanProvider(r.Context(), r.Account(), plan)
	return providerName(provider), err
}

// planFormView is the form of a plan: of one that is edited, or a new one of a contact.
type planFormView struct {
	Plan      *giving.Plan // nil for a new one
	Contact   int64
	Name      string // the contact's
	Currency  string
	Campaigns []page.Option
	Provider  string // see planView
}

func planForm(r *page.Request, title string, view planFormView) (err error) {
	if view.Campaigns, err = r.CampaignOptions(r.Form.Value("campaign_id"), "No campaign", view.Currency); err != nil {
		return err
	}
	return r.Render("plan_form", page.View{Title: title, Section: "gifts", Form: r.Form, Data: view})
}

func NewPlanPage(r *page.Request, contact crm.Contact) error {
	r.Form.SetUnsent("frequency", "monthly")
	r.Form.SetUnsent("method", "card")
	r.Form.SetUnsent("start_at", r.Today().Format(time.DateOnly))
	return planForm(r, "Set up recurring gift", planFormView{Contact: contact.ID, Name: page.ContactName(contact), Currency: r.Currency()})
}

func CreatePlan(r *page.Request, contact crm.Contact) error {
	r.Form.Set("contact_id", page.IDText(contact.ID))
	currency, err := currencyFor(r)
	if err != nil {
		return err
	}
	in, err := giving.ReadPlanForm(r.Form, currency, nil, r.Options.Region, r.Today())
	if err != nil {
		return err
	}
	made, err := r.Store.CreatePlan(r.Once(func(made store.Result) page.Next {
		code := made.(store.PlanDocument).Code
		return page.Next{To: r.Path(page.ContactPath(r.ID)), Notice: page.Notice{Text: "The recurring gift was set up.", View: r.Path(page.PlanPath(code)), Link: "View recurring gift"}}
	}), r.Account(), in)
	return r.Done(err, r.Path(page.ContactPath(r.ID)), page.Notice{Text: "Recurring gift set up: " + page.PlanName(made.Plan) + ".", View: r.Path(page.PlanPath(made.Code)), Link: "View recurring gift"})
}

func EditPlanPage(r *page.Request, plan giving.Plan) error {
	plan.FillForm(r.Form.SetUnsent)
	r.Form.SetUnsent(page.SeenField, plan.Version())
	plans := []giving.Plan{plan}
	if err := r.NamePlans(plans); err != nil {
		return err
	}
	plan = plans[0]
	provider, err := takerOf(r, &plan)
	if err != nil {
		return err
	}
	return planForm(r, "Edit recurring gift", planFormView{Provider: provider, Plan: &plan, Contact: plan.Contact, Name: page.GiverName(plan.Giver), Currency: plan.Currency})
}

func SavePlan(r *page.Request, plan giving.Plan) error {
	in, err := giving.ReadPlanForm(r.Form, plan.Currency, &plan, r.Options.Region, r.Today())
	if in.Seen = r.Form.Value(page.SeenField); err == nil {
		_, err = r.Store.UpdatePlan(r.Context(), r.Account(), plan.Code, in)
	}
	return saved(r, "recurring gift", plan.Version(), err, page.PlanPath(plan.Code), "Changes saved.")
}

func PausePlan(r *page.Request, plan giving.Plan) error {
	return setPlanStatus(r, plan, giving.Paused, "paused", "/resume")
}

func ResumePlan(r *page.Request, plan giving.Plan) error {
	return setPlanStatus(r, plan, giving.ActivePlan, "resumed", "")
}

// EndPlan ends a plan. Who takes that back has the next due day again.
func EndPlan(r *page.Request, plan giving.Plan) error {
	return setPlanStatus(r, plan, giving.Ended, "ended", "/resume?next="+giving.DayInput(plan.NextBill))
}

// setPlanStatus changes the state of a plan; undo is the end of the address that takes it back, "" for none.
func setPlanStatus(r *page.Request, plan giving.Plan, status giving.PlanStatus, became, undo string) error {
	text := string(status)
	in := giving.PlanInput{GiftInput: giving.GiftInput{Status: &text}}
	if next := r.URL.Query().Get("next"); next != "" {
		in.NextBill = &next
	}
	if err := in.Validate(nil, false, r.Options.Region, r.Today()); err != nil {
		return err
	}
	path := r.Path(page.PlanPath(plan.Code))
	_, err := r.Store.UpdatePlan(r.Context(), r.Account(), plan.Code, in)
	if said := page.Trouble(err); said != "" {
		return r.Redirect(path, page.Notice{Text: "Nothing was changed.", Warning: said})
	}
	if err != nil {
		return err
	}
	if provider, err := takerOf(r, &plan); err != nil || provider != "" && status == giving.Ended {
		undo = "" // what has ended there cannot go on
	}
	said := page.Notice{Text: page.PlanName(plan) + " from " + cmp.Or(page.GiverName(plan.Giver), "this contact") + " was " + became + "."}
	if undo != "" {
		said.Undo = path + undo
	}
	return r.Redirect(path, said)
}
