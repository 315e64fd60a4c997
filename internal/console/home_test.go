package console_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// newcomer creates a contact with tags.
func (s *site) newcomer(account access.Account, first, last string, tags ...string) crm.Contact {
	s.t.Helper()
	email := []crm.Email{{Value: strings.ToLower(first+"."+last) + "@example.org"}}
	return s.create(account, crm.ContactInput{FirstName: &first, LastName: &last, Emails: &email, Tags: &tags})
}

func TestHomeShowsOneOrganizationAtAGlance(t *testing.T) {
	s := anySite(t)
	ours, theirs := s.organization("Ours"), s.organization("Theirs")
	for i := range 8 {
		s.newcomer(ours, "Ada", fmt.Sprint("Number", i), "newsletter")
	}
	gone := s.newcomer(ours, "Gone", "Away", "newsletter", "board")
	succeed(t, s.store.ArchiveContact(t.Context(), ours.Number, gone.ID))
	s.newcomer(ours, "Zed", "Newest", "R&D <b>")
	s.campaign(ours,
		`{"title": "Winter Coats", "goal": 18000, "raised": 4500.5, "donors": 1, "end_at": "2025-01-31 23:59:59"}`)
	s.campaign(ours, `{"title": "No Goal", "raised": 10, "donors": 1200}`)
	s.newcomer(theirs, "Secret", "Stranger", "secret tag")
	s.campaign(theirs, `{"title": "Secret Campaign"}`)

	p := s.member(ours, access.Viewer)
	p.get("").is(200).sees("Active contacts 9 1 archived", "New this month 9 0 last month", "Campaigns 2 Run by you",
		"9 in 12 months",
		"November 2026 (to date) 9", "newsletter 8 contacts", "R&D <b> 1 contact",
		"Winter Coats $4,500.50 of $18,000 25% of the goal · 1 donor · ended Jan 31, 2025",
		"No Goal $10 No goal · 1,200 donors",
		"Zed Newest", "Ada Number7", "Ada Number3").hides("Ada Number2", "Gone Away", ">board<", "Secret", "secret",
		"/contacts/new", "/campaigns/new").has(`/contacts?tag=R%26D&#43;%3Cb%3E"`)
}

func TestHomeCountsNewContactsByMonth(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	year, month, _ := now.Date()
	first := func(ago int) time.Time { return time.Date(year, month-time.Month(ago), 1, 0, 0, 0, 0, time.UTC) }
	for i, at := range []time.Time{first(12), first(11).Add(-time.Second), first(11), first(3), first(2).
		Add(-time.Second), first(0)} {
		s.now = at
		s.newcomer(ours, "Ada", fmt.Sprint("Number", i))
	}
	s.now = now
	p := s.member(ours, access.Editor)
	p.get("").sees("4 in 12 months", "New this month 1 0 last month",
		first(11).Format("January 2006")+" 1", first(10).Format("January 2006")+" 0", first(3).
			Format("January 2006")+" 2", "No tags yet").lacks(first(12).Format("January 2006"))
}

func TestHomeLeadsThroughTheFirstSteps(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	editor, viewer := s.member(owner.account, access.Editor), s.member(owner.account, access.Viewer)
	editor.get("").sees("First steps 0 of 3 done").lacks("Invite a colleague", "Set up", "Create an API key",
		"Active contacts")
	viewer.get("").sees("No data yet").lacks("First steps")
	// The colleagues are there already. Each step is ticked when it is done.
	owner.get("").sees("First steps 1 of 7 done", "Invite a colleague (done)")
	ada := s.newcomer(owner.account, "Ada", "Berg")
	owner.get("").sees("2 of 7 done", "Add your contacts (done)", "Active contacts 1")
	s.campaign(owner.account, `{"title": "Winter Coats"}`)
	owner.makeKey("name", "Website", "permission", "contacts:read", "expires", "90d")
	owner.follow("settings/donations", "check", "Ours, 1 Main Street")
	owner.get("").sees("Take gifts on your campaign pages (done)", "Set up mail")
	s.store.UseRelay(new(store.Shelf))
	s.donation(owner.account, ada.ID, `"amount":25,"method":"cash","transacted_at":"2026-01-15"`)
	owner.get("").sees("Raised this year").lacks("First steps")
}

func TestFirstStepsAreHiddenForOneOrganization(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	p := s.member(ours, access.Owner)
	p.get("").sees("First steps 0 of 7 done", "Invite colleague")
	words := p.follow("first-steps/hide").words()
	equal(t, strings.Contains(words, "First steps"), false,
		"the steps are not hidden, or the usual page is missing")
	contains(t, words, "Active contacts 0", "the steps are not hidden, or the usual page is missing")
	contains(t, words, "No gifts yet.", "the steps are not hidden, or the usual page is missing")
	p.account = s.organization("Other")
	must(s.store.AddMember(t.Context(), p.account, access.Owner, p.user.Email))(t)
	p.get("").sees("First steps 0 of 7 done")
}

// donation records a gift.
func (s *site) donation(account access.Account, contact int64, format string, args ...any) giving.Gift {
	s.t.Helper()
	in, faults, err := giving.DecodeGift(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,`+format+`}`,
		append([]any{contact}, args...)...)))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	made := must(s.store.CreateGift(s.t.Context(), account.Number, in))(s.t)
	return made.Gift
}

func (s *site) refund(account access.Account, g giving.Gift, tenThousandths int64) giving.Gift {
	s.t.Helper()
	made := must(s.store.RefundGift(s.t.Context(), account.Number, g.Code, &tenThousandths, ""))(s.t)
	return made.Gift
}

// benefactors is an organization with gifts from three years.
func (s *site) benefactors() (account access.Account, gifts []giving.Gift) {
	account = s.organization("Ours")
	random := rand.New(rand.NewPCG(5, 6))
	gala, coats := s.campaign(account, `{"title": "Gala & Friends"}`), s.campaign(account, `{"title": "Coats"}`)
	var contacts []int64
	plans := map[int64]string{}
	for i := range 20 {
		id := s.newcomer(account, "Ada", fmt.Sprint("Number", i)).ID
		if contacts = append(contacts, id); i%4 != 0 {
			continue
		}
		plans[id] = s.plan(account, id, "monthly")
	}
	for i := range 90 {
		contact := contacts[random.IntN(len(contacts))]
		day := now.AddDate(0, 0, -random.IntN(800))
		if i < 8 {
			day = now.AddDate(0, 0, -random.IntN(16)) // this month
		}
		if 8 <= i && i < 16 {
			day = now.AddDate(-1, 0, 12-random.IntN(25)) // the same month of last year, before and after the same day
		}
		body := fmt.Sprintf(`"amount":%d.%02d,"method":"card","transacted_at":%q`, 1+random.IntN(900), random.IntN(100),
			day.Format(time.DateOnly))
		switch n := random.IntN(10); {
		case n < 5 && plans[contact] != "":
			body += fmt.Sprintf(`,"plan_id":%q`, plans[contact])
		case n < 4:
			body += fmt.Sprintf(`,"campaign_id":%d`, gala.ID)
		case n < 6:
			body += fmt.Sprintf(`,"campaign_id":%d`, coats.ID)
		case n == 6:
			body += `,"currency":"EUR"`
		case n == 7:
			body += `,"status":"pending"`
		case n == 8:
			body += `,"fee_covered":0.5`
		}
		g := s.donation(account, contact, "%s", body)
		if i%9 == 0 && g.Status == giving.Succeeded {
			g = s.refund(account, g, 5000)
		}
		gifts = append(gifts, g)
	}
	return account, gifts
}

// sum adds up the gifts that count in the account's currency and meet a condition.
func sum(gifts []giving.Gift, is func(*giving.Gift) bool) (amount, n int64) {
	for i := range gifts {
		if g := &gifts[i]; g.Currency == "USD" && g.Net() > 0 && is(g) {
			amount += g.Net()
			n++
		}
	}
	return amount, n
}

// givers are the contacts who gave in a year.
func givers(gifts []giving.Gift, year int64) map[int64]bool {
	found := map[int64]bool{}
	for i := range gifts {
		if g := &gifts[i]; g.Net() > 0 && giving.Year(g.At) == year {
			found[g.Contact] = true
		}
	}
	return found
}

func TestEveryNumberOnHomeIsThatOfTheGifts(t *testing.T) {
	s := anySite(t)
	account, gifts := s.benefactors()
	in := func(period int64, of func(time.Time) int64) func(*giving.Gift) bool {
		return func(g *giving.Gift) bool { return of(g.At) == period }
	}
	usd := func(minor int64) string { return text.Money(minor, "USD") }
	month, _ := sum(gifts, in(202611, giving.Month))
	monthBefore, _ := sum(gifts, in(202511, giving.Month))
	year, n := sum(gifts, in(2026, giving.Year))
	toDate, _ := sum(gifts, func(g *giving.Gift) bool {
		return giving.Year(g.At) == 2025 &&
			giving.Day(g.At) <= 20251116
	})
	recurring, _ := sum(gifts, func(g *giving.Gift) bool { return giving.Year(g.At) == 2026 && g.PlanCode != "" })
	if month == 0 || monthBefore == 0 || recurring == 0 || toDate == 0 {
		t.Fatal("these gifts prove nothing")
	}
	this, last := givers(gifts, 2026), givers(gifts, 2025)
	returning, fresh := 0, 0
	for id := range this {
		if last[id] {
			returning++
		}
		if !last[id] && !givers(gifts, 2024)[id] {
			fresh++
		}
	}
	change := fmt.Sprintf("▲ %d%% more than", int64(100*float64(year-toDate)/float64(toDate)+0.5))
	if year < toDate {
		change = fmt.Sprintf("▼ %d%% less than", int64(100*float64(toDate-year)/float64(toDate)+0.5))
	}
	p := s.member(account, access.Viewer)
	a := p.get("")
	a.is(200).sees("Raised this month "+usd(month)+" "+usd(monthBefore)+" in November 2025 (full month)",
		"Raised this year "+usd(year)+" "+change+" "+usd(toDate)+" by Nov 16, 2025",
		fmt.Sprintf("Average gift %s %d gifts in 2026", usd((year+n/2)/n), n),
		fmt.Sprintf("Recurring share %d%% %s from recurring gifts in 2026",
			int64(100*float64(recurring)/float64(year)+0.5), usd(recurring)),
		fmt.Sprintf("New donors %d of %d donors in 2026", fresh, len(this)),
		fmt.Sprintf("Returning donors %d gave in 2025 and in 2026", returning),
		fmt.Sprintf("Donor retention %d%% of %d donors of 2025 gave again",
			int64(100*float64(returning)/float64(len(last))+0.5), len(last)),
		fmt.Sprintf("Lapsed donors %d gave in 2025 and not yet in 2026", len(last)-returning),
	)
	// the target of the number of gifts
	p.get("gifts?from=2026-01-01&status=counted&to=2026-12-31").sees(fmt.Sprintf("%s from %d gifts", usd(year), n))
	contains(s.t, a.body, p.org("/gifts?from=2026-01-01&amp;status=counted&amp;to=2026-12-31"),
		"home does not lead")
	for i := range 12 {
		at := time.Date(2025, time.December+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		this, _ := sum(gifts, in(giving.Month(at), giving.Month))
		before, _ := sum(gifts, in(giving.Month(at)-100, giving.Month))
		name := at.Format("January 2006")
		if i == 11 {
			name += " (to date)"
		}
		a.sees(name + " " + usd(this) + " " + usd(before))
	}
	wantTopCampaigns(p, a, gifts)
	wantLargest(p, a, gifts)
	euros := int64(0)
	for i := range gifts {
		if g := &gifts[i]; g.Currency == "EUR" && giving.Month(g.At) >= 202412 {
			euros += g.Net()
		}
	}
	a.sees("Gifts in other currencies aren’t included above: " + text.Money(euros, "EUR") + " in the last 24 months.")
	wantLinks(p, a)
	for address, amount := range map[string]int64{
		"/gifts?from=2026-11-01&to=2026-11-30": month, "/gifts?from=2025-11-01&to=2025-11-30": monthBefore,
		"/gifts?from=2026-01-01&to=2026-12-31": year,
		"/gifts?from=2025-01-01&to=2025-11-16": toDate, "/gifts?from=2026-01-01&plan=any&to=2026-12-31": recurring,
	} {
		if list := p.get(p.org(address)); !regexp.MustCompile(regexp.QuoteMeta(usd(amount)) +
			`( and €\S+)? from \d+ gifts?\b`).MatchString(list.words()) {
			t.Errorf("%s does not sum up to %s: %s", address, usd(amount), list.words())
		}
	}
}

func wantTopCampaigns(p *person, a answer, gifts []giving.Gift) {
	p.site.t.Helper()
	titles := map[int64]string{}
	for _, title := range []string{"Gala & Friends", "Coats"} {
		campaigns, _, err := p.site.store.CampaignPage(p.site.t.Context(), p.account.Number, campaign.OwnCampaigns,
			crm.PageRequest{Page: 1, PerPage: 9})
		if err != nil {
			p.site.t.Fatal(err)
		}
		for _, c := range campaigns {
			if c.Title == title {
				titles[c.ID] = title
			}
		}
	}
	type top struct {
		title  string
		amount int64
	}
	var all []top
	for id, title := range titles {
		amount, _ := sum(gifts, func(g *giving.Gift) bool { return g.Campaign == id && giving.Year(g.At) == 2026 })
		all = append(all, top{title, amount})
	}
	slices.SortFunc(all, func(a, b top) int { return int(b.amount - a.amount) })
	a.sees(fmt.Sprintf("Top campaigns in 2026 All campaigns %s %s %s %s", all[0].title,
		text.Money(all[0].amount, "USD"), all[1].title, text.Money(all[1].amount, "USD")))
}

func wantLargest(p *person, a answer, gifts []giving.Gift) {
	p.site.t.Helper()
	var recent []int64
	sum(gifts, func(g *giving.Gift) bool {
		if giving.Month(g.At) >= 202609 {
			recent = append(recent, g.Net())
		}
		return false
	})
	slices.Sort(recent)
	_, section, _ := strings.Cut(a.words(), "Largest recent gifts")
	section, _, _ = strings.Cut(section, "Gifts in other currencies")
	for i, amount := range slices.Backward(recent[len(recent)-5:]) {
		if _, after, found := strings.Cut(section, text.Money(amount, "USD")); !found {
			p.site.t.Errorf("the %d. of the largest gifts, %d, is not in its place: %s", 5-i, amount, section)
		} else {
			section = after
		}
	}
}

// wantLinks follows the links of the home page.
func wantLinks(p *person, a answer) {
	p.site.t.Helper()
	for _, want := range []string{
		"/gifts?from=2026-11-01&to=2026-11-30", "/gifts?from=2025-11-01&to=2025-11-30",
		"/gifts?from=2026-01-01&to=2026-12-31", "/gifts?from=2025-01-01&to=2025-11-16",
		"/gifts?from=2026-01-01&plan=any&to=2026-12-31", "/gifts?from=2024-12-01&to=2024-12-31",
		"/donors?new=1&year=2026", "/donors?year=2026",
		"/donors?returning=1&year=2026", "/donors?year=2025", "/donors?lapsed=1&year=2026", "/gifts?from=2024-12-01",
	} {
		contains(p.site.t, html.UnescapeString(a.body), `href="`+p.org(want)+`"`, "nothing leads to %s", want)
	}
	for address, number := range map[string]string{
		"/donors?new=1&year=2026": "New donors (\\d+)", "/donors?returning=1&year=2026": "Returning donors (\\d+)",
		"/donors?year=2025":          "of (\\d+) donors of 2025",
		"/donors?lapsed=1&year=2026": "Lapsed donors (\\d+)",
	} {
		n := regexp.MustCompile(number).FindStringSubmatch(a.words())[1]
		list := p.get(p.org(address))
		if !regexp.MustCompile(`\b` + n + ` donors? gave`).MatchString(list.words()) {
			p.site.t.Errorf("%s does not count %s donors: %s", address, n, list.words())
		}
		equal(p.site.t, fmt.Sprint(strings.Count(list.body, `class="main"`)), n, "%s lists", address)
	}
}

func TestHomeWithoutGiftsSaysHowToBegin(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	s.newcomer(ours, "Ada", "Berg")
	for role, words := range map[access.Role]string{access.Editor: "Record your first gift",
		access.Viewer: "No gifts yet."} {
		p := s.member(ours, role)
		p.get("").sees(words).lacks("Raised this year", "$0")
	}
}

// In the first days of a year, or of an organization, there is nothing to compare with.
func TestHomeOfTheFirstGiftComparesWithNothing(t *testing.T) {
	s := anySite(t)
	ours := s.organization("Ours")
	s.donation(ours, s.newcomer(ours, "Ada", "Berg").ID, `"amount":25,"method":"cash","transacted_at":"2026-11-15"`)
	p := s.member(ours, access.Editor)
	p.get("statements").sees("Giving statements 2026", "Ada Berg") // there are none from last year
	p.get("").sees("Raised this year $25 $0 by Nov 16, 2025", "Average gift $25 1 gift in 2026", "Recurring share 0%",
		"New donors 1 of 1 donor in 2026",
		"Donor retention – of 0 donors of 2025", "Lapsed donors 0", "No gifts to a campaign in 2026 yet.",
		"Ada Berg $25 Nov 15, 2026")
}

// The report of a year agrees with the lists that its numbers lead to, and its file has the same numbers.
func TestTheReportOfAYearAgreesWithItsLists(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	gala := s.campaign(p.account, `{"title":"=Gala"}`)
	ada, bo, cy, di := s.newcomer(p.account, "Ada", "Berg").ID, s.newcomer(p.account, "Bo", "Ek").ID,
		s.newcomer(p.account, "Cy", "Dahl").ID, s.newcomer(p.account, "Di", "Falk").ID
	for contact, gifts := range map[int64][]string{
		ada: {`"amount":100.50,"method":"card","transacted_at":"2026-03-01"`,
			`"amount":50,"method":"cash","transacted_at":"2025-03-01"`},
		bo: {fmt.Sprintf(`"amount":30,"method":"check","transacted_at":"2026-11-01","campaign_id":%d`, gala.ID),
			`"amount":7,"method":"cash","currency":"EUR","transacted_at":"2026-11-01"`},
		cy: {`"amount":40,"method":"cash","transacted_at":"2025-12-30"`},
		di: {`"amount":5,"method":"cash","transacted_at":"2026-01-01"`,
			`"amount":6,"method":"cash","transacted_at":"2024-01-01"`},
	} {
		for _, gift := range gifts {
			s.donation(p.account, contact, gift)
		}
	}
	page := p.get("reports")
	page.sees("Reports: 2026", "Raised in 2026 $135.50 ▲ 171% more than $50 by Nov 16, 2025",
		"Average gift $45.17 3 gifts in 2026", "Donors 3 2 in 2025", "Donor retention 50% of 2025 donors gave again",
		"New: first gift ever 1 $30", "Returning: gave in 2025 and 2026 1 $100.50",
		"Lapsed: gave in 2025, not in 2026 1 $40", "All donors in 2026 3 $135.50",
		"=Gala $30 $0", "No campaign $105.50 $90", "Card $100.50 $0", "Check $30 $0", "Cash $5 $90",
		"March 2026 $100.50 $50", "December 2026 $0 $40", "€7")
	for query, want := range map[string]string{"from=2026-01-01&method=card&to=2026-12-31": "$100.50 from 1 gift",
		"from=2026-01-01&to=2026-12-31": "$135.50"} {
		page.has(strings.ReplaceAll(query, "&", "&amp;"))
		p.get("gifts?" + query).sees(want)
	}
	p.get("donors?lapsed=1&year=2026").sees("1 donor gave in 2025 and not in 2026.", "Cy Dahl")
	p.get("reports?year=2025").sees("Raised in 2025 $90", "more than $6 in 2024", "Next year")
	p.get("reports?year=2027").is(422)
	file := p.get("reports/export?year=2026")
	for _, line := range []string{"Figure,Of,2026,2025", "Raised,,135.5,90", "Donors,Lapsed,1,", "Given by,Lapsed,40,",
		"Raised by month,March,100.5,50", "Raised by method,Card,100.5,0"} {
		if !strings.Contains(file.body, line+"\r\n") && !strings.Contains(file.body, line+"\n") {
			t.Errorf("the file lacks %q: %s", line, file.body)
		}
	}
	file.hides(",=Gala")
}
