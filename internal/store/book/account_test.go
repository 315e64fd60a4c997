package book

import (
	"fmt"
	"path"
	"slices"
	"sync/atomic"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

func TestAccountsAreListedOldestFirst(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	equal(t, len(must(s.Accounts(ctx))(t)), 0, "a new database")
	var made []access.Account
	above := access.Account{}
	for i := range 4 {
		a := must(s.CreateAccount(ctx, fmt.Sprintf(" Chapter %d ", i), above.ID))(t)
		expect(t, "the parent", fmt.Sprint(above.Number, " ", above.ID), a.Parent, a.ParentID)
		equal(t, must(s.Account(ctx, a.ID))(t), a)
		made, above = append(made, a), a
	}
	equal(t, must(s.Accounts(ctx))(t), made)
}

func TestUnknownAccountsAreNotFound(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	account := newAccount(t, s)
	for _, id := range []string{"x", account.ID + "x", fmt.Sprint(account.Number)} {
		notFound(t)(s.Account(ctx, id))
		notFound(t)(s.CreateAccount(ctx, "Chapter", id))
	}
	notFound(t)(s.Account(ctx, ""))
	rejects(t, "an account without a name")(s.CreateAccount(ctx, "  ", ""))
	equal(t, len(must(s.Accounts(ctx))(t)), 1, "the accounts")
	notFound(t)(s.Contacts(ctx, account.Number+1, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil))
}

// The first account's ids are 1, 2, 3, and those of the next account begin after a billion. Older accounts have random
// numbers, which do not count. A number whose account was lost is not used again, since some of its rows may still
// exist, and one that was refused has none. When all numbers are in use, new ones are random again.
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
	for i, first := range []int64{1, 1_000_000_001, 2_000_000_001} {
		account := newAccount(t, s).Number
		equal(t, account, int64(i)+1, "beside accounts with random numbers")
		equal(t, create(t, s, account, `{"first_name":"Ana"}`).ID, first)
		rejects(t, "an account without a name")(s.CreateAccount(t.Context(), "", ""))
	}
	damage(t, s, `DELETE FROM account WHERE account_id = 3`)
	equal(t, newAccount(t, s).Number, 4, "after an account that was lost")
	made(999_999)
	for range 3 {
		equal(t, newAccount(t, s).Number >= 1_000_000, true, "after the last number")
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

// Once there are gifts, the currency stays, and a refused change changes nothing else.
func TestSettingsOfAnAccountAreKept(t *testing.T) {
	s := newBook(t)
	account, other := newAccount(t, s), newAccount(t, s)
	set := func(in access.AccountSettingsInput) error {
		return s.SetAccountSettings(t.Context(), account.Number, in)
	}
	succeed(t, set(access.AccountSettingsInput{Currency: ptr("eur"), Address: ptr("1 Quay\nPorto")}))
	succeed(t, set(access.AccountSettingsInput{TaxID: ptr("PT 123"), Address: ptr("")}))
	giveNow(t, s, account.Number, ofAda)
	says(t, "another currency",
		"The currency field must stay EUR: the organization has gifts, and its sums are in this currency.")(
		set(access.AccountSettingsInput{Currency: ptr("USD"), Address: ptr("2 Quay")}))
	want := access.AccountSettings{Timezone: "UTC", Currency: "EUR", HasGifts: true, TaxID: "PT 123"}
	wantSettings(t, s, account, want)
	succeed(t, set(access.AccountSettingsInput{Currency: ptr("eur"), Address: ptr("1 Quay\nPorto")})) // the same one
	want.Address = "1 Quay\nPorto"
	wantSettings(t, s, account, want)
	wantSettings(t, s, other, access.AccountSettings{Timezone: "UTC", Currency: "USD"})
}

// If two people change different settings at once, both changes are saved.
func TestSettingsThatChangeAtOnceAreBothKept(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	x := &script{t: t, s: s}
	for _, in := range []access.AccountSettingsInput{{Address: ptr("1 Quay")}, {TaxID: ptr("04-1")}} {
		x.add(func() (store.ContactDocument, error) {
			return store.ContactDocument{}, s.SetAccountSettings(t.Context(), account.Number, in)
		})
	}
	x.mustRun(account.Number)
	want := access.AccountSettings{Timezone: "UTC", Currency: "USD", Address: "1 Quay", TaxID: "04-1"}
	wantSettings(t, s, account, want)
}

func wantSettings(t *testing.T, s *Book, account access.Account, want access.AccountSettings) {
	t.Helper()
	equal(t, must(s.AccountSettings(t.Context(), account.Number))(t), want)
}

// tree makes accounts: each name is a path, such as "A/B", below root.
func tree(t testing.TB, s *Book, root access.Account, by access.User, paths ...string) map[string]access.Account {
	t.Helper()
	made := map[string]access.Account{".": root}
	for _, at := range paths {
		made[at] = must(s.CreateChapter(t.Context(), root, by.ID, made[path.Dir(at)].ID, path.Base(at)))(t)
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
	equal(t, must(s.Chapters(ctx, root))(t), want)
	equal(t, must(s.Chapters(ctx, made["East"]))(t), want[1:4])
}

func TestManyChaptersAreAllListed(t *testing.T) {
	s := newBook(t)
	root := newAccount(t, s)
	var paths []string
	for i := range 41 {
		paths = append(paths, fmt.Sprintf("C%02d", i), fmt.Sprintf("C%02d/below", i))
	}
	made := tree(t, s, root, newUser(t, s, root, access.Owner, "ada"), paths...)
	want := store.Collect(paths, func(path string) access.Account { return made[path] })
	equal(t, must(s.Chapters(t.Context(), root))(t), want)
}

func TestWhoeverMakesAChapterOwnsIt(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	root := newAccount(t, s)
	ada := newUser(t, s, root, access.Owner, "ada")
	newUser(t, s, root, access.Owner, "bob")
	chapter := tree(t, s, root, ada, "East")["East"]
	wantRoles(t, s, chapter, "map[ada:owner]")
	equal(t, must(s.Membership(ctx, ada.ID, chapter.ID))(t).Account, chapter)
	equal(t, chapter.ParentID, root.ID)
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
	before := must(s.Accounts(ctx))(t)
	for _, test := range []struct {
		root access.Account
		id   string
	}{
		{root, other.ID}, {made["East"], root.ID}, {made["East"], made["West"].ID}, {root, ""}, {root, "x"},
		{root, root.ID[:15] + "\x00"}, {other, made["East"].ID},
	} {
		notFound(t)(s.RenameAccount(ctx, test.root, test.id, "Stolen"))
		notFound(t)(s.CreateChapter(ctx, test.root, ada.ID, test.id, "Stolen"))
	}
	equal(t, must(s.Accounts(ctx))(t), before)
}

// What a page allowed a moment ago is no longer allowed once the role is removed, whichever node removed it.
func TestConcurrentChangeNeedsTheRoleAtTheMomentItIsMade(t *testing.T) {
	s, other := twoNodes(t)
	account := newAccount(t, s)
	owner, second := newUser(t, s, account, access.Owner, "Ana"), newUser(t, s, account, access.Owner, "Bo")
	ctx := store.Acting(t.Context(), second.ID, account.Number, access.Owner)
	succeed(t, s.SetRole(ctx, account.Number, second.ID, access.Owner))
	succeed(t, other.SetRole(t.Context(), account.Number, second.ID, access.Editor))
	key := access.KeyInput{Name: "k", Permissions: access.AllPermissions}
	before := rowCounts(t, s)
	notFound(t)(s.SetRole(ctx, account.Number, second.ID, access.Owner))
	notFound(t)(s.RemoveMember(ctx, account.Number, owner.ID))
	notFound(t)(s.Invite(ctx, account, second, access.Owner, ""))
	notFound(t)(s.CreateKey(ctx, account.Number, key))
	notFound(t)(s.CreateChapter(ctx, account, second.ID, account.ID, "North"))
	notFound(t)(s.RenameAccount(ctx, account, account.ID, "Mine"))
	wantRoles(t, s, account, "map[Ana:owner Bo:editor]")
	equal(t, must(s.Account(t.Context(), account.ID))(t), account)
	equal(t, rowCounts(t, s), before)
	must2(s.CreateKey(store.Acting(t.Context(), second.ID, account.Number, access.Editor), account.Number, key))(t)
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
	changedSince(t)(s.UpdateContact(ctx, account, id, in))
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
	var saved [2]atomic.Int64
	atOnce(8, func(i int) {
		s := []*Book{a, b}[i%2]
		in := input(t, fmt.Sprintf(`{"first_name":"Ana %d"}`, i))
		row := campaignInput(t, fmt.Sprintf(`{"title":"Gala %d","slug":"gala"}`, i))
		in.Seen, row.Seen = contact, campaign
		for what, err := range []error{errOf(s.UpdateContact(t.Context(), owner.Number, id, in)),
			errOf(s.UpdateCampaign(t.Context(), owner, made.ID, row))} {
			if err == nil {
				saved[what].Add(1)
			} else {
				changedSince(t)(err)
			}
		}
	})
	expect(t, "contacts and campaigns", "1 1", saved[0].Load(), saved[1].Load())
}

func TestAChangeOfACampaignThatSomebodyElseHasChangedIsRefused(t *testing.T) {
	s := newBook(t)
	stopClock(s)
	f := newFamily(t, s)
	made := createCampaign(t, s, f.root, `{"title":"Gala","slug":"gala"}`)
	in := campaignInput(t, `{"title":"Mine","slug":"gala","beneficiaries":[]}`)
	seen := func() string { return must(s.Campaign(t.Context(), f.root.Number, made.ID))(t).Version() }
	for _, theirs := range []string{
		`{"title":"Ball","slug":"gala"}`,
		`{"slug":"gala","beneficiaries":["` + f.stranger.ID + `"]}`, // it changes nothing of what the API shows
	} {
		in.Seen = seen()
		updateCampaign(t, s, f.root, made.ID, theirs)
		changedSince(t)(s.UpdateCampaign(t.Context(), f.root, made.ID, in))
		equal(t, must(s.Campaign(t.Context(), f.root.Number, made.ID))(t).Campaign.Title, "Ball")
		equal(t, seen() == in.Seen, false, "the same version")
	}
	equal(t, len(must(s.Campaign(t.Context(), f.root.Number, made.ID))(t).Beneficiaries), 1)
	in.Seen = seen()
	must(s.UpdateCampaign(t.Context(), f.root, made.ID, in))(t)
}
