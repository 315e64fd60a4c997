package check

import (
	"bytes"
	"maps"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// derivation goes through one account and works out everything that follows from its documents, its gifts and its
// history. An upgrade and a repair write what it finds, and a check compares that with what is there: all with this
// code, so that they agree.
type derivation struct {
	conn db.Conn
	on   settler
	read func(what string, n int64) error // hears how many records were read; an error ends the work

	store.Tally          // the row of the account as it should be
	was         []any    // that row as it is; nil where it is missing
	known       accounts // all accounts; nil where no campaigns are looked at

	heads map[history.Noun]perID[int64] // the last change of each document; nil where the history was not looked at

	giving bool                   // all gifts can be read, so that what they come to is known
	cells  map[string]giving.Sums // the sums of the account

	damaged map[int64]bool // contacts whose documents cannot be read

	pictures map[string]int64 // campaigns, by the names of the files of their pictures
	unread   bool             // a campaign cannot be read, so that its pictures are not known

	fields  []int64         // ids of its custom fields, in ascending order
	merged  map[int64]int64 // the contacts that others were merged into, as the record of merges says
	last    int64           // sequence number of a contact that was read
	active  int64           // contacts
	created int64           // when the last contact was made that was read, as lists have it
	tags    map[string]int64
	sets    blockSets
}

// settler gets what a derivation finds.
type settler interface {
	// settle gets a row that is not as it should be. was is nil where there is none, should where there should be none.
	settle(table *db.Table, was, should []any) error
	// derived gets a row that one of the derived tables should have.
	derived(table *db.Table, row ...any)
	// gap gets a range of changes that are missing in the history.
	gap(account, first, last int64) error
	// lost gets what cannot be derived from anything.
	lost(p Problem)
}

// derivedTables have only rows that follow from documents and gifts. Words are derived, too, and read in another way.
var derivedTables = []*db.Table{store.IndexTable, store.SetTable, store.TagTable, store.GivingTable,
	store.ReferenceTable}

func newDerivation(c db.Conn, on settler, row store.Tally, read func(what string, n int64) error) *derivation {
	return &derivation{conn: c, on: on, read: read, Tally: row, damaged: make(map[int64]bool),
		pictures: make(map[string]int64), cells: make(map[string]giving.Sums), tags: make(map[string]int64)}
}

// everything goes through all that the account has. The history comes first, since documents name their last change in
// it; gifts come before the contacts that gave them.
func (d *derivation) everything(campaigns []int64) error {
	for _, part := range []func() error{d.history, d.ledger, d.contacts, func() error { return d.campaigns(campaigns) },
		d.everyPicture, d.totals} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// settle compares a row with what it should be.
func (d *derivation) settle(table *db.Table, was, should []any) error {
	if slices.EqualFunc(was, should, sameValue) {
		return nil
	}
	return d.on.settle(table, was, should)
}

func sameValue(a, b any) bool {
	if text, ok := a.([]byte); ok {
		return bytes.Equal(text, b.([]byte))
	}
	return a == b
}

// Derive works out anew what all contacts are found by, and what users sign in with, for another version of the
// program.
func Derive(t *db.Tx, progress db.Progress) error {
	for _, sql := range []string{`DELETE FROM contact_index`, `DELETE FROM tag`, `DELETE FROM contact_set`} {
		if _, err := t.Exec(sql); err != nil {
			return err
		}
	}
	if err := t.ClearSearch(store.WordsTable); err != nil {
		return err
	}
	rows, err := db.List(t.Conn, store.ScanTally, sqlTallies)
	done, total := int64(0), int64(0)
	for _, row := range rows {
		total += row.ContactSeq
	}
	for _, row := range rows {
		d := newDerivation(t.Conn, rebuilder{Tx: t, words: true}, row, func(_ string, n int64) error {
			done += n
			progress("rebuilding the indexes of contacts", done, total)
			return nil
		})
		if err == nil {
			err = d.contacts()
		}
		if d.created > row.LastCreated {
			row.LastCreated = d.created
			t.Save(store.TallyTable, row.Values()...)
		}
	}
	if err == nil {
		err = renewLogins(t)
	}
	if err != nil {
		return err
	}
	return t.CompactSearch(store.WordsTable)
}

// renewLogins gives users the login that their emails have in this version. Of two that have become one, the other
// stays as it is.
func renewLogins(t *db.Tx) error {
	type user struct {
		id    int64
		login string
	}
	var renewed []user
	err := t.Scan(func(r db.Row) {
		if login := text.Login(r.Text(1)); login != r.Text(2) {
			renewed = append(renewed, user{r.Int(0), login})
		}
	}, sqlLogins)
	for _, u := range renewed {
		if err == nil {
			_, err = t.Exec(sqlRenewLogin, u.id, u.login)
		}
	}
	return err
}

const (
	sqlLogins = `SELECT id, email, login FROM app_user`

	sqlRenewLogin = `UPDATE app_user SET login = $2 WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM app_user
		WHERE login = $2)`

	sqlTallies = `SELECT ` + store.TallyColumns + ` FROM account_tally ORDER BY account_id`

	// An account whose row was lost has the currency of most of its gifts.
	sqlMostGiven = `SELECT currency, COUNT(*) FROM gift WHERE account_id = $1 GROUP BY currency
		ORDER BY COUNT(*) DESC, currency LIMIT 1`

	sqlCampaignsOf = `SELECT id FROM campaign WHERE account_id = $1 ORDER BY id`

	// Nodes that remember lists and sets of the account read them again.
	sqlMoveOn = `UPDATE account_tally SET set_revision = set_revision + 1, campaign_revision = campaign_revision + 1
		WHERE account_id = $1`
)

// Rebuild derives an account anew, with its words or without them, which take as long as all else. No one else changes
// the account meanwhile.
func Rebuild(t *db.Tx, account int64, words bool) error {
	row := store.Tally{Number: account}
	found, err := t.Lock(func(r db.Row) { row = store.ScanTally(r) }, store.TallyTable, account)
	if err != nil || row.Importing != 0 { // the import goes on where it was
		return err
	}
	if !found {
		if row, err = lostTally(t.Conn, account); err != nil {
			return err
		}
	}
	quiet := func(string, int64) error { return nil }
	campaigns, err := db.List(t.Conn, store.Number, sqlCampaignsOf, account)
	if err != nil {
		return err
	}
	known, err := readAccounts(t.Conn) // as they are now: others may have been made since the check began
	if err != nil {
		return err
	}
	// what gifts come to is worked out from their columns
	gifts := newDerivation(t.Conn, columnsOnly{rebuilder{Tx: t}}, row, quiet)
	if err := gifts.ledger(); err != nil {
		return err
	}
	if err := clearDerived(t, account, gifts.giving, words); err != nil {
		return err
	}
	d := newDerivation(t.Conn, rebuilder{t, words, gifts.giving}, row, quiet)
	if d.known = known; found {
		d.was = row.Values()
	}
	if err := d.everything(campaigns); err != nil {
		return err
	}
	_, err = t.Exec(sqlMoveOn, account)
	return err
}

// lostTally is the row of an account whose own was lost, before its documents are counted.
func lostTally(c db.Conn, account int64) (store.Tally, error) {
	row := store.NewTally(account)
	_, err := c.One(func(r db.Row) { row.Currency = r.Text(0) }, sqlMostGiven, account)
	return *row, err
}

// ledger looks at the plans and the gifts, each by itself.
func (d *derivation) ledger() error {
	if err := d.plans(); err != nil {
		return err
	}
	return d.gifts()
}

// clearDerived removes the rows of an account that are about to be derived. What gifts come to stays where not all of
// them can be read.
func clearDerived(t *db.Tx, account int64, giving, words bool) error {
	for _, table := range derivedTables {
		if !giving && ofGiving(table) {
			continue
		}
		if _, err := t.Exec("DELETE FROM "+table.Name+" WHERE account_id = $1", account); err != nil {
			return err
		}
	}
	if !words {
		return nil
	}
	return t.ClearWords(store.WordsTable, account, doc.MakeID(account, 0), doc.MakeID(account, doc.MaxSeq))
}

// rebuilder writes what a derivation finds: all of it, or without words, or without what is kept where not all gifts
// can be read.
type rebuilder struct {
	*db.Tx
	words, giving bool
}

const sqlMoveCampaigns = `UPDATE account_tally SET campaign_revision = campaign_revision + 1 WHERE account_id = $1`

func (w rebuilder) settle(table *db.Table, was, should []any) (err error) {
	if should == nil {
		w.Delete(table, was[:table.Key]...)
	} else {
		w.Save(table, should...)
	}
	if table == store.ReaderTable {
		_, err = w.Exec(sqlMoveCampaigns, slices.Concat(was, should)[0])
	}
	return err
}

func (w rebuilder) derived(table *db.Table, row ...any) {
	if (w.words || table != store.WordsTable) && (w.giving || !ofGiving(table)) {
		w.Insert(table, row...)
	}
}

// ofGiving tells whether a table has what follows from all gifts and plans together.
func ofGiving(table *db.Table) bool {
	return table == store.GivingTable || table == store.ReferenceTable
}

// gap puts rows in the place of changes that are missing, because no number is given out again.
func (w rebuilder) gap(account, first, last int64) error {
	for revision := first; revision <= last; revision++ {
		w.Save(store.ChangeTable, account, revision, int64(0), int64(history.DidLose), int64(0), int64(0), int64(0),
			int64(0), int64(0), "", "")
		if revision%derivedAtOnce == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (rebuilder) lost(Problem) {}

// derivedAtOnce is how many rows are kept in memory before they are written.
const derivedAtOnce = 5000

// columnsOnly writes what documents say, and nothing that is derived from them.
type columnsOnly struct{ rebuilder }

func (columnsOnly) derived(*db.Table, ...any) {}

// perID keeps a number for each of many ids, in little more than 8 bytes each: most ids of an account are neighbors.
type perID[N int64 | uint64] map[int64]*[64]N

// at is where the number of an id is.
func (p perID[N]) at(id int64) *N {
	part := p[id>>6]
	if part == nil {
		part = new([64]N)
		p[id>>6] = part
	}
	return &part[id&63]
}

// get is the number of an id, 0 where there is none.
func (p perID[N]) get(id int64) (n N) {
	if part := p[id>>6]; part != nil {
		n = part[id&63]
	}
	return n
}

// each reads the numbers in the order of their ids.
func (p perID[N]) each(read func(id int64, n N) error) error {
	for _, start := range slices.Sorted(maps.Keys(p)) {
		for i, n := range p[start] {
			if err := read(start<<6|int64(i), n); err != nil {
				return err
			}
		}
	}
	return nil
}
