package mails

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	// What somebody waits for while they look at a page, or that may warn of somebody else, goes before the others.
	awaited    = `kind IN ('test', 'invitation', 'reset', 'password', 'signin', 'manage', 'confirm')` // mail.Kind
	dueMails   = `SELECT account_id, id FROM mail WHERE account_id > $1 AND due_at <> 0 AND due_at <= $2 AND `
	dueMailsOf = `SELECT account_id, id FROM mail WHERE account_id = $1 AND account_id > $2 AND due_at <> 0 AND due_at <= $3 AND `
	inTurns    = ` ORDER BY account_id, due_at, id LIMIT `

	sqlAwaitedMails   = dueMails + awaited + inTurns + `$3`
	sqlAwaitedMailsOf = dueMailsOf + awaited + inTurns + `$4`
	sqlDueMails       = dueMails + `NOT ` + awaited + inTurns + `$3`
	sqlDueMailsOf     = dueMailsOf + `NOT ` + awaited + inTurns + `$4`

	sqlMail      = `SELECT id, kind, about, recipient, error, tries, created_at, due_at, ended_at, said FROM mail WHERE account_id = $1 AND id = $2`
	sqlClaimMail = `UPDATE mail SET due_at = $3, tries = tries + 1 WHERE account_id = $1 AND id = $2 AND tries = $4 AND due_at <> 0`
	sqlDelayMail = `UPDATE mail SET due_at = $4, error = $5 WHERE account_id = $1 AND id = $2 AND tries = $3 AND due_at <> 0`
	sqlEndMail   = `UPDATE mail SET due_at = 0, ended_at = $4, error = $5, said = '' WHERE account_id = $1 AND id = $2 AND tries = $3 AND due_at <> 0`

	sqlSender = `SELECT a.name, COALESCE(s.email, '') FROM account a LEFT JOIN account_setting s ON s.account_id = a.account_id WHERE a.account_id = $1`

	sqlOldMails = `SELECT account_id, id FROM mail WHERE ended_at <> 0 AND ended_at < $1 ORDER BY ended_at, account_id, id LIMIT $2`
)

func scanOf(r db.Row) store.DueRow { return store.DueRow{Account: r.Int(0), ID: r.Int(1)} }

// SendMails sends what is queued until the context ends. base is the address of this server, for links. report hears what went wrong.
func (s *MailStore) SendMails(ctx context.Context, base string, report func(error)) {
	if s.Mails() {
		s.sender(base, report).Run(ctx, s.queued)
	}
}

// SendDue sends the mails that are due.
func (s *MailStore) SendDue(ctx context.Context, base string, report func(error)) error {
	return s.sender(base, report).Empty(ctx)
}

func (s *MailStore) sender(base string, report func(error)) *store.DueWork {
	return &store.DueWork{
		Find: func(ctx context.Context, awaited bool, after int64, most int) ([]store.DueRow, error) {
			all, ofOne := sqlDueMails, sqlDueMailsOf
			if awaited {
				all, ofOne = sqlAwaitedMails, sqlAwaitedMailsOf
			}
			return store.ListAll(ctx, s.Base, scanOf, all, ofOne, after, store.Seconds(s.Now()), int64(most))
		},
		Do: func(ctx context.Context, of store.DueRow) error {
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

// claim gives the mail to this node for the time of a lease, unless another one has it. What a node that has died was sending is due again after that; the relay may have taken it, so it keeps its id.
func (s *MailStore) claim(ctx context.Context, of store.DueRow) (m *claimed, err error) {
	now := s.Now()
	err = s.UpdateShared(ctx, of.Account, func(t *store.Tx) error {
		m = nil
		found, err := db.List(t.Conn, func(r db.Row) claimed { return claimed{scanMail(r), r.Text(9)} }, sqlMail, of.Account, of.ID)
		if err != nil || len(found) == 0 || found[0].DueAt.IsZero() || found[0].DueAt.After(now) {
			return err
		}
		taken, err := t.Exec(sqlClaimMail, of.Account, of.ID, store.Seconds(now.Add(mail.Lease)), found[0].Tries)
		if err == nil && taken == 1 {
			m = &found[0]
			m.Tries++
		}
		return err
	})
	return m, err
}

func (s *MailStore) sendOne(ctx context.Context, of store.DueRow, base string, report func(error)) error {
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
		return s.UpdateShared(ctx, of.Account, func(t *store.Tx) error { t.Delete(store.MailTable, of.Account, of.ID); return nil })
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
func (s *MailStore) bounce(ctx context.Context, of store.DueRow, m *claimed, refused *mail.Refused) error {
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
func (s *MailStore) write(ctx context.Context, of store.DueRow, m *claimed, base string) (*mail.Letter, error) {
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
func (s *MailStore) end(ctx context.Context, of store.DueRow, m *claimed, why string) error {
	ended := int64(0) // 0 where it was forgotten meanwhile, or another node has it
	err := s.UpdateShared(ctx, of.Account, func(t *store.Tx) (err error) {
		ended, err = t.Exec(sqlEndMail, of.Account, of.ID, m.Tries, store.Seconds(s.Now()), why)
		return err
	})
	if do := s.failed[m.Kind]; err == nil && ended == 1 && why != "" && do != nil {
		err = do(ctx, of.Account, m.Mail)
	}
	return err
}

// delay notes why a mail did not leave, and when it is tried again.
func (s *MailStore) delay(ctx context.Context, of store.DueRow, m *claimed, reply string) error {
	now := s.Now()
	wait, again := mail.Again(m.Tries, m.CreatedAt, now)
	if !again {
		return s.end(ctx, of, m, said(reply))
	}
	return s.UpdateShared(ctx, of.Account, func(t *store.Tx) error {
		return t.Run(sqlDelayMail, of.Account, of.ID, m.Tries, store.Seconds(now.Add(wait)), said(reply))
	})
}

// SweepMails forgets mails that have left or failed long ago.
func (s *MailStore) SweepMails(ctx context.Context) error {
	cutoff := store.Seconds(s.Now().Add(-mail.Kept))
	return store.Stepwise(ctx, func() (more bool, err error) {
		old, err := store.List(ctx, s.Base, scanOf, sqlOldMails, cutoff, int64(store.SweepUnit))
		for _, of := range old {
			if err == nil {
				err = s.UpdateShared(ctx, of.Account, func(t *store.Tx) error { t.Delete(store.MailTable, of.Account, of.ID); return nil })
			}
		}
		return len(old) == store.SweepUnit, err
	})
}
