package book

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/relay"
	"donorbook/internal/rig"
	"donorbook/internal/store/gifts"
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

func (p *postOffice) sendAll(t *testing.T, s *Book) {
	t.Helper()
	succeed(t, s.SendDue(t.Context(), "https://donors.example", func(err error) {
		if refused := new(mail.Refused); !errors.As(err, &refused) || rig.NamesSomebody([]byte(err.Error())) {
			t.Error(err)
		}
	}))
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
	s := newBook(t)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "Ada")
	// Without a relay nothing waits for one.
	must2(s.Invite(t.Context(), account, ada, access.Viewer, "bob@example.org"))(t)
	office := new(postOffice)
	s.UseRelay(office)
	office.sendAll(t, s)
	if len(office.taken) != 0 {
		t.Fatal("a mail was queued while there was no relay")
	}
	now := s.Now()
	clock := func(after time.Duration) { s.Now = func() time.Time { return now.Add(after) } }
	clock(0)
	email := "office@harbor.example"
	succeed(t, s.SetAccountSettings(t.Context(), account.Number, access.AccountSettingsInput{Email: &email}))
	invitation, token := must2(s.Invite(t.Context(), account, ada, access.Viewer, "bob@example.org"))(t)
	// for anyone: no one is written to
	if _, _, err := s.Invite(t.Context(), account, ada, access.Viewer, ""); err != nil {
		t.Fatal(err)
	}
	office.sendAll(t, s)
	office.sendAll(t, s)
	if len(office.taken) != 1 || office.last().Link() != "https://donors.example/console/invite/"+token ||
		office.last().To.String() != "bob@example.org" ||
		office.last().Name.String() != account.Name || office.last().ReplyTo.String() != email {
		t.Fatalf("%+v", office.taken)
	}
	if strings.Contains(bodies(t, s), token) {
		t.Error("the outbox keeps the link of a mail that has left")
	}
	sent, err := s.MailAbout(t.Context(), account.Number, invitation.ID)
	if err != nil || sent == nil || sent.State() != mail.Sent {
		t.Errorf("%v %+v", err, sent)
	}

	// A refusal is told, and what it said is forgotten; a delay is tried again, later and later, until it is too
	// late.
	refused, _ := must2(s.Invite(t.Context(), account, ada, access.Viewer, "nobody@example.org"))(t)
	delayed, _ := must2(s.Invite(t.Context(), account, ada, access.Viewer, "later@example.org"))(t)
	office.sendAll(t, s)
	all := must(s.MailsAbout(t.Context(), account.Number, []string{refused.ID, delayed.ID, invitation.ID}))(t)
	expect(t, "it", "3 3 The mail relay answered: 550 no such user 1", len(all), all[refused.ID].State(),
		all[refused.ID].Error, all[delayed.ID].State())
	tries := int64(0)
	for hours := range 60 {
		clock(time.Duration(hours) * time.Hour)
		office.sendAll(t, s)
		m, err := s.MailAbout(t.Context(), account.Number, delayed.ID)
		if err != nil || m.Tries < tries {
			t.Fatal(err, m)
		}
		tries = m.Tries
	}
	if m, _ := s.MailAbout(t.Context(), account.Number, delayed.ID); m.State() != mail.Failed || tries < 10 ||
		tries > 30 {
		t.Errorf("%+v", m)
	}
	expect(t, "the outbox keeps", "true", bodies(t, s) == "")

	// An invitation that is canceled before its mail has left is not mailed. What is old is forgotten.
	canceled, _, err := s.Invite(t.Context(), account, ada, access.Viewer, "eve@example.org")
	if err == nil {
		err = s.RevokeInvitation(t.Context(), account.Number, canceled.ID)
	}
	office.sendAll(t, s)
	succeed(t, err)
	equal(t, len(office.taken), 1)
	clock(100 * 24 * time.Hour)
	succeed(t, s.SweepMails(t.Context()))
	expect(t, "are left", "0", len(must(s.RecentMails(t.Context(), account.Number, 50))(t)))
}

// Two nodes and 64 goroutines send what is queued, while some die after the relay has taken a mail and before that is
// noted.
func TestConcurrentNodesSendEachMailOnce(t *testing.T) {
	a, b := twoNodes(t)
	account, office := newAccount(t, a), new(postOffice)
	a.UseRelay(office)
	b.UseRelay(office)
	for range 30 {
		succeed(t, a.SendTest(t.Context(), account.Number, account.Name, "ada@example.org"))
	}
	var nodes sync.WaitGroup
	for i := range 64 {
		nodes.Go(func() { office.sendAll(t, []*Book{a, b}[i%2]) })
	}
	nodes.Wait()
	expect(t, "of 30 mails were sent", "30", len(office.times))
	for id, times := range office.times {
		expect(t, fmt.Sprint("how often mail ", id, " was sent"), "1", times)
	}
	// A mail that a dead node had is due when its lease is over, with the id that it had.
	succeed(t, a.SendTest(t.Context(), account.Number, account.Name, "ada@example.org"))
	dead, stop := context.WithCancel(t.Context())
	before := maps.Clone(office.times)
	a.UseRelay(relayFunc(func(context.Context, *mail.Letter) error { stop(); return dead.Err() }))
	now := a.Now()
	if err := a.SendDue(dead, "", func(error) {}); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	office.sendAll(t, b)
	equal(t, len(office.times), len(before), "it was sent while another node had it")
	b.Now = func() time.Time { return now.Add(mail.Lease + time.Minute) }
	office.sendAll(t, b)
	expect(t, "mails after the lease", "true", len(office.times) == len(before)+1)
}

type relayFunc func(context.Context, *mail.Letter) error

func (f relayFunc) Send(ctx context.Context, l *mail.Letter) error { return f(ctx, l) }

// Strangers who ask for new passwords, for invented addresses or for a user, keep no user from a link that works; and
// the user's mailbox is not filled.
func TestStrangersUseUpNobodysReset(t *testing.T) {
	s := newBook(t)
	account, office := newAccount(t, s), new(postOffice)
	newUser(t, s, account, access.Owner, "Ada")
	s.UseRelay(office)
	now := s.Now()
	s.Now = func() time.Time { return now }
	ask := func(email string) {
		t.Helper()
		if err := s.AskForReset(t.Context(), email); err != nil {
			t.Fatalf("%s: %v", email, err)
		}
	}
	waiting := func() int {
		t.Helper()
		found := must(s.RecentMails(t.Context(), 0, 5_000))(t)
		return len(found)
	}
	for i := range 1_100 {
		ask(fmt.Sprintf("invented%d@example.org", i))
	}
	expect(t, "mails wait for addresses that nobody has", "1", waiting())
	for range 100 {
		ask("ada@example.org")
	}
	expect(t, "mails wait, and one of them for the user", "2", waiting())
	office.sendAll(t, s)
	if len(office.taken) != 1 {
		t.Fatalf("%d mails left", len(office.taken))
	}
	early := tokenOf(office.last())
	for range 10 {
		now = now.Add(2 * time.Minute)
		ask("ada@example.org")
		ask("ada@example.org")
		office.sendAll(t, s)
	}
	expect(t, "the user asked 10 times more, and has", "11", len(office.taken))
	must(s.ResetUser(t.Context(), early))(t)
	// One that the relay has delayed leaves when the user asks again.
	now = now.Add(2 * time.Minute)
	s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error { return errors.New("no answer") }))
	ask("ada@example.org")
	succeed(t, s.SendDue(t.Context(), "https://donors.example.org", func(error) {}))
	s.UseRelay(office)
	now = now.Add(2 * time.Minute)
	ask("ada@example.org")
	office.sendAll(t, s)
	expect(t, "mails", "12", len(office.taken))
	must(s.ResetByLink(t.Context(), tokenOf(office.last()), "quite another phrase"))(t)
}

func TestAForgottenPasswordIsSetByMail(t *testing.T) {
	s := newBook(t)
	account, office := newAccount(t, s), new(postOffice)
	ada := newUser(t, s, account, access.Owner, "Ada")
	s.UseRelay(office)
	now := s.Now()
	s.Now = func() time.Time { return now }
	session := must(s.StartSession(t.Context(), ada.ID, access.Device{}))(t)
	ask := func(email string) *mail.Letter {
		t.Helper()
		sent := len(office.taken)
		now = now.Add(2 * time.Minute)
		succeed(t, s.AskForReset(t.Context(), email))
		expect(t, "the outbox has", "true", bodies(t, s) == "")
		office.sendAll(t, s)
		if len(office.taken) == sent {
			return nil
		}
		return office.last()
	}
	if ask("eve@example.org") != nil {
		t.Error("someone who is no user got a mail")
	}
	expect(t, "the address of someone who is no user is kept", "0", len(must(s.RecentMails(t.Context(), 0, 50))(t)))
	first, second := ask("ada@EXAMPLE.org"), ask("ada@example.org")
	if first == nil || second == nil || first.To.String() != "ada@EXAMPLE.org" &&
		first.To.String() != "Ada@example.org" {
		t.Fatal(first, second)
	}
	if err := s.AskForReset(t.Context(), "a@b.org, c@d.org"); err == nil {
		t.Error("two addresses were taken")
	}
	// A password that is refused uses nothing up.
	if _, err := s.ResetByLink(t.Context(), tokenOf(first), "short"); err == nil {
		t.Error("a short password was taken")
	}
	equal(t, must(s.ResetByLink(t.Context(), tokenOf(first), "quite another phrase"))(t).ID, ada.ID)
	for _, used := range []*mail.Letter{first, second} {
		refuses(t, "a link works after the password was set",
			crm.ErrNotFound)(s.ResetByLink(t.Context(), tokenOf(used), "yet another phrase"))
	}
	refuses(t, "a session goes on", crm.ErrUnauthenticated)(s.Session(t.Context(), session))
	must2(s.SignIn(t.Context(), "ada@example.org", "quite another phrase",
		access.Device{Agent: "Firefox/1 Linux", Address: "192.0.2.7", New: true}))(t)
	sent := len(office.taken)
	office.sendAll(t, s)
	subjects := ""
	for _, l := range office.taken[sent:] {
		subjects += l.Subject.String() + ": " + l.Text()
	}
	if len(office.taken) != sent+2 || !strings.Contains(subjects, "Your password was changed") ||
		!strings.Contains(subjects, "Firefox on Linux") || strings.Contains(subjects, "phrase") {
		t.Errorf("%d mails: %s", len(office.taken)-sent, subjects)
	}
	// A link works for 30 minutes.
	late := ask("ada@example.org")
	now = now.Add(access.ResetTime)
	refuses(t, "a link works for longer", crm.ErrNotFound)(s.ResetUser(t.Context(), tokenOf(late)))
	succeed(t, s.SweepResets(t.Context()))
	// Of 16 who use one link at the same time, one succeeds.
	link, wins := tokenOf(ask("ada@example.org")), 0
	var mu sync.Mutex
	var people sync.WaitGroup
	for range 16 {
		people.Go(func() {
			if _, err := s.ResetByLink(context.Background(), link, "the very last phrase"); err == nil {
				mu.Lock()
				wins++
				mu.Unlock()
			}
		})
	}
	people.Wait()
	expect(t, "a link worked", "1", wins)
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
	must(s.ThankFor(t.Context(), account, plain.Code, gifts.Thank{How: "mail"}))(t)
	if got := send(); got["application/pdf"] != "" || got["text/plain"] == "" {
		t.Error("a mail without a receipt has a file")
	}

	// A gift of a plan, of which a part is given back before its mail leaves.
	plan := newPlan(t, s, account, fmt.Sprintf(`{"contact_id":%d,"amount":50,"method":"check","frequency":"monthly"}`, plain.Contact))
	monthly := giveNow(t, s, account, ofAda+`,"plan_id":"`+plan.Code+`","send_receipt":true`)
	must(s.RefundGift(t.Context(), account, monthly.Code, ptr(int64(20_0000)), ""))(t)
	now, err := s.GiftRecord(t.Context(), account, monthly.Code)
	got := send()
	if pages := pagesOf(t, []byte(got["application/pdf"])); err != nil || now.Receipt == monthly.Receipt ||
		!strings.Contains(pages[0], now.Receipt) || !strings.Contains(pages[0], "$30.00") ||
		strings.Contains(pages[0], "VOID") || !strings.Contains(got["text/plain"], "recurring gift") {
		t.Errorf("%v %s %q %s", err, now.Receipt, pages, got["text/plain"])
	}

	// What was given back altogether is not thanked for, and waits again if it comes back.
	back := giveNow(t, s, account, ofAda+`,"send_receipt":true`)
	must(s.RefundGift(t.Context(), account, back.Code, nil, ""))(t)
	if got := send(); got != nil {
		t.Errorf("a refunded gift is thanked for: %v", got)
	}
	expect(t, "wait", "0", waiting(t, s, account))
	must(s.UndoRefund(t.Context(), account, back.Code, nil, ""))(t)
	expect(t, "wait", "1", waiting(t, s, account))
	for _, r := range receiptsOf(t, s, account) {
		if r.VoidedAt.IsZero() == (r.GiftCode == back.Code) && r.GiftCode == back.Code {
			t.Errorf("%s is valid", thanks.ReceiptCode(r.ID))
		}
	}
	wantSound(t, s)
}
