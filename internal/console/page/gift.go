package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// GiftRow is a gift in a list, with the title of its campaign.
type GiftRow struct {
	store.GiftRecord
	Title string
	Marks []Mark
	Waits string // for thanks
}

// GiftColumns are those of a list of gifts.
var GiftColumns = []Column{
	{Name: "when", Label: "Date", Sort: string(giving.ByTime)}, {Name: "who", Label: "Contact"}, {Name: "what", Label: "Campaign", Optional: true, Usual: true}, {Name: "status", Label: "Status"}, {Name: "how", Label: "Method", Optional: true, Usual: true},
	{Name: "amount", Label: "Amount", Class: "right number amount", Sort: string(giving.ByAmount)},
}

// GiftTable is the table of some gifts on the page of something else, without some of the columns. It is nil for none.
func (r *Request) GiftTable(caption string, gifts []store.GiftRecord, left ...string) (*Table, error) {
	rows, err := r.GiftRows(gifts)
	t := r.NewTable("gifts", caption, Without(GiftColumns, left...), rows)
	if t.ID = "gifts-list"; len(rows) == 0 {
		return nil, err
	}
	return &t, err
}

// IsPlain tells whether nothing became of the gift but that it was received.
func (row *GiftRow) IsPlain() bool { return row.Standing() == string(giving.Succeeded) }

var standingColors = map[string]string{string(giving.Pending): "warn", string(giving.Failed): "bad"}

// GiftMark says what a gift is now.
func GiftMark(g *giving.Gift) Mark {
	standing := g.Standing()
	if standing == giving.PartlyRefunded {
		return Mark{text.Money(g.Refunded(), g.Currency) + " refunded", ""}
	}
	return Mark{Spoken(standing), standingColors[standing]}
}

// giftMarks say what became of a gift, where it is not simply received.
func giftMarks(g *giving.Gift, now time.Time) (marks []Mark) {
	if g.Standing() != string(giving.Succeeded) {
		marks = append(marks, GiftMark(g))
	}
	if g.Status == giving.Pending && giving.Day(g.Local) < giving.Day(now) {
		marks = append(marks, Mark{"Overdue", "bad"})
	}
	if g.PlanCode != "" {
		marks = append(marks, Mark{"Recurring", "good"})
	}
	if g.Test {
		marks = append(marks, Mark{"Test", "warn"})
	}
	return marks
}

// GiftRows are the rows of some gifts.
func (r *Request) GiftRows(all []store.GiftRecord) (rows []*GiftRow, err error) {
	titles, err := titlesOf(r, all, func(g *store.GiftRecord) int64 { return g.Campaign })
	for _, g := range all {
		rows = append(rows, &GiftRow{g, titles[g.Campaign], giftMarks(&g.Gift, text.WallClock(r.Now(), r.Zone())), WaitWords(&g.Gift, r.Today())})
	}
	return rows, err
}

// WaitWords say for how long a gift waits for thanks: how many days ago it was made, by the clock where today is.
func WaitWords(g *giving.Gift, today time.Time) string {
	switch days := int64(text.WallClock(today, today.Location()).Sub(g.Local.Truncate(24*time.Hour)) / (24 * time.Hour)); {
	case days <= 0:
		return "Since today"
	default:
		return Plural(days, "day")
	}
}

// ThankedWords say how a gift was thanked for, "" where it was not.
func ThankedWords(how string) string {
	return map[string]string{giving.ThankedMail: "Thanked by mail", giving.ThankedLetter: "Thanked by letter", giving.ThankedOther: "Thanked in another way", giving.ThankedNone: "No thank-you needed"}[how]
}

// titlesOf are the titles of the campaigns of some gifts or plans.
func titlesOf[T any](r *Request, all []T, campaign func(*T) int64) (map[int64]string, error) {
	titles := map[int64]string{}
	for i := range all {
		if id := campaign(&all[i]); id != 0 {
			titles[id] = "Campaign"
		}
	}
	names, err := r.Store.CampaignNames(r.Context(), r.Account(), slices.Collect(maps.Keys(titles)))
	for id, name := range names {
		titles[id] = cmp.Or(name.Title, titles[id])
	}
	return titles, err
}

// LeftOf is what a list says of a gift: what is left of what was paid, with the covered fee, or what was promised or
// tried.
func LeftOf(g *giving.Gift) int64 {
	if g.Status == giving.Succeeded && !g.Test {
		return g.Left()
	}
	return g.Payment().Amount
}

// GiverName is a giver as pages show them.
func GiverName(g giving.Giver) string { return strings.TrimSpace(g.Name()) }

// OfferedCampaigns is how many campaigns a form offers; older ones are chosen on their own pages.
const OfferedCampaigns = 50

// CampaignOptions are the newest campaigns of the organization, and the chosen one. Those in another currency than the one that is
// named say so.
func (r *Request) CampaignOptions(chosen, none, currency string) ([]Option, error) {
	all, err := r.Store.NewestCampaigns(r.Context(), r.Account(), OfferedCampaigns)
	if err != nil {
		return nil, err
	}
	if id := ParseID(chosen); id > 0 && !slices.ContainsFunc(all, func(n store.CampaignName) bool { return n.ID == id }) {
		names, err := r.Store.CampaignNames(r.Context(), r.Account(), []int64{id})
		if err != nil {
			return nil, err
		}
		if name, found := names[id]; found {
			all = append(all, name)
		}
	}
	options := []Option{{Value: "", Label: none}}
	for _, name := range all {
		label := cmp.Or(name.Title, "Campaign")
		if name.Currency != currency {
			label += " (" + name.Currency + ")"
		}
		options = append(options, Option{Value: IDText(name.ID), Label: label})
	}
	return options, nil
}

func PositiveMoney(minor int64, currency string) string {
	return text.Money(max(minor, -minor), currency)
}

// MovedMoney is what the last entry of a gift has moved.
func MovedMoney(g *giving.Gift) string {
	return PositiveMoney(g.Entries[len(g.Entries)-1].Amount, g.Currency)
}

// GiftName is what people call a gift, such as $50 from Zoë Okafor: by what was paid.
func GiftName(g *giving.Gift) string {
	return text.Money(g.Payment().Amount, g.Currency) + " from " + GiverName(g.Giver)
}

// ContactPlans is how many plans a contact's page shows, the newest first.
const ContactPlans = 25

// PlanRow is a plan in a list, with the title of its campaign.
type PlanRow struct {
	giving.Plan
	Title string
	Mark  Mark // its status, or how long it is overdue
}

// Taken tells whether a payment provider takes the gifts, so that no one records them.
func (p *PlanRow) Taken() bool {
	_, plan := p.Provider()
	return plan != ""
}

// PlanName is a plan as people call it: $50 monthly.
func PlanName(p giving.Plan) string {
	return text.Money(p.Amount, p.Currency) + " " + strings.ToLower(Spoken(p.Frequency))
}

var planColors = map[giving.PlanStatus]string{giving.ActivePlan: "good", giving.PastDue: "bad"}

// PlanRows are the rows of some plans.
func (r *Request) PlanRows(plans []giving.Plan) (rows []*PlanRow, err error) {
	titles, err := titlesOf(r, plans, func(p *giving.Plan) int64 { return p.Campaign })
	if err == nil {
		err = r.NamePlans(plans)
	}
	for _, p := range plans {
		row := &PlanRow{p, titles[p.Campaign], Mark{Spoken(string(p.Status)), planColors[p.Status]}}
		if p.Overdue(r.Today()) {
			row.Mark = Mark{howLong(giving.PlanClock(p.NextBill, r.Zone()).Truncate(24*time.Hour), text.WallClock(r.Now(), r.Zone())) + " overdue", "bad"}
		}
		rows = append(rows, row)
	}
	return rows, err
}

// NamePlans gives the plans of companies the companies' names: a plan keeps the names of people alone.
func (r *Request) NamePlans(plans []giving.Plan) error {
	var nameless []int64
	for i := range plans {
		if GiverName(plans[i].Giver) == "" {
			nameless = append(nameless, plans[i].Contact)
		}
	}
	if len(nameless) == 0 {
		return nil
	}
	contacts, err := r.Store.ContactNames(r.Context(), r.Account(), nameless)
	for i := range plans {
		if p := &plans[i]; GiverName(p.Giver) == "" {
			contact := contacts[p.Contact]
			p.Giver.Company = contact.Name()
		}
	}
	return err
}

// howLong is a time in the unit that people would use: 12 days, 3 months, 2 years.
func howLong(since, now time.Time) string {
	days := int64(now.Sub(since).Hours() / 24)
	switch {
	case days < 60:
		return Plural(max(1, days), "day")
	case days < 730:
		return Plural(days/30, "month")
	}
	return Plural(days/365, "year")
}
