package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/rig/drill"
	"donorbook/internal/store/donations"
)

// manyDonations is how many donations the proof takes: DONORBOOK_DONATIONS in the environment, or few enough for
// every commit.
func manyDonations(t *testing.T) int {
	if text := os.Getenv("DONORBOOK_DONATIONS"); text != "" {
		return must(strconv.Atoi(text))(t)
	}
	if drill.On {
		return 400
	}
	return 60
}

// The books are those of the provider, to the cent, after events were shuffled, doubled and lost on two nodes, and
// everything was compared once.
func TestBooksAreThoseOfTheProvider(t *testing.T) {
	shop, b := newShops(t)
	shop.stripe.LateFees = true
	n, r := manyDonations(t), rand.New(rand.NewPCG(7, 45))
	var plans []string
	for i := range n {
		w := wish(i % (n/2 + 1)) // some people give twice
		if r.IntN(10) == 0 {
			w.Frequency = "monthly"
		}
		w.Amount = 5_00 + r.Int64N(500_00)
		d, session := shop.give(w)
		how := []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Card, stripetest.Debit,
			stripetest.Decline}[r.IntN(5)]
		if w.Frequency != donate.Once {
			how = stripetest.Card
			plans = append(plans, d.ID)
		}
		if shop.stripe.Pay(session, how); r.IntN(8) == 0 {
			must(b.LookAtDonation(t.Context(), shop.Number, d.ID))(t)
		}
	}
	storm := func() {
		t.Helper()
		for _, d := range stripetest.Shuffle(r, shop.stripe.Deliveries(), 0.05, 0.3) {
			shop.deliver([]*Book{shop.Book, b}[r.IntN(2)], d)
		}
		var working sync.WaitGroup
		for _, s := range []*Book{shop.Book, b} {
			working.Go(func() { shop.work(s) })
		}
		working.Wait()
	}
	storm()
	later := shop.stripe.Happen(r, shop.stripe.Payments())
	shop.stripe.Advance(32 * 24 * time.Hour)
	shop.stripe.Fees()
	storm()
	later()
	shop.stripe.Fees()
	storm()
	succeed(t, shop.Reconcile(t.Context(), shop.Account, func(err error) { t.Error(err) }))
	shop.sound()
	if again := len(shop.allGifts()); shop.Reconcile(t.Context(), shop.Account,
		func(err error) { t.Error(err) }) != nil || len(shop.allGifts()) != again {
		t.Errorf("comparing again changes something")
	}
	shop.soundOn(b)
	for _, id := range plans {
		d := shop.look(id)
		p := must(shop.Plan(t.Context(), shop.Number, d.GiftPlan))(t)
		expect(t, "plan", "active", p.Status)
	}
}

func TestConcurrentDeliveriesOfOneEventAreOneGift(t *testing.T) {
	shop, b := newShops(t)
	d, session := shop.give(wish(1))
	shop.stripe.Pay(session, stripetest.Card)
	events := shop.stripe.Deliveries()
	var delivering sync.WaitGroup
	for i := range 64 {
		s := []*Book{shop.Book, b}[i%2]
		delivering.Go(func() {
			shop.deliver(s, events...)
			shop.work(s)
			must(s.LookAtDonation(t.Context(), shop.Number, d.ID))(t)
		})
	}
	delivering.Wait()
	expect(t, "there are", "1", len(shop.allGifts()))
	expect(t, "the giver has the mails", "1", len(shop.mails("ann1@example.org")))
	shop.soundOn(b)
}

func TestNothingIsBelievedThatTheProviderDoesNotSay(t *testing.T) {
	shop := newShop(t)
	d, session := shop.give(wish(1))
	other, otherSession := shop.give(wish(2))
	honest := shop.stripe.Deliveries()
	event := func(kind, object, id string, live bool) []byte {
		return fmt.Appendf(nil, `{"id":"evt_made_up_%s_%x","object":"event","api_version":"2026-08-26.dahlia","created":%d,"livemode":%t,"type":%q,"data":{"object":{"id":%q,"object":%q,"payment_status":"paid","amount_total":5000,"client_reference_id":%q,"metadata":{"donorbook-donation":%q}}}}`,
			strings.ReplaceAll(object, ".", "_"), id, time.Now().Unix(), live, kind, id, object, d.ID, d.ID)
	}
	completed := func(id string) []byte { return event("checkout.session.completed", "checkout.session", id, true) }
	now := time.Now()
	for name, c := range map[string]struct {
		body      []byte
		signature string
	}{
		"no signature":     {completed(session), ""},
		"nonsense":         {completed(session), "t=yes,v1=no"},
		"another secret":   {completed(session), stripetest.Sign(completed(session), "whsec_other", now)},
		"the empty secret": {completed(session), stripetest.Sign(completed(session), "", now)},
		"a changed body": {bytes.ReplaceAll(completed(session), []byte("5000"), []byte("9000")),
			stripetest.Sign(completed(session), shop.stripe.Secret, now)},
		"six minutes old": {completed(session),
			stripetest.Sign(completed(session), shop.stripe.Secret, now.Add(-6*time.Minute))},
		"a day ahead": {completed(session),
			stripetest.Sign(completed(session), shop.stripe.Secret, now.Add(24*time.Hour))},
		"of test mode": {event("checkout.session.completed", "checkout.session", session, false),
			stripetest.Sign(event("checkout.session.completed", "checkout.session", session, false),
				shop.stripe.Secret, now)},
		"no JSON":       {[]byte("paid"), stripetest.Sign([]byte("paid"), shop.stripe.Secret, now)},
		"an empty body": {nil, stripetest.Sign(nil, shop.stripe.Secret, now)},
		"a list":        {[]byte("[]"), stripetest.Sign([]byte("[]"), shop.stripe.Secret, now)},
		"only a wrong v0": {completed(session),
			strings.ReplaceAll(stripetest.Sign(completed(session), shop.stripe.Secret, now), "v1=", "v0=")},
		"a signature in pieces": {completed(session),
			strings.TrimSuffix(stripetest.Sign(completed(session), shop.stripe.Secret, now),
				"0123456789abcdef")[:40]},
	} {
		refuses(t, "an event with "+name, donate.ErrForged)(shop.take(shop.Book, c.body, c.signature))
	}
	expect(t, "events were refused", "13", shop.RefusedEvents())
	// Genuine signatures on events that say what is not so: only what is found at the provider counts.
	for _, body := range [][]byte{
		completed(session), completed("cs_live_none"), completed("../../v1/balance"),
		event("charge.updated", "charge", "ch_none", true), event("invoice.paid", "invoice", "in_none",
			true), event("customer.subscription.updated", "subscription", "sub_none", true),
		event("refund.created", "refund", "re_none", true), event("charge.dispute.closed", "dispute", "dp_none",
			true), event("payment_intent.succeeded", "payment_intent", "pi_none", true),
	} {
		must(shop.take(shop.Book, body, stripetest.Sign(body, shop.stripe.Secret, now)))(t)
	}
	shop.deliver(shop.Book, honest...)
	shop.work(shop.Book)
	expect(t, "gifts, and the donation is", "0 open", len(shop.allGifts()), shop.look(d.ID).State)
	for provider, id := range map[string]string{"stripe": newAccount(t, shop.Book).ID, "pretend": shop.Account.ID} {
		a := must(shop.Book.Account(t.Context(), id))(t)
		body := completed(session)
		refuses(t, "an event of", crm.ErrNotFound)(shop.TakeEvent(t.Context(), provider, a,
			func(string) string { return stripetest.Sign(body, shop.stripe.Secret, now) }, body))
	}
	// A payment that names another donation, or less than was asked for.
	shop.stripe.Pay(otherSession, stripetest.Card)
	shop.change(`UPDATE donation SET session = $3 WHERE account_id = $1 AND id = $2`, shop.Number, d.ID,
		otherSession)
	seen := must(shop.LookAtDonation(t.Context(), shop.Number, d.ID))(t)
	expect(t, "the payment of another donation makes", "false true", seen.State == donate.Paid, seen.Gift == "")
	shop.change(`UPDATE donation SET charged = 7000 WHERE account_id = $1 AND id = $2`, shop.Number, other.ID)
	shop.arrive()
	if now := shop.look(other.ID); now.State != donate.Paid || now.Doubt != donate.WrongAmount {
		t.Errorf("less than was asked for is %+v", now)
	}
	if all := shop.allGifts(); len(all) != 1 || all[0].Payment().Amount != 50_00 {
		t.Errorf("the books have %+v", all)
	}
}

func TestWhatCanGoWrongWhileSomeoneGives(t *testing.T) {
	shop := newShop(t)
	give := func(id string) (donate.Donation, donate.Handover, error) {
		return shop.fill(shop.Book, id, wish(1))
	}
	id := donate.NewID()
	shop.stripe.Fail(500)
	refuses(t, "a provider that fails is", donate.ErrTemporary)(give(id))
	d, h, err := give(id)
	if err != nil || d.ID != id || h.URL == "" {
		t.Errorf("the same form again is %+v, %+v, %v", d, h, err)
	}
	if _, again, err := give(id); err != nil || again != h {
		t.Errorf("a third time it is %+v, %v", again, err)
	}
	changed := wish(1)
	changed.Amount = 70_00
	if d, other, err := shop.fill(shop.Book, id, changed); err != nil || d.ID == id || other.URL == h.URL {
		t.Errorf("a form that was changed is %+v, %v", d, err)
	}
	for field, w := range map[string]func(*donate.Wish){
		"amount": func(w *donate.Wish) { w.Amount = 1 }, "email": func(w *donate.Wish) { w.Email = "ann" }, "last_name": func(w *donate.Wish) { w.LastName = "" },
		"way": func(w *donate.Wish) { w.Way = donate.ByTransfer }, "frequency": func(w *donate.Wish) { w.Frequency = "hourly" }, "consent": func(w *donate.Wish) { w.Consent = true },
	} {
		bad := wish(1)
		w(&bad)
		_, _, err := shop.fill(shop.Book, donate.NewID(), bad)
		if got := faultsOf(err); len(got) != 1 || got[0] != field {
			t.Errorf("a wrong %s has the faults %q: %v", field, got, err)
		}
	}
	rejects(t, "the key was forgotten while money is on its way")(shop.Disconnect(t.Context(), shop.Number))
	// The key is revoked: the form closes, and the owner is told.
	ada := newUser(t, shop.Book, shop.Account, access.Owner, "Ada")
	shop.stripe.Revoke()
	refuses(t, "a key that was revoked is", donate.ErrNoKey)(give(donate.NewID()))
	expect(t, "the owner has the mails", "1", len(shop.mails(ada.Email)))
	offer := must(shop.Offer(t.Context(), shop.Number, &shop.campaign))(t)
	expect(t, "the form offers to pay online", "false", offer.Has(donate.Online))
	rejects(t, "a closed form is")(give(donate.NewID()))
	// Without its key file, a server says so and destroys nothing.
	succeed(t, os.Remove(shop.keys))
	shop.open(shop.Book)
	refuses(t, "without the key file", donations.ErrNoKeyFile)(shop.TestConnection(t.Context(), shop.Account))
	shown := must(shop.Connection(t.Context(), shop.Number))(t)
	expect(t, "the connection is", "cdef true", shown.Hint, shown.Live)
}

// faultsOf are the fields that an input is wrong in.
func faultsOf(err error) (fields []string) {
	var faults *doc.Invalid
	if errors.As(err, &faults) {
		for _, f := range faults.Faults {
			fields = append(fields, f.Field)
		}
	}
	return fields
}

// deafDesk opens a provider whose first answers are lost on their way, after it has done what was asked. It notes how
// long it may take.
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
func (shop *org) sessions() int {
	shop.Helper()
	request := must(http.NewRequestWithContext(shop.Context(), http.MethodGet,
		shop.stripe.URL+"/v1/checkout/sessions?limit=100", nil))(shop)
	request.Header.Set("Authorization", "Bearer "+shop.stripe.Key)
	response := must(http.DefaultClient.Do(request))(shop)
	defer response.Body.Close()
	body := new(bytes.Buffer)
	must(body.ReadFrom(response.Body))(shop)
	return bytes.Count(body.Bytes(), []byte(`"object":"checkout.session"`)) - bytes.Count(body.Bytes(),
		[]byte(`"status":"expired"`))
}

// The provider's answer is lost, or the server dies before it notes it: the same form leads to the same page, and
// nothing is charged twice.
func TestAPageWhoseAddressWasLostIsFoundAgain(t *testing.T) {
	shop := newShop(t)
	desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}, lost: 1}
	shop.UseDesk(desk, donations.NewKeys(shop.keys), "US")
	id := donate.NewID()
	give := func() (donate.Donation, donate.Handover, error) {
		return shop.fill(shop.Book, id, wish(1))
	}
	if _, _, err := give(); !errors.Is(err, donate.ErrTemporary) {
		t.Fatalf("a lost answer is %v", err)
	}
	d, first, err := give()
	if err != nil || first.URL == "" {
		t.Fatalf("the form again is %+v, %v", d, err)
	}
	// as after a crash
	shop.change(`UPDATE donation SET state = 'started', session = '' WHERE account_id = $1`, shop.Number)
	if again, h, err := give(); err != nil || h != first || again.ID != d.ID || shop.sessions() != 1 {
		t.Errorf("after a crash it is %+v, %+v of %d pages, %v", again, h, shop.sessions(), err)
	}
	shop.change(`UPDATE donation SET state = 'started', session = '' WHERE account_id = $1`, shop.Number)
	shop.stripe.Pay(first.Session.ID, stripetest.Card)
	shop.arrive()
	now := shop.look(d.ID)
	expect(t, "paid on a page that was never noted, it is", "paid true", now.State, now.Doubt == "")
	d, _ = shop.give(wish(2))
	desk.look = 0
	if _, err := shop.LookAtDonation(t.Context(), shop.Number, d.ID); err != nil || desk.start > 10*time.Second ||
		desk.look == 0 || desk.look > 3*time.Second {
		t.Errorf("a form waits for up to %s, and who comes back for up to %s, %v", desk.start, desk.look, err)
	}
}

// Someone clicks many times, and the clicks reach two nodes at once.
func TestConcurrentClicksBeginOneDonation(t *testing.T) {
	shop, b := newShops(t)
	id := donate.NewID()
	var clicking sync.WaitGroup
	var mu sync.Mutex
	led := map[string]bool{}
	for i := range 32 {
		s := []*Book{shop.Book, b}[i%2]
		clicking.Go(func() {
			d, h, err := shop.fill(s, id, wish(1))
			mu.Lock()
			defer mu.Unlock()
			if led[h.URL] = true; err != nil || d.ID != id {
				t.Errorf("a click begins %+v, %v", d, err)
			}
		})
	}
	clicking.Wait()
	expect(t, "32 clicks lead to", "1 1", shop.sessions(), len(led))
}

// TestWhoeverLoadsThePageOfThanksAsksTheProviderSeldom: the giver, or a stranger with the address, loads it again and
// again, from two nodes. A payment that is settled is not asked about at all.
func TestWhoeverLoadsThePageOfThanksAsksTheProviderSeldom(t *testing.T) {
	shop, b := newShops(t)
	desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}}
	now := time.Now().Truncate(time.Second)
	for _, node := range []*Book{shop.Book, b} {
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
			if seen, err = []*Book{shop.Book, b}[i%2].LookAtDonation(t.Context(), shop.Number, d.ID); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, "the provider was asked", "true true", desk.looks.Load() == wantLooks, seen.State == want)
	}
	load(1, donate.Open)
	load(0, donate.Open)
	shop.stripe.Pay(session, stripetest.Card)
	now = now.Add(donations.LookPause)
	load(1, donate.Paid)
	now = now.Add(time.Minute)
	load(0, donate.Paid)
}

// The link of a thank-you lasts, and whoever has it loads its page again and again, from two nodes. A monthly gift
// that has ended is not asked about at all.
func TestWhoeverLoadsAMonthlyGiftAsksTheProviderSeldom(t *testing.T) {
	shop, b := newShops(t)
	desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}}
	now := time.Now().Truncate(time.Second)
	for _, node := range []*Book{shop.Book, b} {
		node.UseDesk(desk, donations.NewKeys(shop.keys), "US")
		node.Now = func() time.Time { return now }
	}
	w := monthly(1)
	d := shop.paid(w)
	shop.mails(w.Email)
	link := strings.TrimPrefix(shop.office.last().Path, donate.ManagePath)
	load := func(wantLooks int64, want giving.PlanStatus) {
		t.Helper()
		desk.looks.Store(0)
		var seen donations.Managed
		for i := range 20 {
			var err error
			if seen, err = []*Book{shop.Book, b}[i%2].ManagedPlan(t.Context(), link); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, "the provider was asked", "true true", desk.looks.Load() == wantLooks, seen.Plan.Status == want)
	}
	load(0, giving.ActivePlan) // what has arrived just now
	shop.stripe.Break(d.Plan, true)
	shop.stripe.Advance(32 * 24 * time.Hour)
	now = now.Add(donations.LookPause)
	load(1, giving.PastDue)
	must(shop.ChangePlan(t.Context(), link, donate.CancelPlan, 0))(t)
	now = now.Add(time.Minute)
	load(0, giving.Ended)
}

// Where the database takes nothing, the provider is asked nothing: no page is open of which no one knows.
func TestNothingBeginsThatCannotBeWritten(t *testing.T) {
	shop := newShop(t)
	shop.change(`ALTER TABLE donation RENAME TO elsewhere`)
	_, _, err := shop.begin(shop.Book, wish(1))
	shop.change(`ALTER TABLE elsewhere RENAME TO donation`)
	if n := shop.sessions(); err == nil || n != 0 {
		t.Errorf("without a place to write, %d pages are open: %v", n, err)
	}
}

// What strangers have begun and not paid is bounded.
func TestOpenDonationsAreBounded(t *testing.T) {
	shop := newShop(t)
	d, _ := shop.give(wish(1))
	shop.change(fmt.Sprintf(sqlCopies, 9_999), shop.Number, d.ID)
	shop.change(`UPDATE donation SET state = 'open', created_at = created_at - 3600 WHERE account_id = $1`,
		shop.Number)
	rejects(t, "one more than 10,000 begins")(shop.begin(shop.Book, wish(2)))
	shop.change(`UPDATE donation SET state = 'expired' WHERE account_id = $1 AND id = $2`, shop.Number, d.ID)
	must2(shop.begin(shop.Book, wish(2)))(t)
}

// The key of a provider is in no copy of the database, and a row of one organization is of no use to another.
func TestTheKeyOfAProviderIsNotInTheDatabase(t *testing.T) {
	shop := newShop(t)
	info := must(os.Stat(shop.keys))(t)
	expect(t, "the key file is", "true 32", info.Mode().Perm() == 0o600, info.Size())
	var secret []byte
	succeed(t, shop.Read(t.Context(), func(c db.Conn) error {
		_, err := c.One(func(r db.Row) { secret = bytes.Clone(r.Bytes(0)) },
			`SELECT secret FROM connection WHERE account_id = $1`, shop.Number)
		return err
	}))
	if len(secret) < 64 || bytes.Contains(secret, []byte("rk_live")) ||
		bytes.Contains(secret, []byte(shop.stripe.Secret)) {
		t.Errorf("the database has %q", secret)
	}
	other := newAccount(t, shop.Book)
	must(shop.Connect(t.Context(), other, donations.Connecting{Provider: "stripe", Key: shop.stripe.Key},
		"https://donors.example"))(t)
	shop.change(`UPDATE connection SET secret = $2 WHERE account_id = $1`, other.Number, secret)
	refuses(t, "the secret of another organization opens",
		donations.ErrNoKeyFile)(shop.TestConnection(t.Context(), other))
	if _, err := shop.Connection(t.Context(), other.Number); errors.Is(err, crm.ErrNotFound) {
		t.Error(err)
	}
}

// sqlCopies are copies of a donation, each a second older than the one before.
const sqlCopies = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
	INSERT INTO donation (account_id, id, number, campaign_id, state, doubt, settled, fault, wish, email, charged, covered, currency, provider, live, attempt, session, payment, plan, code, plan_code,
		version, looked_at, due_at, manage, manage_until, card, created_at, updated_at)
	SELECT account_id, 'copy' || CAST(i AS TEXT), 100000000 + i, campaign_id, 'expired', CASE WHEN i %% 100 = 0 THEN 'name' ELSE '' END, settled, fault, wish, email, charged, covered, currency, provider, live, attempt, '', '', '', '', '',
		version, looked_at, 0, '', 0, '', created_at - i, updated_at FROM donation, n WHERE account_id = $1 AND id = $2`

func TestAListOfDonationsGoesBackAsFarAsPeopleDo(t *testing.T) {
	shop := newShop(t)
	d, _ := shop.give(wish(1))
	shop.change(fmt.Sprintf(sqlCopies, donate.Listed+49), shop.Number, d.ID)
	list := func(f donate.Filter, page int64) (found []donate.Donation, total int64, err error) {
		found, result, err := shop.Donations(t.Context(), shop.Number, f, crm.PageRequest{Page: page, PerPage: 100})
		expect(t, "are said to be", "true", int(result.Count) == len(found))
		return found, result.Total, err
	}
	seen, last := map[string]bool{}, d.CreatedAt.Add(time.Second)
	for page := int64(1); page <= donate.Listed/100; page++ {
		if !drill.On && page%20 > 1 {
			continue
		}
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
	rejects(t, "the page behind the last is")(list(donate.Filter{}, donate.Listed/100+1))
	if found, total, err := list(donate.Filter{To: last}, 1); err != nil || total != 50 || len(found) != 50 ||
		seen[found[0].ID] {
		t.Errorf("before %s there are %d, %v", last, total, err)
	}
	if _, total, err := list(donate.Filter{From: last, State: donate.Expired, Campaign: shop.campaign.ID},
		1); err != nil || total != donate.Listed-1 {
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
}

// Thieves who try cards have many addresses: what begins in a minute is bounded on all nodes together, by what people
// gave in the last week.
func TestAPageBeginsSoManyInAMinute(t *testing.T) {
	shop, b := newShops(t)
	succeed(t, shop.SaveDonationSettings(t.Context(), shop.Number, donate.Settings{Check: "Clean Water"}))
	now := time.Now()
	shop.Now = func() time.Time { return now }
	b.Now = shop.Now
	w := byCheck(1)
	first, _ := must2(shop.begin(shop.Book, w))(t)
	shop.change(fmt.Sprintf(sqlCopies, 400), shop.Number, first.ID)
	shop.change(`UPDATE donation SET created_at = created_at - 7200 WHERE account_id = $1`, shop.Number)
	through := func(campaign int64, copies int) (n int) {
		t.Helper()
		// The others began now, for this campaign or another one.
		shop.change(`UPDATE donation SET created_at = $2, campaign_id = $3 WHERE account_id = $1 AND number > 100000000 AND number <= $4`,
			shop.Number, now.Unix(), campaign, 100_000_000+int64(copies))
		for ; n < 10; n++ {
			if _, _, err := shop.begin([]*Book{shop.Book, b}[n%2], w); errors.Is(err, donate.ErrCrowd) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		shop.change(`DELETE FROM donation WHERE account_id = $1 AND number < 100000000 AND id <> $2`, shop.Number,
			first.ID)
		shop.change(`UPDATE donation SET created_at = created_at - 7200 WHERE account_id = $1`, shop.Number)
		return n
	}
	expect(t, "begin after 115", "5", through(shop.campaign.ID, 115))
	expect(t, "begin after 200 of another one", "10", through(0, 200))
	expect(t, "of an organization", "3", through(0, 297))
	// A hundred that people have paid let five more begin; a hundred that were tried let none.
	shop.change(`UPDATE donation SET state = 'paid', created_at = created_at - 86400 WHERE account_id = $1 AND number > 100000300`, shop.Number)
	expect(t, "after a week with a hundred gifts", "8", through(0, 297))
	shop.change(`UPDATE donation SET created_at = created_at - 7 * 86400 WHERE account_id = $1`, shop.Number)
	expect(t, "after a week without", "1", through(shop.campaign.ID, 119))
}

func TestTestGiftsAreDeleted(t *testing.T) {
	s := newBook(t)
	shop := newShopOn(t, s, false)
	number := shop.Number
	d, session := shop.give(monthly(1))
	shop.stripe.Pay(session, stripetest.Card)
	shop.paid(wish(2))
	shop.month()
	d = shop.look(d.ID)
	all := shop.allGifts()
	if len(all) != 3 || !all[0].Test || all[0].Status != giving.Succeeded {
		t.Fatalf("there are %+v", all)
	}
	if c, _, err := s.CampaignBySlug(t.Context(), shop.campaign.Slug); err != nil || c.Raised() != 0 ||
		c.Donors() != 0 {
		t.Errorf("tests have raised %d by %d donors, %v", c.Raised(), c.Donors(), err)
	}
	if n, err := s.DeleteTests(t.Context(), number); n != 0 || faultsOf(err) == nil {
		t.Errorf("while they would come back, %d are deleted: %v", n, err)
	}
	live := stripetest.New(true)
	t.Cleanup(live.Close)
	shop.stripe = live
	shop.open(s)
	must(s.Connect(t.Context(), shop.Account, donations.Connecting{Provider: "stripe", Key: live.Key},
		"https://donors.example"))(t)
	real, session := shop.give(wish(3))
	expect(t, "are deleted", "2", must(s.DeleteTests(t.Context(), number))(t))
	left, _, err := s.Donations(t.Context(), number, donate.Filter{}, crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(left) != 1 || left[0].ID != real.ID {
		t.Errorf("left are %+v, %v", left, err)
	}
	expect(t, "the plan is", "ended", must(s.Plan(t.Context(), number, d.GiftPlan))(t).Status)
	shop.stripe.Pay(session, stripetest.Card)
	expect(t, "a real gift is", "paid", must(s.LookAtDonation(t.Context(), number, real.ID))(t).State)
	for _, g := range shop.allGifts() {
		expect(t, "a gift is", "false", g.Test == (g.Status == giving.Succeeded))
	}
	shop.sound()
	expect(t, "are deleted", "0", must(s.DeleteTests(t.Context(), number))(t))
	shop.sound()
}
