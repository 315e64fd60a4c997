package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// The history of an account is one record of every change, numbered from 1 without a gap and written in the transaction of the change
// (crm/history.go). A document knows its last change, and an index finds all changes of a document.

// author is who makes a change, through which door and when.
type author struct {
	who  string
	door crm.Door
	job  int64
	at   int64

	undoes int64 // the change that is taken back
}

type byKey struct{}

// By is a context in which changes are made by someone, as the history names them.
func By(ctx context.Context, door crm.Door, who string) context.Context {
	return context.WithValue(ctx, byKey{}, author{who: who, door: door})
}

// authorOf is who makes changes in a context.
func authorOf(ctx context.Context) author {
	a, _ := ctx.Value(byKey{}).(author)
	return a
}

// inJob is a context in which changes belong to a job.
func inJob(ctx context.Context, job int64) context.Context {
	a := authorOf(ctx)
	a.job = job
	return context.WithValue(ctx, byKey{}, a)
}

// byOneself is a context in which a person who has not signed in yet makes a change, unless another one does.
func byOneself(ctx context.Context, email string) context.Context {
	if a := authorOf(ctx); a.door != crm.OtherDoor {
		return ctx
	}
	return By(ctx, crm.ConsoleDoor, email)
}

// authored says who makes the change that a function is.
func authored(ctx context.Context, now time.Time, fn func(*tx) error) func(*tx) error {
	a := authorOf(ctx)
	a.at = seconds(now)
	return func(t *tx) error {
		t.author = a
		return fn(t)
	}
}

// record notes a change of a document and numbers it.
func (t *tx) record(a *accountUnit, noun crm.Noun, id int64, kind crm.ChangeKind, data string) (revision int64) {
	a.touch(t)
	a.revision++
	t.Insert(changeTable, a.account, a.revision, int64(noun), int64(kind), id, t.author.undoes, t.author.job, t.author.at, int64(t.author.door), t.author.who, data)
	return a.revision
}

// Change is one row of the record.
type Change = crm.Activity

const (
	changeColumns = `SELECT revision, noun, kind, id, undoes, job, at, door, actor, data FROM change WHERE account_id = $1`
	sqlChange     = changeColumns + ` AND revision = $2`

	// The changes of one document. Only a statement that says that the id is not 0 uses the index by document: a planner without statistics would take it
	// for a range of revisions, too.
	ofDocument    = ` AND noun = $2 AND id = $3 AND id <> 0`
	sqlChangesOf  = changeColumns + ofDocument + ` ORDER BY revision DESC LIMIT $4`
	sqlHowMany    = `SELECT COUNT(*) FROM change WHERE account_id = $1` + ofDocument
	sqlOldestOf   = `SELECT revision FROM change WHERE account_id = $1` + ofDocument + ` ORDER BY revision LIMIT $4 OFFSET $5`
	sqlNewestOf   = `SELECT revision FROM change WHERE account_id = $1` + ofDocument + ` ORDER BY revision DESC LIMIT $4 OFFSET $5`
	sqlBackFrom   = `SELECT revision FROM change WHERE account_id = $1` + ofDocument + ` AND revision <= $4 ORDER BY revision DESC LIMIT $5`
	sqlUndosSince = `SELECT revision, undoes FROM change WHERE account_id = $1` + ofDocument + ` AND revision > $4 AND undoes >= $4 ORDER BY revision DESC`
)

// madeByImport finds what an import has created, among its changes: of a noun, by the kind of the change and the number of the argument that has the
// import. What is no longer in the history is not found.
const madeByImport = `SELECT id FROM change WHERE account_id = $1 AND noun = %d AND kind = %d AND job = $%[3]s
	AND revision >= (SELECT first FROM job WHERE account_id = $1 AND id = $%[3]s) AND revision <= (SELECT last FROM job WHERE account_id = $1 AND id = $%[3]s)`

func scanChange(r db.Row) Change {
	return Change{Revision: r.Int(0), Noun: crm.Noun(r.Int(1)), Kind: crm.ChangeKind(r.Int(2)), ID: r.Int(3), Undoes: r.Int(4), Job: r.Int(5),
		At: moment(r.Int(6)), Door: crm.Door(r.Int(7)), Who: r.Text(8), Data: r.Text(9)}
}

// changeValues are the columns of a row of the record.
func changeValues(c *Change, account int64) []any {
	return []any{account, c.Revision, int64(c.Noun), int64(c.Kind), c.ID, c.Undoes, c.Job, seconds(c.At), int64(c.Door), c.Who, c.Data}
}

// documentChanges are the changes of a document that are kept, the newest first, at most so many.
func documentChanges(c db.Conn, account int64, noun crm.Noun, id, limit int64) ([]Change, error) {
	return db.List(c, scanChange, sqlChangesOf, account, int64(noun), id, limit)
}

// undoneSince tells which changes of a document were taken back, among those from one of them on. A change that takes another one back comes after it, and
// may be taken back itself.
func undoneSince(c db.Conn, account int64, noun crm.Noun, id, first int64) (undone map[int64]bool, err error) {
	undone = make(map[int64]bool)
	return undone, c.Each(func(r db.Row) error {
		if revision, undoes := r.Int(0), r.Int(1); !undone[revision] {
			undone[undoes] = true
		}
		return nil
	}, sqlUndosSince, account, int64(noun), id, first)
}

// newEpoch is a random number for a record that begins.
func newEpoch() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 2)
}
