package book

import (
	"errors"
	"fmt"
	"path/filepath"
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
	"donorbook/internal/store/donations"
)

// deskAt opens connections to a provider for tests.
type deskAt struct {
	*pay.Desk
	address string
}

func (d deskAt) Open(c donate.Connection) (donate.Provider, error) {
	if c.Provider == pay.StripeName {
		c.Address = d.address
	}
	return d.Desk.Open(c)
}

// org is an organization of a test. What is done in its name must succeed.
type org struct {
	*testing.T
	*Book
	access.Account
	stripe   *stripetest.Server // of one that takes gifts on a page
	office   *postOffice
	campaign campaign.Campaign
	keys     string
}

// newShop is an organization that takes real money on a page.
func newShop(t *testing.T) *org {
	t.Helper()
	return newShopOn(t, newBook(t), true)
}

// newShops has two nodes.
func newShops(t *testing.T) (shop *org, b *Book) {
	t.Helper()
	a, b := twoNodes(t)
	shop = newShopOn(t, a, true)
	shop.open(b)
	return shop, b
}

// newShopOn takes real money, or its provider is in test mode.
func newShopOn(t *testing.T, s *Book, live bool) *org {
	t.Helper()
	shop := newOrg(t, s)
	s.Now = time.Now
	shop.stripe, shop.keys = stripetest.New(live), filepath.Join(t.TempDir(), "key")
	t.Cleanup(shop.stripe.Close)
	shop.open(s)
	shop.campaign = createCampaign(t, s, shop.Account, `{"title":"Clean Water"}`)
	shop.connect(shop.Account)
	return shop
}

func (shop *org) connect(account access.Account) {
	shop.Helper()
	must(shop.Connect(shop.Context(), account, donations.Connecting{Provider: "stripe", Key: shop.stripe.Key},
		"https://donors.example"))(shop)
}

// open makes a store a node of the organization.
func (shop *org) open(s *Book) {
	s.UseRelay(shop.office)
	s.UseDesk(deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}, donations.NewKeys(shop.keys), "US")
}

func wish(n int) donate.Wish {
	return donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: 50_00, FirstName: "Ann",
		LastName: fmt.Sprint("Lee", n), Email: fmt.Sprintf("ann%d@example.org", n)}
}

func monthly(n int) donate.Wish {
	w := wish(n)
	w.Frequency = donate.Monthly
	return w
}

func byCheck(n int) donate.Wish {
	w := wish(n)
	w.Way = donate.ByCheck
	return w
}

func back(d *donate.Donation) string { return "https://donors.example/thanks?d=" + d.ID }

// give begins a donation, and returns its session.
func (shop *org) give(w donate.Wish) (donate.Donation, string) {
	shop.Helper()
	d, h, err := shop.begin(shop.Book, w)
	if errors.Is(err, donate.ErrCrowd) {
		shop.change(`UPDATE donation SET created_at = created_at - 60 WHERE account_id = $1`, shop.Number)
		d, h, err = shop.begin(shop.Book, w)
	}
	if err != nil {
		shop.Fatal(err)
	}
	return d, h.Session.ID
}

func (shop *org) begin(s *Book, w donate.Wish) (donate.Donation, donate.Handover, error) {
	return shop.fill(s, donate.NewID(), w)
}

// fill sends the form of a campaign to a node, perhaps once more.
func (shop *org) fill(s *Book, id string, w donate.Wish) (donate.Donation, donate.Handover, error) {
	return s.Give(shop.Context(), shop.Account, &shop.campaign, id, w, donations.Pages{Success: back, Cancel: back})
}

// paid is a donation that was paid at once.
func (shop *org) paid(w donate.Wish) donate.Donation {
	shop.Helper()
	d, session := shop.give(w)
	shop.stripe.Pay(session, stripetest.Card)
	shop.arrive()
	return shop.look(d.ID)
}

// month lets a month go by at the provider.
func (shop *org) month() {
	shop.Helper()
	shop.stripe.Advance(32 * 24 * time.Hour)
	shop.arrive()
}

func (shop *org) set(settings donate.Settings) {
	shop.Helper()
	succeed(shop, shop.SaveDonationSettings(shop.Context(), shop.Number, settings))
}

// change writes to the database behind the program's back.
func (shop *org) change(sql string, args ...any) {
	shop.Helper()
	succeed(shop, shop.UpdateShared(shop.Context(), shop.Number,
		func(tx *store.Tx) error { return tx.Run(sql, args...) }))
}

// deliver hands events over to a node.
func (shop *org) deliver(s *Book, all ...stripetest.Delivery) {
	shop.Helper()
	for _, d := range all {
		must(shop.take(s, d.Body, stripetest.Sign(d.Body, shop.stripe.Secret, time.Now())))(shop)
	}
}

func (shop *org) take(s *Book, body []byte, signature string) (bool, error) {
	return s.TakeEvent(shop.Context(), "stripe", shop.Account, func(name string) string {
		return map[string]string{"Stripe-Signature": signature}[name]
	}, body)
}

// work lets a node do what is due now.
func (shop *org) work(s *Book) {
	shop.Helper()
	for more := true; more; {
		var err error
		if more, err = s.WorkOnce(shop.Context(), func(err error) { shop.Error(err) }); err != nil {
			shop.Fatal(err)
		}
	}
}

// arrive delivers everything that waits, and works.
func (shop *org) arrive() {
	shop.Helper()
	shop.deliver(shop.Book, shop.stripe.Deliveries()...)
	shop.work(shop.Book)
}

func (shop *org) look(id string) donate.Donation {
	shop.Helper()
	d := must(shop.DonationByID(shop.Context(), shop.Number, id))(shop)
	return d
}

// allGifts are the gifts of the organization.
func (shop *org) allGifts() []giving.Gift {
	shop.Helper()
	var all []giving.Gift
	for page := int64(1); ; page++ {
		records, _ := must2(shop.GiftPage(shop.Context(), shop.Number, giving.GiftFilter{},
			crm.PageRequest{Page: page, PerPage: 100}))(shop)
		if len(records) == 0 {
			return all
		}
		for _, r := range records {
			all = append(all, r.Gift)
		}
	}
}

// mails are the subjects of the mails to an address.
func (shop *org) mails(to string) (subjects []string) {
	shop.Helper()
	shop.office.sendAll(shop.T, shop.Book)
	for _, l := range shop.office.taken {
		if l.To.String() == to {
			subjects = append(subjects, l.Message.Subject.String())
		}
	}
	return subjects
}

// sound checks the database, and that the ledger is what the provider's books say.
func (shop *org) sound() {
	shop.Helper()
	shop.soundOn(shop.Book)
}

func (shop *org) soundOn(s *Book) {
	shop.Helper()
	if found, _ := checkAll(shop.T, s, false); len(found) > 0 {
		shop.Errorf("the check finds %v", found)
	}
	ledger := map[string]giving.Gift{}
	for _, g := range shop.allGifts() {
		if _, payment := g.Provider(); payment != "" && g.Status == giving.Succeeded {
			ledger[payment] = g
		}
	}
	wrong := 0
	for _, b := range shop.stripe.Books() {
		g, known := ledger[b.Payment]
		delete(ledger, b.Payment)
		if !known || g.Payment().Amount != b.Amount || g.Left() != b.Left || g.Payment().Fee != b.Fee {
			if wrong++; wrong < 5 {
				shop.Errorf("payment %+v is %+v (known: %v)", b, g.Entries, known)
			}
		}
	}
	if wrong > 0 || len(ledger) > 0 {
		shop.Errorf("%d payments are wrong, and %d gifts are of no payment", wrong, len(ledger))
	}
}
