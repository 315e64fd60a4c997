package store

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

const (
	sqlChanges = ChangeColumns + ` AND revision = ANY($2) ORDER BY revision DESC`
	SQLOldest  = ChangeColumns + ` AND revision = ANY($2) ORDER BY revision`

	sqlIsArchived = `SELECT archived FROM contact WHERE account_id = $1 AND id = $2`
)

// Activities appends the wire forms of one page of the history of an active contact to dst, separated by commas. A
// large page goes through flush piece by piece.
func (s *Store) Activities(ctx context.Context, account, contact int64, page crm.PageRequest, newest bool, dst []byte,
	flush Flush,
) ([]byte, ListResult, error) {
	var found timelinePage
	if Foreign(account, contact) {
		return dst, found.ListResult, crm.ErrNotFound
	}
	p, sql := NewPieces(dst, flush), SQLOldest
	if newest {
		sql = sqlChanges
	}
	read := func(c db.Conn, w Admit, revisions []int64) error {
		size := 0
		return p.Read(c, func(dst []byte, r db.Row) ([]byte, error) {
			change := ScanChange(r)
			if size += len(change.Data); size > lightChanges { // a few changes may take longer than thousands of others
				if err := w(math.MaxInt64); err != nil {
					return dst, err
				}
			}
			change.Undone = found.undone[change.Revision]
			return change.Append(dst), nil
		}, sql, account, revisions)
	}
	err := s.InTurn(ctx, account, func(w Admit) error {
		return s.View(ctx, func(c db.Conn) error {
			archived, err := FindIn(c, crm.ErrNotFound, Number, sqlIsArchived, account, contact)
			if err == nil && archived != 0 {
				err = crm.ErrArchived
			}
			if err == nil {
				found, err = readTimeline(c, w, account, history.ContactNoun, contact, page, newest)
			}
			if err != nil || len(found.revisions) == 0 {
				return err
			}
			return read(c, w, found.revisions)
		})
	})
	if err == nil && p.Full() {
		p.Found = found.ListResult
		err = p.Rest(ctx, s, account, found.revisions, func(c db.Conn, revisions []int64) error {
			return read(c, InItsTurn, revisions)
		})
	}
	return p.Dst, found.ListResult, err
}

// Timeline is one page of the history of a contact, a campaign, a gift or a plan in any state, newest first.
func (s *Store) Timeline(ctx context.Context, account int64, noun history.Noun, id int64,
	page crm.PageRequest,
) (changes []Change, result ListResult, err error) {
	changes, err = Admitted(ctx, s, account, func(c db.Conn, w Admit) ([]Change, error) {
		found, err := readTimeline(c, w, account, noun, id, page, true)
		if result = found.ListResult; err != nil {
			return nil, err
		}
		changes, err := shortChanges(c, w, account, found.revisions)
		for i := range changes {
			changes[i].Undone = found.undone[changes[i].Revision]
		}
		return changes, err
	})
	return changes, result, err
}

// lightChanges is how long the changes may be, as they are stored, that are read without a turn.
const lightChanges = 64 << 10

// shortChanges are changes as far as a page of many shows them, newest first. To read much for it takes a turn.
func shortChanges(c db.Conn, w Admit, account int64, revisions []int64) (changes []Change, err error) {
	read := 0
	return changes, c.Each(func(r db.Row) error {
		change := ScanChange(r)
		if read += len(change.Data); read > PieceSize {
			if err := w(math.MaxInt64); err != nil {
				return err
			}
		}
		change.Shorten()
		changes = append(changes, change)
		return nil
	}, sqlChanges, account, revisions)
}

// WholeChange is a change of a contact with everything that it did.
func (s *Store) WholeChange(ctx context.Context, account, contact, revision int64) (Change, error) {
	return Lend(ctx, s.Read, func(c db.Conn) (Change, error) { return changeOf(c, account, contact, revision) })
}

// timelinePage is one page of the history of a document.
type timelinePage struct {
	ListResult
	revisions []int64        // in the order that was asked for
	undone    map[int64]bool // those of them that a later one has taken back
}

func readTimeline(c db.Conn, w Admit, account int64, noun history.Noun, id int64, page crm.PageRequest,
	newest bool,
) (found timelinePage, err error) {
	ids := []int64{id}
	if noun == history.ContactNoun { // the history of those that were merged into it is its own
		merged, err := MergedInto(c, account, id)
		if err != nil {
			return found, err
		}
		ids = append(ids, merged...)
	}
	for _, id := range ids {
		n, err := c.Int(SQLHowMany, account, int64(noun), id)
		if err != nil {
			return found, err
		}
		found.Total += n
	}
	if err = w(found.Total); err != nil || page.Skip() >= found.Total {
		return found, err
	}
	if found.revisions, err = revisionsOf(c, account, noun, ids, page, newest); err != nil {
		return found, err
	}
	found.Count, found.undone = int64(len(found.revisions)), make(map[int64]bool)
	for _, id := range ids {
		undone, err := UndoneSince(c, account, noun, id, slices.Min(found.revisions))
		if maps.Copy(found.undone, undone); err != nil {
			return found, err
		}
	}
	return found, nil
}

// revisionsOf are the changes of a page of the history of documents. Those of several are read from their beginnings,
// and put in order.
func revisionsOf(c db.Conn, account int64, noun history.Noun, ids []int64, page crm.PageRequest,
	newest bool,
) (revisions []int64, err error) {
	sql, order := SQLOldestOf, cmp.Compare[int64]
	if newest {
		sql, order = SQLNewestOf, func(a, b int64) int { return cmp.Compare(b, a) }
	}
	if len(ids) == 1 {
		return db.List(c, Number, sql, account, int64(noun), ids[0], page.PerPage, page.Skip())
	}
	for _, id := range ids {
		some, err := db.List(c, Number, sql, account, int64(noun), id, page.Skip()+page.PerPage, int64(0))
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, some...)
	}
	slices.SortFunc(revisions, order)
	return revisions[page.Skip():min(int64(len(revisions)), page.Skip()+page.PerPage)], nil
}

const (
	sqlContactNames = `SELECT id, body, checksum FROM contact WHERE account_id = $1 AND id = ANY($2)`
	sqlGiftNames    = `SELECT id, code, currency, contact_id FROM gift WHERE account_id = $1 AND id = ANY($2)`
	sqlPlanNames    = `SELECT id, code, '', contact_id FROM plan WHERE account_id = $1 AND id = ANY($2)`
)

// GiftName is what a history needs to know of a gift or a plan.
type GiftName struct {
	Code, Currency string
	Contact        int64
}

// GiftNames are the public ids, the currencies and the contacts of the gifts with these ids.
func (s *Store) GiftNames(ctx context.Context, account int64, ids []int64) (map[int64]GiftName, error) {
	return s.giftNames(ctx, sqlGiftNames, account, ids)
}

// PlanNames are the public ids and the contacts of the plans with these ids.
func (s *Store) PlanNames(ctx context.Context, account int64, ids []int64) (map[int64]GiftName, error) {
	return s.giftNames(ctx, sqlPlanNames, account, ids)
}

func (s *Store) giftNames(ctx context.Context, sql string, account int64, ids []int64) (map[int64]GiftName, error) {
	names := make(map[int64]GiftName)
	if len(ids) == 0 {
		return names, nil
	}
	err := s.Read(ctx, func(c db.Conn) error {
		return c.Scan(func(r db.Row) {
			names[r.Int(0)] = GiftName{strings.Clone(r.Text(1)), strings.Clone(r.Text(2)), r.Int(3)}
		}, sql, account, ids)
	})
	return names, err
}

// ContactNames are the contacts with these ids, with nothing but their names. One that is damaged has none.
func (s *Store) ContactNames(ctx context.Context, account int64, ids []int64) (map[int64]crm.Contact, error) {
	names := make(map[int64]crm.Contact)
	err := s.Read(ctx, func(c db.Conn) error {
		return c.Each(func(r db.Row) error {
			body, err := ContactBody(r, 1, r.Int(0))
			if err != nil {
				return nil //nolint:nilerr // a page that mentions it must not fail
			}
			found, err := crm.ParseContact(r.Int(0), body, nil)
			if err == nil {
				names[found.ID] = crm.Contact{ID: found.ID, FirstName: strings.Clone(found.FirstName),
					MiddleName: strings.Clone(found.MiddleName),
					LastName:   strings.Clone(found.LastName), Company: strings.Clone(found.Company),
					IsCompany: found.IsCompany, ArchivedAt: found.ArchivedAt, ErasedAt: found.ErasedAt}
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

// Outcome tells that it is new.
func (NoteDocument) Outcome() Outcome { return Outcome{Created: true} }

// AddNote adds a valid note to the history of an active contact. Its document stays as it is.
func (s *Store) AddNote(ctx context.Context, account, contact int64, in history.NoteInput) (NoteDocument, error) {
	if Foreign(account, contact) {
		return NoteDocument{}, crm.ErrNotFound
	}
	return Answered(ctx, s, account, Needs{Contact: contact}, func(u Unit) (made NoteDocument, err error) {
		row, err := Load(u.Tx, account, contact)
		if err == nil && row.Contact.Archived() {
			err = crm.ErrArchived
		}
		if err == nil {
			err = row.Matches(ctx, u.Account)
		}
		if err != nil {
			return made, err
		}
		made.Change = Change{Noun: history.ContactNoun, ID: contact, Kind: history.DidNote, At: Moment(u.Author.At),
			Channel: u.Author.Channel, Who: u.Author.Who, Data: in.Text()}
		made.Revision = Mention(u, row, history.DidNote, made.Data)
		return made, nil
	})
}

// Mention notes something in the history of a contact whose document stays as it is.
func Mention(u Unit, row *StoredContact, kind history.Kind, data string) (revision int64) {
	at := row.Trace
	at.Revision = u.Record(history.ContactNoun, row.ID, kind, data)
	PutColumns(u, row, row.Contact.Stats, at)
	return at.Revision
}

// UndoChange takes a change of a contact back. It tells which fields it has left alone, because they were changed
// since. Phone numbers without a country are of a region.
func (s *Store) UndoChange(ctx context.Context, account, contact, revision int64,
	region string,
) (made ContactDocument, left []string, err error) {
	if Foreign(account, contact) {
		return made, nil, crm.ErrNotFound
	}
	now := s.Now()
	err = s.Update(ctx, account, MoveNeeds(contact), func(t *Tx) error {
		row, err := Load(t, account, contact)
		if err != nil {
			return err
		}
		change, err := changeOf(t.Conn, account, contact, revision)
		if err == nil && row.Contact.Archived() && change.Kind.NeedsActive() {
			err = Fault("", doc.ArchivedFirst)
		}
		if err == nil && row.Contact.MergedInto != 0 && change.Kind != history.DidNote {
			err = Fault("", doc.MergedContact, contact, row.Contact.MergedInto)
		}
		if err == nil && change.Kind == history.DidMerge {
			err = refuseMerge(t, account, revision)
		}
		parted := make(map[int64]bool)
		if err == nil {
			parted[contact], err = t.Exists(sqlPartedAfter, account, contact, revision)
		}
		if err == nil {
			made, left, err = Undo(t, row, change, parted, region, now)
		}
		return err
	})
	return made, left, err
}

const (
	replayed       = ` AND (undone > $3 OR id > $3 AND place < $3)`
	sqlPartedAfter = `SELECT 1 FROM contact_merge WHERE account_id = $1 AND survivor = $2` + replayed
	// SQLPartedOf are those of some contacts of which an earlier merge was undone after a change, or made again.
	SQLPartedOf = `SELECT survivor FROM contact_merge WHERE account_id = $1 AND survivor = ANY($2)` + replayed
)

// refuseMerge refuses to take back a part of a merge: all of it is undone together.
func refuseMerge(t *Tx, account, revision int64) error {
	isMerge, err := t.Exists(SQLMerge, account, revision)
	if err == nil && isMerge {
		err = Fault("", doc.UndoesMerge)
	}
	return err
}

// changeOf finds a change of a contact.
func changeOf(c db.Conn, account, contact, revision int64) (Change, error) {
	change, err := FindIn(c, crm.ErrNotFound, ScanChange, SQLChange, account, revision)
	if err == nil && (change.Noun != history.ContactNoun || change.ID != contact) {
		err = crm.ErrNotFound
	}
	return change, err
}

// Undo takes a change of a contact back by a new change. parted are contacts of which a merge was undone or made again
// since: the change may have replaced what that merge had brought.
func Undo(t *Tx, row *StoredContact, change Change, parted map[int64]bool, region string,
	now time.Time,
) (made ContactDocument, left []string, err error) {
	t.Author.Undoes = change.Revision
	defer func() { t.Author.Undoes = 0 }()
	if change.Kind == history.DidNote {
		return undoNote(t, row, change)
	}
	differences, err := doc.ParseDifferences(change.Data)
	if err != nil {
		return made, nil, err
	}
	if change.Kind == history.DidMerge {
		m, err := mergeOf(t, doc.IDAccount(row.ID), change.Revision)
		if m != nil || err != nil {
			return undoSent(t, row, m, region, now, err)
		}
	}
	made, err = ChangeContact(t, row, 0, func(c crm.Contact) (undone crm.Contact, err error) {
		undone, left, err = history.Undo(c, change.Kind, differences, region, now)
		if err == nil && parted[row.ID] && change.Kind.NeedsActive() {
			r := Rebuilding{Unit: t.Account(doc.IDAccount(row.ID)), Region: region, Now: now}
			undone, err = r.Undoing(row, change.Revision, differences)
		}
		return undone, err
	})
	return made, left, err
}

// mergeOf is the merge that a change is, nil where it is from before there were such rows, or the giver of a gift has
// learned something.
func mergeOf(t *Tx, account, merge int64) (*Merge, error) {
	known := t.Account(account).Merges
	m, err := known.Get(t, account, merge)
	delete(known.Rows, merge) // others write such rows, too
	return m, err
}

// undoSent takes what was sent out of a contact again, because all that its import did is taken back. What brought
// another contact in is left alone.
func undoSent(t *Tx, row *StoredContact, m *Merge, region string, now time.Time,
	err error,
) (made ContactDocument, left []string, _ error) {
	switch {
	case err != nil:
		return made, nil, err
	case m.Undone != 0:
		return made, nil, Fault("", doc.NothingToUndo)
	case m.Sent == "":
		return made, nil, Fault("", doc.UndoesMerge)
	}
	account := doc.IDAccount(row.ID)
	r := Rebuilding{Unit: t.Account(account), Region: region, Now: now}
	part, err := SentContact(m.Sent, m.At)
	if err != nil && m.SentDocument() != "" {
		return made, nil, err
	}
	is, left, err := r.Without(row, m, &part)
	if err == nil {
		made, err = Record(t, row, 0, nil, func(crm.Contact) (crm.Contact, error) { return is, nil })
	}
	if err == nil {
		m.Undone = made.Tag.Revision
		t.Save(MergeTable, m.Values(account)...)
	}
	return made, left, err
}

// undoNote hides a note, or shows one again that was hidden.
func undoNote(t *Tx, row *StoredContact, change Change) (made ContactDocument, left []string, err error) {
	account := doc.IDAccount(row.ID)
	undone, err := UndoneSince(t.Conn, account, history.ContactNoun, row.ID, change.Revision)
	switch {
	case err != nil:
		return made, nil, err
	case undone[change.Revision]:
		return made, nil, Fault("", doc.NothingToUndo)
	}
	u, err := t.LockAccount(account)
	if err == nil {
		Mention(u, row, history.DidNote, "")
	}
	return ContactDocument{ID: row.ID, Body: row.Body}, nil, err
}

const NoteResource = "note"

// Resource names the note for an answer that shows it.
func (n NoteDocument) Resource() Resource {
	return Resource{Kind: NoteResource, ID: n.Revision}
}

func rereadNote(u Unit, id int64, _ string) (Result, error) {
	note, err := FindIn(u.Conn, crm.ErrNotFound, ScanChange, SQLChange, u.Number, id)
	return NoteDocument{note}, err
}
