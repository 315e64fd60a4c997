package console_test

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
)

// bank is an account that takes transfers.
var bank = donate.Bank{Name: "Harbor Light", IBAN: "DE89370400440532013000"}

// pages are the addresses that a giver would come back to.
var pages = donations.Pages{
	Success: func(*donate.Donation) string { return "https://donors.example.org/ok" },
	Cancel:  func(*donate.Donation) string { return "https://donors.example.org/no" },
}

// ada is who gives.
func ada(w donate.Wish) donate.Wish {
	w.FirstName, w.LastName, w.Email = "Ada", "Byron", "ada@example.org"
	return w
}

// promise has someone promise $50 by a transfer.
func (s *site) promise(account access.Account, c campaign.Campaign, w donate.Wish) donate.Donation {
	s.t.Helper()
	succeed(s.t, s.store.SaveDonationSettings(s.t.Context(), account.Number, donate.Settings{Bank: bank}))
	w.Way, w.Frequency, w.Amount = donate.ByTransfer, donate.Once, 5000
	d, _ := must2(s.store.Give(s.t.Context(), account, &c, donate.NewID(), w, pages))(s.t)
	return d
}

// useDesk lets organizations connect payment providers that take no money.
func (s *site) useDesk() *pay.Desk {
	s.t.Helper()
	desk := pay.NewDesk(s.http.URL)
	desk.Now = func() time.Time { return s.now }
	s.keys = filepath.Join(s.t.TempDir(), "secret.key")
	s.store.UseDesk(desk, donations.NewKeys(s.keys), "US")
	return desk
}

// connect lets an organization take pretended money.
func (s *site) connect(account access.Account) *pay.Desk {
	s.t.Helper()
	desk := s.useDesk()
	connecting := donations.Connecting{Provider: pay.PretendName, Key: "pk_test_1234567890abcd"}
	must(s.store.Connect(s.t.Context(), account, connecting, s.http.URL))(s.t)
	return desk
}

// give has someone give $50 online, and pay at once.
func (s *site) give(desk *pay.Desk, account access.Account, c campaign.Campaign, w donate.Wish) donate.Donation {
	s.t.Helper()
	w.Way, w.Amount = donate.Online, 5000
	d, h := must2(s.store.Give(s.t.Context(), account, &c, donate.NewID(), w, pages))(s.t)
	must(desk.Choose(h.Session.ID, pay.ChoosePay))(s.t)
	if d = must(s.store.LookAtDonation(s.t.Context(), account.Number, d.ID))(s.t); d.Gift == "" {
		s.t.Fatalf("%+v", d)
	}
	return d
}

// takesMoney is a site whose organization takes pretended money, with the campaign Coats.
func takesMoney(t *testing.T, role access.Role) (s *site, p *person, desk *pay.Desk, coats campaign.Campaign) {
	t.Helper()
	s, p = signedIn(t, role)
	return s, p, s.connect(p.account), s.campaign(p.account, `{"title":"Coats","goal":100}`)
}

// The form of settings says what is wrong, keeps what was typed, and what it saves is what campaign pages ask for.
func TestOwnersSayHowMoneyIsTaken(t *testing.T) {
	s, owner, _, _ := takesMoney(t, access.Owner)
	const settings = "settings/donations"
	owner.get(settings).sees("take gifts online.", "Test mode", "/hooks/stripe/"+owner.account.ID,
		"checkout.session.completed")
	owner.post(settings, "once", "20 twenty", "min", "-1", "iban", "DE89370400440532013001").is(422).
		sees("must be amounts with spaces between them", "Smallest gift must be more than 0").
		has(`value="20 twenty"`, "DE89370400440532013001")
	owner.post(settings, "once", "20 40", "cover", "always", "rate", "99", "iban", "DE89370400440532013001", "notice",
		"no email").
		sees("Percentage must be from 0 to 25 percent.", "IBAN must be an IBAN", "must be a valid email address.",
			"Account holder is required with an IBAN")
	owner.follow(settings, "once", "$40, 20 1,000", "monthly", "10", "offers_monthly", "yes", "min", "10", "cover",
		"ticked",
		"rate", "2,2 %", "fixed", "0.30", "bank_name", "Harbor Light", "iban", "de89 3704 0044 0532 0130 00", "consent",
		"Send me news").
		has(`value="20 40 1000"`, `value="2.2"`, `value="0.3"`, `value="DE89 3704 0044 0532 0130 00"`,
			`value="Send me news"`).
		sees("take gifts online and by bank transfer.")
	s.visitor().get("/coats").has(`href="/coats/donate"`, `href="/coats/donate?amount=40"`,
		`href="/coats/donate?amount=10&amp;frequency=monthly"`, `href="/coats/donate?frequency=monthly"`)
	owner.follow(settings, "once", "20 40")
	s.visitor().get("/coats").hides("frequency=monthly", "give-monthly\"")
}

// A key that a provider refuses is not kept, and no page shows it again.
func TestAKeyIsNeverShownAgain(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	s.useDesk()
	const connect = "settings/donations/connect"
	owner.post(connect, "key", " ").sees("Restricted key is required.")
	owner.post(connect, "key", "not_a_key_at_all").sees("It begins with rk_live_, or with rk_test_ for test mode.")
	owner.post(connect, "key", "not_a_key_at_all", "hook", "nonsense_secret", "host", "pay.example.org").is(422).
		hides("not_a_key_at_all", "nonsense_secret").has("pay.example.org")
	s.connect(owner.account)
	owner.get("settings/donations").sees("Replace the key").hides("pk_test_")
	owner.follow("settings/donations/test").sees("The connection works.")
	owner.follow("settings/donations/disconnect").sees("Disconnected.", "can’t take gifts yet.")
}

// An owner hears before and after publishing that no one can give; visitors see no button that leads nowhere.
func TestACampaignWithoutAWayToGiveSaysSo(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	stranger := s.visitor()
	const caution, button = "Visitors can’t give on this campaign’s page", "A button for your website"
	owner.get("campaigns/new").sees("There is no way to give on this page yet.")
	owner.follow("campaigns", "title", "Coats", "status", "draft").sees(caution + " once it is published.")
	boots := owner.campaignAddress(s.campaign(owner.account, `{"title":"Boots"}`))
	owner.get(boots).sees(caution+", and see no Donate button.", "QR code").lacks(button)
	s.member(owner.account, access.Editor).get(boots).sees("Ask an owner")
	stranger.get("/boots").lacks("Donate")
	hats := s.campaign(owner.account, `{"title":"Hats","payment_link":"https://pay.example.org"}`)
	owner.get(owner.campaignAddress(hats)).lacks(caution).sees(button)
	stranger.get("/hats").sees("Donate")
	s.connect(owner.account)
	owner.get(boots).lacks(caution)
	stranger.get("/hats").hides("pay.example.org").has(`href="/hats/donate"`) // the form of ours comes first
}

// What is passed on are plain links, which need no script and tell no one about visitors.
func TestWhatACampaignPassesOn(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	s.connect(owner.account)
	path := owner.campaignAddress(s.campaign(owner.account, `{"title":"Coats & \"Boots\"","slug":"coats"}`))
	at := url.QueryEscape(s.http.URL + "/coats")
	page := html.UnescapeString(s.visitor().get("/coats").body)
	for _, link := range []string{
		"https://wa.me/?text=Coats+%26+%22Boots%22%0A" + at, "https://www.facebook.com/sharer/sharer.php?u=" + at,
		"https://x.com/intent/post?text=Coats+%26+%22Boots%22&url=" + at,
		"https://bsky.app/intent/compose?text=Coats+%26+%22Boots%22%0A" + at,
		"https://www.linkedin.com/sharing/share-offsite/?url=" + at,
	} {
		contains(t, page, `href="`+link+`"`, "the page lacks %s", link)
	}
	owner.get(path).sees(`<a href="`+s.http.URL+`/coats/donate" style="display:inline-block`,
		s.http.URL+"/coats/donate?amount=50",
		s.http.URL+"/coats/donate?frequency=monthly").has(`src="/coats/qr.svg"`)
	owner.follow(path + "/status/draft")
	owner.get(path).lacks("A button for your website")
}

// A promise is on its list, counts nowhere, and says what was asked for.
func TestDonationsAreListed(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	coats, boots := s.campaign(owner.account, `{"title":"Coats","goal":100}`),
		s.campaign(owner.account, `{"title":"Boots"}`)
	made := s.promise(owner.account, coats, ada(donate.Wish{Anonymous: true}))
	s.promise(owner.account, boots, donate.Wish{Company: "Lovelace Ltd", Email: "ltd@example.org"})
	owner.get("donations").sees("Ada Byron", "Lovelace Ltd", "Promised", "$50")
	for _, query := range []string{fmt.Sprint("campaign=", coats.ID),
		"find=" + url.QueryEscape(donate.Groups(made.Reference())),
		"find=" + strings.ToLower(made.Reference()), "find=+Ada%40example.org"} {
		owner.get("donations?" + query).sees("Ada Byron").lacks("Lovelace")
	}
	for _, query := range []string{"state=paid", "find=RF18000000", "created_before=2001-01-01"} {
		owner.get("donations?" + query).sees("No donations found")
	}
	for _, query := range []string{"state=promised", "created_after=2001-01-01"} {
		owner.get("donations?"+query).sees("Ada Byron", "Lovelace Ltd")
	}
	owner.get("settings/donations").sees("Delete test gifts")
	owner.follow("settings/donations/delete-tests").sees("0 test donations deleted")
	owner.get("donations?state=review").sees("Nothing to review")
	owner.get("donations/"+made.ID).sees("$50 from Ada Byron", donate.Groups(made.Reference()), "ada@example.org",
		"Does not want to be named in public", "None yet")
	s.visitor().get("/coats").sees("$0 raised of $100")
}

// A gift that a provider has taken goes back there, and the page says so before.
func TestAnOnlineGiftIsRefundedWhereItWasPaid(t *testing.T) {
	s, editor, desk, coats := takesMoney(t, access.Editor)
	d := s.give(desk, editor.account, coats, ada(donate.Wish{Frequency: donate.Once}))
	gift, donation := "gifts/"+d.Gift, "donations/"+d.ID
	asked := editor.post(gift+"/refund", "amount", "20", "seen", seen(editor.get(gift))).
		sees("Nothing was refunded yet.", "The money goes back to the donor through the test provider.")
	editor.follow(gift+"/refund", "amount", "20", "seen", seen(asked), "decision", "record").
		sees("$20 was refunded.", "$30")
	is := must(s.store.GiftRecord(t.Context(), editor.account.Number, d.Gift))(t)
	if is.Left() != 3000 || len(is.Entries) != 2 {
		t.Errorf("the ledger is %+v", is.Entries)
	}
	s.visitor().get("/coats").sees("$30 raised of $100", "1 donor")
	editor.get(donation).sees("$20 refunded")
	editor.follow(gift+"/refund", "amount", "30", "seen", seen(editor.get(gift).sees("Status Partly refunded")),
		"decision", "record")
	for _, path := range []string{donation, "donations", "gifts", fmt.Sprint("contacts/", is.Contact)} {
		editor.get(path).sees("Refunded").hides(">Paid</span>")
	}
}

// Before a refund, the page says to whom an email about it goes; where mail may not go, it says nothing.
func TestARefundSaysWhoHearsOfIt(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.store.UseRelay(new(store.Shelf))
	for _, quiet := range []bool{false, true} {
		contact := s.contact(p, "Zoë", "Okafor", reachable("zoe@example.org", "212-555-0100"),
			func(in *crm.ContactInput) { in.DoNotEmail = &quiet })
		gift := p.give(contact, "50", "2026-01-31")
		asked := p.post(gift+"/refund", "amount", "10", "seen", seen(p.get(gift)))
		if strings.Contains(asked.words(), "An email about the refund goes to zoe@example.org.") == quiet {
			t.Errorf("who wants no email, %v: %s", quiet, asked.words())
		}
	}
}

// What is changed about a recurring gift is changed where it is taken, and what is decided there is not offered here.
func TestARecurringGiftIsChangedWhereItIsTaken(t *testing.T) {
	s, editor, desk, coats := takesMoney(t, access.Editor)
	d := s.give(desk, editor.account, coats, ada(donate.Wish{Frequency: "monthly"}))
	plan := "plans/" + d.GiftPlan
	contact := fmt.Sprint("contacts/", must(s.store.Plan(t.Context(), editor.account.Number, d.GiftPlan))(t).Contact)
	editor.get(plan).sees("The test provider takes these gifts", "Nothing more is charged").lacks("Record this gift")
	editor.get(contact).sees("Next gift", "The donation page").lacks("Record this gift", "Someone")
	editor.get("plans").lacks("Record gift")
	there := func(want giving.PlanStatus, amount int64) {
		t.Helper()
		c := must(desk.Open(donate.Connection{Provider: pay.PretendName, Account: editor.account.ID}))(t)
		is := must(c.Look(t.Context(), donate.Ref{Kind: donate.PlanRef, ID: d.Plan}))(t)
		if is.Plan.Status != want || is.Plan.Amount != amount {
			t.Errorf("at the provider the plan is %+v", is.Plan)
		}
	}
	editor.follow(plan + "/pause").sees("was paused.")
	there(giving.Paused, 5000)
	editor.get(contact).lacks("Next gift")
	editor.follow(plan + "/resume").sees("was resumed.")
	there(giving.ActivePlan, 5000)
	form := editor.get(plan+"/edit").lacks("Next gift", "Frequency")
	editor.follow(plan, append([]string{"amount", "35"}, form.fields()...)...).sees("$35")
	there(giving.ActivePlan, 3500)
	editor.post(plan, append([]string{"frequency", "yearly"}, editor.get(plan+"/edit").fields()...)...).
		sees("is set at the payment provider, which takes these gifts")
	editor.follow(plan+"/end").sees("was ended.").lacks("Undo", "Resume gifts")
	there(giving.Ended, 3500)
	editor.follow(plan + "/resume").sees("This recurring gift has ended at the payment provider")
}

// What needs a person says why and what to do, on the list, on its page and on the home page, until someone has looked.
func TestWhatNeedsAPersonSaysSo(t *testing.T) {
	s, editor, desk, coats := takesMoney(t, access.Editor)
	s.give(desk, editor.account, coats, ada(donate.Wish{Frequency: donate.Once}))
	d := s.give(desk, editor.account, coats,
		donate.Wish{Frequency: donate.Once, FirstName: "Charles", LastName: "Babbage", Email: "ada@example.org"})
	page := "donations/" + d.ID
	editor.get("").sees("1 donation to review")
	editor.get("donations?state=review").sees("Charles Babbage", "has another name").lacks("Ada Byron")
	editor.get(page).sees("has another name", "Check that it is the right person", "Recorded for Ada Byron")
	editor.get("gifts/"+d.Gift).sees("from Charles Babbage", "Contact Ada Byron Given as Charles Babbage")
	succeed(t, s.store.UpdateShared(t.Context(), editor.account.Number, func(tx *store.Tx) error {
		return tx.Run(`UPDATE donation SET doubt = 'name dispute' WHERE account_id = $1 AND id = $2`,
			editor.account.Number, d.ID)
	}))
	editor.follow(page+"/reviewed", "reason", "dispute").
		sees("needs your attention for another reason, too", "has another name")
	editor.follow(page+"/reviewed", "reason", "name").sees("Nothing to review")
	editor.get("").lacks("to review")
}

// A promise becomes a gift on the day on which its money came. One that was marked as received by mistake waits again,
// and what was recorded for it counts nowhere. Then it may be received with what has really come.
func TestAPromiseIsReceivedAndWaitsAgain(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	s.store.UseRelay(new(store.Shelf))
	d := s.promise(editor.account, s.campaign(editor.account, `{"title":"Coats","goal":100}`), ada(donate.Wish{}))
	page := "donations/" + d.ID
	undo := page + "/receive/undo"
	editor.get(page).sees("Has it arrived?", donate.Groups(d.Reference()),
		"A thank-you goes to ada@example.org right away")
	editor.follow(undo).sees("Nothing was changed.", "not marked as received")
	for day, said := range map[string]string{"yesterday": "Received on must be a date",
		"2026-11-17": "must not be in the future.",
		"2026-11-15": "Received on must not be before November 16, 2026, the day on which this was promised."} {
		editor.post(page+"/receive", "day", day, "amount", "50").is(422).sees(said)
	}
	editor.post(page+"/receive", "day", today, "amount", "fifty").sees("Amount must be more than 0")
	editor.follow(page+"/receive", "day", today).sees("$50 from Ada Byron was received and recorded as a gift.", "Paid",
		"Undo")
	editor.post(page+"/receive", "day", today).sees("not a promise")
	s.visitor().get("/coats").sees("$50 raised of $100")
	s.send()
	editor.get(page).sees("It hasn’t arrived")
	editor.follow(undo).sees("was canceled.", "A thank-you was already mailed to ada@example.org.", "Promised")
	// which leads to the donor
	s.member(editor.account, access.Owner).get("settings/mail").has(`/search?q=ada%40example.org"`)
	s.visitor().get("/coats").sees("$0 raised of $100")
	editor.get("gifts").sees("Canceled")
	editor.follow(page+"/receive", "day", today, "amount", "60").sees("View gift of $60")
	s.visitor().get("/coats").sees("$60 raised of $100", "1 donor")
	gift := "gifts/" + must(s.store.DonationByID(t.Context(), editor.account.Number, d.ID))(t).Gift
	editor.follow(gift+"/refund", "amount", "10", "seen", seen(editor.get(gift)), "decision", "record")
	editor.follow(undo).sees("Nothing was changed.", "Undo the refund on the page of the gift first.")
}

// Who does not want to be named on the page is not, neither for a gift nor for the gifts of a plan, online or by a
// transfer.
func TestAPageNamesNoOneWhoDoesNotWantIt(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	coats := s.campaign(owner.account, `{"title":"Coats"}`)
	wish := func(first, last string, frequency string) donate.Wish {
		return donate.Wish{Frequency: frequency, FirstName: first, LastName: last, Email: first + "@example.org",
			Anonymous: first != "Alan"}
	}
	promised := s.promise(owner.account, coats, wish("Grace", "Hopper", ""))
	desk := s.connect(owner.account)
	s.give(desk, owner.account, coats, wish("Ada", "Byron", donate.Once))
	s.give(desk, owner.account, coats, wish("Joan", "Clarke", "monthly"))
	s.give(desk, owner.account, coats, wish("Alan", "Turing", donate.Once))
	owner.follow("donations/"+promised.ID+"/receive", "day", today)
	owner.follow("settings/public", "public_donors", "amounts")
	page := s.visitor().get("/coats").sees("Recent donors", "Alan T.").lacks("Ada", "Joan", "Grace")
	equal(t, strings.Count(page.words(), "Anonymous"), 3)
}

// silent is a provider that does not answer.
type silent struct{ donate.Provider }

func (silent) Open(donate.Connection) (donate.Provider, error) { return silent{}, nil }
func (silent) Refund(context.Context, string, int64, string, string) error {
	return donate.ErrTemporary
}
func (silent) Plan(context.Context, string, donate.Change) error { return donate.ErrTemporary }
func (silent) Check(context.Context, string) error               { return donate.ErrTemporary }

// A provider that does not answer changes nothing here, and pages say so.
func TestAProviderThatDoesNotAnswerChangesNothing(t *testing.T) {
	s, owner, desk, coats := takesMoney(t, access.Owner)
	d := s.give(desk, owner.account, coats, ada(donate.Wish{Frequency: "monthly"}))
	s.store.UseDesk(silent{}, donations.NewKeys(s.keys), "US")
	gift, plan := "gifts/"+d.Gift, "plans/"+d.GiftPlan
	form := append([]string{"amount", "70"}, owner.get(plan+"/edit").fields()...)
	for _, a := range []answer{
		owner.post(gift+"/refund", "amount", "20", "seen", seen(owner.get(gift)), "decision", "record"),
		owner.follow(plan + "/pause"), owner.post(plan, form...), owner.follow("settings/donations/test"),
		owner.post("settings/donations/connect", "key", "rk_test_1234567890"),
	} {
		a.sees("The payment provider doesn’t answer. Nothing was changed.")
	}
	g := must(s.store.GiftRecord(t.Context(), owner.account.Number, d.Gift))(t)
	p := must(s.store.Plan(t.Context(), owner.account.Number, d.GiftPlan))(t)
	if g.Left() != 5000 || p.Status != giving.ActivePlan || p.Amount != 5000 {
		t.Errorf("the gift is %+v, the plan %+v", g.Gift, p)
	}
}
