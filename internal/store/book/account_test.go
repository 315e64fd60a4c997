package book

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

func TestAccountsAreListedOldestFirst(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	equal(t, len(must(s.Accounts(ctx))(t)), 0, "a new database")
	var made []access.Account
	parent := ""
	for i := range 4 {
		a := must(s.CreateAccount(ctx, fmt.Sprintf(" Chapter %d ", i), parent))(t)
		if i == 0 && (a.Parent != 0 || a.ParentID != "") || i > 0 &&
			(a.Parent != made[i-1].Number || a.ParentID != made[i-1].ID) {
			t.Errorf("account %d has the parent %d %s", i, a.Parent, a.ParentID)
		}
		made = append(made, a)
		parent = a.ID
	}
	got, err := s.Accounts(ctx)
	if diff := cmp.Diff(made, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, want := range made {
		equal(t, must(s.Account(ctx, want.ID))(t), want)
	}
}

func TestUnknownAccountsAreNotFound(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	for _, id := range []string{"", "x", account.ID + "x", fmt.Sprint(account.Number)} {
		_, err := s.Account(ctx, id)
		wantError(t, id, err, crm.ErrNotFound)
		if id != "" {
			_, err = s.CreateAccount(ctx, "Chapter", id)
			wantError(t, "a chapter of "+id, err, crm.ErrNotFound)
		}
	}
	var invalid *doc.Invalid
	if _, err := s.CreateAccount(ctx, "  ", ""); !errors.As(err, &invalid) {
		t.Errorf("an account without a name: %v", err)
	}
	equal(t, len(must(s.Accounts(ctx))(t)), 1, "the accounts")
	wantError(t, "the contacts of no account", errOf2(s.Contacts(ctx, account.Number+1, crm.Active,
		crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)), crm.ErrNotFound)
}

func TestConcurrentAccountsMadeAtOnceAreAllThere(t *testing.T) {
	s := newBook(t)
	atOnce(32, func(int) { newAccount(t, s) })
	accounts, err := s.Accounts(t.Context())
	numbers := map[int64]bool{}
	for _, a := range accounts {
		numbers[a.Number] = true
	}
	succeed(t, err)
	equal(t, len(accounts), 32)
	equal(t, len(numbers), 32)
}

// The first account's ids are 1, 2, 3, and those of the next account begin after a billion.
func TestAccountsAreNumberedFromOne(t *testing.T) {
	s := newBook(t)
	for i, want := range []int64{1, 1_000_000_001, 2_000_000_001} {
		account := newAccount(t, s)
		if id := create(t, s, account.Number, `{"first_name":"Ana"}`).ID; account.Number != int64(i)+1 || id != want {
			t.Errorf("account %d has the number %d, and its first contact the id %d", i+1, account.Number, id)
		}
	}
	if _, err := s.CreateAccount(t.Context(), "", ""); err == nil {
		t.Error("an account without a name")
	}
	equal(t, newAccount(t, s).Number, 4, "after an account that was refused comes number")
}

// Older accounts have random numbers, which do not count. A number whose account was lost is not used again, since
// some of its rows may still exist. When all numbers are in use, new ones are random again.
func TestANewAccountHasTheNextNumber(t *testing.T) {
	s := newBook(t)
	closeAfter(t, s)
	made := func(number int64) {
		t.Helper()
		succeed(t, s.UpdateShared(t.Context(), 0, func(x *store.Tx) error {
			x.Insert(store.AccountTable, number, fmt.Sprintf("%016d", number), "Older", int64(0), int64(0))
			return nil
		}))
	}
	made(1_000_000)
	made(4_711_000)
	first, second := newAccount(t, s).Number, newAccount(t, s).Number
	if first != 1 || second != 2 {
		t.Errorf("beside accounts with random numbers the new ones are %d and %d", first, second)
	}
	damage(t, s, `DELETE FROM account WHERE account_id = $1`, second)
	equal(t, newAccount(t, s).Number, 3, "after an account that was lost comes")
	made(999_999)
	for range 3 {
		if number := newAccount(t, s).Number; number < 1_000_000 {
			t.Errorf("after the last number comes %d", number)
		}
	}
}

// Two nodes number organizations and chapters at once, and none of them fails or leaves a gap.
func TestConcurrentTwoNodesNumberAccountsAtOnce(t *testing.T) {
	a, b := twoNodes(t)
	top := newAccount(t, a)
	made := make([]int64, 20)
	atOnce(len(made), func(i int) {
		parent := map[bool]string{true: top.ID}[i%5 == 0]
		account, err := []*Book{a, b}[i%2].CreateAccount(t.Context(), fmt.Sprintf("Account %d", i), parent)
		succeed(t, err)
		made[i] = account.Number
	})
	slices.Sort(made)
	for i, number := range made {
		equal(t, number, int64(i)+2, "the numbers are %d", made)
	}
}

func TestSettingsOfAnAccountAreKept(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	set := func(in access.AccountSettingsInput) {
		t.Helper()
		succeed(t, s.SetAccountSettings(ctx, account.Number, in))
	}
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "USD"})
	euro, address, id, none := "eur", "1 Quay\nPorto", "PT 123", ""
	set(access.AccountSettingsInput{Currency: &euro, Address: &address})
	set(access.AccountSettingsInput{TaxID: &id})
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", Address: address, TaxID: id})
	set(access.AccountSettingsInput{Address: &none})
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", TaxID: id})
	wantSettings(t, s, other, access.AccountSettings{Timezone: "UTC", Currency: "USD"})

	// Once there are gifts, the currency stays, and a refused change changes nothing else.
	contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
	in := giftInput(t, `{"amount":5,"method":"cash","transacted_at":"2026-01-31","first_name":"A","last_name":"B"}`,
		true, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	in.Contact = &contact
	must(s.CreateGift(ctx, account.Number, in))(t)
	dollar := "USD"
	err := s.SetAccountSettings(ctx, account.Number,
		access.AccountSettingsInput{Currency: &dollar, Address: &address})
	if err == nil ||
		err.Error() != "The currency field must stay EUR: the organization has gifts, and its sums are in this currency." {
		t.Errorf("the currency of gifts changes: %v", err)
	}
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", HasGifts: true, TaxID: id})
	set(access.AccountSettingsInput{Currency: &euro, Address: &address}) // the same one
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "EUR", HasGifts: true,
		Address: address, TaxID: id})
}

// If two people change different settings at once, both changes are saved.
func TestSettingsThatChangeAtOnceAreBothKept(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	address, id := "1 Quay", "04-1"
	x := &script{t: t, s: s}
	for _, in := range []access.AccountSettingsInput{{Address: &address}, {TaxID: &id}} {
		x.add(func() (store.ContactDocument, error) {
			return store.ContactDocument{}, s.SetAccountSettings(t.Context(), account.Number, in)
		})
	}
	x.mustRun(account.Number)
	wantSettings(t, s, account, access.AccountSettings{Timezone: "UTC", Currency: "USD", Address: address, TaxID: id})
}

func wantSettings(t *testing.T, s *Book, account access.Account, want access.AccountSettings) {
	t.Helper()
	equal(t, must(s.AccountSettings(t.Context(), account.Number))(t), want)
}

// tree makes accounts: each name is a path, such as "A/B", below root.
func tree(t testing.TB, s *Book, root access.Account, by access.User, paths ...string) map[string]access.Account {
	t.Helper()
	made := map[string]access.Account{"": root}
	for _, path := range paths {
		above, name := "", path
		for i := range path {
			if path[i] == '/' {
				above, name = path[:i], path[i+1:]
			}
		}
		chapter := must(s.CreateChapter(t.Context(), root, by.ID, made[above].ID, name))(t)
		made[path] = chapter
	}
	return made
}

func TestChaptersAreListedAsATree(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root, other := newAccount(t, s), newAccount(t, s)
	ada, bob := newUser(t, s, root, access.Owner, "ada"), newUser(t, s, other, access.Owner, "bob")
	equal(t, len(must(s.Chapters(ctx, root))(t)), 0, "a new account")
	made := tree(t, s, root, ada, "west", "East", "East/zoo", "East/Äpfel", "East/zoo/deep", "west/x")
	tree(t, s, other, bob, "Foreign")
	var want []access.Account
	for _, path := range []string{"East", "East/Äpfel", "East/zoo", "East/zoo/deep", "west", "west/x"} {
		want = append(want, made[path])
	}
	got, err := s.Chapters(ctx, root)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = s.Chapters(ctx, made["East"])
	if diff := cmp.Diff(want[1:4], got); err != nil || diff != "" {
		t.Errorf("%v: below a chapter\n%s", err, diff)
	}
}

func TestManyChaptersAreAllListed(t *testing.T) {
	s := newBook(t)
	root := newAccount(t, s)
	var paths []string
	for i := range 41 {
		paths = append(paths, fmt.Sprintf("C%02d", i), fmt.Sprintf("C%02d/below", i))
	}
	made := tree(t, s, root, newUser(t, s, root, access.Owner, "ada"), paths...)
	got := must(s.Chapters(t.Context(), root))(t)
	if len(got) != len(paths) {
		t.Fatalf("%d chapters of %d", len(got), len(paths))
	}
	for i, path := range paths {
		equal(t, got[i], made[path], "chapter %d is, want %s", i, path)
	}
}

func TestWhoeverMakesAChapterOwnsIt(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root := newAccount(t, s)
	ada := newUser(t, s, root, access.Owner, "ada")
	newUser(t, s, root, access.Owner, "bob")
	chapter := tree(t, s, root, ada, "East")["East"]
	wantRoles(t, s, chapter, map[string]access.Role{"ada": access.Owner})
	if m := must(s.Membership(ctx, ada.ID, chapter.ID))(t); m.Account != chapter ||
		chapter.ParentID != root.ID {
		t.Errorf("%+v, made as %+v", m, chapter)
	}
	create(t, s, chapter.Number, `{"first_name":"First"}`)
	wantRefused(t, "no name", errOf(s.CreateChapter(ctx, root, ada.ID, root.ID, " ")), "name")
	equal(t, len(must(s.Chapters(ctx, root))(t)), 1)
}

func TestAnAccountIsRenamedByItsOrganizationOnly(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root, other := newAccount(t, s), newAccount(t, s)
	ada := newUser(t, s, root, access.Owner, "ada")
	made := tree(t, s, root, ada, "East", "East/Deep", "West")
	for _, account := range []access.Account{root, made["East"], made["East/Deep"]} {
		succeed(t, s.RenameAccount(ctx, root, account.ID, " New "+account.Name+" "))
		equal(t, must(s.Account(ctx, account.ID))(t).Name, "New "+account.Name, "the name")
	}
	wantRefused(t, "no name", s.RenameAccount(ctx, root, root.ID, ""), "name")
	for what, test := range map[string]struct {
		root access.Account
		id   string
	}{
		"another organization": {root, other.ID}, "the one above": {made["East"], root.ID},
		"the one beside": {made["East"], made["West"].ID},
		"none":           {root, ""}, "no id": {root, "x"}, "no text": {root, root.ID[:15] + "\x00"},
		"of another": {other, made["East"].ID},
	} {
		wantError(t, what, s.RenameAccount(ctx, test.root, test.id, "Stolen"), crm.ErrNotFound)
		wantError(t, "a chapter below "+what, errOf(s.CreateChapter(ctx, test.root, ada.ID, test.id,
			"Stolen")), crm.ErrNotFound)
	}
	accounts, err := s.Accounts(ctx)
	for _, a := range accounts {
		if a.Name == "Stolen" || err != nil {
			t.Errorf("%v: %+v", err, a)
		}
	}
}

// What a page allowed a moment ago is no longer allowed once the role is removed, whichever node removed it.
func TestConcurrentChangeNeedsTheRoleAtTheMomentItIsMade(t *testing.T) {
	s, other := twoNodes(t)
	account := newAccount(t, s)
	owner, second := newUser(t, s, account, access.Owner, "Ana"), newUser(t, s, account, access.Owner, "Bo")
	ctx := store.Acting(t.Context(), second.ID, account.Number, access.Owner)
	succeed(t, s.SetRole(ctx, account.Number, second.ID, access.Owner))
	succeed(t, other.SetRole(t.Context(), account.Number, second.ID, access.Editor))
	changes := map[string]func() error{
		"a role":   func() error { return s.SetRole(ctx, account.Number, second.ID, access.Owner) },
		"a member": func() error { return s.RemoveMember(ctx, account.Number, owner.ID) },
		"an invitation": func() error {
			return errOf2(s.Invite(ctx, account, second, access.Owner, ""))
		},
		"a key": func() error {
			return errOf2(s.CreateKey(ctx, account.Number, access.KeyInput{Name: "k",
				Permissions: access.AllPermissions}))
		},
		"a chapter": func() error {
			return errOf(s.CreateChapter(ctx, account, second.ID, account.ID, "North"))
		},
		"a name": func() error { return s.RenameAccount(ctx, account, account.ID, "Mine") },
	}
	for what, change := range changes {
		wantError(t, what, change(), crm.ErrNotFound)
	}
	members := must(s.Members(t.Context(), account.Number))(t)
	if len(members) != 2 || members[0].Role+members[1].Role != access.Owner+access.Editor {
		t.Errorf("%+v", members)
	}
	keys, err := s.Keys(t.Context(), account.Number)
	invitations, err2 := s.Invitations(t.Context(), account.Number)
	chapters, err3 := s.Chapters(t.Context(), account)
	if errors.Join(err, err2, err3) != nil || len(keys)+len(invitations)+len(chapters) != 0 {
		t.Errorf("%v %v %v, %v %v %v", keys, invitations, chapters, err, err2, err3)
	}
	editing := store.Acting(t.Context(), second.ID, account.Number, access.Editor)
	must2(s.CreateKey(editing, account.Number, access.KeyInput{Name: "k",
		Permissions: access.AllPermissions}))(t)
}

// contactVersion is the version of a contact that a user sees who opens a form.
func contactVersion(t *testing.T, s *Book, account, id int64) string {
	t.Helper()
	c := recordOf(t, s, account, id)
	return c.Version()
}

// The clock does not move: versions distinguish two changes within one second.
func TestAChangeOfAContactThatSomebodyElseHasChangedIsRefused(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	stopClock(s)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"Ana"}`).ID
	in := input(t, `{"first_name":"Anna"}`)
	in.Seen = contactVersion(t, s, account, id)
	must(s.AddTags(ctx, account, id, []string{"vip"}))(t)
	spy := spyOn(t, s)
	wantError(t, "an old form", errOf(s.UpdateContact(ctx, account, id, in)), crm.ErrChanged)
	equal(t, get(t, s, account, id).FirstName, "Ana", "it was saved")
	equal(t, spy.commits.Load(), 0, "it was saved")
	in.Seen = contactVersion(t, s, account, id)
	must(s.UpdateContact(ctx, account, id, in))(t)
	in.Seen = ""
	must(s.UpdateContact(ctx, account, id, in))(t)
}

func TestConcurrentOfManyFormsOfOneVersionOneIsSaved(t *testing.T) {
	a, b := twoNodes(t)
	owner := newAccount(t, a)
	id := create(t, a, owner.Number, `{"first_name":"Ana"}`).ID
	made := createCampaign(t, a, owner, `{"title":"Gala","slug":"gala"}`)
	contact, campaign := contactVersion(t, a, owner.Number, id), made.Version(nil)
	var contacts, campaigns atomic.Int64
	count := func(n *atomic.Int64, err error) {
		if err == nil {
			n.Add(1)
		} else if !errors.Is(err, crm.ErrChanged) {
			t.Error(err)
		}
	}
	atOnce(8, func(i int) {
		s := []*Book{a, b}[i%2]
		in := input(t, fmt.Sprintf(`{"first_name":"Ana %d"}`, i))
		in.Seen = contact
		_, err := s.UpdateContact(t.Context(), owner.Number, id, in)
		count(&contacts, err)
		row := campaignInput(t, fmt.Sprintf(`{"title":"Gala %d","slug":"gala"}`, i))
		row.Seen = campaign
		_, err = s.UpdateCampaign(t.Context(), owner, made.ID, row)
		count(&campaigns, err)
	})
	equal(t, contacts.Load(), 1)
	equal(t, campaigns.Load(), 1)
}

func TestAChangeOfACampaignThatSomebodyElseHasChangedIsRefused(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	f := newFamily(t, s)
	made := createCampaign(t, s, f.root, `{"title":"Gala","slug":"gala"}`)
	for _, theirs := range []string{
		`{"title":"Ball","slug":"gala"}`,
		`{"slug":"gala","beneficiaries":["` + f.stranger.ID + `"]}`, // it changes nothing of what the API shows
	} {
		record, err := s.Campaign(ctx, f.root.Number, made.ID)
		succeed(t, err)
		in := campaignInput(t, `{"title":"Mine","slug":"gala","beneficiaries":[]}`)
		in.Seen = record.Version()
		updateCampaign(t, s, f.root, made.ID, theirs)
		wantError(t, theirs, errOf(s.UpdateCampaign(ctx, f.root, made.ID, in)), crm.ErrChanged)
		after := must(s.Campaign(ctx, f.root.Number, made.ID))(t)
		if after.Campaign.Title != "Ball" || after.Version() == record.Version() {
			t.Errorf("%s: %+v", theirs, after)
		}
	}
	record := must(s.Campaign(ctx, f.root.Number, made.ID))(t)
	if len(record.Beneficiaries) != 1 {
		t.Fatalf("%+v", record)
	}
	in := campaignInput(t, `{"title":"Mine","slug":"gala","beneficiaries":[]}`)
	in.Seen = record.Version()
	must(s.UpdateCampaign(ctx, f.root, made.ID, in))(t)
}
