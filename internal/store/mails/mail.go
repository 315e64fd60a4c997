// Package mails is the outbox: mails are queued in the unit of work of what they tell, and any node sends them.
package mails

import (
	"context"
	"encoding/json"

	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	mailColumns = `SELECT id, kind, about, recipient, error, tries, created_at, due_at, ended_at FROM mail WHERE account_id = $1`
	sqlMails    = mailColumns + ` ORDER BY created_at DESC, id LIMIT $2`
	sqlAboutAll = mailColumns + ` AND about = ANY($2) AND about <> ''`
	sqlAbout    = mailColumns + ` AND about = $2 AND about <> '' ORDER BY created_at DESC, id LIMIT 1`
)

// MailStore is the outbox of a node.
type MailStore struct {
	*store.Base
	relay  Relay
	queued chan struct{}
	late   map[mail.Kind]Writer
	failed map[mail.Kind]func(ctx context.Context, account int64, m mail.Mail) error
	gone   func(ctx context.Context, account int64, address string) error
}

// Relay takes mails to where they go. It is a setting of the server: an organization must not choose what the server connects to.
type Relay interface {
	Send(ctx context.Context, l *mail.Letter) error // a *mail.Refused says what became of it; any other error is tried again
}

func New(b *store.Base) *MailStore {
	return &MailStore{Base: b, queued: make(chan struct{}, 1), late: make(map[mail.Kind]Writer),
		failed: make(map[mail.Kind]func(context.Context, int64, mail.Mail) error)}
}

// UseRelay says who takes the mails. Without a relay none is queued.
func (s *MailStore) UseRelay(r Relay) { s.relay = r }

// Mails tells whether mail can be sent.
func (s *MailStore) Mails() bool { return s.relay != nil }

// Writer writes a mail when it is sent, or completes what was queued. It returns nil for one that has nothing to say any more, which is dropped.
type Writer func(ctx context.Context, account int64, m mail.Mail, queued mail.Message) (*mail.Message, error)

// WriteLate has mails of a kind written when they are sent, and not only when they are queued.
func (s *MailStore) WriteLate(kind mail.Kind, write Writer) { s.late[kind] = write }

// OnFailure says what to do when a mail of a kind has failed for good.
func (s *MailStore) OnFailure(kind mail.Kind, do func(ctx context.Context, account int64, m mail.Mail) error) {
	s.failed[kind] = do
}

// OnBounce says what to do when a relay knows that there is no such mailbox.
func (s *MailStore) OnBounce(do func(ctx context.Context, account int64, address string) error) {
	s.gone = do
}

// serversOwn is the account of mails that no organization sends: those to a user about their password.
const serversOwn = 0

const maxMailID = 1<<53 - 1

// Queue adds a mail to the unit of work that it tells of, or nothing where no mail can be sent or reach anyone. Account is 0 for a mail of the server. about says what it is for.
func (s *MailStore) Queue(t *store.Tx, account int64, kind mail.Kind, about, to string, m *mail.Message) error {
	address, ok := mail.ParseAddress(to)
	if !s.Mails() || !ok {
		return nil
	}
	body := ""
	if m != nil {
		said, err := json.Marshal(m)
		if err != nil {
			return err
		}
		body = string(said)
	}
	now := store.Seconds(s.Now())
	t.Insert(store.MailTable, account, 1+text.RandomBelow(maxMailID), string(kind), about, address.String(), body, "", int64(0), now, now, int64(0))
	t.Then(s.wake)
	return nil
}

// wake lets the sender know that a mail was queued.
func (s *MailStore) wake() {
	select {
	case s.queued <- struct{}{}:
	default: // it is awake
	}
}

// SendTest queues a mail that shows whether mail arrives.
func (s *MailStore) SendTest(ctx context.Context, account int64, organization, to string) error {
	return s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		return s.Queue(t, account, mail.Test, "", to, TestMessage(organization))
	})
}

// TestMessage is what a test says.
func TestMessage(organization string) *mail.Message {
	return &mail.Message{Subject: mail.Say("Test mail from {}", organization), Says: []mail.Line{
		mail.Say("This is a test. Donorbook can send mail for {}.", organization),
		mail.Say("If it arrived in your spam folder, ask the operator of the server to check SPF and DKIM of the sender’s domain."),
	}}
}

// RecentMails are the last mails of an account, newest first.
func (s *MailStore) RecentMails(ctx context.Context, account int64, most int) ([]mail.Mail, error) {
	return store.List(ctx, s.Base, scanMail, sqlMails, account, int64(most))
}

// MailAbout is the last mail about something, nil for none.
func (s *MailStore) MailAbout(ctx context.Context, account int64, about string) (*mail.Mail, error) {
	found, err := store.List(ctx, s.Base, scanMail, sqlAbout, account, about)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// MailsAbout are the mails about several things, each of which has one at most.
func (s *MailStore) MailsAbout(ctx context.Context, account int64, about []string) (map[string]mail.Mail, error) {
	found, err := store.List(ctx, s.Base, scanMail, sqlAboutAll, account, about)
	return store.Keyed(found, func(m mail.Mail) string { return m.About }), err
}

func scanMail(r db.Row) mail.Mail {
	return mail.Mail{ID: r.Int(0), Kind: mail.Kind(r.Text(1)), About: r.Text(2), To: r.Text(3), Error: r.Text(4), Tries: r.Int(5),
		CreatedAt: store.Moment(r.Int(6)), DueAt: store.Moment(r.Int(7)), EndedAt: store.Moment(r.Int(8))}
}

const sqlWithdraw = `DELETE FROM mail WHERE account_id = $1 AND about = $2 AND about <> '' AND due_at <> 0`

// Withdraw drops mails about something that is gone, as far as they have not left.
func (s *MailStore) Withdraw(t *store.Tx, account int64, about string) error {
	return t.Run(sqlWithdraw, account, about)
}
