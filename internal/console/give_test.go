package console_test

import (
	"bytes"
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/pay"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
)

// testSite is a site that takes gifts, with a campaign called Coats.
type testSite struct {
	*site
	owner *person
	desk  *pay.Desk
	coats int64 // the id of the campaign
}

// takesGifts makes a site with these settings.
func takesGifts(t *testing.T, set donate.Settings) *testSite {
	t.Helper()
	made := &testSite{desk: pay.NewDesk("")}
	made.site = siteOn(t, rig.SQLite, func(o *console.Options) { o.Pretended = made.desk.Pretended })
	made.desk.Now = func() time.Time { return made.now }
	made.store.UseDesk(made.desk, donations.NewKeys(filepath.Join(t.TempDir(), "key")), "US")
	made.owner = made.member(made.organization("Harbor Light"), access.Owner)
	made.owner.follow("settings/giving", "currency", "USD")
	succeed(t, made.store.SaveDonationSettings(t.Context(), made.owner.account.Number, set))
	made.coats = made.campaign(made.owner.account, `{"title":"Coats"}`).ID
	return made
}

// connect has the organization take payments without money.
func (s *testSite) connect() *testSite {
	s.t.Helper()
	must(s.store.Connect(s.t.Context(), s.owner.account, donations.Connecting{Provider: pay.PretendName, Key: "none"},
		s.http.URL))(s.t)
	return s
}

// opens a form, and returns what it holds.
func (p *person) opens(path string) []string {
	p.site.t.Helper()
	return hiddenFields(p.get(path).is(200))
}

// fills is the form of Coats with what a test and Ana type into it: the first value of a name counts.
func (p *person) fills(first ...string) []string {
	p.site.t.Helper()
	return slices.Concat(p.opens("/coats/donate"), first, ana)
}

var ana = []string{"frequency", "once", "once", "50", "monthly", "25", "first_name", "Ana", "last_name", "Okafor",
	"email", "ana@example.org"}

// gives sends a typed, and returns the address that it hands over to.
func (p *person) gives(typed ...string) string {
	p.site.t.Helper()
	a := p.post("/coats/donate", typed...)
	a.is(200)
	_, to, found := strings.Cut(a.header.Get("Refresh"), "0; url=")
	if !found || !strings.Contains(a.body, `href="`+to+`"`) {
		p.site.t.Fatalf("no page to go on to: %q %s", a.header.Get("Refresh"), a.words())
	}
	u := mustURL(p.site.t, to)
	equal(p.site.t, u.Host, mustURL(p.site.t, p.site.http.URL).Host, "handed over to %s", to)
	return u.Path
}

func TestAVisitorGives(t *testing.T) {
	s := takesGifts(t, donate.Settings{Consent: "Send me news.", Cover: donate.OfferCover,
		Rate: donate.Rate{Points: 290, Fixed: 30}})

	s.connect()
	p := s.visitor()
	a := p.get("/coats/donate")
	a.is(200).sees("Donate to Coats", "Harbor Light", "One-time", "Monthly", "$250", "Amount per month",
		"Nothing is added for the software", "Send me news.", "About 2.9% + $0.30", "Test mode").
		with("Cache-Control", "no-store", "Set-Cookie", "")
	contains(t, a.header.Get("Content-Security-Policy"), "form-action 'self'", "%v", a.header)
	typed := p.fills()
	session := p.gives(append(typed, "cover", "yes", "consent", "yes", "dedication", "in_memory_of", "dedicated_to",
		"Zoë Lee")...)
	equal(t, p.gives(append(typed, "cover", "yes", "consent", "yes", "dedication", "in_memory_of", "dedicated_to",
		"Zoë Lee")...), session, "a second click is a second payment")
	p.get(session).sees("This is a test payment", "Donation to Coats", "$51.81")
	p.post(session, "do", "decline").sees("Your card was declined")
	paid := p.post(session, "do", "pay")
	paid.is(303)
	p.get(paid.location()).sees("Thank you!", "$51.81", "received", "No money was moved").
		lacks("Ana", "Okafor", "ana@example.org", "Zoë", "your email").
		with("Refresh", "", "Referrer-Policy", "no-referrer", "Cache-Control", "no-store")
	s.owner.get("gifts?test=yes").sees("Ana Okafor")
	s.now = s.now.Add(25 * time.Hour)
	p.get(paid.location()).sees("Thank you!").lacks("$51.81")
}

// What is in the address of a page of thanks is not guessed from the id of the donation, and says nothing at the
// address of another campaign.
func TestAPageOfThanksIsForWhoHasItsAddress(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	s.campaign(s.owner.account, `{"title":"Boats"}`)
	p := s.visitor()
	typed := p.fills()
	to := p.post(p.gives(typed...), "do", "debit").location()
	p.get(to).sees("on its way", "$50.00")
	id := mustURL(t, to).Query().Get("d")[:16]
	for _, other := range []string{"/coats/thanks", "/coats/thanks?d=" + id, "/coats/thanks?d=" + id +
		strings.Repeat("A", 22), "/coats/thanks?d=%00", "/boats" + strings.TrimPrefix(to, "/coats")} {
		p.get(other).sees("Thank you!").lacks("$50.00", "on its way")
	}
}

// Who comes back from the payment page without paying finds the form as it was sent, for an hour. Sent again, it is
// the same gift.
func TestAGiverComesBackToTheForm(t *testing.T) {
	s := takesGifts(t, donate.Settings{Consent: "Send me news.", Cover: donate.TickedCover,
		Rate: donate.Rate{Points: 290, Fixed: 30}}).connect()
	p := s.visitor()
	typed := p.fills("dedication", "in_memory_of", "dedicated_to", "Joe", "consent", "yes")
	session := p.gives(typed...)
	back := p.post(session, "do", "back").location()
	if !strings.HasPrefix(back, "/coats/donate?amount=50&d=") {
		t.Error(back)
	}
	a := p.get(back)
	a.sees("Nothing was charged. Here is your gift as you left it.").
		has(`value="Okafor"`, `value="ana@example.org"`, `value="Joe"`, `name="consent" value="yes" checked`,
			`value="in_memory_of" selected`).hides(`name="cover" value="yes" checked`).
		with("Referrer-Policy", "no-referrer")
	// until it is known what was paid, the page of thanks looks again by itself
	token := mustURL(t, back).Query().Get("d")
	p.get("/coats/thanks?d="+token).with("Refresh", "5")
	equal(t, p.gives(append(append(p.opens(back), ana...), "dedication", "in_memory_of", "dedicated_to", "Joe",
		"consent", "yes")...), session, "sent again, it leads")
	equal(t, s.begun(), 1, "sent again, it leads")
	s.now = s.now.Add(2 * time.Hour)
	for _, late := range []string{back, "/coats/donate?d=" + strings.Repeat("A", 38)} {
		a = p.get(late)
		a.sees("Donate to Coats").lacks("Nothing was charged").hides("Okafor")
	}
}

func TestAFormIsShownAgainAsItWasTyped(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	p := s.visitor()
	typed := p.opens("/coats/donate")
	p.post("/coats/donate", append(typed, "frequency", "monthly", "monthly", "other", "other_amount", "fi'<ve",
		"first_name", "Ana", "email", "ana@", "company", "Blue Heron", "dedicated_to", "Zoë")...).is(422).
		sees("3 things need your attention", "Enter an amount, such as $25.00.", "Enter your last name.",
			"Enter an email address such as ana@example.org.").
		has(`value="fi&#39;&lt;ve"`, `href="#f-other_amount"`, `href="#f-email"`,
			`value="monthly" id="f-frequency-monthly" checked`, `value="other" id="f-monthly-other" checked`,
			`value="Blue Heron"`, `<details class="more" open>`, `aria-invalid="true"`, `autofocus`,
			`name="donation" value="`+typed[1]+`"`)
	equal(t, s.begun(), 0, "a refused typed has begun")
}

// begun counts the donations that were begun.
func (s *testSite) begun() int64 {
	s.t.Helper()
	_, found := must2(s.store.Donations(s.t.Context(), s.owner.account.Number, donate.Filter{},
		crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
	return found.Total
}

func TestALinkFillsAFormAndNeverBreaksIt(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	p := s.visitor()
	p.get("/coats/donate?amount=75&frequency=monthly").
		has(`value="75"`, `value="monthly" id="f-frequency-monthly" checked`,
			`value="other" id="f-monthly-other" checked`)
	for _, query := range []string{"amount=%22%3E%3Cscript%3E", "amount=-1&frequency=daily",
		"amount=" + strings.Repeat("9", 3000), "%zz"} {
		p.get("/coats/donate?" + query).is(200).has(`id="f-once-1" checked`).hides(`"><script>`)
	}
}

func TestAFormThatTakesNothingSaysWhy(t *testing.T) {
	s := takesGifts(t, donate.Settings{})
	s.campaign(s.owner.account, `{"title":"Elsewhere","payment_link":"https://pay.example.org/x"}`)
	s.campaign(s.owner.account, `{"title":"Over","end_at":"2020-01-01 00:00:00"}`)
	p := s.visitor()
	p.get("/coats/donate").sees("Harbor Light doesn’t take donations on this page at the moment.")
	p.get("/elsewhere/donate").has(`href="https://pay.example.org/x"`)
	s.connect()
	p.get("/over/donate").sees("This campaign has ended and no longer accepts donations.")
	typed := p.fills()
	s.owner.follow(fmt.Sprintf("campaigns/%d/status/closed", s.coats))
	p.post("/coats/donate", typed...).is(422).sees("This campaign is closed and no longer accepts donations.")
	s.owner.follow(fmt.Sprintf("campaigns/%d/status/draft", s.coats))
	p.get("/coats/donate").is(404)
	p.post("/coats/donate", typed...).is(404)
	s.owner.get("/coats/donate").sees("isn’t published yet")
	p.get("/nothing/donate").is(404)
	p.get("/coats/other").is(404)
}

func TestATransferIsPromisedWithItsReference(t *testing.T) {
	bank := donate.Bank{Name: "Förderverein Hafenlicht e. V. " + strings.Repeat("ü", 40),
		IBAN: "DE89370400440532013000", BIC: "COBADEFFXXX"}
	s := takesGifts(t, donate.Settings{Bank: bank, Check: "Harbor Light\n12 Wharf Street"})
	s.owner.follow("settings/giving", "currency", "EUR")
	s.campaign(s.owner.account, `{"title":"Euros","currency":"EUR"}`)
	p := s.visitor()
	p.get("/euros/donate").sees("Bank transfer", "Check by mail").lacks("Monthly", "Pay online", "Test mode")
	typed := append(p.opens("/euros/donate"), "once", "other", "other_amount", "12,50", "first_name", "Ana",
		"last_name", "Okafor", "email", "ana@example.org")
	sent := p.post("/euros/donate", append(typed, "way", "transfer")...)
	sent.is(303)
	a := p.get(sent.location())
	a.sees("One step is left", "DE89 3704 0044 0532 0130 00", "€12.50", "RF", "COBADEFFXXX").
		lacks("Ana", "No money was moved")
	code := p.get("/euros/qr.svg"+html.UnescapeString(between(t, a.body, `src="/euros/qr.svg`, `"`))).is(200).
		with("Content-Type", "image/svg+xml", "Cache-Control", "no-store").hides("Hafenlicht")
	paid := must(s.store.DonationByID(t.Context(), s.owner.account.Number, mustURL(t, sent.location()).Query().
		Get("d")[:16]))(t)
	equal(t, readCode(t, code.body), bank.EPC(1250, "EUR", paid.Reference()), "the code is read")
	s.now = s.now.Add(72 * time.Hour)
	p.get(sent.location()).sees("DE89 3704") // a transfer takes its time
	sent = p.post("/euros/donate", append(p.opens("/euros/donate"), "way", "check", "once", "50", "first_name", "Ana",
		"last_name", "Okafor", "email", "ana@example.org")...)
	p.get(sent.location()).sees("12 Wharf Street", "€50.00", "RF")
	p.get("/euros/qr.svg?kind=epc&d=x").is(404)
	p.get("/euros/qr.svg").is(200).with("Cache-Control", "private, max-age=60")
}

// A program that fills in every field is answered as others are, and begins nothing.
func TestATrapCatchesProgramsAndBrakesStopThem(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	p := s.visitor()
	a := p.post("/coats/donate", p.fills("website", "https://spam.example")...)
	a.is(303)
	p.get(a.location()).sees("Thank you!")
	equal(t, s.begun(), 0, "a program began")
	var through int64
	for range 20 {
		typed := p.fills()
		switch a := p.post("/coats/donate", typed...); a.status {
		case 200:
			through++
		case 429:
			a.sees("Too many donations", "Nothing was charged", "Please try again in 10 minutes").has(`value="Okafor"`)
			if a.header.Get("Retry-After") == "" {
				t.Error("the typed is lost")
			}
		default:
			t.Errorf("%d %s", a.status, a.words())
		}
	}
	if begun := s.begun(); through != 2 || begun != 2 { // without a puzzle
		t.Errorf("%d of 20 donations began, %d are known", through, begun)
	}
}

// Many declined cards make the puzzle harder, tell the owner, and have who pays by card confirm the email address.
// They close nothing.
func TestDeclinesAskForALinkAndTellTheOwner(t *testing.T) {
	s := takesGifts(t, donate.Settings{Check: "Harbor Light"}).connect()
	s.store.UseRelay(new(store.Shelf))
	p := s.visitor()
	typed := p.fills("way", "online")
	session := p.gives(typed...)
	for i := 1; i <= 60; i++ {
		if bits := p.zeros(); i == 11 && bits != 4 || i == 12 && bits != 9 || i == 32 && bits != 10 {
			t.Errorf("before decline %d the puzzle has %d bits", i, bits)
		}
		p.post(session, "do", "decline").is(200)
	}
	told, err := s.store.RecentMails(t.Context(), s.owner.account.Number, 10)
	if err != nil || len(told) != 1 || told[0].To != s.owner.user.Email {
		t.Errorf("the owner is told %+v %v", told, err)
	}
	p.get("/coats/donate").sees("Pay online", "Check by mail")
	typed = p.fills("way", "online")
	p.post("/coats/donate", typed...).sees("Check your email", "ana@example.org", "Nothing was charged")
	p.gives(append(append(p.opens(s.linkFrom("ana@example.org")), ana...), "way", "online")...)
}

// zeros is how hard the puzzle of the form is.
func (p *person) zeros() int {
	p.site.t.Helper()
	bits, err := strconv.Atoi(regexp.MustCompile(`data-zeros="(\d+)"`).
		FindStringSubmatch(p.get("/coats/donate").body)[1])
	if err != nil {
		p.site.t.Fatal(err)
	}
	return bits
}

// linkFrom is the link to a form in a mail to someone.
func (s *testSite) linkFrom(to string) string {
	s.t.Helper()
	s.send()
	letters, _ := s.store.Shelved()
	for _, l := range letters {
		if path, found := strings.CutPrefix(l.Link(), s.http.URL); found && strings.HasPrefix(path, "/coats/donate?") &&
			l.To.String() == to {
			return path
		}
	}
	s.t.Fatalf("no link to a form in %d mails, or none to %s", len(letters), to)
	return ""
}

// from sends a form from an address.
func (p *person) from(address, path string, pairs ...string) answer {
	p.site.t.Helper()
	fields := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return p.do(http.MethodPost, path, fields, http.Header{"X-Forwarded-For": {address}})
}

// solved is a form with the solution of its puzzle, as a browser finds it.
func (p *person) solved(body string) (typed []string) {
	p.site.t.Helper()
	fields := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(body, -1) {
		fields.Set(field[1], field[2])
	}
	asked, err := strconv.Atoi(regexp.MustCompile(`data-zeros="(\d+)"`).FindStringSubmatch(body)[1])
	if err != nil {
		p.site.t.Fatal(err)
	}
	for i := 0; ; i++ {
		key, err := pbkdf2.Key(sha256.New, fmt.Sprint(fields.Get("puzzle"), ".", i), []byte(fields.Get("donation")),
			web.PuzzleRounds, 4)
		if err != nil {
			p.site.t.Fatal(err)
		}
		// by chance, one would solve a harder puzzle too
		if zeros := bits.LeadingZeros32(binary.BigEndian.Uint32(key)); zeros >= asked && zeros < asked+5 {
			return []string{"donation", fields.Get("donation"), "puzzle", fields.Get("puzzle"), "solution",
				strconv.Itoa(i)}
		}
	}
}

// While a stranger sends promises from one network after the other and solves no puzzle, few of them stand in the
// list, and who solves the puzzle or opens a link gives.
func TestACrowdRefusesNobodyWhoSolvesThePuzzle(t *testing.T) {
	s := takesGifts(t, donate.Settings{Check: "Harbor Light"}).connect()
	s.store.UseRelay(new(store.Shelf))
	p, crowd := s.visitor(), s.visitor()
	early := p.solved(p.get("/coats/donate").body)
	promise := append(append([]string{}, ana...), "way", "check")
	const forms = 200
	for i := range forms {
		crowd.from(fmt.Sprintf("2001:db8:%x::1", i), "/coats/donate", promise...)
	}
	if begun := s.begun(); begun > 40 {
		t.Errorf("%d of %d promises without a puzzle stand in the list", begun, forms)
	}
	before := s.begun()
	// The puzzle from before the crowd is too easy now: the browser solves a harder one, and sends the form again by
	// itself.
	again := p.from("192.0.2.1", "/coats/donate", append(early, promise...)...)
	again.is(200).sees("Your browser needs a few seconds more").has("data-harder", `value="Okafor"`)
	p.from("192.0.2.1", "/coats/donate", append(p.solved(again.body), promise...)...).is(303)
	// Without scripts, a link by email leads to the form as it was typed.
	plain := s.visitor()
	promise[len(promise)-3] = "ben@example.org"
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens("/coats/donate"), promise...)...).is(200).
		sees("Check your email", "ben@example.org", "$50")
	link := s.linkFrom("ben@example.org")
	plain.get(link).sees("Email confirmed.").has(`value="Okafor"`).with("Referrer-Policy", "no-referrer")
	other := append(append([]string{}, promise...), "email", "eve@example.org")
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens(link), other...)...).
		sees("Your browser needs a few seconds more")
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens(link), promise...)...).is(303)
	equal(t, s.begun(), before+2)
	s.now = s.now.Add(3 * time.Hour)
	plain.get(link).sees("This link no longer works.")
}

func TestFormsOfGiftsRefuseWhatIsNotOne(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	p := s.visitor()
	typed := url.Values{}
	for i := 0; i < len(ana); i += 2 {
		typed.Set(ana[i], ana[i+1])
	}
	p.do(http.MethodPost, "/coats/donate", typed, http.Header{"Sec-Fetch-Site": {"cross-site"}}).is(403)
	p.post("/coats/donate", "note", strings.Repeat("x", 17<<10)).is(413)
	p.post("/coats/donate", "first_name", "\xff").is(400)
	p.do(http.MethodPut, "/coats/donate", typed, nil).is(404)
	for _, path := range []string{"/hooks/stripe/" + s.owner.account.ID, "/hooks/pretend/" + s.owner.account.ID,
		"/hooks/stripe/" + strings.Repeat("x", 16), "/hooks/stripe/" + s.owner.account.ID + "/x"} {
		a := p.post(path, "id", "evt_1")
		if a.status != 404 && a.status != 400 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	p.get("/test-payment/unknown").is(404)
	session := p.gives(p.fills()...)
	p.post(session, "do", "steal").is(422)
}

// strangeDesk opens a provider that fails as a test wants. Its events are signed by the word good.
type strangeDesk struct {
	*pay.Desk
	start func(*donate.Order) (donate.Handover, error)
	sees  func(*donate.Snapshot)
}

type strangeProvider struct {
	donate.Provider
	desk *strangeDesk
}

func (d *strangeDesk) Open(c donate.Connection) (donate.Provider, error) {
	p, err := d.Desk.Open(c)
	return &strangeProvider{p, d}, err
}

func (p *strangeProvider) Start(ctx context.Context, o *donate.Order) (donate.Handover, error) {
	if p.desk.start != nil {
		return p.desk.start(o)
	}
	return p.Provider.Start(ctx, o)
}

func (p *strangeProvider) Look(ctx context.Context, ref donate.Ref) (donate.Snapshot, error) {
	is, err := p.Provider.Look(ctx, ref)
	if err == nil && p.desk.sees != nil {
		p.desk.sees(&is)
	}
	return is, err
}

func (p *strangeProvider) Verify(header func(string) string, body []byte, now time.Time) (donate.Hint, error) {
	switch header("Signature") {
	case "late":
		return donate.Hint{At: now.Add(-12 * time.Minute)}, donate.ErrForged
	case "good":
	default:
		return donate.Hint{}, donate.ErrForged
	}
	return donate.Hint{Event: string(body[:min(40, len(body))]), Kind: "test",
		Declined: strings.HasPrefix(string(body), "declined"), At: now}, nil
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
	request := must(http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.http.URL+path,
		strings.NewReader(body)))(s.t)
	request.Header.Set("Signature", signature)
	request.Header.Set("Content-Type", "application/json")
	return s.visitor().send(request)
}

// Nothing is kept of an event whose signature is wrong, and what is not for an organization's provider is not found.
func TestEventsAreTakenWhereTheyAreGenuine(t *testing.T) {
	s := takesGifts(t, donate.Settings{Check: "Harbor Light"})
	s.strange()
	s.store.UseRelay(new(store.Shelf))
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
	settings, wrong := s.owner.org("/settings/donations"),
		"The clock of this server is about 12 minutes fast, so what the payment provider tells is refused"
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
	equal(t, s.visitor().zeros(), 10, "after 31 declines the puzzle")
	told, err := s.store.RecentMails(t.Context(), s.owner.account.Number, 10)
	succeed(t, err)
	equal(t, len(told), 1, "the owner is told %+v", told)
}

// What a provider does wrong costs the giver nothing, and the form stays as it was typed.
func TestAProviderThatFailsLeavesTheForm(t *testing.T) {
	s := takesGifts(t, donate.Settings{Check: "Harbor Light"})
	desk := s.strange()
	handover := func(url string) func(*donate.Order) (donate.Handover, error) {
		return func(*donate.Order) (donate.Handover, error) {
			return donate.Handover{URL: url, Session: donate.Ref{Kind: donate.SessionRef, ID: "x"}}, nil
		}
	}
	refused := func(reason donate.Reason) func(*donate.Order) (donate.Handover, error) {
		return func(*donate.Order) (donate.Handover, error) {
			return donate.Handover{}, &donate.Refused{Reason: reason, Text: "No such card type."}
		}
	}
	for _, test := range []struct {
		start  func(*donate.Order) (donate.Handover, error)
		status int
		says   []string
	}{
		{refused(donate.Temporary), 503, []string{"doesn’t answer at the moment", "Nothing was charged"}},
		{refused(donate.Definite), 422, []string{"could not be started", "No such card type."}},
		{handover("javascript:alert(1)"), 502, []string{"named no page of its own"}},
		{handover("http://evil.example/pay"), 502, []string{"named no page of its own"}},
		{handover("https://a@evil.example/pay"), 502, []string{"named no page of its own"}},
		{refused(donate.NoKey), 503, []string{"can’t take payments online", "Check by mail"}},
	} {
		p := s.visitor()
		typed := p.fills("way", "online")
		desk.start = test.start
		a := p.post("/coats/donate", typed...)
		a.is(test.status).sees(test.says...).with("Refresh", "")
		if test.status != 502 && (!strings.Contains(a.body, `value="Okafor"`) ||
			!strings.Contains(a.body, `value="`+typed[1]+`"`)) {
			t.Errorf("the form is lost: %s", a.words())
		}
		s.now = s.now.Add(11 * time.Minute) // without a puzzle, two in ten minutes
	}
	s.visitor().get("/coats/donate").lacks("Pay online") // the key was revoked
}

// A monthly gift is ended by the link of its thank-you: one mail, a page, a button.
func TestAMonthlyGiftIsEndedByItsThankYou(t *testing.T) {
	s := takesGifts(t, donate.Settings{})
	s.strange()
	s.store.UseRelay(new(store.Shelf))
	p := s.visitor()
	typed := p.fills("frequency", "monthly")
	p.get(p.post(p.gives(typed...), "do", "pay").location()).sees("Thank you!")
	thanks := s.mailed("Change or end my gift")
	p.get(thanks.Path).sees("$25.00 every month", "Active", "End monthly gift", "Send me the link").
		lacks("New amount", "Ana")
	p.post(thanks.Path, "do", "amount", "amount", "400").is(404) // no form of this page asks for it
	p.get(thanks.Path).sees("$25.00 every month")
	p.post(thanks.Path, "do", "end").sees("Your monthly gift has ended.")
	p.get(thanks.Path).sees("Ended").lacks("End monthly gift")
}

// mailed is the newest mail whose button says something.
func (s *testSite) mailed(button string) *mail.Letter {
	s.t.Helper()
	s.send()
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
	s := takesGifts(t, donate.Settings{Check: "Harbor Light\n12 Wharf Street"})
	s.store.UseRelay(new(store.Shelf))
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

// A giver changes a monthly gift by a link that works once. The link of an old mail says nothing of the gift, and has
// a fresh one sent to the address on file.
func TestAGiverManagesAMonthlyGift(t *testing.T) {
	s := takesGifts(t, donate.Settings{})
	desk := s.strange()
	s.store.UseRelay(new(store.Shelf))
	s.owner.follow("settings/organization", "name", "Harbor Light", "timezone", "America/New_York")
	paid := time.Date(2026, time.November, 15, 2, 0, 0, 0, time.UTC) // which is the day before in New York
	s.desk.Now = func() time.Time { return paid }
	p := s.visitor()
	to := p.post(p.gives(p.fills("frequency", "monthly")...), "do", "pay").location()
	p.get(to).sees("$25.00 every month", "A thank-you is on its way to your email.")
	old := "/give/" + donate.ManageLink(s.owner.account.ID, mustURL(t, to).Query().Get("d")[:16], "")
	fresh := func() string {
		s.now = s.now.Add(2 * time.Minute)
		p.post(old).sees("a link is on its way")
		return s.mailed("See my monthly gift").Path
	}
	p.get(old).sees("we send you a link that works for 15 minutes", "Harbor Light").lacks("$25.00", "Ana", "expired")
	for _, other := range []string{"/give/x", "/give/" + strings.Repeat("A", 16) + "." + strings.Repeat("B", 16) + ".C",
		"/give/" + donate.ManageLink(s.owner.account.ID, strings.Repeat("B", 16), "")} {
		p.get(other).sees("Your monthly gift", "to the email address that we have")
		p.post(other).sees("a link is on its way")
	}
	link := fresh()
	p.get(link).sees("$25.00 every month", "Active", "Pause", "Next payment Dec 14, 2026").lacks("Ana", "Okafor")
	for amount, fault := range map[string]string{"": "Enter an amount, such as $25.00.",
		"2": "The smallest gift here is $5."} {
		p.post(link, "do", "amount", "amount", amount).is(422).sees(fault)
	}
	p.post(link, "do", "amount", "amount", "40").is(200).sees("$40.00 every month", "Send me another link")
	p.get(link).sees("This link was used or has expired")
	p.post(fresh(), "do", "pause").sees("Paused")
	p.post(fresh(), "do", "resume").sees("Active")
	link = fresh()
	s.now = s.now.Add(16 * time.Minute)
	p.get(link).sees("This link was used or has expired").lacks("$40.00")
	p.post(link, "do", "end").sees("a link is on its way") // and no more
	s.send()
	desk.sees = func(is *donate.Snapshot) { is.Plan.Status = giving.PastDue }
	link = fresh()
	p.get(link).sees("The last payment failed. Another card may help.")
	desk.sees = nil
	// the provider without money has nothing to ask
	if a := p.post(link, "do", "card"); !strings.HasSuffix(a.header.Get("Refresh"), link) {
		t.Errorf("%d %v", a.status, a.header)
	}
	for range 4 { // each of them asks the provider
		p.post(link, "do", "card").is(200)
	}
	p.post(link, "do", "card").is(429)
	p.post(link, "do", "end").sees("Ended")
}

// Whatever is logged of a gift names no one: no address of a page with its token, no email, no amount.
func TestTheLogOfAGiftNamesNoOne(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	log := new(bytes.Buffer)
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	s.http.Config.Handler = plumbing.Wrap(s.pages.Fallback(web.NewMux().Serve))
	p := s.visitor()
	typed := append(p.opens("/coats/donate?amount=75&frequency=monthly"), ana...)
	session := p.gives(typed...)
	to := p.post(session, "do", "pay").location()
	p.get(to).sees("Thank you!")
	p.get("/give/" + donate.ManageLink(s.owner.account.ID, mustURL(t, to).Query().Get("d")[:16], "secret-of-a-link"))
	s.event("/hooks/pretend/"+s.owner.account.ID, "bad", `{"email":"ana@example.org"}`).is(400)
	if n := strings.Count(log.String(), "msg=request"); n < 6 {
		t.Fatalf("%d requests are logged: %s", n, log)
	}
	for _, secret := range []string{"Ana", "Okafor", "ana@", "example.org", "amount=", mustURL(t, to).Query().Get("d"),
		strings.TrimPrefix(session, "/test-payment/"), "secret-of-a-link"} {
		for line := range strings.Lines(log.String()) {
			if _, told, _ := strings.Cut(line, "msg="); strings.Contains(told, secret) {
				t.Errorf("the log has %q: %s", secret, line)
			}
		}
	}
}

// An address that sends more events in a minute than a provider does has to wait, before anything is read of them.
func TestEventsOfAnAddressAreBounded(t *testing.T) {
	s := takesGifts(t, donate.Settings{}).connect()
	plumbing := web.Plumbing{Log: slog.New(slog.DiscardHandler)}
	handler := plumbing.Wrap(s.pages.Fallback(web.NewMux().Serve))
	send := func(from string) int {
		r := httptest.NewRequest(http.MethodPost, "/hooks/pretend/"+s.owner.account.ID, strings.NewReader("{}"))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	for i := range 1200 {
		equal(t, send("192.0.2.1:80"), 400, "event %d", i)
	}
	if one, other := send("192.0.2.1:80"), send("192.0.2.2:80"); one != 429 || other != 400 {
		t.Errorf("after 1,200 in a minute, another one gets %d, and that of someone else %d", one, other)
	}
}
