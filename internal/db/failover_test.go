//go:build drill

package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// pair is a primary, a standby that every commit waits for, and the URL of a database that names both.
func pair(t *testing.T) (primary, standby *pgtest.Cluster, url string) {
	t.Helper()
	primary, standby = must2(pgtest.Pair())(t)
	t.Cleanup(standby.Remove)
	t.Cleanup(primary.Remove)
	succeed(t, primary.Exec("CREATE DATABASE donors"))
	const address = "postgres://postgres@127.0.0.1:%s,127.0.0.1:%s/donors?sslmode=disable&target_session_attrs=read-write"
	return primary, standby, fmt.Sprintf(address, primary.Port, standby.Port)
}

// openHasty opens a store that does not wait long for a standby.
func openHasty(t *testing.T, url string) *book.Book {
	t.Helper()
	s := open(t, store.Options{Database: url})
	s.DB().SetCommitTimeout(700 * time.Millisecond)
	return s
}

func TestNoAcknowledgedWriteIsLostWhenTheStandbyTakesOver(t *testing.T) {
	t.Parallel()
	primary, standby, url := pair(t)
	s := openHasty(t, url)
	l := startLoad(t, s)
	l.recover()
	primary.Kill()
	succeed(t, standby.Promote())
	took := l.recover()
	l.mu.Lock()
	pause := l.pause
	l.mu.Unlock()
	t.Logf("everything worked again %v after the standby took over; the longest pause between creates was %v", took,
		pause)

	// A primary that waits for a standby that does not exist: as after a promotion that did not change the settings.
	succeed(t, standby.Set("synchronous_standby_names", "FIRST 1 (s1)"))
	ready(t, s, false)
	before := l.done[0].Load()
	wantUnavailable(t, s, l.account)
	equal(t, l.done[0].Load(), before)
	if n := connections(t, standby.URL("donors")); n > db.PostgresReaders+2*db.PostgresWriters {
		t.Errorf("%d connections", n)
	}
	succeed(t, standby.Set("synchronous_standby_names", ""))
	l.recover()
	ready(t, s, true)
	l.stop()
	if l.slowest > 15*time.Second {
		t.Errorf("somebody waited for %v", l.slowest)
	}

	// The old primary comes back, does not know of the promotion, and is first in the URL.
	succeed(t, primary.Start())
	misled := openHasty(t, url)
	ready(t, misled, false)
	wantUnavailable(t, misled, l.account)
	ready(t, s, true) // this store never left the new primary
	primary.Kill()
	ready(t, misled, true)
	rig.Get(t, misled, l.account, doc.MakeID(l.account, 1))
}

func wantUnavailable(t *testing.T, s *book.Book, account int64) {
	t.Helper()
	_, err := s.CreateContact(t.Context(), account, input(t, `{"emails":[{"value":"first@x.org"}],"tags":["new"]}`),
		crm.Dedupe)
	wantError(t, "a create that no standby has", err, crm.ErrUnavailable)
}

// waiting waits until a commit waits for the standby, and returns the process that does.
func waiting(t *testing.T, primary *pgtest.Cluster) (pid int64) {
	t.Helper()
	const waits = "SELECT COALESCE(MAX(pid), 0) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	waitUntil(t, primary.URL("donors"), waits, 1)
	return must(pgtest.Number(primary.URL("donors"), waits))(t)
}

func TestWhatOneServerAloneHasIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	primary, standby, url := pair(t)
	s := openHasty(t, url)
	account, another := newAccount(t, s).Number, newAccount(t, s).Number
	key, _ := must2(s.CreateKey(t.Context(), account, access.KeyInput{Name: "K", Permissions: access.ContactsRead}))(t)
	// later runs a change and, while its commit waits for the standby, something else. It returns the change's error.
	later := func(change func() error, meanwhile func(pid int64)) error {
		result := make(chan error, 1)
		go func() { result <- change() }()
		meanwhile(waiting(t, primary))
		return <-result
	}
	cancel := func(pid int64) { succeed(t, primary.Exec(fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid))) }
	ana, dora := creating(t, s, account, "Ana"), attempting(t, s, another, "Dora")
	revoke := func() error { return s.RevokeKey(t.Context(), key.ID) }

	standby.Freeze()
	wantError(t, "a create whose wait was canceled", later(ana, cancel), crm.ErrUnavailable)
	wantError(t, "an attempt whose wait was canceled", later(dora, cancel), crm.ErrUnavailable)
	wantError(t, "a revocation whose wait was canceled", later(revoke, cancel), crm.ErrUnavailable)
	if got := append(names(t, s, account), names(t, s, another)...); len(got) != 2 {
		t.Fatalf("the contacts are %q: the test has not come to its point", got)
	}
	// These change nothing now, but must still wait for the standby.
	wantError(t, "the same create again", ana(), crm.ErrUnavailable)
	wantError(t, "the same attempt again", dora(), crm.ErrUnavailable)
	wantError(t, "the same revocation again", revoke(), crm.ErrUnavailable)

	// A client that stops waiting does not end the commit on the server: no client sees what the standby does not have.
	other := newAccountFrozen(t, s, standby)
	standby.Freeze()
	wantError(t, "a create that nobody waits for any more", creating(t, s, other, "Ben")(), crm.ErrUnavailable)
	equal(t, len(names(t, s, other)), 0, "seen before the standby")
	standby.Thaw()
	for range 500 {
		if s.DB().PendingCommits() > 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	equal(t, len(names(t, s, other)), 1)
	for _, again := range []func() error{ana, dora, revoke, creating(t, s, other, "Ben")} {
		succeed(t, again())
	}

	// A client that disconnects while its commit waits does not undo it.
	standby.Freeze()
	ctx, leave := context.WithCancel(t.Context())
	in := input(t, `{"first_name":"Cleo"}`)
	succeed(t, later(func() error {
		_, err := s.CreateContact(ctx, account, in, crm.Dedupe)
		return err
	}, func(int64) { leave(); standby.Thaw() }))

	primary.Kill()
	succeed(t, standby.Promote())
	ready(t, s, true)
	if got := append(names(t, s, account), names(t, s, another)...); !slices.Equal(got,
		[]string{"Ana", "Cleo", "Dora"}) {
		t.Errorf("after the standby took over the contacts are %q", got)
	}
	if keys, err := s.Keys(t.Context(), account); err != nil || len(keys) != 1 || keys[0].RevokedAt.IsZero() {
		t.Errorf("after the standby took over the keys are %+v, %v", keys, err)
	}
}

// newAccountFrozen creates an account while the standby works.
func newAccountFrozen(t *testing.T, s *book.Book, standby *pgtest.Cluster) int64 {
	t.Helper()
	standby.Thaw()
	for range 500 {
		account, err := s.CreateAccount(t.Context(), "Other", "")
		if err == nil {
			return account.Number
		}
		if !errors.Is(err, crm.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	t.Fatal("no account can be made")
	return 0
}
