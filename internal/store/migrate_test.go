package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestANewerSchemaIsRefused(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o Options) {
		s := open(t, o)
		account := newAccount(t, s)
		newer := int64(len(migrations) + 1)
		err := s.update(t.Context(), account.Number, func(tx *tx) error {
			_, err := tx.exec(sqlAddVersion, newer)
			return err
		})
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		refused, err := Open(t.Context(), o)
		if err == nil {
			refused.Close() //nolint:errcheck // the test has failed
			t.Fatal("it was opened")
		}
		for _, words := range []string{fmt.Sprintf("schema version %d", newer), fmt.Sprintf("versions up to %d", len(migrations)), "use a newer donorbook"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q does not say %q", err, words)
			}
		}
		// It was left as it is, and nothing holds it.
		engine, err := openEngine(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := engine.writer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if version, err := schemaVersion(c); err != nil || version != int(newer) {
			t.Errorf("the version is %d, %v", version, err)
		}
		if a, err := findAccount(c, account.ID); err != nil || a.Number != account.Number {
			t.Errorf("the account is %+v, %v", a, err)
		}
		engine.release(c)
		if err := engine.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s)
		create(t, s, account.Number, `{"first_name":"A"}`)
		spy := spyOn(t, s)
		if err := s.migrate(t.Context()); err != nil || spy.commits.Load() != 0 {
			t.Errorf("%v, %d commits", err, spy.commits.Load())
		}
		wantLists(t, s, account.Number, []int64{1}, nil)
	})
}

// A step that fails leaves the schema as it was before, to be tried again.
func TestAFailedMigrationChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		c, err := s.engine.writer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.engine.release(c)
		if err := c.begin(true); err != nil {
			t.Fatal(err)
		}
		if err := applyMigration(c, s.engine.dialect(), 0); err == nil || !strings.Contains(err.Error(), "account") {
			t.Errorf("the first step ran twice: %v", err)
		}
		c.rollback()
		if version, err := schemaVersion(c); err != nil || version != len(migrations) {
			t.Errorf("the version is %d, %v", version, err)
		}
	})
}

func TestParametersBindByNumber(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s)
		err := s.read(t.Context(), func(c conn) error {
			for range 2 { // prepared, then used again
				found, err := one(c, func(r rows) {
					if r.text(0) != "three" || r.int(1) != 1 || r.text(2) != "two" || r.text(3) != "three" || string(r.bytes(4)) != "\x00\xff" || r.int(5) != -1<<63 {
						t.Errorf("got %q, %d, %q, %q, %q, %d", r.text(0), r.int(1), r.text(2), r.text(3), r.bytes(4), r.int(5))
					}
				}, `SELECT CAST($3 AS TEXT), CAST($1 AS BIGINT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($5 AS `+s.engine.dialect().bytes+`), CAST($4 AS BIGINT)
					WHERE CAST($1 AS BIGINT) = 1 AND CAST($2 AS TEXT) <> CAST($3 AS TEXT)`,
					int64(1), "two", "three", int64(-1<<63), []byte("\x00\xff"))
				if err != nil || !found {
					return fmt.Errorf("found is %v: %w", found, err)
				}
			}
			found, err := one(c, func(rows) {}, `SELECT 1 FROM account WHERE public_id = $2 AND account_id = $1 AND account_id = $1`, account.Number, account.ID)
			if err != nil || !found {
				t.Errorf("found is %v, %v", found, err)
			}
			if _, err := c.query(`SELECT $1, $2`, int64(1)); err == nil {
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
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s)
		for what, args := range map[string][]any{
			"the number": {account.Number, "another"},
			"the id":     {account.Number + 1, account.ID},
		} {
			err := s.update(t.Context(), account.Number, func(tx *tx) error {
				_, err := tx.exec(sqlInsertAccount, append(args, "Name", int64(0), int64(0))...)
				return err
			})
			wantError(t, what, err, errTaken)
		}
	})
}

// Text keys compare by bytes: nothing is folded, and sorting is the same everywhere.
func TestKeysCompareByBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		err := s.update(t.Context(), account, func(x *tx) error {
			return x.insertKeys(account, 1, []string{"b", "B", "é", "e\u0301", "a", "Z", "ä"})
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.update(context.Background(), account, func(x *tx) error { //nolint:errcheck // checked by the end of the test
			_, err := x.exec(`DELETE FROM contact_index WHERE account_id = $1`, account)
			return err
		})
		var got []string
		err = s.read(t.Context(), func(c conn) error {
			return each(c, func(r rows) error {
				got = append(got, r.text(0))
				return nil
			}, `SELECT key FROM contact_index WHERE account_id = $1 AND key > $2 ORDER BY key`, account, "")
		})
		want := "B Z a b e\u0301 ä é"
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%v: got %q, want %q", err, strings.Join(got, " "), want)
		}
	})
}
