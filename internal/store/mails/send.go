package mails

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/guard"
	"donorbook/internal/store"
)

const (
	sqlDueMails   = `SELECT account_id, id FROM mail WHERE due_at <> 0 AND due_at <= $1 ORDER BY due_at, account_id, id LIMIT $2`
	sqlDueMailsOf = `SELECT account_id, id FROM mail WHERE account_id = $1 AND due_at <> 0 AND due_at <= $2 ORDER BY due_at, account_id, id LIMIT $3`
	sqlMail       = `SELECT id, kind, about, recipient, error, tries, created_at, due_at, ended_at, said FROM mail WHERE account_id = $1 AND id = $2`
	sqlClaimMail  = `UPDATE mail SET due_at = $3, tries = tries + 1 WHERE account_id = $1 AND id = $2 AND tries = $4 AND due_at <> 0`
	sqlDelayMail  = `UPDATE mail SET due_at = $4, error = $5 WHERE account_id = $1 AND id = $2 AND tries = $3 AND due_at <> 0`
	sqlEndMail    = `UPDATE mail SET due_at = 0, ended_at = $4, error = $5, said = '' WHERE account_id = $1 AND id = $2 AND tries = $3 AND due_at <> 0`

	sqlSender = `SELECT a.name, COALESCE(s.email, '') FROM account a LEFT JOIN account_setting s ON s.account_id = a.account_id WHERE a.account_id = $1`

	sqlOldMails = `SELECT account_id, id FROM mail WHERE ended_at <> 0 AND ended_at < $1 ORDER BY ended_at, account_id, id LIMIT $2`
)

const (
	look   = 10 * time.Second // how often a node looks for mails that are due
	atOnce = 4                // mails that a node sends at the same time
	mostly = 40               // mails that it takes notice of at a time
)

type mailOf struct{ account, id int64 }

func scanOf(r db.Row) mailOf { return mailOf{r.Int(0), r.Int(1)} }

// SendMails sends what is queued until the context ends. base is the address of this server, for links. report hears what went wrong.
func (s *MailStore) SendMails(ctx context.Context, base string, report func(error)) {
	for s.Mails() && ctx.Err() == nil {
		more, err := s.SendDue(ctx, base, report)
		if err != nil && ctx.Err() == nil {
			report(err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.queued:
		case <-time.After(look):
		}
	}
}

// SendDue sends the mails that are due. It reports whether there may be more.
func (s *MailStore) SendDue(ctx context.Context, base string, report func(error)) (more bool, err error) {
	due, err := store.ListAll(ctx, s.Base, scanOf, sqlDueMails, sqlDueMailsOf, store.Seconds(s.Now()), int64(mostly))
	places := make(chan struct{}, atOnce)
	var sending sync.WaitGroup
	for _, of := range due {
		places <- struct{}{}
		sending.Go(func() {
			defer func() { <-places }()
			if err := guard.Do(func() error { return s.sendOne(ctx, of, base) }); err != nil && ctx.Err() == nil {
				report(err)
			}
		})
	}
	sending.Wait()
	return len(due) == mostly, err
}

// claimed is a mail that this node sends.
type claimed struct {
	mail.Mail
	body string
}

// claim gives the mail to this node for the time of a lease, unless another one has it. What a node that has died was sending is due again after that; the relay may have taken it, so it keeps its id.
func (s *MailStore) claim(ctx context.Context, of mailOf) (m *claimed, err error) {
	now := s.Now()
	err = s.UpdateShared(ctx, of.account, func(t *store.Tx) error {
		m = nil
		found, err := db.List(t.Conn, func(r db.Row) claimed { return claimed{scanMail(r), r.Text(9)} }, sqlMail, of.account, of.id)
		if err != nil || len(found) == 0 || found[0].DueAt.IsZero() || found[0].DueAt.After(now) {
			return err
		}
		taken, err := t.Exec(sqlClaimMail, of.account, of.id, store.Seconds(now.Add(mail.Lease)), found[0].Tries)
		if err == nil && taken == 1 {
			m = &found[0]
			m.Tries++
		}
		return err
	})
	return m, err
}

func (s *MailStore) sendOne(ctx context.Context, of mailOf, base string) error {
	m, err := s.claim(ctx, of)
	if err != nil || m == nil {
		return err
	}
	if mail.Outdated(m.CreatedAt, s.Now()) {
		return s.end(ctx, of, m, "It could not be sent for two days.")
	}
	letter, err := s.write(ctx, of, m, base)
	if err != nil {
		return errors.Join(err, s.delay(ctx, of, m, ""))
	}
	if letter == nil {
		return s.UpdateShared(ctx, of.account, func(t *store.Tx) error { t.Delete(store.MailTable, of.account, of.id); return nil })
	}
	sending, stop := context.WithTimeout(ctx, mail.SendTime)
	defer stop()
	err = s.relay.Send(sending, letter)
	// What the relay has answered is noted even if the server stops meanwhile.
	ctx = context.WithoutCancel(ctx)
	var refused *mail.Refused
	switch {
	case err == nil:
		return s.end(ctx, of, m, "")
	case errors.As(err, &refused) && refused.Final:
		if refused.Gone && of.account != serversOwn && s.gone != nil {
			if err := s.gone(ctx, of.account, m.To); err != nil { // it is refused again
				return errors.Join(err, s.delay(ctx, of, m, refused.Reply))
			}
		}
		return s.end(ctx, of, m, said(refused.Reply))
	case refused != nil:
		return errors.Join(err, s.delay(ctx, of, m, refused.Reply))
	}
	return errors.Join(err, s.delay(ctx, of, m, ""))
}

// said is why a mail did not leave, for a person. The log has the rest.
func said(reply string) string {
	if reply == "" {
		return "The server could not reach its mail relay. Its log says why."
	}
	return mail.NewLine(reply).String()
}

// write makes the letter, nil where there is nothing to say.
func (s *MailStore) write(ctx context.Context, of mailOf, m *claimed, base string) (*mail.Letter, error) {
	l := &mail.Letter{ID: m.ID, At: m.CreatedAt, Base: base, Name: mail.NewLine("Donorbook")}
	l.To, _ = mail.ParseAddress(m.To)
	if m.body != "" {
		if err := json.Unmarshal([]byte(m.body), &l.Message); err != nil {
			return nil, err
		}
	}
	if write := s.late[m.Kind]; write != nil {
		message, err := write(ctx, of.account, m.Mail, l.Message)
		if err != nil || message == nil {
			return nil, err
		}
		l.Message = *message
	}
	if of.account == serversOwn {
		return l, nil
	}
	return l, s.Read(ctx, func(c db.Conn) error {
		_, err := c.One(func(r db.Row) {
			l.Name = mail.NewLine(r.Text(0))
			l.ReplyTo, _ = mail.ParseAddress(r.Text(1))
		}, sqlSender, of.account)
		return err
	})
}

// end notes that a mail has left, or never will. What it said is forgotten: a link in it is a secret.
func (s *MailStore) end(ctx context.Context, of mailOf, m *claimed, why string) error {
	err := s.UpdateShared(ctx, of.account, func(t *store.Tx) error {
		return t.Run(sqlEndMail, of.account, of.id, m.Tries, store.Seconds(s.Now()), why)
	})
	if do := s.failed[m.Kind]; err == nil && why != "" && do != nil {
		err = do(ctx, of.account, m.Mail)
	}
	return err
}

// delay notes why a mail did not leave, and when it is tried again.
func (s *MailStore) delay(ctx context.Context, of mailOf, m *claimed, reply string) error {
	now := s.Now()
	wait, again := mail.Again(m.Tries, m.CreatedAt, now)
	if !again {
		return s.end(ctx, of, m, said(reply))
	}
	return s.UpdateShared(ctx, of.account, func(t *store.Tx) error {
		return t.Run(sqlDelayMail, of.account, of.id, m.Tries, store.Seconds(now.Add(wait)), said(reply))
	})
}

// SweepMails forgets mails that have left or failed long ago.
func (s *MailStore) SweepMails(ctx context.Context) error {
	cutoff := store.Seconds(s.Now().Add(-mail.Kept))
	return store.Stepwise(ctx, func() (more bool, err error) {
		old, err := store.List(ctx, s.Base, scanOf, sqlOldMails, cutoff, int64(store.SweepUnit))
		for _, of := range old {
			if err == nil {
				err = s.UpdateShared(ctx, of.account, func(t *store.Tx) error { t.Delete(store.MailTable, of.account, of.id); return nil })
			}
		}
		return len(old) == store.SweepUnit, err
	})
}
