//go:build drill

package book

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// A copy goes by pieces of 5,000 rows: this one takes two whole ones of contacts, a part of one, and many of other tables.
func TestACopyOfManyContactsThereAndBack(t *testing.T) {
	t.Parallel()
	const contacts = 11_000
	there, back := bothEngines[1].options(t), store.Options{Data: t.TempDir()}
	from := store.Options{Data: t.TempDir()}
	began := time.Now()
	lap := func(what string) {
		t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
		began = time.Now()
	}
	a := openLarge(t, from)
	fillContacts(t, a, newAccount(t, a).Number, contacts)
	lap("fill")
	first := mustCopy(t, from, there, move.CopyOptions{})
	lap("there")
	second := mustCopy(t, there, back, move.CopyOptions{})
	lap("back")
	if diff := cmp.Diff(first, second); diff != "" || first.Tables[0].Rows != contacts {
		t.Errorf("the reports differ:\n%s", diff)
	}
	b, c := openLarge(t, there), openLarge(t, back)
	sameAnswers(t, a, b)
	lap("compare with PostgreSQL")
	sameAnswers(t, a, c)
	lap("compare with SQLite")
}

// openLarge opens a store that is too large to be checked completely when the test ends.
func openLarge(t *testing.T, o store.Options) *Book {
	t.Helper()
	s := must(Open(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
