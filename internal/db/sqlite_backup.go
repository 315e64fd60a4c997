package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// backupPages is how many pages are copied between two looks at whether the caller still wants them: 1 MB.
const backupPages = 256

// CopyFile copies the database of a data directory to a new file, as it is at one moment, while others write. The copy
// holds a snapshot: it never begins again, however much is written meanwhile, and it does not block writers. It is made
// page by page, so that the schema may be of any version.
func CopyFile(ctx context.Context, dir, file string, progress func(done, total int64)) (err error) {
	opened, err := openSQLite(dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	c, err := opened.writer(ctx)
	if err != nil {
		return err
	}
	defer opened.release(c)
	db := c.(*sqliteConn).db
	return Conn{conn: c}.snapshot(func(c Conn) error {
		// the snapshot begins with the first read
		if _, err := c.Int(`SELECT COUNT(*) FROM sqlite_schema`); err != nil {
			return err
		}
		backup, err := db.BackupInit("main", sqliteName(file))
		if err != nil {
			return copyFailed(err)
		}
		for done := false; !done && err == nil; {
			if err = ctx.Err(); err == nil {
				done, err = backup.Step(backupPages)
				total := int64(backup.PageCount())
				progress((total-int64(backup.Remaining()))*sqlitePage, total*sqlitePage)
			}
		}
		return copyFailed(errors.Join(err, backup.Close()))
	})
}

// copyFailed is an error of a copy. It does not say that the database is unavailable: the disk of the copy may be the
// one that is full.
func copyFailed(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the database cannot be copied: %w", err)
}

// sqlitePage is SQLite's default size of a page.
const sqlitePage = 4096

// CheckFile compares the schema of a database file that is not in use with the one that the program makes, reads every
// page, and then runs a statement on it. It returns the version of its schema. It changes nothing and makes no file
// beside it.
func CheckFile(ctx context.Context, file string, schema *Schema, read func(Row), sql string) (version int, err error) {
	db, err := sqlite3.OpenFlags(sqliteName(file)+"?immutable=1", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return 0, err
	}
	db.SetInterrupt(ctx)
	c := newSQLiteConn(&sqliteEngine{path: file, fault: diskFault}, db)
	defer func() { err = errors.Join(err, c.close()) }()
	if err = db.Exec("PRAGMA trusted_schema = OFF"); err == nil {
		version, err = checkSchema(ctx, c, schema)
	}
	if err == nil {
		err = checkPages(c)
	}
	if err == nil {
		_, err = Conn{conn: c}.One(read, sql)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return version, err
}

func checkPages(c *sqliteConn) error {
	faults, err := fileFaults(c, 10)
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("the database is damaged: %s", strings.Join(faults, "; "))
	}
	return err
}

// FileFaults lets SQLite look at its file, and tells what it finds. A server looks after its own files.
func (c Conn) FileFaults(searches ...*Table) ([]string, error) {
	s, ok := c.conn.(*sqliteConn)
	if !ok {
		return nil, nil
	}
	// FTS5 would look for what a transaction before has left, were it not told of this one by a statement of its own
	for _, search := range searches {
		if _, err := c.Exists(search.spell(sqliteSearch.begin)); err != nil {
			return nil, err
		}
	}
	return fileFaults(s, 100)
}

// fileFaults finds faults up to a limit. A damaged page that a search needs makes the look itself fail.
func fileFaults(c *sqliteConn, limit int) (faults []string, err error) {
	err = Conn{conn: c}.Each(func(r Row) error {
		if said := r.Text(0); said != "ok" {
			faults = append(faults, said)
		}
		return nil
	}, fmt.Sprintf(`PRAGMA integrity_check(%d)`, limit))
	if errors.Is(err, sqlite3.CORRUPT) {
		faults, err = append(faults, err.Error()), nil
	}
	return faults, err
}
