package store

import (
	"errors"
	"fmt"
	"testing"

	"donorbook/internal/crm"
)

// What a batch looks up before it runs is what its earlier changes leave, not what was there before them.
func TestAChangeSeesWhatEarlierOnesOfItsBatchDid(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s).Number
		old := create(t, s, account, `{"first_name":"Old","emails":[{"value":"old@x.org"}]}`).ID
		made := make([]Document, 6)
		creates := func(i int, body string) func() error {
			in := input(t, body)
			return func() (err error) {
				made[i], err = s.CreateContact(t.Context(), account, in, crm.Dedupe)
				return err
			}
		}
		patch := input(t, `{"emails":[{"value":"moved@x.org"}]}`)
		errs := together(t, s, account,
			creates(0, `{"first_name":"Ana","emails":[{"value":"ana@x.org"}]}`),
			creates(1, `{"emails":[{"value":"ana@x.org"}],"tags":["again"]}`),
			func() error {
				_, err := s.UpdateContact(t.Context(), account, old, patch)
				return err
			},
			creates(2, `{"first_name":"New","emails":[{"value":"old@x.org"}]}`),
			creates(3, `{"emails":[{"value":"moved@x.org"}],"tags":["found"]}`),
			func() error {
				_, err := s.AddTags(t.Context(), account, old, []string{"last"})
				return err
			},
			func() error { return s.ArchiveContact(t.Context(), account, old) },
			creates(4, `{"first_name":"Other","emails":[{"value":"moved@x.org"}]}`),
			func() error {
				_, err := s.AddTags(t.Context(), account, old, []string{"late"})
				if !errors.Is(err, crm.ErrForbidden) {
					t.Errorf("a tag for an archived contact: %v", err)
				}
				return nil
			})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			seq    int64
			merged bool
		}{{2, false}, {2, true}, {3, false}, {1, true}, {4, false}} {
			if crm.IDSeq(made[i].ID) != want.seq || made[i].Merged != want.merged {
				t.Errorf("create %d: contact %d, merged %v; want %+v", i, crm.IDSeq(made[i].ID), made[i].Merged, want)
			}
		}
		tag := func(name string) func() error {
			return func() error {
				_, err := s.AddTags(t.Context(), account, made[2].ID, []string{name})
				return err
			}
		}
		if err := errors.Join(together(t, s, account, tag("a"), tag("b"), creates(5, `{"emails":[{"value":"old@x.org"}],"tags":["c"]}`), tag("d"))...); err != nil {
			t.Fatal(err)
		}
		if tags := get(t, s, account, made[2].ID).Tags; fmt.Sprint(tags) != "[a b c d]" {
			t.Errorf("the tags of the contact that was changed again and again are %q", tags)
		}
		restored := parse(t, restore(t, s, account, old).Append(nil))
		if fmt.Sprint(restored.Tags) != "[found last]" {
			t.Errorf("the tags of the changed contact are %q", restored.Tags)
		}
	})
}
