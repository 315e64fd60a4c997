package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

const (
	mailColumns = `SELECT id, kind, about, recipient, error, tries, created_at, due_at, ended_at FROM mail
		WHERE account_id = $1`
	sqlMails    = mailColumns + ` ORDER BY created_at DESC, id LIMIT $2`
	sqlAboutAll = mailColumns + ` AND about = ANY($2) AND about <> ''`
	sqlAbout    = mailColumns + ` AND about = $2 AND about <> '' ORDER BY created_at DESC, id LIMIT 1`
)

// Relay takes mails to where they go. It is a setting of the server: an organization must not choose what the server
// connects to.
type Relay interface {
	// a *mail.Refused says what became of it; any other error is tried again
	Send(ctx context.Context, l *mail.Letter) error
}

// UseRelay says who takes the mails. Without a relay none is queued.
func (s *Store) UseRelay(r Relay) { s.relay = r }

// Mails tells whether mail can be sent.
func (s *Store) Mails() bool { return s.relay != nil }

// Writer writes a mail when it is sent, or completes what was queued. It returns nil for one that has nothing to say
// any more, which is dropped.
type Writer func(ctx context.Context, account int64, m mail.Mail, queued mail.Message) (*mail.Message, error)

// WriteLate has mails of a kind written when they are sent, and not only when they are queued.
func (s *Store) WriteLate(kind mail.Kind, write Writer) { s.late[kind] = write }

// OnFailure says what to do when a mail of a kind has failed for good.
func (s *Store) OnFailure(kind mail.Kind, do func(ctx context.Context, account int64, m mail.Mail) error) {
	s.failed[kind] = do
}

// OnBounce says what to do when a relay knows that there is no such mailbox.
func (s *Store) OnBounce(do func(ctx context.Context, account int64, address string) error) {
	s.gone = do
}

// serversOwn is the account of mails that no organization sends: those to a user about their password.
const serversOwn = 0

const maxMailID = 1<<53 - 1

// Queue adds a mail to the unit of work that it tells of, or nothing where no mail can be sent or reach anyone. Account
// is 0 for a mail of the server. about says what it is for.
func (s *Store) Queue(t *Tx, account int64, kind mail.Kind, about, to string, m *mail.Message) error {
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
	now := Seconds(s.Now())
	t.Insert(MailTable, account, 1+text.RandomBelow(maxMailID), string(kind), about, address.String(), body, "",
		int64(0), now, now, int64(0))
	t.Then(s.wake)
	return nil
}

// wake lets the sender know that a mail was queued.
func (s *Store) wake() {
	select {
	case s.queued <- struct{}{}:
	default: // it is awake
	}
}

// SendTest queues a mail that shows whether mail arrives.
func (s *Store) SendTest(ctx context.Context, account int64, organization, to string) error {
	return s.UpdateAccount(ctx, account, func(t *Tx) error {
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
func (s *Store) RecentMails(ctx context.Context, account int64, most int) ([]mail.Mail, error) {
	return List(ctx, s, scanMail, sqlMails, account, int64(most))
}

// MailAbout is the last mail about something, nil for none.
func (s *Store) MailAbout(ctx context.Context, account int64, about string) (*mail.Mail, error) {
	found, err := List(ctx, s, scanMail, sqlAbout, account, about)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// MailsAbout are the mails about several things, each of which has one at most.
func (s *Store) MailsAbout(ctx context.Context, account int64, about []string) (map[string]mail.Mail, error) {
	found, err := List(ctx, s, scanMail, sqlAboutAll, account, about)
	return Keyed(found, func(m mail.Mail) string { return m.About }), err
}

func scanMail(r db.Row) mail.Mail {
	return mail.Mail{ID: r.Int(0), Kind: mail.Kind(r.Text(1)), About: r.Text(2), To: r.Text(3), Error: r.Text(4),
		Tries:     r.Int(5),
		CreatedAt: Moment(r.Int(6)), DueAt: Moment(r.Int(7)), EndedAt: Moment(r.Int(8))}
}

const sqlWithdraw = `DELETE FROM mail WHERE account_id = $1 AND about = $2 AND about <> '' AND due_at <> 0`

// Withdraw drops mails about something that is gone, as far as they have not left.
func (s *Store) Withdraw(t *Tx, account int64, about string) error {
	return t.Run(sqlWithdraw, account, about)
}

const (
	// What somebody waits for while they look at a page, or that may warn of somebody else, goes before the others.
	awaited    = `kind IN ('test', 'invitation', 'reset', 'password', 'signin', 'manage', 'confirm')` // mail.Kind
	dueMails   = `SELECT account_id, id FROM mail WHERE account_id > $1 AND due_at <> 0 AND due_at <= $2 AND `
	dueMailsOf = `SELECT account_id, id FROM mail WHERE account_id = $1 AND account_id > $2 AND due_at <> 0
		AND due_at <= $3 AND `
	inTurns = ` ORDER BY account_id, due_at, id LIMIT `

	sqlAwaitedMails   = dueMails + awaited + inTurns + `$3`
	sqlAwaitedMailsOf = dueMailsOf + awaited + inTurns + `$4`
	sqlDueMails       = dueMails + `NOT ` + awaited + inTurns + `$3`
	sqlDueMailsOf     = dueMailsOf + `NOT ` + awaited + inTurns + `$4`

	sqlMail = `SELECT id, kind, about, recipient, error, tries, created_at, due_at, ended_at, said FROM mail
		WHERE account_id = $1 AND id = $2`
	sqlClaimMail = `UPDATE mail SET due_at = $3, tries = tries + 1 WHERE account_id = $1 AND id = $2 AND tries = $4
		AND due_at <> 0`
	sqlDelayMail = `UPDATE mail SET due_at = $4, error = $5 WHERE account_id = $1 AND id = $2 AND tries = $3
		AND due_at <> 0`
	sqlEndMail = `UPDATE mail SET due_at = 0, ended_at = $4, error = $5, said = '' WHERE account_id = $1 AND id = $2
		AND tries = $3 AND due_at <> 0`

	sqlSender = `SELECT a.name, COALESCE(s.email, '') FROM account a
		LEFT JOIN account_setting s ON s.account_id = a.account_id WHERE a.account_id = $1`

	sqlOldMails = `SELECT account_id, id FROM mail WHERE ended_at <> 0 AND ended_at < $1
		ORDER BY ended_at, account_id, id LIMIT $2`
)

func scanOf(r db.Row) DueRow { return DueRow{Account: r.Int(0), ID: r.Int(1)} }

// SendMails sends what is queued until the context ends. base is the address of this server, for links. report hears
// what went wrong.
func (s *Store) SendMails(ctx context.Context, base string, report func(error)) {
	if s.Mails() {
		s.sender(base, report).Run(ctx, s.queued)
	}
}

// SendDue sends the mails that are due.
func (s *Store) SendDue(ctx context.Context, base string, report func(error)) error {
	return s.sender(base, report).Empty(ctx)
}

func (s *Store) sender(base string, report func(error)) *DueWork {
	return &DueWork{
		Find: func(ctx context.Context, awaited bool, after int64, most int) ([]DueRow, error) {
			all, ofOne := sqlDueMails, sqlDueMailsOf
			if awaited {
				all, ofOne = sqlAwaitedMails, sqlAwaitedMailsOf
			}
			return ListAll(ctx, s, scanOf, all, ofOne, after, Seconds(s.Now()), int64(most))
		},
		Do: func(ctx context.Context, of DueRow) error {
			numbered := func(err error) error {
				if err != nil {
					err = fmt.Errorf("email %d of account %d: %w", of.ID, of.Account, err)
				}
				return err
			}
			return numbered(s.sendOne(ctx, of, base, func(err error) { report(numbered(err)) }))
		},
		Report: report,
	}
}

// claimed is a mail that this node sends.
type claimed struct {
	mail.Mail
	body string
}

// claim gives the mail to this node for the time of a lease, unless another one has it. What a node that has died was
// sending is due again after that; the relay may have taken it, so it keeps its id.
func (s *Store) claim(ctx context.Context, of DueRow) (m *claimed, err error) {
	now := s.Now()
	err = s.UpdateShared(ctx, of.Account, func(t *Tx) error {
		m = nil
		found, err := db.List(t.Conn, func(r db.Row) claimed { return claimed{scanMail(r), r.Text(9)} }, sqlMail,
			of.Account, of.ID)
		if err != nil || len(found) == 0 || found[0].DueAt.IsZero() || found[0].DueAt.After(now) {
			return err
		}
		taken, err := t.Exec(sqlClaimMail, of.Account, of.ID, Seconds(now.Add(mail.Lease)), found[0].Tries)
		if err == nil && taken == 1 {
			m = &found[0]
			m.Tries++
		}
		return err
	})
	return m, err
}

func (s *Store) sendOne(ctx context.Context, of DueRow, base string, report func(error)) error {
	m, err := s.claim(ctx, of)
	if err != nil || m == nil {
		return err
	}
	if mail.Outdated(m.CreatedAt, s.Now()) {
		return s.end(ctx, of, m, "It could not be sent for two days.")
	}
	letter, err := s.write(ctx, of, m, base)
	if err != nil {
		report(err)
		return s.delay(ctx, of, m, "")
	}
	if letter == nil {
		return s.UpdateShared(ctx, of.Account, func(t *Tx) error { t.Delete(MailTable, of.Account, of.ID); return nil })
	}
	sending, stop := context.WithTimeout(ctx, mail.SendTime)
	defer stop()
	err = s.relay.Send(sending, letter)
	// What the relay has answered is noted even if the server stops meanwhile.
	ctx = context.WithoutCancel(ctx)
	if err == nil {
		return s.end(ctx, of, m, "")
	}
	refused := new(mail.Refused)
	if errors.As(err, &refused) && refused.Final {
		if err = s.bounce(ctx, of, m, refused); err == nil {
			return s.end(ctx, of, m, said(refused.Reply))
		}
	}
	report(err)
	return s.delay(ctx, of, m, refused.Reply)
}

// bounce notes that there is no such mailbox, where the relay knows that.
func (s *Store) bounce(ctx context.Context, of DueRow, m *claimed, refused *mail.Refused) error {
	if !refused.Gone || of.Account == serversOwn || s.gone == nil {
		return nil
	}
	return s.gone(ctx, of.Account, m.To)
}

// said is why a mail did not leave, for a person. The log has the rest.
func said(reply string) string {
	if reply == "" {
		return "The server could not reach its mail relay. Its log says why."
	}
	return mail.NewLine(reply).String()
}

// write makes the letter, nil where there is nothing to say.
func (s *Store) write(ctx context.Context, of DueRow, m *claimed, base string) (*mail.Letter, error) {
	l := &mail.Letter{ID: m.ID, At: m.CreatedAt, Base: base, Name: mail.NewLine("Donorbook")}
	l.To, _ = mail.ParseAddress(m.To)
	if m.body != "" {
		if err := json.Unmarshal([]byte(m.body), &l.Message); err != nil {
			return nil, err
		}
	}
	if write := s.late[m.Kind]; write != nil {
		message, err := write(ctx, of.Account, m.Mail, l.Message)
		if err != nil || message == nil {
			return nil, err
		}
		l.Message = *message
	}
	if of.Account == serversOwn {
		return l, nil
	}
	return l, s.Read(ctx, func(c db.Conn) error {
		_, err := c.One(func(r db.Row) {
			l.Name = mail.NewLine(r.Text(0))
			l.ReplyTo, _ = mail.ParseAddress(r.Text(1))
		}, sqlSender, of.Account)
		return err
	})
}

// end notes that a mail has left, or never will. What it said is forgotten: a link in it is a secret.
func (s *Store) end(ctx context.Context, of DueRow, m *claimed, why string) error {
	ended := int64(0) // 0 where it was forgotten meanwhile, or another node has it
	err := s.UpdateShared(ctx, of.Account, func(t *Tx) (err error) {
		ended, err = t.Exec(sqlEndMail, of.Account, of.ID, m.Tries, Seconds(s.Now()), why)
		return err
	})
	if do := s.failed[m.Kind]; err == nil && ended == 1 && why != "" && do != nil {
		err = do(ctx, of.Account, m.Mail)
	}
	return err
}

// delay notes why a mail did not leave, and when it is tried again.
func (s *Store) delay(ctx context.Context, of DueRow, m *claimed, reply string) error {
	now := s.Now()
	wait, again := mail.Again(m.Tries, m.CreatedAt, now)
	if !again {
		return s.end(ctx, of, m, said(reply))
	}
	return s.UpdateShared(ctx, of.Account, func(t *Tx) error {
		return t.Run(sqlDelayMail, of.Account, of.ID, m.Tries, Seconds(now.Add(wait)), said(reply))
	})
}

// Old data that is not the history is forgotten in the background, a few rows in each unit of work.
const (
	SweepUnit = 500       // rows of one unit of work
	SweepLook = time.Hour // how often old ones are looked for
)

// Stepwise takes one step after the other. Between them it rests for as long as the last one took, so that others have
// at least half of the time.
func Stepwise(ctx context.Context, step func() (more bool, err error)) error {
	for {
		start := time.Now()
		if more, err := step(); !more || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
}

// SweepMails forgets mails that have left or failed long ago.
func (s *Store) SweepMails(ctx context.Context) error {
	cutoff := Seconds(s.Now().Add(-mail.Kept))
	return Stepwise(ctx, func() (more bool, err error) {
		old, err := List(ctx, s, scanOf, sqlOldMails, cutoff, int64(SweepUnit))
		for _, of := range old {
			if err == nil {
				err = s.UpdateShared(ctx, of.Account, func(t *Tx) error {
					t.Delete(MailTable, of.Account,
						of.ID)
					return nil
				})
			}
		}
		return len(old) == SweepUnit, err
	})
}

// Shelf is the relay of a demo: it keeps the last mails in memory, for a page that shows them, and sends none.
type Shelf struct {
	mu      sync.Mutex
	letters []*mail.Letter
}

const shelved = 50

func (s *Shelf) Send(_ context.Context, l *mail.Letter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = slices.Insert(s.letters, 0, l)
	s.letters = s.letters[:min(len(s.letters), shelved)]
	return nil
}

// Shelved are the mails of a demo, newest first; demo is false where mails are sent.
func (s *Store) Shelved() (letters []*mail.Letter, demo bool) {
	shelf, demo := s.relay.(*Shelf)
	if !demo {
		return nil, false
	}
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	return slices.Clone(shelf.letters), true
}
