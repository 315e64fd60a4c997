package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store/donations"
)

// deafDesk opens a provider whose first answers are lost on their way, after it has done what was asked. It notes how long it may take.
type deafDesk struct {
	deskAt
	lost        int
	start, look time.Duration // the longest that it was given
	looks       atomic.Int64
}

type deafProvider struct {
	donate.Provider
	desk *deafDesk
}

func (d *deafDesk) Open(c donate.Connection) (donate.Provider, error) {
	p, err := d.deskAt.Open(c)
	return &deafProvider{p, d}, err
}

func (p *deafProvider) Start(ctx context.Context, o *donate.Order) (donate.Handover, error) {
	p.desk.start = max(p.desk.start, timeOf(ctx))
	h, err := p.Provider.Start(ctx, o)
	if p.desk.lost > 0 {
		p.desk.lost--
		return donate.Handover{}, donate.ErrTemporary
	}
	return h, err
}

func (p *deafProvider) Look(ctx context.Context, ref donate.Ref) (donate.Snapshot, error) {
	p.desk.looks.Add(1)
	p.desk.look = max(p.desk.look, timeOf(ctx))
	return p.Provider.Look(ctx, ref)
}

// timeOf is how long a context lasts.
func timeOf(ctx context.Context) time.Duration {
	end, bounded := ctx.Deadline()
	if !bounded {
		return time.Hour
	}
	return time.Until(end)
}

// sessions are the pages that the provider has made for givers.
func (shop *giftShop) sessions() int {
	shop.t.Helper()
	request := must(http.NewRequestWithContext(shop.t.Context(), http.MethodGet, shop.stripe.URL+"/v1/checkout/sessions?limit=100", nil))(shop.t)
	request.Header.Set("Authorization", "Bearer "+shop.stripe.Key)
	response := must(http.DefaultClient.Do(request))(shop.t)
	defer response.Body.Close()
	body := new(bytes.Buffer)
	must(body.ReadFrom(response.Body))(shop.t)
	return bytes.Count(body.Bytes(), []byte(`"object":"checkout.session"`)) - bytes.Count(body.Bytes(), []byte(`"status":"expired"`))
}

// The provider's answer is lost, or the server dies before it notes it: the same form leads to the same page, and nothing is charged twice.
func TestAPageWhoseAddressWasLostIsFoundAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}, lost: 1}
		s.UseDesk(desk, donations.NewKeys(shop.keys), "US")
		id := donate.NewID()
		give := func() (donate.Donation, donate.Handover, error) {
			return s.Give(t.Context(), shop.account, &shop.campaign, id, wish(1), donations.Pages{Success: back, Cancel: back})
		}
		if _, _, err := give(); !errors.Is(err, donate.ErrTemporary) {
			t.Fatalf("a lost answer is %v", err)
		}
		d, first, err := give()
		if err != nil || first.URL == "" {
			t.Fatalf("the form again is %+v, %v", d, err)
		}
		shop.change(`UPDATE donation SET state = 'started', session = '' WHERE account_id = $1`, shop.account.Number) // as after a crash
		if again, h, err := give(); err != nil || h != first || again.ID != d.ID || shop.sessions() != 1 {
			t.Errorf("after a crash it is %+v, %+v of %d pages, %v", again, h, shop.sessions(), err)
		}
		shop.change(`UPDATE donation SET state = 'started', session = '' WHERE account_id = $1`, shop.account.Number)
		shop.stripe.Pay(first.Session.ID, stripetest.Card)
		shop.arrive()
		if now := shop.look(d.ID); now.State != donate.Paid || now.Doubt != "" {
			t.Errorf("paid on a page that was never noted, it is %+v", now)
		}
		d, _ = shop.give(wish(2))
		desk.look = 0
		if _, err := s.LookAtDonation(t.Context(), shop.account.Number, d.ID); err != nil || desk.start > 10*time.Second || desk.look == 0 || desk.look > 3*time.Second {
			t.Errorf("a form waits for up to %s, and who comes back for up to %s, %v", desk.start, desk.look, err)
		}
	})
}

// Someone clicks many times, and the clicks reach two nodes at once.
func TestConcurrentClicksBeginOneDonation(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		shop.open(b)
		id := donate.NewID()
		var clicking sync.WaitGroup
		var mu sync.Mutex
		led := map[string]bool{}
		for i := range 32 {
			s := []*Book{a, b}[i%2]
			clicking.Go(func() {
				d, h, err := s.Give(t.Context(), shop.account, &shop.campaign, id, wish(1), donations.Pages{Success: back, Cancel: back})
				mu.Lock()
				defer mu.Unlock()
				if led[h.URL] = true; err != nil || d.ID != id {
					t.Errorf("a click begins %+v, %v", d, err)
				}
			})
		}
		clicking.Wait()
		if n := shop.sessions(); n != 1 || len(led) != 1 {
			t.Errorf("32 clicks lead to %v on %d pages", led, n)
		}
	})
}

// TestWhoeverLoadsThePageOfThanksAsksTheProviderSeldom: the giver, or a stranger with the address, loads it again and
// again, from two nodes. A payment that is settled is not asked about at all.
func TestWhoeverLoadsThePageOfThanksAsksTheProviderSeldom(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}}
		now := time.Now().Truncate(time.Second)
		for _, node := range []*Book{a, b} {
			node.UseDesk(desk, donations.NewKeys(shop.keys), "US")
			node.Now = func() time.Time { return now }
		}
		d, session := shop.give(wish(1))
		load := func(wantLooks int64, want donate.State) {
			t.Helper()
			desk.looks.Store(0)
			var seen donate.Donation
			for i := range 20 {
				var err error
				if seen, err = []*Book{a, b}[i%2].LookAtDonation(t.Context(), shop.account.Number, d.ID); err != nil {
					t.Fatal(err)
				}
			}
			if n := desk.looks.Load(); n != wantLooks || seen.State != want {
				t.Errorf("the provider was asked %d times, want %d; it is %s, want %s", n, wantLooks, seen.State, want)
			}
		}
		load(1, donate.Open)
		load(0, donate.Open)
		shop.stripe.Pay(session, stripetest.Card)
		now = now.Add(donations.LookPause)
		load(1, donate.Paid)
		now = now.Add(time.Minute)
		load(0, donate.Paid)
	})
}

// The link of a thank-you lasts, and whoever has it loads its page again and again, from two nodes. A monthly gift that
// has ended is not asked about at all.
func TestWhoeverLoadsAMonthlyGiftAsksTheProviderSeldom(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}}
		now := time.Now().Truncate(time.Second)
		for _, node := range []*Book{a, b} {
			node.UseDesk(desk, donations.NewKeys(shop.keys), "US")
			node.Now = func() time.Time { return now }
		}
		w := wish(1)
		w.Frequency = donate.Monthly
		d, session := shop.give(w)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		d = shop.look(d.ID)
		shop.mails(w.Email)
		link := strings.TrimPrefix(shop.office.last().Path, donate.ManagePath)
		load := func(wantLooks int64, want giving.PlanStatus) {
			t.Helper()
			desk.looks.Store(0)
			var seen donations.Managed
			for i := range 20 {
				var err error
				if seen, err = []*Book{a, b}[i%2].ManagedPlan(t.Context(), link); err != nil {
					t.Fatal(err)
				}
			}
			if n := desk.looks.Load(); n != wantLooks || seen.Plan.Status != want {
				t.Errorf("the provider was asked %d times, want %d; it is %s, want %s", n, wantLooks, seen.Plan.Status, want)
			}
		}
		load(0, giving.ActivePlan) // what has arrived just now
		shop.stripe.Break(d.Plan, true)
		shop.stripe.Advance(32 * 24 * time.Hour)
		now = now.Add(donations.LookPause)
		load(1, giving.PastDue)
		if _, err := a.ChangePlan(t.Context(), link, donate.CancelPlan, 0); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Minute)
		load(0, giving.Ended)
	})
}

// Where the database takes nothing, the provider is asked nothing: no page is open of which no one knows.
func TestNothingBeginsThatCannotBeWritten(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		shop.change(`ALTER TABLE donation RENAME TO elsewhere`)
		_, _, err := shop.begin(s, wish(1))
		shop.change(`ALTER TABLE elsewhere RENAME TO donation`)
		if n := shop.sessions(); err == nil || n != 0 {
			t.Errorf("without a place to write, %d pages are open: %v", n, err)
		}
	})
}

// Who has begun to pay may finish: the money counts for the campaign, even where it was closed or ended meanwhile.
func TestACampaignThatIsClosedTakesWhatWasBegun(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, session := shop.give(wish(1))
		shop.campaign = updateCampaign(t, s, shop.account, shop.campaign.ID, `{"title":"Clean Water","status":"closed","end_at":"2026-01-01 00:00:00"}`)
		if _, _, err := shop.begin(s, wish(2)); faultsOf(err) == nil {
			t.Errorf("a campaign that is %s takes gifts: %v", campaign.Closed, err)
		}
		shop.stripe.Pay(session, stripetest.Card)
		shop.stripe.Fees()
		shop.arrive()
		if g, err := s.GiftRecord(t.Context(), shop.account.Number, shop.look(d.ID).Gift); err != nil || g.Campaign != shop.campaign.ID {
			t.Errorf("the gift is %+v, %v", g.Gift, err)
		}
		shop.sound(s)
	})
}

// What strangers have begun and not paid is bounded.
func TestOpenDonationsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, _ := shop.give(wish(1))
		shop.change(fmt.Sprintf(sqlCopies, 9_999), shop.account.Number, d.ID)
		shop.change(`UPDATE donation SET state = 'open', created_at = created_at - 3600 WHERE account_id = $1`, shop.account.Number)
		if _, _, err := shop.begin(s, wish(2)); faultsOf(err) == nil {
			t.Errorf("one more than 10,000 begins: %v", err)
		}
		shop.change(`UPDATE donation SET state = 'expired' WHERE account_id = $1 AND id = $2`, shop.account.Number, d.ID)
		if _, _, err := shop.begin(s, wish(2)); err != nil {
			t.Errorf("the place of one that has expired is not free: %v", err)
		}
	})
}

// The key of a provider is in no copy of the database, and a row of one organization is of no use to another.
func TestTheKeyOfAProviderIsNotInTheDatabase(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		if info, err := os.Stat(shop.keys); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
			t.Errorf("the key file is %v, %v", info, err)
		}
		var secret []byte
		succeed(t, s.Read(t.Context(), func(c db.Conn) error {
			_, err := c.One(func(r db.Row) { secret = bytes.Clone(r.Bytes(0)) }, `SELECT secret FROM connection WHERE account_id = $1`, shop.account.Number)
			return err
		}))
		if len(secret) < 64 || bytes.Contains(secret, []byte("rk_live")) || bytes.Contains(secret, []byte(shop.stripe.Secret)) {
			t.Errorf("the database has %q", secret)
		}
		other := newAccount(t, s)
		must(s.Connect(t.Context(), other, donations.Connecting{Provider: "stripe", Key: shop.stripe.Key}, "https://donors.example"))(t)
		shop.change(`UPDATE connection SET secret = $2 WHERE account_id = $1`, other.Number, secret)
		if _, err := s.TestConnection(t.Context(), other); !errors.Is(err, donations.ErrNoKeyFile) {
			t.Errorf("the secret of another organization opens: %v", err)
		}
		if _, err := s.Connection(t.Context(), other.Number); errors.Is(err, crm.ErrNotFound) {
			t.Error(err)
		}
	})
}

// A relay that takes no mail holds up no money: the gift is in the books, and its mail waits.
func TestAGiftIsSafeWhileNoMailIsTaken(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		w := wish(1)
		w.Email = "later@example.org"
		d, session := shop.give(w)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		if got := shop.mails(w.Email); len(got) != 0 || shop.look(d.ID).State != donate.Paid {
			t.Errorf("%q were taken, and the donation is %+v", got, shop.look(d.ID))
		}
		if waiting, err := s.RecentMails(t.Context(), shop.account.Number, 10); err != nil || len(waiting) != 1 || waiting[0].To != w.Email {
			t.Errorf("there are the mails %+v, %v", waiting, err)
		}
		shop.sound(s)
	})
}
