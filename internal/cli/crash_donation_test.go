package cli

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/donations"
)

// TestTheBooksAreThoseOfTheProvider: whenever servers are killed while a payment provider tells of gifts, shuffled,
// doubled and some of it never, the books are the provider's to the cent in the end, and no gift is there twice.
func TestTheBooksAreThoseOfTheProvider(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		killWhileGiftsArrive(newShop(t, e, rand.New(rand.NewPCG(1, 2))), 12, 1, "gift 3",
			func(p *process) { p.ended(-1) })
	})
}

// shop is an organization that takes gifts, whose servers are killed.
type shop struct {
	*person
	campaign campaign.Campaign
	r        *rand.Rand
}

func newShop(t *testing.T, e engine, r *rand.Rand) *shop {
	s := newService(t, e)
	s.stripe.LateFees = true
	shop := &shop{person: s.person(0, deed{}), r: r}
	s.use(func(b *book.Book) {
		must(b.Connect(t.Context(), shop.account, donations.Connecting{Provider: "stripe", Key: s.stripe.Key},
			"https://donors.example"))(t)
		shop.campaign = must(b.CreateCampaign(t.Context(), shop.account, campaign.Input{Title: new("Clean Water")}))(t)
	})
	return shop
}

// killWhileGiftsArrive has one server die in each round: die ends then.
func killWhileGiftsArrive(s *shop, given, rounds int, moment string, die func(*process)) {
	seen, later := 0, func() {}
	for n := range rounds {
		later()
		s.give(given*(n+1)/rounds - given*n/rounds)
		payments := s.stripe.Payments()
		later = s.stripe.Happen(s.r, payments[seen:])
		seen = len(payments)
		s.stripe.Fees()
		for i := range s.node {
			s.start(i, map[bool]string{true: moment}[i == 0])
		}
		var delivering sync.WaitGroup
		delivering.Go(func() { s.deliver(stripetest.Shuffle(s.r, s.stripe.Deliveries(), 0.05, 0.3)) })
		die(s.node[0].Load())
		s.start(0, "")
		delivering.Wait()
		for i := range s.node {
			s.node[i].Load().stop()
		}
	}
	later()
	s.stripe.Fees()
	s.compare()
}

// give has people give in all ways that there are; some of them give twice.
func (s *shop) give(n int) {
	t := s.t
	t.Helper()
	address := func(*donate.Donation) string { return "https://donors.example/thanks" }
	s.use(func(b *book.Book) {
		for i := range n {
			if i%100 == 99 { // a page lets 120 a minute begin
				succeed(t, b.UpdateShared(t.Context(), s.account.Number, func(t *store.Tx) error {
					return t.Run(`UPDATE donation SET created_at = created_at - 60 WHERE account_id = $1`,
						s.account.Number)
				}))
			}
			giver := s.r.IntN(5000)
			how := []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Card, stripetest.Debit,
				stripetest.Decline}[s.r.IntN(5)]
			w := donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: 5_00 + s.r.Int64N(500_00),
				FirstName: "Ann", LastName: fmt.Sprint("Lee", giver), Email: fmt.Sprintf("ann%d@example.org", giver)}
			if s.r.IntN(10) == 0 {
				w.Frequency, how = "monthly", stripetest.Card
			}
			_, h := must2(b.Give(t.Context(), s.account, &s.campaign, donate.NewID(), w,
				donations.Pages{Success: address, Cancel: address}))(t)
			s.stripe.Pay(h.Session.ID, how)
		}
	})
}

// lanes are the addresses that events come from: more than 1,200 a minute are taken from none.
const lanes = 16

// deliver posts events, some at the same time, until each of them is taken.
func (s *shop) deliver(events []stripetest.Delivery) {
	var posting sync.WaitGroup
	for lane := range lanes {
		posting.Go(func() {
			dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+lane))}}
			from := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
			defer from.CloseIdleConnections()
			courier := &person{service: s.service, at: lane % len(s.node)}
			for i := lane; i < len(events); i += lanes {
				courier.again(func(p *process) error {
					status, err := s.stripe.Post(from, p.url+"/hooks/stripe/"+s.id, events[i])
					if err == nil && status/100 != 2 {
						s.t.Errorf("an event was answered with %d", status)
					}
					return err
				})
			}
		})
	}
	posting.Wait()
}

// compare brings the books up to date, when all leases are over, and compares them with those of the provider.
func (s *shop) compare() {
	t := s.t
	t.Helper()
	s.useAt(func() time.Time { return time.Now().Add(10 * time.Minute) }, func(b *book.Book) {
		succeed(t, b.Reconcile(t.Context(), s.account, func(err error) { t.Error(err) }))
		ledger, counted := map[string]*giving.Gift{}, 0
		for page := int64(1); ; page++ {
			found, _ := must2(b.GiftPage(t.Context(), s.account.Number, giving.GiftFilter{},
				crm.PageRequest{Page: page, PerPage: 100}))(t)
			if len(found) == 0 {
				break
			}
			for i := range found {
				g := &found[i].Gift
				if _, payment := g.Provider(); g.Status == giving.Succeeded {
					ledger[payment] = g
					counted++
				}
			}
		}
		books := s.stripe.Books()
		for _, is := range books {
			if g := ledger[is.Payment]; g == nil || g.Left() != is.Left || g.Payment().Amount != is.Amount ||
				g.Payment().Fee != is.Fee {
				t.Errorf("payment %+v is %+v in the books", is, g)
			}
		}
		if counted != len(books) || counted == 0 {
			t.Errorf("%d gifts of %d payments", counted, len(books))
		}
	})
	result(t, "check", "--data", s.data)
}
