package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/pgtest"
)

// measurePostgres compares our server on PostgreSQL with loops over pgx. All of them work on one database, so that it
// grows for everybody alike.
func (b *bench) measurePostgres() error {
	if b.postgres == "" {
		return nil
	}
	url, err := b.postgresURL()
	if err != nil {
		return err
	}
	progress("  copying %d contacts to PostgreSQL", b.contacts)
	if out, err := exec.Command(b.program, "copy", "--from", "sqlite:"+b.main.dir, "--to", url).CombinedOutput(); err != nil {
		return fmt.Errorf("copy: %w\n%s", err, out)
	}
	w, err := openRawPostgres(url, b.main, b.library.generator)
	if err != nil {
		return err
	}
	b.closing = append(b.closing, w.close)
	if b.facts.postgres, err = w.settle(); err != nil {
		return err
	}
	s, err := b.serve(b.main, "--database", url)
	if err != nil {
		return err
	}
	s.extra = w.family
	if err := b.main.check(s.address, 20); err != nil {
		return err
	}
	a, adding := b.main.Accounts[0], create(b.main, b.library.generator)
	adding.check = func(address string) error {
		_, _, err := checkCreate(address, a, b.library.generator)
		return err
	}
	b.repeat([]variant{
		over("postgres get", s, 64, getAnyone(b.main)),
		{"postgres get pgx", w.checkGet, w.get},
		over("postgres list", s, 64, listPage(b.main, a, "active", 1)),
		over("postgres page 1 of all", s, 64, listPage(b.main, a, "all", 1)),
		over("postgres last page of all", s, 64, listPage(b.main, a, "all", lastPage(a))),
		over("postgres create", s, 64, adding),
		{"postgres create pgx", w.checkCreate, w.create(100)},
		{pgxIn32, w.checkCreate, w.create(32)},
	})
	return nil
}

// pgxIn32 is the loop over pgx in transactions about as large as those of 64 clients.
const pgxIn32 = "postgres create pgx, 32 in a transaction"

// postgresURL is the database that was named, or one in a throw-away cluster that waits for the disk as a real one does.
func (b *bench) postgresURL() (string, error) {
	if b.postgres != "new" {
		return b.postgres, nil
	}
	cluster, err := pgtest.New("shared_buffers = 512MB", "max_wal_size = 4GB", "fsync = on", "synchronous_commit = on")
	if err != nil {
		return "", err
	}
	b.closing = append(b.closing, cluster.Remove)
	return cluster.Database()
}

// rawPostgres does what the store does in as few round trips as an application can: it sends the statements of a group of
// creates together.
type rawPostgres struct {
	conns     []*pgx.Conn
	data      *dataset
	generator generator
	backend   int // a process of PostgreSQL's
}

// pgReaders is how many connections read at once, as many as one of our nodes has.
const pgReaders = 16

func openRawPostgres(url string, d *dataset, g generator) (*rawPostgres, error) {
	w := &rawPostgres{data: d, generator: g}
	ctx := context.Background()
	for range pgReaders {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		w.conns = append(w.conns, conn)
	}
	return w, w.conns[0].QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&w.backend)
}

func (w *rawPostgres) close() {
	for _, conn := range w.conns {
		_ = conn.Close(context.Background())
	}
}

// settle does once what would otherwise happen at some time while it is measured, and tells the version and the size.
func (w *rawPostgres) settle() (version string, err error) {
	ctx := context.Background()
	for _, sql := range []string{`VACUUM ANALYZE`, `CHECKPOINT`} {
		if _, err := w.conns[0].Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	var bytes int64
	err = w.conns[0].QueryRow(ctx, `SELECT current_setting('server_version'), pg_database_size(current_database())`).Scan(&version, &bytes)
	version, _, _ = strings.Cut(version, " ")
	return fmt.Sprintf("%s, a database of %s MB", version, thousands(int(bytes/1e6))), err
}

// family are the processes of PostgreSQL, where they are on this machine.
func (w *rawPostgres) family() []int {
	fields, err := stat(w.backend)
	if err != nil {
		return nil
	}
	var parent int
	if _, err := fmt.Sscan(fields[1], &parent); err != nil {
		return nil
	}
	return family(parent)
}

// cpu is what this process and PostgreSQL have used.
func (w *rawPostgres) cpu() time.Duration {
	sum := ownCPU()
	for _, pid := range w.family() {
		sum += cpuOfProcess(pid)
	}
	return sum
}

// get reads random contacts by their key, on all connections at once.
func (w *rawPostgres) get(t timing) result {
	if _, err := w.readFor(t.warm); err != nil {
		return result{err: err}
	}
	cpu, start := w.cpu(), time.Now()
	n, err := w.readFor(t.measured)
	return result{
		requests: n, seconds: time.Since(start).Seconds(), err: err,
		cpu: perRequest(w.cpu()-cpu, n),
	}
}

func (w *rawPostgres) readFor(d time.Duration) (total int, err error) {
	counts, errs := make([]int, len(w.conns)), make([]error, len(w.conns))
	end := time.Now().Add(d)
	var wg sync.WaitGroup
	for i, conn := range w.conns {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(uint64(serial.Add(1)), 4))
			var body []byte
			sql := dollars(sqlRawGet)
			for time.Now().Before(end) && errs[i] == nil {
				a, id := w.data.anyone(dice)
				errs[i] = conn.QueryRow(context.Background(), sql, a.Number, id).Scan(&body)
				counts[i]++
			}
		})
	}
	wg.Wait()
	for _, n := range counts {
		total += n
	}
	return total, errors.Join(errs...)
}

// checkGet reads one contact and compares it with the one that was copied.
func (w *rawPostgres) checkGet() error {
	a, id := w.data.anyone(w.data.dice())
	want, err := w.data.contact(a, id)
	if err != nil {
		return err
	}
	var body []byte
	err = w.conns[0].QueryRow(context.Background(), dollars(sqlRawGet), a.Number, id).Scan(&body)
	if err == nil && !bytes.Equal(crm.AppendContact(nil, id, body), want) {
		err = fmt.Errorf("contact %d is %.300s", id, body)
	}
	return err
}

// checkCreate creates somebody, and counts what belongs to them.
func (w *rawPostgres) checkCreate() error {
	a, ctx := w.data.Accounts[0], context.Background()
	people, err := newcomers(w.generator, 1)
	if err == nil {
		err = w.commit(a, people)
	}
	if err != nil {
		return err
	}
	var keys int
	err = w.conns[0].QueryRow(ctx, `SELECT count(*) FROM account_tally JOIN contact USING (account_id, revision) JOIN contact_index USING (account_id, id)
		WHERE account_id = $1 AND body = $2`, a.Number, people[0].body).Scan(&keys)
	if want := len(people[0].contact.MatchKeys); err == nil && keys != want {
		err = fmt.Errorf("somebody new has %d keys, not %d", keys, want)
	}
	return err
}

// create writes groups on one connection.
func (w *rawPostgres) create(group int) func(timing) result {
	return warmedUp(func(d time.Duration, dice *rand.Rand) result { return w.createFor(d, group, dice) })
}

func (w *rawPostgres) createFor(d time.Duration, group int, dice *rand.Rand) (r result) {
	before, making := w.cpu(), time.Duration(0)
	for r.seconds < d.Seconds() {
		used := ownCPU()
		people, err := newcomers(w.generator, group)
		if err != nil {
			return result{err: err}
		}
		making += ownCPU() - used
		start := time.Now()
		if err := w.commit(w.data.byWeight(dice), people); err != nil {
			return result{err: err}
		}
		r.seconds += time.Since(start).Seconds()
		r.requests += len(people)
	}
	r.cpu = perRequest(w.cpu()-before-making, r.requests)
	return r
}

// commit writes people in one transaction and two round trips: one for its beginning, the account and the look-ups, one for
// the rest with the commit.
func (w *rawPostgres) commit(a account, people []person) error {
	ctx, conn := context.Background(), w.conns[0]
	var revision, seq, active int64
	look := &pgx.Batch{}
	look.Queue(`BEGIN`)
	look.Queue(`SELECT revision, contact_seq, contact_active FROM account_tally WHERE account_id = $1 FOR UPDATE`, a.Number).QueryRow(func(row pgx.Row) error {
		return row.Scan(&revision, &seq, &active)
	})
	var keys []string
	for i := range people {
		keys = append(keys, people[i].matchKeys...)
	}
	look.Queue(`SELECT n.place, found.id FROM unnest($2::text[]) WITH ORDINALITY AS n (key, place)
		CROSS JOIN LATERAL (SELECT id FROM contact_index WHERE account_id = $1 AND key = n.key ORDER BY id) AS found`, a.Number, keys)
	if err := conn.SendBatch(ctx, look).Close(); err != nil {
		return err
	}
	rest := w.inserts(a, people, revision, seq, active)
	rest.Queue(`COMMIT`)
	return conn.SendBatch(ctx, rest).Close()
}

// inserts writes people with one statement for each table, as the store does.
func (w *rawPostgres) inserts(a account, people []person, revision, seq, active int64) *pgx.Batch {
	batch, counts := &pgx.Batch{}, make(map[string]int64)
	var ids, revisions, sums, keyIDs, numbers []int64
	var matchKeys, keys, tags, words []string
	var bodies [][]byte
	for i := range people {
		p := &people[i]
		revision, seq, active = revision+1, seq+1, active+1
		id := crm.MakeID(a.Number, seq)
		ids, revisions = append(ids, id), append(revisions, revision)
		matchKeys, bodies = append(matchKeys, strings.Join(p.contact.MatchKeys, "\n")), append(bodies, p.body)
		sums, words = append(sums, checksum(p.body)), append(words, p.contact.SearchDocument(a.Number))
		for _, key := range p.contact.MatchKeys {
			keyIDs, keys = append(keyIDs, id), append(keys, key)
		}
		for _, name := range p.contact.Tags {
			counts[name]++
		}
	}
	for name, n := range counts {
		tags, numbers = append(tags, name), append(numbers, n)
	}
	batch.Queue(`INSERT INTO contact (account_id, id, revision, archived, match_keys, body, checksum)
		SELECT $1, n.id, n.revision, 0, n.match_keys, n.body, n.checksum
		FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bigint[]) AS n (id, revision, match_keys, body, checksum)`,
		a.Number, ids, revisions, matchKeys, bodies, sums)
	batch.Queue(`INSERT INTO contact_index (account_id, id, key) SELECT $1, n.id, n.key FROM unnest($2::bigint[], $3::text[]) AS n (id, key)`, a.Number, keyIDs, keys)
	batch.Queue(`INSERT INTO contact_search (account_id, id, words) SELECT $1, n.id, array_to_tsvector(string_to_array(split_part(n.words, chr(10), 1), ' '))
		FROM unnest($2::bigint[], $3::text[]) AS n (id, words)`, a.Number, ids, words)
	batch.Queue(`INSERT INTO tag (account_id, fold, name, contacts, size)
		SELECT $1, n.name, n.name, n.contacts, length(CAST(n.contacts AS TEXT)) FROM unnest($2::text[], $3::bigint[]) AS n (name, contacts)
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`, a.Number, tags, numbers)
	batch.Queue(dollars(sqlCount), revision, seq, active, a.Number)
	return batch
}

// dollars writes the parameters of a statement as PostgreSQL wants them.
func dollars(sql string) string {
	var b strings.Builder
	n := 0
	for _, letter := range sql {
		if letter == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
		} else {
			b.WriteRune(letter)
		}
	}
	return b.String()
}
