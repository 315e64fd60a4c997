package book

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
	"donorbook/internal/store/jobs"
)

// before is how many contacts there are before the model begins: it crosses from one block to the next.
const before = db.BlockSize - 40

// tagModel is an account whose contacts join and leave sets at random, through two nodes, with several changes in each commit.
type tagModel struct {
	*testing.T
	random  *rand.Rand
	account int64
	people  int
}

func (m *tagModel) tags() (tags []string) {
	for range m.random.IntN(4) {
		tags = append(tags, fmt.Sprintf("tag %d", m.random.IntN(6)))
	}
	return tags
}

// change is a random change, which may be refused.
func (m *tagModel) change() func(s *Book) error {
	ctx, account := context.Background(), m.account
	id := doc.MakeID(account, before-10+m.random.Int64N(int64(m.people+12)))
	tags := m.tags()
	made := func(_ contacts.Document, err error) error { return err }
	switch n := m.random.IntN(100); {
	case n < 30:
		m.people++
		return m.creates(m.people)
	case n < 45: // the same person again
		return m.creates(1 + m.random.IntN(m.people+1))
	case n < 55:
		return func(s *Book) error { return made(s.AddTags(ctx, account, id, tags)) }
	case n < 65:
		return func(s *Book) error { return made(s.SyncTags(ctx, account, id, tags)) }
	case n < 70:
		return func(s *Book) error { return made(s.RemoveTags(ctx, account, id, tags)) }
	case n < 78:
		in := input(m, fmt.Sprintf(`{"last_name":"Änderson","tags":["%s"]}`, strings.Join(append(tags, "edited"), `","`)))
		return func(s *Book) error { return made(s.UpdateContact(ctx, account, id, in)) }
	case n < 90:
		return func(s *Book) error { return s.ArchiveContact(ctx, account, id) }
	}
	return func(s *Book) error { return made(s.RestoreContact(ctx, account, id)) }
}

func (m *tagModel) creates(person int) func(s *Book) error {
	tags := strings.Join(append(m.tags(), fmt.Sprintf("rare %d", person%20)), `","`)
	in := input(m, fmt.Sprintf(`{"first_name":"P%d","last_name":"Ek","emails":[{"value":"p%[1]d@x.org"}],"tags":["%s"]}`, person, tags))
	return func(s *Book) error {
		_, err := s.CreateContact(context.Background(), m.account, in, crm.Dedupe)
		return err
	}
}

// Every set agrees with the documents, whatever was done, by either node and in any batch. The end of the test compares them.
func TestConcurrentSetsFollowEveryChange(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		m := &tagModel{T: t, random: rand.New(rand.NewPCG(16, 1)), account: newAccount(t, a).Number}
		fillNamed(t, a, m.account, before, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","tags":["tag %d"]}`, i, i%9) })
		for round := range 40 {
			node := []*Book{a, b}[round%2]
			changes := make([]func() error, 1+m.random.IntN(8))
			for i := range changes {
				change := m.change()
				changes[i] = func() error { return change(node) }
			}
			for _, err := range together(t, node, m.account, changes...) {
				if err != nil && !errors.Is(err, crm.ErrArchived) && !errors.Is(err, crm.ErrNotFound) {
					t.Fatal(err)
				}
			}
		}
		if m.people < 50 {
			t.Errorf("only %d contacts were made, all in one block", m.people)
		}
	})
}

// A set can be read completely, or only its first contacts.
func TestTheFirstContactsOfASet(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, db.BlockSize+20, func(i int) string {
			if i%1000 == 7 || i > db.BlockSize {
				return `{"first_name":"F","tags":["rare"]}`
			}
			return `{"first_name":"F"}`
		})
		all := []int64{8, 1008, 2008, 3008, 4008}
		for seq := int64(db.BlockSize + 2); seq <= db.BlockSize+20; seq++ {
			all = append(all, seq)
		}
		err := s.View(t.Context(), func(c db.Conn) error {
			for _, limit := range []int{1, 4, 5, 6, 23, 24, 25, 1000} {
				ids, err := contacts.FirstOfSet(c, account, "t:rare", limit)
				if err != nil {
					return err
				}
				if want := contacts.IDsOf(account, all[:min(limit, len(all))]); !slices.Equal(ids, want) {
					t.Errorf("the first %d are %v, want %v", limit, ids, want)
				}
			}
			none, err := contacts.FirstOfSet(c, account, "t:none", 5)
			if err != nil || len(none) > 0 {
				t.Errorf("of another set: %v, %v", none, err)
			}
			var set db.Set
			err = contacts.AddBlocks(c, account, "t:rare", 0, &set)
			if got := set.Page(0, 100); !slices.Equal(got, all) {
				t.Errorf("the set is %v, want %v", got, all)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A damaged set is never mistaken for another: what needs it fails and changes nothing, and everything else continues.
func TestConcurrentDamagedSetIsNotUsed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"A","tags":["gala","ball"]}`).ID
		damage(t, s, `UPDATE contact_set SET size = 2 WHERE account_id = $1 AND name = 't:gala'`, account)
		errs := together(t, s, account, creating(t, s, account, "Ben"), func() error {
			_, err := s.RemoveTags(t.Context(), account, id, []string{"gala"})
			return err
		}, creating(t, s, account, "Cay"))
		if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), `the set "t:gala"`) {
			t.Errorf("got %v", errs)
		}
		err := s.View(t.Context(), func(c db.Conn) error {
			var set db.Set
			return contacts.AddBlocks(c, account, "t:gala", 0, &set)
		})
		if err == nil || !strings.Contains(err.Error(), "repair it") {
			t.Errorf("the set is read: %v", err)
		}
		wantLists(t, s, account, []int64{1, 2, 3}, nil)
		if _, report := checkAll(t, s, true); report.Problems != 1 || report.Repaired != 1 {
			t.Errorf("%+v", report)
		}
		archive(t, s, account, id)
	})
}

// Rows whose contacts live in many cities cost no more statements than those of one city, neither when they are imported nor in a dry run: their
// sets are looked up together.
func TestConcurrentManyCitiesAreLookedUpTogether(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		var looks atomic.Int64
		spyOn(t, s).asked = func(sql string) {
			if sql == derived.SQLBlocks {
				looks.Add(1)
			}
		}
		for _, of := range []string{jobs.ImportContacts, jobs.ImportGifts} {
			costs := make(map[bool][2]int64)
			for _, together := range []bool{true, false} {
				account := newAccount(t, s).Number
				file := "amount,date,method,first_name,last_name,email,city\n"
				for i := range 10 * jobs.UnitRows {
					city := "Boston"
					if !together {
						city = "Town" + strings.Repeat("x", i)
					}
					file += fmt.Sprintf("5,2026-02-06,cash,P%d,Quinn,p%d@example.org,%s\n", i, i, city)
				}
				rows, spec := openTable(t, file), jobs.FileImport{}
				if spec = importOf(rows, jobs.MergeExisting); of == jobs.ImportGifts {
					spec = giftImportOf(rows)
				}
				looks.Store(0)
				tried, err := s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
				cost := [2]int64{looks.Swap(0)}
				if err != nil || tried.Created != int64(10*jobs.UnitRows) {
					t.Fatalf("%v: tried %+v", err, tried)
				}
				if _, _, err := s.ImportFile(t.Context(), account, openTable(t, file), spec, tried.Rows, true, func(jobs.ImportProgress) {}); err != nil {
					t.Fatal(err)
				}
				cost[1] = looks.Load()
				costs[together] = cost
			}
			if costs[false] != costs[true] {
				t.Errorf("%q: the dry run and the import looked %v times for sets, and %v times where all are of one city", of, costs[false], costs[true])
			}
		}
		checked(t, s)
	})
}
