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
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/jobs"
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

func TestAGiftOnAPageArrives(t *testing.T) {
	shop := newShop(t)
	set := donate.Settings{Cover: donate.OfferCover, Rate: donate.Rate{Points: 290, Fixed: 30},
		Notice: "staff@example.org", Consent: "Send me news."}
	shop.set(set)
	w := wish(1)
	w.Cover, w.Consent, w.Dedication = true, true, &giving.Dedication{Type: "in_honor_of", Name: "Joe"}
	d, session := shop.give(w)
	if d.State != donate.Open || d.Charged != 51_81 || d.Covered != 1_81 {
		t.Fatalf("it begins as %+v", d)
	}
	expect(t, "a form made", "0", must(store.Find(t.Context(), shop.Base, nil, store.ScanTally, store.SQLTally,
		shop.Number))(t).ContactSeq)
	again, h, err := shop.fill(shop.Book, d.ID, w)
	if err != nil || again.ID != d.ID || h.Session.ID != session {
		t.Errorf("the same form again is %+v, %v, %v", again, h, err)
	}
	shop.stripe.Pay(session, stripetest.Card)
	seen, err := shop.LookAtDonation(t.Context(), shop.Number, d.ID)
	if err != nil || seen.State != donate.Paid || seen.Gift == "" {
		t.Fatalf("the giver comes back to %+v, %v", seen, err)
	}
	shop.arrive()
	g := must(shop.GiftRecord(t.Context(), shop.Number, seen.Gift))(t)
	if g.Status != giving.Succeeded || g.Payment().Amount != 51_81 || g.Payment().FeeCovered != 1_81 ||
		g.Payment().Fee == 0 || g.Dedication == nil || !g.OptIn || g.Campaign != shop.campaign.ID ||
		g.Giver.Email != w.Email || g.Test {
		t.Errorf("the gift is %+v", g.Gift)
	}
	for _, sent := range []string{`null`, `"mine"`} {
		_, err := shop.UpdateGift(t.Context(), shop.Number, g.Code,
			giftInput(t, `{"external_id":`+sent+`}`, false, shop.Now()))
		if err == nil || !strings.Contains(err.Error(), g.ExternalID) {
			t.Errorf("the payment of a gift is forgotten: %v", err)
		}
	}
	must(shop.UpdateGift(t.Context(), shop.Number, g.Code,
		giftInput(t, `{"external_id":"`+g.ExternalID+`"}`, false, shop.Now())))(t)
	expect(t, "the giver has the mails", "1", len(shop.mails(w.Email)))
	got := shop.mails("staff@example.org")
	equal(t, len(got), 1, "the staff has the mails")
	contains(t, got[0], "$51.81", "the staff has the mails")
	if _, again, err := shop.fill(shop.Book, d.ID, w); err != nil || again.URL != "" {
		t.Errorf("a form that was paid leads to %v, %v", again, err)
	}
	shop.sound()
}

func TestMoneyThatGoesBack(t *testing.T) {
	shop := newShop(t)
	d := shop.paid(wish(1))
	part := int64(20_0000)
	g, err := shop.RefundGift(store.By(t.Context(), history.ConsoleChannel, "dana@example.org"), shop.Number,
		d.Gift, &part, "")
	succeed(t, err)
	equal(t, g.Left(), 30_00, "a refund leaves")
	expect(t, "who was thanked at once was thanked by", "mail true", g.Thanks.How, g.Thanks.By == "")
	changes, err := store.Snapshot(t.Context(), shop.Base, func(c db.Conn) ([]store.Change, error) {
		return store.DocumentChanges(c, shop.Number, history.GiftNoun, g.ID, 1)
	})
	if err != nil || changes[0].Kind != history.DidRefund || changes[0].Who != "dana@example.org" ||
		changes[0].Channel != history.ConsoleChannel {
		t.Errorf("the history of the gift ends with %+v, %v", changes, err)
	}
	expect(t, "at the provider", "3000", shop.stripe.Books()[0].Left)
	rejects(t, "too much was refunded")(shop.RefundGift(t.Context(), shop.Number, d.Gift, ptr(int64(31_0000)), ""))
	d = shop.paid(wish(2))
	dispute := shop.stripe.Dispute(d.Payment)
	shop.arrive()
	expect(t, "a dispute is", "dispute", shop.look(d.ID).Doubt)
	expect(t, "donations wait for a person", "1", must(shop.Reviews(t.Context(), shop.Number, 10))(t))
	shop.stripe.CloseDispute(dispute, true)
	shop.arrive()
	expect(t, "a dispute that was won is", "true", shop.look(d.ID).Doubt == "")
	shop.sound()
}

func TestAMonthlyGift(t *testing.T) {
	shop := newShop(t)
	w := monthly(1)
	d := shop.paid(w)
	p, err := shop.Plan(t.Context(), shop.Number, d.GiftPlan)
	if err != nil || p.Status != giving.ActivePlan || p.Amount != 50_00 || p.Frequency != "monthly" ||
		p.ExternalID != "stripe:"+d.Plan {
		t.Fatalf("the plan is %+v, %v", p, err)
	}
	shop.mails(w.Email)
	thanks := shop.office.last()
	expect(t, "the thank-you leads to", "true", strings.HasPrefix(thanks.Path, "/give/"+shop.Account.ID+"."+d.ID))
	// The link of that mail ends the gift, and sends another one.
	link := strings.TrimPrefix(thanks.Path, "/give/")
	expect(t, "an old mail opens", "true", must(shop.ManagedPlan(t.Context(), link))(t).OnlyEnds)
	fresh := func() string {
		t.Helper()
		shop.change(`UPDATE donation SET manage_until = 0 WHERE account_id = $1`, shop.Number)
		before := len(shop.mails(w.Email))
		succeed(t, shop.AskByLink(t.Context(), link))
		if now := len(shop.mails(w.Email)); now != before+1 {
			t.Fatalf("%d mails with a link", now-before)
		}
		return strings.TrimPrefix(shop.office.last().Path, "/give/")
	}
	earlier, open := fresh(), fresh()
	expect(t, "of two links that were mailed, the first one shows", "true",
		must(shop.ManagedPlan(t.Context(), earlier))(t).Plan.Code == p.Code)
	m := must(shop.ManagedPlan(t.Context(), open))(t)
	expect(t, "the link shows", "true false", m.Plan.Code == p.Code, m.Offer.Limits.Max == 0)
	expect(t, "another amount makes", "3000", must(shop.ChangePlan(t.Context(), open, donate.NewAmount,
		30_00))(t).Plan.Amount)
	for _, used := range []string{open, earlier} {
		refuses(t, "a link works twice", crm.ErrNotFound)(shop.ChangePlan(t.Context(), used, donate.CancelPlan, 0))
	}
	shop.month()
	if all := shop.allGifts(); len(all) != 2 || all[0].Payment().Amount+all[1].Payment().Amount != 80_00 ||
		all[1].PlanCode != p.Code || all[0].PlanCode != p.Code {
		t.Errorf("after a month there are %+v", all)
	}
	// A card that is declined, and another one.
	shop.stripe.Break(d.Plan, true)
	shop.month()
	if p, _ = shop.Plan(t.Context(), shop.Number, p.Code); p.Status != giving.PastDue {
		t.Errorf("a card that was declined leaves %+v", p)
	}
	expect(t, "the giver has the mails", "true",
		slices.ContainsFunc(shop.mails(w.Email),
			func(subject string) bool { return strings.Contains(subject, "could not be paid") }))
	open = fresh()
	h := must(shop.NewCard(t.Context(), open, "https://donors.example/give/"+open))(t)
	shop.stripe.Pay(h.Session.ID, stripetest.Card)
	shop.arrive()
	expired := open
	shop.change(`UPDATE donation SET manage = SUBSTR(manage, 1, 65) || '1' WHERE account_id = $1`, shop.Number)
	open = fresh()
	refuses(t, "a link that has expired shows the gift", crm.ErrNotFound)(shop.ManagedPlan(t.Context(), expired))
	expect(t, "the end is", "ended", must(shop.ChangePlan(t.Context(), open, donate.CancelPlan, 0))(t).Plan.Status)
	shop.arrive()
	shop.sound()
}

func TestMoneyThatDidNotComeByAPageWaitsForAPerson(t *testing.T) {
	shop := newShop(t)
	d, session := shop.give(wish(1))
	shop.stripe.Pay(session, stripetest.Card)
	shop.change(`DELETE FROM donation WHERE account_id = $1`, shop.Number) // as in a backup that was restored
	shop.arrive()
	shop.stripe.Fees()
	shop.arrive()
	found, _, err := shop.Donations(t.Context(), shop.Number, donate.Filter{NotHere: true},
		crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(found) != 1 || found[0].Charged != d.Charged || len(shop.allGifts()) != 0 {
		t.Fatalf("not from here are %+v, %v", found, err)
	}
	if damage, _ := checkAll(t, shop.Book, false); len(damage) > 0 {
		t.Errorf("the check finds %v", damage)
	}
	rejects(t, "it was taken over for a campaign that is none")(shop.TakeOver(t.Context(), shop.Number,
		found[0].ID, 99))
	taken, err := shop.TakeOver(t.Context(), shop.Number, found[0].ID, shop.campaign.ID)
	if err != nil || taken.State != donate.Paid || taken.Gift == "" || taken.Doubt != "" {
		t.Fatalf("taken over, it is %+v, %v", taken, err)
	}
	rejects(t, "it was taken over twice")(shop.TakeOver(t.Context(), shop.Number, taken.ID, 0))
	shop.stripe.Refund(taken.Payment, 10_00)
	shop.arrive()
	shop.sound()
}

// letters are what one person was sent with a word in its subject: the subject and everything that it says.
func (shop *org) letters(to, word string) (all []string) {
	shop.Helper()
	shop.mails(to)
	for _, l := range shop.office.taken {
		if l.To.String() == to && strings.Contains(l.Message.Subject.String(), word) {
			all = append(all, l.Message.Subject.String()+"\n"+l.Text())
		}
	}
	return all
}

// Whose gift was refunded hears of it once, whether the money goes back through the provider, by its dashboard, or by
// hand.
func TestADonorHearsOfARefund(t *testing.T) {
	shop := newShop(t)
	account := shop.Number
	paid := func(n int) donate.Donation {
		t.Helper()
		return shop.paid(wish(n))
	}
	hears := func(to string, words ...string) {
		t.Helper()
		all := shop.letters(to, "refund")
		if len(all) != len(words) {
			t.Fatalf("%s hears of %d refunds, want %d: %q", to, len(all), len(words), all)
		}
		for i, said := range words {
			expect(t, "without", "true", strings.Contains(all[i], said))
		}
	}
	back := func(code string, amount *int64) {
		t.Helper()
		must(shop.RefundGift(t.Context(), account, code, amount, ""))(t)
	}
	here, there, disputed := paid(1), paid(2), paid(3)
	back(here.Gift, ptr(int64(10_0000)))
	hears("ann1@example.org", "$10.00 of your gift of $50.00")
	back(here.Gift, nil)
	shop.arrive()
	shop.arrive()
	hears("ann1@example.org", "$10.00 of your gift", "refunded your gift of $50.00")
	must(shop.stripe.Refund(there.Payment, 50_00))(t)
	shop.arrive()
	hears("ann2@example.org", "refunded your gift of $50.00")
	shop.stripe.Dispute(disputed.Payment)
	shop.arrive()
	hears("ann3@example.org")

	ann := must(shop.GiftRecord(t.Context(), account, here.Gift))(t)
	data, err := shop.ContactData(t.Context(), account, ann.Contact)
	var own strings.Builder
	if err == nil {
		err = data.Write(t.Context(), &own)
	}
	succeed(t, err)
	equal(t, strings.Count(own.String(), `"kind":"refunded"`), 2, "%v", own.String())
	byHand := func(n string, more string) giving.Gift {
		return giveNow(t, shop.Book, account, `,"first_name":"Bob","last_name":"`+n+`","email":"bob`+n+`@example.org"`+more).Gift
	}
	noted := byHand("One", "")
	back(noted.Code, nil)
	hears("bobOne@example.org", "refunded your gift of $50.00")
	undone := byHand("Two", "")
	back(undone.Code, nil)
	must(shop.UndoRefund(t.Context(), account, undone.Code, nil, ""))(t)
	hears("bobTwo@example.org")
	erased := byHand("Three", "")
	back(erased.Code, nil)
	must(shop.EraseContact(t.Context(), account, erased.Contact))(t)
	finishJobs(t, shop.Book)
	hears("bobThree@example.org")
	test := byHand("Four", `,"livemode":false`)
	back(test.Code, nil)
	hears("bobFour@example.org")
	quiet := byHand("Five", "")
	must(shop.UpdateContact(t.Context(), account, quiet.Contact, input(t, `{"do_not_email":true}`)))(t)
	back(quiet.Code, nil)
	hears("bobFive@example.org")
	shop.sound()
}

// Who ends a monthly gift needs no mail but the thank-you, and gets one that says so. So does whose gift the staff or
// the provider ends.
func TestADonorEndsAMonthlyGiftByItsThankYou(t *testing.T) {
	shop := newShop(t)
	begin := func(n int) donate.Donation {
		t.Helper()
		return shop.paid(monthly(n))
	}
	ended := func(to string, times int) {
		t.Helper()
		shop.arrive()
		all := shop.letters(to, "has ended")
		if len(all) != times || times > 0 && !strings.Contains(all[0], "$50.00") {
			t.Errorf("%s was told %d times that the gift has ended: %q", to, len(all), all)
		}
	}
	d := begin(1)
	if n := len(shop.mails("ann1@example.org")); n != 1 {
		t.Fatalf("%d mails about a monthly gift", n)
	}
	link := strings.TrimPrefix(shop.office.last().Path, donate.ManagePath)
	equal(t, must(shop.ManagedPlan(t.Context(), link))(t).Plan.Code, d.GiftPlan,
		"the link of the thank-you shows")
	refuses(t, "a link that was guessed opens the gift",
		crm.ErrNotFound)(shop.ManagedPlan(t.Context(), link[:len(link)-1]))
	refuses(t, "a link that lasts changes the amount",
		crm.ErrNotFound)(shop.ChangePlan(t.Context(), link, donate.NewAmount, 500_00))
	equal(t, must(shop.ChangePlan(t.Context(), link, donate.CancelPlan, 0))(t).Plan.Status, giving.Ended,
		"the end")
	ended("ann1@example.org", 1)
	expect(t, "to end a monthly gift took the mails", "2", len(shop.mails("ann1@example.org")))
	byStaff := begin(2)
	status := string(giving.Ended)
	must(shop.UpdatePlan(t.Context(), shop.Number, byStaff.GiftPlan, giving.PlanInput{
		GiftInput: giving.GiftInput{Status: &status},
	}))(t)
	ended("ann2@example.org", 1)
	begin(3)
	ended("ann3@example.org", 0)
	shop.sound()
}

// The thank-you for a monthly gift says once how to end it: by its link, or by us where no provider takes the gift.
func TestTheThankYouOfAMonthlyGiftSaysOnceHowToEndIt(t *testing.T) {
	shop := newShop(t)
	account := shop.Number
	shop.paid(monthly(1))
	shop.mails("ann1@example.org")
	byCard := shop.office.last()
	bob := create(t, shop.Book, account, `{"first_name":"Bob","emails":["bob@example.org"]}`).ID
	plan := newPlan(t, shop.Book, account,
		fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check","frequency":"monthly","start_at":"2026-01-05"}`, bob))
	giveNow(t, shop.Book, account, fmt.Sprintf(`,"contact_id":%d,"plan_id":%q,"send_receipt":true`, bob, plan.Code))
	shop.mails("bob@example.org")
	byCheck := shop.office.last()
	for letter, contact := range map[*mail.Letter]int{byCard: 0, byCheck: 1} {
		said := letter.Text()
		if strings.Contains(said, "let us know") || strings.Count(said, "contact us") != contact ||
			(letter.Path == "") != (contact == 1) || !strings.Contains(said, "recurring gift") {
			t.Errorf("%s reads %s\nand has the link %q", letter.To, said, letter.Path)
		}
	}
}

// A promise is told to the email address that was typed, and listed for as long as it may be confirmed. What nobody
// has confirmed is still known by its reference.
func TestAPromiseIsConfirmedByItsEmail(t *testing.T) {
	shop := newShop(t)
	number := shop.Number
	set := donate.Settings{Bank: donate.Bank{Name: "Clean Water", IBAN: "DE89 3704 0044 0532 0130 00"},
		Check: "Clean Water\nBox 1"}
	shop.set(set)
	promise := func(n int, way donate.Way) (donate.Donation, string) {
		t.Helper()
		w := wish(n)
		w.Way, w.FirstName = way, "Win a prize"
		d, _ := shop.give(w)
		shop.mails(w.Email)
		l := shop.office.last()
		equal(t, l.To.String(), w.Email, "the last mail goes to %s", l.To)
		for _, said := range append([]string{"$50.00", donate.Groups(d.Reference())}, map[donate.Way][]string{
			donate.ByCheck: {"Clean Water", "Box 1"}, donate.ByTransfer: {"DE89 3704 0044 0532 0130 00"},
		}[way]...) {
			expect(t, "a promise by", "true", strings.Contains(l.Text(), said))
		}
		expect(t, "the mail repeats what anyone may have typed", "false", strings.Contains(l.Text(), "prize"))
		return d, strings.TrimPrefix(l.Path, donate.ManagePath)
	}
	listed := func(f donate.Filter, want ...donate.Donation) {
		t.Helper()
		found, result, err := shop.Donations(t.Context(), number, f, crm.PageRequest{Page: 1, PerPage: 10})
		var ids, wanted []string
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		for i := range want {
			wanted = append(wanted, want[i].ID)
		}
		slices.Sort(ids)
		if slices.Sort(wanted); err != nil || !slices.Equal(ids, wanted) || result.Total != int64(len(want)) {
			t.Errorf("%+v lists %v (%d), want %v: %v", f, ids, result.Total, wanted, err)
		}
	}
	check, link := promise(1, donate.ByCheck)
	stale, _ := promise(2, donate.ByTransfer)
	kept, _ := promise(3, donate.ByTransfer)
	listed(donate.Filter{}, check, stale, kept)
	refuses(t, "a link that was guessed confirms", crm.ErrNotFound)(shop.ConfirmPromise(t.Context(), link+"x"))
	for range 2 {
		d := must(shop.ConfirmPromise(t.Context(), link))(t)
		expect(t, "it is confirmed", "true", d.IsConfirmed())
	}
	refuses(t, "the link of a promise opens a monthly gift", crm.ErrNotFound)(shop.ManagedPlan(t.Context(), link))
	now := time.Now()
	shop.Now = func() time.Time { return now.Add(donate.ConfirmTime + time.Hour) }
	listed(donate.Filter{}, check)
	listed(donate.Filter{Promised: true}, check)
	listed(donate.Filter{Find: stale.Reference()}, stale)
	expect(t, "a promise that no one confirmed is received as", "paid",
		must(shop.Received(t.Context(), number, kept.ID, "", nil))(t).State)
	listed(donate.Filter{}, check, kept)
	g := shop.gift(shop.look(kept.ID).Gift)
	expect(t, "its gift is", "5000", g.Left())
	shop.sound()
}

// Strangers who type the address of someone else send them a few mails at most. Where no mail is sent, promises need
// none.
func TestFewMailsGoToWhoConfirmsNothing(t *testing.T) {
	shop := newShop(t)
	shop.set(donate.Settings{Check: "Clean Water\nBox 1"})
	w := byCheck(1)
	for range 6 {
		shop.give(w)
	}
	expect(t, "mails to someone who asked for none", "3", len(shop.mails(w.Email)))
	w.Email = "ann@xn--bcher-kva.example" // which is kept in another spelling
	for range 6 {
		shop.give(w)
	}
	expect(t, "mails to an international address", "3", len(shop.mails(w.Email)))
	shop.UseRelay(nil)
	if d, _ := shop.give(w); !d.IsConfirmed() {
		t.Errorf("without mail, a promise waits for a confirmation: %+v", d)
	}
	if m := (mail.Mail{Kind: mail.Promised}); !m.GoesToDonor() {
		t.Error("staff take the mail for one of theirs")
	}
}

// A transfer or a check that was promised on a page is the gift of who promised it, whatever the bank calls the
// payer.
func TestAPromisedGiftIsKnownByItsReference(t *testing.T) {
	shop := newShop(t)
	number := shop.Number
	set := donate.Settings{Bank: donate.Bank{Name: "Clean Water", IBAN: "DE89 3704 0044 0532 0130 00"},
		Check: "Clean Water\nBox 1"}
	shop.set(set)
	promise := func(n int, way donate.Way) donate.Donation {
		t.Helper()
		w := wish(n)
		w.Way = way
		d, session := shop.give(w)
		if !d.IsPromise() || d.IsConfirmed() || session != "" || d.Provider != "" {
			t.Fatalf("a promise begins as %+v", d)
		}
		return d
	}
	first, second, check := promise(1, donate.ByTransfer), promise(2, donate.ByTransfer), promise(3, donate.ByCheck)
	now := time.Now()
	shop.Now = func() time.Time { return now }
	today := now.UTC().Format(time.DateOnly)
	if _, err := shop.Received(t.Context(), number, second.ID, now.AddDate(0, 0, -20).UTC().Format(time.DateOnly),
		nil); len(faultsOf(err)) != 1 {
		t.Errorf("it arrived before it was promised: %v", err)
	}
	received, err := shop.Received(t.Context(), number, second.ID, today, nil)
	if err != nil || received.State != donate.Paid || received.Gift == "" {
		t.Fatalf("what has arrived is %+v, %v", received, err)
	}
	rejects(t, "it arrived twice")(shop.Received(t.Context(), number, second.ID, "", nil))
	statement := "Date,Amount,Name,Details\n" +
		today + ",50.00,LEE A,SEPA credit " + strings.ToLower(donate.Groups(first.Reference())) + " thank you\n" +
		today + ",50.00,A B LEE2,ref " + second.Reference() + "\n" +
		today + ",20.00,Someone Else,RF18000000 no reference of ours\n"
	rows := openTable(t, statement)
	spec := giftImportOf(rows)
	im, _ := must2(shop.ImportFile(t.Context(), number, rows, spec, 0, false, func(jobs.ImportProgress) {}))(t)
	at := im.Progress
	expect(t, "the statement has brought", "2 1", at.Created, at.Unchanged)
	d := shop.look(first.ID)
	g := must(shop.GiftRecord(t.Context(), number, d.Gift))(t)
	expect(t, "a transfer is", "paid ann1@example.org true Lee1", d.State, g.Giver.Email,
		g.Campaign == shop.campaign.ID, g.Giver.LastName)
	waits := shop.look(check.ID)
	expect(t, "gifts, and that the check is a promise", "3 true", len(shop.allGifts()), waits.IsPromise())
	shop.change(`UPDATE donation SET created_at = created_at - 100 * 86400, updated_at = updated_at - 100 * 86400 WHERE account_id = $1 AND id = '`+first.ID+`'`, number)
	finishUndo(t, shop.Book, number, im.Job.ID)
	if err := shop.SweepDonations(t.Context()); err != nil { // it waits as long as a new one
		t.Fatal(err)
	}
	if d := shop.look(first.ID); d.State != donate.Processing || d.Gift != "" {
		t.Errorf("after the import was undone, the promise is %+v", d)
	}
	open, _, err := shop.Donations(t.Context(), number, donate.Filter{State: donate.Processing},
		crm.PageRequest{Page: 1, PerPage: 10})
	if err != nil || len(open) != 1 { // the money of which had come; the check is not confirmed
		t.Errorf("%d promises are open: %v", len(open), err)
	}
	succeeded := 0
	for _, g := range shop.allGifts() {
		if g.Status == giving.Succeeded {
			succeeded++
		}
	}
	expect(t, "gifts are left", "1", succeeded)
}

// A dispute of a gift in another name is a second reason to look: neither replaces the other, and what is decided
// about one leaves the other. Once the last one is decided, the thanks go out.
func TestADisputeDoesNotHideAnotherName(t *testing.T) {
	shop := newShop(t)
	account := shop.Number
	create(t, shop.Book, account, `{"first_name":"Ada","last_name":"Byron","emails":[{"value":"home@example.org"}]}`)
	give := func() (donate.Donation, string) {
		t.Helper()
		w := wish(1)
		w.Email = "home@example.org"
		d := shop.paid(w)
		dispute := shop.stripe.Dispute(d.Payment)
		shop.arrive()
		return d, dispute
	}
	wants := func(id string, doubt donate.Doubt, mails int) {
		t.Helper()
		expect(t, "a person is asked for", "true true", shop.look(id).Doubt == doubt,
			len(shop.mails("home@example.org")) == mails)
	}
	resolve := func(id string, reason donate.Doubt) {
		t.Helper()
		must(shop.ResolveReview(t.Context(), account, id, reason))(t)
	}
	both := donate.OtherName.And(donate.Disputed)
	won, dispute := give()
	wants(won.ID, both, 0)
	shop.stripe.CloseDispute(dispute, true)
	shop.arrive()
	wants(won.ID, donate.OtherName, 0)
	resolve(won.ID, donate.OtherName)
	wants(won.ID, "", 1)

	later, dispute := give()
	resolve(later.ID, "something else")
	wants(later.ID, both, 1)
	resolve(later.ID, donate.OtherName)
	wants(later.ID, donate.Disputed, 1)
	shop.stripe.CloseDispute(dispute, true)
	shop.arrive()
	wants(later.ID, "", 2)
	shop.sound()
}

// Someone gives with the email of a contact of another name: nothing is mailed about the gift, and no receipt made,
// until a person has looked. Then the thanks go to whom the gift is from.
func TestNoThanksGoOutInAnotherName(t *testing.T) {
	shop := newShop(t)
	account := shop.Number
	ada := create(t, shop.Book, account, `{"first_name":"Ada","last_name":"Byron","emails":[{"value":"home@example.org"}]}`)
	ann := create(t, shop.Book, account, `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@example.org"}]}`)
	give := func(frequency string) donate.Donation {
		t.Helper()
		w := wish(1)
		w.Email, w.Frequency = "home@example.org", frequency
		return shop.paid(w)
	}
	once, monthly := give(donate.Once), give("monthly")
	shop.month()
	if once.Doubt != donate.OtherName || monthly.Doubt != donate.OtherName || len(shop.allGifts()) != 3 {
		t.Fatalf("%+v, %+v, %d gifts", once, monthly, len(shop.allGifts()))
	}
	expect(t, "before anyone has looked: the mails", "0 0 0", len(shop.mails("home@example.org")),
		len(receiptsOf(t, shop.Book, account)), waiting(t, shop.Book, account))
	must(shop.UpdateGift(t.Context(), account, once.Gift, giving.GiftInput{Contact: &ann.ID}))(t)
	for range 2 {
		for _, d := range []donate.Donation{once, monthly} {
			must(shop.ResolveReview(store.By(t.Context(), history.ConsoleChannel, "dana@example.org"), account,
				d.ID, donate.OtherName))(t)
		}
		expect(t, "to the donor who was chosen", "1 2", len(shop.mails("ann@example.org")),
			len(shop.mails("home@example.org")))
	}
	g := must(shop.GiftRecord(t.Context(), account, once.Gift))(t)
	expect(t, "the gift says", "mail dana@example.org", g.Thanks.How, g.Thanks.By)
	give(donate.Once)
	data, err := shop.ContactData(t.Context(), account, ada.ID)
	var own strings.Builder
	if err == nil {
		err = data.Write(t.Context(), &own)
	}
	if err != nil || strings.Count(own.String(), `"typed":`) != 2 ||
		strings.Count(own.String(), `"kind":"thanks"`) != 2 {
		t.Errorf("%v: what is known of Ada is %s", err, own.String())
	}
	shop.sound()
}
