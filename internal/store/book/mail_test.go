package book

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/relay"
	"donorbook/internal/rig"
	"donorbook/internal/store"
)

// postOffice is a relay that keeps what it takes. The local part of an address says what it does with it.
type postOffice struct {
	mu    sync.Mutex
	taken []*mail.Letter
	times map[int64]int
}

func (p *postOffice) Send(_ context.Context, l *mail.Letter) error {
	switch to := l.To.String(); {
	case strings.HasPrefix(to, "nobody"):
		return &mail.Refused{Reply: "The mail relay answered: 550 no such user", Final: true, Gone: true,
			Err: errors.New("550")}
	case strings.HasPrefix(to, "later"):
		return &mail.Refused{Reply: "The mail relay answered: 451 later", Err: errors.New("451")}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times == nil {
		p.times = make(map[int64]int)
	}
	p.taken = append(p.taken, l)
	p.times[l.ID]++
	return nil
}

func (p *postOffice) last() *mail.Letter { return p.taken[len(p.taken)-1] }

// sendAll sends what is due. Several mails leave at once: those that were queued first are the first ones here.
func (p *postOffice) sendAll(t *testing.T, s *Book) {
	t.Helper()
	p.mu.Lock()
	before := len(p.taken)
	p.mu.Unlock()
	succeed(t, s.SendDue(t.Context(), "https://donors.example", func(err error) {
		if refused := new(mail.Refused); !errors.As(err, &refused) || rig.NamesSomebody([]byte(err.Error())) {
			t.Error(err)
		}
	}))
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(p.taken[before:], func(a, b *mail.Letter) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.To.String(), b.To.String()))
	})
}

// bodies is everything that the outbox knows of what its mails say.
func bodies(t *testing.T, s *Book) (text string) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		text = ""
		return c.Each(func(r db.Row) error { text += r.Text(0); return nil }, `SELECT said FROM mail`)
	}))
	return text
}

func tokenOf(l *mail.Letter) string { return l.Path[strings.LastIndexByte(l.Path, '/')+1:] }

func TestAnInvitationIsMailedOnce(t *testing.T) {
	s := newOrg(t, newBook(t))
	ada := newUser(t, s.Book, s.Account, access.Owner, "Ada")
	invite := func(to string) (access.Invitation, string) {
		t.Helper()
		return must2(s.Invite(t.Context(), s.Account, ada, access.Viewer, to))(t)
	}
	invite("bob@example.org") // Without a relay nothing waits for one.
	s.UseRelay(s.office)
	equal(t, s.sent(), 0)
	clock := func(after time.Duration) { s.Now = func() time.Time { return donorsNow.Add(after) } }
	s.settings(access.AccountSettingsInput{Email: ptr("office@harbor.example")})
	invitation, token := invite("bob@example.org")
	invite("") // for anyone: no one is written to
	s.sent()
	expect(t, "mails", "1", s.sent())
	l := s.office.last()
	expect(t, "it", "https://donors.example/console/invite/"+token+" bob@example.org "+s.Account.Name+
		" office@harbor.example", l.Link(), l.To, l.Name, l.ReplyTo)
	equal(t, strings.Contains(bodies(t, s.Book), token), false, "the outbox keeps the link of a mail that has left")
	equal(t, s.mailAbout(invitation.ID).State(), mail.Sent)

	// A refusal is told, and what it said is forgotten; a delay is tried again, later and later, until it is too late.
	refused, _ := invite("nobody@example.org")
	delayed, _ := invite("later@example.org")
	s.sent()
	all := must(s.MailsAbout(t.Context(), s.Number, []string{refused.ID, delayed.ID, invitation.ID}))(t)
	expect(t, "it", "3 3 The mail relay answered: 550 no such user 1", len(all), all[refused.ID].State(),
		all[refused.ID].Error, all[delayed.ID].State())
	tries := int64(0)
	for hours := range 60 {
		clock(time.Duration(hours) * time.Hour)
		s.sent()
		now := s.mailAbout(delayed.ID).Tries
		equal(t, now < tries, false)
		tries = now
	}
	expect(t, "after all tries, the outbox keeps nothing", fmt.Sprint(mail.Failed, " true true true"),
		s.mailAbout(delayed.ID).State(), tries >= 10, tries <= 30, bodies(t, s.Book) == "")

	// An invitation that is canceled before its mail has left is not mailed. What is old is forgotten.
	canceled, _ := invite("eve@example.org")
	succeed(t, s.RevokeInvitation(t.Context(), s.Number, canceled.ID))
	equal(t, s.sent(), 1)
	clock(100 * 24 * time.Hour)
	succeed(t, s.SweepMails(t.Context()))
	expect(t, "are left", "0", len(must(s.RecentMails(t.Context(), s.Number, 50))(t)))
}

// Two nodes and 64 goroutines send what is queued, while some die after the relay has taken a mail and before that is
// noted.
func TestConcurrentNodesSendEachMailOnce(t *testing.T) {
	s, b := twoOffices(t)
	queue := func() { succeed(t, s.SendTest(t.Context(), s.Number, s.Account.Name, "ada@example.org")) }
	for range 30 {
		queue()
	}
	atOnce(64, func(i int) { s.office.sendAll(t, []*Book{s.Book, b}[i%2]) })
	expect(t, "of 30 mails were sent", "30", len(s.office.times))
	for id, times := range s.office.times {
		expect(t, fmt.Sprint("how often mail ", id, " was sent"), "1", times)
	}
	// A mail that a dead node had is due when its lease is over, with the id that it had.
	queue()
	dead, stop := context.WithCancel(t.Context())
	s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error { stop(); return dead.Err() }))
	if err := s.SendDue(dead, "", func(error) {}); !errors.Is(err, context.Canceled) {
		succeed(t, err)
	}
	s.office.sendAll(t, b)
	equal(t, len(s.office.times), 30, "it was sent while another node had it")
	b.Now = func() time.Time { return donorsNow.Add(mail.Lease + time.Minute) }
	s.office.sendAll(t, b)
	expect(t, "mails after the lease", "31", len(s.office.times))
}

func TestTheMailAboutAPromiseGoesToADonor(t *testing.T) {
	equal(t, (&mail.Mail{Kind: mail.Promised}).GoesToDonor(), true)
}

type relayFunc func(context.Context, *mail.Letter) error

func (f relayFunc) Send(ctx context.Context, l *mail.Letter) error { return f(ctx, l) }

// Strangers who ask for new passwords, for invented addresses or for a user, keep no user from a link that works; and
// the user's mailbox is not filled.
func TestStrangersUseUpNobodysReset(t *testing.T) {
	s := newOrg(t, newBook(t))
	clock := stopClock(s.Book)
	newUser(t, s.Book, s.Account, access.Owner, "Ada")
	s.UseRelay(s.office)
	ask := func(email string, times int) {
		t.Helper()
		for i := range times {
			succeed(t, s.AskForReset(t.Context(), strings.ReplaceAll(email, "#", fmt.Sprint(i))))
		}
	}
	waiting := func() int { return len(must(s.RecentMails(t.Context(), 0, 5_000))(t)) }
	ask("invented#@example.org", 1_100)
	expect(t, "mails wait for addresses that nobody has", "1", waiting())
	ask("ada@example.org", 100)
	expect(t, "mails wait, and one of them for the user", "2", waiting())
	equal(t, s.sent(), 1)
	early := tokenOf(s.office.last())
	for range 10 {
		clock.move(2 * time.Minute)
		ask("ada@example.org", 2)
		s.sent()
	}
	expect(t, "the user asked 10 times more, and has", "11", s.sent())
	must(s.ResetUser(t.Context(), early))(t)
	// One that the relay has delayed leaves when the user asks again.
	clock.move(2 * time.Minute)
	s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error { return errors.New("no answer") }))
	ask("ada@example.org", 1)
	succeed(t, s.SendDue(t.Context(), "https://donors.example.org", func(error) {}))
	s.UseRelay(s.office)
	clock.move(2 * time.Minute)
	ask("ada@example.org", 1)
	expect(t, "mails", "12", s.sent())
	must(s.ResetByLink(t.Context(), tokenOf(s.office.last()), "quite another phrase"))(t)
}

func TestAForgottenPasswordIsSetByMail(t *testing.T) {
	s := newOrg(t, newBook(t))
	clock, ada := stopClock(s.Book), newUser(t, s.Book, s.Account, access.Owner, "Ada")
	s.UseRelay(s.office)
	session := must(s.StartSession(t.Context(), ada.ID, access.Device{}))(t)
	ask := func(email string) *mail.Letter {
		t.Helper()
		before := len(s.office.taken)
		clock.move(2 * time.Minute)
		succeed(t, s.AskForReset(t.Context(), email))
		expect(t, "the outbox has", "true", bodies(t, s.Book) == "")
		if s.sent() == before {
			return nil
		}
		return s.office.last()
	}
	equal(t, ask("eve@example.org"), nil, "a mail to someone who is no user")
	expect(t, "the address of someone who is no user is kept", "0", len(must(s.RecentMails(t.Context(), 0, 50))(t)))
	first, second := ask("ada@EXAMPLE.org"), ask("ada@example.org")
	expect(t, "a mail goes", "ada@example.org", strings.ToLower(first.To.String()))
	refused := func(what string, err error) {
		t.Helper()
		equal(t, err != nil, true, "%s was refused", what)
	}
	refused("two addresses", s.AskForReset(t.Context(), "a@b.org, c@d.org"))
	// A password that is refused uses nothing up.
	refused("a short password", errOf(s.ResetByLink(t.Context(), tokenOf(first), "short")))
	equal(t, must(s.ResetByLink(t.Context(), tokenOf(first), "quite another phrase"))(t).ID, ada.ID)
	for _, used := range []*mail.Letter{first, second} {
		refuses(t, "a link works after the password was set",
			crm.ErrNotFound)(s.ResetByLink(t.Context(), tokenOf(used), "yet another phrase"))
	}
	refuses(t, "a session goes on", crm.ErrUnauthenticated)(s.Session(t.Context(), session))
	must2(s.SignIn(t.Context(), "ada@example.org", "quite another phrase",
		access.Device{Agent: "Firefox/1 Linux", Address: "192.0.2.7", New: true}))(t)
	expect(t, "mails", "4", s.sent())
	said := ""
	for _, l := range s.office.taken[2:] {
		said += l.Subject.String() + ": " + l.Text()
	}
	contains(t, said, "Your password was changed")
	contains(t, said, "Firefox on Linux")
	equal(t, strings.Contains(said, "phrase"), false, "a mail tells the password")
	// A link works for 30 minutes.
	late := ask("ada@example.org")
	clock.move(access.ResetTime)
	refuses(t, "a link works for longer", crm.ErrNotFound)(s.ResetUser(t.Context(), tokenOf(late)))
	succeed(t, s.SweepResets(t.Context()))
	// Of 16 who use one link at the same time, one succeeds.
	link := tokenOf(ask("ada@example.org"))
	var wins atomic.Int64
	atOnce(16, func(int) {
		if errOf(s.ResetByLink(context.Background(), link, "the very last phrase")) == nil {
			wins.Add(1)
		}
	})
	expect(t, "a link worked", "1", wins.Load())
}

// letterbox is an SMTP server that keeps what it takes.
type letterbox struct {
	mu    sync.Mutex
	mails []string
}

func (l *letterbox) NewSession(*smtp.Conn) (smtp.Session, error) { return l, nil }
func (l *letterbox) Reset()                                      {}
func (l *letterbox) Logout() error                               { return nil }
func (l *letterbox) Mail(string, *smtp.MailOptions) error        { return nil }
func (l *letterbox) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (l *letterbox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mails = append(l.mails, string(text))
	return err
}

func openLetterbox(t *testing.T) (*letterbox, *relay.Relay) {
	box := new(letterbox)
	server := smtp.NewServer(box)
	at := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(at) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	from, _ := mail.ParseAddress("giving@harbor.example")
	return box, &relay.Relay{Host: "127.0.0.1", Port: at.Addr().(*net.TCPAddr).Port, TLS: relay.Off, From: from}
}

// parts are what a mail consists of, by the type of each, as programs that show mail take it apart.
func parts(t *testing.T, text string) map[string]string {
	t.Helper()
	m := must(netmail.ReadMessage(strings.NewReader(text)))(t)
	found := map[string]string{}
	var open func(header func(string) string, body io.Reader)
	open = func(header func(string) string, body io.Reader) {
		kind, values := must2(mime.ParseMediaType(header("Content-Type")))(t)
		if strings.HasPrefix(kind, "multipart/") {
			for r := multipart.NewReader(body, values["boundary"]); ; {
				part, err := r.NextPart()
				if err == io.EOF {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				open(part.Header.Get, part)
			}
		}
		if header("Content-Transfer-Encoding") == "base64" {
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		said := must(io.ReadAll(body))(t)
		found[kind] = string(said)
		found[kind+" name"] = header("Content-Disposition")
	}
	open(m.Header.Get, m.Body)
	return found
}

// A thank-you that goes with a receipt has it as a PDF file: the one that is valid when the mail is sent.
func TestTheReceiptIsAttachedToItsMail(t *testing.T) {
	s := newBook(t)
	box, relay := openLetterbox(t)
	s.UseRelay(relay)
	account := newAccount(t, s).Number
	succeed(t, s.SetAccountSettings(t.Context(), account, access.AccountSettingsInput{TaxID: ptr("12-3456789")}))
	send := func() map[string]string {
		t.Helper()
		before := len(box.mails)
		succeed(t, s.SendDue(t.Context(), "", func(err error) { t.Error(err) }))
		for _, text := range slices.Backward(box.mails[before:]) {
			if !strings.Contains(text, "Your refund from") {
				return parts(t, text)
			}
		}
		return nil
	}
	for i, name := range []string{"محمد", "Nguyễn Thị Ánh", "Zoë 🎉 Ørsted", "Łukasz"} {
		gift := giveNow(t, s, account, `,"first_name":"`+name+`","last_name":"Q","email":"`+fmt.Sprint("q",
			i)+`@example.org","send_receipt":true`)
		if strings.Contains(bodies(t, s), "Receipt number") {
			t.Error("the outbox keeps what a receipt says")
		}
		got := send()
		pages := pagesOf(t, []byte(got["application/pdf"]))
		if gift.Receipt == "" || len(pages) != 1 || !strings.Contains(pages[0], gift.Receipt) ||
			!strings.Contains(pages[0], "12-3456789") ||
			!strings.Contains(got["application/pdf name"], `attachment; filename="receipt-`+gift.Receipt+`.pdf"`) {
			t.Errorf("%d: %s %q %s", i, gift.Receipt, pages, got["application/pdf name"])
		}
		if i == 0 { // a reader of our tests does not turn the direction around
			name = "دمحم"
		}
		expect(t, "is not in", "true", strings.Contains(pages[0], name))
		for _, kind := range []string{"text/plain", "text/html"} {
			expect(t, "it", "true true", strings.Contains(got[kind], gift.Receipt),
				strings.Contains(got[kind], "attached as a PDF file"))
		}
	}
	plain := giveNow(t, s, account, ofAda)
	must(s.ThankFor(t.Context(), account, plain.Code, store.Thank{How: "mail"}))(t)
	if got := send(); got["application/pdf"] != "" || got["text/plain"] == "" {
		t.Error("a mail without a receipt has a file")
	}

	// A gift of a plan, of which a part is given back before its mail leaves.
	plan := newPlan(t, s, account, fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check",
		"frequency":"monthly"}`, plain.Contact))
	monthly := giveNow(t, s, account, ofAda+`,"plan_id":"`+plan.Code+`","send_receipt":true`)
	must(s.RefundGift(t.Context(), account, monthly.Code, ptr(int64(20_0000)), ""))(t)
	now, err := s.GiftRecord(t.Context(), account, monthly.Code)
	got := send()
	if pages := pagesOf(t, []byte(got["application/pdf"])); err != nil || now.Receipt == monthly.Receipt ||
		!strings.Contains(pages[0], now.Receipt) || !strings.Contains(pages[0], "$30.00") ||
		strings.Contains(pages[0], "VOID") || !strings.Contains(got["text/plain"], "recurring gift") {
		t.Errorf("%v %s %q %s", err, now.Receipt, pages, got["text/plain"])
	}

	wantSound(t, s)
}
