package db

import (
	"slices"
	"testing"
)

// A list finds the rows of each of its elements, no matter how long it is, and the next list finds its own; it changes
// them, too.
func TestConcurrentListParameterFindsTheRowsOfItsElements(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
			for account := range int64(2) {
				for id := range int64(6) {
					tx.Insert(docTable, account+1, account*100+id+1, "T", []byte("b"))
					tx.Insert(markTable, account+1, string(rune('a'+id)), account*100+id+1)
				}
			}
			tx.Insert(markTable, int64(1), "a", int64(50))
			return nil
		}))
		const byID = `SELECT id FROM doc WHERE account_id = $1 AND id = ANY($2)`
		const byName = `SELECT id FROM mark WHERE account_id = $1 AND name = ANY($2)`
		const between = `SELECT id FROM mark WHERE id >= $3 AND account_id = $1 AND name = ANY($2) AND id <= $4`
		wantAll := func(find func(sql string, args ...any) ([]int64, error)) {
			t.Helper()
			for _, test := range []struct {
				sql  string
				args []any
				want []int64
			}{
				{byID, []any{int64(1), []int64{2}}, []int64{2}},
				{byID, []any{int64(1), []int64{}}, nil},
				{byID, []any{int64(1), []int64{6, 1, 3}}, []int64{1, 3, 6}},
				{byID, []any{int64(1), []int64{4, 104, 9999}}, []int64{4}}, // of another account, and of no account
				{byID, []any{int64(2), []int64(nil)}, nil},
				{byName, []any{int64(1), []string{"f", "a", "c"}}, []int64{1, 3, 6, 50}},
				{byName, []any{int64(1), []string{}}, nil},
				{byName, []any{int64(1), []string{"", "{b,c}", "b"}}, []int64{2}},
				{byName, []any{int64(2), []string{"a", "b"}}, []int64{101, 102}},
				{between, []any{int64(1), []string{"a", "b", "c"}, int64(2), int64(49)}, []int64{2, 3}},
			} {
				got, err := find(test.sql, test.args...)
				slices.Sort(got)
				succeed(t, err)
				equal(t, slices.Equal(got, test.want), true, "%s with %v", test.sql, test.args)
			}
		}
		for range 2 { // prepared, then used again
			wantAll(func(sql string, args ...any) ([]int64, error) { return d.readAll(t, sql, args...) })
		}
		succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
			wantAll(func(sql string, args ...any) (list []int64, err error) { // together with other statements
				note := func(r Row) error {
					list = append(list, r.Int(0))
					return nil
				}
				err = First(func() error { return tx.Prefetch(note, sql, args...) }, tx.Fetch)
				return list, err
			})
			for _, test := range []struct {
				ids  []int64
				want int64
			}{{[]int64{}, 0}, {[]int64{2}, 1}, {[]int64{}, 0}, {[]int64{2, 3, 5}, 2}} {
				n, err := tx.Exec(`DELETE FROM doc WHERE account_id = $1 AND id = ANY($2)`, int64(1), test.ids)
				succeed(t, err)
				equal(t, n, test.want, "%v", test.ids)
			}
			return nil
		}))
		left, err := d.readAll(t, `SELECT id FROM doc WHERE account_id = 1 ORDER BY id`)
		succeed(t, err)
		equal(t, slices.Equal(left, []int64{1, 4, 6}), true)
	})
}
