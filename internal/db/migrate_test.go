package db

import (
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
		succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
			tx.Insert(docTable, int64(1), int64(7), "kept", []byte("body"))
			_, err := tx.Exec(sqlAddVersion, newer)
			return err
		}))
		succeed(t, d.Close())
		wantRefused(t, "a newer schema", o, fmt.Sprint("schema version ", newer),
			fmt.Sprint("versions up to ", newer-1),
			"use a newer donorbook")
		// The schema was not changed, and no lock is left.
		engine := must(openEngine(t.Context(), o))(t)
		c := must(engine.writer(t.Context()))(t)
		equal(t, must(schemaVersion(c))(t), int(newer), "the version")
		equal(t, must((Conn{conn: c}).Exists(`SELECT 1 FROM doc WHERE id = 7 AND title = 'kept'`))(t), true,
			"the row")
		engine.release(c)
		succeed(t, engine.close())
	})
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		d.insert(t, docTable, int64(1), int64(7), "kept", []byte("body"))
		var commits atomic.Int64
		d.Observe(&Observer{Committing: func() error { commits.Add(1); return nil }})
		succeed(t, migrate(t.Context(), d.engine, d.schema, nil))
		equal(t, commits.Load(), 0)
		equal(t, d.number(t, `SELECT COUNT(*) FROM doc WHERE title = 'kept'`), 1)
	})
}

// A step that fails leaves the schema unchanged, and can be tried again.
func TestAFailedMigrationChangesNothing(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		older, wrong := o, o
		schema := *o.Schema
		schema.Steps = append(schema.Steps[:2:2],
			Step{SQL: "CREATE TABLE more (x BIGINT NOT NULL);\nDELETE FROM person;\n"}, schema.Steps[0])
		wrong.Schema = &schema
		d := openTiny(t, older)
		d.insert(t, personTable, int64(1), "ana")
		succeed(t, d.Close())
		wantRefused(t, "the first step ran twice", wrong, "migration 4", "doc")
		d = openTiny(t, older)
		equal(t, d.number(t, sqlVersion), 2, "the version")
		equal(t, d.number(t, `SELECT COUNT(*) FROM person`), 1)
		var tables []string
		succeed(t, d.Read(t.Context(), func(c Conn) (err error) {
			tables, err = List(c, func(r Row) string { return r.Text(0) }, c.dialect().tables)
			return err
		}))
		if len(tables) < 5 || slices.Contains(tables, "more") {
			t.Errorf("the tables are %v", tables)
		}
	})
}

// Data that is derived from documents is derived again if another version of the program derived it, and only then.
func TestDerivedDataIsWorkedOutOncePerVersion(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		runs := 0
		o.Schema.Derived.Work = func(*Tx, Progress) error { runs++; return nil }
		for _, test := range []struct {
			version int64
			runs    int
		}{{1, 1}, {1, 1}, {3, 2}, {2, 3}, {2, 3}} {
			o.Schema.Derived.Version = test.version
			succeed(t, openTiny(t, o).Close())
			equal(t, runs, test.runs, "version %d: it was worked out", test.version)
		}
	})
}

func TestParametersBindByNumber(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		d.insert(t, personTable, int64(5), "ana")
		succeed(t, d.Read(t.Context(), func(c Conn) error {
			const want = "three 1 two three \x00\xff -9223372036854775808"
			for range 2 { // prepared, then used again
				got := ""
				must(c.One(func(r Row) {
					got = fmt.Sprint(r.Text(0), " ", r.Int(1), " ", r.Text(2), " ", r.Text(3), " ", string(r.Bytes(4)),
						" ", r.Int(5))
				}, `SELECT CAST($3 AS TEXT), CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT),
						CAST($5 AS `+c.dialect().words["bytes"]+`), CAST($4 AS BIGINT)
					WHERE CAST($1 AS BIGINT) = 1 AND CAST($2 AS TEXT) <> CAST($3 AS TEXT)`,
					int64(1), "two", "three", int64(-1<<63), []byte("\x00\xff")))(t)
				equal(t, got, want)
			}
			found, err := c.Exists(`SELECT 1 FROM person WHERE login = $2 AND id = $1 AND id = $1`, int64(5), "ana")
			if err != nil || !found {
				t.Errorf("found is %v, %v", found, err)
			}
			if _, err := exec(c.conn, `SELECT $1, $2`, int64(1)); err == nil {
				t.Error("a missing parameter was not noticed")
			}
			return nil
		}))
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
		wantError(t, "the id", insert(1, "another"), ErrTaken)
		wantError(t, "the login", insert(2, "ana"), ErrTaken)
		err := d.write(t.Context(), 1, inserting(personTable, int64(3), "ana"))
		wantError(t, "a row of a unit of work", err, ErrTaken)
		equal(t, d.number(t, `SELECT COUNT(*) FROM person`), 1)
	})
}

// Text keys are compared by bytes: no case folding, and the same order everywhere.
func TestKeysCompareByBytes(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		want := "B Z a b e\u0301 ä é"
		for _, name := range strings.Fields("b B é e\u0301 a Z ä") {
			d.insert(t, markTable, int64(1), name, int64(1))
		}
		var got []string
		succeed(t, d.Read(t.Context(), func(c Conn) (err error) {
			const sql = `SELECT name FROM mark WHERE account_id = 1 AND name > $1 ORDER BY name`
			got, err = List(c, func(r Row) string { return r.Text(0) }, sql, "")
			return err
		}))
		equal(t, strings.Join(got, " "), want, "got %q", got)
	})
}

// A database from before the steps that were squashed is refused, in words that say what to do, and stays as it is. A
// new one has every version.
func TestASchemaFromBeforeTheBaselineIsRefused(t *testing.T) {
	eachOptions(t, func(t *testing.T, o Options) {
		wantVersions := func(what string, o Options, want ...int64) {
			t.Helper()
			d := openTiny(t, o)
			equal(t, slices.Equal(must(d.readAll(t, sqlVersions))(t), want), true, "%s has the versions", what)
			succeed(t, d.Close())
		}
		squashed := func(n int) Options {
			o, schema := o, *o.Schema
			schema.Squashed, schema.Since = n, "0.10"
			schema.Steps = []Step{{SQL: schema.Steps[0].SQL + schema.Steps[1].SQL},
				{SQL: "CREATE TABLE more (x BIGINT NOT NULL);\n"}}
			o.Schema = &schema
			return o
		}
		wantVersions("a database of two steps", o, 1, 2)
		wantRefused(t, "an older one", squashed(2),
			"older than 0.10: open it with donorbook 0.10 once, then start this version")
		wantVersions("a refused one", o, 1, 2)
		wantVersions("an upgraded one", squashed(1), 1, 2, 3) // the baseline is its schema
		fresh := squashed(1)
		if fresh.URL == "" {
			fresh.Dir = t.TempDir()
		} else {
			fresh.URL = rig.Database(t)
		}
		wantVersions("a new one", fresh, 1, 2, 3)
	})
}
