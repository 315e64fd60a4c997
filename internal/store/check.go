package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// A check reads a whole database as it is at one moment and compares everything that is kept twice. What can be worked out from
// something else is derived, and can be repaired; a document cannot. A repair is a change like any other: it locks the account,
// looks again at what it changes, and commits with the changes of others, so that servers may go on meanwhile.

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
	Repair   bool          // derive anew what is derived
	Found    func(Problem) // gets each problem, after it was repaired
	Progress db.Progress   // may be nil

	factsAtOnce int // for a test: compare so many at once
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
func (s *Store) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	k := &checker{ctx: ctx, store: s, options: o, accounts: make(map[int64]*checkedAccount), importing: make(map[int64]bool), told: make(map[int64]bool), sets: make(map[wrongBlock]map[string]bool)}
	err := s.db.LongView(ctx, func(c db.Conn) error {
		k.conn = c
		for _, step := range []func() error{k.file, k.begin, k.everyAccount, k.everyFact, k.everyRule, k.everyGift, k.everyCampaign, k.everyHistory, k.references} {
			if err := step(); err != nil { // what was found in a part that was not read to its end may be wrong
				return err
			}
			if err := k.flush(); err != nil {
				return err
			}
		}
		return nil
	})
	return k.report, translate(err)
}

// checker is a check under way. What it remembers does not grow with the accounts, but for what is wrong.
type checker struct {
	ctx       context.Context
	store     *Store
	conn      db.Conn // reads one snapshot
	options   CheckOptions
	report    CheckReport
	accounts  map[int64]*checkedAccount
	importing map[int64]bool // accounts that are half there, as a job of theirs knows
	numbers   []int64        // of the accounts, in ascending order, as ids ascend with them
	contacts  int64          // in all accounts
	said      int64          // match keys and words that the documents have

	ledger  ledger
	told    map[int64]bool                 // contacts of which all is said, and accounts whose tags cannot be known
	pending []repair                       // of one account
	sets    map[wrongBlock]map[string]bool // by their names
}

// repair is a problem that waits to be repaired together with others.
type repair struct {
	problem Problem
	account int64
	do      func(*tx) error
}

// repairs is how many problems are repaired in one transaction.
const repairs = 100

// tell tells a problem that cannot be repaired.
func (k *checker) tell(p Problem) {
	k.report.Problems++
	k.options.Found(p)
}

func (k *checker) problem(account, contact int64, format string, args ...any) Problem {
	return Problem{Account: k.name(account), Contact: contact, What: fmt.Sprintf(format, args...)}
}

// mend tells a problem, and repairs it where that is wanted.
func (k *checker) mend(p Problem, account int64, do func(*tx) error) error {
	if p.Contact != 0 && k.told[p.Contact] {
		return nil
	}
	if !k.options.Repair {
		k.tell(p)
		return nil
	}
	if len(k.pending) == repairs || len(k.pending) > 0 && k.pending[0].account != account {
		if err := k.flush(); err != nil {
			return err
		}
	}
	k.pending = append(k.pending, repair{p, account, do})
	return nil
}

func (k *checker) flush() error {
	if len(k.pending) == 0 {
		return nil
	}
	pending := k.pending
	k.pending = nil
	err := k.store.update(k.ctx, pending[0].account, needs{}, func(t *tx) error {
		for _, r := range pending {
			if err := r.do(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the repair failed: %s: %w", pending[0].problem, err)
	}
	for _, r := range pending {
		r.problem.Repaired = true
		k.report.Repaired++
		k.tell(r.problem)
	}
	return nil
}

// file looks at the file that the database is in, where it is one of ours.
func (k *checker) file() error {
	faults, err := k.conn.FileFaults(wordsTable)
	for _, fault := range faults {
		k.tell(Problem{What: "the database file: " + fault + ": restore a backup"})
	}
	return err
}

const sqlCheckTotal = `SELECT COUNT(*) FROM contact`

// begin finds the accounts and their totals.
func (k *checker) begin() (err error) {
	if k.contacts, err = k.conn.Int(sqlCheckTotal); err != nil {
		return err
	}
	accounts, err := db.List(k.conn, readAccount, sqlAccountList)
	for _, a := range accounts {
		k.accounts[a.Number] = &checkedAccount{Account: a, totals: tally{account: a.Number}}
	}
	if err != nil {
		return err
	}
	totals, err := db.List(k.conn, scanTally, sqlTallies)
	for _, row := range totals {
		if a := k.accounts[row.account]; a != nil {
			a.totals, a.counted = row, true
		}
		if row.importing != 0 {
			k.importing[row.account] = true
			k.report.Importing++
		}
	}
	k.numbers = slices.DeleteFunc(slices.Sorted(maps.Keys(k.accounts)), func(number int64) bool { return k.importing[number] })
	return err
}

// looksAt tells whether the rows of an account are compared.
func (k *checker) looksAt(account int64) bool {
	return k.accounts[account] != nil && !k.importing[account]
}

// name is an account as an operator knows it.
func (k *checker) name(number int64) string {
	if a := k.accounts[number]; a != nil {
		return a.ID
	}
	return fmt.Sprintf("number %d", number)
}

// rule finds rows that do not fit others, first of all their account. The row of an account that does not exist is told elsewhere.
type rule struct {
	sql    string
	says   func(*checker, db.Row) Problem
	repair func(db.Row) func(*tx) error // nil where a person has to
}

const (
	// What the ids of an account begin with, as crm.MakeID says.
	idLead = `account_id - CASE WHEN account_id < 1000000 THEN 1 ELSE 0 END`

	sqlWrongSizes = `SELECT account_id, fold, name, contacts, size FROM tag WHERE contacts <= 0 OR size <> length(CAST(contacts AS TEXT)) ORDER BY account_id, fold, name`
	sqlDisplaced  = `SELECT account_id, id FROM contact WHERE ` + idLead + ` <> id / 1000000000`
	sqlLostGivers = `SELECT account_id, contact_id, COUNT(*) FROM gift AS g WHERE NOT EXISTS (SELECT 1 FROM contact AS c
		WHERE c.account_id = g.account_id AND c.id = g.contact_id) GROUP BY account_id, contact_id`
	sqlDisplacedKeys = `SELECT account_id, id, key FROM contact_index WHERE ` + idLead + ` <> id / 1000000000`
)

var rules = []rule{
	{sqlWrongSizes, func(k *checker, r db.Row) Problem {
		return k.problem(r.Int(0), 0, "the tag %q of %d contacts has the size %d", r.Text(2), r.Int(3), r.Int(4))
	}, func(r db.Row) func(*tx) error { return recount(fact{tagTable, r.Int(0), r.Text(1), r.Text(2)}, 0) }},
	{sqlDisplaced, func(k *checker, r db.Row) Problem {
		return k.problem(r.Int(0), r.Int(1), "its row is in this account, but its id belongs to account %s: %s", k.name(crm.IDAccount(r.Int(1))), restoreIt)
	}, nil},
	{sqlLostGivers, func(k *checker, r db.Row) Problem {
		return k.problem(r.Int(0), r.Int(1), "%d gifts name this contact, but it does not exist: %s", r.Int(2), restoreIt)
	}, nil},
	{sqlWrongLastGifts, func(k *checker, r db.Row) Problem {
		return k.problem(r.Int(0), r.Int(1), "its last gift is noted as that of %s, and its gifts say %s", noted(r.Int(2)), noted(r.Int(3)))
	}, func(r db.Row) func(*tx) error { return renewLastGift(r.Int(0), r.Int(1)) }},
	{sqlDisplacedKeys, func(k *checker, r db.Row) Problem {
		return k.problem(r.Int(0), r.Int(1), otherKey, r.Text(2))
	}, func(r db.Row) func(*tx) error { return renew(r.Int(0), r.Int(1), r.Text(2)) }},
}

func (k *checker) everyRule() error {
	for _, rule := range rules {
		err := k.conn.Each(func(r db.Row) error {
			switch problem := rule.says(k, r); {
			case k.importing[r.Int(0)]:
			case rule.repair == nil:
				k.tell(problem)
			case k.accounts[r.Int(0)] != nil:
				return k.mend(problem, r.Int(0), rule.repair(r))
			}
			return nil
		}, rule.sql)
		if err != nil {
			return err
		}
	}
	return k.ctx.Err()
}

// named are the columns that name a row of another table by its key.
var named = map[string]*db.Table{"account_id": accountTable, "parent": accountTable, "user_id": userTable, "campaign_id": campaignTable}

// optional are columns that may name no row, by a 0.
var optional = map[*db.Table]string{
	accountTable: "parent", sessionTable: "account_id", invitationTable: "account_id", giftTable: "campaign_id", planTable: "campaign_id",
}

// references finds rows that name an account, a user or a campaign that is not there.
func (k *checker) references() error {
	for _, table := range schema.Tables {
		for i, column := range table.Columns {
			target := named[column.Name]
			if target == nil || i == 0 && (table == target || table == readerTable) { // who reads a campaign is derived
				continue
			}
			sql := fmt.Sprintf("SELECT %s, COUNT(*) FROM %s AS named WHERE NOT EXISTS (SELECT 1 FROM %s AS target WHERE target.%s = named.%[1]s)",
				column.Name, table.Name, target.Name, target.Columns[0].Name)
			if optional[table] == column.Name {
				sql += " AND " + column.Name + " <> 0"
			}
			err := k.conn.Each(func(r db.Row) error {
				if target == accountTable && k.importing[r.Int(0)] {
					return nil
				}
				k.tell(Problem{What: fmt.Sprintf("rows of the table %s: %d have the %s %d, and the table %s has no such row: restore a backup, or remove the rows",
					table.Name, r.Int(1), column.Name, r.Int(0), target.Name)})
				return nil
			}, sql+" GROUP BY "+column.Name)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
