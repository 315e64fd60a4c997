package cli

import (
	"math/rand/v2"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/donations"
)

// TestConcurrentKillWhileGiftsArrive: whenever a server is killed while a payment provider tells of gifts, the books are the provider's in the end, and no gift is there twice.
func TestConcurrentKillWhileGiftsArrive(t *testing.T) { eachEngine(t, killWhileGiftsArrive) }

func killWhileGiftsArrive(t *testing.T, e engine) {
	const given, kills = 40, 4
	data := e.data(t)
	id, _ := newKey(t, data)
	stripe := stripetest.New(true)
	t.Cleanup(stripe.Close)
	o := store.Options{Data: data, Database: databaseOf(data)}
	use := func(s *book.Book) {
		s.UseDesk(&pay.Desk{Stripe: stripe.URL}, donations.NewKeys(data+"/payments.key"), "US")
	}
	withBook(t, o, func(s *book.Book) {
		use(s)
		account, err := s.Account(t.Context(), id)
		if err == nil {
			_, err = s.Connect(t.Context(), account, donations.Connecting{Provider: "stripe", Key: stripe.Key}, "https://donors.example")
		}
		title := "Clean Water"
		var c campaign.Campaign
		if err == nil {
			c, err = s.CreateCampaign(t.Context(), account, campaign.Input{Title: &title})
		}
		address := func(*donate.Donation) string { return "https://donors.example/thanks" }
		for range given {
			if err != nil {
				t.Fatal(err)
			}
			var h donate.Handover
			w := donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: 25_00, FirstName: "Ann", LastName: "Lee", Email: "ann@example.org"}
			if _, h, err = s.Give(t.Context(), account, &c, donate.NewID(), w, donations.Pages{Success: address, Cancel: address}); err == nil {
				stripe.Pay(h.Session.ID, stripetest.Card)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	r := rand.New(rand.NewPCG(9, 45))
	events := stripetest.Shuffle(r, stripe.Deliveries(), 0.05, 0.3)
	for n := range kills {
		p := serve(t, data, "--tls", "off", "--stripe-address", stripe.URL)
		for _, d := range events[n*len(events)/kills : (n+1)*len(events)/kills] {
			if status, err := stripe.Post(p.url+"/hooks/stripe/"+id, d); err != nil || status/100 != 2 {
				t.Fatal(status, err)
			}
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		p.kill()
	}
	o.Now = func() time.Time { return time.Now().Add(10 * time.Minute) } // when all leases are over
	withBook(t, o, func(s *book.Book) {
		use(s)
		account, err := s.Account(t.Context(), id)
		if err == nil {
			err = s.Reconcile(t.Context(), account, func(err error) { t.Error(err) })
		}
		if err != nil {
			t.Fatal(err)
		}
		gifts, _, err := s.GiftPage(t.Context(), account.Number, giving.GiftFilter{}, crm.PageRequest{Page: 1, PerPage: 100})
		if err != nil {
			t.Fatal(err)
		}
		ledger := map[string]int64{}
		for _, g := range gifts {
			_, payment := g.Provider()
			ledger[payment] += g.Left()
		}
		books := stripe.Books()
		for _, b := range books {
			if ledger[b.Payment] != b.Left {
				t.Errorf("payment %+v is %d in the books", b, ledger[b.Payment])
			}
		}
		if len(gifts) != given || len(books) != given {
			t.Errorf("%d gifts of %d payments", len(gifts), len(books))
		}
	})
}
