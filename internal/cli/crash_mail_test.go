package cli

import (
	"context"
	"io"
	"log"
	"net"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"donorbook/internal/crm/mail"
	"donorbook/internal/relay"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/mails"
)

// postOffice is an SMTP server that counts the mails that it has acknowledged, by their Message-ID, and knows to whom they went.
type postOffice struct {
	mu    sync.Mutex
	times map[string]int
	to    map[string]string
}

var (
	messageID = regexp.MustCompile(`(?m)^Message-ID: (\S+)`)
	recipient = regexp.MustCompile(`(?m)^To: <(\S+)>`)
)

func (p *postOffice) NewSession(*smtp.Conn) (smtp.Session, error) { return p, nil }
func (p *postOffice) Reset()                                      {}
func (p *postOffice) Logout() error                               { return nil }
func (p *postOffice) Mail(string, *smtp.MailOptions) error        { return nil }
func (p *postOffice) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (p *postOffice) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(messageID.FindSubmatch(text)[1])
	p.times[id]++
	p.to[id] = string(recipient.FindSubmatch(text)[1])
	return nil
}

func (p *postOffice) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.times)
}

// TestKillWhileMailsAreSent: every mail arrives, and none twice but those that were on their way when the server was killed.
func TestKillWhileMailsAreSent(t *testing.T) { eachEngine(t, killWhileMailsAreSent) }

func killWhileMailsAreSent(t *testing.T, e engine) {
	const queued, kills = 60, 3
	data := e.data(t)
	id, _ := newKey(t, data)
	office, port := openOffice(t)
	o := store.Options{Data: data, Database: databaseOf(data)}
	withBook(t, o, func(s *book.Book) {
		s.UseRelay(new(mails.Shelf))
		account, err := s.Account(t.Context(), id)
		for range queued {
			if err == nil {
				err = s.SendTest(t.Context(), account.Number, account.Name, "ada@example.org")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for n := 1; n <= kills; n++ {
		p := serve(t, data, mailing(port)...)
		p.waitFor("some mails", func() bool { return office.taken() >= n*queued/(kills+2) })
		p.kill()
	}
	office.sendRest(t, o, port)
	if twice := office.twice(); office.taken() != queued || twice > kills*atOnce {
		t.Errorf("%d of %d mails arrived, %d of them again", office.taken(), queued, twice)
	}
}

// atOnce is how many mails a server sends at the same time.
const atOnce = 6

func openOffice(t *testing.T) (*postOffice, int) {
	office := &postOffice{times: make(map[string]int), to: make(map[string]string)}
	server := smtp.NewServer(office)
	server.ErrorLog = log.New(io.Discard, "", 0) // clients are killed
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return office, l.Addr().(*net.TCPAddr).Port
}

// mailing are the flags of a server that mails through a post office.
func mailing(port int) []string {
	return []string{"--rate-limit", "0", "--base-url", "https://localhost:8443", "--smtp-host", "127.0.0.1", "--smtp-port", strconv.Itoa(port), "--smtp-tls", "off", "--mail-from", "giving@example.org"}
}

// sendRest sends what is left. What was on its way when a server was killed is due again when the leases are over.
func (p *postOffice) sendRest(t *testing.T, o store.Options, port int) {
	o.Now = func() time.Time { return time.Now().Add(mail.Lease + time.Minute) }
	withBook(t, o, func(s *book.Book) {
		from, _ := mail.ParseAddress("giving@example.org")
		s.UseRelay(&relay.Relay{Host: "127.0.0.1", Port: port, TLS: relay.Off, From: from})
		succeed(t, s.SendDue(context.Background(), "", func(err error) { t.Error(err) }))
	})
}

// twice is how many mails came again.
func (p *postOffice) twice() (n int) {
	for _, times := range p.times {
		n += times - 1
	}
	return n
}

func withBook(t *testing.T, o store.Options, do func(*book.Book)) {
	t.Helper()
	s := must(book.Open(t.Context(), o))(t)
	do(s)
	succeed(t, s.Close())
}
