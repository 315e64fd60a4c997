package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/db"
	"donorbook/internal/pgtest"
	"donorbook/internal/store"
)

// measureRequests measures our server on SQLite and what it is compared with.
func (b *bench) measureRequests() {
	b.repeat(b.requestCells())
	ours, writing := b.places[at("ours", b.large)], b.places[at("write", b.large)]
	if ours != nil && writing != nil { // not with -only
		b.note("loaded MB", max(memory(ours.pid, "VmHWM"), memory(writing.pid, "VmHWM")))
	}
}

// measureStarts starts the program on the data as often as there are rounds: how long until it answers, and what it holds when it has
// nothing to do.
func (b *bench) measureStarts() {
	d := b.dataset(b.large)
	b.note("program MB", float64(must(os.Stat(b.program)).Size())/1e6)
	b.note("database MB", float64(must(os.Stat(d.file())).Size())/1e6)
	for range b.rounds {
		s := b.serve(d)
		time.Sleep(time.Second)
		b.note("start ms", milliseconds(s.first))
		b.note("idle MB", memory(s.pid, "VmRSS"))
		b.stopAll()
	}
}

// measureImport lets the program's own commands import a file and export what was imported, once: a million rows take minutes. Raw writes
// what the same import writes, in as large transactions, without looking anything up.
func (b *bench) measureImport() {
	file, people := filepath.Join(b.tmp, "people.jsonl"), b.contacts
	none := &dataset{dir: filepath.Join(b.tmp, "import")}
	none.addAccounts(size{1, 0})
	ours, recorded, replayed := b.copy(none, "import-ours"), b.copy(none, "import-recorded"), b.copy(none, "import-raw")
	out := must(os.Create(file))
	b.closing = append(b.closing, func() { check(out.Close()); check(os.Remove(file)) })
	w, a := b.openRaw(recorded, replayed, "", ""), none.Accounts[0]
	var writing time.Duration
	for from := 0; from < people; from += chunk {
		lines := personLines(from, min(chunk, people-from), "")
		must(out.Write(lines))
		tape := w.recorded(true, func() { importPeople(w.recording, a.Number, lines) })
		start := time.Now()
		for _, transaction := range tape {
			w.write(slices.DeleteFunc(transaction, reads))
		}
		writing += time.Since(start)
	}
	b.note("raw import s", writing.Seconds())
	for _, command := range [][]string{{"import", file}, {"export", "--format", "jsonl", "--force", "--output", file}} {
		seconds, peak := b.command(append([]string{"--data", ours.dir, "contact", command[0], "--account", a.ID}, command[1:]...)...)
		b.note(command[0]+" s", seconds)
		b.note(command[0]+" MB", peak)
	}
	if got, raw := ours.imported(), replayed.imported(); got != raw || !strings.HasPrefix(got, thousands(people)) {
		fail("the import has written %s, and raw %s", got, raw)
	}
	if rows := bytes.Count(must(os.ReadFile(file)), []byte("@work.example.com")); rows != people {
		fail("the export has %d of %d contacts", rows, people)
	}
	b.note("stored x", ours.weight())
}

// imported is what an import has written, in numbers.
func (d *dataset) imported() string {
	return thousands(int(d.number(`SELECT count(*) FROM contact`))) + " contacts, " + thousands(int(d.number(`SELECT sum(length(body)) FROM contact`))) + " bytes, " +
		thousands(int(d.number(`SELECT count(*) FROM contact_index`))) + " keys"
}

// weight is how large the database is against the documents in it, without the history, which it loses.
func (d *dataset) weight() float64 {
	opened := d.open("")
	check(opened.DB().Update(context.Background(), 0, nil, func(b db.Batch) error {
		_, err := b.(*store.Tx).Exec(`DROP TABLE change`)
		return err
	}))
	check(opened.Close())
	pages := d.number(`PRAGMA page_count`) - d.number(`PRAGMA freelist_count`)
	return float64(pages*d.number(`PRAGMA page_size`)) / float64(d.number(`SELECT sum(length(body)) FROM contact`))
}

// measurePostgres compares our server on PostgreSQL with loops over pgx. The file has all that is read, and nothing that is written.
func (b *bench) measurePostgres() {
	cluster := must(pgtest.New("shared_buffers = 512MB", "max_wal_size = 4GB", "fsync = on", "synchronous_commit = on")) // it waits for the disk as a real one does
	b.closing = append(b.closing, cluster.Remove)
	url, d, ctx := must(cluster.Database()), b.dataset(b.base), context.Background()
	output(b.program, "copy", "--from", "sqlite:"+d.dir, "--to", url)
	conn := must(pgx.Connect(ctx, url))
	must(conn.Exec(ctx, `VACUUM ANALYZE`)) // which would otherwise happen while it is measured, as a checkpoint would
	check(conn.Close(ctx))
	replayed := must(cluster.Copy(url))
	check(cluster.Exec(`CHECKPOINT`))
	conn = must(pgx.Connect(ctx, replayed))
	b.closing = append(b.closing, func() { _ = conn.Close(ctx) })
	var version string
	check(conn.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&version))
	b.versions["PostgreSQL"], _, _ = strings.Cut(version, " ")
	ours := &place{data: d, server: b.serve(d, "--database", url)}
	ours.extra = func() []int { return pgProcesses(conn) }
	b.places[at("postgres", b.base)] = ours
	w := b.openRaw(d, d, url, replayed)
	w.pgx(b, replayed)
	w.cpu = func() time.Duration { return cpuOfProcesses(append(pgProcesses(conn), ownProcess)...) }
	b.places[at("pgx", b.base)] = &place{data: d, raw: w}
	b.repeat(b.postgresCells())
	output(b.program, "check", "--database", url)
}

// pgProcesses are those of the server.
func pgProcesses(conn *pgx.Conn) []int {
	parent := pgtest.Parent(int(conn.PgConn().PID()))
	return append(pgtest.Children(parent), parent)
}
