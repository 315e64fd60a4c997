package book

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
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
	return keys[slices.IndexFunc(keys, func(k access.Key) bool { return k.ID == key.ID })].LastUsedAt
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
	equal(t, first.Name, "Website")
	equal(t, must(s.Keys(t.Context(), account))(t), []access.Key{first, second})
	equal(t, must(s.Keys(t.Context(), other))(t), []access.Key{foreign})
	wants := map[string]access.Key{secret: first, secret2: second, secret3: foreign}
	equal(t, len(wants), 3, "secrets")
	for secret, key := range wants {
		want := access.Principal{Account: key.Account, Key: key.ID, KeyName: key.Name, Permissions: key.Permissions}
		for range 3 { // from the database, then from memory
			equal(t, must(s.Authenticate(t.Context(), secret))(t), want)
		}
	}
	equal(t, first.Permissions, access.ContactsRead|access.CampaignsRead)
}

func TestSecretsThatAreNotOursAreRefused(t *testing.T) {
	s, account := newBookOf(t)
	_, secret := newKey(t, s, account, access.KeyInput{})
	wrong := []string{"", "x", secret + "x", secret[1:], " " + secret, strings.ToUpper(secret)}
	for _, of := range [][2]int64{{account, 1}, {account, 2}, {account + 1, 1}} { // the first has other random bits
		_, other := must2(access.NewKey(of[0], of[1], access.KeyInput{Name: "x"}, time.Now()))(t)
		wrong = append(wrong, other)
	}
	for _, bad := range wrong {
		nobody(t)(s.Authenticate(t.Context(), bad))
	}
}

func TestNewKeysAreChecked(t *testing.T) {
	s, account := newBookOf(t)
	rejects(t, "a key without a name")(s.CreateKey(t.Context(), account, access.KeyInput{Name: " "}))
	rejects(t, "a key that has expired")(s.CreateKey(t.Context(), account, access.KeyInput{Name: "x",
		ExpiresAt: time.Now().Add(-time.Hour)}))
	notFound(t)(s.CreateKey(t.Context(), account+1, access.KeyInput{Name: "x"}))
	equal(t, len(must(s.Keys(t.Context(), account))(t)), 0, "the keys")
}

func TestARevokedKeyStopsAtOnce(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account := newAccount(t, s).Number
	key, secret := newKey(t, s, account, access.KeyInput{})
	_, kept := newKey(t, s, account, access.KeyInput{})
	must(s.Authenticate(ctx, secret))(t)
	must(s.Authenticate(ctx, kept))(t)
	revoked := now.time()
	for range 2 {
		succeed(t, s.RevokeKey(ctx, key.ID))
		nobody(t)(s.Authenticate(ctx, secret))
		must(s.Authenticate(ctx, kept))(t)
		now.move(time.Hour)
	}
	keys := must(s.Keys(ctx, account))(t)
	equal(t, []time.Time{keys[0].RevokedAt, keys[1].RevokedAt}, []time.Time{revoked, {}})
	for _, id := range []int64{0, -1, key.ID + 2, doc.MakeID(account+1, 1)} {
		notFound(t)(s.RevokeKey(ctx, id))
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
	nobody(t)(s.Authenticate(t.Context(), secret))
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
	nobody(t)(a.Authenticate(ctx, secret))
	now.move(2 * time.Second)
	nobody(t)(b.Authenticate(ctx, secret))
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
	nobody(t)(s.Authenticate(t.Context(), secret))
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
	equal(t, user, ada)
	want := access.Session{
		ID: access.HashToken(token), User: ada, Account: account.Number, Device: device,
		CreatedAt: now.time(), SeenAt: now.time(), ExpiresAt: now.time().AddDate(0, 0, 30),
	}
	equal(t, must(s.Session(ctx, token))(t), want)
	now.move(time.Second)
	second := must(s.StartSession(ctx, ada.ID, access.Device{}))(t)
	equal(t, must(s.Session(ctx, signIn(t, s, bob.Email, goodPassword)))(t).User, bob, "the session")
	sessions := must(s.Sessions(ctx, ada.ID))(t)
	equal(t, sessions[1:], []access.Session{want})
	equal(t, sessions[0].ID, access.HashToken(second))
	nobody(t)(s.StartSession(ctx, ada.ID+1, access.Device{}))
}

// An unknown email must cost the same work as a wrong password, so that the time does not reveal who is a user.
func TestSigningInTellsNothing(t *testing.T) {
	s := newBook(t)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	for _, test := range []struct{ email, password string }{
		{ada.Email, "a wrong password"}, {ada.Email, ""}, {ada.Email, goodPassword + "\x00"},
		{"nobody@example.org", goodPassword}, {"", goodPassword}, {"no email", goodPassword},
		{"a\x00\xff@b.org", goodPassword},
		{"", ""},
	} {
		before := s.Passwords.Worked.Load()
		token, user, err := s.SignIn(t.Context(), test.email, test.password, access.Device{})
		expect(t, test.email+test.password, "true true true 1", err == crm.ErrUnauthenticated, token == "",
			user == (access.User{}), s.Passwords.Worked.Load()-before)
	}
	equal(t, len(must(s.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
}

func TestCookiesThatAreNotOursAreRefused(t *testing.T) {
	s := newBook(t)
	token := signIn(t, s, newUser(t, s, newAccount(t, s), access.Owner, "ada").Email, goodPassword)
	other, _ := access.NewToken()
	for _, wrong := range []string{"", "x", other, token + "x", token[1:], access.HashToken(token), "a\x00\xff"} {
		nobody(t)(s.Session(t.Context(), wrong))
	}
}

func TestASessionExpires(t *testing.T) {
	s := newBook(t)
	const day = 24 * time.Hour
	now := stopClock(s)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	idle, used := signIn(t, s, ada.Email, goodPassword), signIn(t, s, ada.Email, goodPassword)
	use := func(after time.Duration, token string, want error) {
		t.Helper()
		now.move(after)
		_, err := s.Session(t.Context(), token)
		s.Touching.Wait()
		wantError(t, "after "+now.time().String(), err, want)
	}
	use(7*day-time.Second, used, nil)
	use(time.Second, idle, crm.ErrUnauthenticated)
	for _, after := range []time.Duration{7*day - 2*time.Second, 7*day - 2*time.Second, 7*day - 2*time.Second, 2 * day,
		5 * time.Second} {
		use(after, used, nil)
	}
	use(time.Second, used, crm.ErrUnauthenticated) // thirty days after signing in, no matter how much it was used
	equal(t, len(must(s.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
	equal(t, count(t, s, `SELECT COUNT(*) FROM user_session`), 2, "there are rows")
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

// Only the organization that a person was in knows when they were last seen.
func TestTheUseOfASessionIsWrittenOnceAMinute(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	account, other := newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "ada")
	token := signIn(t, s, ada.Email, goodPassword)
	must(s.AddMember(ctx, other, access.Viewer, ada.Email))(t)
	first := now.time()
	spy := spyOn(t, s)
	use := func(after time.Duration, wantCommits int64, want time.Time) {
		t.Helper()
		now.move(after)
		must(s.Session(ctx, token))(t)
		s.Touching.Wait()
		equal(t, spy.commits.Load(), wantCommits)
		equal(t, must(s.Sessions(ctx, ada.ID))(t)[0].SeenAt, want)
		equal(t, must(s.Members(ctx, account.Number))(t)[0].SeenAt, want)
		equal(t, must(s.Members(ctx, other.Number))(t)[0].SeenAt, time.Time{}, "elsewhere")
	}
	use(0, 0, first)
	use(59*time.Second, 0, first)
	use(time.Second, 1, first.Add(time.Minute))
	use(time.Hour, 2, first.Add(61*time.Minute))
}

func TestConcurrentSessionThatWasEndedIsEndedEverywhereAtOnce(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Viewer, "bob")
	var tokens []string
	for _, email := range []string{ada.Email, ada.Email, ada.Email, ada.Email, bob.Email} {
		tokens = append(tokens, signIn(t, a, email, goodPassword))
	}
	wantSessions := func(want string) {
		t.Helper()
		for _, s := range []*Book{a, b, a, b} {
			got := ""
			for _, token := range tokens {
				got += map[bool]string{true: "+", false: "-"}[errOf(s.Session(ctx, token)) == nil]
			}
			equal(t, got, want, "sessions")
		}
	}
	wantSessions("+++++")
	for _, id := range []string{"", "x", tokens[0], access.HashToken(tokens[4]), access.HashToken("x"), "a\x00\xff"} {
		notFound(t)(a.EndSession(ctx, ada.ID, id))
	}
	wantSessions("+++++")
	succeed(t, a.EndSession(ctx, ada.ID, access.HashToken(tokens[0])))
	wantSessions("-++++")
	succeed(t, b.EndSessions(ctx, ada.ID, access.HashToken(tokens[2])))
	wantSessions("--+-+")
	succeed(t, a.EndSessions(ctx, ada.ID, ""))
	wantSessions("----+")
	notFound(t)(b.EndSession(ctx, ada.ID, access.HashToken(tokens[0])))
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
	open := func(number int64) error {
		session := must(s.Session(ctx, token))(t)
		s.Touching.Wait()
		return s.OpenAccount(ctx, session, number)
	}
	for _, account := range []access.Account{first, second, first, second} {
		now.move(time.Hour)
		succeed(t, open(account.Number))
		now.move(time.Second)
		for _, token := range []string{token, signIn(t, s, ada.Email, goodPassword)} {
			equal(t, must(s.Session(ctx, token))(t).Account, account.Number, "account is open")
		}
	}
	for _, account := range []int64{foreign.Number, foreign.Number + 1, 0} {
		notFound(t)(open(account))
	}
}

func TestConcurrentLastUseIsWrittenOnceAMinute(t *testing.T) {
	s := newBook(t)
	now := stopClock(s)
	key, secret := newKey(t, s, newAccount(t, s).Number, access.KeyInput{})
	equal(t, lastUse(t, s, key), time.Time{}, "a new key")
	atOnce(32, func(int) { must(s.Authenticate(t.Context(), secret))(t) })
	equal(t, lastUse(t, s, key), now.time())
	now.move(time.Minute)
	spy := spyOn(t, s)
	use := func(after time.Duration, wantCommits int64, wantUse time.Time) {
		t.Helper()
		now.move(after)
		must(s.Authenticate(t.Context(), secret))(t)
		equal(t, lastUse(t, s, key), wantUse)
		equal(t, spy.commits.Load(), wantCommits)
	}
	first := now.time()
	use(0, 1, first)
	for range 59 {
		use(time.Second, 1, first)
	}
	use(time.Second, 2, first.Add(time.Minute))
	use(time.Hour, 3, first.Add(61*time.Minute))
}

func TestNoSecretIsInTheFiles(t *testing.T) {
	t.Parallel()
	o := newSQLite(t)
	s := open(t, o)
	setup := setupToken(t, s)
	account := newAccount(t, s)
	ada := newUser(t, s, account, access.Owner, "Findable name")
	token := signIn(t, s, ada.Email, goodPassword)
	_, invitation := invite(t, s, account, ada, access.Viewer)
	key, secret := newKey(t, s, account.Number, access.KeyInput{Name: "Findable key"})
	must(s.Authenticate(t.Context(), secret))(t)
	lastUse(t, s, key) // is written meanwhile
	succeed(t, s.RevokeKey(t.Context(), key.ID))
	all := ""
	for _, entry := range must(os.ReadDir(o.Data))(t) {
		all += string(must(os.ReadFile(filepath.Join(o.Data, entry.Name())))(t))
	}
	contains(t, all, ada.Name)
	contains(t, all, key.Name)
	for i, secret := range []string{goodPassword, token, invitation, setup, secret[len("dbk_")+8 : len(secret)-6]} {
		for _, part := range []string{secret[:12], secret[len(secret)-12:]} {
			equal(t, strings.Contains(all, part), false, "a part of secret %d is in the files", i)
		}
	}
}
