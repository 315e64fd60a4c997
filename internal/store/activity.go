package store

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
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

	sqlHead = `SELECT revision, version, archived FROM contact WHERE account_id = $1 AND id = $2`

	// The last changes of a document, the newest first. The chain ends with the first one, or where older ones are no longer kept. Each is found
	// by its number: with a join, a planner that knows nothing of the chain reads all changes of the account.
	sqlChain = `WITH RECURSIVE chain (revision, prev, undoes, depth) AS (
		SELECT c.revision, c.prev, c.undoes, CAST(1 AS BIGINT) FROM change AS c WHERE c.account_id = $1 AND c.revision = $2
		UNION ALL
		SELECT chain.prev, (SELECT c.prev FROM change AS c WHERE c.account_id = $1 AND c.revision = chain.prev),
			(SELECT c.undoes FROM change AS c WHERE c.account_id = $1 AND c.revision = chain.prev), chain.depth + 1
		FROM chain WHERE chain.prev <> 0 AND chain.depth < $3)
		SELECT revision, undoes FROM chain WHERE prev IS NOT NULL ORDER BY depth`
)

// contactHead is where the history of a contact begins, seen from now.
type contactHead struct{ revision, version, archived int64 }

func scanHead(r db.Row) contactHead { return contactHead{r.Int(0), r.Int(1), r.Int(2)} }

// links are the changes of one document, the newest first, as far as they were followed.
type links struct {
	revisions []int64
	undone    map[int64]bool // those that a later one has taken back
}

// readChain follows the changes of a document from the newest one on, at most so many. A change that takes another one back comes after
// it, so that all that are found are known to be undone or not.
func readChain(c db.Conn, account, head, most int64) (found links, err error) {
	found.undone = make(map[int64]bool)
	err = c.Each(func(r db.Row) error {
		revision, undoes := r.Int(0), r.Int(1)
		found.revisions = append(found.revisions, revision)
		if undoes != 0 && !found.undone[revision] {
			found.undone[undoes] = true
		}
		return nil
	}, sqlChain, account, head, most)
	return found, err
}

// Activities appends the wire forms of one page of the history of an active contact to dst, separated by commas. A large page goes through
// flush piece by piece.
func (s *Store) Activities(ctx context.Context, account, contact int64, page crm.PageRequest, newest bool, dst []byte, flush Flush) ([]byte, ListResult, error) {
	var result ListResult
	var found links
	if foreign(account, contact) {
		return dst, result, crm.ErrNotFound
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
			head, err := findIn(c, crm.ErrNotFound, scanHead, sqlHead, account, contact)
			if err == nil && head.archived != 0 {
				err = crm.ErrArchived
			}
			if err == nil {
				found, result, err = head.page(c, w, account, page, newest)
			}
			if err != nil || len(found.revisions) == 0 {
				return err
			}
			return read(c, found.revisions)
		})
	})
	if err == nil && p.full() {
		p.found = result
		err = p.rest(ctx, s, found.revisions, read)
	}
	return p.dst, result, err
}

// Timeline is one page of the history of a contact in any state, newest first.
func (s *Store) Timeline(ctx context.Context, account, contact int64, page crm.PageRequest) (changes []Change, result ListResult, err error) {
	if foreign(account, contact) {
		return nil, result, crm.ErrNotFound
	}
	changes, err = weighed(ctx, s, account, func(c db.Conn, w weigh) ([]Change, error) {
		head, err := findIn(c, crm.ErrNotFound, scanHead, sqlHead, account, contact)
		if err != nil {
			return nil, err
		}
		var found links
		if found, result, err = head.page(c, w, account, page, true); err != nil {
			return nil, err
		}
		return found.read(c, account)
	})
	return changes, result, err
}

// page finds one page of the history of a contact, in the order that is asked for.
func (h contactHead) page(c db.Conn, w weigh, account int64, page crm.PageRequest, newest bool) (found links, result ListResult, err error) {
	row, err := readTally(c, account)
	if err != nil {
		return found, result, err
	}
	order := oldestFirst
	if newest {
		order = newestFirst
	}
	// A page needs what is newer than its last change. Where old changes are gone, only the whole chain tells how long it is.
	total, depth := h.version, h.version
	if row.oldest == 1 && page.Skip() < total {
		from, _ := order(page)(total)
		depth -= from
	}
	if err = w(depth); err == nil {
		found, err = readChain(c, account, h.revision, depth)
	}
	if err != nil {
		return found, result, err
	}
	if row.oldest > 1 {
		total = int64(len(found.revisions))
	}
	result.Total = total
	if page.Skip() >= total {
		found.revisions = nil
		return found, result, nil
	}
	from, to := order(page)(total)
	end := min(total-from, int64(len(found.revisions))) // a damaged chain is shorter
	if found.revisions = found.revisions[min(total-to, end):end]; !newest {
		slices.Reverse(found.revisions)
	}
	result.Count = int64(len(found.revisions))
	return found, result, nil
}

// read reads the changes, the newest first.
func (f *links) read(c db.Conn, account int64) ([]Change, error) {
	changes, err := db.List(c, scanChange, sqlChanges, account, f.revisions)
	for i := range changes {
		changes[i].Undone = f.undone[changes[i].Revision]
	}
	return changes, err
}

// HistoryPart is a part of the history of an account, newest first.
type HistoryPart struct {
	Changes      []Change
	Newer, Older bool // there are more
}

// HistoryPlace is where a part of the history is: behind a change, or before one. The zero place is the newest part.
type HistoryPlace struct{ Before, After int64 }

// History is the part of the history of an account at a place, so many changes long. What would be told twice is left out.
func (s *Store) History(ctx context.Context, account int64, place HistoryPlace, most int) (part HistoryPart, err error) {
	if place.After > 0 {
		part.Changes, err = list(ctx, s, scanChange, sqlNewer, account, place.After, int64(most+1))
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
	part.Changes, err = list(ctx, s, scanChange, sqlOlder, account, before, int64(most+1))
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
func (s *Store) GiftCodes(ctx context.Context, account int64, ids []int64) (map[int64]string, error) {
	return s.codes(ctx, sqlGiftCodes, account, ids)
}

// PlanCodes are the public ids of the plans with these ids.
func (s *Store) PlanCodes(ctx context.Context, account int64, ids []int64) (map[int64]string, error) {
	return s.codes(ctx, sqlPlanCodes, account, ids)
}

func (s *Store) codes(ctx context.Context, sql string, account int64, ids []int64) (map[int64]string, error) {
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
func (s *Store) ContactNames(ctx context.Context, account int64, ids []int64) (map[int64]crm.Contact, error) {
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
func (s *Store) AddNote(ctx context.Context, account, contact int64, in crm.NoteInput) (NoteDocument, error) {
	if foreign(account, contact) {
		return NoteDocument{}, crm.ErrNotFound
	}
	return answered(ctx, s, account, needs{contact: contact}, func(t *tx) (made NoteDocument, err error) {
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
	at.revision, at.version = t.record(a, crm.ContactNoun, row.id, kind, row.trace.revision, data), row.version+1
	t.writeContact(t.Save, a, row.createdAt, at, row.contact, row.body)
	return at.revision
}

// UndoChange takes a change of a contact back. It tells which fields it has left alone, because they were changed since. Phone numbers
// without a country are of a region.
func (s *Store) UndoChange(ctx context.Context, account, contact, revision int64, region string) (made Document, left []string, err error) {
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
			err = fault("", crm.ArchivedFirst)
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
	differences, err := crm.ParseDifferences(change.Data)
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
	found, err := readChain(t.Conn, account, row.trace.revision, row.version)
	switch {
	case err != nil:
		return made, nil, err
	case found.undone[change.Revision]:
		return made, nil, fault("", crm.NothingToUndo)
	}
	a, err := t.lock(account)
	if err == nil {
		t.mention(a, row, crm.DidNote, "")
	}
	return Document{ID: row.id, Body: row.body}, nil, err
}
