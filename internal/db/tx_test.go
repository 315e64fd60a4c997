package db

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// docs are the titles of all documents, and their bodies, by account and id.
func (d *DB) docs(t testing.TB) map[string]string {
	t.Helper()
	return d.texts(t, `SELECT account_id, id, title, body FROM doc`, func(r Row) (string, string) {
		return fmt.Sprintf("%d/%d", r.Int(0), r.Int(1)), r.Text(2) + "=" + string(r.Bytes(3))
	})
}

// totals are all counters: the number, and how many digits it has.
func (d *DB) totals(t testing.TB) map[string]string {
	t.Helper()
	return d.texts(t, `SELECT account_id, name, n, digits FROM total`, func(r Row) (string, string) {
		return fmt.Sprintf("%d/%s", r.Int(0), r.Text(1)), fmt.Sprintf("%d, %d", r.Int(2), r.Int(3))
	})
}

func (d *DB) marks(t testing.TB) map[string]string {
	t.Helper()
	return d.texts(t, `SELECT account_id, name, id FROM mark`, func(r Row) (string, string) {
		return fmt.Sprintf("%d/%s/%d", r.Int(0), r.Text(1), r.Int(2)), ""
	})
}

func (d *DB) texts(t testing.TB, sql string, row func(Row) (key, text string)) map[string]string {
	t.Helper()
	found := make(map[string]string)
	succeed(t, d.Read(t.Context(), func(c Conn) error {
		return c.Each(func(r Row) error {
			key, text := row(r)
			if _, twice := found[key]; twice {
				t.Errorf("%s is there twice", key)
			}
			found[key] = text
			return nil
		}, sql)
	}))
	return found
}

// Several changes of a row in one batch are written as one, with the same result as separate changes.
func TestChangesOfOneRowBecomeOne(t *testing.T) {
	const account, id = int64(1), int64(7)
	insert := func(title string) func(*Tx) {
		return func(tx *Tx) { tx.Insert(docTable, account, id, title, []byte(title)) }
	}
	save := func(title string) func(*Tx) {
		return func(tx *Tx) { tx.Save(docTable, account, id, title, []byte(title)) }
	}
	remove := func(tx *Tx) { tx.Delete(docTable, account, id) }
	for _, test := range []struct {
		name  string
		there bool // before
		steps []func(*Tx)
		want  string // "" is no row
	}{
		{"insert", false, []func(*Tx){insert("a")}, "a"},
		{"save what is not there", false, []func(*Tx){save("a")}, "a"},
		{"save what is there", true, []func(*Tx){save("a")}, "a"},
		{"delete what is not there", false, []func(*Tx){remove}, ""},
		{"insert, save", false, []func(*Tx){insert("a"), save("b")}, "b"},
		{"insert, delete", false, []func(*Tx){insert("a"), remove}, ""},
		{"insert, delete, insert", false, []func(*Tx){insert("a"), remove, insert("b")}, "b"},
		{"insert, delete, save", false, []func(*Tx){insert("a"), remove, save("b")}, "b"},
		{"insert, save, delete", false, []func(*Tx){insert("a"), save("b"), remove}, ""},
		{"delete, insert", true, []func(*Tx){remove, insert("a")}, "a"},
		{"delete, save", true, []func(*Tx){remove, save("a")}, "a"},
		{"delete, insert, delete", true, []func(*Tx){remove, insert("a"), remove}, ""},
		{"delete, insert, save", true, []func(*Tx){remove, insert("a"), save("b")}, "b"},
		{"save, delete", true, []func(*Tx){save("a"), remove}, ""},
		{"save, delete, insert", true, []func(*Tx){save("a"), remove, insert("b")}, "b"},
		{"save, save", true, []func(*Tx){save("a"), save("b")}, "b"},
	} {
		for _, flushed := range []bool{false, true} { // between the steps, as in a change that reads
			t.Run(fmt.Sprintf("%s, flushed %v", test.name, flushed), func(t *testing.T) {
				eachDB(t, func(t *testing.T, d *DB) {
					change := func(steps ...func(*Tx)) {
						t.Helper()
						succeed(t, d.write(t.Context(), account, func(tx *Tx) error {
							for _, step := range steps {
								step(tx)
								if flushed {
									if _, err := tx.Int(`SELECT COUNT(*) FROM doc`); err != nil {
										return err
									}
								}
							}
							return nil
						}))
					}
					want := map[string]string{"2/8": "other=other"}
					change(func(tx *Tx) { tx.Insert(docTable, int64(2), int64(8), "other", []byte("other")) })
					if test.there {
						change(insert("before"))
					}
					change(test.steps...)
					if test.want != "" {
						want["1/7"] = test.want + "=" + test.want
					}
					if got := d.docs(t); !maps.Equal(got, want) {
						t.Errorf("there is %v, want %v", got, want)
					}
				})
			})
		}
	}
}

func TestCountersComeToWhatWasAdded(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		want := make(map[string]string)
		for _, test := range []struct {
			adds []int64
			want string // "" is no counter
		}{
			{[]int64{1, 1, 1}, "3, 1"},
			{[]int64{}, "3, 1"},
			{[]int64{5, -5}, "3, 1"},
			{[]int64{6}, "9, 1"},
			{[]int64{1}, "10, 2"},
			{[]int64{-1}, "9, 1"},
			{[]int64{-4, 200, -1}, "204, 3"},
			{[]int64{-200, -3}, "1, 1"},
			{[]int64{-1}, ""},
			{[]int64{1, -1}, ""},
			{[]int64{1, 1, -1}, "1, 1"},
			{[]int64{-1, 1}, "1, 1"},
			{[]int64{-1}, ""},
		} {
			succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
				for _, n := range test.adds {
					tx.Add(totalTable, n, int64(1), "gala")
				}
				tx.Add(totalTable, 1, int64(2), "gala")
				return nil
			}))
			n := d.number(t, `SELECT n FROM total WHERE account_id = $1`, int64(2))
			want["2/gala"] = fmt.Sprintf("%d, %d", n, len(fmt.Sprint(n)))
			if want["1/gala"] = test.want; test.want == "" {
				delete(want, "1/gala")
			}
			if got := d.totals(t); !maps.Equal(got, want) {
				t.Errorf("after %v: %v, want %v", test.adds, got, want)
			}
		}
		if n := d.number(t, `SELECT n FROM total WHERE account_id = $1`, int64(2)); n != 13 {
			t.Errorf("the other account has %d", n)
		}
	})
}

// Whatever the changes of the batches are, the rows are the same as in a naive list.
func TestUnitsOfWorkAgreeWithANaiveList(t *testing.T) {
	eachDB(t, func(t *testing.T, d *DB) {
		random := rand.New(rand.NewPCG(5, 6))
		docs, marks, totals := map[string]string{}, map[string]string{}, map[string]int64{}
		step := func(tx *Tx) {
			account, id := random.Int64N(3)+1, random.Int64N(4)
			id += account * 100
			key, title := fmt.Sprintf("%d/%d", account, id), fmt.Sprint(random.IntN(1000))
			_, there := docs[key]
			switch random.IntN(6) {
			case 0, 1:
				write := tx.Save
				if !there && random.IntN(2) == 0 {
					write = tx.Insert
				}
				write(docTable, account, id, title, []byte{byte('a' + random.IntN(26))}[:random.IntN(2)])
				docs[key] = title
			case 2:
				tx.Delete(docTable, account, id)
				delete(docs, key)
			case 3:
				mark := fmt.Sprintf("%d/m/%d", account, id)
				if _, there := marks[mark]; there {
					tx.Delete(markTable, account, "m", id)
					delete(marks, mark)
				} else {
					tx.Insert(markTable, account, "m", id)
					marks[mark] = ""
				}
			default:
				name, n := string(rune('a'+random.IntN(3))), random.Int64N(30)-15
				counter := fmt.Sprintf("%d/%s", account, name)
				n = max(n, -totals[counter]) // a counter never goes below zero
				tx.Add(totalTable, n, account, name)
				totals[counter] += n
			}
		}
		for range 60 {
			succeed(t, d.write(t.Context(), 1, func(tx *Tx) error {
				for range random.IntN(25) {
					step(tx)
					if random.IntN(10) == 0 {
						if _, err := tx.Int(`SELECT COUNT(*) FROM doc`); err != nil {
							return err
						}
					}
				}
				return nil
			}))
			got := d.docs(t)
			for key, text := range got {
				got[key], _, _ = strings.Cut(text, "=")
			}
			want := make(map[string]string)
			for counter, n := range totals {
				if n > 0 {
					want[counter] = fmt.Sprintf("%d, %d", n, len(fmt.Sprint(n)))
				}
			}
			if !maps.Equal(got, docs) || !maps.Equal(d.marks(t), marks) || !maps.Equal(d.totals(t), want) {
				t.Fatalf("documents %v, want %v; marks %v, want %v; counters %v, want %v", got, docs, slices.Sorted(maps.Keys(d.marks(t))), slices.Sorted(maps.Keys(marks)), d.totals(t), want)
			}
		}
	})
}

func TestARowThatIsInsertedTwiceIsTaken(t *testing.T) {
	t.Parallel()
	table := NewTable("x", "id", "name:text")
	tx := newTx(&sqliteConn{}, nil)
	tx.Insert(table, int64(1), "first")
	tx.Insert(table, int64(1), "second")
	if err := tx.write(); !errors.Is(err, ErrTaken) {
		t.Errorf("the second one got %v", err)
	}
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
	tests := []struct {
		name  string
		steps []step
		want  string // "" is no row
	}{
		{"save, add", []step{save(9, 1), add(1)}, "10, 2"},
		{"save, add, add", []step{save(9, 1), add(1), add(90)}, "100, 3"},
		{"save, add to nothing", []step{save(9, 1), add(-9)}, ""},
		{"delete, add", []step{remove, add(3)}, "3, 1"},
		{"delete, add, save, add", []step{remove, add(3), save(99, 2), add(1)}, "100, 3"},
		{"add, delete", []step{add(3), remove}, ""},
		{"add, save", []step{add(3), save(8, 1)}, "8, 1"},
		{"delete, insert, delete, add", []step{remove, insert, remove, add(4)}, "4, 1"},
	}
	eachDB(t, func(t *testing.T, d *DB) {
		want := map[string]string{}
		err := d.write(t.Context(), 1, func(tx *Tx) error {
			for _, test := range tests {
				tx.Add(totalTable, 55, int64(1), test.name)
			}
			return nil
		})
		if err == nil {
			err = d.write(t.Context(), 1, func(tx *Tx) error {
				for _, test := range tests {
					for _, step := range test.steps {
						step(tx, test.name)
					}
					if want["1/"+test.name] = test.want; test.want == "" {
						delete(want, "1/"+test.name)
					}
				}
				return nil
			})
		}
		if got := d.totals(t); err != nil || !maps.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	})
}
