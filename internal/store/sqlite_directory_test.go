package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// What only the data directory of SQLite has: files that may be missing, empty, or of another database.

// crashed is a data directory as kill -9 leaves it: with a log that has contacts which the database has not. It is copied while a
// server works, which is what a process that ends at this moment would leave.
func crashed(t *testing.T, s *Store, dir string) string {
	t.Helper()
	left := t.TempDir()
	for _, name := range []string{databaseFile, databaseFile + "-wal", identityFile} {
		if err := copyFile(filepath.Join(dir, name), filepath.Join(left, name)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Join(left, databaseFile+"-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	return left
}

// copyFile overwrites a file in place, as cp does.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// wantOpens tells whether a directory opens, for a server and for a command, and has so many contacts.
func wantOpens(t *testing.T, what, dir string, account, contacts int64) {
	t.Helper()
	for _, serving := range []bool{false, true, true, false} {
		s, err := Open(t.Context(), Options{Data: dir, Serving: serving})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		_, total := list(t, s, account, crm.All, 1, 1)
		if err := s.Close(); err != nil || total != contacts {
			t.Errorf("%s: %d contacts, want %d, %v", what, total, contacts, err)
		}
	}
}

func wantNotOpened(t *testing.T, what, dir string, words ...string) {
	t.Helper()
	for _, serving := range []bool{false, true} {
		s, err := Open(t.Context(), Options{Data: dir, Serving: serving})
		if err == nil {
			t.Errorf("%s: it was opened", what)
			s.Close() //nolint:errcheck // the test has failed
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", what, err, word)
			}
		}
	}
}

func wantNotBackedUp(t *testing.T, what, dir, says string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "b")
	_, err := Backup(t.Context(), Options{Data: dir}, file, BackupOptions{})
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s was backed up: %v, want an error that says %q", what, err, says)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
		t.Errorf("%s: the refused backup has left %v, %v", what, left, err)
	}
}

func TestTheLogOfACrashIsApplied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var account int64
	for round := range int64(4) { // the directory of each round was left by the one before
		s := open(t, Options{Data: dir, Serving: true})
		if account == 0 {
			account = newAccount(t, s).Number
		}
		for i := range 100 {
			create(t, s, account, fmt.Sprintf(`{"first_name":"R%d %d"}`, round, i))
		}
		left := crashed(t, s, dir)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		moved := filepath.Join(t.TempDir(), "moved")
		if err := os.CopyFS(moved, os.DirFS(left)); err != nil { // another place, other inodes
			t.Fatal(err)
		}
		wantOpens(t, "a copy of the whole directory", moved, account, (round+1)*100)
		if err := os.CopyFS(filepath.Join(dir, "of an older program"), os.DirFS(left)); err != nil {
			t.Fatal(err)
		}
		old := filepath.Join(dir, "of an older program")
		if err := os.Remove(filepath.Join(old, identityFile)); err != nil {
			t.Fatal(err)
		}
		wantOpens(t, "a directory without an identity", old, account, (round+1)*100)
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
		dir = left
	}
}

func TestALogOfAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir, copies := t.TempDir(), t.TempDir()
	s := open(t, Options{Data: dir, Serving: true})
	account := newAccount(t, s).Number
	create(t, s, account, `{"first_name":"Early"}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stopped, online, other := filepath.Join(copies, "stopped"), filepath.Join(copies, "online"), t.TempDir()
	if err := copyFile(filepath.Join(dir, databaseFile), stopped); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Data: other, Serving: true}) // of somebody else

	s = open(t, Options{Data: dir, Serving: true})
	create(t, s, account, `{"first_name":"Before the copy"}`)
	db, err := sqlite3.Open(filepath.Join(dir, databaseFile))
	if err == nil {
		err = errors.Join(db.Backup("main", online), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, account, `{"first_name":"Late"}`)
	left := crashed(t, s, dir)
	wantOpens(t, "the crash by itself", left, account, 3)

	left = crashed(t, s, dir)
	for what, file := range map[string]string{
		"a copy made while the server was stopped": stopped, "an online copy of the same run": online, "another database": filepath.Join(other, databaseFile),
	} {
		path := filepath.Join(left, databaseFile)
		if err := copyFile(file, path); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wantNotOpened(t, what, left, "the log "+path+"-wal does not belong to the database", "remove "+path+"-wal")
		_, err = Copy(t.Context(), Options{Data: left}, Options{Data: t.TempDir()}, CopyOptions{})
		if err == nil || !strings.Contains(err.Error(), "does not belong to the database") {
			t.Errorf("%s was copied: %v", what, err)
		}
		_, err = Copy(t.Context(), Options{Data: other}, Options{Data: left}, CopyOptions{})
		if err == nil || !strings.Contains(err.Error(), "does not belong to the database") {
			t.Errorf("%s was copied to: %v", what, err)
		}
		wantNotBackedUp(t, what, left, "does not belong to the database")
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed: %v", what, err)
		}
	}
	if err := errors.Join(copyFile(online, filepath.Join(left, databaseFile)), os.Remove(filepath.Join(left, databaseFile+"-wal"))); err != nil {
		t.Fatal(err)
	}
	wantOpens(t, "a backup that was restored without the log", left, account, 2)
}

// Somebody reads while a server starts: the new mark stays in the log for a while.
func TestAMarkOnItsWayIsRight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Options{Data: dir, Serving: true})
	account := newAccount(t, s).Number
	create(t, s, account, `{"first_name":"Ana"}`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite3.Open(filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // it was only read
	e, err := openSQLite(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	writer := <-e.(*sqliteEngine).write
	if err := reader.Exec("BEGIN; SELECT * FROM account"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		e.(*sqliteEngine).mark(writer)
		left := crashed(t, s, dir)
		wantOpens(t, "a crash meanwhile", left, account, 1)
	}
	e.release(writer)
	if err := e.close(); err != nil {
		t.Error(err)
	}
}

func TestALostDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	used := func() string {
		dir := t.TempDir()
		if err := open(t, Options{Data: dir, Serving: true}).Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	empty := used()
	if err := os.Truncate(filepath.Join(empty, databaseFile), 0); err != nil {
		t.Fatal(err)
	}
	wantNotBackedUp(t, "0 bytes", empty, databaseFile+" has 0 bytes")
	if _, err := Copy(t.Context(), Options{Data: used()}, Options{Data: empty}, CopyOptions{}); err == nil || !strings.Contains(err.Error(), "has 0 bytes") {
		t.Errorf("a copy to a database of 0 bytes: %v", err)
	}
	wantNotOpened(t, "0 bytes", empty, databaseFile+" has 0 bytes", "Restore a backup")
	untouched := t.TempDir()
	if err := os.WriteFile(filepath.Join(untouched, databaseFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantNotOpened(t, "0 bytes, and nothing else", untouched, databaseFile+" has 0 bytes", "remove the file")

	missing := used()
	if err := os.Remove(filepath.Join(missing, databaseFile)); err != nil {
		t.Fatal(err)
	}
	wantNotOpened(t, "no database", missing, databaseFile+" is missing", identityFile+" is there", "restore a backup")
	for _, name := range []string{"tls", "acme"} {
		certificates := t.TempDir()
		if err := os.Mkdir(filepath.Join(certificates, name), 0o700); err != nil {
			t.Fatal(err)
		}
		wantNotOpened(t, "certificates alone", certificates, databaseFile+" is missing", name+" is there", "--database")
		if left, err := os.ReadDir(certificates); err != nil || len(left) != 1 {
			t.Errorf("something was made: %v, %v", left, err)
		}
		// A node that has worked with PostgreSQL has such a directory, and may come back.
		mustCopy(t, Options{Data: used()}, Options{Data: certificates}, CopyOptions{})
		if err := open(t, Options{Data: certificates, Serving: true}).Close(); err != nil {
			t.Error(err)
		}
	}
	orphan := t.TempDir() // SQLite would apply the log to the database that a copy makes
	if err := os.WriteFile(filepath.Join(orphan, databaseFile+"-wal"), []byte("of another database"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Copy(t.Context(), Options{Data: used()}, Options{Data: orphan}, CopyOptions{})
	if err == nil || !strings.Contains(err.Error(), databaseFile+"-wal is there") {
		t.Errorf("a copy beside a log of another database: %v", err)
	}
	begun := t.TempDir() // a server that was killed before it made its database
	lock, err := lockDirectory(begun)
	if err = errors.Join(err, lock.Close()); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Data: begun, Serving: true})
}

func TestASecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, Options{Data: dir, Serving: true})
	newAccount(t, first)
	_, err := Open(t.Context(), Options{Database: "sqlite:" + dir, Serving: true})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another server (process %d) is using the data directory %s", os.Getpid(), dir)) {
		t.Errorf("a second server: %v", err)
	}
	command := open(t, Options{Data: dir})
	newAccount(t, command)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Data: dir, Serving: true}) // while the command goes on
}

// A disk that takes nothing: the error says so, and not only that some operation has failed.
func TestAFullDiskIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for _, fault := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS} {
		s := openTest(t)
		account := newAccount(t, s).Number
		e := s.engine.(*sqliteEngine)
		fail := failWrites(t, s, fault)
		e.fault = func(dir string) error { return fmt.Errorf("%w: %s: %w", crm.ErrUnavailable, dir, fault) } // which would write to the real disk
		fail.Store(true)
		_, err := s.CreateContact(t.Context(), account, input(t, `{"first_name":"A"}`), crm.Force)
		for what, err := range map[string]error{"a create": err, "ready": s.Ready(t.Context())} {
			if !errors.Is(err, crm.ErrUnavailable) || !errors.Is(err, fault) || strings.Contains(err.Error(), "disk I/O error") {
				t.Errorf("%s with %v: %v", what, fault, err)
			}
		}
		fail.Store(false)
		create(t, s, account, `{"first_name":"B"}`)
	}
	if err := diskFault(t.TempDir()); err != nil {
		t.Errorf("a disk that is not full: %v", err)
	}
}

// A connection that cannot be opened now, for want of file descriptors, may be opened later.
func TestAConnectionThatCannotBeOpenedIsUnavailable(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"A"}`).ID
	e := s.engine.(*sqliteEngine)
	path := e.path
	e.path = filepath.Join(t.TempDir(), "nowhere", databaseFile)
	_, err := s.Contact(t.Context(), account, id, nil)
	wantError(t, "a read", err, crm.ErrUnavailable)
	e.path = path
	get(t, s, account, id)
}
