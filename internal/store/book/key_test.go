package book

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/people"
)

func newKey(t testing.TB, s *Book, account int64, in access.KeyInput) (access.Key, string) {
	t.Helper()
	if in.Name == "" {
		in.Name = "Test"
	}
	if in.Permissions == 0 {
		in.Permissions = access.AllPermissions
	}
	key, secret := must2(s.CreateKey(t.Context(), account, in))(t)
	return key, secret
}

// lastUse is when a key was last used, as its list shows it.
func lastUse(t testing.TB, s *Book, key access.Key) time.Time {
	t.Helper()
	s.Touching.Wait()
	keys := must(s.Keys(t.Context(), key.Account))(t)
	for _, k := range keys {
		if k.ID == key.ID {
			return k.LastUsedAt
		}
	}
	t.Fatalf("key %d is not listed", key.ID)
	return time.Time{}
}

func TestKeysAreListedAndAuthenticate(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		first, secret := newKey(t, s, account, access.KeyInput{Name: " Website ", Permissions: access.ContactsRead | access.CampaignsRead})
		now.move(time.Minute)
		second, secret2 := newKey(t, s, account, access.KeyInput{Name: "Website", ExpiresAt: now.time().Add(time.Hour)})
		foreign, secret3 := newKey(t, s, other, access.KeyInput{})
		if first.Name != "Website" || first.ID == second.ID || secret == secret2 {
			t.Errorf("%+v and %+v", first, second)
		}
		for account, want := range map[int64][]access.Key{account: {first, second}, other: {foreign}} {
			got, err := s.Keys(t.Context(), account)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		}
		for secret, want := range map[string]access.Principal{
			secret:  {Account: account, Key: first.ID, KeyName: first.Name, Permissions: access.ContactsRead | access.CampaignsRead},
			secret2: {Account: account, Key: second.ID, KeyName: second.Name, Permissions: access.AllPermissions},
			secret3: {Account: other, Key: foreign.ID, KeyName: foreign.Name, Permissions: access.AllPermissions},
		} {
			for range 3 { // from the database, then from memory
				if who, err := s.Authenticate(t.Context(), secret); err != nil || who != want {
					t.Errorf("got %+v, %v, want %+v", who, err, want)
				}
			}
		}
	})
}

func TestSecretsThatAreNotOursAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		_, secret := newKey(t, s, account, access.KeyInput{})
		_, unknown, err := access.NewKey(account, 1, access.KeyInput{Name: "x"}, time.Now()) // of the same key, with other random bits
		if err != nil {
			t.Fatal(err)
		}
		_, later, _ := access.NewKey(account, 2, access.KeyInput{Name: "x"}, time.Now())
		_, nobody, _ := access.NewKey(account+1, 1, access.KeyInput{Name: "x"}, time.Now())
		for _, bad := range []string{"", "x", unknown, later, nobody, secret + "x", secret[1:], " " + secret, strings.ToUpper(secret)} {
			who, err := s.Authenticate(t.Context(), bad)
			wantError(t, bad, err, crm.ErrUnauthenticated)
			if who != (access.Principal{}) {
				t.Errorf("%q is %+v", bad, who)
			}
		}
	})
}

func TestNewKeysAreChecked(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var invalid *doc.Invalid
		if _, secret, err := s.CreateKey(t.Context(), account, access.KeyInput{Name: " "}); !errors.As(err, &invalid) || secret != "" {
			t.Errorf("a key without a name: %v", err)
		}
		if _, _, err := s.CreateKey(t.Context(), account, access.KeyInput{Name: "x", ExpiresAt: time.Now().Add(-time.Hour)}); !errors.As(err, &invalid) {
			t.Errorf("a key that has expired: %v", err)
		}
		_, _, err := s.CreateKey(t.Context(), account+1, access.KeyInput{Name: "x"})
		wantError(t, "a key of no account", err, crm.ErrNotFound)
		if keys, err := s.Keys(t.Context(), account); err != nil || len(keys) != 0 {
			t.Errorf("%v: the keys are %+v", err, keys)
		}
	})
}

func TestARevokedKeyStopsAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account := newAccount(t, s).Number
		key, secret := newKey(t, s, account, access.KeyInput{})
		_, kept := newKey(t, s, account, access.KeyInput{})
		for _, secret := range []string{secret, kept} {
			must(s.Authenticate(t.Context(), secret))(t)
		}
		succeed(t, s.RevokeKey(t.Context(), key.ID))
		_, err := s.Authenticate(t.Context(), secret)
		wantError(t, "the revoked key", err, crm.ErrUnauthenticated)
		if _, err := s.Authenticate(t.Context(), kept); err != nil {
			t.Errorf("the other key: %v", err)
		}
		revoked := now.time()
		now.move(time.Hour)
		if err := s.RevokeKey(t.Context(), key.ID); err != nil { // again
			t.Error(err)
		}
		keys, err := s.Keys(t.Context(), account)
		if err != nil || !keys[0].RevokedAt.Equal(revoked) || !keys[1].RevokedAt.IsZero() {
			t.Errorf("%v: the keys are %+v", err, keys)
		}
		for _, id := range []int64{0, -1, key.ID + 2, doc.MakeID(account+1, 1)} {
			wantError(t, "a key that never was", s.RevokeKey(t.Context(), id), crm.ErrNotFound)
		}
	})
}

// A key that is being looked up while it is revoked must not be cached.
func TestARevokedKeyStopsThoughItWasJustRead(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		stopClock(s)
		key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
		spy := spyOn(t, s)
		spy.read = func(sql string) {
			if sql != people.SQLKey {
				return
			}
			spy.read = nil
			if err := s.RevokeKey(context.Background(), key.ID); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Authenticate(t.Context(), secret); err != nil {
			t.Errorf("it was in force when it was read: %v", err)
		}
		_, err := s.Authenticate(t.Context(), secret)
		wantError(t, "the revoked key", err, crm.ErrUnauthenticated)
		s.Touching.Wait() // before the spy is removed
	})
}

func TestConcurrentKeyRevokedElsewhereStopsWithinTwoSeconds(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		now := stopClock(a)
		b.Now = now.time
		key, secret := newKey(t, a, newAccount(t, a).Number, access.KeyInput{})
		for _, s := range []*Book{a, b} {
			must(s.Authenticate(t.Context(), secret))(t)
		}
		succeed(t, a.RevokeKey(t.Context(), key.ID))
		_, err := a.Authenticate(t.Context(), secret)
		wantError(t, "where it was revoked", err, crm.ErrUnauthenticated)
		now.move(2 * time.Second)
		_, err = b.Authenticate(t.Context(), secret)
		wantError(t, "elsewhere, two seconds later", err, crm.ErrUnauthenticated)
	})
}

func TestAKeyExpiresToTheSecond(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		_, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{ExpiresAt: now.time().Add(10 * time.Second)})
		now.move(9*time.Second + 900*time.Millisecond)
		for range 2 { // it may be cached for a moment, but not for longer than it is valid
			if _, err := s.Authenticate(t.Context(), secret); err != nil {
				t.Error(err)
			}
		}
		now.move(100 * time.Millisecond)
		_, err := s.Authenticate(t.Context(), secret)
		wantError(t, "the expired key", err, crm.ErrUnauthenticated)
	})
}

func TestTheLastUseIsWrittenOnceAMinute(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
		if !lastUse(t, s, key).IsZero() {
			t.Error("a new key was used")
		}
		spy := spyOn(t, s)
		use := func(wantCommits int64, wantUse time.Time) {
			t.Helper()
			must(s.Authenticate(t.Context(), secret))(t)
			if got := lastUse(t, s, key); !got.Equal(wantUse) || spy.commits.Load() != wantCommits {
				t.Errorf("after %d commits the last use is %v, want %d and %v", spy.commits.Load(), got, wantCommits, wantUse)
			}
		}
		first := now.time()
		use(1, first)
		for range 59 {
			now.move(time.Second)
			use(1, first)
		}
		now.move(time.Second)
		use(2, first.Add(time.Minute))
		now.move(time.Hour)
		use(3, first.Add(61*time.Minute))
	})
}

func TestConcurrentManyUsesAtOnceAreOneNote(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
		atOnce(32, func(int) {
			if _, err := s.Authenticate(t.Context(), secret); err != nil {
				t.Error(err)
			}
		})
		if got := lastUse(t, s, key); !got.Equal(now.time()) {
			t.Errorf("the last use is %v", got)
		}
	})
}

func TestTheSecretIsNowhereInTheFiles(t *testing.T) {
	t.Parallel()
	o := newSQLite(t)
	s := open(t, o)
	key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{Name: "Findable name"})
	must(s.Authenticate(t.Context(), secret))(t)
	lastUse(t, s, key) // is written meanwhile
	succeed(t, s.RevokeKey(t.Context(), key.ID))
	random, found := secret[len("dbk_")+8:len(secret)-6], 0
	for _, entry := range must(os.ReadDir(o.Data))(t) {
		content := must(os.ReadFile(filepath.Join(o.Data, entry.Name())))(t)
		found += bytes.Count(content, []byte("Findable name"))
		for _, part := range []string{random[:12], random[len(random)-12:]} {
			if bytes.Contains(content, []byte(part)) {
				t.Errorf("%s holds a part of a secret", entry.Name())
			}
		}
	}
	if found == 0 {
		t.Error("the name of the key was not found either")
	}
}
