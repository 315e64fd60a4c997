package book

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

func TestASessionIsOfWhoeverSignedIn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account := newAccount(t, s)
		ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
		now.move(time.Hour)
		device := access.Device{Address: "2001:db8::1", Agent: "Browser 1.0"}
		token, user, err := s.SignIn(t.Context(), " ADA@example.org ", goodPassword, device)
		if err != nil || user != ada {
			t.Fatalf("%v: %+v has signed in", err, user)
		}
		want := access.Session{
			ID: access.HashToken(token), User: ada, Account: account.Number, Device: device,
			CreatedAt: now.time(), SeenAt: now.time(), ExpiresAt: now.time().AddDate(0, 0, 30),
		}
		got, err := s.Session(t.Context(), token)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		now.move(time.Second)
		second, err := s.StartSession(t.Context(), ada.ID, access.Device{})
		if err != nil || second == token {
			t.Fatal(err)
		}
		bobs, err := s.Session(t.Context(), signIn(t, s, bob.Email, goodPassword))
		if err != nil || bobs.User != bob {
			t.Errorf("%v: the session is of %+v", err, bobs.User)
		}
		sessions, err := s.Sessions(t.Context(), ada.ID)
		if err != nil || len(sessions) != 2 || sessions[0].ID != access.HashToken(second) || sessions[1] != want {
			t.Errorf("%v: the sessions are %+v", err, sessions)
		}
		_, err = s.StartSession(t.Context(), ada.ID+1, access.Device{})
		wantError(t, "a session of nobody", err, crm.ErrUnauthenticated)
	})
}

// An unknown email must cost the same work as a wrong password, so that the time does not reveal who is a user.
func TestSigningInTellsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
		for _, test := range []struct{ email, password string }{
			{ada.Email, "a wrong password"}, {ada.Email, ""}, {ada.Email, goodPassword + "\x00"}, {"nobody@example.org", goodPassword},
			{"", goodPassword}, {"no email", goodPassword}, {"a\x00\xff@b.org", goodPassword}, {"", ""},
		} {
			before := s.Passwords.Worked.Load()
			token, user, err := s.SignIn(t.Context(), test.email, test.password, access.Device{})
			if err != crm.ErrUnauthenticated || token != "" || user != (access.User{}) {
				t.Errorf("%q, %q: %q, %+v, %v", test.email, test.password, token, user, err)
			}
			if n := s.Passwords.Worked.Load() - before; n != 1 {
				t.Errorf("%q, %q: %d hashes were worked out", test.email, test.password, n)
			}
		}
		if sessions, err := s.Sessions(t.Context(), ada.ID); err != nil || len(sessions) != 0 {
			t.Errorf("%v: the sessions are %+v", err, sessions)
		}
	})
}

func TestCookiesThatAreNotOursAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
		token := signIn(t, s, ada.Email, goodPassword)
		other, _ := access.NewToken()
		for _, wrong := range []string{"", "x", other, token + "x", token[1:], access.HashToken(token), "a\x00\xff"} {
			session, err := s.Session(t.Context(), wrong)
			wantError(t, wrong, err, crm.ErrUnauthenticated)
			if session != (access.Session{}) {
				t.Errorf("%q is of %+v", wrong, session)
			}
		}
	})
}

func TestASessionExpires(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
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

		if n := count(t, s, `SELECT COUNT(*) FROM user_session`); n != 2 {
			t.Errorf("there are %d rows", n)
		}
		if sessions, err := s.Sessions(t.Context(), ada.ID); err != nil || len(sessions) != 0 {
			t.Errorf("%v: the sessions are %+v", err, sessions)
		}
		signIn(t, s, ada.Email, goodPassword)
		if n := count(t, s, `SELECT COUNT(*) FROM user_session`); n != 1 {
			t.Errorf("after signing in there are %d rows", n)
		}
	})
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
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account := newAccount(t, s)
		ada := newUser(t, s, account, access.Owner, "ada")
		token := signIn(t, s, ada.Email, goodPassword)
		first := now.time()
		spy := spyOn(t, s)
		use := func(wantCommits int64, want time.Time) {
			t.Helper()
			must(s.Session(t.Context(), token))(t)
			s.Touching.Wait()
			sessions, err := s.Sessions(t.Context(), ada.ID)
			members, err2 := s.Members(t.Context(), account.Number)
			if err != nil || err2 != nil || !sessions[0].SeenAt.Equal(want) || !members[0].SeenAt.Equal(want) || spy.commits.Load() != wantCommits {
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
	})
}

func TestConcurrentSessionThatWasEndedIsEndedEverywhereAtOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
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
					if _, err := s.Session(t.Context(), token); (err == nil) != want[j] {
						t.Errorf("%s, look %d: session %d gives %v", what, i, j, err)
					}
				}
			}
		}
		wantSessions("at first", true, true, true, true, true)
		for _, id := range []string{"", "x", tokens[0], access.HashToken(bobs), access.HashToken("x"), "a\x00\xff"} {
			wantError(t, "the end of "+id, a.EndSession(t.Context(), ada.ID, id), crm.ErrNotFound)
		}
		wantSessions("with wrong ids", true, true, true, true, true)
		succeed(t, a.EndSession(t.Context(), ada.ID, access.HashToken(tokens[0])))
		wantSessions("one", false, true, true, true, true)
		succeed(t, b.EndSessions(t.Context(), ada.ID, access.HashToken(tokens[2])))
		wantSessions("all but one", false, false, true, false, true)
		succeed(t, a.EndSessions(t.Context(), ada.ID, ""))
		wantSessions("all", false, false, false, false, true)
		wantError(t, "the end of an ended one", b.EndSession(t.Context(), ada.ID, access.HashToken(tokens[0])), crm.ErrNotFound)
	})
}

func TestASessionOpensWhatWasOpenLast(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		first, second, foreign := newAccount(t, s), newAccount(t, s), newAccount(t, s)
		ada := newUser(t, s, first, access.Owner, "ada")
		newUser(t, s, foreign, access.Owner, "bob")
		must(s.AddMember(t.Context(), second, access.Viewer, ada.Email))(t)
		token := signIn(t, s, ada.Email, goodPassword)
		for _, account := range []access.Account{first, second, first, second} {
			now.move(time.Hour)
			session, err := s.Session(t.Context(), token)
			s.Touching.Wait()
			if err == nil {
				err = s.OpenAccount(t.Context(), session, account.Number)
			}
			if err != nil {
				t.Fatal(err)
			}
			now.move(time.Second)
			for _, token := range []string{token, signIn(t, s, ada.Email, goodPassword)} {
				if session, err := s.Session(t.Context(), token); err != nil || session.Account != account.Number {
					t.Errorf("%v: account %d is open, and not %d", err, session.Account, account.Number)
				}
			}
		}
		session := must(s.Session(t.Context(), token))(t)
		for _, account := range []int64{foreign.Number, foreign.Number + 1, 0} {
			wantError(t, "an account of others", s.OpenAccount(t.Context(), session, account), crm.ErrNotFound)
		}
	})
}

// Only the organization that a person was in knows when they were last seen.
func TestWhereSomebodyWasSeenStaysThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		one, other := newAccount(t, s), newAccount(t, s)
		ada := newUser(t, s, one, access.Owner, "ada")
		signIn(t, s, ada.Email, goodPassword)
		must(s.AddMember(t.Context(), other, access.Viewer, ada.Email))(t)
		for account, want := range map[int64]time.Time{one.Number: now.time(), other.Number: {}} {
			if members, err := s.Members(t.Context(), account); err != nil || len(members) != 1 || !members[0].SeenAt.Equal(want) {
				t.Errorf("%v: the members are %+v, want one seen at %v", err, members, want)
			}
		}
	})
}

func TestNeitherPasswordsNorTokensAreInTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{Data: dir})
	setup, err := s.SetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "Findable name")
	token := signIn(t, s, ada.Email, goodPassword)
	_, invitation, err := s.Invite(t.Context(), account, ada, access.Viewer, "")
	if err != nil {
		t.Fatal(err)
	}
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
