package store

import (
	"strconv"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// Merge is a row that tells of a merge of two contacts, or of what was sent into the contact that it matched.
type Merge struct {
	ID       int64 // the change of the survivor
	Survivor int64
	Other    int64  // 0 while what was sent is no contact of its own
	Last     int64  // the last change of the merge; of one that is undone, the last one that is not taken back yet
	Sent     string // the document of what was sent, behind its match keys; "" where two contacts were merged
	Review   Review
	Undone   int64 // the change of the survivor that undid the merge, 0 while it stands
	At       time.Time
	// how texts were chosen that both have, as crm.MergeChoice writes it; "" where it was made before that was kept
	Choice string
	// the change of the survivor at which it happened: its own, or that of the merge that it brings back
	Place int64
	// the job that still moves gifts and plans to the survivor, or back to the other contact once the merge is undone;
	// 0 where none is left to move
	Moving int64

	// What the history says, if it is kept: who merged, by which way, and when that was undone.
	Who      string
	Channel  history.Channel
	UndoneAt time.Time
}

// Review tells whether a person should look at a merge. The numbers are stored.
type Review int64

// The states of a review.
const (
	NoReview      Review = iota
	ReviewPending        // the names contradict each other
	ReviewKept           // a person has looked at the merge and kept it
)

const (
	MergeColumns = `SELECT id, survivor, other, last, sent, review, undone, at, moving, choice, place FROM contact_merge
		WHERE account_id = $1`
	SQLMerge = MergeColumns + ` AND id = $2`
	// The merges of a contact that stand and have brought another contact into it.
	SQLMergedInto = `SELECT other FROM contact_merge WHERE account_id = $1 AND survivor = ANY($2) AND other <> 0
		AND undone = 0`
)

// forgottenSent is in the place of what was sent and is no longer kept.
const forgottenSent = "-"

// SQLForgetSent forgets what merges keep, which cannot be undone then and need no review, and SQLForgetPairsA and B
// with whom contacts may be the same that are erased.
const (
	SQLForgetSent = `UPDATE contact_merge SET sent = CASE WHEN sent = '' THEN '' ELSE '` + forgottenSent +
		`' END, review = CASE WHEN review = 1 THEN 0 ELSE review END WHERE account_id = $1 AND id = ANY($2)`
	// each by its own index: an OR of both would read all pairs of the account
	SQLForgetPairsA = `DELETE FROM duplicate WHERE account_id = $1 AND a = ANY($2)`
	SQLForgetPairsB = `DELETE FROM duplicate WHERE account_id = $1 AND b = ANY($2)`
	// of contacts that are no longer active; that ids are positive makes the index of contacts the better one
	SQLForgetFoundA = SQLForgetPairsA + ` AND b > 0 AND state = 0`
	SQLForgetFoundB = SQLForgetPairsB + ` AND a > 0 AND state = 0`
	SQLMergedAfter  = MergeColumns + ` AND survivor = $2 AND other <> 0 AND undone = 0 AND id > $3 ORDER BY id LIMIT $4`
	SQLMergesAfter  = MergeColumns + ` AND id > $2 ORDER BY id LIMIT $3`
)

// Forgotten tells whether what was sent is no longer kept.
func (m *Merge) Forgotten() bool { return m.Sent == forgottenSent }

// SentDocument is what was sent, as it is stored behind the start of a document; "" where it is not kept.
func (m *Merge) SentDocument() string {
	if m.Sent == "" || m.Forgotten() {
		return ""
	}
	lines := SplitKeys(m.Sent)
	return lines[len(lines)-1]
}

func ScanMerge(r db.Row) Merge {
	return Merge{ID: r.Int(0), Survivor: r.Int(1), Other: r.Int(2), Last: r.Int(3), Sent: r.Text(4),
		Review: Review(r.Int(5)), Undone: r.Int(6), At: Moment(r.Int(7)), Moving: r.Int(8), Choice: r.Text(9),
		Place: r.Int(10)}
}

// Values are the columns of the row.
func (m *Merge) Values(account int64) []any {
	return []any{account, m.ID, m.Survivor, m.Other, m.Last, m.Sent, int64(m.Review), m.Undone, Seconds(m.At), m.Moving,
		m.Choice, m.Place}
}

// MergedInto are all contacts that were merged into one, also by way of others.
func MergedInto(c db.Conn, account, survivor int64) (all []int64, err error) {
	for next := []int64{survivor}; len(next) > 0 && err == nil; all = append(all, next...) {
		next, err = db.List(c, Number, SQLMergedInto, account, next)
	}
	return all, err
}

// Undone is what the undoing of a merge has made of its contacts.
type Undone struct {
	Survivor ContactDocument
	Other    ContactDocument // without an id where an undo was undone: then it is part of the survivor again
	// fields that were changed since and stay as they are, and external ids that another contact has by now
	Left []string
	Of   int64 // the merge
	By   int64 // the change that undid it, 0 while it stands
}

// ID is the id of the undo, by which it can be undone itself.
func (u Undone) ID() int64 { return u.By }

// Outcome tells that it is a change, and which merge an undone undo has made.
func (u Undone) Outcome() Outcome { return Outcome{Merge: u.Survivor.Merge} }

// Append appends the wire form.
func (u Undone) Append(dst []byte) []byte {
	dst = append(dst, `{"undo_id":`...)
	if u.By != 0 {
		dst = strconv.AppendInt(dst, u.By, 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = u.Survivor.Append(append(dst, `,"survivor":`...))
	if dst = append(dst, `,"other":`...); u.Other.ID != 0 {
		dst = u.Other.Append(dst)
	} else {
		dst = append(dst, "null"...)
	}
	return append(doc.AppendTexts(append(dst, `,"left":`...), u.Left), '}')
}

const UndoneResource = "unmerge"

// Resource names what was undone for an answer that shows it.
func (u Undone) Resource() Resource { return Resource{Kind: UndoneResource, ID: u.Of} }

func rereadUndone(unit Unit, id int64, _ string) (Result, error) {
	row, err := FindIn(unit.Conn, crm.ErrNotFound, ScanMerge, SQLMerge, unit.Number, id)
	if err != nil {
		return nil, err
	}
	u := Undone{Of: id, By: row.Undone}
	if u.Survivor, err = Current(unit, row.Survivor); err == nil && row.Undone != 0 {
		u.Other, err = Current(unit, row.Other)
	}
	return u, err
}
