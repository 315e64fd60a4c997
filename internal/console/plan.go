package console

import (
	"cmp"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
)

const (
	plansPerPage = 50
	overduePlans = 50 // above the list of all plans
	contactPlans = 25 // that a contact's page shows, the newest first
	planGifts    = 5  // that a plan's page shows
)

// planRow is a plan in a list, with the title of its campaign.
type planRow struct {
	giving.Plan
	Title string
	Mark  mark // its status, or how long it is overdue
}

// planColumns are those of a list of plans. Only those who may record gifts see the last one.
var planColumns = []tableColumn{
	{Name: "plan", Label: "Recurring gift", Sort: string(giving.ByAmount)}, {Name: "contact", Label: "Contact"}, {Name: "campaign", Optional: true, Usual: true, Label: "Campaign", Told: true}, {Name: "next", Optional: true, Usual: true, Label: "Next gift", Told: true, Sort: string(giving.ByNextBill)},
	{Name: "status", Optional: true, Usual: true, Label: "Status", Told: true}, {Name: "act", Label: "Actions", Class: "right"},
}

// planName is a plan as people call it: $50 monthly.
func planName(p giving.Plan) string {
	return text.Money(p.Amount, p.Currency) + " " + strings.ToLower(spoken(p.Frequency))
}

func planPath(code string) string { return "/plans/" + code }

var planColors = map[giving.PlanStatus]string{giving.ActivePlan: "good", giving.PastDue: "bad"}

// planRows are the rows of some plans.
func (r *request) planRows(plans []giving.Plan) (rows []*planRow, err error) {
	titles, err := titlesOf(r, plans, func(p *giving.Plan) int64 { return p.Campaign })
	if err == nil {
		err = r.namePlans(plans)
	}
	for _, p := range plans {
		row := &planRow{p, titles[p.Campaign], mark{spoken(string(p.Status)), planColors[p.Status]}}
		if p.Overdue(r.today()) {
			row.Mark = mark{howLong(p.NextBill, text.WallClock(r.now(), r.zone())) + " overdue", "bad"}
		}
		rows = append(rows, row)
	}
	return rows, err
}

// namePlans gives the plans of companies the companies' names: a plan keeps the names of people alone.
func (r *request) namePlans(plans []giving.Plan) error {
	var nameless []int64
	for i := range plans {
		if giverName(plans[i].Giver) == "" {
			nameless = append(nameless, plans[i].Contact)
		}
	}
	if len(nameless) == 0 {
		return nil
	}
	contacts, err := r.store.ContactNames(r.Context(), r.account(), nameless)
	for i := range plans {
		if p := &plans[i]; giverName(p.Giver) == "" {
			contact := contacts[p.Contact]
			p.Giver.Company = contact.Name()
		}
	}
	return err
}

func (r *request) planTable(id, caption string, plans []giving.Plan) (t table, err error) {
	t = r.newList("plans", caption, nil)
	if !t.MayEdit() {
		t.Columns = without(t.Columns, "act")
	}
	t.ID = id
	t.Rows, err = r.planRows(plans)
	return t, err
}

// howLong is a time in the unit that people would use: 12 days, 3 months, 2 years.
func howLong(since, now time.Time) string {
	days := int64(now.Sub(since).Hours() / 24)
	switch {
	case days < 60:
		return plural(max(1, days), "day")
	case days < 730:
		return plural(days/30, "month")
	}
	return plural(days/365, "year")
}

// planListing is the list of plans. Its address has the parameters of the API.
var planListing = &listing{
	name: "plans", things: "recurring gifts", columns: planColumns, order: "-" + string(giving.ByCreation), more: []string{"campaign_code", "external_id", "sort"}, passing: []string{"contact_id"},
	fields: []filterField{
		{name: "status", label: "Status", choices: append(newOptions("=All statuses"), spokenOptions(text.Strings(giving.PlanStatuses)...)...)},
		{name: "frequency", label: "Frequency", choices: append(newOptions("=All frequencies"), spokenOptions(giving.Frequencies...)...)},
		{name: "campaign_id", label: "Campaign"},
		{name: "method", label: "Method", choices: append(newOptions("=All methods"), spokenOptions(giving.Methods...)...)},
		{name: "contact_id", said: "Contact "},
	},
}

// plansView is the list of plans. What is overdue stands above it where no filter asks for others.
type plansView struct {
	table
	filters
	Tabs         []tab
	Found        string // how many plans the filters find
	Overdue      *table // nil for none
	OverdueTotal int64
}

func (r *request) plansPage() error {
	q, to := r.asked(planListing)
	if to != "" {
		return r.redirect(to)
	}
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := plansView{filters: r.filters(planListing, q), Tabs: r.givingTabs("plans")}
	if err := r.offerCampaigns(&view.filters, "campaign_id", "All campaigns", currency); err != nil {
		return err
	}
	filter, err := giving.ParsePlanFilter(view.value)
	if err == nil {
		err = r.listPlans(&view, filter)
	}
	if err := view.refuse(err); err != nil {
		return err
	}
	return r.render("plans", page{Title: "Recurring gifts", Section: "gifts", Form: view.Panel, Data: &view})
}

func (r *request) listPlans(view *plansView, filter giving.PlanFilter) error {
	if !view.query.Has("sort") {
		filter.Sort = giving.Sort{Descending: true} // the newest first
	}
	l := view.list(r, plansPerPage)
	plans, found, err := r.store.Plans(r.Context(), r.account(), filter, l.PageRequest)
	if err != nil {
		return err
	}
	if view.table, err = r.planTable("", "All recurring gifts", plans); err != nil {
		return err
	}
	view.Columns, view.Pager = view.sorted(view.Columns), l.pager(found.Total)
	if view.Found = plural(found.Total, "recurring gift"); l.Page > 1 || !filter.IsEmpty() {
		return nil
	}
	if plans, view.OverdueTotal, err = r.store.OverduePlans(r.Context(), r.account(), overduePlans); err != nil || view.OverdueTotal == 0 {
		return err
	}
	overdue, err := r.planTable("overdue-list", "Overdue recurring gifts, the longest overdue first", plans)
	view.Overdue = &overdue
	return err
}

// planView is the page of one plan.
type planView struct {
	*planRow
	Gifts   *table // the latest ones, nil for none
	History timeline
}

func (r *request) planOf() (giving.Plan, error) {
	return r.store.Plan(r.Context(), r.account(), r.PathValue("plan"))
}

func (r *request) planPage(plan giving.Plan) (err error) {
	rows, err := r.planRows([]giving.Plan{plan})
	if err != nil {
		return err
	}
	gifts, err := r.store.LatestGifts(r.Context(), r.account(), giving.GiftFilter{Plan: plan.Code}, planGifts)
	if err != nil {
		return err
	}
	view := planView{planRow: rows[0]}
	if view.Gifts, err = r.giftTable("The latest of these gifts", gifts, "who"); err != nil {
		return err
	}
	if view.History, err = r.timelineOf(history.PlanNoun, plan.ID, crm.PageRequest{Page: 1, PerPage: activitiesPerPage}); err != nil {
		return err
	}
	return r.render("plan", page{Title: planName(plan) + " from " + giverName(rows[0].Giver), Section: "gifts", Data: view})
}

// planFormView is the form of a plan: of one that is edited, or a new one of a contact.
type planFormView struct {
	Plan      *giving.Plan // nil for a new one
	Contact   int64
	Name      string // the contact's
	Currency  string
	Campaigns []option
}

func (r *request) planForm(title string, view planFormView) (err error) {
	if view.Campaigns, err = r.campaignOptions(r.form.Value("campaign_id"), "No campaign", view.Currency); err != nil {
		return err
	}
	return r.render("plan_form", page{Title: title, Section: "gifts", Form: r.form, Data: view})
}

func (r *request) newPlanPage() error {
	contact, ok, err := r.activeContact()
	if err != nil || !ok {
		return err
	}
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	r.form.setUnsent("frequency", "monthly")
	r.form.setUnsent("method", "card")
	r.form.setUnsent("start_at", r.today().Format(time.DateOnly))
	return r.planForm("Set up recurring gift", planFormView{Contact: contact.ID, Name: contactName(contact), Currency: currency})
}

func (r *request) createPlan() error {
	currency, ok, err := r.formOfContact()
	if err != nil || !ok {
		return err
	}
	in, err := giving.ReadPlanForm(r.form, currency, nil, r.options.Region, r.today())
	if err != nil {
		return err
	}
	made, err := r.store.CreatePlan(r.once(func(made store.Result) shown {
		code := made.(gifts.PlanDocument).Code
		return shown{r.path(contactPath(r.id)), notice{Text: "The recurring gift was set up.", View: r.path(planPath(code)), Link: "View recurring gift"}}
	}), r.account(), in)
	if err != nil {
		return err
	}
	return r.redirect(r.path(contactPath(r.id)), notice{Text: "Recurring gift set up: " + planName(made.Plan) + ".", View: r.path(planPath(made.Code)), Link: "View recurring gift"})
}

func (r *request) editPlanPage(plan giving.Plan) error {
	plan.FillForm(r.form.setUnsent)
	r.form.setUnsent(seenField, plan.Version())
	plans := []giving.Plan{plan}
	if err := r.namePlans(plans); err != nil {
		return err
	}
	plan = plans[0]
	return r.planForm("Edit recurring gift", planFormView{Plan: &plan, Contact: plan.Contact, Name: giverName(plan.Giver), Currency: plan.Currency})
}

func (r *request) savePlan(plan giving.Plan) error {
	in, err := giving.ReadPlanForm(r.form, plan.Currency, &plan, r.options.Region, r.today())
	if in.Seen = r.form.Value(seenField); err == nil {
		_, err = r.store.UpdatePlan(r.Context(), r.account(), plan.Code, in)
	}
	return r.saved("recurring gift", plan.Version(), err, planPath(plan.Code), "Changes saved.")
}

func (r *request) pausePlan(plan giving.Plan) error {
	return r.setPlanStatus(plan, giving.Paused, "paused", "/resume")
}

func (r *request) resumePlan(plan giving.Plan) error {
	return r.setPlanStatus(plan, giving.ActivePlan, "resumed", "")
}

// endPlan ends a plan. Who takes that back has the next due day again.
func (r *request) endPlan(plan giving.Plan) error {
	return r.setPlanStatus(plan, giving.Ended, "ended", "/resume?next="+giving.DayInput(plan.NextBill))
}

// setPlanStatus changes the state of a plan; undo is the end of the address that takes it back, "" for none.
func (r *request) setPlanStatus(plan giving.Plan, status giving.PlanStatus, became, undo string) error {
	text := string(status)
	in := giving.PlanInput{GiftInput: giving.GiftInput{Status: &text}}
	if next := r.URL.Query().Get("next"); next != "" {
		in.NextBill = &next
	}
	if err := in.Validate(nil, false, r.options.Region, r.today()); err != nil {
		return err
	}
	if _, err := r.store.UpdatePlan(r.Context(), r.account(), plan.Code, in); err != nil {
		return err
	}
	path := r.path(planPath(plan.Code))
	said := notice{Text: planName(plan) + " from " + cmp.Or(giverName(plan.Giver), "this contact") + " was " + became + "."}
	if undo != "" {
		said.Undo = path + undo
	}
	return r.redirect(path, said)
}
