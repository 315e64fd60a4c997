package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

const (
	sqlChanges = changeColumns + ` AND revision = ANY($2) ORDER BY revision DESC`
	sqlOldest  = changeColumns + ` AND revision = ANY($2) ORDER BY revision`
	sqlOlder   = changeColumns + ` AND revision < $2 AND ` + notTwice + ` ORDER BY revision DESC LIMIT $3`
	sqlNewer   = changeColumns + ` AND revision > $2 AND ` + notTwice + ` ORDER BY revision LIMIT $3`

	// The contact's own row tells of a new gift, a refund and a new plan, and says more than that of the gift or the plan. Refunds from before
	// there were such rows came through no door.
	notTwice = `(door = 0 OR NOT (noun = 3 AND kind IN (1, 10) OR noun = 4 AND kind = 1))`

	sqlIsArchived = `SELECT archived FROM contact WHERE account_id = $1 AND id = $2`
)

// Activities appends the wire forms of one page of the history of an active contact to dst, separated by commas. A large page goes through
// flush piece by piece.
func (s *ContactStore) Activities(ctx context.Context, account, contact int64, page crm.PageRequest, newest bool, dst []byte, flush Flush) ([]byte, ListResult, error) {
	var found timelinePage
	if foreign(account, contact) {
		return dst, found.ListResult, crm.ErrNotFound
	}
	p, sql := newPieces(dst, flush), sqlOldest
	p.lossy = true // a sweep may take old ones meanwhile
	if newest {
		sql = sqlChanges
	}
	read := func(c db.Conn, revisions []int64) error {
		return p.read(c, func(dst []byte, r db.Row) ([]byte, error) {
			change := scanChange(r)
			change.Undone = found.undone[change.Revision]
			return change.Append(dst), nil
		}, sql, account, revisions)
	}
	err := s.inTurn(ctx, account, func(w weigh) error {
		return s.view(ctx, func(c db.Conn) error {
			archived, err := findIn(c, crm.ErrNotFound, number, sqlIsArchived, account, contact)
			if err == nil && archived != 0 {
				err = crm.ErrArchived
			}
			if err == nil {
				found, err = readTimeline(c, w, account, contact, page, newest)
			}
			if err != nil || len(found.revisions) == 0 {
				return err
			}
			return read(c, found.revisions)
		})
	})
	if err == nil && p.full() {
		p.found = found.ListResult
		err = p.rest(ctx, s.Base, found.revisions, read)
	}
	return p.dst, found.ListResult, err
}

// Timeline is one page of the history of a contact in any state, newest first.
func (s *ContactStore) Timeline(ctx context.Context, account, contact int64, page crm.PageRequest) (changes []Change, result ListResult, err error) {
	if foreign(account, contact) {
		return nil, result, crm.ErrNotFound
	}
	changes, err = weighed(ctx, s.Base, account, func(c db.Conn, w weigh) ([]Change, error) {
		if _, err := findIn(c, crm.ErrNotFound, number, sqlIsArchived, account, contact); err != nil {
			return nil, err
		}
		found, err := readTimeline(c, w, account, contact, page, true)
		if result = found.ListResult; err != nil {
			return nil, err
		}
		changes, err := db.List(c, scanChange, sqlChanges, account, found.revisions)
		for i := range changes {
			changes[i].Undone = found.undone[changes[i].Revision]
		}
		return changes, err
	})
	return changes, result, err
}

// timelinePage is one page of the history of a contact.
type timelinePage struct {
	ListResult
	revisions []int64        // in the order that was asked for
	undone    map[int64]bool // those of them that a later one has taken back
}

func readTimeline(c db.Conn, w weigh, account, contact int64, page crm.PageRequest, newest bool) (found timelinePage, err error) {
	if found.Total, err = c.Int(sqlHowMany, account, int64(crm.ContactNoun), contact); err == nil {
		err = w(found.Total)
	}
	if err != nil || page.Skip() >= found.Total {
		return found, err
	}
	sql := sqlOldestOf
	if newest {
		sql = sqlNewestOf
	}
	found.revisions, err = db.List(c, number, sql, account, int64(crm.ContactNoun), contact, page.PerPage, page.Skip())
	found.Count = int64(len(found.revisions))
	if err == nil && found.Count > 0 {
		found.undone, err = undoneSince(c, account, crm.ContactNoun, contact, slices.Min(found.revisions))
	}
	return found, err
}

// HistoryPart is a part of the history of an account, newest first.
type HistoryPart struct {
	Changes      []Change
	Newer, Older bool // there are more
}

// HistoryPlace is where a part of the history is: behind a change, or before one. The zero place is the newest part.
type HistoryPlace struct{ Before, After int64 }

// History is the part of the history of an account at a place, so many changes long. What would be told twice is left out.
func (s *ContactStore) History(ctx context.Context, account int64, place HistoryPlace, most int) (part HistoryPart, err error) {
	if place.After > 0 {
		part.Changes, err = list(ctx, s.Base, scanChange, sqlNewer, account, place.After, int64(most+1))
		if part.Newer, part.Older = len(part.Changes) > most, true; err != nil || part.Newer {
			part.Changes = part.Changes[:min(most, len(part.Changes))]
			slices.Reverse(part.Changes)
			return part, err
		}
		place.Before = 0 // the newest part, which is whole
	}
	before := place.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	part.Changes, err = list(ctx, s.Base, scanChange, sqlOlder, account, before, int64(most+1))
	part.Older, part.Newer = len(part.Changes) > most, place.Before > 0
	part.Changes = part.Changes[:min(most, len(part.Changes))]
	return part, err
}

const (
	sqlContactNames = `SELECT id, body, checksum FROM contact WHERE account_id = $1 AND id = ANY($2)`
	sqlGiftCodes    = `SELECT id, code FROM gift WHERE account_id = $1 AND id = ANY($2)`
	sqlPlanCodes    = `SELECT id, code FROM plan WHERE account_id = $1 AND id = ANY($2)`
)

// GiftCodes are the public ids of the gifts with these ids.
func (s *ContactStore) GiftCodes(ctx context.Context, account int64, ids []int64) (map[int64]string, error) {
	return s.codes(ctx, sqlGiftCodes, account, ids)
}

// PlanCodes are the public ids of the plans with these ids.
func (s *ContactStore) PlanCodes(ctx context.Context, account int64, ids []int64) (map[int64]string, error) {
	return s.codes(ctx, sqlPlanCodes, account, ids)
}

func (s *ContactStore) codes(ctx context.Context, sql string, account int64, ids []int64) (map[int64]string, error) {
	codes := make(map[int64]string)
	if len(ids) == 0 {
		return codes, nil
	}
	err := s.read(ctx, func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			codes[r.Int(0)] = strings.Clone(r.Text(1))
			return nil
		}, sql, account, ids)
	})
	return codes, err
}

// ContactNames are the contacts with these ids, with nothing but their names. One that is damaged has none.
func (s *ContactStore) ContactNames(ctx context.Context, account int64, ids []int64) (map[int64]crm.Contact, error) {
	names := make(map[int64]crm.Contact)
	err := s.read(ctx, func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			body, err := contactBody(r, 1, r.Int(0))
			if err != nil {
				return nil //nolint:nilerr // a page that mentions it must not fail
			}
			found, err := crm.ParseContact(r.Int(0), body, nil)
			if err == nil {
				names[found.ID] = crm.Contact{ID: found.ID, FirstName: strings.Clone(found.FirstName), MiddleName: strings.Clone(found.MiddleName),
					LastName: strings.Clone(found.LastName), ArchivedAt: found.ArchivedAt}
			}
			return nil
		}, sqlContactNames, account, ids)
	})
	return names, err
}

// NoteDocument is a note that was added.
type NoteDocument struct{ Change }

// Append appends the wire form.
func (n NoteDocument) Append(dst []byte) []byte { return n.Change.Append(dst) }

// Fate tells that it is new.
func (NoteDocument) Fate() (created, merged bool) { return true, false }

// AddNote adds a valid note to the history of an active contact. Its document stays as it is.
func (s *ContactStore) AddNote(ctx context.Context, account, contact int64, in crm.NoteInput) (NoteDocument, error) {
	if foreign(account, contact) {
		return NoteDocument{}, crm.ErrNotFound
	}
	return answered(ctx, s.Base, account, needs{contact: contact}, func(t *tx) (made NoteDocument, err error) {
		row, err := t.load(account, contact)
		if err == nil && row.contact.Archived() {
			err = crm.ErrArchived
		}
		if err != nil {
			return made, err
		}
		made.Change = Change{Noun: crm.ContactNoun, ID: contact, Kind: crm.DidNote, At: moment(t.author.at), Door: t.author.door, Who: t.author.who, Data: in.Text()}
		made.Revision = t.mention(t.account(account), row, crm.DidNote, made.Data)
		return made, nil
	})
}

// mention notes something in the history of a contact whose document stays as it is.
func (t *tx) mention(a *accountUnit, row *stored, kind crm.ChangeKind, data string) (revision int64) {
	at := row.trace
	at.revision = t.record(a, crm.ContactNoun, row.id, kind, data)
	t.writeContact(t.Save, a, row.createdAt, at, row.contact, row.body)
	return at.revision
}

// UndoChange takes a change of a contact back. It tells which fields it has left alone, because they were changed since. Phone numbers
// without a country are of a region.
func (s *ContactStore) UndoChange(ctx context.Context, account, contact, revision int64, region string) (made Document, left []string, err error) {
	if foreign(account, contact) {
		return made, nil, crm.ErrNotFound
	}
	now := s.now()
	err = s.update(ctx, account, moveNeeds(contact), func(t *tx) error {
		row, err := t.load(account, contact)
		if err != nil {
			return err
		}
		change, err := t.changeOf(account, contact, revision)
		if err == nil && row.contact.Archived() && change.Kind.NeedsActive() {
			err = fault("", doc.ArchivedFirst)
		}
		if err == nil {
			made, left, err = t.undo(row, change, region, now)
		}
		return err
	})
	return made, left, err
}

// changeOf finds a change of a contact.
func (t *tx) changeOf(account, contact, revision int64) (Change, error) {
	change, err := findIn(t.Conn, crm.ErrNotFound, scanChange, sqlChange, account, revision)
	if err == nil && (change.Noun != crm.ContactNoun || change.ID != contact) {
		err = crm.ErrNotFound
	}
	return change, err
}

// undo takes a change of a contact back by a new change.
func (t *tx) undo(row *stored, change Change, region string, now time.Time) (made Document, left []string, err error) {
	t.author.undoes = change.Revision
	defer func() { t.author.undoes = 0 }()
	if change.Kind == crm.DidNote {
		return t.undoNote(row, change)
	}
	differences, err := doc.ParseDifferences(change.Data)
	if err != nil {
		return made, nil, err
	}
	made, err = t.change(row, 0, func(c crm.Contact) (undone crm.Contact, err error) {
		undone, left, err = c.Undo(change.Kind, differences, region, now)
		return undone, err
	})
	return made, left, err
}

// undoNote hides a note, or shows one again that was hidden.
func (t *tx) undoNote(row *stored, change Change) (made Document, left []string, err error) {
	account := crm.IDAccount(row.id)
	undone, err := undoneSince(t.Conn, account, crm.ContactNoun, row.id, change.Revision)
	switch {
	case err != nil:
		return made, nil, err
	case undone[change.Revision]:
		return made, nil, fault("", doc.NothingToUndo)
	}
	a, err := t.lock(account)
	if err == nil {
		t.mention(a, row, crm.DidNote, "")
	}
	return Document{ID: row.id, Body: row.body}, nil, err
}

const noteShown = "note"

// Shown names the note for an answer that shows it.
func (n NoteDocument) Shown() Shown { return Shown{noteShown, n.Revision} }

func init() {
	readers[noteShown] = func(t *tx, a *accountUnit, id int64, _ string) (Made, error) {
		note, err := findIn(t.Conn, crm.ErrNotFound, scanChange, sqlChange, a.account, id)
		return NoteDocument{note}, err
	}
}
