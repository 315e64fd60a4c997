package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/pgtest"
)

// measurePostgres compares our server on PostgreSQL with loops over pgx. The file has all that is read, and nothing that is written.
func (b *bench) measurePostgres() {
	cluster := must(pgtest.New("shared_buffers = 512MB", "max_wal_size = 4GB", "fsync = on", "synchronous_commit = on")) // it waits for the disk as a real one does
	b.closing = append(b.closing, cluster.Remove)
	url, d := must(cluster.Database()), b.dataset(b.base)
	progress("  copying %d contacts to PostgreSQL", d.contacts())
	output(b.program, "copy", "--from", "sqlite:"+d.dir, "--to", url)
	w := &rawPostgres{texts: make(map[string]string)}
	b.closing = append(b.closing, w.close)
	for range pgReaders {
		w.conns = append(w.conns, must(pgx.Connect(context.Background(), url)))
	}
	b.versions["PostgreSQL"] = w.settle()
	ours := &place{data: d, remote: true, server: b.serve(d, "--database", url)}
	ours.extra = w.processes
	b.places = map[string]*place{at("postgres", size{}): ours, at("pgx", size{}): {data: d, remote: true, loops: w.loops(d)}}
	b.repeat(b.variants(postgresCells))
	output(b.program, "check", "--database", url)
}

// rawPostgres does what the store does in as few round trips as an application can: it sends the statements of a group of creates
// together.
type rawPostgres struct {
	conns []*pgx.Conn
	texts map[string]string // of statements
}

// pgReaders is how many connections read at once, as many as one of our nodes has.
const pgReaders = 16

func (w *rawPostgres) close() {
	for _, conn := range w.conns {
		_ = conn.Close(context.Background())
	}
}

// settle does what would otherwise happen at some time while it is measured, and tells the version.
func (w *rawPostgres) settle() (version string) {
	ctx := context.Background()
	must(w.conns[0].Exec(ctx, `VACUUM ANALYZE`))
	must(w.conns[0].Exec(ctx, `CHECKPOINT`))
	check(w.conns[0].QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&version))
	version, _, _ = strings.Cut(version, " ")
	return version
}

// processes are those of PostgreSQL, where they are on this machine.
func (w *rawPostgres) processes() []int {
	if parent := pgtest.Parent(int(w.conns[0].PgConn().PID())); parent > 1 {
		return append(pgtest.Children(parent), parent)
	}
	return nil
}

// loops are the loops over pgx.
func (w *rawPostgres) loops(d *dataset) *loops {
	l := &loops{data: d, single: true, write: w.write}
	l.cpu = func() time.Duration { return cpuOfProcesses(append(w.processes(), ownProcess)...) }
	get := dollars(sqlGet)
	for _, conn := range w.conns {
		var dst, body []byte
		l.readers = append(l.readers, func(a account, id int64) []byte {
			check(conn.QueryRow(context.Background(), get, a.Number, id).Scan(nil, &body))
			dst = crm.AppendContact(dst[:0], id, body)
			return dst
		})
	}
	return l
}

// write writes people of one account in one transaction and two round trips: one for its beginning, the account and the look-ups, one
// for the rest with the commit.
func (w *rawPostgres) write(people []person) (id int64) {
	ctx, account, stored := context.Background(), people[0].account, make(map[block][]byte)
	t := newTally(func(of block) []byte { return stored[of] })
	var keys, sets []string
	for _, p := range people {
		keys, sets = append(keys, p.contact.MatchKeys...), append(sets, p.sets...)
	}
	slices.Sort(sets)
	look := &pgx.Batch{}
	look.Queue(`BEGIN`)
	look.Queue(dollars(sqlCounts)+` FOR UPDATE`, account).QueryRow(func(row pgx.Row) error { return row.Scan(&t.seq, &t.active, &t.change) })
	look.Queue(`SELECT n.place, found.id FROM unnest($2::text[]) WITH ORDINALITY AS n (key, place)
		CROSS JOIN LATERAL (SELECT id FROM contact_index WHERE account_id = $1 AND key = n.key ORDER BY id) AS found`, account, keys)
	look.Queue(`SELECT name, block, bits FROM contact_set WHERE account_id = $1 AND name = ANY($2)
		AND block >= (SELECT contact_seq / 4096 FROM account_tally WHERE account_id = $1)`, account, slices.Compact(sets)).Query(func(rows pgx.Rows) error {
		var of block
		var bits []byte
		_, err := pgx.ForEachRow(rows, []any{&of.name, &of.number, &bits}, func() error { stored[of] = bits; return nil })
		return err
	})
	check(w.conns[0].SendBatch(ctx, look).Close())
	rest := lists{columns: make(map[string][]any)}
	for i := range people {
		id = t.insert(&people[i], rest.put)
	}
	t.end(account, rest.put)
	batch := &pgx.Batch{}
	for _, sql := range rest.order {
		if w.texts[sql] == "" {
			w.texts[sql] = listed(sql, rest.columns[sql])
		}
		batch.Queue(w.texts[sql], rest.columns[sql]...)
	}
	batch.Queue(`COMMIT`)
	check(w.conns[0].SendBatch(ctx, batch).Close())
	return id
}

// lists are rows by the statements that write them: one statement writes all rows of a table, as the store does.
type lists struct {
	order   []string
	columns map[string][]any
}

func (l *lists) put(sql string, args ...any) {
	if l.columns[sql] == nil {
		l.order, l.columns[sql] = append(l.order, sql), make([]any, len(args))
	}
	for i, arg := range args {
		column := &l.columns[sql][i]
		switch v := arg.(type) {
		case int64:
			*column = grown(*column, v)
		case string:
			*column = grown(*column, v)
		case []byte:
			*column = grown(*column, v)
		}
	}
}

func grown[T any](column any, v T) []T {
	list, _ := column.([]T)
	return append(list, v)
}

// values are those of an INSERT, and what comes after them.
var values = regexp.MustCompile(`(?s)VALUES \((.*?)\)(\s+ON CONFLICT.*)?$`)

// pgWords is sqlWords as PostgreSQL has it.
const pgWords = `INSERT INTO contact_search (account_id, id, words) VALUES (?1, ?2, array_to_tsvector(string_to_array(split_part(?3, chr(10), 1), ' ')))`

// listed is a statement that takes a list for each parameter.
func listed(sql string, columns []any) string {
	if sql == sqlWords {
		sql = pgWords
	}
	var types, names []string
	for i, column := range columns {
		kind := map[string]string{"[]int64": "bigint", "[]string": "text", "[][]uint8": "bytea"}[fmt.Sprintf("%T", column)]
		types, names = append(types, fmt.Sprintf("$%d::%s[]", i+1, kind)), append(names, fmt.Sprintf("a%d", i+1))
	}
	sql = values.ReplaceAllString(strings.ReplaceAll(sql, "?", "a"), "SELECT $1 FROM lists$2")
	sql = strings.Replace(sql, " WHERE", " FROM lists WHERE", 1)
	return strings.Replace(sql, "lists", fmt.Sprintf("unnest(%s) AS n (%s)", strings.Join(types, ", "), strings.Join(names, ", ")), 1)
}

// dollars writes the parameters of a statement as PostgreSQL wants them.
func dollars(sql string) string { return strings.ReplaceAll(sql, "?", "$") }
