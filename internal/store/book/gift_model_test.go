package book

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
)

// giftModel is an account with gifts that are created and changed at random, through two nodes.
type giftModel struct {
	*testing.T
	nodes     []*Book
	random    *rand.Rand
	account   access.Account
	now       time.Time
	contacts  []int64
	campaigns []campaign.Campaign
	plans     []giving.Plan
	gifts     []string // public ids
	refunded  []string // of those of which something was refunded once
	names     int
	undoable  int64 // an import
}

func (m *giftModel) node() *Book { return m.nodes[m.random.IntN(len(m.nodes))] }

func pick[T any](m *giftModel, all []T) T { return all[m.random.IntN(len(all))] }

func giftInput(t testing.TB, body string, isNew bool, now time.Time) giving.GiftInput {
	t.Helper()
	in, faults, err := giving.DecodeGift(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, isNew, "US", now)
	}
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return in
}

// day is a day of the last three years, or a time.
func (m *giftModel) day() string {
	if m.random.IntN(2) == 0 {
		return m.now.Add(-time.Duration(m.random.IntN(3*365*24*60*60)) * time.Second).UTC().Format(time.RFC3339)
	}
	return m.now.AddDate(0, 0, -m.random.IntN(3*365)).Format(time.DateOnly)
}

func (m *giftModel) money() string {
	return fmt.Sprintf("%d.%02d", 1+m.random.IntN(300), m.random.IntN(100))
}

func (m *giftModel) step() (what string, err error) {
	ctx := context.Background()
	switch n := m.random.IntN(100); {
	case n < 8 || len(m.contacts) < 3:
		m.names++
		made := create(m, m.node(), m.account.Number,
			fmt.Sprintf(`{"first_name":"A%d","last_name":"B","emails":[{"value":"p%[1]d@example.org"}]}`, m.names))
		m.contacts = append(m.contacts, made.ID)
		return "contact", nil
	case n < 45:
		return m.give(ctx)
	case n < 60 && len(m.gifts) > 0:
		body := "{}"
		if m.random.IntN(2) == 0 {
			body = `{"amount":` + m.money() + `}`
		}
		amount := must(giving.DecodeRefund(doc.NewBody([]byte(body))))(m)
		if len(m.refunded) > 0 && m.random.IntN(3) == 0 {
			_, err = m.node().UndoRefund(ctx, m.account.Number, pick(m, m.refunded), amount, "")
			return "undo a refund " + body, err
		}
		made, err := m.node().RefundGift(ctx, m.account.Number, pick(m, m.gifts), amount, "")
		if err == nil {
			m.refunded = append(m.refunded, made.Code)
		}
		return "refund " + body, err
	case n < 80 && len(m.gifts) > 0:
		body := pick(m, []string{
			fmt.Sprintf(`{"contact_id":%d}`, pick(m, m.contacts)), fmt.Sprintf(`{"campaign_id":%d}`,
				pick(m, m.campaigns).ID), `{"campaign_id":null}`,
			`{"transacted_at":"` + m.day() + `"}`, `{"status":"succeeded"}`, `{"status":"failed"}`, `{"fee":1.25}`,
			`{"note":"x"}`, `{"plan_id":null}`,
			`{"correction":true,"amount":` + m.money() + `}`, `{"correction":true,"amount":` + m.money() + `,
				"method":"cash","fee":0,"fee_covered":0}`,
			fmt.Sprintf(`{"correction":true,"amount":%s,"contact_id":%d,"transacted_at":"%s"}`, m.money(),
				pick(m, m.contacts), m.day()),
			// only a promise can be due then
			`{"transacted_at":"` + m.now.AddDate(0, 0, 1+m.random.IntN(900)).Format(time.DateOnly) + `"}`,
			fmt.Sprintf(`{"contact_id":%d,"campaign_id":%d,"transacted_at":"%s"}`, pick(m, m.contacts),
				pick(m, m.campaigns).ID, m.day()),
		})
		_, err := m.node().UpdateGift(ctx, m.account.Number, pick(m, m.gifts), giftInput(m, body, false, m.now))
		return "change " + body, err
	case n < 85:
		in, faults := must2(giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","start_at":"2025-01-31"}`, pick(m,
				m.contacts)))))(m)
		succeed(m, in.Validate(faults, true, "US", m.now))
		plan, err := m.node().CreatePlan(ctx, m.account.Number, in)
		if err == nil {
			m.plans = append(m.plans, plan.Plan)
		}
		return "plan", err
	case n < 90:
		return m.importAndUndo(ctx)
	case n < 93:
		return m.changeZone(ctx)
	case n < 95:
		id := pick(m, m.contacts)
		return "archive", m.node().ArchiveContact(ctx, m.account.Number, id)
	default:
		_, err := m.node().RestoreContact(ctx, m.account.Number, pick(m, m.contacts))
		return "restore", err
	}
}

// changeZone changes the time zone.
func (m *giftModel) changeZone(ctx context.Context) (what string, err error) {
	zone := pick(m, []string{"UTC", "America/New_York", "Australia/Sydney", "Pacific/Kiritimati", "Pacific/Honolulu"})
	return "zone " + zone, m.node().SetAccountSettings(ctx, m.account.Number,
		access.AccountSettingsInput{Timezone: &zone})
}

func (m *giftModel) give(ctx context.Context) (string, error) {
	status, day := pick(m, []string{"succeeded", "succeeded", "succeeded", "pending", "failed"}), m.day()
	if status == "pending" && m.random.IntN(2) == 0 {
		day = m.now.AddDate(0, 0, 1+m.random.IntN(900)).Format(time.DateOnly) // when it is due
	}
	body := fmt.Sprintf(`{"amount":%s,"method":"%s","transacted_at":"%s","status":"%s"`, m.money(),
		pick(m, giving.Methods), day, status)
	switch m.random.IntN(6) {
	case 0:
		m.names++
		body += fmt.Sprintf(`,"first_name":"N%d","last_name":"B","email":"p%d@example.org","company":"C"`, m.names,
			m.random.IntN(m.names+1))
	case 1:
		if len(m.plans) > 0 {
			plan := pick(m, m.plans)
			body += fmt.Sprintf(`,"contact_id":%d,"plan_id":"%s"`, plan.Contact, plan.Code)
			break
		}
		fallthrough
	default:
		body += fmt.Sprintf(`,"contact_id":%d`, pick(m, m.contacts))
	}
	if m.random.IntN(2) == 0 {
		body += fmt.Sprintf(`,"campaign_id":%d`, pick(m, m.campaigns).ID)
	}
	if m.random.IntN(4) == 0 {
		body += `,"fee_covered":0.5,"fee":0.7`
	}
	if m.random.IntN(8) == 0 {
		body += `,"currency":"EUR"`
	}
	if m.random.IntN(4) == 0 {
		body += fmt.Sprintf(`,"external_id":"x%d"`, m.random.IntN(60))
	}
	body += "}"
	made, err := m.node().CreateGift(ctx, m.account.Number, giftInput(m, body, true, m.now))
	if err == nil && !made.Existing {
		m.gifts = append(m.gifts, made.Code)
		if made.NewGiver {
			m.contacts = append(m.contacts, made.Contact)
		}
	}
	return "give " + body, err
}

// importAndUndo imports a few gifts, and undoes some of these imports, of which others may have changed something
// meanwhile.
func (m *giftModel) importAndUndo(ctx context.Context) (what string, err error) {
	if m.undoable != 0 && m.random.IntN(2) == 0 {
		finishUndo(m, m.node(), m.account.Number, m.undoable)
		m.undoable = 0
		return "undo an import", nil
	}
	file := "amount,date,method,first_name,last_name,email,campaign,external_id\n"
	for range 4 {
		reference := ""
		if m.random.IntN(2) == 0 {
			reference = fmt.Sprintf("x%d", m.random.IntN(60))
		}
		m.names++
		file += fmt.Sprintf("%s,%s,cash,N%d,B,p%d@example.org,%s,%s\n", m.money(), m.day(), m.names,
			m.random.IntN(m.names+1), pick(m, []string{"", "Gala"}), reference)
	}
	rows := openTable(m, file)
	spec := giftImportOf(rows)
	spec.SHA256 = file
	im, _, err := m.node().ImportFile(ctx, m.account.Number, rows, spec, 4, true, func(jobs.ImportProgress) {})
	if im.First != 0 {
		m.undoable = im.ID
	}
	return "import " + file, err
}

// ledgerOf reads all gifts of an account.
func ledgerOf(t testing.TB, s *Book, account int64) (gifts []giving.Gift) {
	t.Helper()
	for page := int64(1); ; page++ {
		records, totals := must2(s.GiftPage(t.Context(), account, giving.GiftFilter{},
			crm.PageRequest{Page: page, PerPage: 100}))(t)
		for _, r := range records {
			gifts = append(gifts, r.Gift)
		}
		if len(records) == 0 {
			equal(t, int64(len(gifts)), totals.Total, "%d gifts on all pages, and the total", len(gifts))
			return gifts
		}
	}
}

// sumsOf computes every total again, in the simplest way.
func sumsOf(gifts []giving.Gift) map[string]giving.Sums {
	sums := map[string]giving.Sums{}
	type donor struct {
		campaign, contact int64
		currency          string
	}
	gave := map[donor]bool{}
	for i := range gifts {
		g := &gifts[i]
		cells := []string{giving.Cell(0, giving.Month(g.Local), g.Currency, 0),
			giving.Cell(0, 0, g.Currency, g.Contact)}
		if g.Campaign != 0 {
			cells = append(cells, giving.Cell(g.Campaign, 0, g.Currency, 0),
				giving.Cell(g.Campaign, 0, g.Currency, g.Contact))
		}
		for _, cell := range cells {
			sum := sums[cell]
			sum.Entries++
			if g.Net() > 0 {
				sum.Gifts++
				sum.Amount += g.Net()
				if g.PlanCode != "" {
					sum.Recurring += g.Net()
				}
			}
			sums[cell] = sum
		}
		if g.Net() > 0 && g.Campaign != 0 {
			gave[donor{g.Campaign, g.Contact, g.Currency}] = true
		}
	}
	for d := range gave {
		cell := giving.Cell(d.campaign, 0, d.currency, 0)
		sum := sums[cell]
		sum.Donors++
		sums[cell] = sum
	}
	return sums
}

// yearOf sums up the gifts of a year in US dollars.
func yearOf(gifts []giving.Gift, year, campaign int64) (sum giving.Sums) {
	for name, of := range sumsOf(slices.DeleteFunc(slices.Clone(gifts),
		func(g giving.Gift) bool { return campaign != 0 && g.Campaign != campaign })) {
		if _, month, currency, _ := giving.CellParts(name); month/100 == year && currency == "USD" {
			sum.Add(of)
		}
	}
	return sum
}

// checkDonors compares who is new, returning and lapsed in some years with the ledger.
func checkDonors(t testing.TB, s *Book, account int64, ledger []giving.Gift, now time.Time) {
	t.Helper()
	for year := int64(now.Year()) - 4; year <= int64(now.Year())+1; year++ {
		page := must(s.Donors(t.Context(), account, giving.DonorFilter{Year: year}, store.DonorPlace{}, 1))(t)
		for _, kind := range giving.DonorKinds {
			equal(t, page.Totals[kind], int64(len(donorsOf(ledger, giving.DonorFilter{Year: year,
				Kind: kind}))), "%v (%v)", kind, year)
		}
	}
}

// checkGiving compares every derived number of an account with its ledger.
func checkGiving(t testing.TB, s *Book, account access.Account, contacts []int64) {
	t.Helper()
	found := ledgerOf(t, s, account.Number)
	want := sumsOf(found)
	checkDonors(t, s, account.Number, found, s.Now())
	rows := must(store.List(t.Context(), s.Store, store.ScanCell, store.SQLGivingBetween, account.Number, "", "~"))(t)
	got := map[string]giving.Sums{}
	for _, row := range rows {
		got[row.Name] = row.Sums
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		equal(t, got[name], want[name], "%s", name)
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is %+v, and there are no such gifts", name, got[name])
		}
	}
	for _, id := range contacts {
		contact := must(s.ContactRecord(t.Context(), account.Number, id))(t)
		sums := want[giving.Cell(0, 0, "USD", id)]
		equal(t, contact.Stats, (crm.Stats{TotalContributions: sums.Amount / 100,
			RecurringContributions: sums.Recurring / 100}), "contact %d (%v) (%v)", id, sums.Amount, sums.Recurring)
	}
}

// wantSound lets a check look at everything.
func wantSound(t testing.TB, s *Book) {
	t.Helper()
	must(s.Check(t.Context(), check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %v", p) }}))(t)
}
