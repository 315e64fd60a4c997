package console_test

import (
	"context"
	"html"
	"net/http"
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
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		owner, editor := s.member(account, access.Owner), s.member(account, access.Editor)
		s.connect(account)
		s.campaign(account, `{"title":"Coats"}`)
		settings := owner.org("/settings/donations")
		owner.sees(owner.get(settings), "Taking money", "Your campaign pages take gifts online.", "Test mode", "Send a test gift", "/hooks/stripe/"+account.ID, "checkout.session.completed")
		editor.wantStatus(editor.get(editor.org("/settings/donations")), http.StatusForbidden)
		refused := owner.post(settings, "once", "20 twenty", "monthly", "5", "min", "-1", "cover", "always", "rate", "99", "iban", "DE89370400440532013001", "notice", "no email")
		owner.wantStatus(refused, http.StatusUnprocessableEntity)
		owner.sees(refused, "One-time amounts must be amounts with spaces between them, such as 25 50 100.", "Smallest gift must be more than 0")
		if !strings.Contains(refused.body, `value="20 twenty"`) || !strings.Contains(refused.body, "DE89370400440532013001") {
			t.Error("the form has lost what was typed")
		}
		refused = owner.post(settings, "once", "20 40", "cover", "always", "rate", "99", "iban", "DE89370400440532013001", "notice", "no email", "max", "1")
		owner.sees(refused, "Percentage must be from 0 to 25 percent.", "IBAN must be an IBAN", "Tell staff about each gift must be a valid email address.", "Account holder is required with an IBAN")
		owner.follow(settings, "once", "$40, 20 1,000", "monthly", "10", "offers_monthly", "yes", "min", "10", "cover", "ticked", "rate", "2,2 %", "fixed", "0.30", "bank_name", "Harbor Light", "iban", "de89 3704 0044 0532 0130 00", "consent", "Send me news")
		shown := owner.get(settings)
		for _, part := range []string{`value="20 40 1000"`, `value="2.2"`, `value="0.3"`, `value="DE89 3704 0044 0532 0130 00"`, `value="Send me news"`} {
			if !strings.Contains(shown.body, part) {
				t.Errorf("the form lacks %s", part)
			}
		}
		owner.sees(shown, "Your campaign pages take gifts online and by bank transfer.")
		stranger := s.visitor()
		page := stranger.get("/coats")
		stranger.sees(page, "One-time", "Monthly", "$20", "$40", "$1,000", "$10", "Donate monthly")
		for _, link := range []string{`href="/coats/donate"`, `href="/coats/donate?amount=40"`, `href="/coats/donate?amount=10&amp;frequency=monthly"`, `href="/coats/donate?frequency=monthly"`} {
			if !strings.Contains(page.body, link) {
				t.Errorf("the page lacks %s", link)
			}
		}
		owner.follow(settings, "once", "20 40")
		if page := stranger.get("/coats"); strings.Contains(page.body, "frequency=monthly") || strings.Contains(page.body, "give-monthly\"") {
			t.Error("a page offers monthly gifts that the organization does not take")
		}
	})
}

// A key that a provider refuses is not kept, and no page shows it again.
func TestAKeyIsNeverShownAgain(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	s.useDesk()
	connect := owner.org("/settings/donations/connect")
	owner.sees(owner.post(connect, "key", " "), "Restricted key is required.")
	owner.sees(owner.post(connect, "key", "not_a_key_at_all"), "This is not a Stripe key. It begins with rk_live_, or with rk_test_ for test mode.")
	refused := owner.post(connect, "key", "not_a_key_at_all", "hook", "nonsense_secret", "host", "pay.example.org")
	owner.wantStatus(refused, http.StatusUnprocessableEntity)
	if strings.Contains(refused.body, "not_a_key_at_all") || strings.Contains(refused.body, "nonsense_secret") || !strings.Contains(refused.body, "pay.example.org") {
		t.Error("a refused form shows a secret, or lost what was typed")
	}
	s.connect(owner.account)
	page := owner.get(owner.org("/settings/donations"))
	owner.sees(page, "Replace the key")
	if strings.Contains(page.body, "pk_test_") {
		t.Error("the page shows the key")
	}
	owner.sees(owner.follow(owner.org("/settings/donations/test")), "The connection works.")
	owner.sees(owner.follow(owner.org("/settings/donations/disconnect")), "Disconnected.", "Your campaign pages can’t take gifts yet.")
}

// An owner hears before and after publishing that no one can give; visitors see no button that leads nowhere.
func TestACampaignWithoutAWayToGiveSaysSo(t *testing.T) {
	s := anySite(t)
	account := s.organization("Harbor Light")
	owner, editor, stranger := s.member(account, access.Owner), s.member(account, access.Editor), s.visitor()
	const caution = "Visitors can’t give on this campaign’s page"
	owner.sees(owner.get(owner.org("/campaigns/new")), "There is no way to give on this page yet.", "Set up a way to take money")
	draft := owner.follow(owner.org("/campaigns"), "title", "Coats", "status", "draft")
	owner.sees(draft, caution+" once it is published.", "Set up a way to take money")
	coats := s.campaign(account, `{"title":"Boots"}`)
	shown := owner.get(owner.campaignAddress(coats))
	owner.sees(shown, caution+", and see no Donate button.", "QR code")
	owner.doesNotSee(shown, "A button for your website")
	editor.sees(editor.get(editor.campaignAddress(coats)), "Ask an owner")
	stranger.doesNotSee(stranger.get("/boots"), "Donate")
	linked := s.campaign(account, `{"title":"Hats","payment_link":"https://pay.example.org"}`)
	shown = owner.get(owner.campaignAddress(linked))
	owner.doesNotSee(shown, caution)
	owner.sees(shown, "A button for your website")
	stranger.sees(stranger.get("/hats"), "Donate")
	s.connect(account)
	owner.doesNotSee(owner.get(owner.campaignAddress(coats)), caution)
	if page := stranger.get("/hats"); strings.Contains(page.body, "pay.example.org") || !strings.Contains(page.body, `href="/hats/donate"`) {
		t.Error("the form of ours does not come before the link to another page")
	}
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
	stranger.sees(page, "Share on WhatsApp", "Share on Bluesky", "Share by email")
	shown := owner.get(owner.campaignAddress(c))
	owner.sees(shown, "Share", "QR code", "A button for your website", `<a href="`+s.http.URL+`/coats/donate" style="display:inline-block`, s.http.URL+"/coats/donate?amount=50", s.http.URL+"/coats/donate?frequency=monthly")
	if !strings.Contains(shown.body, `src="/coats/qr.svg"`) {
		t.Error("the page lacks the code")
	}
	owner.follow(owner.campaignAddress(c) + "/status/draft")
	owner.doesNotSee(owner.get(owner.campaignAddress(c)), "A button for your website")
}

// A promise is on its list, counts nowhere, and says what was asked for.
func TestDonationsAreListed(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		coats, boots := s.campaign(account, `{"title":"Coats","goal":100}`), s.campaign(account, `{"title":"Boots"}`)
		made := s.promise(account, coats, donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org", Anonymous: true})
		s.promise(account, boots, donate.Wish{Company: "Lovelace Ltd", Email: "ltd@example.org"})
		viewer := s.member(account, access.Viewer)
		viewer.sees(viewer.get(viewer.org("/donations")), "Online donations", "Ada Byron", "Lovelace Ltd", "Promised", "$50")
		one := viewer.get(viewer.org("/donations?campaign=" + strconv.FormatInt(coats.ID, 10)))
		viewer.sees(one, "Ada Byron")
		viewer.doesNotSee(one, "Lovelace")
		viewer.sees(viewer.get(viewer.org("/donations?state=paid")), "No donations found")
		for _, asked := range []string{donate.Groups(made.Reference()), strings.ToLower(made.Reference()), " Ada@example.org"} {
			one = viewer.get(viewer.org("/donations?find=" + url.QueryEscape(asked)))
			viewer.sees(one, "Ada Byron")
			viewer.doesNotSee(one, "Lovelace")
		}
		viewer.sees(viewer.get(viewer.org("/donations?find=RF18000000")), "No donations found")
		viewer.sees(viewer.get(viewer.org("/donations?state=promised")), "Ada Byron", "Lovelace Ltd")
		viewer.sees(viewer.get(viewer.org("/donations?created_before=2001-01-01")), "No donations found")
		viewer.sees(viewer.get(viewer.org("/donations?created_after=2001-01-01")), "Ada Byron", "Lovelace Ltd")
		viewer.wantStatus(viewer.post(viewer.org("/settings/donations/delete-tests")), http.StatusForbidden)
		owner := s.member(account, access.Owner)
		owner.sees(owner.get(owner.org("/settings/donations")), "Delete test gifts")
		owner.sees(owner.get(owner.post(owner.org("/settings/donations/delete-tests")).location()), "0 test donations deleted")
		viewer.sees(viewer.get(viewer.org("/donations?state=review")), "Nothing to review")
		shown := viewer.get(viewer.org("/donations/" + made.ID))
		viewer.sees(shown, "$50 from Ada Byron", donate.Groups(made.Reference()), "ada@example.org", "Does not want to be named in public", "None yet")
		viewer.doesNotSee(shown, "Mark as received")
		viewer.sees(s.visitor().get("/coats"), "$0 raised of $100")
	})
}

// seenIn is which state of a thing a form was opened with.
func seenIn(a answer) string {
	_, rest, _ := strings.Cut(a.body, `name="seen" value="`)
	seen, _, _ := strings.Cut(rest, `"`)
	return seen
}

// A gift that a provider has taken goes back there, and the page says so before.
func TestAnOnlineGiftIsRefundedWhereItWasPaid(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		desk := s.connect(account)
		d := s.give(desk, account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
		editor := s.member(account, access.Editor)
		page := editor.get(editor.org("/gifts/" + d.Gift))
		editor.sees(page, "The money then goes back through the test provider")
		refund := editor.org("/gifts/" + d.Gift + "/refund")
		asked := editor.post(refund, "amount", "20", "seen", seenIn(page))
		editor.sees(asked, "Nothing was refunded yet.", "The money goes back to the donor through the test provider.", "Refund gift")
		editor.sees(editor.follow(refund, "amount", "20", "seen", seenIn(asked), "decision", "record"), "$20 was refunded.", "$30")
		is, err := s.store.GiftRecord(t.Context(), account.Number, d.Gift)
		if err != nil || is.Left() != 3000 || len(is.Entries) != 2 {
			t.Errorf("%v: the ledger is %+v", err, is.Entries)
		}
		editor.sees(s.visitor().get("/coats"), "$30 raised of $100", "1 donor")
		donation, list := editor.org("/donations/"+d.ID), editor.org("/donations")
		editor.sees(editor.get(donation), "$20 refunded")
		editor.sees(editor.get(editor.org("/gifts/"+d.Gift)), "Status Partly refunded")
		page = editor.get(editor.org("/gifts/" + d.Gift))
		editor.follow(refund, "amount", "30", "seen", seenIn(page), "decision", "record")
		for _, path := range []string{donation, list, editor.org("/gifts"), editor.org("/contacts/" + strconv.FormatInt(is.Contact, 10))} {
			shown := editor.get(path)
			editor.sees(shown, "Refunded")
			if strings.Contains(shown.body, ">Paid</span>") {
				t.Errorf("%s says that the gift is paid", path)
			}
		}
		editor.sees(editor.get(editor.org("/gifts/"+d.Gift)), "Status Refunded")
	})
}

// Before a refund, the page says to whom an email about it goes; where mail may not go, it says nothing.
func TestARefundSaysWhoHearsOfIt(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
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
				p.doesNotSee(asked, "An email about the refund")
			} else {
				p.sees(asked, "An email about the refund goes to zoe@example.org.")
			}
		}
	})
}

// What was promised is not called a gift that came.
func TestANoticeSaysThatAPledgeIsOne(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		contact := s.contact(p, "Zoë", "Okafor")
		for status, said := range map[string]string{
			"pending": "Recorded a pledge of $1,200 from Zoë Okafor.", "failed": "Recorded a failed gift of $1,200 from Zoë Okafor.",
			"": "Recorded $1,200 from Zoë Okafor.",
		} {
			a := p.follow(contact+"/gifts", "amount", "1200", "transacted_at", "2026-01-31", "method", "check", "status", status)
			p.sees(a, said)
		}
	})
}

// What is changed about a recurring gift is changed where it is taken, and what is decided there is not offered here.
func TestARecurringGiftIsChangedWhereItIsTaken(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		desk := s.connect(account)
		d := s.give(desk, account, s.campaign(account, `{"title":"Coats"}`), donate.Wish{Frequency: "monthly", FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
		editor := s.member(account, access.Editor)
		plan := editor.org("/plans/" + d.GiftPlan)
		page := editor.get(plan)
		editor.sees(page, "The test provider takes these gifts: they are recorded automatically", "Pause gifts", "End this recurring gift at the test provider? Nothing more is charged, and it can’t be resumed")
		editor.doesNotSee(page, "Record this gift")
		p := must(s.store.Plan(t.Context(), account.Number, d.GiftPlan))(t)
		contact := "/contacts/" + strconv.FormatInt(p.Contact, 10)
		editor.sees(editor.get(editor.org(contact)), "Next gift", "The donation page")
		editor.doesNotSee(editor.get(editor.org(contact)), "Record this gift", "Someone")
		editor.doesNotSee(editor.get(editor.org("/plans")), "Record gift")
		there := func(want giving.PlanStatus, amount int64) {
			t.Helper()
			c := must(desk.Open(donate.Connection{Provider: pay.PretendName, Account: account.ID}))(t)
			is, err := c.Look(t.Context(), donate.Ref{Kind: donate.PlanRef, ID: d.Plan})
			if err != nil || is.Plan.Status != want || is.Plan.Amount != amount {
				t.Errorf("%v: at the provider the plan is %+v", err, is.Plan)
			}
		}
		editor.sees(editor.follow(plan+"/pause"), "was paused.", "Resume gifts")
		there(giving.Paused, 5000)
		editor.doesNotSee(editor.get(editor.org(contact)), "Next gift")
		editor.sees(editor.follow(plan+"/resume"), "was resumed.")
		there(giving.ActivePlan, 5000)
		form := editor.get(plan + "/edit")
		editor.sees(form, "agree on it with the donor first")
		editor.doesNotSee(form, "Next gift", "Frequency")
		values := append(formValues(t, form.body), "amount", "35")
		editor.sees(editor.follow(plan, append([]string{"amount", "35"}, values...)...), "Changes saved.", "$35")
		there(giving.ActivePlan, 3500)
		refused := editor.post(plan, append([]string{"frequency", "yearly"}, formValues(t, editor.get(plan+"/edit").body)...)...)
		editor.sees(refused, "is set at the payment provider, which takes these gifts")
		ended := editor.follow(plan + "/end")
		editor.sees(ended, "was ended.")
		editor.doesNotSee(ended, "Undo", "Resume gifts")
		there(giving.Ended, 3500)
		editor.sees(editor.follow(plan+"/resume"), "This recurring gift has ended at the payment provider")
	})
}

// What needs a person says why and what to do, on the list, on its page and on the home page, until someone has looked.
func TestWhatNeedsAPersonSaysSo(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		desk := s.connect(account)
		coats := s.campaign(account, `{"title":"Coats"}`)
		s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
		d := s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Charles", LastName: "Babbage", Email: "ada@example.org"})
		editor := s.member(account, access.Editor)
		editor.sees(editor.get(editor.org("")), "1 donation to review")
		list := editor.get(editor.org("/donations?state=review"))
		editor.sees(list, "Charles Babbage", "Please review", "has another name")
		editor.doesNotSee(list, "Ada Byron")
		page := editor.org("/donations/" + d.ID)
		editor.sees(editor.get(page), "has another name", "Check that it is the right person", "Recorded for Ada Byron", "View gift", "Demo")
		editor.sees(editor.get(editor.org("/gifts/"+d.Gift)), "from Charles Babbage", "Contact Ada Byron Given as Charles Babbage")
		succeed(t, s.store.UpdateShared(t.Context(), account.Number, func(tx *store.Tx) error {
			return tx.Run(`UPDATE donation SET doubt = 'name dispute' WHERE account_id = $1 AND id = $2`, account.Number, d.ID)
		}))
		editor.sees(editor.follow(page+"/reviewed", "reason", "dispute"), "Marked as reviewed.", "needs your attention for another reason, too", "has another name")
		editor.sees(editor.follow(page+"/reviewed", "reason", "name"), "Marked as reviewed.", "Nothing to review")
		editor.doesNotSee(editor.get(editor.org("")), "to review")
	})
}

// A promise becomes a gift on the day on which its money came.
func TestAPromiseIsReceived(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		d := s.promise(account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
		editor := s.member(account, access.Editor)
		page := editor.org("/donations/" + d.ID)
		editor.sees(editor.get(page), "Has it arrived?", donate.Groups(d.Reference()), "This records a gift from Ada Byron for Coats , paid by bank transfer. The gift then waits on the list To thank . You can undo this.")
		now := time.Now().UTC()
		today := now.Format(time.DateOnly)
		for day, said := range map[string]string{"yesterday": "Received on must be a date", now.AddDate(0, 0, -1).Format(time.DateOnly): "Received on must not be before " + now.Format("January 2, 2006") + ", the day on which this was promised.",
			now.AddDate(0, 0, 1).Format(time.DateOnly): "Received on must not be in the future."} {
			refused := editor.post(page+"/receive", "day", day, "amount", "50")
			editor.wantStatus(refused, http.StatusUnprocessableEntity)
			editor.sees(refused, said)
		}
		editor.sees(editor.post(page+"/receive", "day", today, "amount", "fifty"), "Amount must be more than 0")
		editor.sees(editor.follow(page+"/receive", "day", today), "$50 from Ada Byron was received and recorded as a gift.", "Paid", "View gift", "Undo")
		editor.sees(editor.post(page+"/receive", "day", today), "not a promise")
		editor.sees(s.visitor().get("/coats"), "$50 raised of $100")
	})
}

// A promise that was marked as received by mistake waits again, and what was recorded for it counts nowhere. Then it may be received with what has really come.
func TestAPromiseThatHasNotArrivedWaitsAgain(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.store.UseRelay(new(mails.Shelf))
		account := s.organization("Harbor Light")
		d := s.promise(account, s.campaign(account, `{"title":"Coats","goal":100}`), donate.Wish{FirstName: "Ada", LastName: "Byron", Email: "ada@example.org"})
		editor, viewer := s.member(account, access.Editor), s.member(account, access.Viewer)
		page := editor.org("/donations/" + d.ID)
		undo, today := page+"/receive/undo", time.Now().UTC().Format(time.DateOnly)
		editor.sees(editor.get(page), "A thank-you goes to ada@example.org right away, with a receipt if one can be made. If a contact with this email has another name, it waits until you have reviewed that.")
		editor.sees(editor.follow(undo), "Nothing was changed.", "not marked as received")
		editor.follow(page+"/receive", "day", today, "amount", "50")
		succeed(t, s.store.SendDue(t.Context(), "https://donors.example", func(err error) { t.Error(err) }))
		viewer.doesNotSee(viewer.get(page), "It hasn’t arrived")
		viewer.wantStatus(viewer.post(undo), http.StatusForbidden)
		editor.sees(editor.get(page), "It hasn’t arrived")
		editor.sees(editor.follow(undo), "$50 from Ada Byron was canceled. This donation waits for its money again.", "A thank-you was already mailed to ada@example.org.", "Promised", "Has it arrived?")
		owner := s.member(account, access.Owner)
		if mails := owner.get(owner.org("/settings/mail")); !strings.Contains(mails.body, `/search?q=ada%40example.org"`) {
			t.Error("the list of mails does not lead to the donor")
		}
		editor.sees(s.visitor().get("/coats"), "$0 raised of $100")
		editor.sees(editor.get(editor.org("/gifts")), "Canceled")
		editor.sees(editor.follow(page+"/receive", "day", today, "amount", "60"), "$60 from Ada Byron was received and recorded as a gift.", "View gift of $60")
		editor.sees(s.visitor().get("/coats"), "$60 raised of $100", "1 donor")
		gift := must(s.store.DonationByID(t.Context(), account.Number, d.ID))(t)
		refund := editor.org("/gifts/" + gift.Gift + "/refund")
		editor.follow(refund, "amount", "10", "seen", seenIn(editor.get(editor.org("/gifts/"+gift.Gift))), "decision", "record")
		editor.sees(editor.follow(undo), "Nothing was changed.", "Undo the refund on the page of the gift first.")
	})
}

// Who does not want to be named on the page is not, neither for a gift nor for the gifts of a plan, online or by a transfer.
func TestAPageNamesNoOneWhoDoesNotWantIt(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		account := s.organization("Harbor Light")
		owner := s.member(account, access.Owner)
		coats := s.campaign(account, `{"title":"Coats"}`)
		promised := s.promise(account, coats, donate.Wish{FirstName: "Grace", LastName: "Hopper", Email: "grace@example.org", Anonymous: true})
		desk := s.connect(account)
		s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Ada", LastName: "Byron", Email: "ada@example.org", Anonymous: true})
		s.give(desk, account, coats, donate.Wish{Frequency: "monthly", FirstName: "Joan", LastName: "Clarke", Email: "joan@example.org", Anonymous: true})
		s.give(desk, account, coats, donate.Wish{Frequency: donate.Once, FirstName: "Alan", LastName: "Turing", Email: "alan@example.org"})
		owner.follow(owner.org("/donations/"+promised.ID+"/receive"), "day", time.Now().UTC().Format(time.DateOnly))
		owner.follow(owner.org("/settings/public"), "public_donors", "amounts")
		page := s.visitor().get("/coats")
		owner.sees(page, "Recent donors", "Alan T.", "Anonymous")
		owner.doesNotSee(page, "Ada", "Joan", "Grace")
		if n := strings.Count(page.words(), "Anonymous"); n != 3 {
			t.Errorf("%d of 3 givers are anonymous", n)
		}
	})
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
	page := owner.get(owner.org("/gifts/" + d.Gift))
	owner.sees(owner.post(owner.org("/gifts/"+d.Gift+"/refund"), "amount", "20", "seen", seenIn(page), "decision", "record"), said)
	owner.sees(owner.follow(owner.org("/plans/"+d.GiftPlan+"/pause")), said)
	form := formValues(t, owner.get(owner.org("/plans/"+d.GiftPlan+"/edit")).body)
	owner.sees(owner.post(owner.org("/plans/"+d.GiftPlan), append([]string{"amount", "70"}, form...)...), said)
	owner.sees(owner.follow(owner.org("/settings/donations/test")), said)
	owner.sees(owner.post(owner.org("/settings/donations/connect"), "key", "rk_test_1234567890"), said)
	gift, err := s.store.GiftRecord(t.Context(), account.Number, d.Gift)
	plan, planErr := s.store.Plan(t.Context(), account.Number, d.GiftPlan)
	if err != nil || planErr != nil || gift.Left() != 5000 || plan.Status != giving.ActivePlan || plan.Amount != 5000 {
		t.Errorf("%v %v: the gift is %+v, the plan %+v", err, planErr, gift.Gift, plan)
	}
}
