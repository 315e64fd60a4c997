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
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		return request(dst, "GET", records+"/"+pocketbaseID(r.IntN(p.peer.contacts)), p.peer.token, nil)
	}
	return task{work: next, check: func() {
		p.checkPocketbase("GET", records+"/"+pocketbaseID(7), nil, "email", handle(7, "")+"@mail.example.org")
	}}
}

func pocketbaseList(p *place) task {
	const path = records + "?perPage=20"
	return task{work: getPath(path, p.peer.token), check: func() {
		p.checkPocketbase("GET", path, nil, "totalItems", float64(p.peer.contacts))
	}}
}

func pocketbaseCreate(p *place) task {
	next := func(dst []byte, _ *rand.Rand, n int64) []byte {
		return request(dst, "POST", records, p.peer.token, pocketbaseRecord(int(n), newcomer))
	}
	return task{work: next, check: func() {
		n := int(serial.Add(1))
		p.checkPocketbase("POST", records, pocketbaseRecord(n, newcomer), "email", handle(n, newcomer)+"@mail.example.org")
	}}
}

// checkPocketbase asks for something, and looks at one field of the answer.
func (p *place) checkPocketbase(method, path string, body []byte, field string, want any) {
	got := once(p.address, method, path, p.peer.token, body)
	var found map[string]any
	check(json.Unmarshal(got, &found))
	items, listed := found["items"].([]any)
	if found[field] != want || listed && len(items) != 20 {
		fail("PocketBase answers %.300s", got)
	}
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
	w := &rawPostgres{}
	b.closing = append(b.closing, w.close)
	w.open(url)
	b.versions["PostgreSQL"] = w.settle()
	ours := &place{data: b.main, remote: true, server: b.serve(b.main, nil, "--database", url)}
	ours.extra = w.processes
	b.main.check(ours.address, 20)
	b.places = map[string]*place{"postgres": ours, "pgx": {data: b.main, loops: w.loops(b.main)}}
	b.repeat(b.variants(postgresCells))
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
	conns   []*pgx.Conn
	backend int // a process of PostgreSQL's
}

// pgReaders is how many connections read at once, as many as one of our nodes has.
const pgReaders = 16

func (w *rawPostgres) open(url string) {
	for range pgReaders {
		w.conns = append(w.conns, must(pgx.Connect(context.Background(), url)))
	}
	check(w.conns[0].QueryRow(context.Background(), `SELECT pg_backend_pid()`).Scan(&w.backend))
}

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
	if parent := pgtest.Parent(w.backend); parent > 1 {
		return append(pgtest.Children(parent), parent)
	}
	return nil
}

// loops are the loops over pgx.
func (w *rawPostgres) loops(d *dataset) *loops {
	l := &loops{data: d, single: true, write: w.write, holds: w.holds}
	l.cpu = func() time.Duration { return cpuOfProcesses(append(w.processes(), ownProcess)...) }
	var found []byte
	l.found = func() []byte { return found }
	get := dollars(sqlGet)
	for i, conn := range w.conns {
		l.readers = append(l.readers, func(a account, id int64) {
			var body []byte
			check(conn.QueryRow(context.Background(), get, a.Number, id).Scan(nil, &body))
			if i == 0 {
				found = crm.AppendContact(found[:0], id, body)
			}
		})
	}
	return l
}

// holds counts what belongs to the last contact of an account.
func (w *rawPostgres) holds(p joining) {
	var keys int
	check(w.conns[0].QueryRow(context.Background(), `SELECT count(*) FROM account_tally JOIN contact USING (account_id, list_revision) JOIN contact_index USING (account_id, id)
		WHERE account_id = $1 AND body = $2`, p.account, p.body).Scan(&keys))
	if want := len(p.contact.MatchKeys); keys != want {
		fail("a new contact has %d keys, not %d", keys, want)
	}
}

// write writes people of one account in one transaction and two round trips: one for its beginning, the account and the look-ups, one
// for the rest with the commit.
func (w *rawPostgres) write(people []joining) {
	ctx, conn, account := context.Background(), w.conns[0], people[0].account
	t := newTally()
	look := &pgx.Batch{}
	look.Queue(`BEGIN`)
	look.Queue(dollars(sqlCounts)+` FOR UPDATE`, account).QueryRow(func(row pgx.Row) error { return row.Scan(&t.revision, &t.seq, &t.active, &t.change) })
	var keys []string
	for i := range people {
		keys = append(keys, people[i].contact.MatchKeys...)
	}
	look.Queue(`SELECT n.place, found.id FROM unnest($2::text[]) WITH ORDINALITY AS n (key, place)
		CROSS JOIN LATERAL (SELECT id FROM contact_index WHERE account_id = $1 AND key = n.key ORDER BY id) AS found`, account, keys)
	check(conn.SendBatch(ctx, look).Close())
	rest := inserts(people, t)
	rest.Queue(`COMMIT`)
	check(conn.SendBatch(ctx, rest).Close())
}

// inserts writes people with one statement for each table, as the store does.
func inserts(people []joining, t *tally) *pgx.Batch {
	batch, account := &pgx.Batch{}, people[0].account
	var ids, revisions, sums, keyIDs, numbers []int64
	var matchKeys, keys, tags, words []string
	var bodies [][]byte
	for i := range people {
		p := &people[i]
		t.count(p.person)
		id := crm.MakeID(account, t.seq)
		ids, revisions, bodies, sums = append(ids, id), append(revisions, t.revision), append(bodies, p.body), append(sums, checksum(p.body))
		matchKeys, words = append(matchKeys, strings.Join(p.contact.MatchKeys, "\n")), append(words, p.words)
		for _, key := range p.contact.MatchKeys {
			keyIDs, keys = append(keyIDs, id), append(keys, key)
		}
	}
	for name, n := range t.tags {
		tags, numbers = append(tags, name), append(numbers, n)
	}
	batch.Queue(`INSERT INTO contact (account_id, id, list_revision, archived, match_keys, body, checksum)
		SELECT $1, n.id, n.revision, 0, n.match_keys, n.body, n.checksum
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bigint[]) AS n (id, revision, match_keys, body, checksum)`,
		account, ids, revisions, matchKeys, bodies, sums)
	batch.Queue(`INSERT INTO contact_index (account_id, id, key) SELECT $1, n.id, n.key FROM unnest($2::bigint[], $3::text[]) AS n (id, key)`, account, keyIDs, keys)
	batch.Queue(`INSERT INTO contact_search (account_id, id, words) SELECT $1, n.id, array_to_tsvector(string_to_array(split_part(n.words, chr(10), 1), ' '))
		FROM unnest($2::bigint[], $3::text[]) AS n (id, words)`, account, ids, words)
	batch.Queue(`INSERT INTO tag (account_id, fold, name, contacts, size)
		SELECT $1, n.name, n.name, n.contacts, length(CAST(n.contacts AS TEXT)) FROM unnest($2::text[], $3::bigint[]) AS n (name, contacts)
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`, account, tags, numbers)
	batch.Queue(dollars(sqlCount), t.revision, t.seq, t.active, t.change, account)
	return batch
}

// dollars writes the parameters of a statement as PostgreSQL wants them.
func dollars(sql string) string {
	for n := 1; strings.Contains(sql, "?"); n++ {
		sql = strings.Replace(sql, "?", fmt.Sprintf("$%d", n), 1)
	}
	return sql
}
