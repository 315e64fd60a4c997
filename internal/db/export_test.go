//go:build drill

package db

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/ncruces/go-sqlite3"
)

// The internals of this package for tests that also need nouns and so cannot be in this package.

// The sizes of pools and batches, and the names of files.
const (
	PostgresReaders = postgresReaders
	PostgresWriters = postgresWriters
	PostgresUsual   = postgresUsual
	ReadBatches     = readBatches
	VersionQuery    = sqlVersion
)

// Table is a table of the schema by its name.
func (d *DB) Table(name string) *Table {
	i := slices.IndexFunc(d.schema.Tables, func(t *Table) bool { return t.Name == name })
	return d.schema.Tables[i]
}

// Tables are all tables that have their own statements, including the searches.
func (d *DB) Tables() (tables []*Table) {
	for _, t := range d.schema.Tables {
		tables = append(tables, t)
		if t.Words != nil {
			tables = append(tables, t.Words)
		}
	}
	return tables
}

// Spread tells whether the rows of a table are with their accounts where these are on several machines.
func (t *Table) Spread() bool { return t.spread() }

// TableTexts are the statements with which PostgreSQL writes the rows of a table, by what they do, and finds words in
// them.
func TableTexts(t *Table) map[string]string {
	s := postgresDialect.texts(t)
	texts := map[string]string{"remove": s.remove, "lock": s.lock, "bump": s.bump, "drop": s.drop}
	if t.search {
		// the words of a document are never locked
		texts["lock"], texts["find"] = "", t.spell(postgresDialect.search.find)
	}
	for name, sizes := range map[string]rowTexts{"insert": s.insert, "save": s.save, "add": s.add} {
		for i, text := range sizes[:min(len(sizes), 3)] {
			texts[fmt.Sprintf("%s %d", name, 1<<i)] = text
		}
	}
	maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	return texts
}

// Work is what SQLite has done.
type Work struct{ Steps, Scans, Sorts int64 }

// SQLiteWork is what all prepared statements have done.
func (d *DB) SQLiteWork() (w Work) {
	for _, c := range d.engine.(*sqliteEngine).opened {
		for _, statement := range c.statements {
			w.Steps += int64(statement.stmt.Status(sqlite3.STMTSTATUS_VM_STEP, false))
			w.Scans += int64(statement.stmt.Status(sqlite3.STMTSTATUS_FULLSCAN_STEP, false))
			w.Sorts += int64(statement.stmt.Status(sqlite3.STMTSTATUS_SORT, false))
		}
	}
	return w
}

// SetCommitTimeout sets how long a PostgreSQL database waits for a commit.
func (d *DB) SetCommitTimeout(timeout time.Duration) {
	d.engine.(*postgresEngine).commitTimeout = timeout
}

// PendingCommits are commits that PostgreSQL has not answered in time.
func (d *DB) PendingCommits() int64 { return d.engine.(*postgresEngine).pending.Load() }

// ReadPool is PostgreSQL's pool of connections for reading.
func (d *DB) ReadPool() *pgxpool.Pool { return d.engine.(*postgresEngine).read }

// HoldReads makes reads of PostgreSQL wait until release, as if all connections were busy.
func (d *DB) HoldReads() (release func()) {
	g := &d.engine.(*postgresEngine).reads
	g.mu.Lock()
	g.running += readBatches
	g.mu.Unlock()
	return func() {
		for range readBatches { // the first one hands over to those that wait
			g.handOver()
		}
	}
}

// WaitingReads are the reads that wait.
func (d *DB) WaitingReads() int {
	g := &d.engine.(*postgresEngine).reads
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// InTransaction runs statements in one write transaction, which is rolled back.
func (c Conn) InTransaction(fn func(exec func(sql string) error) error) error {
	if err := c.begin(true); err != nil {
		return err
	}
	defer c.rollback()
	return fn(func(sql string) error {
		_, err := exec(c.conn, sql)
		return err
	})
}

// Planned tells whether PostgreSQL plans a statement each time, so that no old plan is kept for it.
func Planned(sql string) bool { return planned(sql) }

// Single is a statement for a list, run for one element.
func Single(sql string) string { return single(sql) }
