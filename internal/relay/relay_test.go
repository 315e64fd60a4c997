package relay_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
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
	if strings.HasPrefix(from, "stranger") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "you may not send as this"}
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.to = append(s.mail.to, to)
	switch {
	case strings.HasPrefix(to, "nobody"):
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case strings.HasPrefix(to, "spam"):
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "you are on a list"}
	case strings.HasPrefix(to, "grey"):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "<" + to + ">: greylisted"}
	case strings.HasPrefix(to, "later"):
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "try again later"}
	}
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(s.mail.to[0], "lost"):
		_ = s.conn.Conn().Close()
		return errors.New("lost")
	case strings.HasPrefix(s.mail.to[0], "full"):
		return &smtp.SMTPError{Code: 552, EnhancedCode: smtp.EnhancedCode{5, 2, 2}, Message: "mailbox full"}
	}
	s.mail.text = string(text)
	s.office.mu.Lock()
	s.office.taken = append(s.office.taken, s.mail)
	s.office.mu.Unlock()
	if rude, ok := s.conn.Conn().(*hangingUp); ok {
		rude.next = strings.HasPrefix(s.mail.to[0], "rude")
	}
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
	server := smtp.NewServer(office)
	certificate, roots := certify(t)
	server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(listener{l}) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	from, _ := mail.ParseAddress("giving@harbor.example")
	return office, &relay.Relay{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, TLS: relay.Off, From: from, Roots: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}}
}

// openPlain is the port of a server that cannot encrypt.
func openPlain(t *testing.T) int {
	server := smtp.NewServer(new(postOffice))
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// certify makes a certificate, and what trusts it.
func certify(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	root := must(x509.ParseCertificate(der))(t)
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func letter(t *testing.T, to string) *mail.Letter {
	address, ok := mail.ParseAddress(to)
	if !ok {
		t.Fatal(to)
	}
	reply, _ := mail.ParseAddress("office@harbor.example")
	return &mail.Letter{ID: 77, At: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), Name: mail.NewLine("Harbor Light"), ReplyTo: reply, To: address, Base: "https://donors.example",
		Message: mail.Message{Subject: mail.Say("Welcome"), Says: []mail.Line{mail.Say("Hello {}.", "Ada")}, Action: mail.Say("Join"), Path: "/console/invite/x", After: []mail.Line{mail.Say("Bye.")}}}
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	office, r := open(t)
	r.TLS, r.User, r.Password = relay.StartTLS, "ada", "hunter2"
	succeed(t, r.Send(t.Context(), letter(t, "ada@example.org")))
	got := office.taken[0]
	m := must(netmail.ReadMessage(strings.NewReader(got.text)))(t)
	for header, want := range map[string]string{
		"From": `"Harbor Light" <giving@harbor.example>`, "To": "<ada@example.org>", "Reply-To": `"Harbor Light" <office@harbor.example>`, "Subject": "Welcome",
		"Message-Id": "<77.donorbook@harbor.example>", "Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "", "Date": "Wed, 18 Nov 2026 09:00:00 +0000",
	} {
		equal(t, m.Header.Get(header), want, "%s", header)
	}
	for _, want := range []string{"text/plain", "text/html", "Hello Ada.", "https://donors.example/console/invite/x"} {
		contains(t, got.text, want, "the mail lacks")
	}
}

// Whatever a name, a subject or a sentence holds: there is one recipient, and no header but ours.
func TestNothingInAMailBecomesAHeaderOrARecipient(t *testing.T) {
	office, r := open(t)
	for _, hostile := range []string{"a\r\nBcc: eve@example.org", "a\nBcc: eve@example.org\n\nhello", `", eve@example.org, "`, `eve@example.org>, <eve2@example.org`, "=?utf-8?q?a=0D=0ABcc:_eve@example.org?=", "\u2028Bcc: eve@example.org", "\r\n.\r\nMAIL FROM:<eve@example.org>\r\n", "a\x00b"} {
		l := letter(t, "ada@example.org")
		l.Name, l.Subject, l.Says[0] = mail.NewLine(hostile), mail.Say("From {}", hostile), mail.Say("{}", hostile)
		if err := r.Send(t.Context(), l); err != nil {
			t.Fatalf("%q: %v", hostile, err)
		}
		got := office.taken[len(office.taken)-1]
		m := must(netmail.ReadMessage(strings.NewReader(got.text)))(t)
		to, err := m.Header.AddressList("To")
		from, fromErr := m.Header.AddressList("From")
		if len(got.to) != 1 || len(to) != 1 || err != nil || len(from) != 1 || fromErr != nil || from[0].Address != "giving@harbor.example" || m.Header.Get("Bcc") != "" || len(m.Header) != 9 {
			t.Errorf("%q: envelope %v, headers %v", hostile, got.to, m.Header)
		}
	}
	equal(t, len(office.taken), 8)
}

func TestWhatARelaySaysDecidesWhetherItIsTriedAgain(t *testing.T) {
	office, r := open(t)
	for to, want := range map[string]struct {
		reply       string
		final, gone bool
	}{
		"nobody@example.org": {"The mail relay answered: 550 5.1.1 no such user", true, true},
		"spam@example.org":   {"The mail relay answered: 550 5.7.1 you are on a list", true, false},
		"full@example.org":   {"The mail relay answered: 552 5.2.2 mailbox full", true, false},
		"later@example.org":  {"The mail relay answered: 451 4.7.1 try again later", false, false},
		"grey@example.org":   {"The mail relay answered: 451 4.7.1 <grey@example.org>: greylisted", false, false},
		"lost@example.org":   {"The mail relay broke off the connection.", false, false},
	} {
		var refused *mail.Refused
		err := r.Send(t.Context(), letter(t, to))
		if code, _, _ := strings.Cut(strings.TrimPrefix(want.reply, "The mail relay answered: "), " "); err == nil || strings.Contains(err.Error(), "@") ||
			want.reply != "" && code != "The" && !strings.Contains(err.Error(), code) {
			t.Errorf("%s: the log has %v", to, err)
		}
		if !errors.As(err, &refused) || refused.Reply != want.reply || refused.Final != want.final || refused.Gone != want.gone {
			t.Errorf("%s: %#v (%v)", to, refused, err)
		}
	}
	// A mail that was acknowledged was sent, whatever the relay does then.
	succeed(t, r.Send(t.Context(), letter(t, "rude@example.org")))
	equal(t, len(office.taken), 1)
	// What the operator must mend is not the mail's end: a sender, a password, a certificate, an address where nothing listens.
	stranger, _ := mail.ParseAddress("stranger@harbor.example")
	plain, _ := net.Listen("tcp", "127.0.0.1:0")
	t.Cleanup(func() { _ = plain.Close() })
	go func() {
		for c, err := plain.Accept(); err == nil; c, err = plain.Accept() {
			_ = c.Close()
		}
	}()
	for name, c := range map[string]struct {
		change func(*relay.Relay)
		reply  string
	}{
		"sender":   {func(r *relay.Relay) { r.From = stranger }, "The mail relay answered: 550 5.7.1 you may not send as this"},
		"password": {func(r *relay.Relay) { r.TLS, r.User, r.Password = relay.StartTLS, "ada", "wrong" }, "The mail relay refused the user name or the password (535)."},
		"plain":    {func(r *relay.Relay) { r.User, r.Password = "ada", "hunter2" }, ""}, // a password is not told to everyone on the way
		"authority": {func(r *relay.Relay) { r.TLS, r.Roots = relay.StartTLS, nil },
			"The certificate of the mail relay was not issued by an authority that this server trusts."},
		"name": {func(r *relay.Relay) {
			r.TLS, r.Roots = relay.StartTLS, &tls.Config{RootCAs: r.Roots.RootCAs, ServerName: "mail.example"}
		},
			"The certificate of the mail relay is for another name."},
		"expired": {func(r *relay.Relay) {
			late := func() time.Time { return time.Now().Add(24 * time.Hour) }
			r.TLS, r.Roots = relay.StartTLS, &tls.Config{RootCAs: r.Roots.RootCAs, ServerName: "127.0.0.1", Time: late}
		}, "The certificate of the mail relay has expired, or is not valid yet."},
		"version": {func(r *relay.Relay) {
			r.TLS, r.Roots = relay.StartTLS, &tls.Config{RootCAs: r.Roots.RootCAs, ServerName: "127.0.0.1", MaxVersion: tls.VersionTLS10, MinVersion: tls.VersionTLS10}
		}, "The mail relay and this server found no encrypted connection (TLS) that both accept."},
		"no TLS":       {func(r *relay.Relay) { r.TLS = relay.TLS }, "The mail relay does not answer with an encrypted connection (TLS) at this port."},
		"no STARTTLS":  {func(r *relay.Relay) { r.TLS, r.Port = relay.StartTLS, openPlain(t) }, "The mail relay does not offer an encrypted connection (STARTTLS)."},
		"port":         {func(r *relay.Relay) { r.Port = 1 }, "Nothing answers at the address of the mail relay."},
		"ends at once": {func(r *relay.Relay) { r.Port = plain.Addr().(*net.TCPAddr).Port }, "The mail relay broke off the connection."},
	} {
		other := *r
		c.change(&other)
		var refused *mail.Refused
		err := other.Send(t.Context(), letter(t, "ada@example.org"))
		if !errors.As(err, &refused) || refused.Final || refused.Reply != c.reply || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "@") {
			t.Errorf("%s: %+v %v", name, refused, err)
		}
	}
	equal(t, len(office.taken), 1)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if r.Send(stopped, letter(t, "ada@example.org")) == nil {
		t.Error("sent after the end")
	}
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
