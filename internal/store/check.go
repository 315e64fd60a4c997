package store

import (
	"context"
	"errors"
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
}

// CheckReport is what was looked at and found.
type CheckReport struct {
	Accounts, Contacts, Campaigns int64
	IndexKeys                     int64 // match keys
	Words                         int64 // of the search
	Problems, Repaired            int64
}

const restoreIt = "restore it from a backup"

// Check compares everything in the database that is kept twice.
func (s *Store) Check(ctx context.Context, o CheckOptions) (CheckReport, error) {
	k := &checker{ctx: ctx, store: s, options: o, accounts: make(map[int64]*checkedAccount), told: make(map[int64]bool)}
	if o.Progress == nil {
		k.options.Progress = func(string, int64, int64) {}
	}
	err := s.db.LongView(ctx, func(c db.Conn) error {
		k.conn = c
		for _, step := range []func() error{k.file, k.begin, k.everyAccount, k.everyFact, k.compare, k.sizes, k.everyCampaign, k.references, k.displaced} {
			if err := errors.Join(step(), k.flush()); err != nil {
				return err
			}
		}
		return nil
	})
	return k.report, translate(err)
}

// checker is a check under way. What it remembers does not grow with the accounts, but for what is wrong.
type checker struct {
	ctx      context.Context
	store    *Store
	conn     db.Conn // reads one snapshot
	options  CheckOptions
	report   CheckReport
	accounts map[int64]*checkedAccount
	numbers  []int64 // of the accounts, in ascending order, as ids ascend with them
	total    int64   // contacts, keys of the index, and contacts again for their words
	words    int64   // that there should be

	ledger  ledger
	told    map[int64]bool // contacts of which all is said, and accounts whose tags cannot be known
	pending []repair       // of one account
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

const sqlCheckTotal = `SELECT 2 * (SELECT COUNT(*) FROM contact) + (SELECT COUNT(*) FROM contact_index)`

// begin finds the accounts and their totals.
func (k *checker) begin() (err error) {
	if k.total, err = k.conn.Int(sqlCheckTotal); err != nil {
		return err
	}
	err = k.conn.Each(func(r db.Row) error {
		a := readAccount(r)
		k.accounts[a.Number] = &checkedAccount{Account: a, totals: tally{account: a.Number}}
		return nil
	}, sqlAccountList)
	if err != nil {
		return err
	}
	k.numbers = slices.Sorted(maps.Keys(k.accounts))
	return k.conn.Each(func(r db.Row) error {
		if a := k.accounts[r.Int(0)]; a != nil {
			a.totals, a.counted = scanTally(r), true
		}
		return nil
	}, sqlTallies)
}

// progress tells how far it has come: nearly all work is with contacts, their keys and their words.
func (k *checker) progress() error {
	done := k.report.Contacts + k.report.IndexKeys
	if k.words > 0 {
		done += k.report.Contacts * min(k.report.Words, k.words) / k.words
	}
	k.options.Progress("contacts, match keys and search words", done, k.total)
	return k.ctx.Err()
}

// name is an account as an operator knows it.
func (k *checker) name(number int64) string {
	if a := k.accounts[number]; a != nil {
		return a.ID
	}
	return fmt.Sprintf("number %d", number)
}

// reference is a row that names another one, which must be there.
type reference struct{ table, id, column, target, key, unless string }

var references = []reference{
	{"account", "account_id", "parent", "account", "account_id", "parent = 0"},
	{"account_tally", "account_id", "account_id", "account", "account_id", ""},
	{"api_key", "id", "account_id", "account", "account_id", ""},
	{"member", "user_id", "account_id", "account", "account_id", ""},
	{"member", "account_id", "user_id", "app_user", "id", ""},
	{"user_session", "user_id", "user_id", "app_user", "id", ""},
	{"invitation", "created_at", "account_id", "account", "account_id", "account_id = 0"},
	{"campaign_reader", "account_id", "campaign_id", "campaign", "id", ""},
}

// references finds rows that name an account, a user or a campaign that is not there.
func (k *checker) references() error {
	for _, ref := range references {
		condition := ""
		if ref.unless != "" {
			condition = " AND NOT (" + ref.unless + ")"
		}
		err := k.tellEach(func(r db.Row) Problem {
			return Problem{What: fmt.Sprintf("the table %s has a row (%s %d) whose %s is %d, and the table %s has no such row: restore a backup, or remove the row", ref.table, ref.id, r.Int(0), ref.column, r.Int(1), ref.target)}
		}, "SELECT %s, %s FROM %s AS named WHERE NOT EXISTS (SELECT 1 FROM %s AS target WHERE target.%s = named.%[2]s)%[6]s",
			ref.id, ref.column, ref.table, ref.target, ref.key, condition)
		if err != nil {
			return err
		}
	}
	for _, table := range []*db.Table{contactTable, indexTable, archivalTable, tagTable} {
		err := k.tellEach(func(r db.Row) Problem {
			return k.problem(r.Int(0), 0, "the table %s has rows of it, and it does not exist: restore a backup", table.Name)
		}, "SELECT DISTINCT account_id FROM %s AS named WHERE NOT EXISTS (SELECT 1 FROM account WHERE account.account_id = named.account_id)", table.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

// displaced finds rows of contacts in another account than their ids say.
func (k *checker) displaced() error {
	displaced := fmt.Sprintf("account_id <> id / %d", crm.MakeID(1, 0))
	err := k.tellEach(func(r db.Row) Problem {
		return k.problem(r.Int(0), r.Int(1), "its row is in this account, and its id is of account %s: %s", k.name(crm.IDAccount(r.Int(1))), restoreIt)
	}, "SELECT account_id, id FROM contact WHERE %s", displaced)
	if err != nil {
		return err
	}
	return k.conn.Each(func(r db.Row) error {
		if k.accounts[r.Int(0)] == nil {
			return nil
		}
		return k.mendKey(r.Int(0), r.Int(1), r.Text(2))
	}, "SELECT account_id, id, key FROM contact_index WHERE "+displaced)
}

func (k *checker) tellEach(problem func(db.Row) Problem, format string, names ...any) error {
	return k.conn.Each(func(r db.Row) error {
		k.tell(problem(r))
		return nil
	}, fmt.Sprintf(format, names...))
}
