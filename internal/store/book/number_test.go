package book

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// livelyAccount is an account whose contacts were archived, merged, imported and taken back, with gifts in two
// currencies, refunds and promises.
func livelyAccount(t *testing.T, s *Book) (account access.Account, campaigns []int64) {
	t.Helper()
	s.Now = func() time.Time { return donorsNow }
	account, made, _ := generous(t, s)
	for _, c := range made {
		campaigns = append(campaigns, c.ID)
	}
	abroad := createCampaign(t, s, account, `{"title":"Abroad","currency":"EUR"}`)
	campaigns = append(campaigns, abroad.ID)
	random := rand.New(rand.NewPCG(8, 9))
	record := func(contact int64, format string, args ...any) {
		body := fmt.Sprintf(`{"contact_id":%d,"method":"cash",`+format+`}`, append([]any{contact}, args...)...)
		must(s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, donorsNow)))(t)
	}
	for i := range int64(12) {
		id := create(t, s, account.Number, fmt.Sprintf(`{"first_name":"E%d","last_name":"Euro","tags":["abroad"]}`,
			i)).ID
		record(id, `"amount":%d.25,"currency":"EUR","transacted_at":"%d-03-01","campaign_id":%d`, 3+i, 2024+i%3,
			abroad.ID)
		if i%4 == 0 {
			record(id, `"amount":9.99,"fee":0.4,"fee_covered":0.33,"currency":"USD","transacted_at":"2026-04-01",
				"campaign_id":%d`, abroad.ID)
		}
	}
	file := "amount,date,method,first_name,last_name,email,campaign\n"
	people := "first_name,last_name,email,tags\n"
	for i := range 9 {
		file += fmt.Sprintf("%d.10,202%d-05-05,check,Undone%d,Donor,undone%d@example.org,Gala\n", 5+i, 4+i%3, i, i)
		people += fmt.Sprintf("Undone%d,Person,person%d@example.org,abroad\n", i, i)
	}
	rows := openTable(t, file)
	im, _ := must2(s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 7, true,
		func(jobs.ImportProgress) {}))(t)
	equal(t, im.Progress.Created, 9, "imported %+v", im.Progress)
	finishUndo(t, s, account.Number, im.ID)
	finishUndo(t, s, account.Number, importFile(t, s, account.Number, people, jobs.MergeExisting).ID)
	id := func(seq int64) int64 { return doc.MakeID(account.Number, seq) }
	for seq := int64(1); seq <= 72; seq += 6 {
		mergeOf(t, s, account.Number, id(seq), id(seq+1))
		if random.IntN(2) == 0 {
			archive(t, s, account.Number, id(seq+2))
		}
	}
	return account, campaigns
}

// contactsListed are the contacts of a list, and its total.
func contactsListed(t *testing.T, s *Book, account int64, scope crm.ContactScope, f find.Filter) (ids []int64) {
	t.Helper()
	for page := int64(1); ; page++ {
		found, result := must2(s.MatchingContacts(t.Context(), account, scope, f,
			crm.PageRequest{Page: page, PerPage: 7}))(t)
		ids = append(ids, store.Collect(found, func(c crm.Contact) int64 { return c.ID })...)
		if len(found) == 0 {
			equal(t, result.Total, int64(len(ids)), "%s, %+v: a total, and %d are listed", scope, f, len(ids))
			slices.Sort(ids)
			return ids
		}
	}
}

// Every number of donors, of contacts and of money is the same wherever it is told, and is that of the list behind it.
func TestEveryNumberIsTheSameEverywhere(t *testing.T) {
	s := newBook(t)
	account, campaigns := livelyAccount(t, s)
	checkDonorNumbers(t, s, account.Number)
	checkMoneyNumbers(t, s, account.Number, campaigns)
	checkContactNumbers(t, s, account.Number)
}

func checkDonorNumbers(t *testing.T, s *Book, account int64) {
	t.Helper()
	ctx := t.Context()
	ledger, archived := ledgerOf(t, s, account), 0
	for year := int64(2024); year <= 2026; year++ {
		o := must(s.GivingOverview(ctx, account, time.Date(int(year), time.November, 16, 10, 0, 0, 0, time.UTC)))(t)
		equal(t, o.LastYearDonors, int64(len(donorsOf(ledger, giving.DonorFilter{Year: year - 1}))),
			"donors of the year before %d", year)
		for _, kind := range giving.DonorKinds {
			f := giving.DonorFilter{Year: year, Kind: kind}
			want := donorsOf(ledger, f)
			same := func(where string, got []int64) {
				equal(t, got, want, "%d %q donors %s", year, kind, where)
			}
			page := must(s.Donors(ctx, account, f, store.DonorPlace{}, 1000))(t)
			for i := range page.Donors {
				if page.Donors[i].Contact.Archived() {
					archived++
				}
			}
			same("in their list", store.Collect(page.Donors, func(d store.Donor) int64 { return d.Contact.ID }))
			given, _ := must2(s.GivenBy(ctx, account, f))(t)
			people, statements := must2(statementPageOf(s, account, f, store.DonorPlace{}, 1000))(t)
			same("in statements", store.Collect(people, func(c crm.Contact) int64 { return c.ID }))
			n := len(want)
			expect(t, "how many they are in the list, a file, statements and at home", fmt.Sprint(n, n, n, n),
				page.Totals[kind], len(given), statements.Total, o.Donors[kind])
			for _, this := range []int64{year, 2026, 2030} { // whether the year is over or not
				if this < 2026 || kind == giving.ReturningDonors {
					continue
				}
				scope, filter := must2(find.ParseQuery(find.DonorQuery(f, this).Encode(), "US"))(t)
				same("in the list of contacts", contactsListed(t, s, account, scope, filter))
			}
		}
	}
	equal(t, archived == 0, false, "no donor is archived, which proves little")
}

func checkMoneyNumbers(t *testing.T, s *Book, account int64, campaigns []int64) {
	t.Helper()
	ctx := t.Context()
	for year := int64(2024); year <= 2026; year++ {
		day := func(year int64) time.Time { return time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC) }
		_, listed := must2(s.GiftPage(ctx, account, giving.GiftFilter{From: day(year), To: day(year + 1),
			Days: true}, crm.PageRequest{Page: 1, PerPage: 1}))(t)
		given, currency := must2(s.GivenBy(ctx, account, giving.DonorFilter{Year: year}))(t)
		sums, n := map[string]int64{}, int64(0)
		for _, g := range given {
			n += g.Gifts
			for currency, amount := range g.Sums {
				sums[currency] += amount
			}
		}
		o := must(s.GivingOverview(ctx, account, day(year+1).Add(-time.Hour)))(t)
		expect(t, "what donors gave in a year", fmt.Sprint("USD ", listed.Gifts, listed.Sums["USD"], listed.Sums["EUR"],
			o.ThisYear.Amount, false), currency, n, sums["USD"], sums["EUR"], sums["USD"], sums["EUR"] == 0)
	}
	for _, id := range campaigns {
		c := must(s.Campaign(ctx, account, id))(t).Campaign
		page := must(s.Donors(ctx, account, giving.DonorFilter{Campaign: id}, store.DonorPlace{}, 1000))(t)
		raised := int64(0)
		for _, d := range page.Donors {
			raised += d.Sums[page.Currency]
		}
		expect(t, c.Title, fmt.Sprint(c.Currency, " ", c.Donors(), c.Donors(), c.Raised()), page.Currency,
			len(page.Donors), page.Totals[giving.AllDonors], raised)
	}
}

func checkContactNumbers(t *testing.T, s *Book, account int64) {
	t.Helper()
	ctx := t.Context()
	var merged, gone, all int64
	for _, c := range everyContact(t, s, account) {
		all++
		switch {
		case c.MergedInto != 0:
			merged++
		case c.Archived():
			gone++
		}
	}
	counts := must(s.Counts(ctx, account))(t)
	if counts.Active != all-merged-gone || counts.Archived != gone || merged == 0 || gone < 9 {
		t.Errorf("%+v of %d contacts, of which %d were merged and %d are archived", counts, all, merged, gone)
	}
	for scope, want := range map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived,
		crm.All: counts.Active + counts.Archived} {
		equal(t, int64(len(contactsListed(t, s, account, scope, find.Filter{}))), want, "%s contacts are listed", scope)
		size := must(s.SelectionSize(ctx, account, jobs.Selection{All: true, Scope: scope}))(t)
		equal(t, size, want, "contacts are %s, and are exported", scope)
		if scope != crm.Active {
			want += merged // which say so
		}
		if _, total := page(t, s, account, scope, 1, 3); total != want {
			t.Errorf("%d contacts are %s, and programs get %d", want, scope, total)
		}
	}
	moments := []time.Time{donorsNow.AddDate(0, 0, -1), donorsNow.AddDate(0, 0, 1)}
	grown, err := s.Growth(ctx, account, moments)
	new := contactsListed(t, s, account, crm.Active, find.Filter{Created: find.Window{From: moments[0],
		To: moments[1]}})
	if err != nil || grown[1]-grown[0] != int64(len(new)) || grown[1] != counts.Active {
		t.Errorf("%v: %d contacts are new, and %d are listed", err, grown, len(new))
	}
	archived, err := s.ArchivedWithTags(ctx, account, []string{"abroad", "unknown"})
	if want := contactsListed(t, s, account, crm.Archived, find.Filter{Tags: []string{"abroad"}}); err != nil ||
		archived["abroad"] != int64(len(want)) || len(want) < 9 || len(archived) != 1 {
		t.Errorf("%v: %v archived contacts have the tag, and %d are listed", err, archived, len(want))
	}
}

// withGifts is an account with some gifts: from two contacts, in two years, for a campaign and for none, with a
// refund and a plan.
func withGifts(t testing.TB, s *Book) (account access.Account, contacts []int64) {
	t.Helper()
	account, now := newAccount(t, s), s.Now()
	title := "Gala"
	campaign := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
	for i := range 3 {
		contacts = append(contacts, create(t, s, account.Number,
			fmt.Sprintf(`{"first_name":"A%d","last_name":"B"}`, i)).ID)
	}
	plan := newPlan(t, s, account.Number, fmt.Sprintf(
		`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","external_id":"p1"}`, contacts[0]))
	for i, more := range []string{
		fmt.Sprintf(`"campaign_id":%d,"external_id":"g1"`, campaign.ID), fmt.Sprintf(`"plan_id":%q`, plan.Code),
		`"status":"pending"`, fmt.Sprintf(`"campaign_id":%d,"fee_covered":0.5`, campaign.ID), `"currency":"EUR"`,
	} {
		body := fmt.Sprintf(`{"amount":%d,"method":"card","transacted_at":%q,"contact_id":%d,%s}`, 100*(i+1),
			now.AddDate(-i%2, 0, 0).Format(time.DateOnly), contacts[i/3], more)
		made := must(s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, now)))(t)
		if i == 0 {
			must(s.RefundGift(t.Context(), account.Number, made.Code, ptr(int64(50_000)), ""))(t)
		}
	}
	return account, contacts
}

// A copy to the other database and back keeps every number, and so does the archive.
func TestACopyKeepsEveryNumberOfGiving(t *testing.T) {
	from := newDatabase(t)
	source := open(t, from)
	account, contacts := withGifts(t, source)
	archive(t, source, account.Number, contacts[1])
	for _, to := range []store.Options{newPostgres(t), newSQLite(t)} {
		must(move.Copy(t.Context(), from, to, move.CopyOptions{}))(t)
		target := open(t, to) // which is checked at the end
		checkGiving(t, target, account, contacts)
		if was, is := ledgerOf(t, source, account.Number), ledgerOf(t, target, account.Number); !reflect.DeepEqual(was,
			is) {
			t.Errorf("the gifts are %+v, and were %+v", is, was)
		}
		from = to
	}
}

func TestACheckComparesWhatContactsSayTheyGave(t *testing.T) {
	s := newBook(t)
	account, people := withGifts(t, s)
	succeed(t, s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
		row, err := store.Load(x, account.Number, people[0])
		if err != nil {
			return err
		}
		stats := row.Contact.Stats
		stats.TotalContributions = 305
		u, err := x.LockAccount(account.Number)
		store.PutColumns(u, row, stats, row.Trace)
		return err
	}))
	if found, _ := checkAll(t, s, false); len(found) != 1 ||
		!strings.Contains(found[0], "the contributions in its document do not match its gifts") {
		t.Errorf("found %q", found)
	}
	if _, report := checkAll(t, s, true); report.Repaired != 1 {
		t.Errorf("%+v", report)
	}
	checkGiving(t, s, account, people)
}

// A gift that cannot be read is no reason to leave the rest of the account as it is. What it is found by elsewhere
// stays, too.
func TestARepairWorksBesideADamagedGift(t *testing.T) {
	s := newBook(t)
	account, _ := withGifts(t, s)
	const last = ` WHERE account_id = $1 AND id = (SELECT MAX(id) FROM gift WHERE account_id = $1)`
	before := everyRow(t, s)
	damage(t, s, `UPDATE gift SET checksum = checksum + 1`+last, account.Number)
	damage(t, s, `UPDATE contact SET sort_name = 'x' WHERE account_id = $1 AND id = $2`, account.Number,
		doc.MakeID(account.Number, 3))
	if found, _ := checkAll(t, s, true); len(found) != 2 {
		t.Errorf("the repair found %q", found)
	}
	damage(t, s, `UPDATE gift SET checksum = checksum - 1`+last, account.Number)
	equal(t, everyRow(t, s), before, "the repair has left other rows")
}
