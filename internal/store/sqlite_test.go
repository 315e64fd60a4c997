package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// What only SQLite has: its settings, its file, its query plans, its few connections.

// sqliteConns borrows every connection of a store at once.
func sqliteConns(t *testing.T, s *Store) []conn {
	t.Helper()
	var conns []conn
	for range sqliteReaders {
		c, err := s.engine.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	c, err := s.engine.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conns = append(conns, c)
	t.Cleanup(func() { // before the store is closed
		for _, c := range conns {
			s.engine.release(c)
		}
	})
	return conns
}

func TestEveryConnectionIsDurable(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	newAccount(t, s)
	for i, c := range sqliteConns(t, s) {
		for pragma, want := range map[string]string{
			"journal_mode":   "wal",
			"synchronous":    "2", // FULL: a commit is on disk before it is acknowledged
			"busy_timeout":   "10000",
			"foreign_keys":   "1",
			"trusted_schema": "0",
		} {
			var got string
			if _, err := one(c, func(r rows) { got = r.text(0) }, "PRAGMA "+pragma); err != nil || got != want {
				t.Errorf("connection %d: %s is %s, %v, want %s", i, pragma, got, err, want)
			}
		}
	}
}

func TestTheSecretIsNowhereInTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Data: dir})
	account := newAccount(t, s).Number
	var secrets []string
	for range 3 {
		key, secret := newKey(t, s, account, crm.KeyInput{Name: "Findable name"})
		if _, err := s.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if err := s.RevokeKey(t.Context(), key.ID); err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
	}
	s.touching.Wait()
	var found, files int
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		found += bytes.Count(content, []byte("Findable name"))
		for _, secret := range secrets {
			random := secret[len("dbk_")+8 : len(secret)-6]
			for _, part := range []string{secret, random, random[:12], random[len(random)-12:]} {
				if bytes.Contains(content, []byte(part)) {
					t.Errorf("%s holds a part of a secret", filepath.Base(path))
				}
			}
		}
		return err
	})
	if err != nil || files < 2 || found < 3 {
		t.Errorf("%v: the names of the keys were found %d times in %d files", err, found, files)
	}
}

// sqlTexts are the constants of this package that hold SQL, by name.
func sqlTexts(t *testing.T) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// The packages that are imported need not be known to work out a constant text.
	config := types.Config{Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check("store", fset, files, nil)
	texts := map[string]string{
		"sqlScattered": sqlScattered, "sqlCampaigns": sqlCampaigns, "sqlActive": sqlActive, // variables, because they are computed
		"sqlAccountsByNumber": sqlAccountsByNumber, "sqlAccountsBelow": sqlAccountsBelow, "sqlUsersByID": sqlUsersByID, "sqlCheckKeys": sqlCheckKeys, "sqlCheckStates": sqlCheckStates,
		"sqlContactSeqs": sqlContactSeqs,
	}
	for _, name := range pkg.Scope().Names() {
		if !strings.HasPrefix(name, "sql") || name == strings.ToLower(name) || strings.HasPrefix(name, "sqlite") {
			continue
		}
		switch object := pkg.Scope().Lookup(name).(type) {
		case *types.Const:
			texts[name] = constant.StringVal(object.Val())
		case *types.Var:
			if texts[name] == "" {
				t.Errorf("the variable %s holds SQL that nobody looks at", name)
			}
		}
	}
	return texts
}

func TestNoStatementReadsMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	// What may read a whole table or sort, and why.
	allowed := map[string][]string{
		"sqlAccounts":       {"SCAN a"},                                                            // only a part of the two that follow
		"sqlAccountList":    {"SCAN a USING INDEX account_parent", "USE TEMP B-TREE FOR ORDER BY"}, // all accounts, for the operator
		"sqlAllUsers":       {"SCAN app_user USING INDEX sqlite_autoindex_app_user_2"},             // all users, for the operator
		"sqlAllMemberships": {"SCAN member"},
		"sqlVersions":       {"SCAN schema_version USING COVERING INDEX sqlite_autoindex_schema_version_1"}, // a handful of rows
	}
	texts := sqlTexts(t)
	if len(texts) < 25 {
		t.Fatalf("only %d SQL texts were found", len(texts))
	}
	explained := 0
	err := s.read(t.Context(), func(c conn) error {
		for name, text := range texts {
			if strings.HasPrefix(text, "CREATE ") {
				continue
			}
			args := make([]any, 1+strings.Count(text, "$"))
			for i := range args {
				args[i] = int64(1)
			}
			var plan []string
			err := each(c, func(r rows) error {
				plan = append(plan, r.text(3))
				return nil
			}, "EXPLAIN QUERY PLAN "+text, args...)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			explained++
			for _, step := range plan {
				costly := !strings.HasPrefix(step, "SEARCH ") || strings.Contains(step, "AUTOMATIC")
				if costly && !slices.Contains(allowed[name], step) {
					t.Errorf("%s: %s\n%s", name, step, text)
				}
			}
		}
		return nil
	})
	if err != nil || explained < 25 {
		t.Errorf("%d statements were explained, %v", explained, err)
	}
}

// One list finds that the index has moved on, while all other connections are lent to lists that want the index too.
func TestAListWithAnOldSnapshotDoesNotBlockTheOthers(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	account := newAccount(t, s).Number
	create(t, s, account, `{"first_name":"A"}`)
	wantLists(t, s, account, []int64{1}, nil)
	create(t, s, account, `{"first_name":"B"}`) // the index lags behind, so that everybody has to look at it

	spy := spyOn(t, s)
	page := crm.PageRequest{Page: 1, PerPage: 20}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var others sync.WaitGroup
	var stage atomic.Int64
	lists := func() {
		others.Go(func() {
			if _, result, err := s.Contacts(ctx, account, crm.Active, page, nil, nil); err != nil || result.Total != 3 {
				t.Errorf("another list: %+v, %v", result, err)
			}
		})
	}
	lent := make(chan struct{}, 2*sqliteReaders)
	spy.lent = func() { lent <- struct{}{} }
	spy.read = func(sql string) {
		if sql != sqlTally || !stage.CompareAndSwap(0, 1) {
			return
		}
		// The first list has its snapshot. Meanwhile a contact is made, and somebody else brings the index up to date.
		create(t, s, account, `{"first_name":"C"}`)
		lists()
		others.Wait()
		for len(lent) > 0 {
			<-lent
		}
		stage.Store(2)
	}
	spy.lending = func() {
		// The first list comes again, for a new snapshot: others take all the connections before it gets one.
		if stage.CompareAndSwap(2, 3) {
			for range sqliteReaders {
				lists()
			}
			for range sqliteReaders {
				<-lent
			}
		}
	}
	if _, result, err := s.Contacts(ctx, account, crm.Active, page, nil, nil); err != nil || result.Total != 3 {
		t.Errorf("the first list: %+v, %v", result, err)
	}
	others.Wait()
	if stage.Load() != 3 {
		t.Errorf("the test has come to stage %d only", stage.Load())
	}
}

func TestAReaderWaitsForAFreeConnection(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var held []conn
	for range sqliteReaders {
		c, err := s.engine.reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Ready(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left waits on: %v", err)
	}
	ready := make(chan error)
	go func() { ready <- s.Ready(t.Context()) }()
	for _, c := range held {
		s.engine.release(c)
	}
	if err := <-ready; err != nil {
		t.Error(err)
	}
}

// Who makes a database switches it to WAL, and must wait for somebody who writes at that moment.
func TestOpenWaitsForWhoeverWritesANewDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other, err := sqlite3.Open("file:" + filepath.Join(dir, "donorbook.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it has nothing to keep
	if err := other.Exec(`CREATE TABLE something (x); BEGIN IMMEDIATE; INSERT INTO something VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	go func() {
		s, err := Open(t.Context(), Options{Data: dir})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
		if err := errors.Join(other.Exec(`COMMIT`), <-opened); err != nil {
			t.Error(err)
		}
	}
}

func TestSQLiteErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	c, err := s.engine.writer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.engine.release(c)
	if _, err := c.exec("INSERT INTO nowhere VALUES (1)"); err == nil || errors.Is(err, crm.ErrUnavailable) || errors.Is(err, errTaken) {
		t.Errorf("a mistake in SQL is %v", err)
	}
	if _, err := c.exec("PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = c.exec(sqlAddVersion, int64(9))
	wantError(t, "a database that cannot be written", err, crm.ErrUnavailable)
	if _, err := c.exec("PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.exec("SELECT 1; SELECT 2"); err == nil {
		t.Error("two statements in one were accepted")
	}
	if _, err := c.exec("SELECT ?"); err == nil {
		t.Error("a parameter without a number was accepted")
	}
	if _, err := c.exec("SELECT $1", 1.5); err == nil {
		t.Error("a parameter of an unknown type was accepted")
	}
}
