package book

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// held stops the writer of an account, so that the changes that are queued meanwhile become one batch; release lets it continue.
func held(t *testing.T, s *Book, account int64) (release func()) {
	t.Helper()
	started, free := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	refused := errors.New("held") // so that nothing is written
	go func() {
		ended <- s.UpdateShared(context.Background(), account, func(*store.Tx) error {
			close(started)
			<-free
			return refused
		})
	}()
	<-started
	return func() {
		close(free)
		wantError(t, "who held the writer", <-ended, refused)
	}
}

// queue starts changes one after the other while the writer is held. wait returns their errors.
func queue(s *Book, account int64, changes ...func() error) (wait func() []error) {
	results := make([]chan error, len(changes))
	for i, change := range changes {
		results[i] = make(chan error, 1)
		before := s.Db.Queued()
		go func() { results[i] <- change() }()
		for s.Db.Queued() == before {
			runtime.Gosched()
		}
	}
	return func() (errs []error) {
		for _, result := range results {
			errs = append(errs, <-result)
		}
		return errs
	}
}

// together runs changes as one batch.
func together(t *testing.T, s *Book, account int64, changes ...func() error) []error {
	t.Helper()
	release := held(t, s, account)
	wait := queue(s, account, changes...)
	release()
	return wait()
}

// creating is a change that creates a contact.
func creating(t *testing.T, s *Book, account int64, name string) func() error {
	in := input(t, fmt.Sprintf(`{"first_name":%q,"emails":[{"value":"%s@x.org"}]}`, name, strings.ToLower(name)))
	return func() error {
		_, err := s.CreateContact(t.Context(), account, in, crm.Dedupe)
		return err
	}
}

// names are the first names of the account's contacts, oldest first.
func names(t *testing.T, s *Book, account int64) (names []string) {
	t.Helper()
	ids, _ := page(t, s, account, crm.All, 1, 100)
	for _, id := range ids {
		names = append(names, get(t, s, account, id).FirstName)
	}
	return names
}

func TestConcurrentWhatWaitsCommitsTogether(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spy := spyOn(t, s)
		for _, test := range []struct{ changes, commits int64 }{{64, 1}, {100, 1}, {101, 2}, {1, 1}} {
			before := spy.commits.Load()
			changes := make([]func() error, test.changes)
			for i := range changes {
				changes[i] = creating(t, s, account, fmt.Sprintf("N%d-%d", test.changes, i))
			}
			for _, err := range together(t, s, account, changes...) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if commits := spy.commits.Load() - before; commits != test.commits {
				t.Errorf("%d changes took %d commits, want %d", test.changes, commits, test.commits)
			}
		}
		if _, total := page(t, s, account, crm.Active, 1, 1); total != 266 {
			t.Errorf("%d contacts were made", total)
		}
	})
}

func TestConcurrentOneBadChangeDoesNotDisturbItsNeighbors(t *testing.T) {
	failure := errors.New("no")
	write := func(tx *store.Tx, account int64) error { // something that must not stay
		in := crm.ContactInput{Emails: &[]crm.Email{}}
		c, err := crm.NewContact(in, time.Now())
		if err != nil {
			return err
		}
		_, err = contacts.InsertContact(tx, account, c)
		return err
	}
	for _, test := range []struct {
		name string
		fn   func(tx *store.Tx, account int64) error
		want string
	}{
		{"refused", func(*store.Tx, int64) error { return failure }, "no"},
		{"refused after it wrote", func(tx *store.Tx, account int64) error {
			if err := write(tx, account); err != nil {
				return err
			}
			return failure
		}, "no"},
		{"failing in SQL", func(tx *store.Tx, account int64) error {
			_, err := tx.Exec(`INSERT INTO account_tally (account_id, last_created, contact_seq, contact_active, key_seq, campaign_revision) VALUES ($1, 0, 0, 0, 0, 0)`, account)
			return err
		}, "taken"},
		{"failing in SQL that it does not wait for", func(tx *store.Tx, account int64) error {
			tx.Insert(store.TallyTable, store.NewTally(account).Values()...)
			return nil
		}, "taken"},
		{"panicking", func(*store.Tx, int64) error { panic("oops") }, "panic: a value of type string"},
		{"panicking after it wrote", func(tx *store.Tx, account int64) error {
			if err := write(tx, account); err != nil {
				return err
			}
			panic("oops")
		}, "panic: a value of type string"},
		{"panicking after it counted", func(tx *store.Tx, account int64) error {
			row, err := tx.LockAccount(account)
			if err != nil {
				return err
			}
			row.ContactSeq, row.ContactActive, row.Dirty = row.ContactSeq+5, row.ContactActive+5, true
			panic("oops")
		}, "panic: a value of type string"},
		{"panicking over a row", func(tx *store.Tx, account int64) error {
			return tx.Each(func(db.Row) error { panic("oops") }, store.SQLTally, account)
		}, "panic: a value of type string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				account := newAccount(t, s).Number
				create(t, s, account, `{"first_name":"Zero"}`)
				bad := func() error {
					return s.Update(t.Context(), account, store.Needs{}, func(tx *store.Tx) error { return test.fn(tx, account) })
				}
				errs := together(t, s, account, creating(t, s, account, "One"), creating(t, s, account, "Two"), bad,
					creating(t, s, account, "Three"), bad, creating(t, s, account, "Four"))
				for i, err := range errs {
					if i == 2 || i == 4 {
						if err == nil || !strings.Contains(err.Error(), test.want) {
							t.Errorf("the bad change: got %v, want %s", err, test.want)
						}
					} else if err != nil {
						t.Errorf("change %d: %v", i, err)
					}
				}
				if err := bad(); err == nil || !strings.Contains(err.Error(), test.want) { // alone
					t.Errorf("the bad change alone: got %v, want %s", err, test.want)
				}
				create(t, s, account, `{"first_name":"Five"}`)
				if got := names(t, s, account); !slices.Equal(got, []string{"Zero", "One", "Two", "Three", "Four", "Five"}) {
					t.Errorf("the contacts are %q", got)
				}
			})
		})
	}
}

func TestConcurrentCommitThatFailsIsToldToAll(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spy := spyOn(t, s)
		broken := errors.New("the disk is gone")
		spy.committing = func() error { return broken }
		failure := errors.New("no")
		errs := together(t, s, account, creating(t, s, account, "One"), func() error {
			return s.Update(t.Context(), account, store.Needs{}, func(*store.Tx) error { return failure })
		}, creating(t, s, account, "Two"))
		wantError(t, "the first", errs[0], crm.ErrUnavailable)
		wantError(t, "the refused one, which may have been refused for what the first had done", errs[1], crm.ErrUnavailable)
		wantError(t, "the last", errs[2], crm.ErrUnavailable)
		wantLists(t, s, account, nil, nil)
		spy.committing = nil
		create(t, s, account, `{"first_name":"Three"}`)
		wantLists(t, s, account, []int64{1}, nil)
	})
}

func TestConcurrentClientThatLeavesBeforeItsTurnChangesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		leaving, leave := context.WithCancel(t.Context())
		release := held(t, s, account)
		in := input(t, `{"first_name":"Gone"}`)
		wait := queue(s, account, creating(t, s, account, "One"), func() error {
			_, err := s.CreateContact(leaving, account, in, crm.Dedupe)
			return err
		}, creating(t, s, account, "Two"))
		leave()
		release()
		errs := wait()
		wantError(t, "who left", errs[1], context.Canceled)
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the neighbors got %v and %v", errs[0], errs[2])
		}
		for range 10 {
			_, err := s.CreateContact(leaving, account, in, crm.Dedupe)
			wantError(t, "who left long ago", err, context.Canceled)
		}
		if got := names(t, s, account); !slices.Equal(got, []string{"One", "Two"}) {
			t.Errorf("the contacts are %q", got)
		}
	})
}

// Once a change has begun, it is not undone if its client disconnects: it is on disk, or it is refused.
func TestAClientThatLeavesLaterGetsItsChange(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		spy := spyOn(t, s)
		leaving, leave := context.WithCancel(t.Context())
		spy.committing = func() error { leave(); return nil }
		if _, err := s.CreateContact(leaving, account, input(t, `{"first_name":"A"}`), crm.Dedupe); err != nil {
			t.Error(err)
		}
		wantLists(t, s, account, []int64{1}, nil)
	})
}

func TestConcurrentCloseFinishesWhatIsQueued(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		release := held(t, s, account)
		var changes []func() error
		for i := range 10 {
			changes = append(changes, creating(t, s, account, fmt.Sprintf("N%d", i)))
		}
		wait := queue(s, account, changes...)
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		for !s.Db.Closing() {
			runtime.Gosched()
		}
		wantError(t, "a write after the end has begun", creating(t, s, account, "Late")(), crm.ErrUnavailable)
		release()
		for _, err := range append(wait(), <-closed) {
			if err != nil {
				t.Error(err)
			}
		}
		wantError(t, "a write after the end", creating(t, s, account, "Later")(), crm.ErrUnavailable)
		if got := names(t, open(t, o), account); len(got) != 10 {
			t.Errorf("the contacts are %q", got)
		}
	})
}
