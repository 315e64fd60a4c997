package db

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// rows are all documents, marks and counters by their keys.
func (d *DB) rows(t testing.TB) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, sql := range []string{
		`SELECT 'doc', account_id, CAST(id AS TEXT), title, body FROM doc`,
		`SELECT 'mark', account_id, CAST(id AS TEXT), name, name FROM mark`,
		`SELECT 'total', account_id, name, CAST(n AS TEXT), CAST(digits AS TEXT) FROM total`,
	} {
		succeed(t, d.Read(t.Context(), func(c Conn) error {
			return c.Scan(func(r Row) {
				key := fmt.Sprintf("%s %d/%s", r.Text(0), r.Int(1), r.Text(2))
				if _, twice := found[key]; twice {
					t.Errorf("%s is there twice", key)
				}
				found[key] = r.Text(3) + "=" + string(r.Bytes(4))
			}, sql)
		}))
	}
	return found
}

// Whatever the changes of the batches are, the rows are the same as in a naive list: several changes of a row, which
// are written as one, have the result of separate ones.
func TestUnitsOfWorkAgreeWithANaiveList(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		random := rand.New(rand.NewPCG(5, 6))
		want, totals := map[string]string{}, map[string]int64{}
		step := func(tx *Tx) {
			account, id := random.Int64N(2)+1, random.Int64N(3)
			id += account * 100
			doc, mark := fmt.Sprintf("doc %d/%d", account, id), fmt.Sprintf("mark %d/%d", account, id)
			_, isDoc := want[doc]
			_, isMark := want[mark]
			switch random.IntN(6) {
			case 0, 1:
				write := tx.Save
				if !isDoc && random.IntN(2) == 0 {
					write = tx.Insert
				}
				title := fmt.Sprint(random.IntN(1000))
				body := title[:random.IntN(2)]
				write(docTable, account, id, title, []byte(body))
				want[doc] = title + "=" + body
			case 2:
				tx.Delete(docTable, account, id)
				delete(want, doc)
			case 3:
				if isMark {
					tx.Delete(markTable, account, "m", id)
					delete(want, mark)
				} else {
					tx.Insert(markTable, account, "m", id)
					want[mark] = "m=m"
				}
			default:
				name := string(rune('a' + random.IntN(3)))
				total := fmt.Sprintf("total %d/%s", account, name)
				n := max(random.Int64N(60)-25, -totals[total]) // a counter never goes below zero
				tx.Add(totalTable, n, account, name)
				totals[total] += n
				n = totals[total]
				if want[total] = fmt.Sprintf("%d=%d", n, len(fmt.Sprint(n))); n == 0 {
					delete(want, total)
				}
			}
		}
		for range 100 {
			succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
				for range random.IntN(25) {
					step(tx)
					if random.IntN(8) == 0 { // what is read is written before
						if _, err := tx.Int(`SELECT COUNT(*) FROM doc`); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			if got := d.rows(t); !maps.Equal(got, want) {
				t.Fatalf("there is %v, want %v", got, want)
			}
		}
	})
}

func TestARowThatIsInsertedTwiceIsTaken(t *testing.T) {
	t.Parallel()
	tx := newTx(&sqliteConn{}, nil)
	tx.Insert(personTable, int64(1), "first")
	tx.Insert(personTable, int64(1), "second")
	wantError(t, "the second one", tx.write(), ErrTaken)
}

// A counter may be written and added to in one batch: each change continues from the result of the previous one.
func TestACounterIsAddedToAfterItWasWritten(t *testing.T) {
	type step func(tx *Tx, name string)
	save := func(n, digits int64) step {
		return func(tx *Tx, name string) { tx.Save(totalTable, int64(1), name, n, digits) }
	}
	add := func(n int64) step {
		return func(tx *Tx, name string) { tx.Add(totalTable, n, int64(1), name) }
	}
	insert := func(tx *Tx, name string) { tx.Insert(totalTable, int64(1), name, int64(7), int64(1)) }
	remove := func(tx *Tx, name string) { tx.Delete(totalTable, int64(1), name) }
	eachDB(t, func(t *testing.T, d *DB) {
		for name, test := range map[string]struct {
			steps []step
			want  string // "" is no row
		}{
			"save, add":               {[]step{save(9, 1), add(1)}, "10=2"},
			"save, add, add":          {[]step{save(9, 1), add(1), add(90)}, "100=3"},
			"save, add to nothing":    {[]step{save(9, 1), add(-9)}, ""},
			"delete, add":             {[]step{remove, add(3)}, "3=1"},
			"delete, add, save, add":  {[]step{remove, add(3), save(99, 2), add(1)}, "100=3"},
			"add, delete":             {[]step{add(3), remove}, ""},
			"add, save":               {[]step{add(3), save(8, 1)}, "8=1"},
			"delete, insert, add ...": {[]step{remove, insert, remove, add(4)}, "4=1"},
		} {
			succeed(t, errors.Join(
				d.write(t.Context(), 1, func(tx *Tx) error {
					tx.Add(totalTable, 55, int64(1), name)
					return nil
				}),
				d.write(t.Context(), 1, func(tx *Tx) error {
					for _, step := range test.steps {
						step(tx, name)
					}
					return nil
				})))
			equal(t, d.rows(t)["total 1/"+name], test.want, "%s", name)
		}
	})
}
