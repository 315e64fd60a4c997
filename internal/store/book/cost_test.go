package book

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// Gates on what a request costs, in things that can be counted: CONTRIBUTING.md lists them.

// costs are the statements that a store has run, beside those that begin and end transactions, and the rows that it has
// read.
type costs struct{ reads, writes, rows atomic.Int64 }

// countCosts counts from now on. Nothing may be in progress.
func countCosts(s *Book) *costs {
	c := new(costs)
	_, onSQLite := s.Db.LogSize()
	s.Db.Observe(&db.Observer{
		Row: func() { c.rows.Add(1) },
		Ran: func(sql string, _ []any, _ bool) {
			if onSQLite {
				executed.LoadOrStore(sql, true)
			}
			if strings.HasPrefix(strings.TrimSpace(sql), "SELECT") {
				c.reads.Add(1)
			} else {
				c.writes.Add(1)
			}
		},
	})
	return c
}

// of is what do costs.
func (c *costs) of(do func()) (reads, writes, rows int64) {
	reads, writes, rows = c.reads.Load(), c.writes.Load(), c.rows.Load()
	do()
	return c.reads.Load() - reads, c.writes.Load() - writes, c.rows.Load() - rows
}

// A request runs few statements: reads, writes.
func TestStatementsOfARequest(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	account := newAccount(t, s).Number
	for i := range 60 {
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d"}`, i))
	}
	id := doc.MakeID(account, 7)
	list := func(n int64) func() { return func() { page(t, s, account, crm.Active, n, 20) } }
	update := func(title string) func() {
		return func() { must(s.UpdateContact(t.Context(), account, id, input(t, `{"title":"`+title+`"}`)))(t) }
	}
	tag := func(id int64) func() { return func() { must(s.AddTags(t.Context(), account, id, []string{"vip"}))(t) } }
	made := func(emails, phones, tags int) func() {
		in := manyKeys(t, emails, phones, tags)
		return func() { must(s.CreateContact(t.Context(), account, in, crm.Dedupe))(t) }
	}
	attempted := func() {
		_, err := attempt(t, s, account, "key", "Bea")
		var first *store.Replayed
		if err != nil && !errors.As(err, &first) {
			t.Error(err)
		}
	}
	list(1)() // brings the set up to date
	cost := countCosts(s)
	for _, test := range []struct {
		what          string
		do            func()
		reads, writes int64
	}{
		{"a GET", func() { get(t, s, account, id) }, 1, 0},
		{"page 1", list(1), 1, 0},
		{"page 2", list(2), 1, 0},
		{"page 3", list(3), 1, 0},
		{"a change", update("Dr."), 2, 3},               // the account and the contact, read and written; the history
		{"a new tag", tag(id + 1), 3, 7},                // also the tag's set and words; a count that finds no row
		{"a tag that others have", tag(id), 3, 6},       // the same, and the tag's count
		{"a page after a tag was added", list(1), 4, 0}, // it is known how many contacts there are
		{"another change", update("Prof."), 2, 3},
		{"a page after a change that moves nobody", list(1), 1, 0},
		{"archiving", func() { archive(t, s, account, id) }, 3, 7},
		{"a page after archiving", list(1), 4, 0},
		{"a page past the end", list(9), 1, 0},
		{"a create without keys", made(0, 0, 0), 2, 6},
		{"a create with an email", made(1, 0, 0), 3, 6},
		{"a create with 3 keys and 3 new tags", made(2, 1, 3), 3, 16},
		{"a create with 10 keys and 5 tags, 3 of them there", made(5, 5, 5), 3, 26},
		{"a create that may be sent again", attempted, 4, 7}, // the answer, those that have expired, the answer written
		{"one that is sent again", attempted, 4, 0},
	} {
		reads, writes, _ := cost.of(test.do)
		if reads > test.reads || writes > test.writes {
			t.Errorf("%s ran %d statements that read and %d that write, want at most %d and %d: "+
				"look at what the request asks one by one; if it must, change this gate", test.what, reads, writes,
				test.reads, test.writes)
		}
	}
}

// manyKeys is a new contact with this many emails, phones and tags.
func manyKeys(t *testing.T, emails, phones, tags int) crm.ContactInput {
	list := func(n int, format string, kind int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, kind, i))
		}
		return strings.Join(all, ",")
	}
	return input(t, fmt.Sprintf(`{"first_name":"Ana","emails":[%s],"phones":[%s],"tags":[%s]}`,
		list(emails, `{"value":"p%d-%d@x.org"}`, emails), list(phones, `{"value":"+1212555%02d%02d"}`, phones),
		list(tags, `"t%d%d"`, 0)))
}

// A page costs its contacts, the last one as the first. A filter by a tag whose set is known costs the account's row,
// too; one by an email also the email's.
func TestTheLastPageReadsAsManyRowsAsTheFirst(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s).Number
	var changes []func() error
	for i := range 60 {
		in := input(t, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}],"tags":["vip"]}`, i, i))
		changes = append(changes, func() error {
			_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
			return err
		})
	}
	succeed(t, errors.Join(together(t, s, account, changes...)...))
	all := func(n int64) int { ids, _ := page(t, s, account, crm.Active, n, 20); return len(ids) }
	filtered := func(f find.Filter) func(int64) int {
		return func(n int64) int {
			_, found, err := s.FilteredContacts(t.Context(), account, crm.Active, f, crm.PageRequest{Page: n,
				PerPage: 20}, nil, nil)
			succeed(t, err)
			return int(found.Count)
		}
	}
	tagged := filtered(find.Filter{Tags: []string{"vip"}})
	all(1) // brings the set up to date
	tagged(1)
	cost := countCosts(s)
	for _, test := range []struct {
		what        string
		page        func(n int64) int
		pages, rows int64
		count       int
	}{
		{"all contacts", all, 3, 20, 20},
		{"those with a tag", tagged, 3, 21, 20},
		{"the first by its email", filtered(find.Filter{Email: "e:n0@x.org"}), 1, 3, 1},
		{"the last by its email", filtered(find.Filter{Email: "e:n59@x.org"}), 1, 3, 1},
	} {
		for n := range test.pages {
			count := 0
			_, _, rows := cost.of(func() { count = test.page(n + 1) })
			if rows != test.rows || count != test.count {
				t.Errorf("%s: page %d read %d rows for %d contacts, want %d for %d: "+
					"look at set_cache.go and contact_filter.go",
					test.what, n+1, rows, count, test.rows, test.count)
			}
		}
	}
}

// Creates that wait together write few pages to the log: what they touch lies together, and the search keeps few words.
func TestConcurrentCreateWritesFewPages(t *testing.T) {
	t.Parallel()
	o := emptySQLite(t)
	s := open(t, o)
	account := newAccount(t, s).Number
	const batches, size, frame = 20, 32, 4096 + 24 // bytes of a page in the log
	length := func() int64 { return must(os.Stat(filepath.Join(o.Data, "donorbook.db-wal")))(t).Size() }
	batch := func(first int) {
		changes := make([]func() error, size)
		for i := range changes {
			n := first + i
			in := input(t, fmt.Sprintf(`{"first_name":"N%d","last_name":"Okafor","company":"Harbor",
				"emails":[{"value":"n%d@x.org"}],
				"phones":[{"value":"212-555-%04d"}],"tags":["vip"],"addresses":[{"city":"Boston",
					"zipcode":"02110"}]}`, n, n, n))
			changes[i] = func() error {
				_, err := s.CreateContact(t.Context(), account, in, crm.Force)
				return err
			}
		}
		succeed(t, errors.Join(together(t, s, account, changes...)...))
	}
	batch(0)
	before := length()
	for n := range batches {
		batch((n + 1) * size)
	}
	if pages := float64(length()-before) / frame / batches / size; pages > maxPages {
		t.Errorf("a create writes %.2f pages of the log, want %.2f at most: "+
			"look at which tables and indexes it touches; "+
			"if it must, change this gate", pages, maxPages)
	}
}

const maxPages = 1.1 // of each of 32 creates in a transaction
