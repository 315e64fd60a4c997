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
// (crm/history.go). A document knows its last change, and each change the one of the same document before it.

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

// record notes a change of a document and numbers it. prev is the change of the same document before it.
func (t *tx) record(a *accountUnit, noun crm.Noun, id int64, kind crm.ChangeKind, prev int64, data string) (revision int64) {
	a.touch(t)
	a.revision++
	t.Insert(changeTable, a.account, a.revision, int64(noun), int64(kind), id, prev, t.author.undoes, t.author.job, t.author.at, int64(t.author.door), t.author.who, data)
	return a.revision
}

// Change is one row of the record.
type Change = crm.Activity

const (
	changeColumns = `SELECT revision, noun, kind, id, prev, undoes, job, at, door, actor, data FROM change WHERE account_id = $1`
	sqlChange     = changeColumns + ` AND revision = $2`
)

// madeByImport finds what an import has created, among its changes: of a noun, by the kind of the change and the number of the argument that has the
// import. What is no longer in the history is not found.
const madeByImport = `SELECT id FROM change WHERE account_id = $1 AND noun = %d AND kind = %d AND job = $%[3]s
	AND revision >= (SELECT first FROM job WHERE account_id = $1 AND id = $%[3]s) AND revision <= (SELECT last FROM job WHERE account_id = $1 AND id = $%[3]s)`

func scanChange(r db.Row) Change {
	return Change{Revision: r.Int(0), Noun: crm.Noun(r.Int(1)), Kind: crm.ChangeKind(r.Int(2)), ID: r.Int(3), Prev: r.Int(4), Undoes: r.Int(5), Job: r.Int(6),
		At: moment(r.Int(7)), Door: crm.Door(r.Int(8)), Who: r.Text(9), Data: r.Text(10)}
}

// changeValues are the columns of a row of the record.
func changeValues(c *Change, account int64) []any {
	return []any{account, c.Revision, int64(c.Noun), int64(c.Kind), c.ID, c.Prev, c.Undoes, c.Job, seconds(c.At), int64(c.Door), c.Who, c.Data}
}

// chain are the changes of a document from its last one back, at most so many. It ends where the record has been cut.
func chain(c db.Conn, account, last, limit int64) ([]Change, error) {
	found, err := readChain(c, account, last, limit)
	if err != nil {
		return nil, err
	}
	return found.read(c, account)
}

// trace notes the change of a contact, and is what its row says from then on. A kind of 0 is what the difference is called.
func (t *tx) trace(a *accountUnit, s *stored, changed *crm.Contact, kind crm.ChangeKind) trace {
	differences := s.contact.Differences(changed)
	switch kind {
	case 0:
		kind = differences.Kind()
	case crm.DidErase:
		differences = nil // the history must not keep what was erased
	}
	at := s.trace
	at.revision, at.version = t.record(a, crm.ContactNoun, s.id, kind, s.trace.revision, differences.Text()), s.version+1
	return at
}

// newEpoch is a random number for a record that begins.
func newEpoch() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 2)
}
