package demo

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// habit is how a contact of the demo gives.
type habit int

const (
	givesMonthly   habit = iota // by an active plan; these have the tag "monthly donor", and no one else
	missedMonths                // by a plan that is past due
	givesQuarterly              // by a plan
	missedQuarter               // by a plan that is overdue
	givesOften
	givesAtYearEnd
	givesMuch
	gaveLastYear // and not since
	gaveOnce
	givesNothing
)

// donor is a contact of the demo, and how it gives.
type donor struct {
	id     int64
	since  time.Time
	habit  habit
	atGala bool
}

// drive is a campaign of the demo, and what it gets.
type drive struct {
	id          int64
	from, until time.Time
	Began       int    // months ago
	Weight      int    // how often a gift is for it
	Plans       bool   // monthly gifts are for it
	Gala        string // last or next
	Cover       string // the name of its picture
	Picture     string // the name of the one in its story
	Shows       string // what that picture shows
}

// donation is a gift to record.
type donation struct {
	at     time.Time
	in     giving.GiftInput
	refund int64 // in ten-thousandths, all for -1, nothing for 0
}

// giver decides how the contact gives that comes at a time. Few enough miss a payment that each of them is worth a call.
func (m *maker) giver(at time.Time, leaves bool) donor {
	g := donor{since: at, habit: givesNothing}
	shares := []int{givesMonthly: 27, givesQuarterly: 4, givesOften: 36, givesAtYearEnd: 10, givesMuch: 5, gaveLastYear: 8, gaveOnce: 6, givesNothing: 4}
	draw := m.giving.IntN(100)
	for h, share := range shares {
		if draw -= share; draw < 0 {
			g.habit = habit(h)
			break
		}
	}
	switch {
	case leaves, g.habit == gaveLastYear && at.Year() >= m.now.Year():
		g.habit = gaveOnce
	case g.habit == givesMonthly && m.missed < 2 && at.Before(m.now.AddDate(0, -9, 0)):
		m.missed++
		g.habit = missedMonths
	case g.habit == givesQuarterly && m.missed < 3 && at.Before(m.now.AddDate(0, -12, 0)):
		m.missed++
		g.habit = missedQuarter
	}
	gala := galaDay(m.now, 0)
	g.atGala = m.chapter == 0 && at.Before(gala.AddDate(0, 0, -14)) && g.habit != givesNothing && g.habit != gaveLastYear && m.giving.IntN(100) < 45
	return g
}

// tags are what the organization has noted about a giver; they agree with the gifts.
func (g *donor) tags(now time.Time) (tags []string) {
	switch g.habit {
	case givesMonthly:
		tags = append(tags, "monthly donor")
	case givesMuch:
		tags = append(tags, "major donor")
	case gaveLastYear:
		tags = append(tags, "lapsed")
	}
	if g.atGala {
		tags = append(tags, fmt.Sprintf("gala %d", galaDay(now, 0).Year()))
	}
	return tags
}

// galaDay is the evening of the last gala, or of one that is so many years later.
func galaDay(now time.Time, later int) time.Time {
	gala := time.Date(now.Year(), time.April, 24, 22, 0, 0, 0, time.UTC)
	if gala.After(now.AddDate(0, 0, -14)) {
		gala = gala.AddDate(-1, 0, 0)
	}
	return gala.AddDate(later, 0, 0)
}

// givingTuesday is the Tuesday after Thanksgiving.
func givingTuesday(year int) time.Time {
	first := time.Date(year, time.November, 1, 15, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (int(time.Thursday-first.Weekday())+7)%7+21+5)
}

// entryDelay is for how long someone waits to enter n gifts: a week, or four where there are few.
func entryDelay(n int) time.Duration {
	const week = 7 * 24 * time.Hour
	if n < 8 {
		return 4 * week
	}
	return week
}

// createGifts records everything that the givers of an account have given in two years, in such portions as someone enters.
func (m *maker) createGifts(ctx context.Context, account access.Account, givers []donor, campaigns []drive) error {
	var gifts []donation
	for i := range givers {
		more, err := m.giftsOf(ctx, account, &givers[i], campaigns)
		if err != nil {
			return err
		}
		gifts = append(gifts, more...)
	}
	gifts = slices.DeleteFunc(gifts, func(g donation) bool { return g.at.After(m.now) })
	slices.SortStableFunc(gifts, func(a, b donation) int { return a.at.Compare(b.at) })
	if m.chapter == 0 {
		gifts[0].in.Code = giftCode
	}
	for len(gifts) > 0 {
		n := 1
		for n < len(gifts) && gifts[n].at.Sub(gifts[0].at) < entryDelay(n) {
			n++
		}
		if err := m.recordGifts(ctx, account.Number, gifts[:n]); err != nil {
			return err
		}
		gifts = gifts[n:]
	}
	return nil
}

// thankedAfter is how long the people of the demo take to thank for a gift.
const thankedAfter = 8 * 24 * time.Hour

func (m *maker) recordGifts(ctx context.Context, account int64, gifts []donation) error {
	inputs := make([]*giving.GiftInput, 0, len(gifts))
	for i := range gifts {
		if err := gifts[i].in.Validate(nil, true, phoneRegion, m.now); err != nil {
			return err
		}
		if m.now.Sub(gifts[i].at) > thankedAfter { // a few still wait
			how := giving.ThankedLetter
			gifts[i].in.Thanks = &how
		}
		inputs = append(inputs, &gifts[i].in)
	}
	m.clock.at = gifts[len(gifts)-1].at
	made, err := m.store.CreateGifts(ctx, account, inputs)
	if err != nil {
		return err
	}
	for i, gift := range made {
		if gift.Refused != nil {
			return gift.Refused
		}
		if gifts[i].in.Code != "" && gift.HasArrived() { // the gift of the documentation has a receipt
			if _, err := m.store.IssueReceipt(ctx, account, gift.Code); err != nil {
				return err
			}
		}
		if gifts[i].refund == 0 {
			continue
		}
		amount := &gifts[i].refund
		if *amount < 0 {
			amount = nil
		}
		if m.clock.at = gifts[i].at.AddDate(0, 0, 9); m.clock.at.After(m.now) {
			m.clock.at = m.now
		}
		if _, err := m.store.RefundGift(store.By(ctx, history.ConsoleChannel, m.Colleagues[0].Email), account, gift.Code, amount, ""); err != nil {
			return err
		}
	}
	return nil
}

// giftsOf is all that one contact has given. The first gift is what brought them.
func (m *maker) giftsOf(ctx context.Context, account access.Account, g *donor, campaigns []drive) (gifts []donation, err error) {
	add := func(at time.Time, dollars int64) {
		if !at.Before(g.since) {
			gifts = append(gifts, m.gift(g.id, at, dollars, chooseCampaign(m.giving, campaigns, at), m.method(dollars)))
		}
	}
	usual := pickAmount(m.giving, usualAmounts)
	switch g.habit {
	case givesMonthly, missedMonths, givesQuarterly, missedQuarter:
		gifts, err = m.planGifts(ctx, account, g, campaigns)
	case givesOften:
		for at := g.since; at.Before(m.now); at = at.AddDate(0, 0, 12+m.giving.IntN(80)) {
			if season[at.Month()] > m.giving.Float64()*9 || at.Equal(g.since) {
				add(at, usual)
			}
		}
		add(m.someTuesday(), usual)
	case givesAtYearEnd:
		for year := g.since.Year(); year <= m.now.Year(); year++ {
			add(givingTuesday(year).Add(m.minutes(6*60)), usual)
			add(time.Date(year, time.December, 20+m.giving.IntN(11), 14, 0, 0, 0, time.UTC).Add(m.minutes(9*60)), 2*usual)
		}
	case givesMuch:
		for at := g.since; at.Before(m.now); at = at.AddDate(0, 4, m.giving.IntN(60)) {
			add(at, pickAmount(m.giving, largeAmounts))
		}
		gifts = append(gifts, m.galaGifts(g, campaigns, "next", m.now.AddDate(0, 0, -60).Add(m.minutes(50*24*60)), largeAmounts)...)
	case gaveLastYear:
		for at := g.since; at.Year() < m.now.Year(); at = at.AddDate(0, 1, m.giving.IntN(90)) {
			add(at, usual)
		}
	case gaveOnce:
		add(g.since, usual)
	}
	if g.habit == gaveLastYear { // for certain
		for i := range gifts {
			gifts[i].in.Status, gifts[i].refund = nil, 0
		}
	}
	if g.atGala {
		gifts = append(gifts, m.galaGifts(g, campaigns, "last", galaDay(m.now, 0).AddDate(0, 0, -10).Add(m.minutes(14*24*60)), galaAmounts)...)
	}
	return gifts, err
}

// Dollars that people give, each as often as it stands there.
var (
	usualAmounts   = []int64{10, 20, 25, 25, 30, 35, 35, 40, 50, 50, 50, 60, 75, 75, 100, 100, 100, 120, 150, 200, 250, 500}
	monthlyAmounts = []int64{10, 10, 15, 20, 20, 25, 25, 30, 35, 50, 50, 100}
	largeAmounts   = []int64{1000, 1000, 1500, 2000, 2500, 5000}
	galaAmounts    = []int64{150, 150, 150, 250, 250, 300, 500, 500, 1000, 2500}
)

// payMethods is how people give, each as often as it stands there.
var payMethods = []string{"card", "card", "card", "card", "card", "card", "check", "check", "check", "paypal", "paypal", "ach", "ach", "cash", "bank_transfer", "venmo"}

func pickAmount(random *rand.Rand, amounts []int64) int64 { return amounts[random.IntN(len(amounts))] }

func (m *maker) minutes(n int) time.Duration {
	return time.Duration(m.giving.IntN(n)) * time.Minute
}

// someTuesday is a Giving Tuesday of the last two years.
func (m *maker) someTuesday() time.Time {
	return givingTuesday(m.now.Year() - 1 + m.giving.IntN(2)).Add(m.minutes(6 * 60))
}

// galaGifts is a gift for a gala, where the account has it.
func (m *maker) galaGifts(g *donor, campaigns []drive, gala string, at time.Time, amounts []int64) []donation {
	i := slices.IndexFunc(campaigns, func(c drive) bool { return c.Gala == gala })
	if i < 0 || at.Before(g.since) {
		return nil
	}
	dollars := pickAmount(m.giving, amounts)
	return []donation{m.gift(g.id, at, dollars, campaigns[i].id, m.method(dollars))}
}

// chooseCampaign is the campaign of a gift: one that ran at the time, or none.
func chooseCampaign(random *rand.Rand, campaigns []drive, at time.Time) int64 {
	draw := random.IntN(100)
	for _, c := range campaigns {
		if at.Before(c.from) || !c.until.IsZero() && at.After(c.until) {
			continue
		}
		if draw -= c.Weight; draw < 0 {
			return c.id
		}
	}
	return 0
}

func (m *maker) method(dollars int64) string {
	if dollars >= 2500 && m.giving.IntN(3) == 0 {
		return "stock"
	}
	return payMethods[m.giving.IntN(len(payMethods))]
}

// gift is one gift with what belongs to its method: fees, which some cover, and the numbers of checks.
func (m *maker) gift(contact int64, at time.Time, dollars, campaign int64, method string) donation {
	const one = 10_000 // ten-thousandths
	amount, at := dollars*one, at.UTC().Truncate(time.Second)
	text := at.Format(time.RFC3339)
	gift := donation{at: at, in: giving.GiftInput{Contact: &contact, Amount: &amount, Method: &method, GivenAt: &text, Campaign: &campaign}}
	switch method {
	case "card", "paypal", "venmo":
		fee := (dollars*one*29/1000 + 3000) / 100 * 100
		gift.in.Fee = &fee
		if m.giving.IntN(3) == 0 {
			amount += fee
			gift.in.FeeCovered = &fee
		}
	case "check":
		number := fmt.Sprint(1001 + m.giving.IntN(4000))
		gift.in.Check = &number
	}
	m.vary(&gift, dollars)
	return gift
}

// vary lets some gifts go another way: most that were promised come, a few cards are refused, a few gifts go back.
func (m *maker) vary(gift *donation, dollars int64) {
	status := func(s giving.GiftStatus) { gift.in.Status = (*string)(&s) }
	recent, draw := gift.at.After(m.now.AddDate(0, 0, -45)), m.giving.IntN(120)
	switch {
	case draw < 12 && recent && dollars >= 50:
		status(giving.Pending)
	case draw == 12:
		status(giving.Failed)
	case draw == 13 && !recent:
		status(giving.Cancelled)
	case draw == 14:
		gift.refund = -1
	case draw == 15 && dollars >= 40:
		gift.refund = 100_000 // ten dollars
	case draw == 16:
		dedication := &giving.Dedication{Type: "in_memory_of", Name: m.FirstNames[dollars%7] + " " + m.LastNames[dollars%11]}
		gift.in.Dedication = &dedication
	}
}

// monthsAfter is the same day of a later month, or its last day.
func monthsAfter(start time.Time, n int) time.Time {
	first := start.AddDate(0, 0, 1-start.Day()).AddDate(0, n, 0)
	return first.AddDate(0, 0, min(start.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// planGifts makes the plan of a giver, and a gift for each time that it was due, up to the month in which someone stopped.
func (m *maker) planGifts(ctx context.Context, account access.Account, g *donor, campaigns []drive) (gifts []donation, err error) {
	frequency, months, missed := "monthly", 1, 0
	if g.habit == givesQuarterly || g.habit == missedQuarter {
		frequency, months = "quarterly", 3
	}
	switch g.habit {
	case missedMonths:
		missed = 2
	case missedQuarter:
		missed = 1
	}
	start := g.since.UTC().Truncate(time.Second)
	var campaign int64
	if i := slices.IndexFunc(campaigns, func(c drive) bool { return c.Plans && !start.Before(c.from) }); i >= 0 && m.giving.IntN(2) == 0 {
		campaign = campaigns[i].id
	}
	dollars := pickAmount(m.giving, monthlyAmounts) * int64(min(months, 2))
	amount, method, from := dollars*10_000, []string{"card", "card", "ach", "paypal"}[m.giving.IntN(4)], start.Format(time.RFC3339)
	in := giving.PlanInput{GiftInput: giving.GiftInput{Contact: &g.id, Amount: &amount, Method: &method, Campaign: &campaign}, Frequency: &frequency, StartAt: &from}
	if err := in.Validate(nil, true, phoneRegion, m.now); err != nil {
		return nil, err
	}
	if m.plans++; m.plans == 1 {
		in.Code = planCode
	}
	m.clock.at = start
	plan, err := m.store.CreatePlan(ctx, account.Number, in)
	if err != nil {
		return nil, err
	}
	for n := 0; !monthsAfter(start, n).After(m.now); n += months {
		gift := m.gift(g.id, monthsAfter(start, n), dollars, campaign, method)
		gift.in.Plan, gift.in.Status, gift.refund = &plan.Code, nil, 0
		gifts = append(gifts, gift)
	}
	for i := max(0, len(gifts)-missed); i < len(gifts); i++ {
		failed := string(giving.Failed)
		gifts[i].in.Status = &failed
	}
	if g.habit != missedMonths {
		return gifts, nil
	}
	status := string(giving.PastDue)
	late := giving.PlanInput{GiftInput: giving.GiftInput{Status: &status}}
	if err := late.Validate(nil, false, phoneRegion, m.now); err != nil {
		return nil, err
	}
	m.clock.at = cmp.Or(gifts[len(gifts)-1].at, start)
	_, err = m.store.UpdatePlan(ctx, account.Number, plan.Code, late)
	return gifts, err
}
