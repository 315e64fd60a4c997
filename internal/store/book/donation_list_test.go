package book

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store/donations"
)

// sqlCopies are copies of a donation, each a second older than the one before.
const sqlCopies = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
	INSERT INTO donation (account_id, id, number, campaign_id, state, doubt, settled, fault, wish, email, charged, covered, currency, provider, live, attempt, session, payment, plan, code, plan_code,
		version, looked_at, due_at, manage, manage_until, card, created_at, updated_at)
	SELECT account_id, 'copy' || CAST(i AS TEXT), 100000000 + i, campaign_id, 'expired', CASE WHEN i %% 100 = 0 THEN 'name' ELSE '' END, settled, fault, wish, email, charged, covered, currency, provider, live, attempt, '', '', '', '', '',
		version, looked_at, 0, '', 0, '', created_at - i, updated_at FROM donation, n WHERE account_id = $1 AND id = $2`

func TestAListOfDonationsGoesBackAsFarAsPeopleDo(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, _ := shop.give(wish(1))
		shop.change(fmt.Sprintf(sqlCopies, donate.Listed+49), shop.account.Number, d.ID)
		list := func(f donate.Filter, page int64) (found []donate.Donation, total int64, err error) {
			found, result, err := s.Donations(t.Context(), shop.account.Number, f, crm.PageRequest{Page: page, PerPage: 100})
			if int(result.Count) != len(found) {
				t.Errorf("%d are said to be %d", len(found), result.Count)
			}
			return found, result.Total, err
		}
		seen, last := map[string]bool{}, d.CreatedAt.Add(time.Second)
		for page := int64(1); page <= donate.Listed/100; page++ {
			found, total, err := list(donate.Filter{}, page)
			if err != nil || total != donate.Listed+1 || len(found) != 100 {
				t.Fatalf("page %d has %d of %d, %v", page, len(found), total, err)
			}
			for _, f := range found {
				if seen[f.ID] || !f.CreatedAt.Before(last) {
					t.Fatalf("page %d has %s of %s after %s", page, f.ID, f.CreatedAt, last)
				}
				seen[f.ID], last = true, f.CreatedAt
			}
		}
		if _, _, err := list(donate.Filter{}, donate.Listed/100+1); faultsOf(err) == nil {
			t.Errorf("the page behind the last is %v", err)
		}
		if found, total, err := list(donate.Filter{To: last}, 1); err != nil || total != 50 || len(found) != 50 || seen[found[0].ID] {
			t.Errorf("before %s there are %d, %v", last, total, err)
		}
		if _, total, err := list(donate.Filter{From: last, State: donate.Expired, Campaign: shop.campaign.ID}, 1); err != nil || total != donate.Listed-1 {
			t.Errorf("since %s there are %d, %v", last, total, err)
		}
		for _, f := range []donate.Filter{{Review: true}, {Review: true, State: donate.Expired}} {
			if found, total, err := list(f, 2); err != nil || total != (donate.Listed+49)/100 || len(found) != 0 {
				t.Errorf("to review are %d, %v", total, err)
			}
		}
		if _, total, err := list(donate.Filter{State: donate.Open}, 1); err != nil || total != 1 {
			t.Errorf("open are %d, %v", total, err)
		}
	})
}

// Thieves who try cards have many addresses: what begins in a minute is bounded on all nodes together, by what people gave in the last week.
func TestAPageBeginsSoManyInAMinute(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		shop.open(b)
		succeed(t, a.SaveDonationSettings(t.Context(), shop.account.Number, donate.Settings{Check: "Clean Water"}))
		w := wish(1)
		w.Way = donate.ByCheck
		first, _ := must2(shop.begin(a, w))(t)
		shop.change(fmt.Sprintf(sqlCopies, 400), shop.account.Number, first.ID)
		shop.change(`UPDATE donation SET created_at = created_at - 7200 WHERE account_id = $1`, shop.account.Number)
		through := func(campaign int64, copies int) (n int) {
			t.Helper()
			// The others began now, for this campaign or another one.
			shop.change(`UPDATE donation SET created_at = $2, campaign_id = $3 WHERE account_id = $1 AND number > 100000000 AND number <= $4`,
				shop.account.Number, time.Now().Unix(), campaign, 100_000_000+int64(copies))
			for ; n < 10; n++ {
				if _, _, err := shop.begin([]*Book{a, b}[n%2], w); errors.Is(err, donate.ErrCrowd) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			shop.change(`DELETE FROM donation WHERE account_id = $1 AND number < 100000000 AND id <> $2`, shop.account.Number, first.ID)
			shop.change(`UPDATE donation SET created_at = created_at - 7200 WHERE account_id = $1`, shop.account.Number)
			return n
		}
		if n := through(shop.campaign.ID, 115); n != 5 {
			t.Errorf("of a page, %d begin after 115", n)
		}
		if n := through(0, 200); n != 10 {
			t.Errorf("of a page, %d begin after 200 of another one", n)
		}
		if n := through(0, 297); n != 3 {
			t.Errorf("of an organization, %d begin after 297", n)
		}
		// A hundred that people have paid let five more begin; a hundred that were tried let none.
		shop.change(`UPDATE donation SET state = 'paid', created_at = created_at - 86400 WHERE account_id = $1 AND number > 100000300`, shop.account.Number)
		if n := through(0, 297); n != 8 {
			t.Errorf("after a week with a hundred gifts, %d begin after 297", n)
		}
		shop.change(`UPDATE donation SET created_at = created_at - 7 * 86400 WHERE account_id = $1`, shop.account.Number)
		if n := through(shop.campaign.ID, 119); n != 1 {
			t.Errorf("after a week without, %d begin after 119", n)
		}
	})
}

func TestTestGiftsAreDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShopIn(t, s, false)
		number := shop.account.Number
		monthly := wish(1)
		monthly.Frequency = "monthly"
		d, session := shop.give(monthly)
		shop.stripe.Pay(session, stripetest.Card)
		_, session = shop.give(wish(2))
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		d = shop.look(d.ID)
		all := shop.allGifts()
		if len(all) != 3 || !all[0].Test || all[0].Status != giving.Succeeded {
			t.Fatalf("there are %+v", all)
		}
		if c, _, err := s.CampaignBySlug(t.Context(), shop.campaign.Slug); err != nil || c.Raised() != 0 || c.Donors() != 0 {
			t.Errorf("tests have raised %d by %d donors, %v", c.Raised(), c.Donors(), err)
		}
		if n, err := s.DeleteTests(t.Context(), number); n != 0 || faultsOf(err) == nil {
			t.Errorf("while they would come back, %d are deleted: %v", n, err)
		}
		live := stripetest.New(true)
		t.Cleanup(live.Close)
		shop.stripe = live
		shop.open(s)
		must(s.Connect(t.Context(), shop.account, donations.Connecting{Provider: "stripe", Key: live.Key}, "https://donors.example"))(t)
		real, session := shop.give(wish(3))
		if n, err := s.DeleteTests(t.Context(), number); n != 2 || err != nil {
			t.Errorf("%d are deleted: %v", n, err)
		}
		left, _, err := s.Donations(t.Context(), number, donate.Filter{}, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(left) != 1 || left[0].ID != real.ID {
			t.Errorf("left are %+v, %v", left, err)
		}
		if p, err := s.Plan(t.Context(), number, d.GiftPlan); err != nil || p.Status != giving.Ended {
			t.Errorf("the plan is %+v, %v", p, err)
		}
		shop.stripe.Pay(session, stripetest.Card)
		if now, err := s.LookAtDonation(t.Context(), number, real.ID); err != nil || now.State != donate.Paid {
			t.Errorf("a real gift is %+v, %v", now, err)
		}
		for _, g := range shop.allGifts() {
			if g.Test == (g.Status == giving.Succeeded) {
				t.Errorf("a gift is %+v", g)
			}
		}
		shop.sound(s)
		if n, err := s.DeleteTests(t.Context(), number); n != 0 || err != nil {
			t.Errorf("again %d are deleted: %v", n, err)
		}
		shop.sound(s)
	})
}
