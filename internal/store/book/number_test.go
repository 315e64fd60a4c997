package book

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

// livelyAccount is an account whose contacts were archived, merged, imported and taken back, with gifts in two currencies, refunds and promises.
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
		id := create(t, s, account.Number, fmt.Sprintf(`{"first_name":"E%d","last_name":"Euro","tags":["abroad"]}`, i)).ID
		record(id, `"amount":%d.25,"currency":"EUR","transacted_at":"%d-03-01","campaign_id":%d`, 3+i, 2024+i%3, abroad.ID)
		if i%4 == 0 {
			record(id, `"amount":9.99,"fee":0.4,"fee_covered":0.33,"currency":"USD","transacted_at":"2026-04-01","campaign_id":%d`, abroad.ID)
		}
	}
	file := "amount,date,method,first_name,last_name,email,campaign\n"
	people := "first_name,last_name,email,tags\n"
	for i := range 9 {
		file += fmt.Sprintf("%d.10,202%d-05-05,check,Undone%d,Donor,undone%d@example.org,Gala\n", 5+i, 4+i%3, i, i)
		people += fmt.Sprintf("Undone%d,Person,person%d@example.org,abroad\n", i, i)
	}
	rows := openTable(t, file)
	im, _, err := s.ImportFile(t.Context(), account.Number, rows, giftImportOf(rows), 7, true, func(jobs.ImportProgress) {})
	if err != nil || im.Progress.Created != 9 {
		t.Fatalf("%v: imported %+v", err, im.Progress)
	}
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
		found, result := must2(s.MatchingContacts(t.Context(), account, scope, f, crm.PageRequest{Page: page, PerPage: 7}))(t)
		ids = append(ids, store.Collect(found, func(c crm.Contact) int64 { return c.ID })...)
		if len(found) == 0 {
			if result.Total != int64(len(ids)) {
				t.Errorf("%s, %+v: a total of %d, and %d are listed", scope, f, result.Total, len(ids))
			}
			slices.Sort(ids)
			return ids
		}
	}
}

// Every number of donors, of contacts and of money is the same wherever it is told, and is that of the list behind it.
func TestEveryNumberIsTheSameEverywhere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, campaigns := livelyAccount(t, s)
		checkDonorNumbers(t, s, account.Number)
		checkMoneyNumbers(t, s, account.Number, campaigns)
		checkContactNumbers(t, s, account.Number)
	})
}

func checkDonorNumbers(t *testing.T, s *Book, account int64) {
	t.Helper()
	ledger, archived := ledgerOf(t, s, account), 0
	for year := int64(2024); year <= 2026; year++ {
		for _, kind := range giving.DonorKinds {
			f := giving.DonorFilter{Year: year, Kind: kind}
			want := donorsOf(ledger, f)
			same := func(where string, got []int64) {
				if !slices.Equal(got, want) {
					t.Errorf("%d %q donors %s: %v, want %v", year, kind, where, got, want)
				}
			}
			page, err := s.Donors(t.Context(), account, f, gifts.DonorPlace{}, 1000)
			if err != nil || page.Totals[kind] != int64(len(want)) {
				t.Errorf("%v: %d %q donors: a total of %d, want %d", err, year, kind, page.Totals[kind], len(want))
			}
			for i := range page.Donors {
				if page.Donors[i].Contact.Archived() {
					archived++
				}
			}
			same("in their list", store.Collect(page.Donors, func(d gifts.Donor) int64 { return d.Contact.ID }))
			given, _, err := s.GivenBy(t.Context(), account, f)
			if err != nil || len(given) != len(want) {
				t.Errorf("%v: %d %q donors in a file: %d, want %d", err, year, kind, len(given), len(want))
			}
			people, statements, err := statementPageOf(s, account, f, gifts.DonorPlace{}, 1000)
			if err != nil || statements.Total != int64(len(want)) {
				t.Errorf("%v: statements of %d %q donors: %d, want %d", err, year, kind, statements.Total, len(want))
			}
			same("in statements", store.Collect(people, func(c crm.Contact) int64 { return c.ID }))
			if kind == giving.ReturningDonors {
				continue
			}
			for _, this := range []int64{year, 2026, 2030} { // whether the year is over or not
				if this < 2026 {
					continue
				}
				scope, filter := must2(find.ParseQuery(find.DonorQuery(f, this).Encode(), "US"))(t)
				same("in the list of contacts", contactsListed(t, s, account, scope, filter))
			}
		}
		o, err := s.GivingOverview(t.Context(), account, time.Date(int(year), time.November, 16, 10, 0, 0, 0, time.UTC))
		if err != nil || o.LastYearDonors != int64(len(donorsOf(ledger, giving.DonorFilter{Year: year - 1}))) {
			t.Errorf("%v: %d donors of the year before %d", err, o.LastYearDonors, year)
		}
		for _, kind := range giving.DonorKinds {
			if want := donorsOf(ledger, giving.DonorFilter{Year: year, Kind: kind}); o.Donors[kind] != int64(len(want)) {
				t.Errorf("home tells of %d %q donors in %d, want %d", o.Donors[kind], kind, year, len(want))
			}
		}
	}
	if archived == 0 {
		t.Error("no donor is archived, which proves little")
	}
}

func checkMoneyNumbers(t *testing.T, s *Book, account int64, campaigns []int64) {
	t.Helper()
	for year := int64(2024); year <= 2026; year++ {
		day := func(year int64) time.Time { return time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC) }
		_, listed := must2(s.GiftPage(t.Context(), account, giving.GiftFilter{From: day(year), To: day(year + 1), Days: true}, crm.PageRequest{Page: 1, PerPage: 1}))(t)
		given, currency, err := s.GivenBy(t.Context(), account, giving.DonorFilter{Year: year})
		sums, n := map[string]int64{}, int64(0)
		for _, g := range given {
			n += g.Gifts
			for currency, amount := range g.Sums {
				sums[currency] += amount
			}
		}
		o, overviewErr := s.GivingOverview(t.Context(), account, time.Date(int(year), time.December, 31, 23, 0, 0, 0, time.UTC))
		if err != nil || overviewErr != nil || currency != "USD" || n != listed.Gifts || sums["USD"] != listed.Sums["USD"] || sums["EUR"] != listed.Sums["EUR"] || sums["USD"] != o.ThisYear.Amount || sums["EUR"] == 0 {
			t.Errorf("%v %v: %d: donors gave %v in %d gifts, the list says %v in %d gifts, home %d", err, overviewErr, year, sums, n, listed.Sums, listed.Gifts, o.ThisYear.Amount)
		}
	}
	for _, id := range campaigns {
		record := must(s.Campaign(t.Context(), account, id))(t)
		page, err := s.Donors(t.Context(), account, giving.DonorFilter{Campaign: id}, gifts.DonorPlace{}, 1000)
		raised := int64(0)
		for _, d := range page.Donors {
			raised += d.Sums[page.Currency]
		}
		if c := record.Campaign; err != nil || c.Donors() != int64(len(page.Donors)) || c.Donors() != page.Totals[giving.AllDonors] || c.Raised() != raised || page.Currency != c.Currency {
			t.Errorf("%v: %s has raised %d from %d donors, and the list has %d %s from %d", err, c.Title, c.Raised(), c.Donors(), raised, page.Currency, len(page.Donors))
		}
	}
}

func checkContactNumbers(t *testing.T, s *Book, account int64) {
	t.Helper()
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
	counts, err := s.Counts(t.Context(), account)
	if err != nil || counts.Active != all-merged-gone || counts.Archived != gone || merged == 0 || gone < 9 {
		t.Errorf("%v: %+v of %d contacts, of which %d were merged and %d are archived", err, counts, all, merged, gone)
	}
	for scope, want := range map[crm.ContactScope]int64{crm.Active: counts.Active, crm.Archived: counts.Archived, crm.All: counts.Active + counts.Archived} {
		if n := len(contactsListed(t, s, account, scope, find.Filter{})); int64(n) != want {
			t.Errorf("%d of %d %s contacts are listed", n, want, scope)
		}
		size, err := s.SelectionSize(t.Context(), account, jobs.Selection{All: true, Scope: scope})
		if err != nil || size != want {
			t.Errorf("%v: %d contacts are %s, and %d are exported", err, want, scope, size)
		}
		if scope != crm.Active {
			want += merged // which say so
		}
		if _, total := page(t, s, account, scope, 1, 3); total != want {
			t.Errorf("%d contacts are %s, and programs get %d", want, scope, total)
		}
	}
	moments := []time.Time{donorsNow.AddDate(0, 0, -1), donorsNow.AddDate(0, 0, 1)}
	grown, err := s.Growth(t.Context(), account, moments)
	new := contactsListed(t, s, account, crm.Active, find.Filter{Created: find.Window{From: moments[0], To: moments[1]}})
	if err != nil || grown[1]-grown[0] != int64(len(new)) || grown[1] != counts.Active {
		t.Errorf("%v: %d contacts are new, and %d are listed", err, grown, len(new))
	}
	archived, err := s.ArchivedWithTags(t.Context(), account, []string{"abroad", "unknown"})
	if want := contactsListed(t, s, account, crm.Archived, find.Filter{Tags: []string{"abroad"}}); err != nil || archived["abroad"] != int64(len(want)) || len(want) < 9 || len(archived) != 1 {
		t.Errorf("%v: %v archived contacts have the tag, and %d are listed", err, archived, len(want))
	}
}
