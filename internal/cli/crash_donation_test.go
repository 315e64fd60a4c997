package cli

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/donations"
)

// TestConcurrentKillWhileGiftsArrive: whenever servers are killed while a payment provider tells of gifts, shuffled, doubled and some of it never, the books are the provider's to the cent in the end,
// and no gift is there twice. On PostgreSQL there are two nodes. DONATIONS and KILLS in the environment say how many.
func TestConcurrentKillWhileGiftsArrive(t *testing.T) { eachEngine(t, killWhileGiftsArrive) }

func killWhileGiftsArrive(t *testing.T, e engine) {
	given, kills, nodes := sizeOf(t, "DONATIONS", 40), sizeOf(t, "KILLS", 4), 1
	if e == postgres {
		nodes = 2
	}
	s := newKilledShop(t, e)
	began, rounds := time.Now(), kills/nodes
	var waiting []stripetest.Delivery
	seen, later := 0, func() {}
	for n := range rounds {
		later()
		s.give(given*(n+1)/rounds - given*n/rounds)
		payments := s.stripe.Payments()
		later = s.stripe.Happen(s.r, payments[seen:])
		seen = len(payments)
		s.stripe.Fees()
		waiting = append(waiting, stripetest.Shuffle(s.r, s.stripe.Deliveries(), 0.05, 0.3)...)
		waiting = s.storm(nodes, waiting)
	}
	later()
	s.stripe.Fees()
	s.compare()
	t.Logf("%d donations, %d events that were not delivered, %d kills, %d nodes in %v", given, len(waiting), rounds*nodes, nodes, time.Since(began).Round(time.Second))
}

// sizeOf is a number from the environment, or small enough for every commit.
func sizeOf(t *testing.T, name string, small int) int {
	text := os.Getenv(name)
	if text == "" {
		return small
	}
	n := must(strconv.Atoi(text))(t)
	return n
}

// killedShop is an organization that takes gifts, whose servers are killed.
type killedShop struct {
	t        *testing.T
	o        store.Options
	stripe   *stripetest.Server
	account  access.Account
	campaign campaign.Campaign
	r        *rand.Rand
}

func newKilledShop(t *testing.T, e engine) *killedShop {
	data := e.data(t)
	id, _ := newKey(t, data)
	s := &killedShop{t: t, o: store.Options{Data: data, Database: databaseOf(data)}, stripe: stripetest.New(true), r: rand.New(rand.NewPCG(9, 45))}
	t.Cleanup(s.stripe.Close)
	s.stripe.LateFees = true
	s.use(s.o, func(b *book.Book) (err error) {
		if s.account, err = b.Account(t.Context(), id); err == nil {
			_, err = b.Connect(t.Context(), s.account, donations.Connecting{Provider: "stripe", Key: s.stripe.Key}, "https://donors.example")
		}
		if err == nil {
			s.campaign, err = b.CreateCampaign(t.Context(), s.account, campaign.Input{Title: new("Clean Water")})
		}
		return err
	})
	return s
}

// keys is the file of all nodes.
func (s *killedShop) keys() string { return s.o.Data + "/payments.key" }

func (s *killedShop) use(o store.Options, do func(*book.Book) error) {
	s.t.Helper()
	withBook(s.t, o, func(b *book.Book) {
		b.UseDesk(&pay.Desk{Stripe: s.stripe.URL}, donations.NewKeys(s.keys()), "US")
		succeed(s.t, do(b))
	})
}

// give has people give in all ways that there are; some of them give twice.
func (s *killedShop) give(n int) {
	s.t.Helper()
	address := func(*donate.Donation) string { return "https://donors.example/thanks" }
	s.use(s.o, func(b *book.Book) error {
		for i := range n {
			if i%100 == 99 { // a page lets 120 a minute begin
				if err := b.UpdateShared(s.t.Context(), s.account.Number, func(t *store.Tx) error {
					return t.Run(`UPDATE donation SET created_at = created_at - 60 WHERE account_id = $1 AND created_at > $2`, s.account.Number, time.Now().Add(-time.Minute).Unix())
				}); err != nil {
					return err
				}
			}
			giver, how := s.r.IntN(5000), []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Card, stripetest.Debit, stripetest.Decline}[s.r.IntN(5)]
			w := donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: 5_00 + s.r.Int64N(500_00), FirstName: "Ann", LastName: fmt.Sprint("Lee", giver), Email: fmt.Sprintf("ann%d@example.org", giver)}
			if s.r.IntN(10) == 0 {
				w.Frequency, how = "monthly", stripetest.Card
			}
			_, h, err := b.Give(s.t.Context(), s.account, &s.campaign, donate.NewID(), w, donations.Pages{Success: address, Cancel: address})
			if err != nil {
				return err
			}
			s.stripe.Pay(h.Session.ID, how)
		}
		return nil
	})
}

// storm starts nodes, delivers events to all that are alive, and kills one after the other while they work. It returns the events that no node was left for: the provider delivers them again.
func (s *killedShop) storm(nodes int, events []stripetest.Delivery) (left []stripetest.Delivery) {
	s.t.Helper()
	var alive []*process
	for range nodes {
		alive = append(alive, serve(s.t, s.o.Data, "--tls", "off", "--stripe-address", s.stripe.URL, "--payment-key", s.keys()))
	}
	for part := range nodes {
		from, to := part*len(events)/nodes, (part+1)*len(events)/nodes
		die := from + s.r.IntN(to-from+1)
		s.deliver(alive, events[from:die])
		time.Sleep(time.Duration(s.r.IntN(60)) * time.Millisecond)
		alive[0].kill()
		if alive = alive[1:]; len(alive) == 0 {
			return events[die:]
		}
		s.deliver(alive, events[die:to])
	}
	return nil
}

// lanes are the addresses that events come from: more than 1,200 a minute are taken from none.
const lanes = 16

// deliver posts events, some at the same time.
func (s *killedShop) deliver(alive []*process, events []stripetest.Delivery) {
	s.t.Helper()
	var posting sync.WaitGroup
	for lane := range lanes {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+lane))}}
		posting.Go(func() {
			from := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
			defer from.CloseIdleConnections()
			for i := lane; i < len(events); i += lanes {
				if status, err := s.stripe.Post(from, alive[i%len(alive)].url+"/hooks/stripe/"+s.account.ID, events[i]); err != nil || status/100 != 2 {
					s.t.Error(status, err)
					return
				}
			}
		})
	}
	posting.Wait()
}

// compare brings the books up to date, when all leases are over, and compares them with those of the provider.
func (s *killedShop) compare() {
	s.t.Helper()
	o := s.o
	o.Now = func() time.Time { return time.Now().Add(10 * time.Minute) }
	s.use(o, func(b *book.Book) error {
		if err := b.Reconcile(s.t.Context(), s.account, func(err error) { s.t.Error(err) }); err != nil {
			return err
		}
		ledger, counted, sum := map[string]*giving.Gift{}, 0, int64(0)
		for page := int64(1); ; page++ {
			found, _, err := b.GiftPage(s.t.Context(), s.account.Number, giving.GiftFilter{}, crm.PageRequest{Page: page, PerPage: 100})
			if err != nil {
				return err
			}
			if len(found) == 0 {
				break
			}
			for i := range found {
				g := &found[i].Gift
				if _, payment := g.Provider(); g.Status == giving.Succeeded {
					ledger[payment] = g
					counted++
					sum += g.Left()
				}
			}
		}
		books := s.stripe.Books()
		for _, is := range books {
			if g := ledger[is.Payment]; g == nil || g.Left() != is.Left || g.Payment().Amount != is.Amount || g.Payment().Fee != is.Fee {
				s.t.Errorf("payment %+v is %+v in the books", is, g)
			}
		}
		if counted != len(books) {
			s.t.Errorf("%d gifts of %d payments", counted, len(books))
		}
		s.t.Logf("%d gifts of %d payments, %d cents are left of them", counted, len(books), sum)
		return nil
	})
	if out := result(s.t, "check", "--data", s.o.Data); out != "" {
		s.t.Logf("donorbook check: %s", out)
	}
}
