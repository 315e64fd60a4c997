package book

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store/people"
)

func setupToken(t testing.TB, s *Book) string {
	t.Helper()
	token, err := s.SetupToken(t.Context())
	if err != nil || token == "" {
		t.Fatalf("the token is %q, %v", token, err)
	}
	return token
}

func founder(name string) access.SetupInput {
	return access.SetupInput{UserInput: joiner(name), Organization: " Harbor Light "}
}

func TestConcurrentTheFirstUserSetsUpAnOrganization(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		now := stopClock(a)
		b.Now = now.time
		other, token := setupToken(t, a), setupToken(t, b)
		if offer, err := b.SetupOffer(t.Context(), token); err != nil || len(offer.Accounts) != 0 || offer.Withheld {
			t.Errorf("%v: %+v is offered", err, offer)
		}
		user, account, err := b.Setup(t.Context(), token, founder("ada"))
		if err != nil || user.Name != "ada" || user.Email != "ada@Example.org" || account.Name != "Harbor Light" || account.Parent != 0 {
			t.Fatalf("%v: %+v, %+v", err, user, account)
		}
		want := []people.UserRecord{{User: user, Memberships: []access.Membership{{Account: account, Role: access.Owner}}}}
		got, err := a.Users(t.Context())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		signIn(t, a, "ada@example.org", goodPassword)
		create(t, a, account.Number, `{"first_name":"First"}`)
		for _, used := range []string{token, other} {
			_, err := a.SetupOffer(t.Context(), used)
			wantError(t, "a second look", err, crm.ErrNotFound)
			_, _, err = b.Setup(t.Context(), used, founder("bob"))
			wantError(t, "a second user", err, crm.ErrNotFound)
		}
		if token, err := a.SetupToken(t.Context()); err != nil || token != "" {
			t.Errorf("%v: with a user there is still the token %q", err, token)
		}
		if n := count(t, a, `SELECT COUNT(*) FROM invitation`); n != 0 {
			t.Errorf("%d setup tokens are left", n)
		}
	})
}

func TestTheFirstUserMayTakeAnOrganizationThatExists(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		var made []access.Account
		for _, name := range []string{"zebra", "Apple"} {
			account := must(s.CreateAccount(t.Context(), name, ""))(t)
			made = append(made, account)
		}
		chapter := must(s.CreateAccount(t.Context(), "Chapter", made[0].ID))(t)
		token := setupToken(t, s)
		got, err := s.SetupOffer(t.Context(), token)
		if diff := cmp.Diff(people.SetupOffer{Accounts: []access.Account{made[1], made[0]}}, got); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		in := founder("ada")
		for _, wrong := range []string{chapter.ID, "x"} {
			in.Account = wrong
			_, _, err = s.Setup(t.Context(), token, in)
			wantRefused(t, "no root account", err, "organization")
		}
		in.Account, in.NoReturn = made[0].ID, true
		user, account, err := s.Setup(t.Context(), token, in)
		if err != nil || account != made[0] {
			t.Fatalf("%v: %+v", err, account)
		}
		if m, err := s.Membership(t.Context(), user.ID, account.ID); err != nil || m.Role != access.Owner {
			t.Errorf("%v: %+v", err, m)
		}
		if accounts, err := s.Accounts(t.Context()); err != nil || len(accounts) != 3 {
			t.Errorf("%v: there are %d accounts", err, len(accounts))
		}
		if set, err := s.AccountSettings(t.Context(), account.Number); err != nil || !set.NoReturn || set.Timezone != "UTC" {
			t.Errorf("%v: the settings are %+v", err, set)
		}
	})
}

// What an organization says at setup about goods and services stands on its first receipt.
func TestSetupAsksWhatReceiptsSay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		in := founder("ada")
		in.NoReturn, in.Timezone = true, "America/New_York"
		_, account, err := s.Setup(t.Context(), setupToken(t, s), in)
		if err != nil {
			t.Fatal(err)
		}
		made := giveNow(t, s, account.Number, `,"first_name":"Ada","last_name":"Byron","email":"ada@example.org"`)
		if made, err = s.IssueReceipt(t.Context(), account.Number, made.Code); err != nil {
			t.Fatal(err)
		}
		r, err := s.Receipt(t.Context(), account.Number, made.Receipt)
		if err != nil || !strings.Contains(fmt.Sprint(r.Text.Says), "No goods or services were provided in exchange for this gift.") {
			t.Errorf("%v: the receipt says %v", err, r.Text.Says)
		}
		if set, err := s.AccountSettings(t.Context(), account.Number); err != nil || set.Timezone != in.Timezone {
			t.Errorf("%v: the settings are %+v", err, set)
		}
	})
}

func TestAWrongSetupIsToldEverythingAndMayBeTriedAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		token := setupToken(t, s)
		_, _, err := s.Setup(t.Context(), token, access.SetupInput{})
		wantRefused(t, "nothing at all", err, "name", "email", "password", "organization")
		if users, err := s.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%v: the users are %+v", err, users)
		}
		if _, _, err := s.Setup(t.Context(), token, founder("ada")); err != nil {
			t.Error(err)
		}
	})
}

func TestASetupTokenLastsADay(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		old := setupToken(t, s)
		now.move(24*time.Hour - time.Second)
		if _, err := s.SetupOffer(t.Context(), old); err != nil {
			t.Error(err)
		}
		now.move(time.Second)
		_, err := s.SetupOffer(t.Context(), old)
		wantError(t, "after a day", err, crm.ErrNotFound)
		_, _, err = s.Setup(t.Context(), old, founder("ada"))
		wantError(t, "after a day", err, crm.ErrNotFound)
		later := setupToken(t, s)
		for _, wrong := range []string{"", "x", later + "x", access.HashToken(later)} {
			_, err := s.SetupOffer(t.Context(), wrong)
			wantError(t, wrong, err, crm.ErrNotFound)
		}
		if _, _, err := s.Setup(t.Context(), later, founder("ada")); err != nil {
			t.Error(err)
		}
	})
}

// A link that was printed and forgotten, in a log or on a screen, ends with the next start of any node.
func TestConcurrentNewSetupTokenReplacesTheOneBefore(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		stores := []*Book{a, b}
		first, second := setupToken(t, a), setupToken(t, b)
		for _, s := range stores {
			_, err := s.SetupOffer(t.Context(), first)
			wantError(t, "a look at the first link", err, crm.ErrNotFound)
			_, _, err = s.Setup(t.Context(), first, founder("eve"))
			wantError(t, "the first link", err, crm.ErrNotFound)
			if _, err := s.SetupOffer(t.Context(), second); err != nil {
				t.Error(err)
			}
		}
		tokens := make([]string, 8)
		atOnce(len(tokens), func(i int) { tokens[i] = setupToken(t, stores[i%2]) }) // nodes that start together
		valid := 0
		for _, token := range tokens {
			if _, err := a.SetupOffer(t.Context(), token); err == nil {
				valid++
			}
		}
		if valid != 1 {
			t.Errorf("%d of %d links work", valid, len(tokens))
		}
	})
}

func TestASetupTokenNeverGivesAwayAnOrganizationWithContacts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		empty, used, above := newAccount(t, s), newAccount(t, s), newAccount(t, s)
		chapter := must(s.CreateAccount(t.Context(), "Chapter", above.ID))(t)
		create(t, s, used.Number, `{"first_name":"A"}`)
		create(t, s, chapter.Number, `{"first_name":"B"}`)
		token := setupToken(t, s)
		offer, err := s.SetupOffer(t.Context(), token)
		if diff := cmp.Diff(people.SetupOffer{Accounts: []access.Account{empty}, Withheld: true}, offer); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		in := founder("eve")
		for what, account := range map[string]access.Account{"with contacts": used, "with a chapter that has contacts": above, "a chapter": chapter} {
			in.Account = account.ID
			_, _, err := s.Setup(t.Context(), token, in)
			wantRefused(t, what, err, "organization")
		}
		spy := spyOn(t, s)
		spy.read = func(sql string) { // its first contact comes after it was offered
			if sql == people.SQLContactSeqs {
				spy.read = nil
				create(t, s, empty.Number, `{"first_name":"C"}`)
			}
		}
		in.Account = empty.ID
		_, _, err = s.Setup(t.Context(), token, in)
		wantRefused(t, "that has a contact by now", err, "organization")
		if users, err := s.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%v: the users are %+v", err, users)
		}
		if _, _, err := s.Setup(t.Context(), token, founder("ada")); err != nil {
			t.Errorf("a new organization: %v", err)
		}
	})
}

func TestASetupTokenEndsWhenAnOperatorMakesTheFirstUser(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		token := setupToken(t, s)
		newUser(t, s, newAccount(t, s), access.Owner, "ada")
		_, err := s.SetupOffer(t.Context(), token)
		wantError(t, "a look", err, crm.ErrNotFound)
		_, _, err = s.Setup(t.Context(), token, founder("bob"))
		wantError(t, "a second user", err, crm.ErrNotFound)
	})
}

func TestConcurrentOfManyFirstUsersAtOnceOneIsFirst(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		stores := []*Book{a, b}
		token := setupToken(t, a)
		var mu sync.Mutex
		won := 0
		atOnce(8, func(i int) {
			_, _, err := stores[i%2].Setup(t.Context(), token, founder("user "+string(rune('a'+i))))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
				return
			}
			wantError(t, "too late", err, crm.ErrNotFound)
		})
		users, err := a.Users(t.Context())
		accounts, err2 := b.Accounts(t.Context())
		if err != nil || err2 != nil || won != 1 || len(users) != 1 || len(accounts) != 1 {
			t.Errorf("%v, %v: %d succeeded, there are %d users and %d accounts", err, err2, won, len(users), len(accounts))
		}
	})
}
