package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

const (
	plansPerPage = 50
	overduePlans = 50 // above the list of all plans
	contactPlans = 25 // that a contact's page shows, the newest first
	planGifts    = 5  // that a plan's page shows
)

// planRow is what a list shows of a plan.
type planRow struct {
	Address  string
	Name     string // such as $50 monthly
	Contact  link
	Campaign link
	Method   string
	Status   mark
	Next     time.Time
	Overdue  string // for how long; "" for one that is not
	Record   string // the form for its next gift; "" once it has ended
}

// planName is a plan as people call it: $50 monthly.
func planName(p giving.Plan) string {
	return text.Money(p.Amount, p.Currency) + " " + strings.ToLower(spoken(p.Frequency))
}

func planPath(code string) string { return "/plans/" + code }

var planColors = map[giving.PlanStatus]string{giving.ActivePlan: "good", giving.PastDue: "bad"}

// planRows are the rows of some plans, with the titles of their campaigns.
func (c *Console) planRows(r *http.Request, v visit, plans []giving.Plan) (rows []planRow, err error) {
	var ids []int64
	for _, p := range plans {
		if p.Campaign != 0 && !slices.Contains(ids, p.Campaign) {
			ids = append(ids, p.Campaign)
		}
	}
	names, err := c.store.CampaignNames(r.Context(), v.account(), ids)
	for _, p := range plans {
		row := planRow{
			Address: v.path(planPath(p.Code)), Name: planName(p), Method: spoken(p.Method), Next: p.NextBill,
			Contact: link{giverName(p.Giver), v.path(contactPath(p.Contact))}, Campaign: campaignLink(v, p.Campaign, names),
			Status: mark{spoken(string(p.Status)), planColors[p.Status]},
		}
		if p.Overdue(c.today(v)) {
			row.Overdue = howLong(p.NextBill, text.WallClock(c.now(), v.zone()))
		}
		if p.Status != giving.Ended {
			row.Record = v.path(contactPath(p.Contact)) + "?plan=" + p.Code + "#f-amount"
		}
		rows = append(rows, row)
	}
	return rows, err
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

// plansView is the list of plans. What is overdue stands above it.
type plansView struct {
	rows[planRow]
	Tabs         []tab
	Overdue      []planRow
	OverdueTotal int64
}

// MoreOverdue tells whether some of the overdue plans are left out.
func (view plansView) MoreOverdue() bool { return view.OverdueTotal > int64(len(view.Overdue)) }

func (c *Console) plansPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	l := listOf(r, v.path("/plans"), pageParameter, plansPerPage)
	plans, found, err := c.store.PlanPage(r.Context(), v.account(), l.PageRequest, true)
	if err != nil {
		return err
	}
	view := plansView{Tabs: givingTabs(v, "plans")}
	view.Pager = l.pager(found.Total)
	if view.Rows, err = c.planRows(r, v, plans); err != nil {
		return err
	}
	if l.Page == 1 {
		plans, view.OverdueTotal, err = c.store.OverduePlans(r.Context(), v.account(), overduePlans)
		if err != nil {
			return err
		}
		if view.Overdue, err = c.planRows(r, v, plans); err != nil {
			return err
		}
	}
	return c.render(w, r, v, "plans", page{Title: "Recurring plans", Section: "gifts", Data: view})
}

// planView is the page of one plan.
type planView struct {
	planRow
	Plan  *giving.Plan
	Gifts []giftRow
	All   string // the list of all its gifts
}

func (c *Console) planOf(r *http.Request, v visit) (giving.Plan, error) {
	return c.store.Plan(r.Context(), v.account(), r.PathValue("plan"))
}

func (c *Console) planPage(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	plan, err := c.planOf(r, v)
	if err != nil {
		return err
	}
	rows, err := c.planRows(r, v, []giving.Plan{plan})
	if err != nil {
		return err
	}
	gifts, err := c.store.LatestGifts(r.Context(), v.account(), giving.GiftFilter{Plan: plan.Code}, planGifts)
	if err != nil {
		return err
	}
	view := planView{planRow: rows[0], Plan: &plan, All: v.path("/gifts?plan=" + plan.Code)}
	if view.Gifts, err = c.giftRows(r, v, gifts); err != nil {
		return err
	}
	return c.render(w, r, v, "plan", page{Title: view.Name + " from " + view.Contact.Label, Section: "gifts", Data: view})
}

// planFormView is the form of a plan, new or not.
type planFormView struct {
	Form                            *form
	Title, Name, Action, Back, Save string
	Contact                         link
	IsNew                           bool
	NextHint                        string // what the day of the next gift means
	Currency                        string
	Frequencies, Methods, Campaigns []option
}

func (c *Console) planForm(w http.ResponseWriter, r *http.Request, v visit, f *form, view planFormView) (err error) {
	view.Form, view.Frequencies, view.Methods = f, spokenOptions(giving.Frequencies...), spokenOptions(giving.Methods...)
	if view.Campaigns, err = c.campaignOptions(r, v, f.Value("campaign_id"), "No campaign", view.Currency); err != nil {
		return err
	}
	return c.render(w, r, v, "plan_form", page{Title: view.Title, Section: "gifts", Form: f, Data: view})
}

func (c *Console) newPlanPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	currency, err := c.store.Currency(r.Context(), v.account())
	if err != nil {
		return err
	}
	f.setUnsent("frequency", "monthly")
	f.setUnsent("method", "card")
	f.setUnsent("start_at", c.today(v).Format(time.DateOnly))
	path := v.path(contactPath(contact.ID))
	return c.planForm(w, r, v, f, planFormView{
		Title: "New plan", Action: path + "/plans", Back: path, Save: "Create plan", Contact: link{contactName(contact), path}, IsNew: true, Currency: currency,
		NextHint: "If it is not the start.",
	})
}

// planInput reads the form of a plan. A field that the form does not have is not sent.
func planInput(f *form, currency string) (in giving.PlanInput, faults *doc.Invalid) {
	in.GiftInput, faults = giftInput(f, currency)
	for name, to := range map[string]**string{"frequency": &in.Frequency, "start_at": &in.StartAt, "next_bill_date": &in.NextBill} {
		if f.sends(name) {
			text := f.Value(name)
			*to = &text
		}
	}
	return in, faults
}

func (c *Console) createPlan(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	contact, ok, err := c.activeContact(w, r, v)
	if err != nil || !ok {
		return err
	}
	currency, err := c.currencyFor(r, v, f)
	if err != nil {
		return err
	}
	in, faults := planInput(f, currency)
	in.Contact = &contact.ID
	if err := in.Validate(faults, true, c.options.Region, c.today(v)); err != nil {
		return err
	}
	made, err := c.store.CreatePlan(r.Context(), v.account(), in)
	if err != nil {
		return err
	}
	return redirect(w, r, v.path(contactPath(v.id)), notice{Text: "The plan “" + planName(made.Plan) + "” was created.", View: v.path(planPath(made.Code)), Link: "View plan"})
}

func (c *Console) editPlanPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	plan, err := c.planOf(r, v)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"amount": text.MoneyInput(plan.Amount, plan.Currency), "frequency": plan.Frequency, "method": plan.Method, "campaign_id": idText(plan.Campaign),
		"next_bill_date": dayInput(plan.NextBill), seenField: plan.Version(),
	} {
		f.setUnsent(name, value)
	}
	path := v.path(planPath(plan.Code))
	return c.planForm(w, r, v, f, planFormView{
		Title: "Edit plan", Name: planName(plan), Action: path, Back: path, Save: "Save changes", Currency: plan.Currency, NextHint: "When you expect the next gift.",
		Contact: link{giverName(plan.Giver), v.path(contactPath(plan.Contact))},
	})
}

func (c *Console) savePlan(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	plan, err := c.planOf(r, v)
	if err != nil {
		return err
	}
	in, faults := planInput(f, plan.Currency)
	in.Seen = f.Value(seenField)
	if in.Amount == nil && f.sends("amount") {
		faults.Add("amount", doc.Required)
	}
	if in.NextBill != nil && *in.NextBill == dayInput(plan.NextBill) {
		in.NextBill = nil
	}
	if err := in.Validate(faults, false, c.options.Region, c.today(v)); err != nil {
		return err
	}
	_, err = c.store.UpdatePlan(r.Context(), v.account(), plan.Code, in)
	if errors.Is(err, crm.ErrChanged) {
		f.failSeen("plan", plan.Version())
		return errRefused
	}
	if err != nil {
		return err
	}
	return redirect(w, r, v.path(planPath(plan.Code)), notice{Text: "The changes were saved."})
}

func (c *Console) pausePlan(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	return c.setPlanStatus(w, r, v, giving.Paused, "paused", "/resume")
}

func (c *Console) resumePlan(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	return c.setPlanStatus(w, r, v, giving.ActivePlan, "resumed", "")
}

// endPlan ends a plan. Who takes that back has the next due day again.
func (c *Console) endPlan(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	plan, err := c.store.Plan(r.Context(), v.account(), r.PathValue("plan"))
	if err != nil {
		return err
	}
	return c.setPlanStatus(w, r, v, giving.Ended, "ended", "/resume?next="+dayInput(plan.NextBill))
}

// setPlanStatus changes the state of a plan; undo is the end of the address that takes it back, "" for none.
func (c *Console) setPlanStatus(w http.ResponseWriter, r *http.Request, v visit, status giving.PlanStatus, became, undo string) error {
	text := string(status)
	in := giving.PlanInput{GiftInput: giving.GiftInput{Status: &text}}
	if next := r.URL.Query().Get("next"); next != "" {
		in.NextBill = &next
	}
	if err := in.Validate(nil, false, c.options.Region, c.today(v)); err != nil {
		return err
	}
	plan, err := c.store.UpdatePlan(r.Context(), v.account(), r.PathValue("plan"), in)
	if err != nil {
		return err
	}
	path := v.path(planPath(plan.Code))
	said := notice{Text: "The plan of " + cmp.Or(giverName(plan.Giver), "this contact") + " was " + became + "."}
	if undo != "" {
		said.Undo = path + undo
	}
	return redirect(w, r, path, said)
}
