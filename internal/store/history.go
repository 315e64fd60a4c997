package store

import (
	"context"
	"fmt"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
)

// The history of an account is one record of every change, numbered from 1 without a gap and written in the transaction
// of the change (crm/history/history.go). A document knows its last change, and an index finds all changes of a
// document.

// author is who makes a change, by which way and when.
type author struct {
	Who     string
	Channel history.Channel
	Job     int64
	At      int64

	Undoes int64 // the change that is taken back
}

type byKey struct{}

// By is a context in which changes are made by someone, as the history names them.
func By(ctx context.Context, channel history.Channel, who string) context.Context {
	return context.WithValue(ctx, byKey{}, author{Who: who, Channel: channel})
}

// authorOf is who makes changes in a context.
func authorOf(ctx context.Context) author {
	a, _ := ctx.Value(byKey{}).(author)
	return a
}

// ByAnyone is a context in which changes are made by whom it names already, or else through a channel by someone who is
// not known.
func ByAnyone(ctx context.Context, channel history.Channel) context.Context {
	if authorOf(ctx).Channel != 0 {
		return ctx
	}
	return By(ctx, channel, "")
}

// InJob is a context in which changes belong to a job.
func InJob(ctx context.Context, job int64) context.Context {
	a := authorOf(ctx)
	a.Job = job
	return context.WithValue(ctx, byKey{}, a)
}

// ByOneself is a context in which a person who has not signed in yet makes a change, unless another one does.
func ByOneself(ctx context.Context, email string) context.Context {
	if a := authorOf(ctx); a.Channel != history.OtherChannel {
		return ctx
	}
	return By(ctx, history.ConsoleChannel, email)
}

// authored says who makes the change that a function is.
func authored(ctx context.Context, now time.Time, fn func(*Tx) error) func(*Tx) error {
	a := authorOf(ctx)
	a.At = Seconds(now)
	return func(t *Tx) error {
		t.Author = a
		return fn(t)
	}
}

// Record notes a change of a document and numbers it.
func (u Unit) Record(noun history.Noun, id int64, kind history.Kind, data string) (revision int64) {
	u.Touch()
	u.Revision++
	u.Insert(ChangeTable, u.Number, u.Revision, int64(noun), int64(kind), id, u.Author.Undoes, u.Author.Job,
		u.Author.At, int64(u.Author.Channel), u.Author.Who, data)
	return u.Revision
}

// Change is one row of the record.
type Change = history.Activity

// The nouns and kinds of package history, as texts of statements have them. TestStatementsNameNounsAndKinds compares
// them.
const (
	ContactNoun, CampaignNoun, GiftNoun, PlanNoun              = "1", "2", "3", "4"
	DidCreate, DidUpdate, DidTag, DidUntag, DidGive, DidRefund = "1", "2", "3", "4", "9", "10"
	DidMerge, DidNote, DidPlan, DidDismiss                     = "7", "11", "16", "19"
	// what the history of a contact tells of gifts and plans
	AboutGifts = DidGive + ", " + DidRefund + ", " + DidPlan
)

const (
	ChangeColumns = `SELECT revision, noun, kind, id, undoes, job, at, channel, actor, data FROM change
		WHERE account_id = $1`
	SQLChange = ChangeColumns + ` AND revision = $2`

	// The changes of one document. Only a statement that says that the id is not 0 uses the index by document: a
	// planner without statistics would take it for a range of revisions, too.
	ofDocument   = ` AND noun = $2 AND id = $3 AND id <> 0`
	sqlChangesOf = ChangeColumns + ofDocument + ` ORDER BY revision DESC LIMIT $4`
	SQLHowMany   = `SELECT COUNT(*) FROM change WHERE account_id = $1` + ofDocument
	SQLOldestOf  = `SELECT revision FROM change WHERE account_id = $1` + ofDocument +
		` ORDER BY revision LIMIT $4 OFFSET $5`
	SQLNewestOf = `SELECT revision FROM change WHERE account_id = $1` + ofDocument +
		` ORDER BY revision DESC LIMIT $4 OFFSET $5`
	SQLBackFrom = ChangeColumns + ofDocument +
		` AND revision <= $4 AND revision >= $5 ORDER BY revision DESC LIMIT $6`
	SQLUndosSince = `SELECT revision, undoes FROM change WHERE account_id = $1` + ofDocument +
		` AND revision > $4 AND undoes >= $4 ORDER BY revision DESC`
)

// MadeByImport finds what an import has created, among its changes: of a noun, by the kind of the change and the number
// of the argument that has the import.
const MadeByImport = `SELECT id FROM change WHERE account_id = $1 AND noun = %d AND kind = %d AND job = $%[3]s
	AND revision >= (SELECT first FROM job WHERE account_id = $1 AND id = $%[3]s) AND revision <= (SELECT last FROM job WHERE account_id = $1 AND id = $%[3]s)`

func ScanChange(r db.Row) Change {
	return Change{Revision: r.Int(0), Noun: history.Noun(r.Int(1)), Kind: history.Kind(r.Int(2)), ID: r.Int(3),
		Undoes: r.Int(4), Job: r.Int(5),
		At: Moment(r.Int(6)), Channel: history.Channel(r.Int(7)), Who: r.Text(8), Data: r.Text(9)}
}

// ChangeValues are the columns of a row of the record.
func ChangeValues(c *Change, account int64) []any {
	return []any{account, c.Revision, int64(c.Noun), int64(c.Kind), c.ID, c.Undoes, c.Job, Seconds(c.At),
		int64(c.Channel), c.Who, c.Data}
}

// DocumentChanges are the changes of a document that are kept, the newest first, at most so many.
func DocumentChanges(c db.Conn, account int64, noun history.Noun, id, limit int64) ([]Change, error) {
	return db.List(c, ScanChange, sqlChangesOf, account, int64(noun), id, limit)
}

// UndoneSince tells which changes of a document were taken back, among those from one of them on. A change that takes
// another one back comes after it, and may be taken back itself.
func UndoneSince(c db.Conn, account int64, noun history.Noun, id, first int64) (undone map[int64]bool, err error) {
	undone = make(map[int64]bool)
	return undone, c.Scan(func(r db.Row) {
		if revision, undoes := r.Int(0), r.Int(1); !undone[revision] {
			undone[undoes] = true
		}
	}, SQLUndosSince, account, int64(noun), id, first)
}

// actor is the user who makes a change, and the role that it needs at that moment.
type actor struct {
	user, account int64
	role          access.Role
}

type actorKey struct{}

// Acting is a context in which every change needs a user to have a role in an account while it is made. A check before
// that shows only what was allowed then; the role may have been taken away since.
func Acting(ctx context.Context, user, account int64, role access.Role) context.Context {
	return context.WithValue(ctx, actorKey{}, actor{user, account, role})
}

// guarded asks for the actor's role in the transaction of the change. It stays as it is until the transaction ends.
func guarded(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	a, ok := ctx.Value(actorKey{}).(actor)
	if !ok {
		return fn
	}
	return func(t *Tx) error {
		role, err := t.Role(a.account, a.user)
		if err != nil {
			return err
		}
		if role < a.role {
			return ErrNoMember
		}
		return fn(t)
	}
}

type matchKey struct{}

// IfMatch is a context in which a document is changed only if its tag is one of those that a header lists.
func IfMatch(ctx context.Context, tags []string) context.Context {
	return context.WithValue(ctx, matchKey{}, tags)
}

// Matches refuses a change of a document that is not in the state that the change needs. The transaction of the change
// asks for its tag.
func Matches(ctx context.Context, tag func() doc.ETag) error {
	if tags, conditional := ctx.Value(matchKey{}).([]string); conditional && !tag().Matches(tags) {
		return crm.ErrNotMatched
	}
	return nil
}

// Role is what a user may do in an account, 0 for one who does not belong to it. It stays so until the transaction
// ends.
func (t *Tx) Role(account, user int64) (role access.Role, err error) {
	_, err = t.Lock(func(r db.Row) { role = access.Role(r.Int(2)) }, MemberTable, account, user)
	return role, err
}

var ErrNoMember = fmt.Errorf("the member: %w", crm.ErrNotFound)

const SQLRole = `SELECT role FROM member WHERE account_id = $1 AND user_id = $2`
