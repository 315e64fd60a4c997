package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

// tx is a unit of work: the changes of a batch, with what they know of their accounts. Each account's row is locked, so that only the
// batch itself can make that out of date: what a change writes is noted here, too.
type tx struct {
	*db.Tx
	accounts map[int64]*accountUnit
	loaded   int    // contacts that were asked for together
	author   author // of the change that runs
}

// accountUnit is what a batch knows of one account: its row, what attempts were answered, and a part for each kind of nouns.
type accountUnit struct {
	tally
	exists bool
	attemptUnit
	known []any // by the numbers of the parts
}

// part is what one kind of nouns looks up and writes in a unit of work. What it has no use for is nil.
type part struct {
	number      int
	begin       func() any                                      // makes what it knows of an account
	lookUp      func(t *tx, a *accountUnit, all []*needs) error // asks for what the changes have named
	lookUpFound func(t *tx, a *accountUnit, all []*needs) error // asks for what follows from that
	write       func(t *tx, a *accountUnit)                     // writes what the changes have only counted
}

// parts are asked in the order in which they were registered.
var parts []*part

// register adds a part to every unit of work.
func register(p *part) {
	p.number = len(parts)
	parts = append(parts, p)
}

// needs is what a change will look up.
type needs struct {
	account int64
	also    []int64  // other accounts that it will lock
	keys    []string // match keys
	contact int64    // the id of a contact; 0 is none
	sets    []string // that the contact may join or leave, by the tags and common words that were sent
	tags    bool     // it may leave the sets of the tags that it has
	words   bool     // it may leave the sets of the common words that it has

	campaigns  []int64
	gifts      []int64
	plan       int64          // 0 is none
	references []string       // external ones
	gift       *crm.GiftInput // whose sums are needed
	retry      retryNeeds

	more []needs // of a change that records several gifts
}

func newTx(t *db.Tx) db.Batch { return &tx{Tx: t, accounts: make(map[int64]*accountUnit)} }

// Prefetch locks accounts in ascending order and looks up what the changes need, in one round trip, and then the contacts that were
// found by their keys.
func (t *tx) Prefetch(changes []*db.Change) error {
	var all []*needs
	for _, change := range changes {
		if n, _ := change.Needs.(*needs); n != nil && !change.Gone() { // a change of no account has none
			all = append(all, n.all(n.account)...)
		}
	}
	return t.lookUp(all)
}

// all are the needs of a change, and of everything that it does.
func (n *needs) all(account int64) []*needs {
	n.account = account
	all := []*needs{n}
	for i := range n.more {
		n.more[i].account = account
		all = append(all, &n.more[i])
	}
	return all
}

// lookUp asks for what changes need in two round trips: what they have named, and what follows from that.
func (t *tx) lookUp(all []*needs) error {
	byAccount := make(map[int64][]*needs)
	for _, n := range all {
		byAccount[n.account] = append(byAccount[n.account], n)
		for _, other := range n.also {
			if _, known := byAccount[other]; !known {
				byAccount[other] = nil // it is locked, and nothing is looked up
			}
		}
	}
	if len(byAccount) == 0 {
		return nil // and nothing to wait for
	}
	numbers := slices.Sorted(maps.Keys(byAccount)) // in one order, so that no two batches wait for each other
	for _, number := range numbers {
		a := t.account(number)
		if err := cmp.Or(t.prefetchLock(a), a.lookUpAnswers(t, byAccount[number])); err != nil {
			return err
		}
		for _, part := range parts {
			if part.lookUp == nil {
				continue
			}
			if err := part.lookUp(t, a, byAccount[number]); err != nil {
				return err
			}
		}
	}
	if err := t.Fetch(); err != nil {
		return err
	}
	for _, number := range numbers {
		for _, part := range parts {
			if part.lookUpFound == nil {
				continue
			}
			if err := part.lookUpFound(t, t.accounts[number], byAccount[number]); err != nil {
				return err
			}
		}
	}
	return t.Fetch()
}

// account is what the batch knows of an account.
func (t *tx) account(number int64) *accountUnit {
	a := t.accounts[number]
	if a == nil {
		a = &accountUnit{tally: tally{account: number}}
		for _, part := range parts {
			a.known = append(a.known, part.begin())
		}
		t.accounts[number] = a
	}
	return a
}

// prefetchLock asks for the account's row, unless it is known.
func (t *tx) prefetchLock(a *accountUnit) error {
	if a.exists {
		return nil
	}
	return t.PrefetchLock(a.read, tallyTable, a.account)
}

func (a *accountUnit) read(r db.Row) error {
	a.tally, a.exists = scanTally(r), true
	return nil
}

// lock locks the account's row for the rest of the transaction, for a change of the account. One that is being imported takes none but those of
// the import itself.
func (t *tx) lock(account int64) (*accountUnit, error) {
	a, err := t.hold(account)
	if err == nil && a.importing != 0 && a.importing != t.author.job {
		return nil, crm.ErrImporting
	}
	return a, err
}

// hold locks the account's row for the rest of the transaction, whatever goes on with the account.
func (t *tx) hold(account int64) (*accountUnit, error) {
	a := t.account(account)
	if !a.exists {
		if _, err := t.Lock(func(r db.Row) { _ = a.read(r) }, tallyTable, account); err != nil {
			return nil, err
		}
	}
	if !a.exists {
		return nil, crm.ErrNotFound
	}
	return a, nil
}

// see reads the account's row for a unit of work that only decides.
func (t *tx) see(account int64) (*accountUnit, error) {
	row, err := readTally(t.Conn, account)
	a := t.account(account)
	a.tally, a.exists = row, err == nil
	return a, err
}

// exec runs a statement at once.
func (t *tx) exec(sql string, args ...any) error {
	_, err := t.Exec(sql, args...)
	return err
}

// checkLimit refuses to add more to what a statement counts.
func (t *tx) checkLimit(limit crm.Limit, more int64, sql string, args ...any) error {
	n, err := t.Int(sql, args...)
	if err != nil {
		return err
	}
	return limit.Check(n, more)
}

// tally is the row that every write of an account locks: read once a transaction, written once.
type tally struct {
	account          int64
	contactSeq       int64
	contactActive    int64
	keySeq           int64
	campaignRevision int64
	giftSeq          int64
	planSeq          int64
	currency         string // of the account
	campaignSeq      int64
	setRevision      int64 // counts the changes that move contacts into sets and out of them, but for new contacts
	revision         int64 // of the last change (history.go)
	oldest           int64 // revision that is kept
	epoch            int64
	jobSeq           int64
	fieldSeq         int64
	segmentSeq       int64
	timezone         string // of the organization
	importing        int64  // the job that brings the whole account back, 0 for none
	answerBytes      int64  // of large answers that are kept (retry.go)
	lastCreated      int64  // created_at of the last contact
	dirty            bool
}

const (
	tallyColumns = `account_id, contact_seq, contact_active, key_seq, campaign_revision, gift_seq, plan_seq, currency, campaign_seq, set_revision,
		revision, oldest, epoch, job_seq, field_seq, segment_seq, timezone, importing, answer_bytes, last_created`
	sqlTally = `SELECT ` + tallyColumns + ` FROM account_tally WHERE account_id = $1`
)

// scanTally reads all columns of the table.
func scanTally(r db.Row) tally {
	return tally{account: r.Int(0), contactSeq: r.Int(1), contactActive: r.Int(2), keySeq: r.Int(3), campaignRevision: r.Int(4),
		giftSeq: r.Int(5), planSeq: r.Int(6), currency: r.Text(7), campaignSeq: r.Int(8), setRevision: r.Int(9),
		revision: r.Int(10), oldest: r.Int(11), epoch: r.Int(12), jobSeq: r.Int(13), fieldSeq: r.Int(14), segmentSeq: r.Int(15), timezone: r.Text(16), importing: r.Int(17), answerBytes: r.Int(18), lastCreated: r.Int(19)}
}

func readTally(c db.Conn, account int64) (row tally, err error) {
	found, err := c.One(func(r db.Row) { row = scanTally(r) }, sqlTally, account)
	if err == nil && !found {
		err = crm.ErrNotFound
	}
	return row, err
}

// values are the columns of the row.
func (row *tally) values() []any {
	return []any{row.account, row.contactSeq, row.contactActive, row.keySeq, row.campaignRevision, row.giftSeq, row.planSeq, row.currency, row.campaignSeq,
		row.setRevision, row.revision, row.oldest, row.epoch, row.jobSeq, row.fieldSeq, row.segmentSeq, row.timezone, row.importing, row.answerBytes, row.lastCreated}
}

// newTally is the row of an account that has nothing yet.
func newTally(account int64) *tally {
	return &tally{account: account, currency: text.DefaultCurrency, timezone: text.DefaultTimezone, oldest: 1, epoch: newEpoch()}
}

// location is the time zone of the organization.
func (row *tally) location() *time.Location { return text.Location(row.timezone) }

// clock is a time as the organization's clock shows it.
func (row *tally) clock(t time.Time) time.Time { return text.WallClock(t, row.location()) }

// touch says that the row changes. From here on, a failure must undo everything.
func (a *accountUnit) touch(t *tx) {
	a.dirty = true
	t.Touch()
}

// Finish writes what was only counted, and the rows of accounts that were counted on.
func (t *tx) Finish() error {
	for _, a := range t.accounts {
		for _, part := range parts {
			if part.write != nil {
				part.write(t, a)
			}
		}
		if a.dirty {
			t.Save(tallyTable, a.values()...)
		}
	}
	return nil
}
