package book

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/move"
)

// withGifts is an account with some gifts: from two contacts, in two years, for a campaign and for none, with a refund and a
// plan.
func withGifts(t testing.TB, s *Book) (account access.Account, contacts []int64) {
	t.Helper()
	account, now := newAccount(t, s), time.Now()
	title := "Gala"
	campaign := must(s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title}))(t)
	for i := range 3 {
		contacts = append(contacts, create(t, s, account.Number, fmt.Sprintf(`{"first_name":"A%d","last_name":"B"}`, i)).ID)
	}
	in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil, `{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly","external_id":"p1"}`, contacts[0])))
	if err == nil {
		err = in.Validate(faults, true, "US", now)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := must(s.CreatePlan(t.Context(), account.Number, in))(t)
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
			must(s.RefundGift(t.Context(), account.Number, made.Code, &amount, ""))(t)
		}
	}
	return account, contacts
}

// A copy to the other database and back keeps every number, and so does the archive.
func TestACopyKeepsEveryNumberOfGiving(t *testing.T) {
	eachDatabase(t, func(t *testing.T, from store.Options) {
		source := open(t, from)
		account, contacts := withGifts(t, source)
		archive(t, source, account.Number, contacts[1])
		for _, to := range []store.Options{newPostgres(t), newSQLite(t)} {
			must(move.Copy(t.Context(), from, to, move.CopyOptions{}))(t)
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
	eachEngine(t, func(t *testing.T, s *Book) {
		account, people := withGifts(t, s)
		succeed(t, s.Update(t.Context(), account.Number, store.Needs{}, func(x *store.Tx) error {
			row, err := contacts.Load(x, account.Number, people[0])
			if err != nil {
				return err
			}
			stats := row.Contact.Stats
			stats.TotalContributions = 305
			a, err := x.LockAccount(account.Number)
			contacts.PutColumns(x, a, row, stats, row.Trace)
			return err
		}))
		if found, _ := checkAll(t, s, false); len(found) != 1 || !strings.Contains(found[0], "the contributions in its document do not match its gifts") {
			t.Errorf("found %q", found)
		}
		if _, report := checkAll(t, s, true); report.Repaired != 1 {
			t.Errorf("%+v", report)
		}
		checkGiving(t, s, account, people)
	})
}

// A gift that cannot be read is no reason to leave the rest of the account as it is. What it is found by elsewhere stays, too.
func TestARepairWorksBesideADamagedGift(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, _ := withGifts(t, s)
		const last = ` WHERE account_id = $1 AND id = (SELECT MAX(id) FROM gift WHERE account_id = $1)`
		before := everyRow(t, s)
		damage(t, s, `UPDATE gift SET checksum = checksum + 1`+last, account.Number)
		damage(t, s, `UPDATE contact SET sort_name = 'x' WHERE account_id = $1 AND id = $2`, account.Number, doc.MakeID(account.Number, 3))
		if found, _ := checkAll(t, s, true); len(found) != 2 {
			t.Errorf("the repair found %q", found)
		}
		damage(t, s, `UPDATE gift SET checksum = checksum - 1`+last, account.Number)
		if diff := cmp.Diff(before, everyRow(t, s)); diff != "" {
			t.Errorf("the repair has left other rows:\n%s", diff)
		}
	})
}
