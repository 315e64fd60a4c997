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
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/rig/drill"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store"
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
	honest, now := shop.stripe.Deliveries(), time.Now()
	event := func(kind, object, id string, live bool) []byte {
		return fmt.Appendf(nil, `{"id":"evt_made_up_%s_%x","object":"event","api_version":"2026-08-26.dahlia",
			"created":%d,
			"livemode":%t,"type":%q,"data":{"object":{"id":%q,"object":%q,"payment_status":"paid","amount_total":5000,
			"client_reference_id":%q,"metadata":{"donorbook-donation":%q}}}}`,
			strings.ReplaceAll(object, ".", "_"), id, now.Unix(), live, kind, id, object, d.ID, d.ID)
	}
	completed := func(id string) []byte { return event("checkout.session.completed", "checkout.session", id, true) }
	paid, ofTests := completed(session), event("checkout.session.completed", "checkout.session", session, false)
	sign := func(body []byte) string { return stripetest.Sign(body, shop.stripe.Secret, now) }
	at := func(d time.Duration) string { return stripetest.Sign(paid, shop.stripe.Secret, now.Add(d)) }
	forged := map[string]struct {
		body      []byte
		signature string
	}{
		"no signature":          {paid, ""},
		"nonsense":              {paid, "t=yes,v1=no"},
		"another secret":        {paid, stripetest.Sign(paid, "whsec_other", now)},
		"the empty secret":      {paid, stripetest.Sign(paid, "", now)},
		"a changed body":        {bytes.ReplaceAll(paid, []byte("5000"), []byte("9000")), sign(paid)},
		"six minutes old":       {paid, at(-6 * time.Minute)},
		"a day ahead":           {paid, at(24 * time.Hour)},
		"of test mode":          {ofTests, sign(ofTests)},
		"no JSON":               {[]byte("paid"), sign([]byte("paid"))},
		"an empty body":         {nil, sign(nil)},
		"a list":                {[]byte("[]"), sign([]byte("[]"))},
		"only a wrong v0":       {paid, strings.ReplaceAll(sign(paid), "v1=", "v0=")},
		"a signature in pieces": {paid, sign(paid)[:40]},
	}
	for name, c := range forged {
		refuses(t, "an event with "+name, donate.ErrForged)(shop.take(shop.Book, c.body, c.signature))
	}
	equal(t, shop.RefusedEvents(), int64(len(forged)))
	// Genuine signatures on events that say what is not so: only what is found at the provider counts.
	lies := [][]byte{paid, completed("cs_live_none"), completed("../../v1/balance")}
	for _, lie := range rows.Of[struct{ Kind, Object, ID string }](`
		charge.updated                 charge          ch_none
		invoice.paid                   invoice         in_none
		customer.subscription.updated  subscription    sub_none
		refund.created                 refund          re_none
		charge.dispute.closed          dispute         dp_none
		payment_intent.succeeded       payment_intent  pi_none`) {
		lies = append(lies, event(lie.Kind, lie.Object, lie.ID, true))
	}
	for _, body := range lies {
		must(shop.take(shop.Book, body, sign(body)))(t)
	}
	shop.deliver(shop.Book, honest...)
	shop.work(shop.Book)
	expect(t, "gifts, and the donation is", "0 open", len(shop.allGifts()), shop.look(d.ID).State)
	for provider, id := range map[string]string{"stripe": newAccount(t, shop.Book).ID, "pretend": shop.Account.ID} {
		a := must(shop.Book.Account(t.Context(), id))(t)
		refuses(t, "an event of", crm.ErrNotFound)(shop.TakeEvent(t.Context(), provider, a,
			func(string) string { return sign(paid) }, paid))
	}
	// A payment that names another donation, or less than was asked for.
	shop.stripe.Pay(otherSession, stripetest.Card)
	shop.change(`UPDATE donation SET session = $3 WHERE account_id = $1 AND id = $2`, shop.Number, d.ID, otherSession)
	seen := must(shop.LookAtDonation(t.Context(), shop.Number, d.ID))(t)
	expect(t, "the payment of another donation makes", "false true", seen.State == donate.Paid, seen.Gift == "")
	shop.change(`UPDATE donation SET charged = 7000 WHERE account_id = $1 AND id = $2`, shop.Number, other.ID)
	shop.arrive()
	less, all := shop.look(other.ID), shop.allGifts()
	expect(t, "less than was asked for", "paid amount 1 5000", less.State, less.Doubt, len(all),
		all[0].Payment().Amount)
}

func TestWhatCanGoWrongWhileSomeoneGives(t *testing.T) {
	shop := newShop(t)
	id := donate.NewID()
	give := func(id string, change func(*donate.Wish)) (donate.Donation, donate.Handover, error) {
		w := wish(1)
		change(&w)
		return shop.fill(shop.Book, id, w)
	}
	as := func(*donate.Wish) {}
	shop.stripe.Fail(500)
	refuses(t, "a provider that fails is", donate.ErrTemporary)(give(id, as))
	d, h, err := give(id, as)
	succeed(t, err)
	_, again, err := give(id, as)
	succeed(t, err)
	expect(t, "the same form again, and again", "true false true", d.ID == id, h.URL == "", again == h)
	d, other, err := give(id, func(w *donate.Wish) { w.Amount = 70_00 })
	succeed(t, err)
	expect(t, "a form that was changed is the same", "false false", d.ID == id, other.URL == h.URL)
	for field, change := range map[string]func(*donate.Wish){
		"amount":    func(w *donate.Wish) { w.Amount = 1 },
		"email":     func(w *donate.Wish) { w.Email = "ann" },
		"last_name": func(w *donate.Wish) { w.LastName = "" },
		"way":       func(w *donate.Wish) { w.Way = donate.ByTransfer },
		"frequency": func(w *donate.Wish) { w.Frequency = "hourly" },
		"consent":   func(w *donate.Wish) { w.Consent = true },
	} {
		_, _, err := give(donate.NewID(), change)
		wantFaults(t, err, field)
	}
	rejects(t, "the key was forgotten while money is on its way")(shop.Disconnect(t.Context(), shop.Number))
	// The key is revoked: the form closes, and the owner is told.
	ada := newUser(t, shop.Book, shop.Account, access.Owner, "Ada")
	shop.stripe.Revoke()
	refuses(t, "a key that was revoked is", donate.ErrNoKey)(give(donate.NewID(), as))
	expect(t, "the owner has the mails", "1", len(shop.mails(ada.Email)))
	offer := must(shop.Offer(t.Context(), shop.Number, &shop.campaign))(t)
	expect(t, "the form offers to pay online", "false", offer.Has(donate.Online))
	rejects(t, "a closed form is")(give(donate.NewID(), as))
	// Without its key file, a server says so and destroys nothing.
	succeed(t, os.Remove(shop.keys))
	shop.open(shop.Book)
	refuses(t, "without the key file", donations.ErrNoKeyFile)(shop.TestConnection(t.Context(), shop.Account))
	shown := must(shop.Connection(t.Context(), shop.Number))(t)
	expect(t, "the connection is", "cdef true", shown.Hint, shown.Live)
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
	desk := shop.deaf(shop.Book)
	desk.lost = 1
	id := donate.NewID()
	give := func() (donate.Donation, donate.Handover, error) { return shop.fill(shop.Book, id, wish(1)) }
	crash := func() {
		shop.change(`UPDATE donation SET state = 'started', session = '' WHERE account_id = $1`, shop.Number)
	}
	refuses(t, "a lost answer is", donate.ErrTemporary)(give())
	d, first := must2(give())(t)
	crash()
	again, h := must2(give())(t)
	expect(t, "after a crash it is the same, of pages", "true true false 1", again.ID == d.ID, h == first, h.URL == "",
		shop.sessions())
	crash()
	shop.stripe.Pay(first.Session.ID, stripetest.Card)
	shop.arrive()
	now := shop.look(d.ID)
	expect(t, "paid on a page that was never noted, it is", "paid true", now.State, now.Doubt == "")
	d, _ = shop.give(wish(2))
	desk.look = 0
	must(shop.LookAtDonation(t.Context(), shop.Number, d.ID))(t)
	if desk.start > 10*time.Second || desk.look == 0 || desk.look > 3*time.Second {
		t.Errorf("a form waits for up to %s, and who comes back for up to %s", desk.start, desk.look)
	}
}

// deaf lets nodes ask the provider over a line that notes what they ask.
func (shop *org) deaf(nodes ...*Book) *deafDesk {
	desk := &deafDesk{deskAt: deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}}
	for _, node := range nodes {
		node.UseDesk(desk, donations.NewKeys(shop.keys), "US")
	}
	return desk
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

// The giver, or a stranger with the address, loads the page of thanks or that of a monthly gift again and again, from
// two nodes. A payment that is settled, and a monthly gift that has ended, are not asked about at all.
func TestWhoeverLoadsAPageAsksTheProviderSeldom(t *testing.T) {
	shop, b := newShops(t)
	desk, now := shop.deaf(shop.Book, b), time.Now().Truncate(time.Second)
	shop.Now = func() time.Time { return now }
	b.Now = shop.Now
	loads := func(want string, load func(*Book) string) {
		t.Helper()
		desk.looks.Store(0)
		seen := ""
		for i := range 20 {
			seen = load([]*Book{shop.Book, b}[i%2])
		}
		expect(t, "times that the provider was asked, and what is shown", want, desk.looks.Load(), seen)
	}
	d, session := shop.give(wish(1))
	thanks := func(s *Book) string {
		return string(must(s.LookAtDonation(t.Context(), shop.Number, d.ID))(t).State)
	}
	loads("1 open", thanks)
	loads("0 open", thanks)
	shop.stripe.Pay(session, stripetest.Card)
	now = now.Add(donations.LookPause)
	loads("1 paid", thanks)
	now = now.Add(time.Minute)
	loads("0 paid", thanks)
	w := monthly(2)
	d = shop.paid(w)
	shop.mails(w.Email)
	link := strings.TrimPrefix(shop.office.last().Path, donate.ManagePath)
	plan := func(s *Book) string { return string(must(s.ManagedPlan(t.Context(), link))(t).Plan.Status) }
	loads("0 active", plan) // what has arrived just now
	shop.stripe.Break(d.Plan, true)
	shop.stripe.Advance(32 * 24 * time.Hour)
	now = now.Add(donations.LookPause)
	loads("1 past_due", plan)
	must(shop.ChangePlan(t.Context(), link, donate.CancelPlan, 0))(t)
	now = now.Add(time.Minute)
	loads("0 ended", plan)
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
	expect(t, "the key file is", "-rw------- 32", info.Mode(), info.Size())
	var secret []byte
	succeed(t, shop.Read(t.Context(), func(c db.Conn) error {
		_, err := c.One(func(r db.Row) { secret = bytes.Clone(r.Bytes(0)) },
			`SELECT secret FROM connection WHERE account_id = $1`, shop.Number)
		return err
	}))
	expect(t, "the database has the key", "false false false", len(secret) < 64,
		bytes.Contains(secret, []byte("rk_live")), bytes.Contains(secret, []byte(shop.stripe.Secret)))
	other := newAccount(t, shop.Book)
	shop.connect(other)
	shop.change(`UPDATE connection SET secret = $2 WHERE account_id = $1`, other.Number, secret)
	refuses(t, "the secret of another organization opens",
		donations.ErrNoKeyFile)(shop.TestConnection(t.Context(), other))
	must(shop.Connection(t.Context(), other.Number))(t)
}

// sqlCopies are copies of a donation, each a second older than the one before.
const sqlCopies = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
	INSERT INTO donation (account_id, id, number, campaign_id, state, doubt, settled, fault, wish, email, charged,
		covered, currency, provider, live, attempt, session, payment, plan, code, plan_code,
		version, looked_at, due_at, manage, manage_until, card, created_at, updated_at)
	SELECT account_id, 'copy' || CAST(i AS TEXT), 100000000 + i, campaign_id, 'expired', CASE WHEN i %% 100 = 0 THEN
		'name' ELSE '' END, settled, fault, wish, email, charged, covered, currency, provider, live,
		attempt, '', '', '', '', '',
		version, looked_at, 0, '', 0, '', created_at - i, updated_at FROM donation, n WHERE account_id = $1 AND id = $2`

func TestAListOfDonationsGoesBackAsFarAsPeopleDo(t *testing.T) {
	shop := newShop(t)
	d, _ := shop.give(wish(1))
	shop.change(fmt.Sprintf(sqlCopies, donate.Listed+49), shop.Number, d.ID)
	list := func(f donate.Filter, page int64) ([]donate.Donation, store.ListResult, error) {
		return shop.Donations(t.Context(), shop.Number, f, crm.PageRequest{Page: page, PerPage: 100})
	}
	lists := func(f donate.Filter, page, count, total int64) (found []donate.Donation) {
		t.Helper()
		found, result := must2(list(f, page))(t)
		expect(t, fmt.Sprintf("%+v", f), fmt.Sprint(count, count, total), len(found), result.Count, result.Total)
		return found
	}
	seen, last := map[string]bool{}, d.CreatedAt.Add(time.Second)
	for page := int64(1); page <= donate.Listed/100; page++ {
		if !drill.On && page%20 > 1 {
			continue
		}
		for _, f := range lists(donate.Filter{}, page, 100, donate.Listed+1) {
			if seen[f.ID] || !f.CreatedAt.Before(last) {
				t.Fatalf("page %d has %s of %s after %s", page, f.ID, f.CreatedAt, last)
			}
			seen[f.ID], last = true, f.CreatedAt
		}
	}
	rejects(t, "the page behind the last is")(list(donate.Filter{}, donate.Listed/100+1))
	equal(t, seen[lists(donate.Filter{To: last}, 1, 50, 50)[0].ID], false)
	lists(donate.Filter{From: last, State: donate.Expired, Campaign: shop.campaign.ID}, 1, 100, donate.Listed-1)
	lists(donate.Filter{Review: true}, 2, 0, (donate.Listed+49)/100)
	lists(donate.Filter{Review: true, State: donate.Expired}, 2, 0, (donate.Listed+49)/100)
	lists(donate.Filter{State: donate.Open}, 1, 1, 1)
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
		shop.change(`UPDATE donation SET created_at = $2, campaign_id = $3 WHERE account_id = $1 AND number >
			100000000 AND number <= $4`,
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
	shop.change(`UPDATE donation SET state = 'paid', created_at = created_at - 86400 WHERE account_id = $1 AND
		number > 100000300`, shop.Number)
	expect(t, "after a week with a hundred gifts", "8", through(0, 297))
	shop.change(`UPDATE donation SET created_at = created_at - 7 * 86400 WHERE account_id = $1`, shop.Number)
	expect(t, "after a week without", "1", through(shop.campaign.ID, 119))
}

func TestTestGiftsAreDeleted(t *testing.T) {
	shop := newShopOn(t, newBook(t), false)
	deleted := func() (int, error) { return shop.DeleteTests(t.Context(), shop.Number) }
	d := shop.paid(monthly(1))
	shop.paid(wish(2))
	shop.month()
	all := shop.allGifts()
	expect(t, "gifts", "3 true succeeded", len(all), all[0].Test, all[0].Status)
	c, _ := must2(shop.CampaignBySlug(t.Context(), shop.campaign.Slug))(t)
	expect(t, "tests have raised", "0 0", c.Raised(), c.Donors())
	rejects(t, "they are deleted while they would come back")(deleted())
	shop.stripe = stripetest.New(true)
	t.Cleanup(shop.stripe.Close)
	shop.open(shop.Book)
	shop.connect(shop.Account)
	real, session := shop.give(wish(3))
	expect(t, "are deleted", "2", must(deleted())(t))
	left, _ := must2(shop.Donations(t.Context(), shop.Number, donate.Filter{}, crm.PageRequest{Page: 1,
		PerPage: 10}))(t)
	expect(t, "left", "1 true", len(left), left[0].ID == real.ID)
	expect(t, "the plan is", "ended", must(shop.Plan(t.Context(), shop.Number, d.GiftPlan))(t).Status)
	shop.stripe.Pay(session, stripetest.Card)
	expect(t, "a real gift is", "paid", must(shop.LookAtDonation(t.Context(), shop.Number, real.ID))(t).State)
	for _, g := range shop.allGifts() {
		expect(t, "a gift is", "false", g.Test == (g.Status == giving.Succeeded))
	}
	shop.sound()
	expect(t, "are deleted", "0", must(deleted())(t))
	shop.sound()
}
