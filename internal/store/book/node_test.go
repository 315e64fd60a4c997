package book

import (
	"fmt"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// activity is the list of an account in the simplest form: for each contact in turn, whether it is active.
type activity []bool

func (m activity) of(active bool) (seqs []int64) {
	for i := range m {
		if m[i] == active {
			seqs = append(seqs, int64(i)+1)
		}
	}
	return seqs
}

func TestConcurrentTwoStoresSeeEachOthersWrites(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		stores := []*Book{a, b}
		var m activity
		for i := range 24 {
			writer, reader := stores[i%2], stores[(i+1)%2]
			switch {
			case i%4 < 3:
				d := create(t, writer, account, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}]}`, i, i))
				m = append(m, true)
				if d.ID != doc.MakeID(account, int64(len(m))) {
					t.Errorf("contact %d has the id %d", len(m), d.ID)
				}
				if d := create(t, reader, account, fmt.Sprintf(`{"emails":[{"value":"N%d@x.org"}],"tags":["seen"]}`, i)); !d.Merged {
					t.Errorf("the other store does not find contact %d", i)
				}
				if p := get(t, writer, account, d.ID); !slices.Equal(p.Tags, []string{"seen"}) {
					t.Errorf("the tags of %d are %q", d.ID, p.Tags)
				}
			default:
				seq := i % len(m)
				archive(t, writer, account, doc.MakeID(account, int64(seq)+1))
				m[seq] = false
			}
			for _, s := range stores {
				wantLists(t, s, account, m.of(true), m.of(false))
			}
		}
	})
}

func TestConcurrentTwoStoresWriteAtOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		stores := []*Book{a, b}
		documents := make([]contacts.Document, 64)
		atOnce(64, func(i int) { // one person on both nodes, and a new one on each
			s := stores[i%2]
			documents[i] = create(t, s, account, fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"tags":["t%d"]}`, i))
			create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i))
			if _, total := page(t, s, account, crm.All, 1, 20); total < 2 {
				t.Errorf("%d contacts right after two were made", total)
			}
		})
		ana := documents[0].ID
		for _, d := range documents {
			if d.ID != ana {
				t.Errorf("one email, and the contacts %d and %d", ana, d.ID)
			}
		}
		for _, s := range stores {
			if p := get(t, s, account, ana); len(p.Tags) != 64 {
				t.Errorf("%d of 64 tags", len(p.Tags))
			}
			var seen []int64
			for number := int64(1); number <= 4; number++ {
				ids, total := page(t, s, account, crm.Active, number, 20)
				seen = append(seen, ids...)
				if total != 65 {
					t.Errorf("%d contacts in all, want 65", total)
				}
			}
			if len(slices.Compact(seen)) != 65 || !slices.IsSorted(seen) {
				t.Errorf("the pages show %d contacts", len(seen))
			}
		}
	})
}

func TestConcurrentStoresOpenedAtOnceMakeOneDatabase(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		atOnce(6, func(int) {
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.CreateAccount(t.Context(), "Test", ""); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		if accounts, err := open(t, o).Accounts(t.Context()); err != nil || len(accounts) != 6 {
			t.Errorf("%d accounts, %v", len(accounts), err)
		}
	})
}
