// Package check compares everything that is stored with what it is derived from, and derives it anew for a repair or an
// upgrade. It knows all other packages of the store; none of them knows it.
package check

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// A check reads a whole database as it is at one moment and compares everything that is kept twice. What can be worked
// out from something else is derived: a repair derives the account anew, while no one else changes it. What cannot is
// told, and never invented.

// Problem is something in a database that is not as it must be.
type Problem struct {
	Account  string `json:"account,omitempty"` // its id, or its number where it has none
	Contact  int64  `json:"contact,omitempty"`
	Campaign int64  `json:"campaign,omitempty"`
	What     string `json:"what"`
	Repaired bool   `json:"repaired"`
}

func (p Problem) String() string {
	var where string
	if p.Account != "" {
		where += "account " + p.Account + ": "
	}
	if p.Contact != 0 {
		where += fmt.Sprintf("contact %d: ", p.Contact)
	}
	if p.Campaign != 0 {
		where += fmt.Sprintf("campaign %d: ", p.Campaign)
	}
	return where + p.What
}

// CheckOptions say how to check.
type CheckOptions struct {
	Repair   bool          // derive anew the accounts in which something that is derived is wrong
	Found    func(Problem) // gets each problem, after it was repaired
	Progress db.Progress   // may be nil
}

// CheckReport is what was looked at and found.
type CheckReport struct {
	Accounts, Contacts, Campaigns int64
	Gifts                         int64
	Changes                       int64 // of the history
	IndexKeys                     int64 // match keys
	Words                         int64 // of the search
	Problems, Repaired            int64
	Importing                     int64 // accounts that were not looked at, since they are being imported
}

const restoreIt = "restore it from a backup"

// Check compares everything in the database that is kept twice.
func (s *CheckStore) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	k := &checker{ctx: ctx, store: s, options: o, tallies: make(map[int64]store.Tally),
		campaigns: make(map[int64][]int64),
		damaged:   make(map[int64]bool), rebuilt: make(map[rebuilding]bool), words: make(perID[uint64])}
	err := s.Db.LongView(ctx, func(c db.Conn) error {
		k.conn = c
		for _, step := range []func() error{k.file, k.begin, k.everyAccount, k.everyWord, k.everyRule, k.references} {
			if err := step(); err != nil { // what was found in a part that was not read to its end may be wrong
				return err
			}
		}
		return nil
	})
	return k.report, store.Translate(err)
}

// checker is a check under way. Of all accounts together it remembers 8 bytes for each contact, and what is wrong.
type checker struct {
	ctx     context.Context
	store   *CheckStore
	conn    db.Conn // reads one snapshot
	options CheckOptions
	report  CheckReport

	accounts  accounts
	tallies   map[int64]store.Tally
	campaigns map[int64][]int64 // ids, by the accounts that own them
	contacts  int64             // in all accounts
	gifts     int64             // the same, as far as accounts count them
	changes   int64             // the same

	damaged map[int64]bool // contacts whose documents cannot be read
	rebuilt map[rebuilding]bool
	words   perID[uint64] // what the documents of contacts say less what the search has, as sums of random numbers
	said    int64         // words that the documents have
}

// rebuilding is a repair of an account, with its words or without them.
type rebuilding struct {
	account int64
	words   bool
}

// tell tells a problem that cannot be repaired.
func (k *checker) tell(p Problem) {
	k.report.Problems++
	k.options.Found(p)
}

// mend tells a problem of an account with what is derived there. The first one has the account derived anew, where that
// is wanted.
func (k *checker) mend(account int64, p Problem) error { return k.mendWith(account, p, false) }

func (k *checker) mendWith(account int64, p Problem, words bool) error {
	p.Account = k.name(account)
	if work := (rebuilding{account, words}); k.options.Repair && !k.rebuilt[work] {
		if err := k.store.Db.Rebuild(k.ctx, func(t *db.Tx) error { return Rebuild(t, account, words) }); err != nil {
			return fmt.Errorf("the repair failed: %s: %w", p, err)
		}
		k.rebuilt[work] = true
	}
	if p.Repaired = k.options.Repair; p.Repaired {
		k.report.Repaired++
	}
	k.tell(p)
	return nil
}

// file looks at the file that the database is in, where it is one of ours.
func (k *checker) file() error {
	faults, err := k.conn.FileFaults(store.WordsTable)
	for _, fault := range faults {
		k.tell(Problem{What: "the database file: " + fault + ": restore a backup"})
	}
	return err
}

const (
	sqlCheckTotal     = `SELECT COUNT(*) FROM contact`
	sqlCheckCampaigns = `SELECT account_id, id FROM campaign ORDER BY id`
)

// begin finds the accounts.
func (k *checker) begin() (err error) {
	if k.contacts, err = k.conn.Int(sqlCheckTotal); err != nil {
		return err
	}
	if k.accounts, err = readAccounts(k.conn); err != nil {
		return err
	}
	rows, err := db.List(k.conn, store.ScanTally, sqlTallies)
	for _, row := range rows {
		k.tallies[row.Number] = row
		k.gifts += row.GiftSeq
		k.changes += row.Revision - row.Oldest + 1
		k.report.Importing += store.Flag(row.Importing != 0)
	}
	if err != nil {
		return err
	}
	return k.conn.Scan(func(r db.Row) {
		k.report.Campaigns++
		k.campaigns[r.Int(0)] = append(k.campaigns[r.Int(0)], r.Int(1))
	}, sqlCheckCampaigns)
}

// everyAccount compares the accounts one by one, but for those that are half there, as a job of theirs knows.
func (k *checker) everyAccount() error {
	for _, number := range slices.Sorted(maps.Keys(k.accounts)) {
		if k.tallies[number].Importing != 0 {
			continue
		}
		if err := k.checkAccount(number); err != nil {
			return err
		}
		k.report.Accounts++
	}
	return k.ctx.Err()
}

// name is an account as an operator knows it.
func (k *checker) name(number int64) string {
	if a, ok := k.accounts[number]; ok {
		return a.ID
	}
	return fmt.Sprintf("number %d", number)
}

// rule finds rows that do not fit others, first of all their account, and that nothing can be derived from.
type rule struct {
	sql  string
	says func(*checker, db.Row) Problem
}

const (
	// What the ids of an account begin with, as doc.MakeID says.
	idLead = `account_id - CASE WHEN account_id < 1000000 THEN 1 ELSE 0 END`

	sqlDisplaced  = `SELECT account_id, id FROM contact WHERE ` + idLead + ` <> id / 1000000000`
	sqlLostGivers = `SELECT account_id, contact_id, COUNT(*) FROM gift AS g WHERE NOT EXISTS (SELECT 1 FROM contact AS c
		WHERE c.account_id = g.account_id AND c.id = g.contact_id) GROUP BY account_id, contact_id`
	sqlLostMerges = `SELECT account_id, survivor, id FROM contact_merge AS m WHERE NOT EXISTS (SELECT 1
		FROM contact AS c WHERE c.account_id = m.account_id AND c.id = m.survivor)
		OR other <> 0 AND NOT EXISTS (SELECT 1 FROM contact AS c WHERE c.account_id = m.account_id AND c.id = m.other)`
	sqlLostPairs = `SELECT account_id, a, b FROM duplicate AS d WHERE NOT EXISTS (SELECT 1 FROM contact AS c
		WHERE c.account_id = d.account_id AND c.id = d.a)
		OR NOT EXISTS (SELECT 1 FROM contact AS c WHERE c.account_id = d.account_id AND c.id = d.b)`
	sqlLostReceipts = `SELECT account_id, 0, id FROM receipt AS r WHERE NOT EXISTS (SELECT 1 FROM gift AS g
		WHERE g.account_id = r.account_id AND g.id = r.gift_id)`
	sqlLostPayments = `SELECT account_id, 0, id, provider || ' ' || payment FROM donation AS d WHERE code <> ''
		AND provider <> '' AND payment <> '' AND state = 'paid' AND NOT EXISTS
		(SELECT 1 FROM external_reference AS r WHERE r.account_id = d.account_id AND r.reference = 'g:' || d.provider || ':' || d.payment)`
	sqlReceiptGaps = `SELECT account_id, 0, MAX(id), COUNT(*) FROM receipt
		GROUP BY account_id, id / 100000000 HAVING MAX(id) % 100000000 <> COUNT(*) ORDER BY account_id, MAX(id)`
	sqlHalfMerges = `SELECT account_id, other, survivor, (SELECT COUNT(*) FROM gift AS g
		WHERE g.account_id = m.account_id AND g.contact_id = m.other) +
		(SELECT COUNT(*) FROM plan AS p WHERE p.account_id = m.account_id AND p.contact_id = m.other) AS given FROM contact_merge AS m WHERE other <> 0 AND undone = 0 AND moving = 0 AND
		(EXISTS (SELECT 1 FROM gift AS g WHERE g.account_id = m.account_id AND g.contact_id = m.other) OR EXISTS (SELECT 1 FROM plan AS p WHERE p.account_id = m.account_id AND p.contact_id = m.other))`
)

var rules = []rule{
	{sqlDisplaced, func(k *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("its row is in this account, but its id belongs to account %s: %s",
			k.name(doc.IDAccount(r.Int(1))), restoreIt)}
	}},
	{sqlLostGivers, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("%d gifts name this contact, but it does not exist: %s", r.Int(2), restoreIt)}
	}},
	{sqlLostMerges, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("merge %d names a contact that does not exist: %s", r.Int(2), restoreIt)}
	}},
	{sqlLostPairs, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("it is listed as a duplicate of contact %d, but one of them does not exist: %s", r.Int(2), restoreIt)}
	}},
	{sqlLostReceipts, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("receipt %s is for a gift that does not exist: %s",
			thanks.ReceiptCode(r.Int(2)), restoreIt)}
	}},
	{sqlLostPayments, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("payment %s of donation %s is in no gift: run donorbook donation reconcile",
			r.Text(3), r.Text(2))}
	}},
	{sqlReceiptGaps, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("of the receipts up to %s, only %d are there: restore a backup",
			thanks.ReceiptCode(r.Int(2)), r.Int(3))}
	}},
	{sqlHalfMerges, func(_ *checker, r db.Row) Problem {
		return Problem{What: fmt.Sprintf("it was merged into contact %d, but %d gifts and plans are still its own: restore a backup", r.Int(2), r.Int(3))}
	}},
}

func (k *checker) everyRule() error {
	for _, rule := range rules {
		err := k.conn.Scan(func(r db.Row) {
			if k.tallies[r.Int(0)].Importing == 0 {
				p := rule.says(k, r)
				p.Account, p.Contact = k.name(r.Int(0)), r.Int(1)
				k.tell(p)
			}
		}, rule.sql)
		if err != nil {
			return err
		}
	}
	return k.ctx.Err()
}

// named are the columns that name a row of another table by its key.
var named = map[string]*db.Table{"account_id": store.AccountTable, "parent": store.AccountTable,
	"user_id": store.UserTable, "campaign_id": store.CampaignTable}

// optional are columns that may name no row, by a 0.
var optional = map[*db.Table]string{
	store.AccountTable: "parent", store.SessionTable: "account_id", store.InvitationTable: "account_id",
	store.MailTable: "account_id", store.GiftTable: "campaign_id", store.PlanTable: "campaign_id",
	store.DonationTable: "campaign_id",
}

// references finds rows that name an account, a user or a campaign that is not there.
func (k *checker) references() error {
	for _, table := range store.Schema.Tables {
		for i, column := range table.Columns {
			target := named[column.Name]
			if target == nil || i == 0 && (table == target || table == store.ReaderTable) || i > 0 &&
				table == store.PictureTable { // who reads a campaign and what it shows is derived
				continue
			}
			sql := fmt.Sprintf("SELECT %s, COUNT(*) FROM %s AS named WHERE NOT EXISTS (SELECT 1 FROM %s AS target WHERE target.%s = named.%[1]s)",
				column.Name, table.Name, target.Name, target.Columns[0].Name)
			if optional[table] == column.Name {
				sql += " AND " + column.Name + " <> 0"
			}
			err := k.conn.Scan(func(r db.Row) {
				if target != store.AccountTable || k.tallies[r.Int(0)].Importing == 0 {
					k.tell(Problem{What: fmt.Sprintf("rows of the table %s: %d have the %s %d, and the table %s has no such row: restore a backup, or remove the rows",
						table.Name, r.Int(1), column.Name, r.Int(0), target.Name)})
				}
			}, sql+" GROUP BY "+column.Name)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckStore compares what is stored with what it is derived from, and repairs it.
type CheckStore struct {
	*store.Store
	*move.MoveStore
}

func New(m *move.MoveStore) *CheckStore { return &CheckStore{m.Store, m} }
