package book

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store/donations"
)

// many is how many donations the proof takes: DONORBOOK_DONATIONS in the environment, or few enough for every commit.
func many(t *testing.T, few int) int {
	if text := os.Getenv("DONORBOOK_DONATIONS"); text != "" {
		n := must(strconv.Atoi(text))(t)
		return n
	}
	return few
}

// The books are those of the provider, to the cent, after events were shuffled, doubled and lost on two nodes, and everything was compared once.
func TestBooksAreThoseOfTheProvider(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		shop.open(b)
		shop.stripe.LateFees = true
		n, r := many(t, 150), rand.New(rand.NewPCG(7, 45))
		var plans []string
		for i := range n {
			w := wish(i % (n/2 + 1)) // some people give twice
			if r.IntN(10) == 0 {
				w.Frequency = "monthly"
			}
			w.Amount = 5_00 + r.Int64N(500_00)
			d, session := shop.give(w)
			how := []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Card, stripetest.Debit, stripetest.Decline}[r.IntN(5)]
			if w.Frequency != donate.Once {
				how = stripetest.Card
				plans = append(plans, d.ID)
			}
			if shop.stripe.Pay(session, how); r.IntN(8) == 0 {
				must(b.LookAtDonation(t.Context(), shop.account.Number, d.ID))(t)
			}
		}
		storm := func() {
			t.Helper()
			for _, d := range stripetest.Shuffle(r, shop.stripe.Deliveries(), 0.05, 0.3) {
				shop.deliver([]*Book{a, b}[r.IntN(2)], d)
			}
			var working sync.WaitGroup
			for _, s := range []*Book{a, b} {
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
		succeed(t, a.Reconcile(t.Context(), shop.account, func(err error) { t.Error(err) }))
		shop.sound(a)
		if again := len(shop.allGifts()); a.Reconcile(t.Context(), shop.account, func(err error) { t.Error(err) }) != nil || len(shop.allGifts()) != again {
			t.Errorf("comparing again changes something")
		}
		shop.sound(b)
		for _, id := range plans {
			d := shop.look(id)
			p, err := a.Plan(t.Context(), shop.account.Number, d.GiftPlan)
			if err != nil || p.Status != giving.ActivePlan {
				t.Errorf("plan %s of %+v is %+v, %v", d.GiftPlan, d, p, err)
			}
		}
	})
}

func TestConcurrentDeliveriesOfOneEventAreOneGift(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		shop := newGiftShop(t, a)
		shop.open(b)
		d, session := shop.give(wish(1))
		shop.stripe.Pay(session, stripetest.Card)
		events := shop.stripe.Deliveries()
		var delivering sync.WaitGroup
		for i := range 64 {
			s := []*Book{a, b}[i%2]
			delivering.Go(func() {
				shop.deliver(s, events...)
				shop.work(s)
				if _, err := s.LookAtDonation(t.Context(), shop.account.Number, d.ID); err != nil {
					t.Error(err)
				}
			})
		}
		delivering.Wait()
		if all := shop.allGifts(); len(all) != 1 {
			t.Errorf("there are %d gifts", len(all))
		}
		if got := shop.mails("ann1@example.org"); len(got) != 1 {
			t.Errorf("the giver has the mails %q", got)
		}
		shop.sound(b)
	})
}

func TestNothingIsBelievedThatTheProviderDoesNotSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
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
			"no signature":          {completed(session), ""},
			"nonsense":              {completed(session), "t=yes,v1=no"},
			"another secret":        {completed(session), stripetest.Sign(completed(session), "whsec_other", now)},
			"the empty secret":      {completed(session), stripetest.Sign(completed(session), "", now)},
			"a changed body":        {bytes.ReplaceAll(completed(session), []byte("5000"), []byte("9000")), stripetest.Sign(completed(session), shop.stripe.Secret, now)},
			"six minutes old":       {completed(session), stripetest.Sign(completed(session), shop.stripe.Secret, now.Add(-6*time.Minute))},
			"a day ahead":           {completed(session), stripetest.Sign(completed(session), shop.stripe.Secret, now.Add(24*time.Hour))},
			"of test mode":          {event("checkout.session.completed", "checkout.session", session, false), stripetest.Sign(event("checkout.session.completed", "checkout.session", session, false), shop.stripe.Secret, now)},
			"no JSON":               {[]byte("paid"), stripetest.Sign([]byte("paid"), shop.stripe.Secret, now)},
			"an empty body":         {nil, stripetest.Sign(nil, shop.stripe.Secret, now)},
			"a list":                {[]byte("[]"), stripetest.Sign([]byte("[]"), shop.stripe.Secret, now)},
			"only a wrong v0":       {completed(session), strings.ReplaceAll(stripetest.Sign(completed(session), shop.stripe.Secret, now), "v1=", "v0=")},
			"a signature in pieces": {completed(session), strings.TrimSuffix(stripetest.Sign(completed(session), shop.stripe.Secret, now), "0123456789abcdef")[:40]},
		} {
			if _, err := shop.take(s, c.body, c.signature); !errors.Is(err, donate.ErrForged) {
				t.Errorf("an event with %s is %v", name, err)
			}
		}
		if n := s.RefusedEvents(); n != 13 {
			t.Errorf("%d events were refused", n)
		}
		// Genuine signatures on events that say what is not so: only what is found at the provider counts.
		for _, body := range [][]byte{
			completed(session), completed("cs_live_none"), completed("../../v1/balance"),
			event("charge.updated", "charge", "ch_none", true), event("invoice.paid", "invoice", "in_none", true), event("customer.subscription.updated", "subscription", "sub_none", true),
			event("refund.created", "refund", "re_none", true), event("charge.dispute.closed", "dispute", "dp_none", true), event("payment_intent.succeeded", "payment_intent", "pi_none", true),
		} {
			if _, err := shop.take(s, body, stripetest.Sign(body, shop.stripe.Secret, now)); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		}
		shop.deliver(s, honest...)
		shop.work(s)
		if all := shop.allGifts(); len(all) != 0 || shop.look(d.ID).State != donate.Open {
			t.Errorf("there are %d gifts, and the donation is %+v", len(all), shop.look(d.ID))
		}
		for provider, account := range map[string]string{"stripe": newAccount(t, s).ID, "pretend": shop.account.ID} {
			a := must(s.Account(t.Context(), account))(t)
			body := completed(session)
			if _, err := s.TakeEvent(t.Context(), provider, a, func(string) string { return stripetest.Sign(body, shop.stripe.Secret, now) }, body); !errors.Is(err, crm.ErrNotFound) {
				t.Errorf("an event of %s is taken: %v", provider, err)
			}
		}
		// A payment that names another donation, or less than was asked for.
		shop.stripe.Pay(otherSession, stripetest.Card)
		shop.change(`UPDATE donation SET session = $3 WHERE account_id = $1 AND id = $2`, shop.account.Number, d.ID, otherSession)
		if seen, err := s.LookAtDonation(t.Context(), shop.account.Number, d.ID); err != nil || seen.State == donate.Paid || seen.Gift != "" {
			t.Errorf("the payment of another donation makes %+v, %v", seen, err)
		}
		shop.change(`UPDATE donation SET charged = 7000 WHERE account_id = $1 AND id = $2`, shop.account.Number, other.ID)
		shop.arrive()
		if now := shop.look(other.ID); now.State != donate.Paid || now.Doubt != donate.WrongAmount {
			t.Errorf("less than was asked for is %+v", now)
		}
		if all := shop.allGifts(); len(all) != 1 || all[0].Payment().Amount != 50_00 {
			t.Errorf("the books have %+v", all)
		}
	})
}

func TestWhatCanGoWrongWhileSomeoneGives(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		give := func(id string) (donate.Donation, donate.Handover, error) {
			return s.Give(t.Context(), shop.account, &shop.campaign, id, wish(1), donations.Pages{Success: back, Cancel: back})
		}
		id := donate.NewID()
		shop.stripe.Fail(500)
		if _, _, err := give(id); !errors.Is(err, donate.ErrTemporary) {
			t.Errorf("a provider that fails is %v", err)
		}
		d, h, err := give(id)
		if err != nil || d.ID != id || h.URL == "" {
			t.Errorf("the same form again is %+v, %+v, %v", d, h, err)
		}
		if _, again, err := give(id); err != nil || again != h {
			t.Errorf("a third time it is %+v, %v", again, err)
		}
		changed := wish(1)
		changed.Amount = 70_00
		if d, other, err := s.Give(t.Context(), shop.account, &shop.campaign, id, changed, donations.Pages{Success: back, Cancel: back}); err != nil || d.ID == id || other.URL == h.URL {
			t.Errorf("a form that was changed is %+v, %v", d, err)
		}
		for field, w := range map[string]func(*donate.Wish){
			"amount": func(w *donate.Wish) { w.Amount = 1 }, "email": func(w *donate.Wish) { w.Email = "ann" }, "last_name": func(w *donate.Wish) { w.LastName = "" },
			"way": func(w *donate.Wish) { w.Way = donate.ByTransfer }, "frequency": func(w *donate.Wish) { w.Frequency = "hourly" }, "consent": func(w *donate.Wish) { w.Consent = true },
		} {
			bad := wish(1)
			w(&bad)
			_, _, err := s.Give(t.Context(), shop.account, &shop.campaign, donate.NewID(), bad, donations.Pages{Success: back, Cancel: back})
			if got := faultsOf(err); len(got) != 1 || got[0] != field {
				t.Errorf("a wrong %s has the faults %q: %v", field, got, err)
			}
		}
		if err := s.Disconnect(t.Context(), shop.account.Number); faultsOf(err) == nil {
			t.Errorf("the key was forgotten while money is on its way: %v", err)
		}
		// The key is revoked: the form closes, and the owner is told.
		ada := newUser(t, s, shop.account, access.Owner, "Ada")
		shop.stripe.Revoke()
		if _, _, err := give(donate.NewID()); !errors.Is(err, donate.ErrNoKey) {
			t.Errorf("a key that was revoked is %v", err)
		}
		if got := shop.mails(ada.Email); len(got) != 1 {
			t.Errorf("the owner has the mails %q", got)
		}
		if o, err := s.Offer(t.Context(), shop.account.Number, &shop.campaign); err != nil || o.Has(donate.Online) {
			t.Errorf("the form offers %+v, %v", o.Ways, err)
		}
		if _, _, err := give(donate.NewID()); faultsOf(err) == nil {
			t.Errorf("a closed form is %v", err)
		}
		// Without its key file, a server says so and destroys nothing.
		succeed(t, os.Remove(shop.keys))
		shop.open(s)
		if _, err := s.TestConnection(t.Context(), shop.account); !errors.Is(err, donations.ErrNoKeyFile) {
			t.Errorf("without the key file: %v", err)
		}
		shown, err := s.Connection(t.Context(), shop.account.Number)
		if err != nil || shown.Hint != "cdef" || !shown.Live {
			t.Errorf("the connection is %+v, %v", shown, err)
		}
	})
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
