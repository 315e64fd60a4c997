package console_test

import (
	"context"
	"html"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/mails"
)

// bank is an account that takes transfers.
var bank = donate.Bank{Name: "Harbor Light", IBAN: "DE89370400440532013000"}

// pages are the addresses that a giver would come back to.
var pages = donations.Pages{Success: func(*donate.Donation) string { return "https://donors.example.org/ok" }, Cancel: func(*donate.Donation) string { return "https://donors.example.org/no" }}

// promise has someone promise $50 by a transfer.
func (s *site) promise(account access.Account, c campaign.Campaign, w donate.Wish) donate.Donation {
	s.t.Helper()
	err := s.store.SaveDonationSettings(s.t.Context(), account.Number, donate.Settings{Bank: bank})
	w.Way, w.Frequency, w.Amount = donate.ByTransfer, donate.Once, 5000
	d := donate.Donation{}
	if err == nil {
		d, _, err = s.store.Give(s.t.Context(), account, &c, donate.NewID(), w, pages)
	}
	if err != nil {
		s.t.Fatal(err)
	}
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
	must(s.store.Connect(s.t.Context(), account, donations.Connecting{Provider: pay.PretendName, Key: "pk_test_1234567890abcd"}, s.http.URL))(s.t)
	return desk
}

// give has someone give $50 online, and pay at once.
func (s *site) give(desk *pay.Desk, account access.Account, c campaign.Campaign, w donate.Wish) donate.Donation {
	s.t.Helper()
	w.Way, w.Amount = donate.Online, 5000
	d, h, err := s.store.Give(s.t.Context(), account, &c, donate.NewID(), w, pages)
	if err == nil {
		_, err = desk.Choose(h.Session.ID, pay.ChoosePay)
	}
	if err == nil {
		d, err = s.store.LookAtDonation(s.t.Context(), account.Number, d.ID)
	}
	if err != nil || d.Gift == "" {
		s.t.Fatalf("%+v, %v", d, err)
	}
	return d
}

// The form of settings says what is wrong, keeps what was typed, and what it saves is what campaign pages ask for.
func TestOwnersSayHowMoneyIsTaken(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	owner, editor := s.member(account, access.Owner), s.member(account, access.Editor)
	s.connect(account)
	s.campaign(account, `{"title":"Coats"}`)
	settings := owner.org("/settings/donations")
	owner.get(settings).sees("Taking money", "Your campaign pages take gifts online.", "Test mode", "Send a test gift", "/hooks/stripe/"+account.ID, "checkout.session.completed")
	editor.get("settings/donations").is(403)
	owner.post(settings, "once", "20 twenty", "monthly", "5", "min", "-1", "cover", "always", "rate", "99", "iban", "DE89370400440532013001", "notice", "no email").is(422).sees("One-time amounts must be amounts with spaces between them, such as 25 50 100.", "Smallest gift must be more than 0").has(`value="20 twenty"`, "DE89370400440532013001")
	owner.post(settings, "once", "20 40", "cover", "always", "rate", "99", "iban", "DE89370400440532013001", "notice", "no email", "max", "1").sees("Percentage must be from 0 to 25 percent.", "IBAN must be an IBAN", "Tell staff about each gift must be a valid email address.", "Account holder is required with an IBAN")
	owner.follow(settings, "once", "$40, 20 1,000", "monthly", "10", "offers_monthly", "yes", "min", "10", "cover", "ticked", "rate", "2,2 %", "fixed", "0.30", "bank_name", "Harbor Light", "iban", "de89 3704 0044 0532 0130 00", "consent", "Send me news")
	owner.get(settings).has(`value="20 40 1000"`, `value="2.2"`, `value="0.3"`, `value="DE89 3704 0044 0532 0130 00"`, `value="Send me news"`).sees("Your campaign pages take gifts online and by bank transfer.")
	stranger := s.visitor()
	stranger.get("/coats").sees("One-time", "Monthly", "$20", "$40", "$1,000", "$10", "Donate monthly").has(`href="/coats/donate"`, `href="/coats/donate?amount=40"`, `href="/coats/donate?amount=10&amp;frequency=monthly"`, `href="/coats/donate?frequency=monthly"`)
	owner.follow(settings, "once", "20 40")
	stranger.get("/coats").hides("frequency=monthly", "give-monthly\"")

}

// A key that a provider refuses is not kept, and no page shows it again.
func TestAKeyIsNeverShownAgain(t *testing.T) {
	s, owner := signedIn(t, access.Owner)
	s.useDesk()
	connect := owner.org("/settings/donations/connect")
	owner.post(connect, "key", " ").sees("Restricted key is required.")
	owner.post(connect, "key", "not_a_key_at_all").sees("This is not a Stripe key. It begins with rk_live_, or with rk_test_ for test mode.")
	owner.post(connect, "key", "not_a_key_at_all", "hook", "nonsense_secret", "host", "pay.example.org").is(422).hides("not_a_key_at_all", "nonsense_secret").has("pay.example.org")
	s.connect(owner.account)
	owner.get("settings/donations").sees("Replace the key").hides("pk_test_")
	owner.follow("settings/donations/test").sees("The connection works.")
	owner.follow("settings/donations/disconnect").sees("Disconnected.", "Your campaign pages can’t take gifts yet.")
}

// An owner hears before and after publishing that no one can give; visitors see no button that leads nowhere.
func TestACampaignWithoutAWayToGiveSaysSo(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	owner, editor, stranger := s.member(account, access.Owner), s.member(account, access.Editor), s.visitor()
	const caution = "Visitors can’t give on this campaign’s page"
	owner.get("campaigns/new").sees("There is no way to give on this page yet.", "Set up a way to take money")
	owner.follow("campaigns", "title", "Coats", "status", "draft").sees(caution+" once it is published.", "Set up a way to take money")
	coats := s.campaign(account, `{"title":"Boots"}`)
	owner.get(owner.campaignAddress(coats)).sees(caution+", and see no Donate button.", "QR code").lacks("A button for your website")
	editor.get(editor.campaignAddress(coats)).sees("Ask an owner")
	stranger.get("/boots").lacks("Donate")
	linked := s.campaign(account, `{"title":"Hats","payment_link":"https://pay.example.org"}`)
	owner.get(owner.campaignAddress(linked)).lacks(caution).sees("A button for your website")
	stranger.get("/hats").sees("Donate")
	s.connect(account)
	owner.get(owner.campaignAddress(coats)).lacks(caution)
	stranger.get("/hats").hides("pay.example.org").has(`href="/hats/donate"`)
}

// What is passed on are plain links, which need no script and tell no one about visitors.
func TestWhatACampaignPassesOn(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	s.connect(account)
	c := s.campaign(account, `{"title":"Coats & \"Boots\"","slug":"coats"}`)
	owner, stranger := s.member(account, access.Owner), s.visitor()
	page := stranger.get("/coats")
	at := url.QueryEscape(s.http.URL + "/coats")
	for _, link := range []string{"https://wa.me/?text=Coats+%26+%22Boots%22%0A" + at, "https://www.facebook.com/sharer/sharer.php?u=" + at, "https://x.com/intent/post?text=Coats+%26+%22Boots%22&url=" + at,
		"https://bsky.app/intent/compose?text=Coats+%26+%22Boots%22%0A" + at, "https://www.linkedin.com/sharing/share-offsite/?url=" + at} {
		if !strings.Contains(html.UnescapeString(page.body), `href="`+link+`"`) {
			t.Errorf("the page lacks %s", link)
		}
	}
	page.sees("Share on WhatsApp", "Share on Bluesky", "Share by email")
	owner.get(owner.campaignAddress(c)).sees("Share", "QR code", "A button for your website", `<a href="`+s.http.URL+`/coats/donate" style="display:inline-block`, s.http.URL+"/coats/donate?amount=50", s.http.URL+"/coats/donate?frequency=monthly").has(`src="/coats/qr.svg"`)
	owner.follow(owner.campaignAddress(c) + "/status/draft")
	owner.get(owner.campaignAddress(c)).lacks("A button for your website")
}

// A promise is on its list, counts nowhere, and says what was asked for.
func TestDonationsAreListed(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	coats, boots := s.campaign(account, `{"title":"Coats","goal":100}`), s.campaign(account, `{"title":"Boots"}`)
	made := s.promise(account, coats, donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org", Anonymous: true})
	s.promise(account, boots, donate.Wish{Company: "Lovelace Ltd", Email: "ltd@example.org"})
	viewer := s.member(account, access.Viewer)
	viewer.get("donations").sees("Online donations", "Ada Byron", "Lovelace Ltd", "Promised", "$50")
	one := viewer.get("donations?campaign=" + strconv.FormatInt(coats.ID, 10))
	one.sees("Ada Byron").lacks("Lovelace")
	viewer.get("donations?state=paid").sees("No donations found")
	for _, asked := range []string{donate.Groups(made.Reference()), strings.ToLower(made.Reference()), " Ada@example.org"} {
		one = viewer.get("donations?find=" + url.QueryEscape(asked))
		one.sees("Ada Byron").lacks("Lovelace")
	}
	viewer.get("donations?find=RF18000000").sees("No donations found")
	viewer.get("donations?state=promised").sees("Ada Byron", "Lovelace Ltd")
	viewer.get("donations?created_before=2001-01-01").sees("No donations found")
	viewer.get("donations?created_after=2001-01-01").sees("Ada Byron", "Lovelace Ltd")
	viewer.post("settings/donations/delete-tests").is(403)
	owner := s.member(account, access.Owner)
	owner.get("settings/donations").sees("Delete test gifts")
	owner.get(owner.post("settings/donations/delete-tests").location()).sees("0 test donations deleted")
	viewer.get("donations?state=review").sees("Nothing to review")
	viewer.get("donations/"+made.ID).sees("$50 from Ada Byron", donate.Groups(made.Reference()), "ada@example.org", "Does not want to be named in public", "None yet").lacks("Mark as received")
	s.visitor().get("/coats").sees("$0 raised of $100")

}

// A gift that a provider has taken goes back there, and the page says so before.
func TestAnOnlineGiftIsRefundedWhereItWasPaid(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	desk := s.connect(account)
	d := s.give(desk, account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	editor := s.member(account, access.Editor)
	page := editor.get("gifts/" + d.Gift)
	page.sees("The money then goes back through the test provider")
	refund := editor.org("/gifts/" + d.Gift + "/refund")
	asked := editor.post(refund, "amount", "20", "seen", seen(page))
	asked.sees("Nothing was refunded yet.", "The money goes back to the donor through the test provider.", "Refund gift")
	editor.follow(refund, "amount", "20", "seen", seen(asked), "decision", "record").sees("$20 was refunded.", "$30")
	is, err := s.store.GiftRecord(t.Context(), account.Number, d.Gift)
	if err != nil || is.Left() != 3000 || len(is.Entries) != 2 {
		t.Errorf("%v: the ledger is %+v", err, is.Entries)
	}
	s.visitor().get("/coats").sees("$30 raised of $100", "1 donor")
	donation, list := editor.org("/donations/"+d.ID), editor.org("/donations")
	editor.get(donation).sees("$20 refunded")
	editor.get("gifts/" + d.Gift).sees("Status Partly refunded")
	page = editor.get("gifts/" + d.Gift)
	editor.follow(refund, "amount", "30", "seen", seen(page), "decision", "record")
	for _, path := range []string{donation, list, editor.org("/gifts"), editor.org("/contacts/" + strconv.FormatInt(is.Contact, 10))} {
		editor.get(path).sees("Refunded").hides(">Paid</span>")
	}
	editor.get("gifts/" + d.Gift).sees("Status Refunded")

}

// Before a refund, the page says to whom an email about it goes; where mail may not go, it says nothing.
func TestARefundSaysWhoHearsOfIt(t *testing.T) {
	s := anySite(t)

	s.store.UseRelay(new(mails.Shelf))
	p := s.member(s.organization("Harbor"), access.Editor)
	for _, quiet := range []bool{false, true} {
		contact := s.contact(p, "Zoë", "Okafor", func(in *crm.ContactInput) {
			in.Emails = &[]crm.Email{{Value: "zoe@example.org"}}
			in.DoNotEmail = &quiet
		})
		gift := p.give(contact, "50", "2026-01-31")
		asked := p.post(gift+"/refund", "amount", "10", "seen", seen(p.get(gift)))
		if quiet {
			asked.lacks("An email about the refund")
		} else {
			asked.sees("An email about the refund goes to zoe@example.org.")
		}
	}

}

// What is changed about a recurring gift is changed where it is taken, and what is decided there is not offered here.
func TestARecurringGiftIsChangedWhereItIsTaken(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	desk := s.connect(account)
	d := s.give(desk, account, s.campaign(account, `{"title":"Coats"}`), donate.Wish{Frequency: "monthly", FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	editor := s.member(account, access.Editor)
	plan := editor.org("/plans/" + d.GiftPlan)
	editor.get(plan).sees("The test provider takes these gifts: they are recorded automatically", "Pause gifts", "End this recurring gift at the test provider? Nothing more is charged, and it can’t be resumed").lacks("Record this gift")
	p := must(s.store.Plan(t.Context(), account.Number, d.GiftPlan))(t)
	contact := "/contacts/" + strconv.FormatInt(p.Contact, 10)
	editor.get(editor.org(contact)).sees("Next gift", "The donation page")
	editor.get(editor.org(contact)).lacks("Record this gift", "Someone")
	editor.get("plans").lacks("Record gift")
	there := func(want giving.PlanStatus, amount int64) {
		t.Helper()
		c := must(desk.Open(donate.Connection{Provider: pay.PretendName, Account: account.ID}))(t)
		is, err := c.Look(t.Context(), donate.Ref{Kind: donate.PlanRef, ID: d.Plan})
		if err != nil || is.Plan.Status != want || is.Plan.Amount != amount {
			t.Errorf("%v: at the provider the plan is %+v", err, is.Plan)
		}
	}
	editor.follow(plan+"/pause").sees("was paused.", "Resume gifts")
	there(giving.Paused, 5000)
	editor.get(editor.org(contact)).lacks("Next gift")
	editor.follow(plan + "/resume").sees("was resumed.")
	there(giving.ActivePlan, 5000)
	form := editor.get(plan + "/edit")
	form.sees("agree on it with the donor first").lacks("Next gift", "Frequency")
	values := append(form.fields(), "amount", "35")
	editor.follow(plan, append([]string{"amount", "35"}, values...)...).sees("Changes saved.", "$35")
	there(giving.ActivePlan, 3500)
	editor.post(plan, append([]string{"frequency", "yearly"}, editor.get(plan+"/edit").fields()...)...).sees("is set at the payment provider, which takes these gifts")
	editor.follow(plan+"/end").sees("was ended.").lacks("Undo", "Resume gifts")
	there(giving.Ended, 3500)
	editor.follow(plan + "/resume").sees("This recurring gift has ended at the payment provider")

}

// What needs a person says why and what to do, on the list, on its page and on the home page, until someone has looked.
func TestWhatNeedsAPersonSaysSo(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	desk := s.connect(account)
	coats := s.campaign(account, `{"title":"Coats"}`)
	s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	d := s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Charles", LastName: "Babbage", Email: "ada@example.org"})
	editor := s.member(account, access.Editor)
	editor.get("").sees("1 donation to review")
	editor.get("donations?state=review").sees("Charles Babbage", "Please review", "has another name").lacks("Ada Byron")
	page := editor.org("/donations/" + d.ID)
	editor.get(page).sees("has another name", "Check that it is the right person", "Recorded for Ada Byron", "View gift", "Demo")
	editor.get("gifts/"+d.Gift).sees("from Charles Babbage", "Contact Ada Byron Given as Charles Babbage")
	succeed(t, s.store.UpdateShared(t.Context(), account.Number, func(tx *store.Tx) error {
		return tx.Run(`UPDATE donation SET doubt = 'name dispute' WHERE account_id = $1 AND id = $2`, account.Number, d.ID)
	}))
	editor.follow(page+"/reviewed", "reason", "dispute").sees("Marked as reviewed.", "needs your attention for another reason, too", "has another name")
	editor.follow(page+"/reviewed", "reason", "name").sees("Marked as reviewed.", "Nothing to review")
	editor.get("").lacks("to review")

}

// A promise becomes a gift on the day on which its money came.
func TestAPromiseIsReceived(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	d := s.promise(account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	editor := s.member(account, access.Editor)
	page := editor.org("/donations/" + d.ID)
	editor.get(page).sees("Has it arrived?", donate.Groups(d.Reference()), "This records a gift from Ada Byron for Coats , paid by bank transfer. The gift then waits on the list To thank . You can undo this.")
	for day, said := range map[string]string{"yesterday": "Received on must be a date", "2026-11-15": "Received on must not be before November 16, 2026, the day on which this was promised.",
		"2026-11-17": "Received on must not be in the future."} {
		editor.post(page+"/receive", "day", day, "amount", "50").is(422).sees(said)
	}
	editor.post(page+"/receive", "day", today, "amount", "fifty").sees("Amount must be more than 0")
	editor.follow(page+"/receive", "day", today).sees("$50 from Ada Byron was received and recorded as a gift.", "Paid", "View gift", "Undo")
	editor.post(page+"/receive", "day", today).sees("not a promise")
	s.visitor().get("/coats").sees("$50 raised of $100")

}

// A promise that was marked as received by mistake waits again, and what was recorded for it counts nowhere. Then it may be received with what has really come.
func TestAPromiseThatHasNotArrivedWaitsAgain(t *testing.T) {
	s := anySite(t)

	s.store.UseRelay(new(mails.Shelf))
	account := s.organization("Harbor Light")
	d := s.promise(account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	editor, viewer := s.member(account, access.Editor), s.member(account, access.Viewer)
	page := editor.org("/donations/" + d.ID)
	undo := page + "/receive/undo"
	editor.get(page).sees("A thank-you goes to ada@example.org right away, with a receipt if one can be made. If a contact with this email has another name, it waits until you have reviewed that.")
	editor.follow(undo).sees("Nothing was changed.", "not marked as received")
	editor.follow(page+"/receive", "day", today, "amount", "50")
	s.send()
	viewer.get(page).lacks("It hasn’t arrived")
	viewer.post(undo).is(403)
	editor.get(page).sees("It hasn’t arrived")
	editor.follow(undo).sees("$50 from Ada Byron was canceled. This donation waits for its money again.", "A thank-you was already mailed to ada@example.org.", "Promised", "Has it arrived?")
	owner := s.member(account, access.Owner)
	owner.get("settings/mail").has(`/search?q=ada%40example.org"`)
	s.visitor().get("/coats").sees("$0 raised of $100")
	editor.get("gifts").sees("Canceled")
	editor.follow(page+"/receive", "day", today, "amount", "60").sees("$60 from Ada Byron was received and recorded as a gift.", "View gift of $60")
	s.visitor().get("/coats").sees("$60 raised of $100", "1 donor")
	gift := must(s.store.DonationByID(t.Context(), account.Number, d.ID))(t)
	refund := editor.org("/gifts/" + gift.Gift + "/refund")
	editor.follow(refund, "amount", "10", "seen", seen(editor.get("gifts/"+gift.Gift)), "decision", "record")
	editor.follow(undo).sees("Nothing was changed.", "Undo the refund on the page of the gift first.")

}

// Who does not want to be named on the page is not, neither for a gift nor for the gifts of a plan, online or by a transfer.
func TestAPageNamesNoOneWhoDoesNotWantIt(t *testing.T) {
	s := anySite(t)

	account := s.organization("Harbor Light")
	owner := s.member(account, access.Owner)
	coats := s.campaign(account, `{"title":"Coats"}`)
	promised := s.promise(account, coats, donate.Wish{FirstName: "Grace", LastName: "Hopper", Email: "grace@example.org", Anonymous: true})
	desk := s.connect(account)
	s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org", Anonymous: true})
	s.give(desk, account, coats, donate.Wish{Frequency: "monthly", FirstName: "Joan", LastName: "Clarke", Email: "joan@example.org", Anonymous: true})
	s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Alan", LastName: "Turing", Email: "alan@example.org"})
	owner.follow("donations/"+promised.ID+"/receive", "day", today)
	owner.follow("settings/public", "public_donors", "amounts")
	page := s.visitor().get("/coats")
	page.sees("Recent donors", "Alan T.", "Anonymous").lacks("Ada", "Joan", "Grace")
	if n := strings.Count(page.words(), "Anonymous"); n != 3 {
		t.Errorf("%d of 3 givers are anonymous", n)
	}

}

// silent is a provider that does not answer.
type silent struct{ donate.Provider }

func (silent) Open(donate.Connection) (donate.Provider, error) { return silent{}, nil }

func (silent) Refund(context.Context, string, int64, string, string) error {
	return donate.ErrTemporary
}

func (silent) Plan(context.Context, string, donate.Change) error { return donate.ErrTemporary }

func (silent) Check(context.Context, string) error { return donate.ErrTemporary }

// A provider that does not answer changes nothing here, and pages say so.
func TestAProviderThatDoesNotAnswerChangesNothing(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	desk := s.connect(account)
	d := s.give(desk, account, s.campaign(account, `{"title":"Coats"}`), donate.Wish{Frequency: "monthly", FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
	s.store.UseDesk(silent{}, donations.NewKeys(s.keys), "US")
	owner := s.member(account, access.Owner)
	const said = "The payment provider doesn’t answer. Nothing was changed."
	page := owner.get("gifts/" + d.Gift)
	owner.post("gifts/"+d.Gift+"/refund", "amount", "20", "seen", seen(page), "decision", "record").sees(said)
	owner.follow("plans/" + d.GiftPlan + "/pause").sees(said)
	form := owner.get("plans/" + d.GiftPlan + "/edit").fields()
	owner.post("plans/"+d.GiftPlan, append([]string{"amount", "70"}, form...)...).sees(said)
	owner.follow("settings/donations/test").sees(said)
	owner.post("settings/donations/connect", "key", "rk_test_1234567890").sees(said)
	gift, err := s.store.GiftRecord(t.Context(), account.Number, d.Gift)
	plan, planErr := s.store.Plan(t.Context(), account.Number, d.GiftPlan)
	if err != nil || planErr != nil || gift.Left() != 5000 || plan.Status != giving.ActivePlan || plan.Amount != 5000 {
		t.Errorf("%v %v: the gift is %+v, the plan %+v", err, planErr, gift.Gift, plan)
	}
}
