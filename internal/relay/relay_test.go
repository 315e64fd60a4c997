package relay_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"donorbook/internal/crm/mail"
	"donorbook/internal/relay"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// postOffice is a real SMTP server that keeps what it takes. Recipients say what it does with their mail.
type postOffice struct {
	mu    sync.Mutex
	taken []taken
}

type taken struct {
	from string
	to   []string
	text string
}

func (p *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{office: p, conn: c}, nil
}

type session struct {
	office *postOffice
	conn   *smtp.Conn
	mail   taken
}

func refusal(code int, details smtp.EnhancedCode, message string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: details, Message: message}
}

// answers are to the sender or the recipient of that name.
var answers = map[string]error{
	"stranger": refusal(550, smtp.EnhancedCode{5, 7, 1}, "you may not send as this"),
	"nobody":   refusal(550, smtp.EnhancedCode{5, 1, 1}, "no such user"),
	"spam":     refusal(550, smtp.EnhancedCode{5, 7, 1}, "you are on a list"),
	"grey":     refusal(451, smtp.EnhancedCode{4, 7, 1}, "<grey@example.org>: greylisted"),
	"later":    refusal(451, smtp.EnhancedCode{4, 7, 1}, "try again later"),
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "ada" || password != "hunter2" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *session) Reset()        { s.mail = taken{} }
func (s *session) Logout() error { return nil }
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail.from = from
	return answers[from[:strings.Index(from, "@")]]
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.to = append(s.mail.to, to)
	return answers[to[:strings.Index(to, "@")]]
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	switch name, _, _ := strings.Cut(s.mail.to[0], "@"); name {
	case "lost":
		_ = s.conn.Conn().Close()
		return errors.New("lost")
	case "full":
		return refusal(552, smtp.EnhancedCode{5, 2, 2}, "mailbox full")
	case "rude":
		s.conn.Conn().(*hangingUp).next = true
	}
	s.mail.text = string(text)
	s.office.mu.Lock()
	s.office.taken = append(s.office.taken, s.mail)
	s.office.mu.Unlock()
	return nil
}

// hangingUp is a connection that ends with the next answer, where next is set.
type hangingUp struct {
	net.Conn
	next bool
}

func (c *hangingUp) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.next {
		_ = c.Close()
	}
	return n, err
}

type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &hangingUp{Conn: c}, err
}

func open(t *testing.T) (*postOffice, *relay.Relay) {
	office := new(postOffice)
	secure := httptest.NewTLSServer(nil) // for its certificate
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	from, _ := mail.ParseAddress("giving@harbor.example")
	return office, &relay.Relay{Host: "127.0.0.1", Port: serve(t, office,
		&tls.Config{Certificates: secure.TLS.Certificates}),
		TLS: relay.Off, From: from, Roots: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
}

func letter(t *testing.T, to string) *mail.Letter {
	address, ok := mail.ParseAddress(to)
	equal(t, ok, true, "%s", to)
	reply, _ := mail.ParseAddress("office@harbor.example")
	return &mail.Letter{ID: 77, At: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), Name: mail.NewLine("Harbor Light"),
		ReplyTo: reply, To: address, Base: "https://donors.example",
		Message: mail.Message{Subject: mail.Say("Welcome"), Says: []mail.Line{mail.Say("Hello {}.", "Ada")},
			Action: mail.Say("Join"), Path: "/console/invite/x", After: []mail.Line{mail.Say("Bye.")}}}
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	office, r := open(t)
	r.TLS, r.User, r.Password = relay.StartTLS, "ada", "hunter2"
	succeed(t, r.Send(t.Context(), letter(t, "ada@example.org")))
	got := office.taken[0]
	m := must(netmail.ReadMessage(strings.NewReader(got.text)))(t)
	for header, want := range rows.Pairs(`
		From            "Harbor Light" <giving@harbor.example>
		To              <ada@example.org>
		Reply-To        "Harbor Light" <office@harbor.example>
		Subject         Welcome
		Message-Id      <77.donorbook@harbor.example>
		Auto-Submitted  auto-generated
		User-Agent      ""
		X-Mailer        ""
		Date            Wed, 18 Nov 2026 09:00:00 +0000
	`) {
		equal(t, m.Header.Get(header), want, "%s", header)
	}
	for _, want := range []string{"text/plain", "text/html", "Hello Ada.", "https://donors.example/console/invite/x"} {
		contains(t, got.text, want, "the mail lacks")
	}
}

// Whatever a name, a subject or a sentence holds: there is one recipient, and no header but ours.
func TestNothingInAMailBecomesAHeaderOrARecipient(t *testing.T) {
	office, r := open(t)
	for i, hostile := range []string{"a\r\nBcc: eve@example.org", "a\nBcc: eve@example.org\n\nhello",
		`", eve@example.org, "`, `eve@example.org>, <eve2@example.org`, "=?utf-8?q?a=0D=0ABcc:_eve@example.org?=",
		"\u2028Bcc: eve@example.org", "\r\n.\r\nMAIL FROM:<eve@example.org>\r\n", "a\x00b"} {
		l := letter(t, "ada@example.org")
		l.Name, l.Subject, l.Says[0] = mail.NewLine(hostile), mail.Say("From {}", hostile), mail.Say("{}", hostile)
		succeed(t, r.Send(t.Context(), l))
		equal(t, len(office.taken), i+1)
		m := must(netmail.ReadMessage(strings.NewReader(office.taken[i].text)))(t)
		equal(t, office.taken[i].to, []string{"ada@example.org"}, "%q", hostile)
		to, from := must(m.Header.AddressList("To"))(t), must(m.Header.AddressList("From"))(t)
		equal(t, []int{len(to), len(from), len(m.Header)}, []int{1, 1, 9}, "%q: %v", hostile, m.Header)
		equal(t, from[0].Address+m.Header.Get("Bcc"), "giving@harbor.example", "%q", hostile)
	}
}

func TestWhatARelaySaysDecidesWhetherItIsTriedAgain(t *testing.T) {
	office, r := open(t)
	const answered = "The mail relay answered: "
	refused := func(r *relay.Relay, to string, want mail.Refused) error {
		t.Helper()
		got, err := new(mail.Refused), r.Send(t.Context(), letter(t, to+"@example.org"))
		equal(t, errors.As(err, &got), true, "%s", to)
		equal(t, []any{got.Reply, got.Final, got.Gone}, []any{want.Reply, want.Final, want.Gone}, "%s: %v", to, err)
		equal(t, strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "@"), false,
			"the log has %v", err)
		return err
	}
	for to, want := range map[string]mail.Refused{
		"nobody": {Reply: answered + "550 5.1.1 no such user", Final: true, Gone: true},
		"spam":   {Reply: answered + "550 5.7.1 you are on a list", Final: true},
		"full":   {Reply: answered + "552 5.2.2 mailbox full", Final: true},
		"later":  {Reply: answered + "451 4.7.1 try again later"},
		"grey":   {Reply: answered + "451 4.7.1 <grey@example.org>: greylisted"},
		"lost":   {Reply: "The mail relay broke off the connection."},
	} {
		err := refused(r, to, want)
		if reply, is := strings.CutPrefix(want.Reply, answered); is {
			contains(t, err.Error(), reply[:3])
		}
	}
	// A mail that was acknowledged was sent, whatever the relay does then.
	succeed(t, r.Send(t.Context(), letter(t, "rude@example.org")))
	equal(t, len(office.taken), 1)
	// What the operator must mend is not the mail's end: a sender, a password, a certificate, an address where nothing
	// listens.
	plain := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = plain.Close() })
	go func() {
		for c, err := plain.Accept(); err == nil; c, err = plain.Accept() {
			_ = c.Close()
		}
	}()
	secure := func(change func(*tls.Config)) func(*relay.Relay) {
		return func(r *relay.Relay) {
			r.TLS, r.Roots = relay.StartTLS, r.Roots.Clone()
			change(r.Roots)
		}
	}
	for reply, change := range map[string]func(*relay.Relay){
		answered + "550 5.7.1 you may not send as this": func(r *relay.Relay) {
			r.From, _ = mail.ParseAddress("stranger@harbor.example")
		},
		"The mail relay refused the user name or the password (535).": func(r *relay.Relay) {
			r.TLS, r.User, r.Password = relay.StartTLS, "ada", "wrong"
		},
		"": func(r *relay.Relay) { r.User, r.Password = "ada", "hunter2" }, // which is not told to everyone on the way
		"The certificate of the mail relay was not issued by an authority that this server trusts.": secure(
			func(c *tls.Config) { c.RootCAs = nil }),
		"The certificate of the mail relay is for another name.": secure(
			func(c *tls.Config) { c.ServerName = "mail.example" }),
		"The certificate of the mail relay has expired, or is not valid yet.": secure(
			func(c *tls.Config) { c.Time = func() time.Time { return time.Now().AddDate(100, 0, 0) } }),
		"The mail relay and this server found no encrypted connection (TLS) that both accept.": secure(
			func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 }),
		"The mail relay does not answer with an encrypted connection (TLS) at this port.": func(r *relay.Relay) {
			r.TLS = relay.TLS
		},
		"The mail relay does not offer an encrypted connection (STARTTLS).": func(r *relay.Relay) {
			r.TLS, r.Port = relay.StartTLS, serve(t, new(postOffice), nil)
		},
		"Nothing answers at the address of the mail relay.": func(r *relay.Relay) { r.Port = 1 },
		"The mail relay broke off the connection.": func(r *relay.Relay) {
			r.Port = plain.Addr().(*net.TCPAddr).Port
		},
	} {
		other := *r
		change(&other)
		_ = refused(&other, "ada", mail.Refused{Reply: reply})
	}
	equal(t, len(office.taken), 1)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	equal(t, r.Send(stopped, letter(t, "ada@example.org")) == nil, false, "sent after the end")
}

// must and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}

func contains(t assert.Failer, text, part string, what ...any) {
	t.Helper()
	assert.Contains(t, text, part, what...)
}

// serve is the port of a server, which cannot encrypt without a certificate.
func serve(t *testing.T, office *postOffice, encrypts *tls.Config) int {
	server := smtp.NewServer(office)
	server.TLSConfig = encrypts
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(listener{l}) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}
