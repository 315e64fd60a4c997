package console_test

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/console"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	form "donorbook/internal/crm/donate"
	"donorbook/internal/pay"
	"donorbook/internal/rig"
	"donorbook/internal/store/donations"
	"donorbook/internal/store/mails"
	"donorbook/internal/web"
)

// testSite is a site that takes gifts, with a campaign called Coats.
type testSite struct {
	*site
	owner *person
	desk  *pay.Desk
	coats int64 // the id of the campaign
}

// takesGifts makes a site of any engine. Settings are those of the typed.
func takesGifts(t *testing.T, e rig.Engine, set form.Settings) *testSite {
	t.Helper()
	made := &testSite{desk: pay.NewDesk("")}
	made.site = siteOn(t, e, func(o *console.Options) { o.Pretended = made.desk.Pretended })
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
	must(s.store.Connect(s.t.Context(), s.owner.account, donations.Connecting{Provider: pay.PretendName, Key: "none"}, s.http.URL))(s.t)
	return s
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// opens a form, and returns what it holds.
func (p *person) opens(path string) (typed []string) {
	p.site.t.Helper()
	a := p.get(path)
	a.is(200)
	for _, field := range hiddenField.FindAllStringSubmatch(a.body, -1) {
		typed = append(typed, field[1], field[2])
	}
	return typed
}

var ana = []string{"frequency", "once", "once", "50", "monthly", "25", "first_name", "Ana", "last_name", "Okafor", "email", "ana@example.org"}

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
	if u.Host != mustURL(p.site.t, p.site.http.URL).Host {
		p.site.t.Fatalf("handed over to %s", to)
	}
	return u.Path
}

func TestAVisitorGives(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Consent: "Send me news.", Cover: form.OfferCover, Rate: form.Rate{Points: 290, Fixed: 30}})

	s.connect()
	p := s.visitor()
	a := p.get("/coats/donate")
	a.is(200).sees("Donate to Coats", "Harbor Light", "One-time", "Monthly", "$250", "Amount per month", "Nothing is added for the software", "Send me news.", "About 2.9% + $0.30", "Test mode")
	if a.header.Get("Cache-Control") != "no-store" || a.header.Get("Set-Cookie") != "" || !strings.Contains(a.header.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Errorf("%v", a.header)
	}
	typed := append(p.opens("/coats/donate"), ana...)
	session := p.gives(append(typed, "cover", "yes", "consent", "yes", "dedication", "in_memory_of", "dedicated_to", "Zoë Lee")...)
	if again := p.gives(append(typed, "cover", "yes", "consent", "yes", "dedication", "in_memory_of", "dedicated_to", "Zoë Lee")...); again != session {
		t.Error("a second click is a second payment")
	}
	p.get(session).sees("This is a test payment", "Donation to Coats", "$51.81")
	p.post(session, "do", "decline").sees("Your card was declined")
	paid := p.post(session, "do", "pay")
	paid.is(303)
	a = p.get(paid.location())
	a.sees("Thank you!", "$51.81", "received", "No money was moved").lacks("Ana", "Okafor", "ana@example.org", "Zoë", "your email")
	if a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", a.header)
	}
	s.owner.get("gifts?test=yes").sees("Ana Okafor")
	s.now = s.now.Add(25 * time.Hour)
	p.get(paid.location()).sees("Thank you!").lacks("$51.81")

}

// What is in the address of a page of thanks is not guessed from the id of the donation, and says nothing at the address of another campaign.
func TestAPageOfThanksIsForWhoHasItsAddress(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	s.campaign(s.owner.account, `{"title":"Boats"}`)
	p := s.visitor()
	typed := append(p.opens("/coats/donate"), ana...)
	to := p.post(p.gives(typed...), "do", "debit").location()
	p.get(to).sees("on its way", "$50.00")
	id := mustURL(t, to).Query().Get("d")[:16]
	for _, other := range []string{"/coats/thanks", "/coats/thanks?d=" + id, "/coats/thanks?d=" + id + strings.Repeat("A", 22), "/coats/thanks?d=%00", "/boats" + strings.TrimPrefix(to, "/coats")} {
		p.get(other).sees("Thank you!").lacks("$50.00", "on its way")
	}
}

// Who comes back from the payment page without paying finds the form as it was sent, for an hour. Sent again, it is the same gift.
func TestAGiverComesBackToTheForm(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Consent: "Send me news.", Cover: form.TickedCover, Rate: form.Rate{Points: 290, Fixed: 30}}).connect()
	p := s.visitor()
	typed := append(append(p.opens("/coats/donate"), ana...), "dedication", "in_memory_of", "dedicated_to", "Joe", "consent", "yes")
	session := p.gives(typed...)
	back := p.post(session, "do", "back").location()
	if !strings.HasPrefix(back, "/coats/donate?amount=50&d=") {
		t.Error(back)
	}
	a := p.get(back)
	a.sees("Nothing was charged. Here is your gift as you left it.").has(`value="Okafor"`, `value="ana@example.org"`, `value="Joe"`, `name="consent" value="yes" checked`, `value="in_memory_of" selected`).hides(`name="cover" value="yes" checked`)
	if a.header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the fee is added, or the page tells where it is", a.header)
	}
	if again := p.gives(append(append(p.opens(back), ana...), "dedication", "in_memory_of", "dedicated_to", "Joe", "consent", "yes")...); again != session || s.begun() != 1 {
		t.Errorf("sent again, it leads to %s instead of %s, and %d began", again, session, s.begun())
	}
	s.now = s.now.Add(2 * time.Hour)
	for _, late := range []string{back, "/coats/donate?d=" + strings.Repeat("A", 38)} {
		a = p.get(late)
		a.sees("Donate to Coats").lacks("Nothing was charged").hides("Okafor")
	}
}

func TestAFormIsShownAgainAsItWasTyped(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	p := s.visitor()
	typed := p.opens("/coats/donate")
	p.post("/coats/donate", append(typed, "frequency", "monthly", "monthly", "other", "other_amount", "fi'<ve", "first_name", "Ana", "email", "ana@", "company", "Blue Heron", "dedicated_to", "Zoë")...).is(422).sees("3 things need your attention", "Enter an amount, such as $25.00.", "Enter your last name.", "Enter an email address such as ana@example.org.").has(`value="fi&#39;&lt;ve"`, `href="#f-other_amount"`, `href="#f-email"`, `value="monthly" id="f-frequency-monthly" checked`, `value="other" id="f-monthly-other" checked`, `value="Blue Heron"`, `<details class="more" open>`, `aria-invalid="true"`, `autofocus`, `name="donation" value="`+typed[1]+`"`)
	if n := s.begun(); n != 0 {
		t.Errorf("a refused typed has begun %d donations", n)
	}
}

// begun counts the donations that were begun.
func (s *testSite) begun() int64 {
	s.t.Helper()
	_, found := must2(s.store.Donations(s.t.Context(), s.owner.account.Number, form.Filter{}, crm.PageRequest{Page: 1, PerPage: 100}))(s.t)
	return found.Total
}

func TestALinkFillsAFormAndNeverBreaksIt(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	p := s.visitor()
	p.get("/coats/donate?amount=75&frequency=monthly").has(`value="75"`, `value="monthly" id="f-frequency-monthly" checked`, `value="other" id="f-monthly-other" checked`)
	for _, query := range []string{"amount=%22%3E%3Cscript%3E", "amount=-1&frequency=daily", "amount=" + strings.Repeat("9", 3000), "%zz"} {
		p.get("/coats/donate?" + query).is(200).has(`id="f-once-1" checked`).hides(`"><script>`)
	}
}

func TestAFormThatTakesNothingSaysWhy(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{})
	s.campaign(s.owner.account, `{"title":"Elsewhere","payment_link":"https://pay.example.org/x"}`)
	s.campaign(s.owner.account, `{"title":"Over","end_at":"2020-01-01 00:00:00"}`)
	p := s.visitor()
	p.get("/coats/donate").sees("Harbor Light doesn’t take donations on this page at the moment.")
	p.get("/elsewhere/donate").has(`href="https://pay.example.org/x"`)
	s.connect()
	p.get("/over/donate").sees("This campaign has ended and no longer accepts donations.")
	typed := append(p.opens("/coats/donate"), ana...)
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
	bank := form.Bank{Name: "Harbor Light e. V.", IBAN: "DE89370400440532013000", BIC: "COBADEFFXXX"}
	s := takesGifts(t, rig.Engines[0], form.Settings{Bank: bank, Check: "Harbor Light\n12 Wharf Street"})

	s.owner.follow("settings/giving", "currency", "EUR")
	s.campaign(s.owner.account, `{"title":"Euros","currency":"EUR"}`)
	p := s.visitor()
	p.get("/euros/donate").sees("Bank transfer", "Check by mail").lacks("Monthly", "Pay online", "Test mode")
	typed := append(p.opens("/euros/donate"), "once", "other", "other_amount", "12,50", "first_name", "Ana", "last_name", "Okafor", "email", "ana@example.org")
	sent := p.post("/euros/donate", append(typed, "way", "transfer")...)
	sent.is(303)
	a := p.get(sent.location())
	a.sees("One step is left", "DE89 3704 0044 0532 0130 00", "€12.50", "RF", "COBADEFFXXX").lacks("Ana", "No money was moved")
	code := regexp.MustCompile(`src="(/euros/qr\.svg[^"]*)"`).FindStringSubmatch(a.body)
	if code == nil {
		t.Fatal(a.body)
	}
	image := p.get(strings.ReplaceAll(code[1], "&amp;", "&"))
	image.is(200)
	if image.header.Get("Content-Type") != "image/svg+xml" || image.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", image.status, image.header)
	}
	s.now = s.now.Add(72 * time.Hour)
	p.get(sent.location()).sees("DE89 3704") // a transfer takes its time
	sent = p.post("/euros/donate", append(p.opens("/euros/donate"), "way", "check", "once", "50", "first_name", "Ana", "last_name", "Okafor", "email", "ana@example.org")...)
	p.get(sent.location()).sees("12 Wharf Street", "€50.00", "RF")
	p.get("/euros/qr.svg?kind=epc&d=x").is(404)
	if a := p.get("/euros/qr.svg"); a.status != 200 || a.header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("%d %v", a.status, a.header)
	}

}

// A program that fills in every field is answered as others are, and begins nothing.
func TestATrapCatchesProgramsAndBrakesStopThem(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	p := s.visitor()
	a := p.post("/coats/donate", append(append(p.opens("/coats/donate"), ana...), "website", "https://spam.example")...)
	a.is(303)
	p.get(a.location()).sees("Thank you!")
	if n := s.begun(); n != 0 {
		t.Errorf("a program began %d donations", n)
	}
	var through int64
	for range 20 {
		typed := append(p.opens("/coats/donate"), ana...)
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

// Many declined cards make the puzzle harder, tell the owner, and have who pays by card confirm the email address. They close nothing.
func TestDeclinesAskForALinkAndTellTheOwner(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Check: "Harbor Light"}).connect()
	s.store.UseRelay(new(mails.Shelf))
	p := s.visitor()
	typed := append(p.opens("/coats/donate"), append(ana, "way", "online")...)
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
	typed = append(append(p.opens("/coats/donate"), ana...), "way", "online")
	p.post("/coats/donate", typed...).sees("Check your email", "ana@example.org", "Nothing was charged")
	p.gives(append(append(p.opens(s.linkFrom("ana@example.org")), ana...), "way", "online")...)
}

// zeros is how hard the puzzle of the form is.
func (p *person) zeros() int {
	p.site.t.Helper()
	bits, err := strconv.Atoi(regexp.MustCompile(`data-zeros="(\d+)"`).FindStringSubmatch(p.get("/coats/donate").body)[1])
	if err != nil {
		p.site.t.Fatal(err)
	}
	return bits
}

// linkFrom is the link to a form in a mail to someone.
func (s *testSite) linkFrom(to string) string {
	s.t.Helper()
	for range 10 {
		succeed(s.t, s.store.SendDue(s.t.Context(), s.http.URL, func(err error) { s.t.Error(err) }))
	}
	letters, _ := s.store.Shelved()
	for _, l := range letters {
		if path, found := strings.CutPrefix(l.Link(), s.http.URL); found && strings.HasPrefix(path, "/coats/donate?") && l.To.String() == to {
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
	for _, field := range hiddenField.FindAllStringSubmatch(body, -1) {
		fields.Set(field[1], field[2])
	}
	asked, err := strconv.Atoi(regexp.MustCompile(`data-zeros="(\d+)"`).FindStringSubmatch(body)[1])
	if err != nil {
		p.site.t.Fatal(err)
	}
	for i := 0; ; i++ {
		key, err := pbkdf2.Key(sha256.New, fmt.Sprint(fields.Get("puzzle"), ".", i), []byte(fields.Get("donation")), web.PuzzleRounds, 4)
		if err != nil {
			p.site.t.Fatal(err)
		}
		if zeros := bits.LeadingZeros32(binary.BigEndian.Uint32(key)); zeros >= asked && zeros < asked+5 { // by chance, one would solve a harder puzzle too
			return []string{"donation", fields.Get("donation"), "puzzle", fields.Get("puzzle"), "solution", strconv.Itoa(i)}
		}
	}
}

// While a stranger sends promises from one network after the other and solves no puzzle, few of them stand in the list, and who solves the puzzle or opens a link gives.
func TestACrowdRefusesNobodyWhoSolvesThePuzzle(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{Check: "Harbor Light"}).connect()
	s.store.UseRelay(new(mails.Shelf))
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
	// The puzzle from before the crowd is too easy now: the browser solves a harder one, and sends the form again by itself.
	again := p.from("192.0.2.1", "/coats/donate", append(early, promise...)...)
	again.is(200).sees("Your browser needs a few seconds more").has("data-harder", `value="Okafor"`)
	p.from("192.0.2.1", "/coats/donate", append(p.solved(again.body), promise...)...).is(303)
	// Without scripts, a link by email leads to the form as it was typed.
	plain := s.visitor()
	promise[len(promise)-3] = "ben@example.org"
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens("/coats/donate"), promise...)...).is(200).sees("Check your email", "ben@example.org", "$50")
	link := s.linkFrom("ben@example.org")
	opened := plain.get(link)
	opened.sees("Email confirmed.").has(`value="Okafor"`)
	if opened.header.Get("Referrer-Policy") != "no-referrer" {
		t.Error("the form is not as it was typed, or its address is told to others")
	}
	other := append(append([]string{}, promise...), "email", "eve@example.org")
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens(link), other...)...).sees("Your browser needs a few seconds more")
	plain.from("192.0.2.2", "/coats/donate", append(plain.opens(link), promise...)...).is(303)
	if begun := s.begun(); begun != before+2 {
		t.Errorf("%d began after the crowd", begun-before)
	}
	s.now = s.now.Add(3 * time.Hour)
	plain.get(link).sees("This link no longer works.")
}

func TestFormsOfGiftsRefuseWhatIsNotOne(t *testing.T) {
	s := takesGifts(t, rig.Engines[0], form.Settings{}).connect()
	p := s.visitor()
	typed := url.Values{}
	for i := 0; i < len(ana); i += 2 {
		typed.Set(ana[i], ana[i+1])
	}
	p.do(http.MethodPost, "/coats/donate", typed, http.Header{"Sec-Fetch-Site": {"cross-site"}}).is(403)
	p.post("/coats/donate", "note", strings.Repeat("x", 17<<10)).is(413)
	p.post("/coats/donate", "first_name", "\xff").is(400)
	p.do(http.MethodPut, "/coats/donate", typed, nil).is(404)
	for _, path := range []string{"/hooks/stripe/" + s.owner.account.ID, "/hooks/pretend/" + s.owner.account.ID, "/hooks/stripe/" + strings.Repeat("x", 16), "/hooks/stripe/" + s.owner.account.ID + "/x"} {
		a := p.post(path, "id", "evt_1")
		if a.status != 404 && a.status != 400 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	p.get("/test-payment/unknown").is(404)
	session := p.gives(append(p.opens("/coats/donate"), ana...)...)
	p.post(session, "do", "steal").is(422)
}
