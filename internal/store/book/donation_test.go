package book

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
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

// giftShop is an organization that takes gifts on a page, and its Stripe.
type giftShop struct {
	*Book
	t        *testing.T
	stripe   *stripetest.Server
	office   *postOffice
	account  access.Account
	campaign campaign.Campaign
	keys     string
}

func newGiftShop(t *testing.T, s *Book) *giftShop {
	t.Helper()
	return newGiftShopIn(t, s, true)
}

// newGiftShopIn is an organization that takes real money, or whose provider is in test mode.
func newGiftShopIn(t *testing.T, s *Book, live bool) *giftShop {
	t.Helper()
	shop := &giftShop{Book: s, t: t, stripe: stripetest.New(live), office: new(postOffice), account: newAccount(t, s), keys: filepath.Join(t.TempDir(), "key")}
	t.Cleanup(shop.stripe.Close)
	shop.open(s)
	shop.campaign = createCampaign(t, s, shop.account, `{"title":"Clean Water"}`)
	must(s.Connect(t.Context(), shop.account, donations.Connecting{Provider: "stripe", Key: shop.stripe.Key}, "https://donors.example"))(t)
	return shop
}

// open makes a store a node of the organization.
func (shop *giftShop) open(s *Book) {
	s.UseRelay(shop.office)
	s.UseDesk(deskAt{pay.NewDesk("https://donors.example"), shop.stripe.URL}, donations.NewKeys(shop.keys), "US")
}

func wish(n int) donate.Wish {
	return donate.Wish{Way: donate.Online, Frequency: donate.Once, Amount: 50_00, FirstName: "Ann", LastName: fmt.Sprint("Lee", n), Email: fmt.Sprintf("ann%d@example.org", n)}
}

func back(d *donate.Donation) string { return "https://donors.example/thanks?d=" + d.ID }

// give begins a donation, and returns its session.
func (shop *giftShop) give(w donate.Wish) (donate.Donation, string) {
	shop.t.Helper()
	d, h, err := shop.begin(shop.Book, w)
	if errors.Is(err, donate.ErrCrowd) {
		shop.change(`UPDATE donation SET created_at = created_at - 60 WHERE account_id = $1`, shop.account.Number)
		d, h, err = shop.begin(shop.Book, w)
	}
	if err != nil {
		shop.t.Fatal(err)
	}
	return d, h.Session.ID
}

func (shop *giftShop) begin(s *Book, w donate.Wish) (donate.Donation, donate.Handover, error) {
	return s.Give(shop.t.Context(), shop.account, &shop.campaign, donate.NewID(), w, donations.Pages{Success: back, Cancel: back})
}

// change writes to the database behind the program's back.
func (shop *giftShop) change(sql string, args ...any) {
	shop.t.Helper()
	succeed(shop.t, shop.UpdateShared(shop.t.Context(), shop.account.Number, func(tx *store.Tx) error { return tx.Run(sql, args...) }))
}

// deliver hands events over to a node.
func (shop *giftShop) deliver(s *Book, all ...stripetest.Delivery) {
	shop.t.Helper()
	for _, d := range all {
		must(shop.take(s, d.Body, stripetest.Sign(d.Body, shop.stripe.Secret, time.Now())))(shop.t)
	}
}

func (shop *giftShop) take(s *Book, body []byte, signature string) (bool, error) {
	return s.TakeEvent(shop.t.Context(), "stripe", shop.account, func(name string) string {
		return map[string]string{"Stripe-Signature": signature}[name]
	}, body)
}

// work lets a node do what is due now.
func (shop *giftShop) work(s *Book) {
	shop.t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.WorkOnce(shop.t.Context(), func(err error) { shop.t.Error(err) }); err != nil {
			shop.t.Fatal(err)
		}
	}
}

// arrive delivers everything that waits, and works.
func (shop *giftShop) arrive() {
	shop.t.Helper()
	shop.deliver(shop.Book, shop.stripe.Deliveries()...)
	shop.work(shop.Book)
}

func (shop *giftShop) look(id string) donate.Donation {
	shop.t.Helper()
	d := must(shop.DonationByID(shop.t.Context(), shop.account.Number, id))(shop.t)
	return d
}

// allGifts are the gifts of the organization.
func (shop *giftShop) allGifts() []giving.Gift {
	shop.t.Helper()
	var all []giving.Gift
	for page := int64(1); ; page++ {
		records, _ := must2(shop.GiftPage(shop.t.Context(), shop.account.Number, giving.GiftFilter{}, crm.PageRequest{Page: page, PerPage: 100}))(shop.t)
		if len(records) == 0 {
			return all
		}
		for _, r := range records {
			all = append(all, r.Gift)
		}
	}
}

// mails are the subjects of the mails to an address.
func (shop *giftShop) mails(to string) (subjects []string) {
	shop.t.Helper()
	shop.office.sendAll(shop.t, shop.Book)
	for _, l := range shop.office.taken {
		if l.To.String() == to {
			subjects = append(subjects, l.Message.Subject.String())
		}
	}
	return subjects
}

// sound checks the database, and that the ledger is what the provider's books say.
func (shop *giftShop) sound(s *Book) {
	shop.t.Helper()
	if found, _ := checkAll(shop.t, s, false); len(found) > 0 {
		shop.t.Errorf("the check finds %v", found)
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
				shop.t.Errorf("payment %+v is %+v (known: %v)", b, g.Entries, known)
			}
		}
	}
	if wrong > 0 || len(ledger) > 0 {
		shop.t.Errorf("%d payments are wrong, and %d gifts are of no payment", wrong, len(ledger))
	}
}

func TestAGiftOnAPageArrives(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		set := donate.Settings{Cover: donate.OfferCover, Rate: donate.Rate{Points: 290, Fixed: 30}, Notice: "staff@example.org", Consent: "Send me news."}
		succeed(t, s.SaveDonationSettings(t.Context(), shop.account.Number, set))
		w := wish(1)
		w.Cover, w.Consent, w.Dedication = true, true, &giving.Dedication{Type: "in_honor_of", Name: "Joe"}
		d, session := shop.give(w)
		if d.State != donate.Open || d.Charged != 51_81 || d.Covered != 1_81 {
			t.Fatalf("it begins as %+v", d)
		}
		if row, err := store.Find(t.Context(), s.Base, nil, store.ScanTally, store.SQLTally, shop.account.Number); err != nil || row.ContactSeq != 0 {
			t.Errorf("a form made %d contacts: %v", row.ContactSeq, err)
		}
		again, h, err := s.Give(t.Context(), shop.account, &shop.campaign, d.ID, w, donations.Pages{Success: back, Cancel: back})
		if err != nil || again.ID != d.ID || h.Session.ID != session {
			t.Errorf("the same form again is %+v, %v, %v", again, h, err)
		}
		shop.stripe.Pay(session, stripetest.Card)
		seen, err := s.LookAtDonation(t.Context(), shop.account.Number, d.ID)
		if err != nil || seen.State != donate.Paid || seen.Gift == "" {
			t.Fatalf("the giver comes back to %+v, %v", seen, err)
		}
		shop.arrive()
		g := must(s.GiftRecord(t.Context(), shop.account.Number, seen.Gift))(t)
		if g.Status != giving.Succeeded || g.Payment().Amount != 51_81 || g.Payment().FeeCovered != 1_81 || g.Payment().Fee == 0 || g.Dedication == nil || !g.OptIn || g.Campaign != shop.campaign.ID || g.Giver.Email != w.Email || g.Test {
			t.Errorf("the gift is %+v", g.Gift)
		}
		for _, sent := range []string{`null`, `"mine"`} {
			_, err := s.UpdateGift(t.Context(), shop.account.Number, g.Code, giftInput(t, `{"external_id":`+sent+`}`, false, s.Now()))
			if err == nil || !strings.Contains(err.Error(), g.ExternalID) {
				t.Errorf("the payment of a gift is forgotten: %v", err)
			}
		}
		if _, err := s.UpdateGift(t.Context(), shop.account.Number, g.Code, giftInput(t, `{"external_id":"`+g.ExternalID+`"}`, false, s.Now())); err != nil {
			t.Errorf("the gift as it was: %v", err)
		}
		if got := shop.mails(w.Email); len(got) != 1 {
			t.Errorf("the giver has the mails %q", got)
		}
		if got := shop.mails("staff@example.org"); len(got) != 1 || !strings.Contains(got[0], "$51.81") {
			t.Errorf("the staff has the mails %q", got)
		}
		if _, again, err := s.Give(t.Context(), shop.account, &shop.campaign, d.ID, w, donations.Pages{Success: back, Cancel: back}); err != nil || again.URL != "" {
			t.Errorf("a form that was paid leads to %v, %v", again, err)
		}
		shop.sound(s)
	})
}

func TestMoneyThatGoesBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, session := shop.give(wish(1))
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		d = shop.look(d.ID)
		part := int64(20_0000)
		g, err := s.RefundGift(store.By(t.Context(), history.ConsoleChannel, "dana@example.org"), shop.account.Number, d.Gift, &part, "")
		if err != nil || g.Left() != 30_00 {
			t.Fatalf("a refund leaves %d: %v", g.Left(), err)
		}
		if g.Thanks.How != giving.ThankedMail || g.Thanks.By != "" {
			t.Errorf("who was thanked at once was thanked by %+v", g.Thanks)
		}
		changes, err := store.Snapshot(t.Context(), s.Base, func(c db.Conn) ([]store.Change, error) {
			return store.DocumentChanges(c, shop.account.Number, history.GiftNoun, g.ID, 1)
		})
		if err != nil || changes[0].Kind != history.DidRefund || changes[0].Who != "dana@example.org" || changes[0].Channel != history.ConsoleChannel {
			t.Errorf("the history of the gift ends with %+v, %v", changes, err)
		}
		if b := shop.stripe.Books(); b[0].Left != 30_00 {
			t.Errorf("at the provider, %+v is left", b)
		}
		if _, err := s.RefundGift(t.Context(), shop.account.Number, d.Gift, ptr(int64(31_0000)), ""); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("too much was refunded: %v", err)
		}
		d, session = shop.give(wish(2))
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		d = shop.look(d.ID)
		dispute := shop.stripe.Dispute(d.Payment)
		shop.arrive()
		if now := shop.look(d.ID); now.Doubt != donate.Disputed {
			t.Errorf("a dispute is %+v", now)
		}
		if n, err := s.Reviews(t.Context(), shop.account.Number, 10); n != 1 || err != nil {
			t.Errorf("%d donations wait for a person: %v", n, err)
		}
		shop.stripe.CloseDispute(dispute, true)
		shop.arrive()
		if now := shop.look(d.ID); now.Doubt != "" {
			t.Errorf("a dispute that was won is %+v", now)
		}
		shop.sound(s)
	})
}

func TestAMonthlyGift(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		w := wish(1)
		w.Frequency = "monthly"
		d, session := shop.give(w)
		shop.stripe.Pay(session, stripetest.Card)
		shop.arrive()
		d = shop.look(d.ID)
		p, err := s.Plan(t.Context(), shop.account.Number, d.GiftPlan)
		if err != nil || p.Status != giving.ActivePlan || p.Amount != 50_00 || p.Frequency != "monthly" || p.ExternalID != "stripe:"+d.Plan {
			t.Fatalf("the plan is %+v, %v", p, err)
		}
		shop.mails(w.Email)
		thanks := shop.office.last()
		if !strings.HasPrefix(thanks.Path, "/give/"+shop.account.ID+"."+d.ID) {
			t.Errorf("the thank-you leads to %q", thanks.Path)
		}
		// The link of that mail ends the gift, and sends another one.
		link := strings.TrimPrefix(thanks.Path, "/give/")
		if m, err := s.ManagedPlan(t.Context(), link); err != nil || !m.OnlyEnds {
			t.Errorf("an old mail opens %+v: %v", m.Plan, err)
		}
		fresh := func() string {
			t.Helper()
			shop.change(`UPDATE donation SET manage_until = 0 WHERE account_id = $1`, shop.account.Number)
			before := len(shop.mails(w.Email))
			succeed(t, s.AskByLink(t.Context(), link))
			if now := len(shop.mails(w.Email)); now != before+1 {
				t.Fatalf("%d mails with a link", now-before)
			}
			return strings.TrimPrefix(shop.office.last().Path, "/give/")
		}
		earlier, open := fresh(), fresh()
		if m, err := s.ManagedPlan(t.Context(), earlier); err != nil || m.Plan.Code != p.Code {
			t.Errorf("of two links that were mailed, the first one shows %+v, %v", m.Plan, err)
		}
		if m, err := s.ManagedPlan(t.Context(), open); err != nil || m.Plan.Code != p.Code || m.Offer.Limits.Max == 0 {
			t.Errorf("the link shows %+v, %v", m.Plan, err)
		}
		if m, err := s.ChangePlan(t.Context(), open, donate.NewAmount, 30_00); err != nil || m.Plan.Amount != 30_00 {
			t.Errorf("another amount makes %+v, %v", m.Plan, err)
		}
		for _, used := range []string{open, earlier} {
			if _, err := s.ChangePlan(t.Context(), used, donate.CancelPlan, 0); !errors.Is(err, crm.ErrNotFound) {
				t.Errorf("a link works twice: %v", err)
			}
		}
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		if all := shop.allGifts(); len(all) != 2 || all[0].Payment().Amount+all[1].Payment().Amount != 80_00 || all[1].PlanCode != p.Code || all[0].PlanCode != p.Code {
			t.Errorf("after a month there are %+v", all)
		}
		// A card that is declined, and another one.
		shop.stripe.Break(d.Plan, true)
		shop.stripe.Advance(32 * 24 * time.Hour)
		shop.arrive()
		if p, _ = s.Plan(t.Context(), shop.account.Number, p.Code); p.Status != giving.PastDue {
			t.Errorf("a card that was declined leaves %+v", p)
		}
		if subjects := shop.mails(w.Email); !slices.ContainsFunc(subjects, func(subject string) bool { return strings.Contains(subject, "could not be paid") }) {
			t.Errorf("the giver has the mails %q", subjects)
		}
		open = fresh()
		h := must(s.NewCard(t.Context(), open, "https://donors.example/give/"+open))(t)
		shop.stripe.Pay(h.Session.ID, stripetest.Card)
		shop.arrive()
		expired := open
		shop.change(`UPDATE donation SET manage = SUBSTR(manage, 1, 65) || '1' WHERE account_id = $1`, shop.account.Number)
		open = fresh()
		if _, err := s.ManagedPlan(t.Context(), expired); !errors.Is(err, crm.ErrNotFound) {
			t.Errorf("a link that has expired shows the gift: %v", err)
		}
		if m, err := s.ChangePlan(t.Context(), open, donate.CancelPlan, 0); err != nil || m.Plan.Status != giving.Ended {
			t.Errorf("the end is %+v, %v", m.Plan, err)
		}
		shop.arrive()
		shop.sound(s)
	})
}

func TestMoneyThatDidNotComeByAPageWaitsForAPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		d, session := shop.give(wish(1))
		shop.stripe.Pay(session, stripetest.Card)
		shop.change(`DELETE FROM donation WHERE account_id = $1`, shop.account.Number) // as in a backup that was restored
		shop.arrive()
		shop.stripe.Fees()
		shop.arrive()
		found, _, err := s.Donations(t.Context(), shop.account.Number, donate.Filter{NotHere: true}, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(found) != 1 || found[0].Charged != d.Charged || len(shop.allGifts()) != 0 {
			t.Fatalf("not from here are %+v, %v", found, err)
		}
		if damage, _ := checkAll(t, s, false); len(damage) > 0 {
			t.Errorf("the check finds %v", damage)
		}
		if _, err := s.TakeOver(t.Context(), shop.account.Number, found[0].ID, 99); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("it was taken over for a campaign that is none: %v", err)
		}
		taken, err := s.TakeOver(t.Context(), shop.account.Number, found[0].ID, shop.campaign.ID)
		if err != nil || taken.State != donate.Paid || taken.Gift == "" || taken.Doubt != "" {
			t.Fatalf("taken over, it is %+v, %v", taken, err)
		}
		if _, err := s.TakeOver(t.Context(), shop.account.Number, taken.ID, 0); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("it was taken over twice: %v", err)
		}
		shop.stripe.Refund(taken.Payment, 10_00)
		shop.arrive()
		shop.sound(s)
	})
}
