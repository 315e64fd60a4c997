package book

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

// wantTags checks the largest tags of an account.
func wantTags(t testing.TB, s *Book, account int64, want ...store.TagCount) {
	t.Helper()
	got, err := s.LargestTags(t.Context(), account, 100)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v: the tags (-want +got)\n%s", err, diff)
	}
}

// The index of tags contains only their approximate size; which tag is largest is exact, even where a count gets
// another digit.
func TestTheLargestTagsComeFirst(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	have := map[string]int{"a": 9, "b": 10, "c": 99, "d": 98, "e": 1, "f": 100, "g": 101}
	var ids []int64
	for i := range 101 {
		var tags []string
		for _, name := range slices.Sorted(maps.Keys(have)) {
			if i < have[name] {
				tags = append(tags, strconv.Quote(name))
			}
		}
		ids = append(ids, s.create(fmt.Sprintf(`{"first_name":"P%d","tags":[%s]}`, i, strings.Join(tags,
			","))).ID)
	}
	s.wantTags("{g 101} {f 100} {c 99} {d 98} {b 10} {a 9} {e 1}")
	if got := must(s.LargestTags(t.Context(), account, 2))(t); len(got) != 2 || got[1].Name != "f" {
		t.Errorf("the two largest are %v", got)
	}
	s.archive(ids[0]) // one fewer each
	s.archive(ids[1])
	s.wantTags("{g 99} {f 98} {c 97} {d 96} {b 8} {a 7}")
}

func TestTagsAreSuggestedByTheirBeginning(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	other := s.another()
	s.create(`{"first_name":"A","tags":["Émile","emil","Em dash","zebra","100% \u0444","e_","z"]}`)
	s.create(`{"first_name":"B","tags":["zebra"]}`)
	other.create(`{"first_name":"C","tags":["emilia"]}`)
	for _, test := range []struct {
		typed string
		limit int
		want  []string
	}{
		{"em", 10, []string{"Em dash", "emil", "Émile"}},
		{" ÉMI", 10, []string{"emil", "Émile"}},
		{"em", 2, []string{"Em dash", "emil"}},
		{"100%", 10, []string{"100% ф"}},
		{"%", 10, nil},
		{"e_", 10, []string{"e_"}},
		{"m", 10, nil},
		{"", 2, []string{"zebra", "100% ф"}},
		{"\x00\xff ", 1, []string{"zebra"}},
	} {
		counts, err := s.SuggestTags(t.Context(), account, test.typed, test.limit)
		var names []string
		for _, count := range counts {
			names = append(names, count.Name)
		}
		if diff := cmp.Diff(test.want, names); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", test.typed, err, diff)
		}
	}
}

// A batch of creates writes each tag once, no matter how many contacts have it.
func TestConcurrentBatchCountsATagOnce(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	spy := spyOn(t, s.Book)
	counted := 0
	spy.wrote = func(sql string) {
		if strings.HasPrefix(sql, "INSERT INTO tag ") {
			counted++
		}
	}
	in := input(t, `{"first_name":"A","tags":["a","b"]}`)
	creates := slices.Repeat([]func() error{func() error {
		return errOf(s.CreateContact(t.Context(), account, in, crm.Force))
	}}, 20)
	// one statement may write both
	if err := errors.Join(s.together(creates...)...); err != nil || counted == 0 || counted > 2 {
		t.Errorf("%v: tags were written %d times", err, counted)
	}
	s.wantTags("{a 20} {b 20}")
}

// If a change fails after it has written, its counts are undone, and the other changes of its batch, which run again,
// are counted once.
func TestConcurrentChangeThatFailedCountsNoTags(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	contact := must(crm.NewContact(input(t, `{"first_name":"A","tags":["a"]}`), s.Now()))(t)
	broken := errors.New("broken")
	creating := func(end func() error) func() error {
		return func() error {
			return s.Update(t.Context(), account, store.Needs{}, func(x *store.Tx) error {
				if _, err := store.InsertContact(x, account, contact); err != nil {
					return err
				}
				return end()
			})
		}
	}
	fine := creating(func() error { return nil })
	errs := s.together(fine, creating(func() error { return broken }), fine,
		creating(func() error { panic("broken") }), fine)
	wantError(t, "the change that fails", errs[1], broken)
	if errs[3] == nil || errors.Join(errs[0], errs[2], errs[4]) != nil {
		t.Errorf("the changes ended with %v", errs)
	}
	s.wantTags("{a 3}")
}

// Whatever runs at once, the counts agree with the documents: the end of the test compares them.
func TestConcurrentTagCountsStayTrueUnderRandomChanges(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	accounts := []int64{newAccount(t, a).Number, newAccount(t, a).Number}
	tags := func(random *rand.Rand) string {
		list := ""
		for _, name := range []string{"a", "A", "é", "e", "日本"} {
			if random.IntN(2) == 0 {
				list += fmt.Sprintf(",%q", name)
			}
		}
		return "[" + list[min(1, len(list)):] + "]"
	}
	names := []string{"a", "é", "never"}
	atOnce(8, func(i int) {
		s, random := []*Book{a, b}[i%2], rand.New(rand.NewPCG(1, uint64(i)))
		for range 25 {
			account := accounts[random.IntN(len(accounts))]
			id := doc.MakeID(account, 1+random.Int64N(12))
			var err error
			switch random.IntN(8) {
			case 0, 1, 2:
				body := fmt.Sprintf(`{"first_name":"P","emails":[{"value":"p%d@x.org"}],"tags":%s}`, random.IntN(12),
					tags(random))
				_, err = s.CreateContact(ctx, account, input(t, body), crm.Dedupe)
			case 3:
				_, err = s.UpdateContact(ctx, account, id, input(t, `{"tags":`+tags(random)+`}`))
			case 4:
				_, err = s.AddTags(ctx, account, id, names)
			case 5:
				_, err = s.RemoveTags(ctx, account, id, names)
			case 6:
				err = s.ArchiveContact(ctx, account, id)
			case 7:
				_, err = s.RestoreContact(ctx, account, id)
			}
			// one that is archived, or not there yet
			if err != nil && !errors.Is(err, crm.ErrArchived) && !errors.Is(err, crm.ErrNotFound) {
				t.Error(err)
			}
		}
	})
	for _, account := range accounts {
		if counts := must(a.LargestTags(ctx, account, 100))(t); len(counts) == 0 {
			t.Errorf("the tags %v", counts)
		}
	}
}

// before is how many contacts there are before the model begins: it crosses from one block to the next.
const before = db.BlockSize - 40

// tagModel is an account whose contacts join and leave sets at random, through two nodes, with several changes in
// each commit.
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
	made := func(_ store.ContactDocument, err error) error { return err }
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
		in := input(m, fmt.Sprintf(`{"last_name":"Änderson","tags":["%s"]}`,
			strings.Join(append(tags, "edited"), `","`)))
		return func(s *Book) error { return made(s.UpdateContact(ctx, account, id, in)) }
	case n < 90:
		return func(s *Book) error { return s.ArchiveContact(ctx, account, id) }
	}
	return func(s *Book) error { return made(s.RestoreContact(ctx, account, id)) }
}

func (m *tagModel) creates(person int) func(s *Book) error {
	tags := strings.Join(append(m.tags(), fmt.Sprintf("rare %d", person%20)), `","`)
	in := input(m,
		fmt.Sprintf(`{"first_name":"P%d","last_name":"Ek","emails":[{"value":"p%[1]d@x.org"}],"tags":["%s"]}`, person,
			tags))
	return func(s *Book) error {
		return errOf(s.CreateContact(context.Background(), m.account, in, crm.Dedupe))
	}
}

// Every set agrees with the documents, whatever was done, by either node and in any batch. The end of the test
// compares them.
func TestConcurrentSetsFollowEveryChange(t *testing.T) {
	a, b := twoNodes(t)
	m := &tagModel{T: t, random: rand.New(rand.NewPCG(16, 1)), account: newAccount(t, a).Number}
	fillNamed(t, a, m.account, before,
		func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","tags":["tag %d"]}`, i, i%9) })
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
}

// A set is read with all of its blocks.
func TestASetOfSeveralBlocksIsRead(t *testing.T) {
	s := newFolk(t)
	s.fillNamed(db.BlockSize+20, func(i int) string {
		if i%1000 == 7 || i > db.BlockSize {
			return `{"first_name":"F","tags":["rare"]}`
		}
		return `{"first_name":"F"}`
	})
	all := []int64{8, 1008, 2008, 3008, 4008}
	for seq := int64(db.BlockSize + 2); seq <= db.BlockSize+20; seq++ {
		all = append(all, seq)
	}
	var set db.Set
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		return store.AddBlocks(c, s.Number, "t:rare", 0, &set)
	}))
	equal(t, set.Page(0, 100), all, "the set")
}

// A damaged set is never mistaken for another: what needs it fails and changes nothing, and everything else continues.
func TestConcurrentDamagedSetIsNotUsed(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	id := s.create(`{"first_name":"A","tags":["gala","ball"]}`).ID
	s.damage(`UPDATE contact_set SET size = 2 WHERE account_id = $1 AND name = 't:gala'`, account)
	errs := s.together(s.creating("Ben"), func() error {
		return errOf(s.RemoveTags(t.Context(), account, id, []string{"gala"}))
	}, s.creating("Cay"))
	if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), `the set "t:gala"`) {
		t.Errorf("got %v", errs)
	}
	err := s.View(t.Context(), func(c db.Conn) error {
		var set db.Set
		return store.AddBlocks(c, account, "t:gala", 0, &set)
	})
	if err == nil || !strings.Contains(err.Error(), "repair it") {
		t.Errorf("the set is read: %v", err)
	}
	s.wantLists([]int64{1, 2, 3}, nil)
	if _, report := s.checkAll(true); report.Problems != 1 || report.Repaired != 1 {
		t.Errorf("%+v", report)
	}
	s.archive(id)
}

// Rows whose contacts live in many cities cost no more statements than those of one city, neither when they are
// imported nor in a dry run: their sets are looked up together.
func TestConcurrentManyCitiesAreLookedUpTogether(t *testing.T) {
	s := newBook(t)
	var looks atomic.Int64
	spyOn(t, s).asked = func(sql string) {
		if sql == store.SQLBlocks {
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
			tried, err := s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil },
				func(jobs.ImportCounts) {})
			cost := [2]int64{looks.Swap(0)}
			succeed(t, err)
			equal(t, tried.Created, int64(10*jobs.UnitRows), "%v", tried)
			if _, _, err := s.ImportFile(t.Context(), account, openTable(t, file), spec, tried.Rows, true,
				func(jobs.ImportProgress) {}); err != nil {
				t.Fatal(err)
			}
			cost[1] = looks.Load()
			costs[together] = cost
		}
		equal(t, costs[false], costs[true],
			"%q: the dry run and the import looked times for sets, and times where all are of one city", of)
	}
	checked(t, s)
}

func TestConcurrentTheMemoryOfACacheIsBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	most := store.MaxCached / size
	var cache store.Cache[int, string]
	for i := range 3 * most {
		cache.Keep(i, "a", size)
		cache.Keep(i, "b", size) // takes the place of the one before
		if value, ok := cache.Get(i); !ok || value != "b" {
			t.Fatalf("value %d was forgotten at once", i)
		}
		held := 0
		for key := range i + 1 {
			if _, ok := cache.Get(key); ok {
				held++
			}
		}
		equal(t, held, i%most+1, "%v", i+1)
	}
	for i := range store.MaxCached >> 9 {
		cache.Keep(i, "", 0) // small ones count, too
	}
	if _, ok := cache.Get(0); ok {
		t.Error("small values are held without a limit")
	}
}
