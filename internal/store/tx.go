package store

import (
	"maps"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
)

// Tx is a unit of work: the changes of a batch, with what they know of their accounts. Each account's row is locked, so
// that only the batch itself can make that out of date: what a change writes is noted here, too.
type Tx struct {
	*db.Tx
	Accounts map[int64]*Account
	Loaded   int      // contacts that were asked for together
	Author   author   // of the change that runs
	then     []func() // what follows when it is on disk
}

// Then does something when the change that runs is on disk, such as to wake a worker that looks for what was written.
func (t *Tx) Then(do func()) { t.then = append(t.then, do) }

// Account is what a batch knows of one account: its row, what attempts were answered, and what of its nouns was looked
// up.
type Account struct {
	Tally
	found bool // its row was read
	attemptUnit
	derivedUnit
	contactUnit
	giftUnit
	Campaigns Lookup[int64, *OwnCampaign]
}

// Unit is the unit of work of one change of an account.
type Unit struct {
	*Tx
	*Account
}

// With is the unit of work of a change of an account.
func (t *Tx) With(a *Account) Unit { return Unit{t, a} }

// Needs is what a change will look up.
type Needs struct {
	account int64
	Also    []int64  // other accounts that it will lock
	Keys    []string // match keys
	Contact int64    // the id of a contact; 0 is none
	Sets    []string // that the contact may join or leave, by the tags and common words that were sent
	Tags    bool     // it may leave the sets of the tags that it has
	Words   bool     // it may leave the sets of the common words that it has

	Campaigns  []int64
	Gifts      []int64
	Plan       int64             // 0 is none
	References []string          // external ones
	Gift       *giving.GiftInput // whose sums are needed
	retry      retryNeeds

	More []Needs // of a change that records several gifts
}

// Prepare locks accounts in ascending order and looks up what the changes need, in one round trip, and then the
// contacts that were found by their keys.
func (t *Tx) Prepare(changes []*db.Change) error {
	var all []*Needs
	for _, change := range changes {
		if n, _ := change.Needs.(*Needs); n != nil && !change.Gone() { // a change of no account has none
			all = append(all, n.all(n.account)...)
		}
	}
	return t.lookUp(all)
}

// all are the needs of a change, and of everything that it does.
func (n *Needs) all(account int64) []*Needs {
	n.account = account
	all := []*Needs{n}
	for i := range n.More {
		n.More[i].account = account
		all = append(all, &n.More[i])
	}
	return all
}

// lookUp asks for what changes need in two round trips: what they have named, and what follows from that.
func (t *Tx) lookUp(all []*Needs) error {
	byAccount := make(map[int64][]*Needs)
	for _, n := range all {
		byAccount[n.account] = append(byAccount[n.account], n)
		for _, other := range n.Also {
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
		u := t.Account(number)
		if err := db.First(func() error { return u.prefetchLock() },
			func() error { return u.lookUpAnswers(byAccount[number]) }); err != nil {
			return err
		}
		if err := u.lookUp(byAccount[number]); err != nil {
			return err
		}
	}
	if err := t.Fetch(); err != nil {
		return err
	}
	for _, number := range numbers {
		if err := t.Account(number).lookUpFound(byAccount[number]); err != nil {
			return err
		}
	}
	return t.Fetch()
}

// lookUp asks for what changes have named.
func (u Unit) lookUp(all []*Needs) error {
	return db.First(
		func() error { return lookUpKeys(u, all) },
		func() error { return lookUpSets(u, all) },
		func() error { return lookUpReferences(u, all) },
		func() error { return lookUpNamedContacts(u, all) },
		func() error { return lookUpGifts(u, all) },
	)
}

// lookUpFound asks for what follows from what was found.
func (u Unit) lookUpFound(all []*Needs) error {
	return db.First(
		func() error { return lookUpSetsLeft(u, all) },
		func() error { return lookUpContacts(u, foundByKeys(u.Account)) },
		func() error { return lookUpContactSets(u, all) },
		func() error { return lookUpPlanSets(u, all) },
		func() error { return lookUpGiving(u, all) },
	)
}

// Account is what the batch knows of an account.
func (t *Tx) Account(number int64) Unit {
	a := t.Accounts[number]
	if a == nil {
		a = &Account{
			Tally:       Tally{Number: number},
			derivedUnit: newDerivedUnit(),
			contactUnit: contactUnit{Contacts: make(map[int64]*StoredContact), crowds: make(map[string]*crowd),
				Merges: NewLookup(sqlMerges, scanMerge)},
			giftUnit:  giftUnit{Gifts: NewLookup(sqlLoadGifts, ScanGift), Plans: NewLookup(SQLLoadPlans, ScanPlan)},
			Campaigns: NewLookup(SQLOwnCampaigns, scanOwnCampaign),
		}
		t.Accounts[number] = a
	}
	return Unit{t, a}
}

// prefetchLock asks for the account's row, unless it is known.
func (u Unit) prefetchLock() error {
	if u.found {
		return nil
	}
	return u.PrefetchLock(u.read, TallyTable, u.Number)
}

func (a *Account) read(r db.Row) error {
	a.Tally, a.found = ScanTally(r), true
	return nil
}

// LockAccount locks the account's row for the rest of the transaction, for a change of the account. One that is being
// imported takes none but those of the import itself.
func (t *Tx) LockAccount(account int64) (Unit, error) {
	u, err := t.Hold(account)
	if err == nil && u.Importing != 0 && u.Importing != t.Author.Job {
		return Unit{}, crm.ErrImporting
	}
	return u, err
}

// Hold locks the account's row for the rest of the transaction, whatever goes on with the account.
func (t *Tx) Hold(account int64) (Unit, error) {
	u := t.Account(account)
	if !u.found {
		if _, err := t.Lock(func(r db.Row) { _ = u.read(r) }, TallyTable, account); err != nil {
			return Unit{}, err
		}
	}
	if !u.found {
		return Unit{}, crm.ErrNotFound
	}
	return u, nil
}

// see reads the account's row for a unit of work that only decides.
func (t *Tx) see(account int64) (Unit, error) {
	row, err := ReadTally(t.Conn, account)
	u := t.Account(account)
	u.Tally, u.found = row, err == nil
	return u, err
}

// consideredSeq is the sequence number before those of what a unit of work makes that is only considered. No account
// has as many.
const consideredSeq = doc.MaxSeq / 2

// Pretend numbers what is made next by the line of a file, which makes two of a kind at most, where that is only
// considered: no one else makes anything under such a number meanwhile.
func (a *Account) Pretend(line int64) {
	before := consideredSeq + 2*line - 1
	a.ContactSeq, a.GiftSeq, a.PlanSeq = before, before, before
}

// MadeBy is the line of a file that would make what has an id, 0 where it exists.
func MadeBy(id int64) int64 { return max(0, doc.IDSeq(id)-consideredSeq) / 2 }

// Run runs a statement at once, or not at all where the change is only considered: what that writes is dropped.
func (t *Tx) Run(sql string, args ...any) error {
	if t.Drops() {
		return nil
	}
	_, err := t.Exec(sql, args...)
	return err
}

// CheckLimit refuses to add more to what a statement counts.
func (t *Tx) CheckLimit(limit doc.Limit, more int64, sql string, args ...any) error {
	n, err := t.Int(sql, args...)
	if err != nil {
		return err
	}
	return limit.Check(n, more)
}

// Tally is the row that every write of an account locks: read once a transaction, written once.
type Tally struct {
	Number           int64 // of the account
	ContactSeq       int64
	ContactActive    int64
	KeySeq           int64
	CampaignRevision int64
	GiftSeq          int64
	PlanSeq          int64
	Currency         string // of the account
	CampaignSeq      int64
	SetRevision      int64 // counts the changes that move contacts into sets and out of them, but for new contacts
	Revision         int64 // of the last change (history.go)
	Oldest           int64 // the first change that is there: more than 1 where old ones were removed once
	JobSeq           int64
	FieldSeq         int64
	SegmentSeq       int64
	Timezone         string // of the organization
	Importing        int64  // the job that brings the whole account back, 0 for none
	AnswerBytes      int64  // of large answers that are kept (retry.go)
	LastCreated      int64  // created_at of the last contact
	Dirty            bool
}

const (
	TallyColumns = `account_id, contact_seq, contact_active, key_seq, campaign_revision, gift_seq, plan_seq, currency, campaign_seq, set_revision,
		revision, oldest, job_seq, field_seq, segment_seq, timezone, importing, answer_bytes, last_created`
	SQLTally = `SELECT ` + TallyColumns + ` FROM account_tally WHERE account_id = $1`
)

// ScanTally reads all columns of the table.
func ScanTally(r db.Row) Tally {
	return Tally{Number: r.Int(0), ContactSeq: r.Int(1), ContactActive: r.Int(2), KeySeq: r.Int(3),
		CampaignRevision: r.Int(4),
		GiftSeq:          r.Int(5), PlanSeq: r.Int(6), Currency: r.Text(7), CampaignSeq: r.Int(8),
		SetRevision: r.Int(9),
		Revision:    r.Int(10), Oldest: r.Int(11), JobSeq: r.Int(12), FieldSeq: r.Int(13), SegmentSeq: r.Int(14),
		Timezone: r.Text(15), Importing: r.Int(16), AnswerBytes: r.Int(17), LastCreated: r.Int(18)}
}

func ReadTally(c db.Conn, account int64) (row Tally, err error) {
	found, err := c.One(func(r db.Row) { row = ScanTally(r) }, SQLTally, account)
	if err == nil && !found {
		err = crm.ErrNotFound
	}
	return row, err
}

// Values are the columns of the row.
func (row *Tally) Values() []any {
	return []any{row.Number, row.ContactSeq, row.ContactActive, row.KeySeq, row.CampaignRevision, row.GiftSeq,
		row.PlanSeq, row.Currency, row.CampaignSeq,
		row.SetRevision, row.Revision, row.Oldest, row.JobSeq, row.FieldSeq, row.SegmentSeq,
		row.Timezone, row.Importing, row.AnswerBytes, row.LastCreated}
}

// NewTally is the row of an account that has nothing yet.
func NewTally(account int64) *Tally {
	return &Tally{Number: account, Currency: text.DefaultCurrency, Timezone: text.DefaultTimezone, Oldest: 1}
}

// Location is the time zone of the organization.
func (row *Tally) Location() *time.Location { return text.Location(row.Timezone) }

// Clock is a time as the organization's clock shows it.
func (row *Tally) Clock(t time.Time) time.Time { return text.WallClock(t, row.Location()) }

// Day is the day of a time by the organization's clock; zero stays zero.
func (row *Tally) Day(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return row.Clock(t).Truncate(24 * time.Hour)
}

// Touch says that the row changes. From here on, a failure must undo everything.
func (u Unit) Touch() {
	u.Dirty = true
	u.Tx.Touch()
}

// Finish writes what was only counted, and the rows of accounts that were counted on.
func (t *Tx) Finish() error {
	for _, a := range t.Accounts {
		if err := forgetPairs(t.With(a)); err != nil {
			return err
		}
		WriteSets(t.With(a))
		writeSums(t.With(a))
		if a.Dirty {
			t.Save(TallyTable, a.Values()...)
		}
	}
	return nil
}

// Lookup is what a batch knows of the rows of one kind in an account: those that changes said they need are read
// together before any of them decides, the others when they are asked for. The account is locked, so nothing but the
// batch itself can change them.
type Lookup[K interface{ int64 | string }, V any] struct {
	sql  string // with the account and a list of keys
	scan func(db.Row) (K, V)
	Rows map[K]V // the zero V where there is no row
}

func NewLookup[K interface{ int64 | string }, V any](sql string, scan func(db.Row) (K, V)) Lookup[K, V] {
	return Lookup[K, V]{sql, scan, make(map[K]V)}
}

// Prefetch asks for rows together with what else is asked for.
func (l *Lookup[K, V]) Prefetch(t *Tx, account int64, keys []K) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key K) bool {
		_, known := l.Rows[key]
		return known
	})
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) == 0 {
		return nil
	}
	for _, key := range keys {
		l.Rows[key] = *new(V)
	}
	return t.Prefetch(func(r db.Row) error {
		key, row := l.scan(r)
		l.Rows[key] = row
		return nil
	}, l.sql, account, keys)
}

// Load reads rows at once.
func (l *Lookup[K, V]) Load(t *Tx, account int64, keys []K) error {
	if err := l.Prefetch(t, account, keys); err != nil {
		return err
	}
	return t.Fetch()
}

// Get is the row with a key, the zero V where there is none.
func (l *Lookup[K, V]) Get(t *Tx, account int64, key K) (row V, err error) {
	if row, known := l.Rows[key]; known {
		return row, nil
	}
	_, err = t.One(func(r db.Row) { _, row = l.scan(r) }, l.sql, account, []K{key})
	if err == nil {
		l.Rows[key] = row
	}
	return row, err
}
