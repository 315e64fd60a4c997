package db

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"
)

// What a data directory of SQLite has beside the database: a lock, which the one server that works there holds, and the
// identity of the database, by which a log is recognized that belongs to another file. SQLite itself would apply such a
// log.

const (
	// DatabaseFile is the name of SQLite's file in its directory.
	DatabaseFile = "donorbook.db"
	lockFile     = "donorbook.lock"
	identityFile = "donorbook.id"
)

// OwnFile tells whether a file in a data directory is the database, or one that only a running program needs: its log,
// its lock, its identity, or what it is writing.
func OwnFile(name string) bool {
	return strings.HasPrefix(name, DatabaseFile) || strings.HasPrefix(name, identityFile) ||
		strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".probe")
}

// ErrLocked says that another process holds the lock of a file.
var ErrLocked = errors.New("another process holds the lock")

// lockDirectory makes sure that no other server works in the directory. The system releases the lock with the process,
// however that ends.
func lockDirectory(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	file, err := OpenLocked(path)
	if errors.Is(err, ErrLocked) {
		holder, _ := os.ReadFile(path)
		return nil,
			fmt.Errorf("another server (process %s) is using the data directory %s: stop it first, or give this one a directory of its own",
				strings.TrimSpace(string(holder)), dir)
	}
	if err != nil {
		return nil, cannotOpen(filepath.Join(dir, DatabaseFile), err)
	}
	// For people; a disk that is full is no reason not to start.
	if file.Truncate(0) == nil {
		file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) //nolint:errcheck // see above
	}
	return file, nil
}

// checkDirectory refuses a directory whose files do not belong together, before SQLite changes any of them.
// Certificates without a database are no reason: a copy makes one beside them.
func checkDirectory(dir string) error {
	path := filepath.Join(dir, DatabaseFile)
	info, err := os.Stat(path)
	log, _ := os.Stat(path + "-wal")
	switch logged := log != nil && log.Size() > 0; {
	case errors.Is(err, fs.ErrNotExist):
		return checkUnused(dir, DatabaseFile+"-wal")
	case err != nil || !info.Mode().IsRegular(): // to open it tells what is wrong
	case info.Size() == 0:
		return fmt.Errorf("the database %s has 0 bytes: its content was lost. Restore a backup; if there never was any data, remove the file", path)
	case logged:
		return checkLog(dir)
	}
	return nil
}

// checkUnused refuses a directory that has lost its database: one of the names shows that it had one.
func checkUnused(dir string, names ...string) error {
	path := filepath.Join(dir, DatabaseFile)
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			continue
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) { // it may have been made meanwhile
			return nil
		}
		return fmt.Errorf("the database %s is missing, and the data directory was in use: %s is there. Put the database back or restore a backup; to start with no data, use an empty directory (for PostgreSQL, set --database)", path, name)
	}
	return nil
}

// checkLog tells whether the log beside the database belongs to it. Where nothing is known about that, it does.
func checkLog(dir string) error {
	path := filepath.Join(dir, DatabaseFile)
	var known identity
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil || json.Unmarshal(text, &known) != nil || len(known.Marks) == 0 {
		return nil
	}
	is, err := readHeader(path)
	if err != nil || slices.Contains(known.Marks, is.mark) && is.schema >= known.Schema {
		return nil
	}
	return fmt.Errorf("the log %s-wal does not belong to the database beside it, which was replaced. If you have restored a backup, remove %[1]s-wal and %[1]s-shm and start again; if not, put back the database that was there: the log may hold its newest changes", path)
}

// identity is what was last known of the database file. A mark is a random number that the file gets with each start of
// a server, in SQLite's user_version; while it is on its way from the log to the file, both the old and the new one are
// right. Schema is SQLite's own count of changes of the schema, which only grows in one file, and begins anew in a copy
// that SQLite has made.
type identity struct {
	Marks  []uint32 `json:"marks"`
	Schema uint32   `json:"schema"`
}

// header is what the first page of the database file says, without the log.
type header struct{ mark, schema uint32 }

func readHeader(path string) (h header, err error) {
	file, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	page := make([]byte, 100)
	_, err = file.ReadAt(page, 0)
	return header{mark: binary.BigEndian.Uint32(page[60:]), schema: binary.BigEndian.Uint32(page[40:])}, err
}

// mark gives the database a new mark. It is of use for a later start only: where it cannot be written, the old one
// stays right.
func (e *sqliteEngine) mark(writer *sqliteConn) {
	before, err := readHeader(e.path)
	if err != nil {
		return
	}
	logged, err := Conn{conn: writer}.Int("PRAGMA user_version")
	if err != nil {
		return
	}
	fresh := rand.Int32()
	if e.writeIdentity(identity{[]uint32{before.mark, uint32(logged), uint32(fresh)}, before.schema}) != nil {
		return
	}
	// The checkpoint does not wait.
	if writer.db.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA wal_checkpoint(PASSIVE)", fresh)) != nil {
		return
	}
	// not so while a reader has an old snapshot
	if now, err := readHeader(e.path); err == nil && now.mark == uint32(fresh) {
		e.writeIdentity(identity{[]uint32{now.mark}, now.schema}) //nolint:errcheck // the one before is right as well
	}
}

// writeIdentity replaces the file as a whole.
func (e *sqliteEngine) writeIdentity(i identity) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(e.path), identityFile)
	if err := writeSynced(path+".new", text); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

func writeSynced(path string, content []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close())
}

// createDatabase makes a database where there is none, under another name first: so no program ever sees a file without
// content, and one that has none was damaged.
func createDatabase(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fresh := fmt.Sprintf("%s.%08x.new", path, rand.Uint32())
	defer os.Remove(fresh) //nolint:errcheck // where it was renamed, it is gone
	db, err := sqlite3.Open(sqliteName(fresh))
	if err == nil {
		err = errors.Join(db.Exec("PRAGMA journal_mode = WAL"), db.Close(), os.Chmod(fresh, 0o600))
	}
	if err == nil {
		err = os.Link(fresh, path)
		if errors.Is(err, fs.ErrExist) { // another program was faster
			return nil
		}
		if err != nil { // a file system without links
			err = os.Rename(fresh, path)
		}
	}
	if err != nil {
		return cannotOpen(path, err)
	}
	return SyncDirectory(filepath.Dir(path))
}

func cannotOpen(path string, err error) error {
	return fmt.Errorf("the database %s cannot be opened: %w", path, err)
}

// diskFault is why nothing can be written to the directory, nil where that is possible or the reason is another one.
// SQLite knows it only for a moment, and says no more than that a disk has failed.
func diskFault(dir string) error {
	path := filepath.Join(dir, fmt.Sprintf("donorbook.%08x.probe", rand.Uint32()))
	err := writeSynced(path, make([]byte, diskProbe))
	os.Remove(path) //nolint:errcheck // where it was not made
	for code, fault := range diskFaults {
		if errors.Is(err, code) {
			return fmt.Errorf("%w: the data directory %s: %w", ErrUnavailable, dir, fault)
		}
	}
	return nil
}

// diskProbe is about what a small commit needs.
const diskProbe = 64 << 10
