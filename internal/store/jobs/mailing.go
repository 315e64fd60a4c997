package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// MailingJob writes to many people: by mail where one may go, else a letter is noted, which is printed from its page.
const MailingJob JobKind = "mailing"

// Mailing is what a job writes to people.
type Mailing struct {
	Year     int64 `json:"year,omitempty"`     // of statements to contacts; 0 for thanks for gifts
	Archived bool  `json:"archived,omitempty"` // people who were archived get theirs, too
	Receipts bool  `json:"receipts,omitempty"` // with thanks, where one can be made
}

// MailingProgress is how far a job has come. Left are those who got nothing, by why.
type MailingProgress struct {
	Total   int64                   `json:"total"`
	At      int64                   `json:"at"`
	Mailed  int64                   `json:"mailed,omitempty"`
	Letters int64                   `json:"letters,omitempty"`
	Already int64                   `json:"already,omitempty"` // were thanked meanwhile, or have just got a statement
	Left    map[crm.Unreached]int64 `json:"left,omitempty"`
}

func (p *MailingProgress) count(way crm.Way, why crm.Unreached) {
	switch {
	case way == crm.ByMail:
		p.Mailed++
	case way == crm.ByLetter:
		p.Letters++
	case why == "":
		p.Already++
	default:
		if p.Left == nil {
			p.Left = map[crm.Unreached]int64{}
		}
		p.Left[why]++
	}
}

// Done is how many were looked at.
func (p *MailingProgress) Done() (n int64) {
	n = p.Mailed + p.Letters + p.Already
	for _, left := range p.Left {
		n += left
	}
	return n
}

// letterOutcome is that of the rows of a job that say who gets a letter.
const letterOutcome = "letter"

// GaveNothing is why someone gets no statement.
const GaveNothing crm.Unreached = "gave nothing in that year"

// Recipients are the gifts or contacts that a mailing is about.
type Recipients = db.Set

// WaitingGifts are the gifts that wait for thanks: those that were picked, or all that a list shows.
func (s *JobStore) WaitingGifts(ctx context.Context, account int64, picked []int64,
	filter giving.GiftFilter,
) (set db.Set, err error) {
	for _, id := range picked {
		if !store.Foreign(account, id) {
			set.Add(doc.IDSeq(id))
		}
	}
	if picked != nil {
		return set, nil
	}
	if filter, err = s.ByCampaign(ctx, filter); err != nil {
		return set, err
	}
	filter.Waiting = true
	return s.GiftSet(ctx, account, filter)
}

// PreviewMailing counts what a job would do, and shows the first thank-you or statement that it would send.
func (s *JobStore) PreviewMailing(ctx context.Context, account int64, m Mailing,
	set db.Set,
) (at MailingProgress, first *store.ThankYou, err error) {
	at.Total = set.Count()
	if m.Year != 0 { // who gave is known without a look at each gift
		gave, err := s.DonorSet(ctx, account, m.Year)
		if err != nil {
			return at, nil, err
		}
		set = set.Clone()
		if set.And(&gave); set.Count() < at.Total {
			at.Left = map[crm.Unreached]int64{GaveNothing: at.Total - set.Count()}
		}
	}
	for some := range slices.Chunk(store.IDsOf(account, set.Page(0, set.Count())), mostUnit) {
		err = s.Heavy.Again(ctx, account, func() error {
			found, err := s.recipients(ctx, account, m, some)
			for i := 0; i < len(found) && err == nil; i++ {
				way, why := found[i].way(s.Mails())
				if at.count(way, why); first == nil && way != crm.NoWay {
					first, err = s.exampleFor(ctx, account, m.Year, &found[i])
				}
			}
			return err
		})
		if err != nil {
			return at, first, err
		}
	}
	return at, first, nil
}

// exampleFor is what would be written to someone.
func (s *JobStore) exampleFor(ctx context.Context, account, year int64, r *recipient) (*store.ThankYou, error) {
	if r.gift != nil {
		y, err := s.ThankYou(ctx, account, r.gift, "")
		return &y, err
	}
	head, err := s.Letterhead(ctx, account)
	if err != nil {
		return nil, err
	}
	gave, err := s.NewStatements(account, year).Of(ctx, r.id)
	m := statementMail(&head, &gave, &r.contact)
	return &store.ThankYou{Note: thanks.Note{Subject: m.Subject, Says: m.Says}, Letterhead: head, Contact: r.contact},
		err
}

func statementMail(h *store.Letterhead, gave *giving.Statement, to *crm.Contact) *mail.Message {
	return thanks.StatementMail(gave, to, h.Organization, h.Settings.TaxID, h.Settings.NoReturn)
}

// recipient is someone whom a job may write to.
type recipient struct {
	id      int64 // of the gift, or of the contact
	contact crm.Contact
	gift    *giving.Gift      // that is thanked for
	gave    *giving.Statement // or what was given, where a statement was made
}

func (r *recipient) way(mails bool) (crm.Way, crm.Unreached) {
	switch {
	case r.gift != nil && !r.gift.Awaits():
		return crm.NoWay, ""
	case r.gave != nil && len(r.gave.Gifts) == 0:
		return crm.NoWay, GaveNothing
	}
	return r.contact.Way(mails)
}

// recipients reads whom a job may write to, by the ids of gifts or contacts.
func (s *JobStore) recipients(ctx context.Context, account int64, m Mailing, ids []int64) (all []recipient, err error) {
	err = s.Read(ctx, func(c db.Conn) error {
		all = nil
		of := ids
		if m.Year == 0 {
			records, err := db.List(c, func(r db.Row) *store.GiftRecord { g, _ := store.ScanGiftRecord(r); return &g },
				store.SQLGiftsByID, account, ids)
			if err != nil {
				return err
			}
			of = nil
			for _, g := range records {
				all, of = append(all, recipient{id: g.ID, gift: &g.Gift}), append(of, g.Contact)
			}
		}
		found, err := store.LoadContacts(c, account, of)
		if m.Year != 0 {
			for _, contact := range found {
				all = append(all, recipient{id: contact.ID, contact: contact})
			}
			return err
		}
		byID := store.Keyed(found, func(c crm.Contact) int64 { return c.ID })
		for i := range all {
			all[i].contact = byID[all[i].gift.Contact]
		}
		return err
	})
	for i := range all {
		if m.Archived && !all[i].contact.Erased() {
			all[i].contact = all[i].contact.Restore(s.Now())
		}
	}
	return all, err
}

// addStatements makes the statements of recipients.
func (s *JobStore) addStatements(ctx context.Context, account, year int64, to []recipient) (err error) {
	made := s.NewStatements(account, year)
	for i := 0; i < len(to) && err == nil; i++ {
		var gave giving.Statement
		gave, err = made.Of(ctx, to[i].id)
		to[i].gave = &gave
	}
	return err
}

// BeginMailing begins to write to those of a set: to contacts, or to those who gave gifts.
func (s *JobStore) BeginMailing(ctx context.Context, account int64, m Mailing, set db.Set) (made *Job, err error) {
	err = s.UpdateOnce(ctx, account, func(t *store.Tx) error {
		made = NewJob(t.Account(account), MailingJob, JobWaiting, m)
		made.Progress = JSONOf(MailingProgress{Total: set.Count()})
		SaveJob(t, made)
		for block, part := range set.Blocks {
			t.Insert(store.JobPartTable, account, made.ID, block, part.Encode())
		}
		return nil
	})
	s.WakeJobs()
	return made, err
}

// A statement is not mailed twice within an hour, or while it waits: two people may send the same ones.
const (
	sentAgain      = time.Hour
	sqlMailedSince = `SELECT 1 FROM mail WHERE account_id = $1 AND about = $2 AND about <> '' AND (due_at <> 0
		OR error = '' AND created_at > $3) LIMIT 1`
)

// AboutStatement is what a mail with the statement of a contact for a year is about. What it begins with finds the
// mails to a contact that are about no gift.
func AboutStatement(contact, year int64) string { return fmt.Sprintf("contact %d %d", contact, year) }

// mailingStep writes to a few people more. Their statements are made before the unit of work begins, which decides
// again whether they may be written to.
func mailingStep(ctx context.Context, w *JobWorker, j *Job) error {
	var m Mailing
	var progress MailingProgress
	if err := errors.Join(json.Unmarshal(j.Spec, &m), json.Unmarshal(j.Progress, &progress)); err != nil {
		return err
	}
	next, n := progress, store.Needs{}
	var ids []int64
	var ended bool
	err := w.Read(ctx, func(c db.Conn) (err error) {
		next.At = progress.At
		ids, ended, err = nextPicked(c, j, &next.At, w.UnitSize(j))
		return err
	})
	if err != nil {
		return err
	}
	var to []recipient
	var head store.Letterhead
	if m.Year == 0 {
		n.Gifts = ids
	} else if head, err = w.Letterhead(ctx, j.Account); err == nil {
		if to, err = w.recipients(ctx, j.Account, m, ids); err == nil {
			err = w.addStatements(ctx, j.Account, m.Year, to)
		}
	}
	if err != nil {
		return err
	}
	now := w.Now()
	return w.Advance(ctx, j, n, func(u store.Unit, job *Job) error {
		at := next
		at.Left = maps.Clone(progress.Left)
		note := func(id, contact int64, way crm.Way, why crm.Unreached) {
			if at.count(way, why); way == crm.ByLetter {
				NoteRow(u.Tx, job, JobRow{Number: at.Letters, Outcome: letterOutcome, Contact: contact,
					Data: JSONOf(id)})
			}
		}
		for _, id := range n.Gifts {
			contact, way, why, err := w.ThankOneOf(u, id, m.Receipts, now)
			if err != nil {
				return err
			}
			note(id, contact, way, why)
		}
		for i := range to {
			r := &to[i]
			row, err := store.Load(u.Tx, u.Number, r.id)
			if errors.As(err, new(*store.Damaged)) {
				note(r.id, r.id, crm.NoWay, crm.Unreadable)
				continue
			}
			if err != nil {
				return err
			}
			if r.contact = row.Contact; m.Archived && !row.Contact.Erased() {
				r.contact = r.contact.Restore(now)
			}
			way, why := r.way(w.Mails())
			if way == crm.ByMail {
				if mailed, err := u.Tx.Exists(sqlMailedSince, u.Number, AboutStatement(r.id, m.Year),
					store.Seconds(now.Add(-sentAgain))); err != nil || mailed {
					if note(r.id, r.id, crm.NoWay, ""); err != nil {
						return err
					}
					continue
				}
				err = w.Queue(u.Tx, u.Number, mail.Statement, AboutStatement(r.id, m.Year), r.contact.Emails[0].Value,
					statementMail(&head, r.gave, &r.contact))
			}
			if err != nil {
				return err
			}
			note(r.id, r.id, way, why)
		}
		job.Progress = JSONOf(at)
		if ended {
			return EndJob(u.Tx, job, JobDone)
		}
		return nil
	})
}

// Letter is one letter that a job has noted.
type Letter struct{ Contact, Gift int64 }

// LettersOf are the letters of a job, and what it writes.
func (s *JobStore) LettersOf(ctx context.Context, j *Job) (m Mailing, all []Letter, err error) {
	if j.Kind != MailingJob {
		return m, nil, crm.ErrNotFound
	}
	err = json.Unmarshal(j.Spec, &m)
	for after := int64(0); err == nil; {
		var rows []JobRow
		if rows, err = s.JobRows(ctx, j.Account, j.ID, after, 1000); len(rows) == 0 {
			break
		}
		for _, row := range rows {
			letter := Letter{Contact: row.Contact}
			if err == nil && m.Year == 0 {
				err = json.Unmarshal(row.Data, &letter.Gift)
			}
			all, after = append(all, letter), row.Number
		}
	}
	return m, all, err
}
