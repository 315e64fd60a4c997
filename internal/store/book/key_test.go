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
	"donorbook/internal/db"
	"donorbook/internal/store"
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
	s := newBook(t)
	now := stopClock(s)
	account, other := newAccount(t, s).Number, newAccount(t, s).Number
	first, secret := newKey(t, s, account, access.KeyInput{Name: " Website ",
		Permissions: access.ContactsRead | access.CampaignsRead})
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
		secret: {Account: account, Key: first.ID, KeyName: first.Name,
			Permissions: access.ContactsRead | access.CampaignsRead},
		secret2: {Account: account, Key: second.ID, KeyName: second.Name, Permissions: access.AllPermissions},
		secret3: {Account: other, Key: foreign.ID, KeyName: foreign.Name, Permissions: access.AllPermissions},
	} {
		for range 3 { // from the database, then from memory
			equal(t, must(s.Authenticate(t.Context(), secret))(t), want)
		}
	}
}

func TestSecretsThatAreNotOursAreRefused(t *testing.T) {
	s, account := newBookOf(t)
	_, secret := newKey(t, s, account, access.KeyInput{})
	// of the same key, with other random bits
	_, unknown, err := access.NewKey(account, 1, access.KeyInput{Name: "x"}, time.Now())
	succeed(t, err)
	_, later, _ := access.NewKey(account, 2, access.KeyInput{Name: "x"}, time.Now())
	_, nobody, _ := access.NewKey(account+1, 1, access.KeyInput{Name: "x"}, time.Now())
	for _, bad := range []string{"", "x", unknown, later, nobody, secret + "x", secret[1:], " " + secret,
		strings.ToUpper(secret)} {
		who, err := s.Authenticate(t.Context(), bad)
		wantError(t, bad, err, crm.ErrUnauthenticated)
		equal(t, who, (access.Principal{}), "%q", bad)
	}
}

func TestNewKeysAreChecked(t *testing.T) {
	ctx := t.Context()
	s, account := newBookOf(t)
	var invalid *doc.Invalid
	if _, secret, err := s.CreateKey(ctx, account, access.KeyInput{Name: " "}); !errors.As(err, &invalid) ||
		secret != "" {
		t.Errorf("a key without a name: %v", err)
	}
	if _, _, err := s.CreateKey(ctx, account, access.KeyInput{Name: "x",
		ExpiresAt: time.Now().Add(-time.Hour)}); !errors.As(err, &invalid) {
		t.Errorf("a key that has expired: %v", err)
	}
	wantError(t, "a key of no account", errOf2(s.CreateKey(ctx, account+1, access.KeyInput{Name: "x"})),
		crm.ErrNotFound)
	equal(t, len(must(s.Keys(ctx, account))(t)), 0, "the keys")
}

func TestARevokedKeyStopsAtOnce(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account := newAccount(t, s).Number
	key, secret := newKey(t, s, account, access.KeyInput{})
	_, kept := newKey(t, s, account, access.KeyInput{})
	for _, secret := range []string{secret, kept} {
		must(s.Authenticate(ctx, secret))(t)
	}
	succeed(t, s.RevokeKey(ctx, key.ID))
	wantError(t, "the revoked key", errOf(s.Authenticate(ctx, secret)), crm.ErrUnauthenticated)
	must(s.Authenticate(ctx, kept))(t)
	revoked := now.time()
	now.move(time.Hour)
	if err := s.RevokeKey(ctx, key.ID); err != nil { // again
		t.Error(err)
	}
	keys := must(s.Keys(ctx, account))(t)
	if !keys[0].RevokedAt.Equal(revoked) || !keys[1].RevokedAt.IsZero() {
		t.Errorf("the keys are %+v", keys)
	}
	for _, id := range []int64{0, -1, key.ID + 2, doc.MakeID(account+1, 1)} {
		wantError(t, "a key that never was", s.RevokeKey(ctx, id), crm.ErrNotFound)
	}
}

// A key that is being looked up while it is revoked must not be cached.
func TestARevokedKeyStopsThoughItWasJustRead(t *testing.T) {
	s := newBook(t)
	stopClock(s)
	key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
	spy := spyOn(t, s)
	spy.read = func(sql string) {
		if sql != people.SQLKey {
			return
		}
		spy.read = nil
		succeed(t, s.RevokeKey(context.Background(), key.ID))
	}
	must(s.Authenticate(t.Context(), secret))(t)
	wantError(t, "the revoked key", errOf(s.Authenticate(t.Context(), secret)), crm.ErrUnauthenticated)
	s.Touching.Wait() // before the spy is removed
}

func TestConcurrentKeyRevokedElsewhereStopsWithinTwoSeconds(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	now := stopClock(a)
	b.Now = now.time
	key, secret := newKey(t, a, newAccount(t, a).Number, access.KeyInput{})
	for _, s := range []*Book{a, b} {
		must(s.Authenticate(ctx, secret))(t)
	}
	succeed(t, a.RevokeKey(ctx, key.ID))
	wantError(t, "where it was revoked", errOf(a.Authenticate(ctx, secret)), crm.ErrUnauthenticated)
	now.move(2 * time.Second)
	wantError(t, "elsewhere, two seconds later", errOf(b.Authenticate(ctx, secret)), crm.ErrUnauthenticated)
}

func TestAKeyExpiresToTheSecond(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	_, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{ExpiresAt: now.time().Add(10 * time.Second)})
	now.move(9*time.Second + 900*time.Millisecond)
	for range 2 { // it may be cached for a moment, but not for longer than it is valid
		must(s.Authenticate(t.Context(), secret))(t)
	}
	now.move(100 * time.Millisecond)
	wantError(t, "the expired key", errOf(s.Authenticate(t.Context(), secret)), crm.ErrUnauthenticated)
}

func TestTheLastUseIsWrittenOnceAMinute(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
	if !lastUse(t, s, key).IsZero() {
		t.Error("a new key was used")
	}
	spy := spyOn(t, s)
	use := func(wantCommits int64, wantUse time.Time) {
		t.Helper()
		must(s.Authenticate(t.Context(), secret))(t)
		equal(t, lastUse(t, s, key).Equal(wantUse), true, "%v", wantUse)
		equal(t, spy.commits.Load(), wantCommits, "%v", wantUse)
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
}

func TestConcurrentManyUsesAtOnceAreOneNote(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
	atOnce(32, func(int) {
		must(s.Authenticate(t.Context(), secret))(t)
	})
	if got := lastUse(t, s, key); !got.Equal(now.time()) {
		t.Errorf("the last use is %v", got)
	}
}

func TestASessionIsOfWhoeverSignedIn(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account := newAccount(t, s)
	ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
	now.move(time.Hour)
	device := access.Device{Address: "2001:db8::1", Agent: "Browser 1.0"}
	token, user := must2(s.SignIn(ctx, " ADA@example.org ", goodPassword, device))(t)
	if user != ada {
		t.Fatalf("%+v has signed in", user)
	}
	want := access.Session{
		ID: access.HashToken(token), User: ada, Account: account.Number, Device: device,
		CreatedAt: now.time(), SeenAt: now.time(), ExpiresAt: now.time().AddDate(0, 0, 30),
	}
	got, err := s.Session(ctx, token)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	now.move(time.Second)
	second, err := s.StartSession(ctx, ada.ID, access.Device{})
	if err != nil || second == token {
		t.Fatal(err)
	}
	equal(t, must(s.Session(ctx, signIn(t, s, bob.Email, goodPassword)))(t).User, bob, "the session")
	sessions := must(s.Sessions(ctx, ada.ID))(t)
	if len(sessions) != 2 || sessions[0].ID != access.HashToken(second) || sessions[1] != want {
		t.Errorf("the sessions are %+v", sessions)
	}
	wantError(t, "a session of nobody", errOf(s.StartSession(ctx, ada.ID+1, access.Device{})),
		crm.ErrUnauthenticated)
}

// An unknown email must cost the same work as a wrong password, so that the time does not reveal who is a user.
func TestSigningInTellsNothing(t *testing.T) {
	s := newBook(t)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	for _, test := range []struct{ email, password string }{
		{ada.Email, "a wrong password"}, {ada.Email, ""}, {ada.Email, goodPassword + "\x00"},
		{"nobody@example.org", goodPassword},
		{"", goodPassword}, {"no email", goodPassword}, {"a\x00\xff@b.org", goodPassword}, {"", ""},
	} {
		before := s.Passwords.Worked.Load()
		token, user, err := s.SignIn(t.Context(), test.email, test.password, access.Device{})
		if err != crm.ErrUnauthenticated || token != "" || user != (access.User{}) {
			t.Errorf("%q, %q: %q, %+v, %v", test.email, test.password, token, user, err)
		}
		equal(t, s.Passwords.Worked.Load()-before, 1, "%q, %q: hashes were worked out", test.email, test.password)
	}
	equal(t, len(must(s.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
}

func TestCookiesThatAreNotOursAreRefused(t *testing.T) {
	s := newBook(t)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	token := signIn(t, s, ada.Email, goodPassword)
	other, _ := access.NewToken()
	for _, wrong := range []string{"", "x", other, token + "x", token[1:], access.HashToken(token), "a\x00\xff"} {
		session, err := s.Session(t.Context(), wrong)
		wantError(t, wrong, err, crm.ErrUnauthenticated)
		equal(t, session, (access.Session{}), "%q", wrong)
	}
}

func TestASessionExpires(t *testing.T) {
	s := newBook(t)
	const day = 24 * time.Hour
	now := stopClock(s)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	idle, used := signIn(t, s, ada.Email, goodPassword), signIn(t, s, ada.Email, goodPassword)
	use := func(token string, want error) {
		t.Helper()
		_, err := s.Session(t.Context(), token)
		s.Touching.Wait()
		wantError(t, "after "+now.time().String(), err, want)
	}
	now.move(7*day - time.Second)
	use(used, nil)
	now.move(time.Second)
	use(idle, crm.ErrUnauthenticated)
	for range 3 {
		now.move(7*day - 2*time.Second)
		use(used, nil)
	}
	now.move(2 * day)
	use(used, nil)
	now.move(5 * time.Second)
	use(used, nil)
	now.move(time.Second)
	use(used, crm.ErrUnauthenticated) // thirty days after signing in, no matter how much it was used

	equal(t, count(t, s, `SELECT COUNT(*) FROM user_session`), 2, "there are rows")
	equal(t, len(must(s.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
	signIn(t, s, ada.Email, goodPassword)
	equal(t, count(t, s, `SELECT COUNT(*) FROM user_session`), 1, "after signing in there are rows")
}

func count(t testing.TB, s *Book, sql string) (n int64) {
	t.Helper()
	succeed(t, s.Read(t.Context(), func(c db.Conn) (err error) {
		n, err = c.Int(sql)
		return err
	}))
	return n
}

func TestTheUseOfASessionIsWrittenOnceAMinute(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	token := signIn(t, s, ada.Email, goodPassword)
	first := now.time()
	spy := spyOn(t, s)
	use := func(wantCommits int64, want time.Time) {
		t.Helper()
		must(s.Session(ctx, token))(t)
		s.Touching.Wait()
		sessions, err := s.Sessions(ctx, ada.ID)
		members, err2 := s.Members(ctx, account.Number)
		if err != nil || err2 != nil || !sessions[0].SeenAt.Equal(want) || !members[0].SeenAt.Equal(want) ||
			spy.commits.Load() != wantCommits {
			t.Errorf("%v, %v: after %d commits the last use is %v and %v, want %d and %v",
				err, err2, spy.commits.Load(), sessions[0].SeenAt, members[0].SeenAt, wantCommits, want)
		}
	}
	use(0, first)
	now.move(59 * time.Second)
	use(0, first)
	now.move(time.Second)
	use(1, first.Add(time.Minute))
	now.move(time.Hour)
	use(2, first.Add(61*time.Minute))
}

func TestConcurrentSessionThatWasEndedIsEndedEverywhereAtOnce(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Viewer, "bob")
	var tokens []string
	for range 4 {
		tokens = append(tokens, signIn(t, a, ada.Email, goodPassword))
	}
	bobs := signIn(t, a, bob.Email, goodPassword)
	wantSessions := func(what string, want ...bool) {
		t.Helper()
		for i, s := range []*Book{a, b, a, b} {
			for j, token := range append(tokens, bobs) {
				if _, err := s.Session(ctx, token); (err == nil) != want[j] {
					t.Errorf("%s, look %d: session %d gives %v", what, i, j, err)
				}
			}
		}
	}
	wantSessions("at first", true, true, true, true, true)
	for _, id := range []string{"", "x", tokens[0], access.HashToken(bobs), access.HashToken("x"), "a\x00\xff"} {
		wantError(t, "the end of "+id, a.EndSession(ctx, ada.ID, id), crm.ErrNotFound)
	}
	wantSessions("with wrong ids", true, true, true, true, true)
	succeed(t, a.EndSession(ctx, ada.ID, access.HashToken(tokens[0])))
	wantSessions("one", false, true, true, true, true)
	succeed(t, b.EndSessions(ctx, ada.ID, access.HashToken(tokens[2])))
	wantSessions("all but one", false, false, true, false, true)
	succeed(t, a.EndSessions(ctx, ada.ID, ""))
	wantSessions("all", false, false, false, false, true)
	wantError(t, "the end of an ended one", b.EndSession(ctx, ada.ID, access.HashToken(tokens[0])),
		crm.ErrNotFound)
}

func TestASessionOpensWhatWasOpenLast(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	first, second, foreign := newAccount(t, s), newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, first, access.Owner, "ada")
	newUser(t, s, foreign, access.Owner, "bob")
	must(s.AddMember(ctx, second, access.Viewer, ada.Email))(t)
	token := signIn(t, s, ada.Email, goodPassword)
	for _, account := range []access.Account{first, second, first, second} {
		now.move(time.Hour)
		session, err := s.Session(ctx, token)
		s.Touching.Wait()
		if err == nil {
			err = s.OpenAccount(ctx, session, account.Number)
		}
		succeed(t, err)
		now.move(time.Second)
		for _, token := range []string{token, signIn(t, s, ada.Email, goodPassword)} {
			equal(t, must(s.Session(ctx, token))(t).Account, account.Number, "account is open")
		}
	}
	session := must(s.Session(ctx, token))(t)
	for _, account := range []int64{foreign.Number, foreign.Number + 1, 0} {
		wantError(t, "an account of others", s.OpenAccount(ctx, session, account), crm.ErrNotFound)
	}
}

// Only the organization that a person was in knows when they were last seen.
func TestWhereSomebodyWasSeenStaysThere(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	one, other := newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, one, access.Owner, "ada")
	signIn(t, s, ada.Email, goodPassword)
	must(s.AddMember(t.Context(), other, access.Viewer, ada.Email))(t)
	for account, want := range map[int64]time.Time{one.Number: now.time(), other.Number: {}} {
		if members := must(s.Members(t.Context(), account))(t); len(members) != 1 || !members[0].SeenAt.Equal(want) {
			t.Errorf("the members are %+v, want one seen at %v", members, want)
		}
	}
}

func TestNeitherPasswordsNorTokensAreInTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{Data: dir})
	setup, err := s.SetupToken(t.Context())
	succeed(t, err)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "Findable name")
	token := signIn(t, s, ada.Email, goodPassword)
	_, invitation, err := s.Invite(t.Context(), account, ada, access.Viewer, "")
	succeed(t, err)
	found := 0
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found += bytes.Count(content, []byte("Findable name"))
		for _, secret := range []string{goodPassword, token, invitation, setup} {
			for _, part := range []string{secret, secret[:12], secret[len(secret)-12:]} {
				if bytes.Contains(content, []byte(part)) {
					t.Errorf("%s holds a secret", filepath.Base(path))
				}
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%v: the name was found %d times", err, found)
	}
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
