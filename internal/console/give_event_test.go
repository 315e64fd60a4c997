package console_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	form "donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/pay"
	"donorbook/internal/rig"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/mails"
)

// strangeDesk opens a provider that fails as a test wants. Its events are signed by the word good.
type strangeDesk struct {
	*pay.Desk
	start func(*form.Order) (form.Handover, error)
	sees  func(*form.Snapshot)
}

type strangeProvider struct {
	form.Provider
	desk *strangeDesk
}

func (d *strangeDesk) Open(c form.Connection) (form.Provider, error) {
	p, err := d.Desk.Open(c)
	return &strangeProvider{p, d}, err
}

func (p *strangeProvider) Start(ctx context.Context, o *form.Order) (form.Handover, error) {
	if p.desk.start != nil {
		return p.desk.start(o)
	}
	return p.Provider.Start(ctx, o)
}

func (p *strangeProvider) Look(ctx context.Context, ref form.Ref) (form.Snapshot, error) {
	is, err := p.Provider.Look(ctx, ref)
	if err == nil && p.desk.sees != nil {
		p.desk.sees(&is)
	}
	return is, err
}

func (p *strangeProvider) Verify(header func(string) string, body []byte, now time.Time) (form.Hint, error) {
	switch header("Signature") {
	case "late":
		return form.Hint{At: now.Add(-12 * time.Minute)}, form.ErrForged
	case "good":
	default:
		return form.Hint{}, form.ErrForged
	}
	return form.Hint{Event: string(body[:min(40, len(body))]), Kind: "test", Declined: strings.HasPrefix(string(body), "declined"), At: now}, nil
}

// strange makes the site ask a provider that fails as a test wants.
func (s *testSite) strange() *strangeDesk {
	d := &strangeDesk{Desk: s.desk}
	s.store.UseDesk(d, donations.NewKeys(filepath.Join(s.t.TempDir(), "key")), "US")
	s.connect()
	return d
}

func (s *testSite) event(path, signature, body string) answer {
	s.t.Helper()
	request := must(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.http.URL+path, strings.NewReader(body)))(s.t)
	request.Header.Set("Signature", signature)
	request.Header.Set("Content-Type", "application/json")
	return s.visitor().send(request)
}

// Nothing is kept of an event whose signature is wrong, and what is not for an organization's provider is not found.
func TestEventsAreTakenWhereTheyAreGenuine(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Check: "Harbor Light"})
	s.strange()
	s.store.UseRelay(new(mails.Shelf))
	path := "/hooks/pretend/" + s.owner.account.ID
	for _, test := range []struct {
		path, signature, body string
		status                int
	}{
		{path, "good", "evt_1", 204},
		{path, "good", "evt_1", 204}, // once more
		{path, "bad", "evt_2", 400},
		{path, "", "", 400},
		{path, "good", strings.Repeat("x", 256<<10), 204},
		{path, "good", strings.Repeat("x", 256<<10+1), 413},
		{"/hooks/stripe/" + s.owner.account.ID, "good", "evt_3", 404},
		{"/hooks/pretend/" + strings.Repeat("x", 16), "good", "evt_3", 404},
		{"/hooks/pretend/" + s.organization("Other").ID, "good", "evt_3", 404},
	} {
		s.event(test.path, test.signature, test.body).is(test.status)
	}
	settings, wrong := s.owner.org("/settings/donations"), "The clock of this server is about 12 minutes fast, so what the payment provider tells is refused"
	s.owner.get(settings).lacks(wrong, "Delete test gifts")
	s.event(path, "late", "evt_4")
	s.owner.get(settings).sees(wrong)
	s.event(path, "bad", "evt_5")
	s.owner.get(settings).sees(wrong)
	s.event(path, "good", "evt_6")
	s.owner.get(settings).lacks(wrong)
	for i := range 40 { // the same decline again and again is one
		s.event(path, "good", "declined once")
		if i < 30 {
			s.event(path, "good", fmt.Sprintf("declined %d", i))
		}
	}
	if bits := s.visitor().zeros(); bits != 10 {
		t.Errorf("after 31 declines the puzzle has %d bits", bits)
	}
	told, err := s.store.RecentMails(t.Context(), s.owner.account.Number, 10)
	if err != nil || len(told) != 1 {
		t.Errorf("the owner is told %+v %v", told, err)
	}
}

// What a provider does wrong costs the giver nothing, and the form stays as it was typed.
func TestAProviderThatFailsLeavesTheForm(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Check: "Harbor Light"})
	desk := s.strange()
	handover := func(url string) func(*form.Order) (form.Handover, error) {
		return func(*form.Order) (form.Handover, error) {
			return form.Handover{URL: url, Session: form.Ref{Kind: form.SessionRef, ID: "x"}}, nil
		}
	}
	refused := func(reason form.Reason) func(*form.Order) (form.Handover, error) {
		return func(*form.Order) (form.Handover, error) {
			return form.Handover{}, &form.Refused{Reason: reason, Text: "No such card type."}
		}
	}
	for _, test := range []struct {
		start  func(*form.Order) (form.Handover, error)
		status int
		says   []string
	}{
		{refused(form.Temporary), 503, []string{"doesn’t answer at the moment", "Nothing was charged"}},
		{refused(form.Definite), 422, []string{"could not be started", "No such card type."}},
		{handover("javascript:alert(1)"), 502, []string{"named no page of its own"}},
		{handover("http://evil.example/pay"), 502, []string{"named no page of its own"}},
		{handover("https://a@evil.example/pay"), 502, []string{"named no page of its own"}},
		{refused(form.NoKey), 503, []string{"can’t take payments online", "Check by mail"}},
	} {
		p := s.visitor()
		typed := append(p.opens("/coats/donate"), append(ana, "way", "online")...)
		desk.start = test.start
		a := p.post("/coats/donate", typed...)
		a.is(test.status).sees(test.says...)
		if a.header.Get("Refresh") != "" {
			t.Errorf("led to %s", a.header.Get("Refresh"))
		}
		if test.status != 502 && (!strings.Contains(a.body, `value="Okafor"`) || !strings.Contains(a.body, `value="`+typed[1]+`"`)) {
			t.Errorf("the form is lost: %s", a.words())
		}
		s.now = s.now.Add(11 * time.Minute) // without a puzzle, two in ten minutes
	}
	s.visitor().get("/coats/donate").lacks("Pay online") // the key was revoked
}

// A monthly gift is ended by the link of its thank-you: one mail, a page, a button.
func TestAMonthlyGiftIsEndedByItsThankYou(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{})
	s.strange()
	s.store.UseRelay(new(mails.Shelf))
	p := s.visitor()
	typed := append(remove(append(p.opens("/coats/donate"), ana...), "frequency"), "frequency", "monthly")
	p.get(p.post(p.gives(typed...), "do", "pay").location()).sees("Thank you!")
	thanks := s.mailed("Change or end my gift")
	p.get(thanks.Path).sees("$25.00 every month", "Active", "End monthly gift", "Send me the link").lacks("New amount", "Ana")
	p.post(thanks.Path, "do", "amount", "amount", "400").is(404) // no form of this page asks for it
	p.get(thanks.Path).sees("$25.00 every month")
	p.post(thanks.Path, "do", "end").sees("Your monthly gift has ended.")
	p.get(thanks.Path).sees("Ended").lacks("End monthly gift")
}

// mailed is the newest mail whose button says something.
func (s *testSite) mailed(button string) *mail.Letter {
	s.t.Helper()
	succeed(s.t, s.store.SendDue(s.t.Context(), s.http.URL, func(err error) { s.t.Error(err) }))
	letters, _ := s.store.Shelved()
	for _, l := range letters {
		if l.Action.String() == button {
			return l
		}
	}
	s.t.Fatalf("no mail has the button %q", button)
	return nil
}

// A promise is confirmed by the button of a page that its email leads to; a program that opens links confirms nothing.
func TestAPromiseIsConfirmedByTheButtonOfItsPage(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Check: "Harbor Light\n12 Wharf Street"})
	s.store.UseRelay(new(mails.Shelf))
	p := s.visitor()
	sent := p.post("/coats/donate", append(p.opens("/coats/donate"), "way", "check", "once", "50", "first_name", "Ana",
		"last_name", "Okafor", "email", "ana@example.org")...)
	p.get(sent.location()).sees("12 Wharf Street", "We emailed you these details.")
	letter := s.mailed("Confirm my gift")
	if words := letter.Text(); letter.To.String() != "ana@example.org" || !strings.Contains(words, "12 Wharf Street") ||
		!strings.Contains(words, "$50.00") || !strings.Contains(words, "RF") {
		t.Errorf("%s is told %s", letter.To, words)
	}
	list := s.owner.org("/donations")
	s.owner.get(list).sees("Ana Okafor", "Promised", "Not confirmed")
	p.get(letter.Path).sees("Confirm your gift", "You promised a check for $50.00", "Confirm my gift").lacks("Ana")
	s.owner.get(list).sees("Not confirmed")
	p.get(letter.Path[:len(letter.Path)-1]).sees("Your monthly gift") // as any link that is wrong
	p.post(letter.Path).sees("Your gift of $50.00", "is confirmed")
	p.get(letter.Path).sees("is confirmed")
	s.owner.get(list).lacks("Not confirmed")
	p.get(sent.location()).lacks("We emailed you")
	s.now = s.now.Add(48 * time.Hour)
	s.owner.get(list).sees("Ana Okafor")
}

// A giver changes a monthly gift by a link that works once. The link of an old mail says nothing of the gift, and has a fresh one sent to the address on file.
func TestAGiverManagesAMonthlyGift(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{})
	desk, shelf := s.strange(), new(mails.Shelf)
	s.store.UseRelay(shelf)
	s.owner.follow("settings/organization", "name", "Harbor Light", "timezone", "America/New_York")
	paid := s.now.UTC().Truncate(24 * time.Hour).Add(-22 * time.Hour) // at 2 AM, which is the day before in New York
	s.desk.Now = func() time.Time { return paid }
	p := s.visitor()
	typed := append(remove(append(p.opens("/coats/donate"), ana...), "frequency"), "frequency", "monthly")
	to := p.post(p.gives(typed...), "do", "pay").location()
	p.get(to).sees("Thank you!", "$25.00 every month", "A thank-you is on its way to your email. It has a link to change or stop your gift.")
	old := "/give/" + form.ManageLink(s.owner.account.ID, mustURL(t, to).Query().Get("d")[:16], "")
	send := func() {
		s.send()
	}
	fresh := func() string {
		s.now = s.now.Add(2 * time.Minute)
		p.post(old).sees("a link is on its way")
		return s.mailed("See my monthly gift").Path
	}
	p.get(old).sees("we send you a link that works for 15 minutes", "Harbor Light").lacks("$25.00", "Ana", "expired")
	for _, other := range []string{"/give/x", "/give/" + strings.Repeat("A", 16) + "." + strings.Repeat("B", 16) + ".C", "/give/" + form.ManageLink(s.owner.account.ID, strings.Repeat("B", 16), "")} {
		p.get(other).sees("Your monthly gift", "to the email address that we have")
		p.post(other).sees("a link is on its way")
	}
	link := fresh()
	p.get(link).sees("$25.00 every month", "Active", "Pause", "Next payment "+paid.AddDate(0, 1, -1).Format("Jan 2, 2006")).lacks("Ana", "Okafor")
	p.post(link, "do", "amount", "amount", "").sees("Enter an amount, such as $25.00.")
	p.post(link, "do", "amount", "amount", "2").is(422).sees("The smallest gift here is $5.")
	p.post(link, "do", "amount", "amount", "40").is(200).sees("Your monthly gift was changed.", "$40.00 every month", "Send me another link")
	p.get(link).sees("This link was used or has expired")
	p.post(fresh(), "do", "pause").sees("Your monthly gift is paused", "Paused")
	p.post(fresh(), "do", "resume").sees("goes on", "Active")
	link = fresh()
	s.now = s.now.Add(16 * time.Minute)
	p.get(link).sees("This link was used or has expired").lacks("$40.00")
	p.post(link, "do", "end").sees("a link is on its way") // and no more
	send()
	desk.sees = func(is *form.Snapshot) { is.Plan.Status = giving.PastDue }
	link = fresh()
	p.get(link).sees("The last payment failed. Another card may help.", "Use another card")
	desk.sees = nil
	if a := p.post(link, "do", "card"); !strings.HasSuffix(a.header.Get("Refresh"), link) { // the provider without money has nothing to ask
		t.Errorf("%d %v", a.status, a.header)
	}
	p.post(link, "do", "end").sees("Your monthly gift has ended", "Ended")
}

// remove takes a field out of a form.
func remove(typed []string, name string) (kept []string) {
	for i := 0; i+1 < len(typed); i += 2 {
		if typed[i] != name {
			kept = append(kept, typed[i], typed[i+1])
		}
	}
	return kept
}
