package book

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// fill inserts rows with the numbers from 1 to n, which the statement calls i, without any checks.
func fill(t testing.TB, s *Book, n int64, insert string, columns string) {
	t.Helper()
	sql := fmt.Sprintf(
		`%s WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n`, insert, n,
		columns)
	run(t, s, sql)
}

func run(t testing.TB, s *Book, sql string) {
	t.Helper()
	err := s.UpdateShared(t.Context(), 0, func(t *store.Tx) error {
		return errOf(t.Exec(sql))
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// wantRoomFor lets many clients add a thing at once, on two nodes: as many succeed as the limit allows, and the
// others are told why.
func wantRoomFor(t *testing.T, room int, limit doc.Limit, stores []*Book, add func(*Book, int) error) {
	t.Helper()
	var mu sync.Mutex
	added := 0
	atOnce(room+5, func(i int) {
		err := add(stores[i%2], i)
		mu.Lock()
		defer mu.Unlock()
		var invalid *doc.Invalid
		if err == nil {
			added++
		} else if !errors.As(err, &invalid) || err.Error() != limit.Reached {
			t.Errorf("it was refused with %v, want %q", err, limit.Reached)
		}
	})
	equal(t, added, room, "were added")
}

func TestConcurrentAccountHasSoManyActiveKeys(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Number
	now := stopClock(a.Book)
	b.Now = now.time

	expiry := now.time().Add(time.Hour)
	add := func(s *Book, _ int) error {
		return errOf2(s.CreateKey(t.Context(), account, access.KeyInput{Name: "x", ExpiresAt: expiry}))
	}
	wantRoomFor(t, 200, access.KeyLimit, []*Book{a.Book, b.Book}, add)
	succeed(t, a.RevokeKey(t.Context(), doc.MakeID(account, 7)))
	wantRoomFor(t, 1, access.KeyLimit, []*Book{a.Book, b.Book}, add)
	now.move(time.Hour) // all of them have expired
	expiry = now.time().Add(time.Hour)
	succeed(t, add(a.Book, 0))
}

// The list of keys does not grow without limit, and an active key stays in it no matter how old it is.
func TestKeysThatEndedLongAgoAreForgotten(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	now := stopClock(s.Book)

	revoked, _ := newKey(t, s.Book, account, access.KeyInput{})
	expired, _ := newKey(t, s.Book, account, access.KeyInput{ExpiresAt: now.time().Add(time.Hour)})
	active, secret := newKey(t, s.Book, account, access.KeyInput{})
	late, _ := newKey(t, s.Book, account, access.KeyInput{})
	for _, key := range []access.Key{revoked, late} {
		succeed(t, s.RevokeKey(ctx, key.ID))
	}
	now.move(time.Hour)
	wantKeys := func(what string, want ...int64) {
		t.Helper()
		keys, err := s.Keys(ctx, account)
		var got []int64
		for _, k := range keys {
			got = append(got, k.ID)
		}
		succeed(t, err)
		equal(t, fmt.Sprint(got), fmt.Sprint(want), "%s (%v) (%v)", what, got, want)
	}
	key, _ := newKey(t, s.Book, account, access.KeyInput{})
	wantKeys("at first", revoked.ID, expired.ID, active.ID, late.ID, key.ID)
	run(t, s.Book, fmt.Sprintf(`UPDATE account_tally SET key_seq = %d WHERE account_id = %d`, access.KeptKeys+2,
		account))
	newer, _ := newKey(t, s.Book, account, access.KeyInput{})
	wantKeys("after many others", active.ID, late.ID, key.ID, newer.ID)
	must(s.Authenticate(ctx, secret))(t)
	s.Touching.Wait()
}

func TestConcurrentAccountHasSoManyOpenInvitations(t *testing.T) {
	ctx := t.Context()
	a, b := twoFolk(t)
	account := a.Account
	now := stopClock(a.Book)
	b.Now = now.time

	ada := newUser(t, a.Book, account, access.Owner, "ada")
	add := func(s *Book, _ int) error {
		return errOf2(s.Invite(ctx, account, ada, access.Viewer, ""))
	}
	wantRoomFor(t, 100, access.InvitationLimit, []*Book{a.Book, b.Book}, add)
	open := must(a.Invitations(ctx, a.Number))(t)
	succeed(t, a.RevokeInvitation(ctx, a.Number, open[0].ID))
	wantRoomFor(t, 1, access.InvitationLimit, []*Book{a.Book, b.Book}, add)
	now.move(7 * 24 * time.Hour)
	succeed(t, add(a.Book, 0))
	equal(t, count(t, a.Book, `SELECT COUNT(*) FROM invitation`), 1, "invitations are kept")
}

func TestConcurrentAccountHasSoManyMembers(t *testing.T) {
	a, b := twoFolk(t)
	account := a.Account
	other := newAccount(t, a.Book)
	ada := newUser(t, a.Book, account, access.Owner, "ada")
	var tokens, emails []string
	for i := range 8 {
		_, token := invite(t, a.Book, a.Account, ada, access.Viewer)
		tokens, emails = append(tokens, token), append(emails,
			newUser(t, a.Book, other, access.Viewer, fmt.Sprint("user", i)).Email)
	}
	filled := access.MemberLimit.Max - 4
	fill(t, a.Book, filled, `INSERT INTO app_user (id, login, email, name, password, opened, created_at)`,
		`i, 'm' || i, 'm' || i, 'M', '', 0, 0`)
	fill(t, a.Book, filled, `INSERT INTO member (account_id, user_id, role, created_at, seen_at)`,
		fmt.Sprintf(`%d, i, 1, 0, 0`, a.Number))
	wantRoomFor(t, 3, access.MemberLimit, []*Book{a.Book, b.Book}, func(s *Book, i int) (err error) {
		if i%2 == 0 {
			_, _, err = s.JoinByInvitation(t.Context(), tokens[i], joiner(fmt.Sprint("new", i)))
		} else {
			_, err = s.AddMember(t.Context(), account, access.Viewer, emails[i])
		}
		return err
	})
	equal(t, count(t, a.Book, fmt.Sprintf(`SELECT COUNT(*) FROM member WHERE account_id = %d`, a.Number)),
		access.MemberLimit.Max, "there are members")
	users, links := count(t, a.Book, `SELECT COUNT(*) FROM app_user`),
		count(t, a.Book, `SELECT COUNT(*) FROM invitation`)
	equal(t, users-9-filled, 8-links, "one who could not join left something behind: users, %d invitations", links)
}

func TestWhoCannotJoinWritesNothing(t *testing.T) {
	s := newFolk(t)
	account := s.Account

	_, token := invite(t, s.Book, s.Account, newUser(t, s.Book, account, access.Owner, "ada"), access.Viewer)
	fill(t, s.Book, access.MemberLimit.Max-1,
		`INSERT INTO app_user (id, login, email, name, password, opened, created_at)`,
		`i, 'm' || i, 'm' || i, 'M', '', 0, 0`)
	fill(t, s.Book, access.MemberLimit.Max-1, `INSERT INTO member (account_id, user_id, role, created_at, seen_at)`,
		fmt.Sprintf(`%d, i, 1, 0, 0`, s.Number))
	spy := spyOn(t, s.Book)
	spy.wrote = func(sql string) {
		if strings.HasPrefix(sql, "INSERT") || strings.HasPrefix(sql, "DELETE") {
			t.Errorf("a user who cannot join ran: %s", sql)
		}
	}
	wantRefused(t, "a member too many", errOf2(s.JoinByInvitation(t.Context(), token, joiner("late"))), "")
	wantRefused(t, "a member too many", errOf(s.CreateUser(t.Context(), account, access.Viewer, joiner("later"))), "")
}

func TestConcurrentOrganizationHasSoManyChapters(t *testing.T) {
	ctx := t.Context()
	a, b := twoFolk(t)
	root := a.Account

	ada := newUser(t, a.Book, root, access.Owner, "ada")
	chapter := tree(t, a.Book, a.Account, ada, "East")["East"]
	fill(t, a.Book, access.ChapterLimit.Max-2, `INSERT INTO account (account_id, public_id, name, parent, created_at)`,
		fmt.Sprintf(`1000000 + i, 'filler' || CAST(i AS TEXT), 'filler', %d, 0`, a.Number))
	wantRoomFor(t, 1, access.ChapterLimit, []*Book{a.Book, b.Book}, func(s *Book, i int) (err error) {
		if i%3 == 0 {
			_, err = s.CreateAccount(ctx, "New", chapter.ID)
		} else {
			_, err = s.CreateChapter(ctx, chapter, ada.ID, chapter.ID, "New")
		}
		return err
	})
	must(a.CreateAccount(ctx, "Another organization", ""))(t)
	run(t, a.Book, `DELETE FROM account WHERE name = 'filler'`)
}

func TestAChapterIsNotTooDeep(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	root := s.Account

	ada := newUser(t, s.Book, root, access.Owner, "ada")
	above := root
	for range access.LevelLimit.Max {
		var err error
		if above, err = s.CreateChapter(ctx, root, ada.ID, above.ID, "Deeper"); err != nil {
			t.Fatal(err)
		}
	}
	wantRefused(t, "one more level", errOf(s.CreateChapter(ctx, root, ada.ID, above.ID, "Too deep")), "")
	equal(t, int64(len(must(s.Chapters(ctx, root))(t))), access.LevelLimit.Max, "there are chapters")
}

func TestConcurrentOrganizationHasSoManyCampaigns(t *testing.T) {
	ctx := t.Context()
	a, b := twoFolk(t)
	root := a.Account

	chapter := tree(t, a.Book, a.Account, newUser(t, a.Book, root, access.Owner, "ada"), "East")["East"]
	insert := `INSERT INTO campaign_reader (account_id, campaign_id, relation)`
	fill(t, a.Book, campaign.Limit.Max-3, insert, fmt.Sprintf(`%d, 1000000000000000 + i, %d`, a.Number,
		campaign.Chapter))
	fill(t, a.Book, 50, insert, fmt.Sprintf(`%d, -i, %d`, a.Number, campaign.Benefiting)) // of others
	title := "Gala"
	in := campaign.Input{Title: &title}
	owners := []access.Account{root, chapter}
	_, err := a.ImportCampaigns(ctx, chapter, []campaign.Input{in, in, in, in})
	wantRefused(t, "an import of four", err, "")
	wantRoomFor(t, 3, campaign.Limit, []*Book{a.Book, b.Book}, func(s *Book, i int) error {
		return errOf(s.CreateCampaign(ctx, owners[i%3%2], in))
	})
	equal(t, count(t, a.Book, `SELECT COUNT(*) FROM campaign`), 3, "there are campaigns")
	must(a.ImportCampaigns(ctx, root, nil))(t)
	run(t, a.Book, `DELETE FROM campaign_reader WHERE campaign_id < 0 OR campaign_id > 1000000000000000`)
}

// A user who signs in again and again, as a script does, does not fill the list: the browsers that have been unused
// for longest are signed out.
func TestAUserHasSoManySessions(t *testing.T) {
	ctx := t.Context()
	s := newBook(t)
	now := stopClock(s)
	ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
	var tokens []string
	start := func() {
		t.Helper()
		now.move(time.Second)
		token := must(s.StartSession(ctx, ada.ID, access.Device{}))(t)
		tokens = append(tokens, token)
	}
	for range access.MaxSessions {
		start()
	}
	now.move(time.Hour)
	if _, err := s.Session(ctx, tokens[0]); err != nil { // the oldest is used
		t.Fatal(err)
	}
	s.Touching.Wait()
	start()
	start()
	equal(t, len(must(s.Sessions(ctx, ada.ID))(t)), access.MaxSessions, "there are sessions")
	for i, want := range map[int]error{0: nil, 1: crm.ErrUnauthenticated, 2: crm.ErrUnauthenticated, 3: nil,
		access.MaxSessions + 1: nil} {
		wantError(t, fmt.Sprint("session ", i), errOf(s.Session(ctx, tokens[i])), want)
	}
	s.Touching.Wait()
}
