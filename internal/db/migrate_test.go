package db

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/rig"
)

func TestANewerSchemaIsRefused(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		d := openTiny(t, o)
		newer := int64(len(o.Schema.Steps) + 1)
		err := d.write(t.Context(), 1, func(tx *Tx) error {
			tx.Insert(docTable, int64(1), int64(7), "kept", []byte("body"))
			_, err := tx.Exec(sqlAddVersion, newer)
			return err
		})
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		refused, err := Open(t.Context(), o)
		if err == nil {
			refused.Close() //nolint:errcheck // the test has failed
			t.Fatal("it was opened")
		}
		for _, words := range []string{fmt.Sprintf("schema version %d", newer), fmt.Sprintf("versions up to %d", len(o.Schema.Steps)), "use a newer donorbook"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not say %q", err, words)
			}
		}
		// The schema was not changed, and no lock is left.
		engine := must(openEngine(t.Context(), o))(t)
		c := must(engine.writer(t.Context()))(t)
		if version, err := schemaVersion(c); err != nil || version != int(newer) {
			t.Errorf("the version is %d, %v", version, err)
		}
		if found, err := (Conn{conn: c}).Exists(`SELECT 1 FROM doc WHERE account_id = $1 AND id = $2 AND title = $3`, int64(1), int64(7), "kept"); err != nil || !found {
			t.Errorf("the row is there: %v, %v", found, err)
		}
		engine.release(c)
		if err := engine.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
			tx.Insert(docTable, int64(1), int64(7), "kept", []byte("body"))
			return nil
		}))
		var commits atomic.Int64
		d.Observe(&Observer{Committing: func() error { commits.Add(1); return nil }})
		if err := migrate(t.Context(), d.engine, d.schema, nil); err != nil || commits.Load() != 0 {
			t.Errorf("%v, %d commits", err, commits.Load())
		}
		if n := d.number(t, `SELECT COUNT(*) FROM doc WHERE title = 'kept'`); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

// number is what a statement finds.
func (d *DB) number(t testing.TB, sql string, args ...any) (n int64) {
	t.Helper()
	succeed(t, d.Read(t.Context(), func(c Conn) (err error) {
		n, err = c.Int(sql, args...)
		return err
	}))
	return n
}

// A step that fails leaves the schema unchanged, and can be tried again.
func TestAFailedMigrationChangesNothing(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		older, wrong := *o.Schema, *o.Schema
		older.Steps = o.Schema.Steps[:2]
		wrong.Steps = append(slices.Clip(o.Schema.Steps), Step{SQL: "CREATE TABLE more (x BIGINT NOT NULL);\nDELETE FROM person;\n"}, o.Schema.Steps[0])
		o.Schema = &older
		d := openTiny(t, o)
		err := d.write(t.Context(), 1, func(tx *Tx) error {
			tx.Insert(personTable, int64(1), "ana")
			return nil
		})
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		o.Schema = &wrong
		refused, err := Open(t.Context(), o)
		if err == nil {
			refused.Close() //nolint:errcheck // the test has failed
		}
		if err == nil || !strings.Contains(err.Error(), "migration 4") || !strings.Contains(err.Error(), "doc") {
			t.Errorf("the first step ran twice: %v", err)
		}
		o.Schema = &older
		d = openTiny(t, o)
		if version := d.number(t, sqlVersion); version != 2 {
			t.Errorf("the version is %d", version)
		}
		if n := d.number(t, `SELECT COUNT(*) FROM person`); n != 1 {
			t.Errorf("%d people", n)
		}
		var tables []string
		err = d.Read(t.Context(), func(c Conn) (err error) {
			tables, err = List(c, func(r Row) string { return r.Text(0) }, d.dialect().tables)
			return err
		})
		if err != nil || len(tables) < 5 || slices.Contains(tables, "more") {
			t.Errorf("the tables are %v, %v", tables, err)
		}
	})
}

// Data that is derived from documents is derived again if another version of the program derived it, and only then.
func TestDerivedDataIsWorkedOutOncePerVersion(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		schema, runs := *o.Schema, 0
		schema.Derived.Work = func(*Tx, Progress) error { runs++; return nil }
		for _, test := range []struct {
			version int64
			runs    int
		}{{1, 1}, {1, 1}, {3, 2}, {2, 3}, {2, 3}} {
			schema.Derived.Version = test.version
			o.Schema = &schema
			succeed(t, openTiny(t, o).Close())
			if runs != test.runs {
				t.Errorf("version %d: it was worked out %d times, want %d", test.version, runs, test.runs)
			}
		}
	})
}

func TestParametersBindByNumber(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		err := d.write(t.Context(), 1, func(tx *Tx) error {
			tx.Insert(personTable, int64(5), "ana")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		err = d.Read(t.Context(), func(c Conn) error {
			for range 2 { // prepared, then used again
				found, err := c.One(func(r Row) {
					if r.Text(0) != "three" || r.Int(1) != 1 || r.Text(2) != "two" || r.Text(3) != "three" || string(r.Bytes(4)) != "\x00\xff" || r.Int(5) != -1<<63 {
						t.Errorf("got %q, %d, %q, %q, %q, %d", r.Text(0), r.Int(1), r.Text(2), r.Text(3), r.Bytes(4), r.Int(5))
					}
				}, `SELECT CAST($3 AS TEXT), CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($5 AS `+d.dialect().words["bytes"]+`), CAST($4 AS BIGINT)
					WHERE CAST($1 AS BIGINT) = 1 AND CAST($2 AS TEXT) <> CAST($3 AS TEXT)`,
					int64(1), "two", "three", int64(-1<<63), []byte("\x00\xff"))
				if err != nil || !found {
					return fmt.Errorf("found is %v: %w", found, err)
				}
			}
			found, err := c.Exists(`SELECT 1 FROM person WHERE login = $2 AND id = $1 AND id = $1`, int64(5), "ana")
			if err != nil || !found {
				t.Errorf("found is %v, %v", found, err)
			}
			if _, err := exec(c.conn, `SELECT $1, $2`, int64(1)); err == nil {
				t.Error("a missing parameter was not noticed")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestWhatMustBeUniqueIsTaken(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		insert := func(id int64, login string) error {
			return d.write(t.Context(), 1, func(tx *Tx) error {
				_, err := tx.Exec(`INSERT INTO person (id, login) VALUES ($1, $2)`, id, login)
				return err
			})
		}
		succeed(t, insert(1, "ana"))
		for what, err := range map[string]error{"the id": insert(1, "another"), "the login": insert(2, "ana")} {
			if !errors.Is(err, ErrTaken) {
				t.Errorf("%s: %v", what, err)
			}
		}
		err := d.write(t.Context(), 1, func(tx *Tx) error { // even if the change gets the error only when it commits
			tx.Insert(personTable, int64(3), "ana")
			return nil
		})
		if !errors.Is(err, ErrTaken) {
			t.Errorf("a row of a unit of work: %v", err)
		}
		if n := d.number(t, `SELECT COUNT(*) FROM person`); n != 1 {
			t.Errorf("%d people", n)
		}
	})
}

// Text keys are compared by bytes: no case folding, and the same order everywhere.
func TestKeysCompareByBytes(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		err := d.write(t.Context(), 1, func(tx *Tx) error {
			for _, name := range []string{"b", "B", "é", "e\u0301", "a", "Z", "ä"} {
				tx.Insert(markTable, int64(1), name, int64(1))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = d.Read(t.Context(), func(c Conn) (err error) {
			got, err = List(c, func(r Row) string { return r.Text(0) }, `SELECT name FROM mark WHERE account_id = $1 AND name > $2 ORDER BY name`, int64(1), "")
			return err
		})
		want := "B Z a b e\u0301 ä é"
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v: got %q, want %q", err, strings.Join(got, " "), want)
		}
	})
}

// A database from before the steps that were squashed is refused, in words that say what to do, and stays as it is. A new one has every version.
func TestASchemaFromBeforeTheBaselineIsRefused(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		versions := func(o Options) (found []int64) {
			t.Helper()
			d := openTiny(t, o)
			err := d.Read(t.Context(), func(c Conn) (err error) {
				found, err = List(c, func(r Row) int64 { return r.Int(0) }, sqlVersions)
				return err
			})
			if err = errors.Join(err, d.Close()); err != nil {
				t.Fatal(err)
			}
			return found
		}
		squashed := func(n int) Options {
			o, schema := o, *o.Schema
			schema.Squashed, schema.Since = n, "0.10"
			schema.Steps = []Step{{SQL: schema.Steps[0].SQL + schema.Steps[1].SQL}, {SQL: "CREATE TABLE more (x BIGINT NOT NULL);\n"}}
			o.Schema = &schema
			return o
		}
		if found := versions(o); !slices.Equal(found, []int64{1, 2}) {
			t.Fatalf("a database of two steps has the versions %v", found)
		}
		refused, err := Open(t.Context(), squashed(2))
		if err == nil {
			refused.Close() //nolint:errcheck // the test has failed
		}
		if err == nil || !strings.Contains(err.Error(), "older than 0.10: open it with donorbook 0.10 once, then start this version") {
			t.Errorf("it was opened, or: %v", err)
		}
		if found := versions(o); !slices.Equal(found, []int64{1, 2}) {
			t.Errorf("then it has the versions %v", found)
		}
		if found := versions(squashed(1)); !slices.Equal(found, []int64{1, 2, 3}) { // the baseline is its schema
			t.Errorf("upgraded it has the versions %v", found)
		}
		fresh := squashed(1)
		if fresh.Dir != "" {
			fresh.Dir = t.TempDir()
		} else {
			fresh.URL = rig.Database(t)
		}
		if found := versions(fresh); !slices.Equal(found, []int64{1, 2, 3}) {
			t.Errorf("a new one has the versions %v", found)
		}
	})
}
