package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is between SQLite and the files: it counts how often they are flushed, and may refuse writes.
type disk struct {
	vfs.VFSFilename
	log, database atomic.Int64 // flushes
	fault         error        // of writes
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	flushes := &d.database
	if flags&vfs.OPEN_WAL != 0 {
		flushes = &d.log
	}
	file, flags, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, flags, err
	}
	return &diskFile{file, d, flushes}, flags, nil
}

type diskFile struct {
	vfs.File
	disk    *disk
	flushes *atomic.Int64
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	f.flushes.Add(1)
	return f.File.Sync(flags)
}

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	if f.disk.fault != nil {
		return 0, &os.PathError{Op: "write", Path: "a file", Err: f.disk.fault}
	}
	return f.File.WriteAt(p, at)
}

func (f *diskFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }

// onDisk is a database whose writer goes through a disk.
func onDisk(t *testing.T) (*DB, *disk) {
	t.Helper()
	d, below := tinySQLite(t), &disk{VFSFilename: vfs.Find("").(vfs.VFSFilename)}
	e := d.engine.(*sqliteEngine)
	vfs.Register(t.Name(), below) // permanently: the database is closed after everything else
	db := must(sqlite3.Open("file:" + e.path + "?vfs=" + t.Name()))(t)
	for _, pragma := range sqlitePragmas {
		succeed(t, insist(db, pragma))
	}
	<-e.write // it is closed with the others
	c := newSQLiteConn(e, db)
	c.writes = true
	e.opened = append(e.opened, c)
	e.write <- c
	return d, below
}

// A change is acknowledged after its flush and not before, and there is no second flush; only a write that has reached
// the disk shows that the database accepts writes.
func TestConcurrentCommitFlushesTheDiskOnce(t *testing.T) {
	t.Parallel()
	d, disk := onDisk(t)
	id := int64(0)
	for _, test := range []struct{ changes, want int64 }{{1, 1}, {1, 1}, {10, 1}, {100, 1}, {150, 2}, {1, 1}} {
		free, ended := holdWriters(t, d, 1), make(chan error, test.changes) // who holds the writer writes nothing
		log, database := disk.log.Load(), disk.database.Load()
		for n := range test.changes {
			id++
			account, row := id%7, []any{id % 7, id, "T", []byte("body")}
			go func() {
				ended <- d.write(t.Context(), account, inserting(docTable, row...))
			}()
			for d.Queued() <= int(n) {
				runtime.Gosched()
			}
		}
		free()
		for range test.changes {
			succeed(t, <-ended)
		}
		log, database = disk.log.Load()-log, disk.database.Load()-database
		if log != test.want || database > 0 {
			t.Errorf("%d changes that waited together took %d flushes of the log and %d of the database, want %d and 0: "+
				"look at synchronous=FULL in sqlitePragmas, at the queue's batches, and at when it answers",
				test.changes, log, database, test.want)
		}
	}
	before := disk.log.Load()
	succeed(t, d.Ready(t.Context()))
	equal(t, disk.log.Load(), before+1, "ready (%v)", disk.log.Load()-before)
}

// If a disk accepts no writes, the error says so, and not only that some operation has failed.
func TestAFullDiskIsCalledByItsName(t *testing.T) {
	t.Parallel()
	d, disk := onDisk(t)
	write := func(id int64) error {
		return d.write(t.Context(), 1, inserting(personTable, id, fmt.Sprint(id)))
	}
	for i, fault := range []error{syscall.ENOSPC, syscall.EROFS} {
		disk.fault = fault
		d.engine.(*sqliteEngine).fault = func(dir string) error { // the other would write to the real disk
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, dir, fault)
		}
		d.probe.at = d.probe.at.Add(-probeTime) // ask again
		for what, err := range map[string]error{"a write": write(9), "ready": d.Ready(t.Context())} {
			if !errors.Is(err, ErrUnavailable) || !errors.Is(err, fault) ||
				strings.Contains(err.Error(), "disk I/O error") {
				t.Errorf("%s with %v: %v", what, fault, err)
			}
		}
		disk.fault = nil
		succeed(t, write(int64(i)))
	}
	succeed(t, diskFault(t.TempDir()))
	// A small write may fit into a log that is there already, while the next larger one fails: it is not ready.
	d.probe.at = d.probe.at.Add(-probeTime)
	wantError(t, "ready on a full disk", d.Ready(t.Context()), syscall.EROFS)
}

// A connection that cannot be opened now, because there are no file descriptors, may be opened later.
func TestAConnectionThatCannotBeOpenedIsUnavailable(t *testing.T) {
	t.Parallel()
	d := tinySQLite(t)
	e := d.engine.(*sqliteEngine)
	path := e.path
	e.path = filepath.Join(t.TempDir(), "nowhere", DatabaseFile)
	_, err := d.readAll(t, `SELECT id FROM doc`)
	wantError(t, "a read", err, ErrUnavailable)
	e.path = path
	must(d.readAll(t, `SELECT id FROM doc`))(t)
}
