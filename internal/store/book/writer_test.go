package book

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// held stops the writer of an account, so that the changes that are queued meanwhile become one batch; release lets
// it continue.
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
			time.Sleep(10 * time.Microsecond)
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
		return errOf(s.CreateContact(t.Context(), account, in, crm.Dedupe))
	}
}

// names are the first names of the account's contacts, oldest first.
func (s *folk) names() (names []string) {
	s.Helper()
	ids, _ := s.page(crm.All, 1, 100)
	for _, id := range ids {
		names = append(names, s.get(id).FirstName)
	}
	return names
}

func TestConcurrentWhatWaitsCommitsTogether(t *testing.T) {
	s := newFolk(t)
	spy := spyOn(t, s.Book)
	for _, test := range []struct{ changes, commits int64 }{{64, 1}, {100, 1}, {101, 2}, {1, 1}} {
		before := spy.commits.Load()
		changes := make([]func() error, test.changes)
		for i := range changes {
			changes[i] = s.creating(fmt.Sprintf("N%d-%d", test.changes, i))
		}
		for _, err := range s.together(changes...) {
			succeed(t, err)
		}
		equal(t, spy.commits.Load()-before, test.commits, "%d changes took commits", test.changes)
	}
	if _, total := s.page(crm.Active, 1, 1); total != 266 {
		t.Errorf("%d contacts were made", total)
	}
}

func TestConcurrentOneBadChangeDoesNotDisturbItsNeighbors(t *testing.T) {
	failure := errors.New("no")
	write := func(tx *store.Tx, account int64) { // something that must not stay
		c := must(crm.NewContact(crm.ContactInput{Emails: &[]crm.Email{}}, time.Now()))(t)
		must(store.InsertContact(tx, account, c))(t)
	}
	const panicked = "panic: a value of type string"
	for name, test := range map[string]struct {
		fn   func(tx *store.Tx, account int64) error
		want string
	}{
		"refused": {func(*store.Tx, int64) error { return failure }, "no"},
		"refused after it wrote": {func(tx *store.Tx, account int64) error {
			write(tx, account)
			return failure
		}, "no"},
		"failing in SQL": {func(tx *store.Tx, account int64) error {
			return errOf(tx.Exec(
				`INSERT INTO account_tally (account_id, last_created, contact_seq, contact_active, key_seq,
					campaign_revision) VALUES ($1, 0, 0, 0, 0, 0)`, account))
		}, "taken"},
		"failing in SQL that it does not wait for": {func(tx *store.Tx, account int64) error {
			tx.Insert(store.TallyTable, store.NewTally(account).Values()...)
			return nil
		}, "taken"},
		"panicking": {func(*store.Tx, int64) error { panic("oops") }, panicked},
		"panicking after it wrote": {func(tx *store.Tx, account int64) error {
			write(tx, account)
			panic("oops")
		}, panicked},
		"panicking after it counted": {func(tx *store.Tx, account int64) error {
			row := must(tx.LockAccount(account))(t)
			row.ContactSeq, row.ContactActive, row.Dirty = row.ContactSeq+5, row.ContactActive+5, true
			panic("oops")
		}, panicked},
		"panicking over a row": {func(tx *store.Tx, account int64) error {
			return tx.Each(func(db.Row) error { panic("oops") }, store.SQLTally, account)
		}, panicked},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFolk(t)
			s.create(`{"first_name":"Zero"}`)
			bad := func() error {
				return s.Update(t.Context(), s.Number, store.Needs{},
					func(tx *store.Tx) error { return test.fn(tx, s.Number) })
			}
			errs := s.together(s.creating("One"), s.creating("Two"), bad, s.creating("Three"), bad, s.creating("Four"))
			says(t, "the bad change", test.want)(errs[2])
			says(t, "the bad change", test.want)(errs[4])
			succeed(t, errors.Join(errs[0], errs[1], errs[3], errs[5]))
			says(t, "the bad change alone", test.want)(bad())
			s.create(`{"first_name":"Five"}`)
			equal(t, s.names(), []string{"Zero", "One", "Two", "Three", "Four", "Five"}, "the contacts")
		})
	}
}

func TestConcurrentCommitThatFailsIsToldToAll(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	spy := spyOn(t, s.Book)
	broken := errors.New("the disk is gone")
	spy.committing = func() error { return broken }
	failure := errors.New("no")
	errs := s.together(s.creating("One"), func() error {
		return s.Update(t.Context(), account, store.Needs{}, func(*store.Tx) error { return failure })
	}, s.creating("Two"))
	wantError(t, "the first", errs[0], crm.ErrUnavailable)
	wantError(t, "the refused one, which may have been refused for what the first had done", errs[1],
		crm.ErrUnavailable)
	wantError(t, "the last", errs[2], crm.ErrUnavailable)
	s.wantLists(nil, nil)
	spy.committing = nil
	s.create(`{"first_name":"Three"}`)
	s.wantLists([]int64{1}, nil)
}

func TestConcurrentClientThatLeavesBeforeItsTurnChangesNothing(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	leaving, leave := context.WithCancel(t.Context())
	release := held(t, s.Book, s.Number)
	in := input(t, `{"first_name":"Gone"}`)
	wait := queue(s.Book, account, s.creating("One"), func() error {
		return errOf(s.CreateContact(leaving, account, in, crm.Dedupe))
	}, s.creating("Two"))
	leave()
	release()
	errs := wait()
	wantError(t, "who left", errs[1], context.Canceled)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("the neighbors got %v and %v", errs[0], errs[2])
	}
	for range 10 {
		wantError(t, "who left long ago", errOf(s.CreateContact(leaving, account, in, crm.Dedupe)), context.Canceled)
	}
	equal(t, s.names(), []string{"One", "Two"}, "the contacts")
}

// Once a change has begun, it is not undone if its client disconnects: it is on disk, or it is refused.
func TestAClientThatLeavesLaterGetsItsChange(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	spy := spyOn(t, s.Book)
	leaving, leave := context.WithCancel(t.Context())
	spy.committing = func() error { leave(); return nil }
	must(s.CreateContact(leaving, account, input(t, `{"first_name":"A"}`), crm.Dedupe))(t)
	s.wantLists([]int64{1}, nil)
}

func TestConcurrentCloseFinishesWhatIsQueued(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	release := held(t, s.Book, s.Number)
	var changes []func() error
	for i := range 10 {
		changes = append(changes, s.creating(fmt.Sprintf("N%d", i)))
	}
	wait := queue(s.Book, s.Number, changes...)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	await(t, "the end", s.Db.Closing)
	wantError(t, "a write after the end has begun", s.creating("Late")(), crm.ErrUnavailable)
	release()
	for _, err := range append(wait(), <-closed) {
		succeed(t, err)
	}
	wantError(t, "a write after the end", s.creating("Later")(), crm.ErrUnavailable)
	equal(t, len(folkIn(t, open(t, o), s.Account).names()), 10, "the contacts")
}

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
	a, b := twoFolk(t)
	account := a.Number

	stores := []*Book{a.Book, b.Book}
	var m activity
	for i := range 24 {
		writer, reader := stores[i%2], stores[(i+1)%2]
		switch {
		case i%4 < 3:
			d := create(t, writer, account, fmt.Sprintf(`{"first_name":"N%d","emails":[{"value":"n%d@x.org"}]}`, i, i))
			m = append(m, true)
			equal(t, d.ID, doc.MakeID(account, int64(len(m))), "contact %d has the id", len(m))
			if d := create(t, reader, account, fmt.Sprintf(`{"emails":[{"value":"N%d@x.org"}],"tags":["seen"]}`,
				i)); !d.Merged {
				t.Errorf("the other store does not find contact %d", i)
			}
			equal(t, get(t, writer, account, d.ID).Tags, []string{"seen"}, "the tags of %d", d.ID)
		default:
			seq := i % len(m)
			archive(t, writer, account, doc.MakeID(account, int64(seq)+1))
			m[seq] = false
		}
		for _, s := range stores {
			wantLists(t, s, account, m.of(true), m.of(false))
		}
	}
}

func TestConcurrentTwoStoresWriteAtOnce(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Number

	stores := []*Book{a.Book, b.Book}
	documents := make([]store.ContactDocument, 64)
	atOnce(64, func(i int) { // one person on both nodes, and a new one on each
		s := stores[i%2]
		documents[i] = create(t, s, account,
			fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"tags":["t%d"]}`, i))
		create(t, s, account, fmt.Sprintf(`{"first_name":"N%d"}`, i))
		if _, total := page(t, s, account, crm.All, 1, 20); total < 2 {
			t.Errorf("%d contacts right after two were made", total)
		}
	})
	ana := documents[0].ID
	for _, d := range documents {
		equal(t, d.ID, ana, "one email, and the contacts")
	}
	for _, s := range stores {
		equal(t, len(get(t, s, account, ana).Tags), 64, "of 64 tags")
		var seen []int64
		for number := int64(1); number <= 4; number++ {
			ids, total := page(t, s, account, crm.Active, number, 20)
			seen = append(seen, ids...)
			equal(t, total, 65, "contacts in all, want 65")
		}
		if len(slices.Compact(seen)) != 65 || !slices.IsSorted(seen) {
			t.Errorf("the pages show %d contacts", len(seen))
		}
	}
}

func TestConcurrentStoresOpenedAtOnceMakeOneDatabase(t *testing.T) {
	ctx := t.Context()
	o := newDatabase(t)
	atOnce(6, func(int) {
		s, err := Open(ctx, o)
		if err != nil {
			t.Error(err)
			return
		}
		must(s.CreateAccount(ctx, "Test", ""))(t)
		succeed(t, s.Close())
	})
	equal(t, len(must(open(t, o).Accounts(ctx))(t)), 6, "accounts")
}

// What happens if one node is about to commit and another begins.

// whileCommitting lets another node begin when a store is about to commit for the first time. It goes on when the
// other one waits for its lock, or has ended because nothing held it up. finish waits for its end.
func whileCommitting(t testing.TB, s, other *Book, do func()) (finish func()) {
	t.Helper()
	spy, done, writing := spyOn(t, s), make(chan struct{}), make(chan struct{})
	spyOn(t, other).writing = sync.OnceFunc(func() { close(writing) })
	spy.committing = func() error {
		spy.committing = nil
		go func() {
			defer close(done)
			do()
		}()
		select {
		case <-done:
		case <-writing: // on SQLite, what comes next is the lock
			if _, onSQLite := s.Db.LogSize(); !onSQLite {
				await(t, "a lock that someone waits for", func() bool { return ended(done) || locked(t, s) })
			}
		}
		return nil
	}
	return func() { <-done }
}

func ended(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// locked tells whether someone waits for a lock of a PostgreSQL database.
func locked(t testing.TB, s *Book) (waits bool) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) error {
		n, err := c.Int(
			`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		waits = n > 0
		return err
	}))
	return waits
}

func TestConcurrentSecondFirstUserWaitsForTheFirst(t *testing.T) {
	a, b := twoNodes(t)
	token := setupToken(t, a)
	var late error
	finish := whileCommitting(t, a, b, func() {
		_, _, late = b.Setup(context.Background(), token, founder("bob"))
	})
	_, _, err := a.Setup(t.Context(), token, founder("ada"))
	finish()
	succeed(t, err)
	wantError(t, "the second", late, crm.ErrNotFound)
	equal(t, len(must(a.Users(t.Context()))(t)), 1, "the users")
}

func TestConcurrentSecondChangeOfAPasswordWaitsForTheFirst(t *testing.T) {
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	session, err := a.Session(t.Context(), signIn(t, a, ada.Email, goodPassword))
	succeed(t, err)
	var late error
	finish := whileCommitting(t, a, b, func() {
		late = b.ChangePassword(context.Background(), session, goodPassword, "the second password")
	})
	err = a.ChangePassword(t.Context(), session, goodPassword, "the first password")
	finish()
	succeed(t, err)
	wantRefused(t, "the second", late, "current_password")
	signIn(t, b, ada.Email, "the first password")
}

// An attacker with a stolen password signs in at the moment when it is changed.
func TestConcurrentPasswordThatIsBeingChangedElsewhereStartsNoSession(t *testing.T) {
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	var late error
	finish := whileCommitting(t, a, b, func() {
		_, _, late = b.SignIn(context.Background(), ada.Email, goodPassword, access.Device{})
	})
	err := a.ResetPassword(t.Context(), ada.Email, "another password")
	finish()
	succeed(t, err)
	wantError(t, "the old password", late, crm.ErrUnauthenticated)
	equal(t, len(must(a.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
}

func TestConcurrentSecondUserOfALinkWaitsForTheFirst(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Account

	ada := newUser(t, a.Book, account, access.Owner, "ada")
	_, token := invite(t, a.Book, a.Account, ada, access.Editor)
	var late error
	finish := whileCommitting(t, a.Book, b.Book, func() {
		_, _, late = b.JoinByInvitation(context.Background(), token, joiner("eve"))
	})
	_, _, err := a.JoinByInvitation(t.Context(), token, joiner("bob"))
	finish()
	succeed(t, err)
	wantError(t, "the second", late, crm.ErrNotFound)
	wantRoles(t, a.Book, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
}

func TestConcurrentSecondOwnerWhoLeavesWaitsForTheFirst(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Account

	ada, bob := newUser(t, a.Book, account, access.Owner, "ada"), newUser(t, a.Book, account, access.Owner, "bob")
	var late error
	finish := whileCommitting(t, a.Book, b.Book, func() {
		late = b.RemoveMember(context.Background(), a.Number,
			bob.ID)
	})
	err := a.SetRole(t.Context(), a.Number, ada.ID, access.Viewer)
	finish()
	succeed(t, err)
	wantRefused(t, "the second", late, "role")
}
