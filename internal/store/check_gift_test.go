package store

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// withGifts is an account with some gifts: from two contacts, in two years, for a campaign and for none, with a refund and a
// plan.
func withGifts(t testing.TB, s *Store) (account crm.Account, contacts []int64) {
	t.Helper()
	account, now := newAccount(t, s), time.Now()
	title := "Gala"
	campaign, err := s.CreateCampaign(t.Context(), account, crm.CampaignInput{Title: &title})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		contacts = append(contacts, create(t, s, account.Number, fmt.Sprintf(`{"first_name":"A%d","last_name":"B"}`, i)).ID)
	}
	in, faults, err := crm.DecodePlan(fmt.Appendf(nil, `{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","external_id":"p1"}`, contacts[0]))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.CreatePlan(t.Context(), account.Number, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{
		`"campaign_id":%[2]d,"external_id":"g1"`, `"plan_id":"%[3]s"`, `"status":"pending"`, `"campaign_id":%[2]d,"fee_covered":0.5`, `"currency":"EUR"`,
	} {
		body = fmt.Sprintf(`{"amount":%[4]d,"method":"card","transacted_at":"%[5]s","contact_id":%[1]d,`+body+`}`, contacts[i/3], campaign.ID, plan.Code,
			100*(i+1), now.AddDate(-i%2, 0, 0).Format(time.DateOnly))
		body, _, _ = strings.Cut(body, "%!(EXTRA")
		if made, err := s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, now)); err != nil {
			t.Fatalf("%s: %v", body, err)
		} else if i == 0 {
			amount := int64(50_000)
			if _, err := s.RefundGift(t.Context(), account.Number, made.Code, &amount, ""); err != nil {
				t.Fatal(err)
			}
		}
	}
	return account, contacts
}

func TestACheckFindsWhatIsNotAsTheGiftsSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contacts := withGifts(t, s)
		number, month := account.Number, crm.Month(time.Now())
		campaigns, err := s.NewestCampaigns(t.Context(), number, 1)
		if err != nil {
			t.Fatal(err)
		}
		campaign := campaigns[0].ID
		for _, c := range []struct {
			says, sql string
			args      []any
		}{
			{"the columns that it is found by", `UPDATE gift SET net = net + 1 WHERE account_id = $1`, []any{number}},
			{"the columns that it is found by", `UPDATE gift SET status = 3 WHERE account_id = $1`, []any{number}},
			{"the columns that it is found by", `UPDATE gift SET given_at = given_at - 90000 WHERE account_id = $1`, []any{number}},
			{"the sequence of its gifts is 2, but the last gift has 5", `UPDATE account_tally SET gift_seq = 2 WHERE account_id = $1`, []any{number}},
			{"the sequence of its plans is 0", `UPDATE account_tally SET plan_seq = 0 WHERE account_id = $1`, []any{number}},
			{"the sums " + crm.Cell(0, month, "USD", 0), `UPDATE giving SET amount = amount + 7 WHERE account_id = $1 AND cell = $2`, []any{number, crm.Cell(0, month, "USD", 0)}},
			{"the sums " + crm.Cell(0, month, "USD", 0), `DELETE FROM giving WHERE account_id = $1 AND cell = $2`, []any{number, crm.Cell(0, month, "USD", 0)}},
			{"the sums " + crm.Cell(campaign, 0, "USD", 0), `UPDATE giving SET donors = 9 WHERE account_id = $1 AND cell = $2`, []any{number, crm.Cell(campaign, 0, "USD", 0)}},
			{"its sums do not match its gifts", `UPDATE giving SET gifts = 7 WHERE account_id = $1 AND cell = $2`, []any{number, crm.Cell(0, 0, "USD", contacts[0])}},
			{"its sums do not match its gifts", `DELETE FROM giving WHERE account_id = $1 AND cell = $2`, []any{number, crm.Cell(campaign, 0, "USD", contacts[0])}},
			{"its sums do not match its gifts", `INSERT INTO giving SELECT account_id, $2, 1, 1, 1, 1, 0 FROM account WHERE account_id = $1`, []any{number, crm.Cell(0, 0, "EUR", contacts[2])}},
			{`the external id "g1"`, `DELETE FROM external_reference WHERE account_id = $1 AND reference = 'g:g1'`, []any{number}},
			{`the external id "p1"`, `UPDATE external_reference SET id = 5 WHERE account_id = $1 AND reference = 'p:p1'`, []any{number}},
			{`the external id "other"`, `INSERT INTO external_reference SELECT account_id, 'g:other', 7 FROM account WHERE account_id = $1`, []any{number}},
			{"its totals are missing", `DELETE FROM account_tally WHERE account_id = $1`, []any{number}},
			{"plan ", `UPDATE plan SET next_bill = 5 WHERE account_id = $1`, []any{number}},
		} {
			damage(t, s, c.sql, c.args...)
			found, _ := check(t, s, false)
			if !strings.Contains(strings.Join(found, "\n"), c.says) {
				t.Errorf("%s: found %q, want %q", c.sql, found, c.says)
			}
			if found, report := check(t, s, true); len(found) == 0 || report.Repaired != report.Problems {
				t.Errorf("%s: %+v, %q", c.sql, report, found)
			}
			if found, _ := check(t, s, false); len(found) > 0 {
				t.Errorf("%s: after the repair %q", c.sql, found)
			}
			checkGiving(t, s, account, contacts)
		}
	})
}

// A copy to the other database and back keeps every number, and so does the archive.
func TestACopyKeepsEveryNumberOfGiving(t *testing.T) {
	eachDatabase(t, func(t *testing.T, from Options) {
		source := open(t, from)
		account, contacts := withGifts(t, source)
		archive(t, source, account.Number, contacts[1])
		for _, to := range []Options{newPostgres(t), newSQLite(t)} {
			if _, err := Copy(t.Context(), from, to, CopyOptions{}); err != nil {
				t.Fatal(err)
			}
			target := open(t, to) // which is checked at the end
			checkGiving(t, target, account, contacts)
			if was, is := ledgerOf(t, source, account.Number), ledgerOf(t, target, account.Number); !reflect.DeepEqual(was, is) {
				t.Errorf("the gifts are %+v, and were %+v", is, was)
			}
			from = to
		}
	})
}

func TestACheckComparesWhatContactsSayTheyGave(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, contacts := withGifts(t, s)
		err := s.update(t.Context(), account.Number, needs{}, func(x *tx) error {
			row, err := x.load(account.Number, contacts[0])
			if err != nil {
				return err
			}
			changed := row.contact
			changed.Stats.TotalContributions = 305 // in the band of the right one
			a, err := x.lock(account.Number)
			x.writeContact(x.Save, a, row.listRevision, row.trace, changed, changed.AppendBody(nil))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if found, _ := check(t, s, false); len(found) != 1 || !strings.Contains(found[0], "its contributions are 305, but its gifts say 29") {
			t.Errorf("found %q", found)
		}
		if _, report := check(t, s, true); report.Repaired != 1 {
			t.Errorf("%+v", report)
		}
		checkGiving(t, s, account, contacts)
	})
}

// A campaign with a damaged document does not prevent an upgrade of the database; the check reports it.
func TestADamagedCampaignDoesNotStopTheUpgrade(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, _ := withGifts(t, s)
		damage(t, s, `UPDATE campaign SET url_at = 100000 WHERE account_id = $1`, account.Number)
		err := s.updateAccount(t.Context(), account.Number, func(x *tx) error { return fillCells(x.Tx, nil) })
		if err != nil {
			t.Error(err)
		}
		if _, report := check(t, s, true); report.Repaired == 0 {
			t.Error("the check has not found the damage")
		}
	})
}
