package book

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/people"
)

const goodPassword = "a good password"

// newUser makes a user of an account, with goodPassword.
func newUser(t testing.TB, s *Book, account access.Account, role access.Role, name string) access.User {
	t.Helper()
	return must(s.CreateUser(t.Context(), account, role, joiner(name)))(t)
}

func joiner(name string) access.UserInput {
	return access.UserInput{Name: name, Email: strings.ReplaceAll(name, " ", ".") + "@Example.org",
		Password: goodPassword}
}

func signIn(t testing.TB, s *Book, email, password string) (token string) {
	t.Helper()
	token, _, err := s.SignIn(t.Context(), email, password, access.Device{Address: "192.0.2.1", Agent: "Browser"})
	succeed(t, err)
	return token
}

// wantRefused fails if an error is not a refusal of exactly these fields.
func wantRefused(t testing.TB, what string, err error, fields ...string) {
	t.Helper()
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v, want faults of %q", what, err, fields)
		return
	}
	var got []string
	for _, fault := range invalid.Faults {
		got = append(got, fault.Field)
	}
	equal(t, got, fields, "%s", what)
}

func TestUsersAreListedByEmailWithWhereTheyBelong(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	equal(t, len(must(s.Users(ctx))(t)), 0, "a new database")
	root := newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "A chapter", root.ID))(t)
	zoe := newUser(t, s, root, access.Owner, "Zoë")
	ada := newUser(t, s, root, access.Viewer, "ada")
	equal(t, must(s.AddMember(ctx, chapter, access.Editor, " ADA@example.ORG "))(t), ada, "was added")
	now.move(time.Hour)
	signIn(t, s, ada.Email, goodPassword)
	want := []people.UserRecord{
		{User: ada, Memberships: []access.Membership{{Account: chapter, Role: access.Editor},
			{Account: root, Role: access.Viewer}}, SeenAt: now.time()},
		{User: zoe, Memberships: []access.Membership{{Account: root, Role: access.Owner}}},
	}
	got, err := s.Users(ctx)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, u := range want {
		got, err := s.Memberships(ctx, u.User.ID)
		if diff := cmp.Diff(u.Memberships, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}

func TestConcurrentEmailBelongsToOneUser(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	newUser(t, a, account, access.Owner, "ada")
	in := joiner("Another")
	in.Email = " ADA@EXAMPLE.ORG"
	_, err := b.CreateUser(ctx, account, access.Viewer, in)
	wantRefused(t, "the same email in other letters", err, "email")

	var mu sync.Mutex
	made, stores := 0, []*Book{a, b}
	accounts := []access.Account{newAccount(t, a), newAccount(t, a), newAccount(t, a), newAccount(t, a)}
	atOnce(8, func(i int) { // into different accounts, so that nothing else keeps them apart
		_, err := stores[i%2].CreateUser(ctx, accounts[i%4], access.Viewer, joiner("bob"))
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			made++
			return
		}
		wantRefused(t, "bob again", err, "email")
	})
	equal(t, len(must(a.Users(ctx))(t)), 2, "bob was made")
	equal(t, made, 1, "bob was made")
}

func TestARefusedUserLeavesNothingBehind(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	wantRefused(t, "a wrong user", errOf(s.CreateUser(ctx, account, access.Owner, access.UserInput{Name: " ",
		Email: "x", Password: "short"})), "name", "email", "password")
	wantRefused(t, "a wrong role", errOf(s.CreateUser(ctx, account, 9, joiner("ada"))), "role")
	wantError(t, "no account", errOf(s.CreateUser(ctx, access.Account{Number: account.Number + 1},
		access.Owner, joiner("ada"))), crm.ErrNotFound)
	wantError(t, "a member who is no user", errOf(s.AddMember(ctx, account, access.Owner,
		"ada@example.org")), crm.ErrNotFound)
	wantError(t, "a member without an email", errOf(s.AddMember(ctx, account, access.Owner, "a\x00\xff")),
		crm.ErrNotFound)
	equal(t, len(must(s.Users(ctx))(t)), 0, "the users")
}

func TestAddingAMemberAgainSetsTheRole(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	ada, bob := newUser(t, s, account, access.Owner, "ada"), newUser(t, s, account, access.Viewer, "bob")
	must(s.AddMember(t.Context(), account, access.Editor, bob.Email))(t)
	wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
	wantRefused(t, "the last owner", errOf(s.AddMember(t.Context(), account, access.Viewer, ada.Email)), "role")
	wantRoles(t, s, account, map[string]access.Role{"ada": access.Owner, "bob": access.Editor})
}

func TestAUserIsRenamed(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	user := newUser(t, s, account, access.Owner, "ada")
	succeed(t, s.RenameUser(ctx, user.ID, " Ada Lovelace "))
	wantRefused(t, "no name", s.RenameUser(ctx, user.ID, " "), "name")
	wantError(t, "nobody", s.RenameUser(ctx, user.ID+1, "X"), crm.ErrNotFound)
	wantRoles(t, s, account, map[string]access.Role{"Ada Lovelace": access.Owner})
}

func TestConcurrentChangedPasswordEndsAllOtherSessions(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Viewer, "bob")
	here, there, bobs := signIn(t, a, ada.Email, goodPassword), signIn(t, b, ada.Email, goodPassword),
		signIn(t, b, bob.Email, goodPassword)
	session, err := a.Session(ctx, here)
	succeed(t, err)
	wantRefused(t, "a wrong and a weak one", a.ChangePassword(ctx, session, "not this one", "ADA@example.org"),
		"current_password", "password")
	wantRefused(t, "a wrong one", a.ChangePassword(ctx, session, "not this one", "another password"),
		"current_password")
	wantRefused(t, "a weak one", a.ChangePassword(ctx, session, goodPassword, "short"), "password")
	must(b.Session(ctx, there))(t)
	succeed(t, a.ChangePassword(ctx, session, goodPassword, "another password"))
	for _, s := range []*Book{a, b} {
		_, err = s.Session(ctx, there)
		wantError(t, "another session", err, crm.ErrUnauthenticated)
		for _, token := range []string{here, bobs} {
			must(s.Session(ctx, token))(t)
		}
		wantError(t, "the old password", errOf2(s.SignIn(ctx, ada.Email, goodPassword, access.Device{})),
			crm.ErrUnauthenticated)
		signIn(t, s, ada.Email, "another password")
	}
}

func TestConcurrentResetPasswordEndsAllSessions(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	token := signIn(t, b, ada.Email, goodPassword)
	wantError(t, "nobody", a.ResetPassword(ctx, "nobody@example.org", "another password"), crm.ErrNotFound)
	wantRefused(t, "a weak one", a.ResetPassword(ctx, ada.Email, "ada@example.ORG"), "password")
	succeed(t, a.ResetPassword(ctx, "ADA@example.org", "another password"))
	wantError(t, "a session of before", errOf(b.Session(ctx, token)), crm.ErrUnauthenticated)
	signIn(t, b, ada.Email, "another password")
}

// An attacker who signs in with a stolen password while it is being changed must not stay signed in.
func TestConcurrentPasswordThatIsBeingChangedStartsNoSession(t *testing.T) {
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	spy := spyOn(t, b)
	spy.read = func(sql string) {
		if sql != people.SQLUserByLogin {
			return
		}
		spy.read = nil
		succeed(t, a.ResetPassword(context.Background(), ada.Email, "another password"))
	}
	wantError(t, "the password of a moment ago", errOf2(b.SignIn(t.Context(), ada.Email, goodPassword,
		access.Device{})), crm.ErrUnauthenticated)
	equal(t, len(must(a.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
}

func TestConcurrentTwoChangesOfOnePasswordAreNotBothMade(t *testing.T) {
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	session := must(a.Session(t.Context(), signIn(t, a, ada.Email, goodPassword)))(t)
	stores, errs := []*Book{a, b}, make([]error, 2)
	passwords := []string{"the first password", "the second password"}
	atOnce(2, func(i int) { errs[i] = stores[i].ChangePassword(t.Context(), session, goodPassword, passwords[i]) })
	won := 0
	if errs[0] != nil {
		won = 1
	}
	wantRefused(t, "the one who came too late", errs[1-won], "current_password")
	signIn(t, a, ada.Email, passwords[won])
}

// Only a limited number of hashes is computed at once: each takes much memory. A client that disconnects does not wait.
func TestConcurrentHashesWaitForEachOther(t *testing.T) {
	t.Parallel()
	o := emptySQLite(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, o)
		free, ended := make(chan struct{}), make(chan error)
		for range 2 {
			go s.Passwords.Do(context.Background(), func() { <-free }) //nolint:errcheck // no client leaves
		}
		ctx, leave := context.WithCancel(t.Context())
		synctest.Wait()
		go func() {
			_, _, err := s.SignIn(ctx, "ada@example.org", goodPassword, access.Device{})
			ended <- err
		}()
		synctest.Wait()
		leave()
		wantError(t, "while two are busy", <-ended, context.Canceled)
		close(free)
		wantError(t, "afterwards", errOf2(s.SignIn(t.Context(), "ada@example.org", goodPassword, access.Device{})),
			crm.ErrUnauthenticated)
	})
}

// No matter how many people sign in at once, each gets their turn.
func TestConcurrentAllHashesGetTheirTurn(t *testing.T) {
	t.Parallel()
	h := people.NewHasher()
	var group sync.WaitGroup
	var mu sync.Mutex
	done, most, working := 0, 0, 0
	for range 500 {
		group.Go(func() {
			err := h.Do(t.Context(), func() {
				mu.Lock()
				working++
				most = max(most, working)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				working--
				done++
				mu.Unlock()
			})
			succeed(t, err)
		})
	}
	group.Wait()
	if done != 500 || most > 2 {
		t.Errorf("%d were worked out, up to %d at once", done, most)
	}
}

func setupToken(t testing.TB, s *Book) string {
	t.Helper()
	token := must(s.SetupToken(t.Context()))(t)
	if token == "" {
		t.Fatalf("the token is %q", token)
	}
	return token
}

func founder(name string) access.SetupInput {
	return access.SetupInput{UserInput: joiner(name), Organization: " Harbor Light "}
}

func TestConcurrentTheFirstUserSetsUpAnOrganization(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	now := stopClock(a)
	b.Now = now.time
	other, token := setupToken(t, a), setupToken(t, b)
	if offer := must(b.SetupOffer(ctx, token))(t); len(offer.Accounts) != 0 || offer.Withheld {
		t.Errorf("%+v is offered", offer)
	}
	user, account := must2(b.Setup(ctx, token, founder("ada")))(t)
	if user.Name != "ada" || user.Email != "ada@Example.org" || account.Name != "Harbor Light" || account.Parent != 0 {
		t.Fatalf("%+v, %+v", user, account)
	}
	want := []people.UserRecord{{User: user, Memberships: []access.Membership{{Account: account, Role: access.Owner}}}}
	got, err := a.Users(ctx)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	signIn(t, a, "ada@example.org", goodPassword)
	create(t, a, account.Number, `{"first_name":"First"}`)
	for _, used := range []string{token, other} {
		wantError(t, "a second look", errOf(a.SetupOffer(ctx, used)), crm.ErrNotFound)
		wantError(t, "a second user", errOf2(b.Setup(ctx, used, founder("bob"))), crm.ErrNotFound)
	}
	equal(t, must(a.SetupToken(ctx))(t), "", "with a user there is still the token")
	equal(t, count(t, a, `SELECT COUNT(*) FROM invitation`), 0, "setup tokens are left")
}

func TestTheFirstUserMayTakeAnOrganizationThatExists(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	var made []access.Account
	for _, name := range []string{"zebra", "Apple"} {
		account := must(s.CreateAccount(ctx, name, ""))(t)
		made = append(made, account)
	}
	chapter := must(s.CreateAccount(ctx, "Chapter", made[0].ID))(t)
	token := setupToken(t, s)
	got, err := s.SetupOffer(ctx, token)
	if diff := cmp.Diff(people.SetupOffer{Accounts: []access.Account{made[1], made[0]}}, got); err != nil ||
		diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	in := founder("ada")
	for _, wrong := range []string{chapter.ID, "x"} {
		in.Account = wrong
		_, _, err = s.Setup(ctx, token, in)
		wantRefused(t, "no root account", err, "organization")
	}
	in.Account, in.NoReturn = made[0].ID, true
	user, account := must2(s.Setup(ctx, token, in))(t)
	if account != made[0] {
		t.Fatalf("%+v", account)
	}
	equal(t, must(s.Membership(ctx, user.ID, account.ID))(t).Role, access.Owner)
	equal(t, len(must(s.Accounts(ctx))(t)), 3, "there are accounts")
	if set := must(s.AccountSettings(ctx, account.Number))(t); !set.NoReturn || set.Timezone != "UTC" {
		t.Errorf("the settings are %+v", set)
	}
}

// What an organization says at setup about goods and services stands on its first receipt.
func TestSetupAsksWhatReceiptsSay(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	in := founder("ada")
	in.NoReturn, in.Timezone = true, "America/New_York"
	_, account, err := s.Setup(ctx, setupToken(t, s), in)
	succeed(t, err)
	made := giveNow(t, s, account.Number, `,"first_name":"Ada","last_name":"Byron","email":"ada@example.org"`)
	if made, err = s.IssueReceipt(ctx, account.Number, made.Code); err != nil {
		t.Fatal(err)
	}
	r := must(s.Receipt(ctx, account.Number, made.Receipt))(t)
	contains(t, fmt.Sprint(r.Text.Says), "No goods or services were provided in exchange for this gift.",
		"the receipt says %v", r.Text.Says)
	equal(t, must(s.AccountSettings(ctx, account.Number))(t).Timezone, in.Timezone, "the settings")
}

func TestAWrongSetupIsToldEverythingAndMayBeTriedAgain(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	token := setupToken(t, s)
	wantRefused(t, "nothing at all", errOf2(s.Setup(ctx, token, access.SetupInput{})), "name", "email",
		"password", "organization")
	equal(t, len(must(s.Users(ctx))(t)), 0, "the users")
	must2(s.Setup(ctx, token, founder("ada")))(t)
}

func TestASetupTokenLastsADay(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	old := setupToken(t, s)
	now.move(24*time.Hour - time.Second)
	must(s.SetupOffer(ctx, old))(t)
	now.move(time.Second)
	wantError(t, "after a day", errOf(s.SetupOffer(ctx, old)), crm.ErrNotFound)
	wantError(t, "after a day", errOf2(s.Setup(ctx, old, founder("ada"))), crm.ErrNotFound)
	later := setupToken(t, s)
	for _, wrong := range []string{"", "x", later + "x", access.HashToken(later)} {
		wantError(t, wrong, errOf(s.SetupOffer(ctx, wrong)), crm.ErrNotFound)
	}
	must2(s.Setup(ctx, later, founder("ada")))(t)
}

// A link that was printed and forgotten, in a log or on a screen, ends with the next start of any node.
func TestConcurrentNewSetupTokenReplacesTheOneBefore(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	stores := []*Book{a, b}
	first, second := setupToken(t, a), setupToken(t, b)
	for _, s := range stores {
		wantError(t, "a look at the first link", errOf(s.SetupOffer(ctx, first)), crm.ErrNotFound)
		wantError(t, "the first link", errOf2(s.Setup(ctx, first, founder("eve"))), crm.ErrNotFound)
		must(s.SetupOffer(ctx, second))(t)
	}
	tokens := make([]string, 8)
	atOnce(len(tokens), func(i int) { tokens[i] = setupToken(t, stores[i%2]) }) // nodes that start together
	valid := 0
	for _, token := range tokens {
		if _, err := a.SetupOffer(ctx, token); err == nil {
			valid++
		}
	}
	equal(t, valid, 1, "of %d links work", len(tokens))
}

func TestASetupTokenNeverGivesAwayAnOrganizationWithContacts(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	empty, used, above := newAccount(t, s), newAccount(t, s), newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "Chapter", above.ID))(t)
	create(t, s, used.Number, `{"first_name":"A"}`)
	create(t, s, chapter.Number, `{"first_name":"B"}`)
	token := setupToken(t, s)
	offer, err := s.SetupOffer(ctx, token)
	if diff := cmp.Diff(people.SetupOffer{Accounts: []access.Account{empty}, Withheld: true}, offer); err != nil ||
		diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	in := founder("eve")
	for what, account := range map[string]access.Account{"with contacts": used,
		"with a chapter that has contacts": above, "a chapter": chapter} {
		in.Account = account.ID
		wantRefused(t, what, errOf2(s.Setup(ctx, token, in)), "organization")
	}
	spy := spyOn(t, s)
	spy.read = func(sql string) { // its first contact comes after it was offered
		if sql == people.SQLContactSeqs {
			spy.read = nil
			create(t, s, empty.Number, `{"first_name":"C"}`)
		}
	}
	in.Account = empty.ID
	wantRefused(t, "that has a contact by now", errOf2(s.Setup(ctx, token, in)), "organization")
	equal(t, len(must(s.Users(ctx))(t)), 0, "the users")
	must2(s.Setup(ctx, token, founder("ada")))(t)
}

func TestASetupTokenEndsWhenAnOperatorMakesTheFirstUser(t *testing.T) {
	s := newBook(t)
	token := setupToken(t, s)
	newUser(t, s, newAccount(t, s), access.Owner, "ada")
	wantError(t, "a look", errOf(s.SetupOffer(t.Context(), token)), crm.ErrNotFound)
	wantError(t, "a second user", errOf2(s.Setup(t.Context(), token, founder("bob"))), crm.ErrNotFound)
}

func TestConcurrentOfManyFirstUsersAtOnceOneIsFirst(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	stores := []*Book{a, b}
	token := setupToken(t, a)
	var mu sync.Mutex
	won := 0
	atOnce(8, func(i int) {
		_, _, err := stores[i%2].Setup(ctx, token, founder("user "+string(rune('a'+i))))
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			won++
			return
		}
		wantError(t, "too late", err, crm.ErrNotFound)
	})
	users, err := a.Users(ctx)
	accounts, err2 := b.Accounts(ctx)
	if err != nil || err2 != nil || won != 1 || len(users) != 1 || len(accounts) != 1 {
		t.Errorf("%v, %v: %d succeeded, there are %d users and %d accounts", err, err2, won, len(users), len(accounts))
	}
}
