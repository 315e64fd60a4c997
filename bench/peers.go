package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/pgtest"
)

// peerContacts is how many contacts a peer has at most: more make it slower, and this shows the difference well enough.
const peerContacts = 100_000

// pocketbase is a peer: the same kind of people in a collection of PocketBase, which is a program of its own module.
type pocketbase struct {
	token    string
	contacts int
}

// records is where PocketBase has the contacts.
const records = "/api/collections/contacts/records"

func pocketbaseGet(p *place) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		n := r.IntN(p.peer.contacts)
		return asking{"GET", records + "/" + pocketbaseID(n), p.peer.token, nil, has(handle(n, "") + "@mail.example.org"), ""}
	})
}

func pocketbaseList(p *place) task {
	return p.same(records+"?perPage=20", p.peer.token, func(answer []byte) bool {
		var list struct {
			Items      []any
			TotalItems int
		}
		return json.Unmarshal(answer, &list) == nil && len(list.Items) == 20 && list.TotalItems == p.peer.contacts
	})
}

func pocketbaseCreate(p *place) task {
	return p.asks(func(_ *rand.Rand, n int64) asking {
		return asking{"POST", records, p.peer.token, pocketbaseRecord(int(n), newcomer), has(handle(int(n), newcomer) + "@mail.example.org"), ""}
	})
}

// servePocketbase builds the peer, fills its data or finds that of an earlier run, and serves a copy of it.
func (b *bench) servePocketbase(p *place) {
	program := filepath.Join(must(filepath.Abs(b.cache)), "pocketbase")
	output("go", "-C", "bench/pocketbase", "build", "-o", program, ".")
	version := output("go", "-C", "bench/pocketbase", "list", "-m", "-f", "{{.Version}}", "github.com/pocketbase/pocketbase")
	b.versions["PocketBase"] = version
	p.peer = &pocketbase{contacts: min(b.contacts, peerContacts)}
	filled := fmt.Sprintf("%s-%s-%d-people%d", program, version, p.peer.contacts, peopleVersion)
	if _, err := os.Stat(filled); err != nil {
		fillPocketbase(program, filled, p.peer.contacts)
	}
	dir := filepath.Join(b.tmp, "pocketbase-data")
	copyTree(filled, dir)
	p.peer.token = strings.TrimSpace(string(must(exec.Command(program, "token", dir).Output())))
	address := freeAddress()
	p.server = b.start(address, "", request(nil, "GET", "/api/health", "", nil), program, "serve", "--dir", dir, "--http", address)
}

// fillPocketbase gives the peer a record on each line.
func fillPocketbase(program, dir string, contacts int) {
	progress("filling %s", dir)
	check(os.RemoveAll(dir + ".part"))
	var lines bytes.Buffer
	for n := range contacts {
		lines.Write(append(pocketbaseRecord(n, ""), '\n'))
	}
	cmd := exec.Command(program, "fill", dir+".part")
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	check(cmd.Run())
	check(os.Rename(dir+".part", dir))
}

// pocketbaseID is the id of person n, in the form that PocketBase wants.
func pocketbaseID(n int) string { return fmt.Sprintf("p%014d", n) }

// pocketbaseRecord is a person as PocketBase takes it: the same request, with the first email in a field of its own, which has a unique
// index. People of the dataset bring their id.
func pocketbaseRecord(n int, mark string) []byte {
	id := ""
	if mark == "" {
		id = fmt.Sprintf(`"id":"%s",`, pocketbaseID(n))
	}
	return append(fmt.Appendf(nil, `{%s"email":"%s@mail.example.org",`, id, handle(n, mark)), personBody(n, mark)[1:]...)
}

// measurePostgres compares our server on PostgreSQL with loops over pgx.
func (b *bench) measurePostgres() {
	url := b.postgresURL()
	progress("  copying %d contacts to PostgreSQL", b.contacts)
	output(b.program, "copy", "--from", "sqlite:"+b.main.dir, "--to", url)
	w := &rawPostgres{texts: make(map[string]string)}
	b.closing = append(b.closing, w.close)
	for range pgReaders {
		w.conns = append(w.conns, must(pgx.Connect(context.Background(), url)))
	}
	b.versions["PostgreSQL"] = w.settle()
	ours := &place{data: b.main, remote: true, server: b.serve(b.main, nil, "--database", url)}
	ours.extra = w.processes
	b.main.check(ours.address, 20)
	b.places = map[string]*place{"postgres": ours, "pgx": {data: b.main, loops: w.loops(b.main)}}
	b.repeat(b.variants(postgresCells))
	if b.contacts <= 20_000 { // with more, nothing differs but their number
		output(b.program, "check", "--database", url)
	}
}

// postgresURL is the database that was named, or one in a throw-away cluster that waits for the disk as a real one does.
func (b *bench) postgresURL() string {
	if b.postgres != "new" {
		return b.postgres
	}
	cluster := must(pgtest.New("shared_buffers = 512MB", "max_wal_size = 4GB", "fsync = on", "synchronous_commit = on"))
	b.closing = append(b.closing, cluster.Remove)
	return must(cluster.Database())
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

// settle does what would otherwise happen at some time while it is measured, and tells the version and the size.
func (w *rawPostgres) settle() (version string) {
	ctx := context.Background()
	must(w.conns[0].Exec(ctx, `VACUUM ANALYZE`))
	must(w.conns[0].Exec(ctx, `CHECKPOINT`))
	var bytes int64
	check(w.conns[0].QueryRow(ctx, `SELECT current_setting('server_version'), pg_database_size(current_database())`).Scan(&version, &bytes))
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("%s, a database of %s MB", version, thousands(int(bytes/1e6)))
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
	l := &loops{data: d, single: true, write: w.write, holds: w.holds}
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

// holds counts what belongs to the last contact of an account.
func (w *rawPostgres) holds(p joining) {
	var keys int
	check(w.conns[0].QueryRow(context.Background(), `SELECT count(*) FROM account_tally JOIN contact USING (account_id) JOIN contact_index USING (account_id, id)
		JOIN change ON change.account_id = contact.account_id AND change.revision = contact.revision WHERE contact.account_id = $1 AND body = $2`, p.account, p.body).Scan(&keys))
	if want := len(p.contact.MatchKeys); keys != want {
		fail("a new contact has %d keys, not %d", keys, want)
	}
}

// write writes people of one account in one transaction and two round trips: one for its beginning, the account and the look-ups, one
// for the rest with the commit.
func (w *rawPostgres) write(people []joining) {
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
		t.insert(&people[i], rest.put)
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
