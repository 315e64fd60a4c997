package store

import (
	"errors"
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
	loaded   int    // contacts that were asked for
	author   author // of the change that runs
}

// accountUnit is what a batch knows of one account.
type accountUnit struct {
	tally
	exists   bool
	keys     map[string][]int64 // the contacts that have a key, for keys that were looked up
	contacts map[int64]*stored  // those that were looked up; nil where there is none
	fields   *crm.CustomFields  // nil where no change has needed them
	sets     contactSets

	setsMoved bool // a contact that was there before has joined a set, or left one

	campaigns  lookup[int64, *ownCampaign]
	gifts      lookup[int64, *storedGift]
	plans      lookup[int64, *storedPlan]
	references lookup[string, int64]
	giving     lookup[string, *crm.Giving]
	moved      map[string]bool        // sums that have changed
	answers    map[string]*keptAnswer // by the keys of attempts
	expired    map[string]int         // how long answers are that have expired, by their keys
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

// prefetchLimit is about how many contacts are read before the changes decide: many large ones could fill the memory.
const prefetchLimit = 200

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

func (t *tx) lookUp(all []*needs) error {
	gifts, sets := make(map[int64][]*needs), make(map[int64][]*needs)
	keys, ids, attempts := make(map[int64][]string), make(map[int64][]int64), make(map[int64][]retryNeeds)
	var numbers []int64
	for _, n := range all {
		numbers = append(append(numbers, n.account), n.also...)
		keys[n.account] = append(keys[n.account], n.keys...)
		if n.contact != 0 {
			ids[n.account] = append(ids[n.account], n.contact)
		}
		if n.ofGifts() {
			gifts[n.account] = append(gifts[n.account], n)
		}
		if len(n.sets) > 0 || n.tags || n.words || n.gift != nil {
			sets[n.account] = append(sets[n.account], n)
		}
		if n.retry.key != "" {
			attempts[n.account] = append(attempts[n.account], n.retry)
		}
	}
	if len(numbers) == 0 {
		return nil // and nothing to wait for
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for _, number := range numbers {
		a := t.account(number)
		err := errors.Join(t.prefetchLock(a), a.lookUpKeys(t, keys[number]), a.lookUpContacts(t, ids[number]),
			a.lookUpSets(t, sets[number]), a.lookUpAnswers(t, attempts[number]), a.lookUpGifts(t, gifts[number]))
		if err != nil {
			return err
		}
	}
	if err := t.Fetch(); err != nil {
		return err
	}
	for _, number := range numbers {
		a := t.accounts[number]
		if err := errors.Join(a.lookUpContacts(t, a.candidates()), a.lookUpFoundSets(t, sets[number]), a.lookUpGiving(t, gifts[number])); err != nil {
			return err
		}
	}
	return t.Fetch()
}

// account is what the batch knows of an account.
func (t *tx) account(number int64) *accountUnit {
	a := t.accounts[number]
	if a == nil {
		a = &accountUnit{
			tally: tally{account: number}, keys: make(map[string][]int64), contacts: make(map[int64]*stored), sets: make(contactSets), moved: make(map[string]bool),
			campaigns: newLookup(sqlOwnCampaigns, scanOwnCampaign), gifts: newLookup(sqlLoadGifts, scanGift), plans: newLookup(sqlLoadPlans, scanPlan),
			references: newLookup(sqlReferences, scanReference), giving: newLookup(sqlGiving, scanGiving),
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

const (
	sqlMatch        = `SELECT key, id FROM contact_index WHERE account_id = $1 AND key = ANY($2)`
	sqlLoadContacts = `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom FROM contact WHERE account_id = $1 AND id = ANY($2)`
)

func (a *accountUnit) lookUpKeys(t *tx, keys []string) error {
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		a.keys[key] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		a.keys[r.Text(0)] = append(a.keys[r.Text(0)], r.Int(1))
		return nil
	}, sqlMatch, a.account, keys)
}

func (a *accountUnit) lookUpContacts(t *tx, ids []int64) error {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if ids = ids[:min(len(ids), max(0, prefetchLimit-t.loaded))]; len(ids) == 0 {
		return nil // what is left is looked up when it is needed
	}
	t.loaded += len(ids)
	for _, id := range ids {
		a.contacts[id] = nil
	}
	return t.Tx.Prefetch(func(r db.Row) error {
		a.contacts[r.Int(0)] = scanContact(r)
		return nil
	}, sqlLoadContacts, a.account, ids)
}

// candidates are the contacts that were found by keys. Where many have one, the change that needs them looks them up.
func (a *accountUnit) candidates() (ids []int64) {
	for _, found := range a.keys {
		if len(found) <= fewCandidates {
			ids = append(ids, found...)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return a.contacts[id] != nil })
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

// Finish writes the sums, the sets and the rows of accounts that were counted on.
func (t *tx) Finish() error {
	for _, a := range t.accounts {
		t.writeGiving(a)
		t.writeSets(a)
		if a.dirty {
			t.Save(tallyTable, a.values()...)
		}
	}
	return nil
}
