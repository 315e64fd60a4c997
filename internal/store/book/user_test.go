package book

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
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
	invalid := new(doc.Invalid)
	if !errors.As(err, &invalid) {
		t.Errorf("%s: %v", what, err)
	}
	equal(t, store.Collect(invalid.Faults, func(f doc.Fault) string { return f.Field }), fields, "%s: %v", what, err)
}

func TestUsersAreListedByEmailWithWhereTheyBelong(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	equal(t, len(must(s.Users(ctx))(t)), 0, "a new database")
	root := newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "A chapter", root.ID))(t)
	zoe := newUser(t, s, root, access.Owner, "Zoe")
	ada := newUser(t, s, root, access.Viewer, "ada")
	equal(t, must(s.AddMember(ctx, chapter, access.Editor, " ADA@example.ORG "))(t), ada, "was added")
	now.move(time.Hour)
	signIn(t, s, ada.Email, goodPassword)
	succeed(t, s.RenameUser(ctx, zoe.ID, " Zoë "))
	wantRefused(t, "no name", s.RenameUser(ctx, zoe.ID, " "), "name")
	notFound(t)(s.RenameUser(ctx, zoe.ID+9, "X"))
	zoe.Name = "Zoë"
	want := []people.UserRecord{
		{User: ada, Memberships: []access.Membership{{Account: chapter, Role: access.Editor},
			{Account: root, Role: access.Viewer}}, SeenAt: now.time()},
		{User: zoe, Memberships: []access.Membership{{Account: root, Role: access.Owner}}},
	}
	equal(t, must(s.Users(ctx))(t), want)
	for _, u := range want {
		equal(t, must(s.Memberships(ctx, u.User.ID))(t), u.Memberships)
	}
}

func TestConcurrentEmailBelongsToOneUser(t *testing.T) {
	a, b := twoNodes(t)
	newUser(t, a, newAccount(t, a), access.Owner, "ada")
	accounts := []access.Account{newAccount(t, a), newAccount(t, a), newAccount(t, a), newAccount(t, a)}
	in := joiner("Another")
	in.Email = " ADA@EXAMPLE.ORG"
	wantRefused(t, "in other letters", errOf(b.CreateUser(t.Context(), accounts[0], access.Viewer, in)), "email")
	var made atomic.Int64
	atOnce(8, func(i int) { // into different accounts, so that nothing else keeps them apart
		_, err := []*Book{a, b}[i%2].CreateUser(t.Context(), accounts[i%4], access.Viewer, joiner("bob"))
		if err == nil {
			made.Add(1)
		} else {
			wantRefused(t, "bob again", err, "email")
		}
	})
	expect(t, "users, and how often bob was made", "2 1", len(must(a.Users(t.Context()))(t)), made.Load())
}

func TestARefusedUserLeavesNothingBehind(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	wantRefused(t, "a wrong user", errOf(s.CreateUser(ctx, account, access.Owner, access.UserInput{Name: " ",
		Email: "x", Password: "short"})), "name", "email", "password")
	wantRefused(t, "a wrong role", errOf(s.CreateUser(ctx, account, 9, joiner("ada"))), "role")
	notFound(t)(s.CreateUser(ctx, access.Account{Number: account.Number + 1},
		access.Owner, joiner("ada")))
	notFound(t)(s.AddMember(ctx, account, access.Owner,
		"ada@example.org"))
	notFound(t)(s.AddMember(ctx, account, access.Owner, "a\x00\xff"))
	equal(t, len(must(s.Users(ctx))(t)), 0, "the users")
}

func TestConcurrentChangedPasswordEndsAllOtherSessions(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	account := newAccount(t, a)
	ada, bob := newUser(t, a, account, access.Owner, "ada"), newUser(t, a, account, access.Viewer, "bob")
	here, there, bobs := signIn(t, a, ada.Email, goodPassword), signIn(t, b, ada.Email, goodPassword),
		signIn(t, b, bob.Email, goodPassword)
	session := must(a.Session(ctx, here))(t)
	const wrong, next = "not this one", "another password"
	wantRefused(t, "a wrong and a weak one", a.ChangePassword(ctx, session, wrong, "ADA@example.org"),
		"current_password",
		"password")
	wantRefused(t, "a wrong one", a.ChangePassword(ctx, session, wrong, next), "current_password")
	wantRefused(t, "a weak one", a.ChangePassword(ctx, session, goodPassword, "short"), "password")
	must(b.Session(ctx, there))(t)
	succeed(t, a.ChangePassword(ctx, session, goodPassword, next))
	for _, s := range []*Book{a, b} {
		nobody(t)(s.Session(ctx, there))
		must(s.Session(ctx, here))(t)
		must(s.Session(ctx, bobs))(t)
		nobody(t)(s.SignIn(ctx, ada.Email, goodPassword, access.Device{}))
		signIn(t, s, ada.Email, next)
	}
}

func TestConcurrentResetPasswordEndsAllSessions(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	token := signIn(t, b, ada.Email, goodPassword)
	notFound(t)(a.ResetPassword(ctx, "nobody@example.org", "another password"))
	wantRefused(t, "a weak one", a.ResetPassword(ctx, ada.Email, "ada@example.ORG"), "password")
	succeed(t, a.ResetPassword(ctx, "ADA@example.org", "another password"))
	nobody(t)(b.Session(ctx, token))
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
	nobody(t)(b.SignIn(t.Context(), ada.Email, goodPassword,
		access.Device{}))
	equal(t, len(must(a.Sessions(t.Context(), ada.ID))(t)), 0, "the sessions")
}

func TestConcurrentTwoChangesOfOnePasswordAreNotBothMade(t *testing.T) {
	a, b := twoNodes(t)
	ada := newUser(t, a, newAccount(t, a), access.Owner, "ada")
	session := must(a.Session(t.Context(), signIn(t, a, ada.Email, goodPassword)))(t)
	errs, passwords := make([]error, 2), []string{"the first password", "the second password"}
	atOnce(2, func(i int) {
		errs[i] = []*Book{a, b}[i].ChangePassword(t.Context(), session, goodPassword, passwords[i])
	})
	won := slices.Index(errs, nil)
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
		nobody(t)(s.SignIn(t.Context(), "ada@example.org", goodPassword, access.Device{}))
	})
}

// No matter how many people sign in at once, each gets their turn.
func TestConcurrentAllHashesGetTheirTurn(t *testing.T) {
	t.Parallel()
	h := people.NewHasher()
	var done, working atomic.Int64
	atOnce(500, func(int) {
		succeed(t, h.Do(t.Context(), func() {
			equal(t, working.Add(1) <= 2, true, "more than two at once")
			runtime.Gosched()
			working.Add(-1)
			done.Add(1)
		}))
	})
	equal(t, done.Load(), 500)
}

func setupToken(t testing.TB, s *Book) string {
	t.Helper()
	token := must(s.SetupToken(t.Context()))(t)
	equal(t, token == "", false, "no token")
	return token
}

func founder(name string) access.SetupInput {
	return access.SetupInput{UserInput: joiner(name), Organization: " Harbor Light "}
}

func TestConcurrentTheFirstUserSetsUpAnOrganization(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	b.Now = stopClock(a).time
	other, token := setupToken(t, a), setupToken(t, b)
	equal(t, must(b.SetupOffer(ctx, token))(t), people.SetupOffer{}, "what is offered")
	wantRefused(t, "nothing at all", errOf2(b.Setup(ctx, token, access.SetupInput{})), "name", "email", "password",
		"organization")
	equal(t, len(must(a.Users(ctx))(t)), 0, "the users")
	user, account := must2(b.Setup(ctx, token, founder("ada")))(t)
	expect(t, "the user, and the account", "ada ada@Example.org Harbor Light 0", user.Name, user.Email, account.Name,
		account.Parent)
	equal(t, must(a.Users(ctx))(t), []people.UserRecord{{User: user,
		Memberships: []access.Membership{{Account: account, Role: access.Owner}}}})
	signIn(t, a, "ada@example.org", goodPassword)
	create(t, a, account.Number, `{"first_name":"First"}`)
	for _, used := range []string{token, other} {
		notFound(t)(a.SetupOffer(ctx, used))
		notFound(t)(b.Setup(ctx, used, founder("bob")))
	}
	equal(t, must(a.SetupToken(ctx))(t), "", "with a user there is still the token")
	equal(t, count(t, a, `SELECT COUNT(*) FROM invitation`), 0, "setup tokens are left")
}

func TestTheFirstUserMayTakeAnOrganizationThatExists(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	zebra, apple := must(s.CreateAccount(ctx, "zebra", ""))(t), must(s.CreateAccount(ctx, "Apple", ""))(t)
	chapter := must(s.CreateAccount(ctx, "Chapter", zebra.ID))(t)
	token := setupToken(t, s)
	equal(t, must(s.SetupOffer(ctx, token))(t), people.SetupOffer{Accounts: []access.Account{apple, zebra}})
	in := founder("ada")
	for _, wrong := range []string{chapter.ID, "x"} {
		in.Account = wrong
		wantRefused(t, "no root account", errOf2(s.Setup(ctx, token, in)), "organization")
	}
	in.Account = zebra.ID
	user, account := must2(s.Setup(ctx, token, in))(t)
	equal(t, account, zebra)
	equal(t, must(s.Membership(ctx, user.ID, account.ID))(t).Role, access.Owner)
	equal(t, len(must(s.Accounts(ctx))(t)), 3, "there are accounts")
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "USD"})
}

// What an organization says at setup about goods and services stands on its first receipt.
func TestSetupAsksWhatReceiptsSay(t *testing.T) {
	s := newBook(t)
	in := founder("ada")
	in.NoReturn, in.Timezone = true, "America/New_York"
	_, account := must2(s.Setup(t.Context(), setupToken(t, s), in))(t)
	wantSettings(t, s, account, access.AccountSettings{Timezone: in.Timezone, Currency: "USD", NoReturn: true})
	given := issue(t, s, account.Number, giveNow(t, s, account.Number, ofAda).Code)
	receipt := must(s.Receipt(t.Context(), account.Number, given.Receipt))(t)
	contains(t, fmt.Sprint(receipt.Text.Says), "No goods or services were provided in exchange for this gift.")
}

// It also ends when an operator makes the first user.
func TestASetupTokenLastsADay(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	old := setupToken(t, s)
	now.move(24*time.Hour - time.Second)
	must(s.SetupOffer(ctx, old))(t)
	now.move(time.Second)
	notFound(t)(s.SetupOffer(ctx, old))
	notFound(t)(s.Setup(ctx, old, founder("ada")))
	later := setupToken(t, s)
	for _, wrong := range []string{"", "x", later + "x", access.HashToken(later)} {
		notFound(t)(s.SetupOffer(ctx, wrong))
	}
	must(s.SetupOffer(ctx, later))(t)
	newUser(t, s, newAccount(t, s), access.Owner, "ada")
	notFound(t)(s.SetupOffer(ctx, later))
	notFound(t)(s.Setup(ctx, later, founder("bob")))
}

// A link that was printed and forgotten, in a log or on a screen, ends with the next start of any node.
func TestConcurrentNewSetupTokenReplacesTheOneBefore(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	stores := []*Book{a, b}
	first, second := setupToken(t, a), setupToken(t, b)
	for _, s := range stores {
		notFound(t)(s.SetupOffer(ctx, first))
		notFound(t)(s.Setup(ctx, first, founder("eve")))
		must(s.SetupOffer(ctx, second))(t)
	}
	tokens := make([]string, 8)
	atOnce(len(tokens), func(i int) { tokens[i] = setupToken(t, stores[i%2]) }) // nodes that start together
	invalid := slices.DeleteFunc(tokens, func(token string) bool { return errOf(a.SetupOffer(ctx, token)) == nil })
	equal(t, len(invalid), 7, "of 8 links do not work")
}

func TestASetupTokenNeverGivesAwayAnOrganizationWithContacts(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	empty, used, above := newAccount(t, s), newAccount(t, s), newAccount(t, s)
	chapter := must(s.CreateAccount(ctx, "Chapter", above.ID))(t)
	create(t, s, used.Number, `{"first_name":"A"}`)
	create(t, s, chapter.Number, `{"first_name":"B"}`)
	token := setupToken(t, s)
	equal(t, must(s.SetupOffer(ctx, token))(t), people.SetupOffer{Accounts: []access.Account{empty}, Withheld: true})
	in := founder("eve")
	spy := spyOn(t, s)
	for what, account := range []access.Account{used, above, chapter, empty} {
		if account == empty {
			spy.read = func(sql string) { // its first contact comes after it was offered
				if sql == people.SQLContactSeqs {
					spy.read = nil
					create(t, s, empty.Number, `{"first_name":"C"}`)
				}
			}
		}
		in.Account = account.ID
		wantRefused(t, fmt.Sprint("organization ", what), errOf2(s.Setup(ctx, token, in)), "organization")
	}
	equal(t, len(must(s.Users(ctx))(t)), 0, "the users")
	must2(s.Setup(ctx, token, founder("ada")))(t)
}

func TestConcurrentOfManyFirstUsersAtOnceOneIsFirst(t *testing.T) {
	ctx := t.Context()
	a, b := twoNodes(t)
	token := setupToken(t, a)
	atOnce(8, func(i int) {
		if _, _, err := []*Book{a, b}[i%2].Setup(ctx, token, founder("user "+string(rune('a'+i)))); err != nil {
			notFound(t)(err)
		}
	})
	expect(t, "users and accounts", "1 1", len(must(a.Users(ctx))(t)), len(must(b.Accounts(ctx))(t)))
}
