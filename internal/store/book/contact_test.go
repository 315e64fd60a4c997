package book

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// wantLists checks every scope: the sequence numbers of the contacts that are active and archived.
func wantLists(t testing.TB, s *Book, account int64, active, archived []int64) {
	t.Helper()
	rig.WantLists(t, func(scope crm.ContactScope) ([]int64, int64) { return page(t, s, account, scope, 1, 100) }, active, archived)
}

func TestTheLifeOfAContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account := newAccount(t, s).Number
		wantLists(t, s, account, nil, nil)

		made := create(t, s, account, `{"first_name":"Ana","last_name":"Diaz","title":"Dr","emails":[{"value":"Ana@x.org"}],"tags":["a"]}`)
		if made.Merged || made.ID != doc.MakeID(account, 1) {
			t.Errorf("made %d, merged is %v", made.ID, made.Merged)
		}
		document, err := s.Contact(t.Context(), account, made.ID, []byte("x"))
		if err != nil || string(document) != "x"+string(made.Append(nil)) {
			t.Errorf("%v: got\n%s\nand made\n%s", err, document, made.Append(nil))
		}
		create(t, s, account, `{"first_name":"Bo"}`)
		wantLists(t, s, account, []int64{1, 2}, nil)

		now.move(time.Hour)
		changed, err := s.UpdateContact(t.Context(), account, made.ID, input(t, `{"first_name":"Anna","title":null,"tags":["b","c"]}`))
		if err != nil || changed.ID != made.ID || changed.Merged {
			t.Errorf("%v: changed %d", err, changed.ID)
		}
		p := get(t, s, account, made.ID)
		if p.FirstName != "Anna" || p.Title != nil || p.Emails[0].Value != "Ana@x.org" || !slices.Equal(p.Tags, []string{"b", "c"}) || p.Updated != "2026-01-31T13:00:00+00:00" {
			t.Errorf("after the update: %+v", p)
		}

		now.move(time.Hour)
		archive(t, s, account, made.ID)
		wantLists(t, s, account, []int64{2}, []int64{1})
		documents, _ := listBytes(t, s, account, crm.Archived, 1, 1)
		if p := parse(t, []byte(documents)); p.Archived == nil || *p.Archived != "2026-01-31T14:00:00+00:00" || p.FirstName != "Anna" {
			t.Errorf("archived: %s", documents)
		}

		now.move(time.Hour)
		back := restore(t, s, account, made.ID)
		if p := parse(t, back.Append(nil)); p.Archived != nil || p.Updated != "2026-01-31T15:00:00+00:00" {
			t.Errorf("restored: %+v", p)
		}
		wantLists(t, s, account, []int64{1, 2}, nil)
		now.move(time.Hour)
		if again := restore(t, s, account, made.ID); string(again.Body) != string(back.Body) {
			t.Errorf("restoring an active contact changed it to %s", again.Body)
		}
	})
}

func TestTagsOfAContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"A","tags":["a","b"]}`).ID
		for _, step := range []struct {
			change func() (contacts.Document, error)
			want   []string
		}{
			{func() (contacts.Document, error) { return s.AddTags(t.Context(), account, id, []string{"c", "a"}) }, []string{"a", "b", "c"}},
			{func() (contacts.Document, error) { return s.RemoveTags(t.Context(), account, id, []string{"b", "x"}) }, []string{"a", "c"}},
			{func() (contacts.Document, error) { return s.SyncTags(t.Context(), account, id, []string{"Z", "c"}) }, []string{"Z", "c"}},
			{func() (contacts.Document, error) { return s.RemoveTags(t.Context(), account, id, []string{"Z", "c"}) }, nil},
			{func() (contacts.Document, error) { return s.AddTags(t.Context(), account, id, []string{"日本"}) }, []string{"日本"}},
		} {
			d := must(step.change())(t)
			if p := parse(t, d.Append(nil)); !slices.Equal(p.Tags, step.want) {
				t.Errorf("answered the tags %q, want %q", p.Tags, step.want)
			}
			if p := get(t, s, account, id); !slices.Equal(p.Tags, step.want) {
				t.Errorf("kept the tags %q, want %q", p.Tags, step.want)
			}
		}
	})
}

func TestIDsThatAreNotOnesOwnAreForbidden(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		own := create(t, s, account, `{"first_name":"Own","tags":["a"]}`).ID
		archived := create(t, s, account, `{"first_name":"Archived","tags":["a"]}`).ID
		archive(t, s, account, archived)
		foreign := create(t, s, other, `{"first_name":"Foreign","tags":["a"]}`).ID
		foreignArchived := create(t, s, other, `{"first_name":"Foreign","tags":["a"]}`).ID
		archive(t, s, other, foreignArchived)
		before, _ := listBytes(t, s, account, crm.All, 1, 100)
		beforeOther, _ := listBytes(t, s, other, crm.All, 1, 100)

		in, tags := input(t, `{"first_name":"X","tags":[]}`), []string{"x"}
		use := func(account, id int64) map[string]error {
			_, get := s.Contact(t.Context(), account, id, nil)
			_, update := s.UpdateContact(t.Context(), account, id, in)
			_, add := s.AddTags(t.Context(), account, id, tags)
			_, sync := s.SyncTags(t.Context(), account, id, tags)
			_, remove := s.RemoveTags(t.Context(), account, id, []string{"a"})
			return map[string]error{"get": get, "check": s.CheckContact(t.Context(), account, id), "update": update, "add tags": add,
				"sync tags": sync, "remove tags": remove, "archive": s.ArchiveContact(t.Context(), account, id)}
		}
		for _, id := range []int64{
			foreign, foreignArchived, archived, doc.MakeID(account, 3), doc.MakeID(account, 0), doc.MakeID(account, doc.MaxSeq),
			0, -1, -own, math.MaxInt64, math.MinInt64, doc.MakeID(account+1, 0), doc.MakeID(account+2, 1), doc.MakeID(1_000_000, 1), 999_999_000_000_001,
		} {
			for what, err := range use(account, id) {
				want := crm.ErrNotFound
				if id == archived {
					want = crm.ErrArchived
				}
				wantError(t, fmt.Sprintf("%s %d", what, id), err, want)
			}
			if id != archived {
				_, err := s.RestoreContact(t.Context(), account, id)
				wantError(t, fmt.Sprintf("restore %d", id), err, crm.ErrNotFound)
			}
		}
		for what, err := range use(999_999, doc.MakeID(999_999, 1)) { // a key of an account that no longer exists
			wantError(t, what+" in no account", err, crm.ErrNotFound)
		}
		_, err := s.CreateContact(t.Context(), 999_999, in, crm.Dedupe)
		wantError(t, "create in no account", err, crm.ErrNotFound)
		_, err = s.CreateContact(t.Context(), 999_999, in, crm.Force)
		wantError(t, "create in no account", err, crm.ErrNotFound)

		if after, _ := listBytes(t, s, account, crm.All, 1, 100); after != before {
			t.Errorf("the account has changed from\n%s\nto\n%s", before, after)
		}
		if after, _ := listBytes(t, s, other, crm.All, 1, 100); after != beforeOther {
			t.Errorf("the other account has changed from\n%s\nto\n%s", beforeOther, after)
		}
	})
}

// An answer reveals nothing about a foreign id, not even by the time it takes.
func TestAForeignIDIsKnownBeforeAnyLookUp(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		foreign := create(t, s, other, `{"first_name":"Foreign"}`).ID
		spy := spyOn(t, s)
		for _, id := range []int64{foreign, 0, -1, doc.MakeID(account, 0), doc.MakeID(other, 0), doc.MakeID(1_000_000, 1), 999_999_000_000_001, math.MaxInt64} {
			_, err := s.Contact(t.Context(), account, id, nil)
			wantError(t, fmt.Sprint("get ", id), err, crm.ErrNotFound)
			_, err = s.AddTags(t.Context(), account, id, []string{"x"})
			wantError(t, fmt.Sprint("add tags ", id), err, crm.ErrNotFound)
			_, err = s.RestoreContact(t.Context(), account, id)
			wantError(t, fmt.Sprint("restore ", id), err, crm.ErrNotFound)
		}
		if n := spy.conns.Load(); n != 0 {
			t.Errorf("the database was asked %d times", n)
		}
	})
}

func TestAChangeThatChangesNothingWritesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		now := stopClock(s)
		account := newAccount(t, s).Number
		body := `{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":["a"],"dob":"1/2/1980","addresses":[{"city":"Rome"}]}`
		made := create(t, s, account, body)
		spy := spyOn(t, s)
		now.move(time.Hour)
		for what, change := range map[string]func() (contacts.Document, error){
			"an empty update": func() (contacts.Document, error) {
				return s.UpdateContact(t.Context(), account, made.ID, input(t, `{}`))
			},
			"its own values": func() (contacts.Document, error) {
				return s.UpdateContact(t.Context(), account, made.ID, input(t, body))
			},
			"the same again": func() (contacts.Document, error) {
				return s.CreateContact(t.Context(), account, input(t, body), crm.Dedupe)
			},
			"a tag it has":   func() (contacts.Document, error) { return s.AddTags(t.Context(), account, made.ID, []string{"a"}) },
			"a tag it lacks": func() (contacts.Document, error) { return s.RemoveTags(t.Context(), account, made.ID, []string{"b"}) },
			"a restore":      func() (contacts.Document, error) { return s.RestoreContact(t.Context(), account, made.ID) },
		} {
			d, err := change()
			if err != nil || d.ID != made.ID || string(d.Body) != string(made.Body) {
				t.Errorf("%s: %v, %s became %s", what, err, made.Body, d.Body)
			}
			// If a commit waits for other servers, nothing is acknowledged without a commit: what was found must be there too.
			if n, want := spy.commits.Swap(0), contacts.Flag(o.Database != ""); n != want {
				t.Fatalf("%s: %d commits, want %d", what, n, want)
			}
		}
	})
}

func TestARefusedChangeChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var tags []string
		for i := range 500 {
			tags = append(tags, fmt.Sprintf(`"t%d"`, i))
		}
		made := create(t, s, account, `{"first_name":"A","emails":[{"value":"a@x.org"}],"tags":[`+strings.Join(tags, ",")+`]}`)
		spy := spyOn(t, s)
		_, merge := s.CreateContact(t.Context(), account, input(t, `{"first_name":"B","emails":[{"value":"a@x.org"}],"tags":["one more"]}`), crm.Dedupe)
		_, add := s.AddTags(t.Context(), account, made.ID, []string{"one more"})
		for what, err := range map[string]error{"a merge": merge, "a tag": add} {
			var invalid *doc.Invalid
			if !errors.As(err, &invalid) || invalid.Faults[0].Field != "tags" {
				t.Errorf("%s: got the error %v, want a fault of tags", what, err)
			}
		}
		document, err := s.Contact(t.Context(), account, made.ID, nil)
		if err != nil || string(document) != string(made.Append(nil)) || spy.commits.Load() != 0 {
			t.Errorf("%v: %s", err, document)
		}
	})
}
