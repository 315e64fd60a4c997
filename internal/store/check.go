package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"donorbook/internal/crm"
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
	Repair   bool               // derive anew what is derived
	Found    func(Problem)      // gets each problem, after it was repaired
	Progress func(CopyProgress) // may be nil
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
	k := &checker{ctx: ctx, store: s, options: o, accounts: make(map[int64]crm.Account), search: s.engine.dialect().search}
	if k.options.Progress == nil {
		k.options.Progress = func(CopyProgress) {}
	}
	reader := &copier{ctx: ctx, source: s.engine}
	err := reader.look(s.engine, func(c conn) error {
		k.conn = c
		for _, step := range []func() error{k.file, k.count, k.everyAccount, k.everyWord, k.everyCampaign, k.references} {
			if err := errors.Join(step(), k.flush()); err != nil {
				return err
			}
		}
		return nil
	})
	return k.report, err
}

// checker is a check under way.
type checker struct {
	ctx      context.Context
	store    *Store
	conn     conn // reads one snapshot
	search   searchDialect
	options  CheckOptions
	report   CheckReport
	accounts map[int64]crm.Account
	total    int64 // contacts, keys of the index, and contacts again for their words
	words    wordsCheck
	pending  []repair // of one account
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

// mend tells a problem, and repairs it where that is wanted.
func (k *checker) mend(p Problem, account int64, do func(*tx) error) error {
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
	err := k.store.update(k.ctx, pending[0].account, func(t *tx) error {
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

// file lets SQLite look at its file.
func (k *checker) file() error {
	if k.store.engine.dialect().distant { // a server looks after its own files
		return nil
	}
	// FTS5 would look for what a transaction before has left, were it not told of this one by a statement of its own.
	if _, err := one(k.conn, func(rows) {}, k.search.within, int64(0), int64(0), int64(0)); err != nil {
		return err
	}
	faults, err := fileFaults(k.conn, 100)
	for _, fault := range faults {
		k.tell(Problem{What: "the database file: " + fault + ": restore a backup"})
	}
	return err
}

func (k *checker) count() error {
	_, err := one(k.conn, func(r rows) { k.total = r.int(0) }, `SELECT 2 * (SELECT COUNT(*) FROM contact) + (SELECT COUNT(*) FROM contact_index)`)
	if err != nil {
		return err
	}
	return each(k.conn, func(r rows) error {
		a := readAccount(r)
		k.accounts[a.Number] = a
		return nil
	}, sqlAccountList)
}

// progress tells how far it has come: nearly all work is with contacts, their keys and their words.
func (k *checker) progress() error {
	done := k.report.Contacts + k.report.IndexKeys
	if k.words.total > 0 {
		done += k.report.Contacts * min(k.report.Words, k.words.total) / k.words.total
	}
	k.options.Progress(CopyProgress{Checking: true, Table: "contacts, match keys and search words", Done: done, Total: k.total})
	return k.ctx.Err()
}

func (k *checker) everyAccount() error {
	for _, number := range slices.Sorted(maps.Keys(k.accounts)) {
		if err := errors.Join(k.account(number), k.flush()); err != nil {
			return err
		}
		k.report.Accounts++
	}
	return k.progress()
}

// name is an account as an operator knows it.
func (k *checker) name(number int64) string {
	if a, ok := k.accounts[number]; ok {
		return a.ID
	}
	return fmt.Sprintf("number %d", number)
}

// account compares what is kept of one account.
func (k *checker) account(number int64) error {
	row, err := readTally(k.conn, number, "")
	if errors.Is(err, crm.ErrNotFound) {
		row, err = &tally{account: number}, k.mend(Problem{Account: k.name(number), What: "its totals are missing"}, number, func(t *tx) error {
			_, err := t.exec(sqlInsertTally, number)
			return err
		})
	}
	if err != nil {
		return err
	}
	a := &accountCheck{checker: k, row: row, name: k.name(number), unreadable: make(map[int64]bool)}
	for _, step := range []func() error{a.readContacts, a.readIndex, a.compareIndex, a.readTags, a.compareTags, a.archivals, a.keys, a.compareTotals} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
