package book

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// wantTags checks the largest tags of an account.
func wantTags(t testing.TB, s *Book, account int64, want ...contacts.TagCount) {
	t.Helper()
	got, err := s.LargestTags(t.Context(), account, 100)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v: the tags (-want +got)\n%s", err, diff)
	}
}

func TestTagsCountTheActiveContactsThatHaveThem(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		wantTags(t, s, account)
		a := create(t, s, account, `{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":["Board","vip"]}`).ID
		b := create(t, s, account, `{"first_name":"B","tags":["vip","Vip"]}`).ID
		create(t, s, other, `{"first_name":"C","tags":["theirs"]}`)
		wantTags(t, s, account, contacts.TagCount{Name: "vip", Contacts: 2}, contacts.TagCount{Name: "Board", Contacts: 1}, contacts.TagCount{Name: "Vip", Contacts: 1})

		create(t, s, account, `{"emails":[{"value":"A@x.org"}],"tags":["vip","new"]}`) // merged
		wantTags(t, s, account, contacts.TagCount{Name: "vip", Contacts: 2}, contacts.TagCount{Name: "Board", Contacts: 1}, contacts.TagCount{Name: "new", Contacts: 1}, contacts.TagCount{Name: "Vip", Contacts: 1})
		must(s.SyncTags(t.Context(), account, b, []string{"Vip"}))(t)
		wantTags(t, s, account, contacts.TagCount{Name: "Board", Contacts: 1}, contacts.TagCount{Name: "new", Contacts: 1}, contacts.TagCount{Name: "Vip", Contacts: 1}, contacts.TagCount{Name: "vip", Contacts: 1})
		archive(t, s, account, a)
		wantTags(t, s, account, contacts.TagCount{Name: "Vip", Contacts: 1})
		restore(t, s, account, a)
		restore(t, s, account, a)
		wantTags(t, s, account, contacts.TagCount{Name: "Board", Contacts: 1}, contacts.TagCount{Name: "new", Contacts: 1}, contacts.TagCount{Name: "Vip", Contacts: 1}, contacts.TagCount{Name: "vip", Contacts: 1})
		must(s.RemoveTags(t.Context(), account, a, []string{"Board", "new", "vip", "never"}))(t)
		wantTags(t, s, account, contacts.TagCount{Name: "Vip", Contacts: 1})
		wantTags(t, s, other, contacts.TagCount{Name: "theirs", Contacts: 1})
	})
}

// The index of tags contains only their approximate size; which tag is largest is exact, even where a count gets another digit.
func TestTheLargestTagsComeFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		have := map[string]int{"a": 9, "b": 10, "c": 99, "d": 98, "e": 1, "f": 100, "g": 101}
		var ids []int64
		for i := range 101 {
			var tags []string
			for _, name := range slices.Sorted(maps.Keys(have)) {
				if i < have[name] {
					tags = append(tags, strconv.Quote(name))
				}
			}
			ids = append(ids, create(t, s, account, fmt.Sprintf(`{"first_name":"P%d","tags":[%s]}`, i, strings.Join(tags, ","))).ID)
		}
		wantTags(t, s, account, contacts.TagCount{Name: "g", Contacts: 101}, contacts.TagCount{Name: "f", Contacts: 100}, contacts.TagCount{Name: "c", Contacts: 99}, contacts.TagCount{Name: "d", Contacts: 98}, contacts.TagCount{Name: "b", Contacts: 10}, contacts.TagCount{Name: "a", Contacts: 9}, contacts.TagCount{Name: "e", Contacts: 1})
		if got, err := s.LargestTags(t.Context(), account, 2); err != nil || len(got) != 2 || got[1].Name != "f" {
			t.Errorf("%v: the two largest are %v", err, got)
		}
		archive(t, s, account, ids[0]) // one fewer each
		archive(t, s, account, ids[1])
		wantTags(t, s, account, contacts.TagCount{Name: "g", Contacts: 99}, contacts.TagCount{Name: "f", Contacts: 98}, contacts.TagCount{Name: "c", Contacts: 97}, contacts.TagCount{Name: "d", Contacts: 96}, contacts.TagCount{Name: "b", Contacts: 8}, contacts.TagCount{Name: "a", Contacts: 7})
	})
}

func TestTagsAreSuggestedByTheirBeginning(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		create(t, s, account, `{"first_name":"A","tags":["Émile","emil","Em dash","zebra","100% \u0444","e_","z"]}`)
		create(t, s, account, `{"first_name":"B","tags":["zebra"]}`)
		create(t, s, other, `{"first_name":"C","tags":["emilia"]}`)
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
	})
}

// A batch of creates writes each tag once, no matter how many contacts have it.
func TestConcurrentBatchCountsATagOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spy := spyOn(t, s)
		counted := 0
		spy.wrote = func(sql string) {
			if strings.HasPrefix(sql, "INSERT INTO tag ") {
				counted++
			}
		}
		in := input(t, `{"first_name":"A","tags":["a","b"]}`)
		creates := slices.Repeat([]func() error{func() error {
			_, err := s.CreateContact(t.Context(), account, in, crm.Force)
			return err
		}}, 20)
		if err := errors.Join(together(t, s, account, creates...)...); err != nil || counted == 0 || counted > 2 { // one statement may write both
			t.Errorf("%v: tags were written %d times", err, counted)
		}
		wantTags(t, s, account, contacts.TagCount{Name: "a", Contacts: 20}, contacts.TagCount{Name: "b", Contacts: 20})
	})
}

// If a change fails after it has written, its counts are undone, and the other changes of its batch, which run again, are counted
// once.
func TestConcurrentChangeThatFailedCountsNoTags(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		contact := must(crm.NewContact(input(t, `{"first_name":"A","tags":["a"]}`), s.Now()))(t)
		broken := errors.New("broken")
		creating := func(end func() error) func() error {
			return func() error {
				return s.Update(t.Context(), account, store.Needs{}, func(x *store.Tx) error {
					if _, err := contacts.InsertContact(x, account, contact); err != nil {
						return err
					}
					return end()
				})
			}
		}
		fine := creating(func() error { return nil })
		errs := together(t, s, account, fine, creating(func() error { return broken }), fine, creating(func() error { panic("broken") }), fine)
		wantError(t, "the change that fails", errs[1], broken)
		if errs[3] == nil || errors.Join(errs[0], errs[2], errs[4]) != nil {
			t.Errorf("the changes ended with %v", errs)
		}
		wantTags(t, s, account, contacts.TagCount{Name: "a", Contacts: 3})
	})
}

// Whatever runs at once, the counts agree with the documents: the end of the test compares them.
func TestConcurrentTagCountsStayTrueUnderRandomChanges(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		accounts := []int64{newAccount(t, a).Number, newAccount(t, a).Number}
		tags := func() string {
			list := ""
			for _, name := range []string{"a", "A", "é", "e", "日本"} {
				if rand.IntN(2) == 0 {
					list += fmt.Sprintf(",%q", name)
				}
			}
			return "[" + list[min(1, len(list)):] + "]"
		}
		names := []string{"a", "é", "never"}
		atOnce(8, func(i int) {
			s := []*Book{a, b}[i%2]
			for range 25 {
				account := accounts[rand.IntN(len(accounts))]
				id := doc.MakeID(account, 1+rand.Int64N(12))
				var err error
				switch rand.IntN(8) {
				case 0, 1, 2:
					body := fmt.Sprintf(`{"first_name":"P","emails":[{"value":"p%d@x.org"}],"tags":%s}`, rand.IntN(12), tags())
					_, err = s.CreateContact(t.Context(), account, input(t, body), crm.Dedupe)
				case 3:
					_, err = s.UpdateContact(t.Context(), account, id, input(t, `{"tags":`+tags()+`}`))
				case 4:
					_, err = s.AddTags(t.Context(), account, id, names)
				case 5:
					_, err = s.RemoveTags(t.Context(), account, id, names)
				case 6:
					err = s.ArchiveContact(t.Context(), account, id)
				case 7:
					_, err = s.RestoreContact(t.Context(), account, id)
				}
				if err != nil && !errors.Is(err, crm.ErrArchived) && !errors.Is(err, crm.ErrNotFound) { // one that is archived, or not there yet
					t.Error(err)
				}
			}
		})
		for _, account := range accounts {
			if counts, err := a.LargestTags(t.Context(), account, 100); err != nil || len(counts) == 0 {
				t.Errorf("%v: the tags %v", err, counts)
			}
		}
	})
}
