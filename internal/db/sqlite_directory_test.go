package db

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// What only SQLite's data directory has: files that may be missing, empty, or of another database. These tests run
// before those that start PostgreSQL: until its process has begun, it has the lock of a directory that is open at that
// moment.

// serve opens the database of a directory as a server does.
func serve(t *testing.T, dir string) *DB {
	t.Helper()
	return openTiny(t, tinyOptions(Options{Dir: dir, Serving: true}))
}

// put writes a document.
func put(t *testing.T, d *DB, id int64) {
	t.Helper()
	d.insert(t, docTable, int64(1), id, fmt.Sprintf("D%d", id), bytes.Repeat([]byte("x"), 1000))
}

// wantNotCopied checks that a copy of the file, as a backup makes it, is refused and leaves nothing.
func wantNotCopied(t *testing.T, what, dir, says string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "b")
	wantSays(t, what+" was copied", CopyFile(t.Context(), dir, file, func(int64, int64) {}), says)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
		t.Errorf("%s: the refused copy has left %v, %v", what, left, err)
	}
}

// copyDirectory copies the database of one directory to another as the command does, row by row.
func copyDirectory(t *testing.T, from, to string) error {
	t.Helper()
	_, err := Copy(t.Context(), tinyOptions(Options{Dir: from}), tinyOptions(Options{Dir: to}), CopyOptions{})
	return err
}

// crashed is a data directory as kill -9 leaves it: with a log that has rows that are not in the database. It is copied
// while a server runs, which is what a process that ends at this moment would leave.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	left := t.TempDir()
	for _, name := range []string{DatabaseFile, DatabaseFile + "-wal", identityFile} {
		succeed(t, copyFile(filepath.Join(dir, name), filepath.Join(left, name)))
	}
	if info, err := os.Stat(filepath.Join(left, DatabaseFile+"-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	return left
}

// copyFile overwrites a file in place, as cp does.
func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	return errors.Join(err, os.WriteFile(to, content, 0o600))
}

// wantOpens checks that a directory opens, for a server and for a command, and has this many documents.
func wantOpens(t *testing.T, what, dir string, documents int64) {
	t.Helper()
	for _, serving := range []bool{false, true, true, false} {
		d, err := Open(t.Context(), tinyOptions(Options{Dir: dir, Serving: serving}))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		total := d.number(t, `SELECT COUNT(*) FROM doc`)
		succeed(t, d.Close())
		equal(t, total, documents, "%s", what)
	}
}

func wantNotOpened(t *testing.T, what, dir string, words ...string) {
	t.Helper()
	for _, serving := range []bool{false, true} {
		wantRefused(t, what, tinyOptions(Options{Dir: dir, Serving: serving}), words...)
	}
}

func TestTheLogOfACrashIsApplied(t *testing.T) {
	dir := t.TempDir()
	for round := range int64(3) { // each round uses the directory that the previous one left
		d := serve(t, dir)
		for i := range int64(20) {
			put(t, d, round*20+i+1)
		}
		left := crashed(t, dir)
		succeed(t, d.Close())
		moved := filepath.Join(t.TempDir(), "moved")
		succeed(t, os.CopyFS(moved, os.DirFS(left))) // another place, other inodes
		wantOpens(t, "a copy of the whole directory", moved, (round+1)*20)
		old := filepath.Join(dir, "of an older program")
		succeed(t, errors.Join(os.CopyFS(old, os.DirFS(left)), os.Remove(filepath.Join(old, identityFile))))
		wantOpens(t, "a directory without an identity", old, (round+1)*20)
		succeed(t, os.RemoveAll(old))
		dir = left
	}
}

func TestConcurrentLogOfAnotherDatabaseIsRefused(t *testing.T) {
	dir, copies := t.TempDir(), t.TempDir()
	d := serve(t, dir)
	put(t, d, 1)
	succeed(t, d.Close())
	stopped, online, other := filepath.Join(copies, "stopped"), filepath.Join(copies, "online"), t.TempDir()
	succeed(t, copyFile(filepath.Join(dir, DatabaseFile), stopped))
	serve(t, other) // an unrelated database

	d = serve(t, dir)
	put(t, d, 2) // before the copy
	db := must(sqlite3.Open(filepath.Join(dir, DatabaseFile)))(t)
	succeed(t, errors.Join(db.Backup("main", online), db.Close()))
	put(t, d, 3)
	left := crashed(t, dir)
	wantOpens(t, "the crash by itself", left, 3)

	left = crashed(t, dir)
	for what, file := range map[string]string{
		"a copy made while the server was stopped": stopped, "an online copy of the same run": online,
		"another database": filepath.Join(other, DatabaseFile),
	} {
		const foreign = "does not belong to the database"
		path := filepath.Join(left, DatabaseFile)
		succeed(t, copyFile(file, path))
		before := must(os.ReadFile(path))(t)
		wantNotOpened(t, what, left, "the log "+path+"-wal does not belong to the database", "remove "+path+"-wal")
		wantNotCopied(t, what, left, foreign)
		wantSays(t, what+" as the source", copyDirectory(t, left, t.TempDir()), foreign)
		wantSays(t, what+" as the target", copyDirectory(t, other, left), foreign)
		equal(t, string(must(os.ReadFile(path))(t)), string(before), "%s was changed", what)
	}
	whole := filepath.Join(left, DatabaseFile)
	succeed(t, errors.Join(copyFile(online, whole), os.Remove(whole+"-wal")))
	wantOpens(t, "a backup that was restored without the log", left, 2)
}

// If another connection reads while a server starts, the new mark stays in the log for a while.
func TestConcurrentMarkOnItsWayIsRight(t *testing.T) {
	dir := t.TempDir()
	d := serve(t, dir)
	put(t, d, 1)
	succeed(t, d.Close())
	reader := must(sqlite3.Open(filepath.Join(dir, DatabaseFile)))(t)
	defer reader.Close() //nolint:errcheck // it was only read
	e := must(openSQLite(dir, false))(t)
	writer := <-e.(*sqliteEngine).write
	succeed(t, reader.Exec("BEGIN; SELECT * FROM doc"))
	for range 3 {
		e.(*sqliteEngine).mark(writer)
		wantOpens(t, "a crash meanwhile", crashed(t, dir), 1)
	}
	e.release(writer)
	succeed(t, e.close())
}

func TestALostDatabaseIsRefused(t *testing.T) {
	used := func() string {
		dir := t.TempDir()
		succeed(t, serve(t, dir).Close())
		return dir
	}
	empty := used()
	succeed(t, os.Truncate(filepath.Join(empty, DatabaseFile), 0))
	wantNotCopied(t, "0 bytes", empty, DatabaseFile+" has 0 bytes")
	wantSays(t, "a target of 0 bytes", copyDirectory(t, used(), empty), "has 0 bytes")
	wantNotOpened(t, "0 bytes", empty, DatabaseFile+" has 0 bytes", "Restore a backup")
	untouched := t.TempDir()
	succeed(t, os.WriteFile(filepath.Join(untouched, DatabaseFile), nil, 0o600))
	wantNotOpened(t, "0 bytes, and nothing else", untouched, DatabaseFile+" has 0 bytes", "remove the file")

	missing := used()
	succeed(t, os.Remove(filepath.Join(missing, DatabaseFile)))
	wantNotOpened(t, "no database", missing, DatabaseFile+" is missing", identityFile+" is there", "restore a backup")
	for _, name := range []string{"tls", "acme"} {
		certificates := t.TempDir()
		succeed(t, os.Mkdir(filepath.Join(certificates, name), 0o700))
		wantNotOpened(t, "certificates alone", certificates, DatabaseFile+" is missing", name+" is there", "--database")
		equal(t, len(must(os.ReadDir(certificates))(t)), 1, "something was made")
		// A node that has worked with PostgreSQL has such a directory, and may switch back.
		succeed(t, copyDirectory(t, used(), certificates))
		succeed(t, serve(t, certificates).Close())
	}
	orphan := t.TempDir() // SQLite would apply the log to the database that a copy makes
	succeed(t, os.WriteFile(filepath.Join(orphan, DatabaseFile+"-wal"), []byte("of another database"), 0o600))
	wantSays(t, "a target with a log of another database", copyDirectory(t, used(), orphan),
		DatabaseFile+"-wal is there")
	begun := t.TempDir() // a server that was killed before it made its database
	succeed(t, must(lockDirectory(begun))(t).Close())
	serve(t, begun)
}

func TestASecondServerIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	put(t, first, 1)
	wantRefused(t, "a second server", tinyOptions(Options{URL: "sqlite:" + dir, Serving: true}),
		fmt.Sprintf("another server (process %d) is using the data directory %s", os.Getpid(), dir))
	command := openTiny(t, tinyOptions(Options{Dir: dir}))
	put(t, command, 2)
	succeed(t, first.Close())
	put(t, serve(t, dir), 3) // while the command continues
}
