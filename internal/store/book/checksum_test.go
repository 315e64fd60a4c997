package book

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
)

// damage changes the database without the store's knowledge, as a failing disk would. Nothing is checked when the
// test ends.
func damage(t testing.TB, s *Book, sql string, args ...any) {
	t.Helper()
	var changed int64
	err := s.UpdateShared(t.Context(), 0, func(x *store.Tx) (err error) {
		changed, err = x.Exec(sql, args...)
		return err
	})
	if err != nil || changed == 0 {
		t.Fatalf("%s changed %d rows: %v", sql, changed, err)
	}
}

// closeAfter closes a store that was tampered with.
func closeAfter(t testing.TB, s *Book) {
	t.Cleanup(func() {
		succeed(t, s.Close())
	})
}

func wantDamage(t testing.TB, what string, err error, names string) {
	t.Helper()
	var damaged *store.Damaged
	equal(t, errors.As(err, &damaged), true, "%s", what)
	contains(t, err.Error(), names, "%s", what)
}

// One letter is different and the document is still JSON: without a checksum, this would go unnoticed.
func TestConcurrentDamagedContactIsToldAndNeverServed(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	closeAfter(t, s.Book)

	for i := range 1000 {
		if i < 3 || i > 990 { // a page of few active ones is read id by id
			s.create(fmt.Sprintf(`{"first_name":"Ana%d","emails":[{"value":"ana%d@x.org"}],"tags":["vip"]}`, i, i))
		}
	}
	id := doc.MakeID(account, 2)
	names := fmt.Sprintf("contact %d of account number %d", id, account)
	damaged := s.create(`{"emails":[{"value":"ana1@x.org"}]}`).Body
	s.damage(`UPDATE contact SET body = $2 WHERE id = $1`, id,
		[]byte(strings.Replace(string(damaged), "Ana1", "Anb1", 1)))

	page := crm.PageRequest{Page: 1, PerPage: 20}
	_, err := s.Contact(ctx, account, id, nil)
	wantDamage(t, "GET", err, names)
	wantDamage(t, "looking whether it is there", s.CheckContact(ctx, account, id), names)
	for range 2 { // before and after the set is held
		_, _, err = s.Contacts(ctx, account, crm.Active, page, nil, nil)
		wantDamage(t, "a list", err, names)
	}
	wantDamage(t, "a list of the console", errOf2(s.ContactPage(ctx, account, crm.Active, page)), names)
	wantDamage(t, "a record", errOf(s.ContactRecord(ctx, account, id)), names)
	wantDamage(t, "a search", errOf2(s.searchPage(crm.Active, typed("ana1"), 1, 10)), names)
	wantDamage(t, "a change", errOf(s.UpdateContact(ctx, account, id, input(t, `{"title":"Dr."}`))), names)
	wantDamage(t, "a tag", errOf(s.AddTags(ctx, account, id, []string{"new"})), names)
	wantDamage(t, "archiving", s.ArchiveContact(ctx, account, id), names)
	wantDamage(t, "restoring", errOf(s.RestoreContact(ctx, account, id)), names)
	wantDamage(t, "a merge", errOf(s.CreateContact(ctx, account, input(t,
		`{"title":"Dr.","emails":[{"value":"ana1@x.org"}]}`), crm.Dedupe)), names)
	equal(t, s.get(id+1).FirstName, "Ana2", "the next one")
}

func TestADamagedCampaignIsToldAndNeverServed(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	owner := s.Account
	closeAfter(t, s.Book)

	made := createCampaign(t, s.Book, s.Account, `{"title":"Gala","slug":"gala"}`)
	names := fmt.Sprintf("campaign %d", made.ID)
	body, _ := made.AppendBody(nil)
	s.damage(`UPDATE campaign SET body = $2 WHERE id = $1`, made.ID,
		[]byte(strings.Replace(string(body), "Gala", "Gaza", 1)))

	page := crm.PageRequest{Page: 1, PerPage: 20}
	wantDamage(t, "a list", errOf2(s.Campaigns(ctx, s.Number, campaign.OwnCampaigns, page, "", nil,
		nil)), names)
	wantDamage(t, "a list of the console", errOf2(s.CampaignPage(ctx, s.Number, campaign.OwnCampaigns,
		page)), names)
	wantDamage(t, "a record", errOf(s.Campaign(ctx, s.Number, made.ID)), names)
	wantDamage(t, "the public page", errOf2(s.CampaignBySlug(ctx, "gala")), names)
	wantDamage(t, "a change", errOf(s.UpdateCampaign(ctx, owner, made.ID, campaignInput(t,
		`{"title":"Ball","slug":"gala"}`))), names)
	wantDamage(t, "an import", errOf(s.ImportCampaigns(ctx, owner, []campaign.Input{campaignInput(t,
		`{"title":"Ball","slug":"gala"}`)})), names)
}

func TestACopyRefusesADamagedDocument(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	closeAfter(t, s.Book)

	s.create(`{"first_name":"Ana"}`)
	s.damage(`UPDATE contact SET checksum = checksum + 1 WHERE account_id = $1`, s.Number)
	wantDamage(t, "a contact", errOf(move.Copy(t.Context(), o, store.Options{Data: t.TempDir()},
		move.CopyOptions{})), fmt.Sprintf("contact %d", doc.MakeID(s.Number, 1)))
	s.damage(`UPDATE contact SET checksum = checksum - 1 WHERE account_id = $1`, s.Number)
	made := createCampaign(t, s.Book, s.Account, `{"title":"Gala"}`)
	s.damage(`UPDATE campaign SET checksum = checksum + 1 WHERE id = $1`, made.ID)
	wantDamage(t, "a campaign", errOf(move.Copy(t.Context(), o, store.Options{Data: t.TempDir()},
		move.CopyOptions{})), fmt.Sprintf("campaign %d", made.ID))
}

// forgetDerived leaves a database as if another version of the program had derived other things.
func forgetDerived(t *testing.T, s *Book) {
	t.Helper()
	for _, sql := range []string{`UPDATE derived SET version = version - 1`, `DELETE FROM contact_index`,
		`DELETE FROM contact_search`, `UPDATE tag SET contacts = 5`,
		`UPDATE contact_set SET size = 7`,
		`UPDATE contact SET created_at = 0, updated_at = 0, sort_name = '', given = 0`} {
		damage(t, s, sql)
	}
	succeed(t, s.Close())
}

func TestWhatAnotherVersionHasDerivedIsDerivedAnew(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	account := s.Number

	for i := range 450 { // more than one statement reads
		s.create(fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t%d"]}`, i, i,
			i%3))
	}
	s.archive(doc.MakeID(account, 1))
	forgetDerived(t, s.Book)
	s.Book = open(t, o) // its end compares everything
	equal(t, s.search(crm.Active, typed("p44"), 25),
		[]int64{450, 449, 448, 447, 446, 445, 444, 443, 442, 441, 45})
	d := s.create(`{"first_name":"Q","emails":[{"value":"P7@x.org"}]}`)
	equal(t, d.Merged, true, "merged into")
	equal(t, doc.IDSeq(d.ID), 8, "merged into")
	s.wantTags("{t1 150} {t2 150} {t0 149}")
}

// Phones had no extension in their match keys, and emails were only case-folded. An upgrade works out both anew, and
// what users sign in with.
func TestMatchKeysOfEarlierReleasesAreWorkedOutAnew(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	org := s.Account

	s.create(`{"first_name":"Ann","phones":["212-555-0100 x5"],"tags":["t"]}`)
	s.create(`{"first_name":"Jo","emails":["jo@xn--bcher-kva.example"]}`)
	must(s.CreateUser(t.Context(), org, access.Owner, access.UserInput{Name: "Jo", Email: "jo@xn--bcher-kva.example",
		Password: "a long password 1"}))(t)
	for _, sql := range []string{
		`UPDATE contact SET match_keys = REPLACE(REPLACE(match_keys, ';ext=5', ''), 'bücher', 'xn--bcher-kva')`,
		`UPDATE app_user SET login = 'jo@xn--bcher-kva.example'`} {
		s.damage(sql)
	}
	forgetDerived(t, s.Book)
	s.Book = open(t, o) // its end compares everything
	for _, test := range []struct {
		sent   string
		merged bool
	}{
		{`{"first_name":"Bob","phones":["212-555-0100 x6"]}`, false},
		{`{"first_name":"Desk","phones":["212-555-0100"]}`, false},
		{`{"first_name":"Ann","phones":["+1 212 555 0100 ext. 5"]}`, true},
		{`{"first_name":"Jo","emails":["Jo@bücher.example"]}`, true},
	} {
		equal(t, s.create(test.sent).Merged, test.merged, "%s was merged", test.sent)
	}
	signIn(t, s.Book, "jo@bücher.example", "a long password 1")
	signIn(t, s.Book, "jo@xn--bcher-kva.example", "a long password 1")
}

// A document that cannot be read does not prevent an upgrade. It is reported whenever it is read, as before.
func TestADamagedContactKeepsNobodyFromAnUpgrade(t *testing.T) {
	o := newDatabase(t)
	s := folkOf(t, open(t, o))
	account := s.Number

	for i := range 3 {
		s.create(fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["all"]}`, i, i))
	}
	id := doc.MakeID(account, 2)
	s.damage(`UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id)
	forgetDerived(t, s.Book)
	s.Book = open(t, o)
	closeAfter(t, s.Book)
	equal(t, s.search(crm.Active, typed("p"), 25), []int64{3, 1})
	wantDamage(t, "a create that matches it", errOf(s.CreateContact(t.Context(), account, input(t,
		`{"first_name":"Q","emails":[{"value":"p1@x.org"}]}`), crm.Dedupe)), fmt.Sprintf("contact %d", id))
	if found, _ := s.checkAll(true); len(found) != 1 || !strings.Contains(found[0],
		fmt.Sprintf("contact %d: its document is damaged", id)) {
		t.Errorf("found %q", found)
	}
	s.damage(`UPDATE contact SET checksum = checksum - 1 WHERE id = $1`, id)
	found, report := s.checkAll(true)
	for _, want := range []string{fmt.Sprintf("contact %d: created_at is 0", id),
		fmt.Sprintf("contact %d: the search does not have exactly", id), `the contacts with the tag "all" are`,
		`the set of contacts for "tag all" is`} {
		if !strings.Contains(strings.Join(found, "\n"), want) || report.Repaired != report.Problems {
			t.Errorf("once it can be read: %q", found)
		}
	}
	equal(t, s.search(crm.Active, typed("p1"), 25), []int64{2})
}
