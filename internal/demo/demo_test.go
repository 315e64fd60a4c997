package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/drill"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
	"donorbook/internal/store/duplicates"
)

// Whatever the day, the demo has two years of gifts that agree with its plans, its tags and its people.
func TestTheGiftsAgreeWithPlansTagsAndPeople(t *testing.T) {
	t.Parallel()
	days := startDays
	if !drill.On {
		days = days[:1]
	}
	for _, now := range days {
		t.Run(now.Format(time.DateOnly), func(t *testing.T) {
			t.Parallel()
			clock, quiet := NewClock(now), slog.New(slog.DiscardHandler)
			s := assert.Must(book.Open(t.Context(), store.Options{Data: t.TempDir(), Now: clock.Now}))(t)
			defer s.Close()
			assert.Must(Fill(t.Context(), s, clock, quiet))(t)
			clock.at = now
			given := checkGifts(t, s, now.In(text.Location(timezone)))
			checkDuplicates(t, s, given)
			report, err := s.Check(t.Context(),
				check.CheckOptions{Found: func(p check.Problem) { t.Errorf("the check found: %s", p) }})
			if report.Contacts == 0 || err != nil {
				t.Errorf("the check saw %d contacts, and ended with %v", report.Contacts, err)
			}
		})
	}
}

// person is a contact of the demo with what it gave.
type person struct {
	ID        int64     `json:"id"`
	Tags      []string  `json:"tags"`
	CreatedAt time.Time `json:"created_at"`
	plans     []giving.Plan
	gifts     []giving.Gift
	slugs     []string // of the campaigns that they were for
}

// checkGifts looks at all gifts, and returns what each contact has given.
func checkGifts(t *testing.T, s *book.Book, now time.Time) (given map[int64]int64) {
	t.Helper()
	given = map[int64]int64{}
	total, methods, states, months := 0, map[string]int{}, map[giving.GiftStatus]int{}, map[int64]int64{}
	refunded, covered, atGala, overdue, sum, galaSum := 0, 0, 0, int64(0), int64(0), int64(0)
	gala := fmt.Sprintf("lighthouse-gala-%d", galaDay(now, 0).Year())
	for _, account := range assert.Must(s.Accounts(t.Context()))(t) {
		assert.Equal(t, assert.Must(s.AccountSettings(t.Context(), account.Number))(t).Timezone, "America/New_York",
			"the clocks of %s are those", account.Name)
		for _, p := range people(t, s, account.Number) {
			p.check(t, now)
			for i := range p.gifts {
				g := &p.gifts[i]
				total++
				methods[g.Method]++
				states[g.Status]++
				months[giving.Month(g.At)] += g.Net()
				given[p.ID] += g.Net()
				if sum += g.Net(); p.slugs[i] == gala {
					atGala++
					galaSum += g.Net()
				}
				if len(g.Entries) > 1 {
					refunded++
				}
				if g.Payment().FeeCovered > 0 {
					covered++
				}
			}
		}
		_, late := assert.Must2(s.OverduePlans(t.Context(), account.Number, 10))(t)
		overdue += late
	}
	if total < 1200 || total > 2000 || len(methods) < 7 || refunded < 5 || covered < total/20 || overdue < 2 ||
		overdue > 4 {
		t.Errorf("%d gifts, %v, %d refunded, %d with a fee that was covered, %d overdue plans", total, methods,
			refunded, covered, overdue)
	}
	if states[giving.Failed] < 2 || states[giving.Cancelled] == 0 || states[giving.Succeeded] < total*9/10 {
		t.Errorf("the states of the gifts are %v", states)
	}
	rest := int64(total - atGala)
	if len(months) < 24 || atGala < 20 || galaSum/int64(atGala) < 2*(sum-galaSum)/rest {
		t.Errorf("%d gifts for the gala are %d, %d others in %d months are %d", atGala, galaSum, rest, len(months),
			sum-galaSum)
	}
	return given
}

// checkDuplicates looks at what the page of duplicates shows at once: someone at each level, and both of a pair who
// gave.
func checkDuplicates(t *testing.T, s *book.Book, given map[int64]int64) {
	t.Helper()
	accounts := assert.Must(s.Accounts(t.Context()))(t)
	for i, account := range accounts {
		n := assert.Must(s.DuplicateCounts(t.Context(), account.Number))(t)
		twins := int64(len(readContent().Branches[0].Twins))
		if n.At.IsZero() || i == 0 && (n.Sure == 0 || n.Likely == 0 || n.Possible == 0 ||
			n.Sure+n.Likely+n.Possible != twins) {
			t.Errorf("the duplicates of %s are %+v", account.Name, n)
		}
	}
	request := crm.PageRequest{Page: 1, PerPage: 10}
	pairs, _ := assert.Must2(s.Pairs(t.Context(), accounts[0].Number, duplicates.Filter{}, request))(t)
	if !slices.ContainsFunc(pairs, func(p duplicates.Pair) bool {
		return p.Level == duplicate.Sure && given[p.A] > 0 && given[p.B] > 0
	}) {
		t.Errorf("no merge of %+v would move money; they gave %v", pairs, given)
	}
}

func people(t *testing.T, s *book.Book, account int64) (people []*person) {
	t.Helper()
	all := crm.PageRequest{Page: 1, PerPage: 1000}
	list, _ := assert.Must2(s.Contacts(t.Context(), account, crm.All, all, []byte{'['}, nil))(t)
	assert.Succeed(t, json.Unmarshal(append(list, ']'), &people))
	for _, p := range people {
		p.plans = assert.Must(s.ContactPlans(t.Context(), account, p.ID, 10))(t)
		records, _ := assert.Must2(s.GiftPage(t.Context(), account, giving.GiftFilter{Contact: p.ID}, all))(t)
		for _, record := range records {
			p.gifts, p.slugs = append(p.gifts, record.Gift), append(p.slugs, record.Slug)
		}
	}
	return people
}

// check compares one person's tags with what they gave.
func (p *person) check(t *testing.T, now time.Time) {
	t.Helper()
	years := map[int]int{}
	for i := range p.gifts {
		g := &p.gifts[i]
		if g.At.Before(p.CreatedAt) || g.At.After(now) || g.CreatedAt.Before(g.At) {
			t.Errorf("a gift of %v was recorded at %v by a contact of %v", g.At, g.CreatedAt, p.CreatedAt)
		}
		if g.Net() > 0 {
			years[g.At.In(now.Location()).Year()]++
		}
	}
	monthly := slices.ContainsFunc(p.plans, func(plan giving.Plan) bool { return p.givesByPlan(plan, now) })
	assert.Equal(t, slices.Contains(p.Tags, "monthly donor"), monthly,
		"contact %d has the tag of a monthly donor (%v)", p.ID, p.plans)
	if slices.Contains(p.Tags, "lapsed") && (years[now.Year()] > 0 || years[now.Year()-1] == 0) {
		t.Errorf("contact %d is lapsed, and gave in %v", p.ID, years)
	}
	year := galaDay(now, 0).Year()
	tagged, gave := slices.Contains(p.Tags, fmt.Sprint("gala ", year)),
		slices.Contains(p.slugs, fmt.Sprint("lighthouse-gala-", year))
	assert.Equal(t, tagged, gave, "contact %d was at the gala", p.ID)
}

// givesByPlan tells whether a plan is active and monthly, with a gift for every month up to now.
func (p *person) givesByPlan(plan giving.Plan, now time.Time) bool {
	if plan.Frequency != "monthly" || plan.Status != giving.ActivePlan || plan.Overdue(now) {
		return false
	}
	given := map[int64]bool{}
	for i := range p.gifts {
		if g := &p.gifts[i]; g.PlanCode == plan.Code && g.Net() > 0 {
			given[giving.Month(g.At)] = true
		}
	}
	for n := 0; !monthsAfter(plan.StartAt, n).After(now); n++ {
		if !given[giving.Month(monthsAfter(plan.StartAt, n))] {
			return false
		}
	}
	return true
}

// The file has no field that the program does not read, and an account for each branch.
func TestTheFileIsRead(t *testing.T) {
	t.Parallel()
	reader := json.NewDecoder(bytes.NewReader(file))
	reader.DisallowUnknownFields()
	var d content
	assert.Succeed(t, reader.Decode(&d))
	if len(d.Branches) != 3 || d.Branches[0].Name != Name {
		t.Errorf("the branches are %+v", d.Branches)
	}
	for _, branch := range d.Branches {
		if branch.Contacts == 0 || branch.Archived == 0 || len(branch.Places) == 0 || len(branch.Campaigns) == 0 {
			t.Errorf("%s is not complete: %+v", branch.Name, branch)
		}
	}
}

// The contacts of the demo were added over two years, many of them in the first weeks, and then more and more.
func TestContactsCameOverTwoYears(t *testing.T) {
	t.Parallel()
	for _, now := range startDays {
		times := arrivals(now, 160)
		if len(times) != 160 || !slices.IsSortedFunc(times, time.Time.Compare) {
			t.Fatalf("%d times, in order: %v", len(times), slices.IsSortedFunc(times, time.Time.Compare))
		}
		first, last, begun := times[0], times[159], now.AddDate(0, -24, 0)
		if first.Before(begun) || first.After(begun.AddDate(0, 1, 0)) || last.After(now) ||
			last.Before(now.AddDate(0, 0, -14)) {
			t.Errorf("at %v they came from %v to %v", now, first, last)
		}
		later := times[64:]
		if moved := times[63]; moved.After(now.AddDate(0, -22, 0)) || later[0].Before(moved) {
			t.Errorf("at %v the first 64 came until %v", now, moved)
		}
		if early := slices.IndexFunc(later, now.AddDate(0, -11, 0).Before); early < 25 || early > 48 {
			t.Errorf("at %v the first half of the time after has %d of 96", now, early)
		}
	}
}

// startDays are days on which the demo may be started: ordinary ones, and those that are difficult for calendars.
var startDays = []time.Time{
	time.Date(2027, 1, 1, 2, 0, 0, 0, time.UTC), // which is December 31 in Boston
	time.Date(2026, 11, 15, 8, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 23, 59, 59, 0, time.UTC),
	time.Date(2027, 8, 31, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC),
}
