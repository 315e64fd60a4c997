package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"donorbook/internal/rig"
)

// The schema of these tests has one table of each kind: documents with words, a counter, rows that need not be kept,
// and accounts.
var (
	testWords    = NewSearch("paper_search")
	testPapers   = NewTable("paper", "account_id id", "body:bytes checksum")
	testCounts   = NewCounter("shelf", "account_id name:text", "papers", "size")
	testLinks    = NewTable("link", "hash:text", "account_id")
	testAccounts = NewTable("account", "account_id", "name:text")
	testSchema   = &Schema{
		Steps: []Step{{SQL: `
CREATE TABLE paper (account_id BIGINT NOT NULL, id {id} NOT NULL, body {bytes} NOT NULL, checksum BIGINT NOT NULL, {idKey});
CREATE TABLE shelf (account_id BIGINT NOT NULL, name {key} NOT NULL, papers BIGINT NOT NULL, size SMALLINT NOT NULL,
	PRIMARY KEY (account_id, name));
CREATE TABLE link (hash {key} NOT NULL PRIMARY KEY, account_id BIGINT NOT NULL);
CREATE TABLE account (account_id BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE derived (name {key} NOT NULL PRIMARY KEY, version BIGINT NOT NULL);
{search paper_search}
`}},
		Tables:  []*Table{testPapers, testCounts, testLinks, testAccounts},
		Derived: Derived{Name: "words", Version: 3, Work: func(*Tx, Progress) error { return nil }},
	}
)

func init() {
	testPapers.Words = testWords
	testPapers.WordsOf = func(row []any) (string, error) { return string(row[2].([]byte)), nil }
	testLinks.Transient = "account_id = 0"
	testAccounts.NameOf = func(row []any) (id, name string) { return fmt.Sprintf("A%d", row[0]), row[1].(string) }
}

// testRows is more than one transaction of a copy writes.
const testRows = copyRows + 100

func testOptions(o Options) Options {
	o = tinyOptions(o)
	o.Schema = testSchema
	return o
}

// tamper changes a database outside the program.
func tamper(t *testing.T, o Options, fn func(*Tx) error) {
	t.Helper()
	e := must(openEngine(t.Context(), o))(t)
	k := &copier{ctx: t.Context(), target: e}
	succeed(t, errors.Join(k.change(fn), k.close()))
}

func makeDatabase(t *testing.T, o Options) {
	t.Helper()
	succeed(t, must(Open(t.Context(), o))(t).Close())
}

func newSource(t *testing.T) Options {
	t.Helper()
	o := testOptions(Options{Dir: t.TempDir()})
	makeDatabase(t, o)
	tamper(t, o, func(x *Tx) error {
		var rows [][]any
		for i := range int64(testRows) {
			body := fmt.Appendf(nil, "000001~Zoë 000001~paper%d", i)
			rows = append(rows, []any{1 + i%2, (1+i%2)<<40 + i, body, Checksum(body)})
		}
		x.Insert(testCounts, int64(1), "日本", int64(12), int64(2))
		x.Insert(testLinks, "of the account", int64(1))
		x.Insert(testLinks, "transient", int64(0))
		x.Insert(testAccounts, int64(1), "First")
		x.Insert(testAccounts, int64(2), "Second")
		slices.SortFunc(rows, func(a, b []any) int { return cmp.Compare(a[1].(int64), b[1].(int64)) })
		return x.load(testPapers, rows)
	})
	return o
}

// found is how many documents a search for a word finds, and the version of the derived data in the database.
func found(t *testing.T, o Options, word string) (n, derived int64) {
	t.Helper()
	d := must(Open(t.Context(), o))(t)
	defer d.Close() //nolint:errcheck // it was only read
	succeed(t, d.View(t.Context(), func(c Conn) (err error) {
		q := Query{Account: 1, Space: "000001~", Terms: [][][]Word{{{{Text: word}}}}}
		err = c.Search(testWords, q, 10*testRows, func(int64) error {
			n++
			return nil
		})
		if err == nil {
			derived, err = c.Int(sqlDerived, "words")
		}
		return err
	}))
	return n, derived
}

func TestCopy(t *testing.T) {
	t.Parallel()
	for _, e := range rig.Both {
		for name, test := range map[string]func(t *testing.T, o Options){
			"there and back": copyThereAndBack, "interrupted": copyInterrupted, "different": copyDifferent,
			"refused": copyRefused,
		} {
			t.Run(e.Name+" "+name, func(t *testing.T) {
				dir, url := e.New(t)
				test(t, testOptions(Options{Dir: dir, URL: url}))
			})
		}
	}
}

func copyThereAndBack(t *testing.T, there Options) {
	from, back := newSource(t), testOptions(Options{Dir: filepath.Join(t.TempDir(), "new")})
	makeDatabase(t, there)
	tamper(t, there, inserting(testLinks, "of the target", int64(0)))
	var watched []CopyProgress
	watch := func(p CopyProgress) { watched = append(watched, p) }
	first := must(Copy(t.Context(), from, there, CopyOptions{Progress: watch}))(t)
	equal(t, must(Copy(t.Context(), there, back, CopyOptions{}))(t), first, "the reports")
	equal(t, first.Tables, []TableCount{{"paper", testRows}, {"shelf", 1}, {"link", 2}, {"account", 2}})
	equal(t, len(first.Accounts), 2)
	equal(t, first.Accounts[1].ID, "A2")
	equal(t, len(first.Accounts[1].SHA256), 64)
	for _, want := range []CopyProgress{
		{false, "paper", 0, testRows}, {false, "paper", copyRows, testRows}, {false, "paper", testRows, testRows},
		{true, "paper", 0, testRows}, {true, "paper", testRows, testRows}, {true, "account", 2, 2},
	} {
		equal(t, slices.Contains(watched, want), true, "%+v", want)
	}
	for _, o := range []Options{there, back} {
		n, derived := found(t, o, "paper16")
		equal(t, []int64{n, derived}, []int64{1, 3}, "what is found, and the version of what is derived")
	}
}

func copyInterrupted(t *testing.T, to Options) {
	from := newSource(t)
	for _, when := range []CopyProgress{{false, "paper", copyRows, testRows}, {false, "account", 0, 2},
		{true, "paper", 0, testRows}} {
		ctx, cancel := context.WithCancel(t.Context())
		report, err := Copy(ctx, from, to, CopyOptions{Restart: true, Progress: func(p CopyProgress) {
			if p == when {
				cancel()
			}
		}})
		cancel()
		wantError(t, fmt.Sprint(when), err, context.Canceled)
		equal(t, report.Begun, true, "%+v", when)
		wantError(t, "the target opens", errOf(Open(t.Context(), to)), ErrUnfinished)
		report, err = Copy(t.Context(), from, to, CopyOptions{})
		wantError(t, "another copy", err, ErrUnfinished)
		equal(t, report.Begun, false)
		elsewhere := testOptions(Options{Dir: t.TempDir()})
		wantError(t, "a copy of it", errOf(Copy(t.Context(), to, elsewhere, CopyOptions{})), ErrUnfinished)
	}
	again := false
	_, err := Copy(t.Context(), from, to, CopyOptions{Restart: true, Progress: func(p CopyProgress) {
		if p.Table == "shelf" && !again {
			again = true
			must(Copy(t.Context(), from, to, CopyOptions{Restart: true}))(t)
		}
	}})
	wantSays(t, "the copy whose target was taken over", err, "another copy has taken the target over")
	n, _ := found(t, to, "paper16")
	equal(t, n, 1)
}

func copyDifferent(t *testing.T, to Options) {
	from := newSource(t)
	for sql, says := range map[string]string{
		`UPDATE shelf SET size = 7`:                      "account A1 (First): the checksum is ",
		`DELETE FROM account WHERE account_id = 2`:       "table account: 2 rows in the source, 1 in the target\naccount A2 (Second): ",
		`UPDATE paper SET checksum = 1 WHERE id % 2 = 1`: "account A2 (Second): ",
		`INSERT INTO link VALUES ('x', 0)`:               "what belongs to no account: ",
		`INSERT INTO link VALUES ('x', 77)`:              "account number 77: the checksum is nothing in the source, ",
	} {
		_, err := Copy(t.Context(), from, to, CopyOptions{Restart: true, Progress: func(p CopyProgress) {
			if p.Checking && p.Table == "paper" && p.Done == 0 {
				tamper(t, to, func(x *Tx) error { return errOf(x.Exec(sql)) })
			}
		}})
		wantSays(t, sql, err, "the copy is not like the source:\n", says)
	}
}

func copyRefused(t *testing.T, o Options) {
	from, to := newSource(t), testOptions(Options{Dir: filepath.Join(t.TempDir(), "target")})
	copies := func(from, to Options) error { return errOf(Copy(t.Context(), from, to, CopyOptions{Restart: true})) }
	version := func(sql string) {
		tamper(t, o, func(x *Tx) error { return errOf(x.Exec(sql)) })
	}
	missing := ErrNotFound
	if o.URL == "" {
		missing = os.ErrNotExist
	}
	wantError(t, "no source", copies(o, to), missing)
	makeDatabase(t, o)
	version(`UPDATE schema_version SET version = 0`)
	wantError(t, "a source of nobody", copies(o, to), ErrNotFound)
	version(`UPDATE schema_version SET version = 2`)
	wantError(t, "a newer source", copies(o, to), ErrSchema)
	version(`UPDATE schema_version SET version = 1`)
	tamper(t, o, inserting(testLinks, "of an account", int64(5)))
	report, err := Copy(t.Context(), from, o, CopyOptions{Restart: true})
	wantError(t, "a target that is not empty", err, ErrNotEmpty)
	wantSays(t, "a target that is not empty", err, "table link has rows")
	equal(t, report.Begun, false)
	wantError(t, "onto itself", copies(o, o), ErrSameDatabase)
	if o.URL == "" {
		link := filepath.Join(t.TempDir(), "link")
		succeed(t, os.Symlink(o.Dir, link))
		wantError(t, "by another name", copies(o, testOptions(Options{URL: "sqlite:" + link})), ErrSameDatabase)
	}
	wantError(t, "the target", errOf(os.Stat(to.Dir)), os.ErrNotExist)
	tamper(t, o, inserting(testPapers, int64(5), int64(50), []byte("good"), Checksum([]byte("goof"))))
	err = copies(o, to)
	wantSays(t, "a damaged source", err, "paper 50 of account number 5 is damaged")
	equal(t, errors.As(err, new(*Damaged)), true, "%v", err)
	var url *URLError
	err = copies(from, testOptions(Options{URL: "mysql://u:secret@h/d"}))
	equal(t, errors.As(err, &url) && url.Side == "to", true, "a URL that cannot be one: %v", err)
}
