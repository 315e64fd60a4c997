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
	sql := fmt.Sprintf(`%s WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n`, insert, n, columns)
	run(t, s, sql)
}

func run(t testing.TB, s *Book, sql string) {
	t.Helper()
	err := s.UpdateShared(t.Context(), 0, func(t *store.Tx) error {
		_, err := t.Exec(sql)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// wantRoomFor lets many clients add a thing at once, on two nodes: as many succeed as the limit allows, and the others are told
// why.
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
	if added != room {
		t.Errorf("%d were added, want %d", added, room)
	}
}

func TestConcurrentAccountHasSoManyActiveKeys(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		now := stopClock(a)
		b.Now = now.time
		account := newAccount(t, a).Number
		expiry := now.time().Add(time.Hour)
		add := func(s *Book, _ int) error {
			_, _, err := s.CreateKey(t.Context(), account, access.KeyInput{Name: "x", ExpiresAt: expiry})
			return err
		}
		wantRoomFor(t, 200, access.KeyLimit, []*Book{a, b}, add)
		succeed(t, a.RevokeKey(t.Context(), doc.MakeID(account, 7)))
		wantRoomFor(t, 1, access.KeyLimit, []*Book{a, b}, add)
		now.move(time.Hour) // all of them have expired
		expiry = now.time().Add(time.Hour)
		if err := add(a, 0); err != nil {
			t.Error(err)
		}
	})
}

// The list of keys does not grow without limit, and an active key stays in it no matter how old it is.
func TestKeysThatEndedLongAgoAreForgotten(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		account := newAccount(t, s).Number
		revoked, _ := newKey(t, s, account, access.KeyInput{})
		expired, _ := newKey(t, s, account, access.KeyInput{ExpiresAt: now.time().Add(time.Hour)})
		active, secret := newKey(t, s, account, access.KeyInput{})
		late, _ := newKey(t, s, account, access.KeyInput{})
		for _, key := range []access.Key{revoked, late} {
			succeed(t, s.RevokeKey(t.Context(), key.ID))
		}
		now.move(time.Hour)
		wantKeys := func(what string, want ...int64) {
			t.Helper()
			keys, err := s.Keys(t.Context(), account)
			var got []int64
			for _, k := range keys {
				got = append(got, k.ID)
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, the keys are %d, want %d", what, err, got, want)
			}
		}
		key, _ := newKey(t, s, account, access.KeyInput{})
		wantKeys("at first", revoked.ID, expired.ID, active.ID, late.ID, key.ID)
		run(t, s, fmt.Sprintf(`UPDATE account_tally SET key_seq = %d WHERE account_id = %d`, access.KeptKeys+2, account))
		newer, _ := newKey(t, s, account, access.KeyInput{})
		wantKeys("after many others", active.ID, late.ID, key.ID, newer.ID)
		if _, err := s.Authenticate(t.Context(), secret); err != nil {
			t.Errorf("the old active key: %v", err)
		}
		s.Touching.Wait()
	})
}

func TestConcurrentAccountHasSoManyOpenInvitations(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		now := stopClock(a)
		b.Now = now.time
		account := newAccount(t, a)
		ada := newUser(t, a, account, access.Owner, "ada")
		add := func(s *Book, _ int) error {
			_, _, err := s.Invite(t.Context(), account, ada, access.Viewer, "")
			return err
		}
		wantRoomFor(t, 100, access.InvitationLimit, []*Book{a, b}, add)
		open := must(a.Invitations(t.Context(), account.Number))(t)
		succeed(t, a.RevokeInvitation(t.Context(), account.Number, open[0].ID))
		wantRoomFor(t, 1, access.InvitationLimit, []*Book{a, b}, add)
		now.move(7 * 24 * time.Hour)
		if err := add(a, 0); err != nil {
			t.Errorf("all the others have expired: %v", err)
		}
		if n := count(t, a, `SELECT COUNT(*) FROM invitation`); n != 1 {
			t.Errorf("%d invitations are kept", n)
		}
	})
}

func TestConcurrentAccountHasSoManyMembers(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account, other := newAccount(t, a), newAccount(t, a)
		ada := newUser(t, a, account, access.Owner, "ada")
		var tokens, emails []string
		for i := range 8 {
			_, token := invite(t, a, account, ada, access.Viewer)
			tokens, emails = append(tokens, token), append(emails, newUser(t, a, other, access.Viewer, fmt.Sprint("user", i)).Email)
		}
		filled := access.MemberLimit.Max - 4
		fill(t, a, filled, `INSERT INTO app_user (id, login, email, name, password, opened, created_at)`, `i, 'm' || i, 'm' || i, 'M', '', 0, 0`)
		fill(t, a, filled, `INSERT INTO member (account_id, user_id, role, created_at, seen_at)`, fmt.Sprintf(`%d, i, 1, 0, 0`, account.Number))
		wantRoomFor(t, 3, access.MemberLimit, []*Book{a, b}, func(s *Book, i int) (err error) {
			if i%2 == 0 {
				_, _, err = s.JoinByInvitation(t.Context(), tokens[i], joiner(fmt.Sprint("new", i)))
			} else {
				_, err = s.AddMember(t.Context(), account, access.Viewer, emails[i])
			}
			return err
		})
		if n := count(t, a, fmt.Sprintf(`SELECT COUNT(*) FROM member WHERE account_id = %d`, account.Number)); n != access.MemberLimit.Max {
			t.Errorf("there are %d members", n)
		}
		users, links := count(t, a, `SELECT COUNT(*) FROM app_user`), count(t, a, `SELECT COUNT(*) FROM invitation`)
		if users-9-filled != 8-links {
			t.Errorf("one who could not join left something behind: %d users, %d invitations", users, links)
		}
	})
}

func TestWhoCannotJoinWritesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s)
		_, token := invite(t, s, account, newUser(t, s, account, access.Owner, "ada"), access.Viewer)
		fill(t, s, access.MemberLimit.Max-1, `INSERT INTO app_user (id, login, email, name, password, opened, created_at)`, `i, 'm' || i, 'm' || i, 'M', '', 0, 0`)
		fill(t, s, access.MemberLimit.Max-1, `INSERT INTO member (account_id, user_id, role, created_at, seen_at)`, fmt.Sprintf(`%d, i, 1, 0, 0`, account.Number))
		spy := spyOn(t, s)
		spy.wrote = func(sql string) {
			if strings.HasPrefix(sql, "INSERT") || strings.HasPrefix(sql, "DELETE") {
				t.Errorf("a user who cannot join ran: %s", sql)
			}
		}
		_, _, err := s.JoinByInvitation(t.Context(), token, joiner("late"))
		wantRefused(t, "a member too many", err, "")
		_, err = s.CreateUser(t.Context(), account, access.Viewer, joiner("later"))
		wantRefused(t, "a member too many", err, "")
	})
}

func TestConcurrentOrganizationHasSoManyChapters(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		root := newAccount(t, a)
		ada := newUser(t, a, root, access.Owner, "ada")
		chapter := tree(t, a, root, ada, "East")["East"]
		fill(t, a, access.ChapterLimit.Max-2, `INSERT INTO account (account_id, public_id, name, parent, created_at)`,
			fmt.Sprintf(`1000000 + i, 'filler' || CAST(i AS TEXT), 'filler', %d, 0`, root.Number))
		wantRoomFor(t, 1, access.ChapterLimit, []*Book{a, b}, func(s *Book, i int) (err error) {
			if i%3 == 0 {
				_, err = s.CreateAccount(t.Context(), "New", chapter.ID)
			} else {
				_, err = s.CreateChapter(t.Context(), chapter, ada.ID, chapter.ID, "New")
			}
			return err
		})
		if _, err := a.CreateAccount(t.Context(), "Another organization", ""); err != nil {
			t.Error(err)
		}
		run(t, a, `DELETE FROM account WHERE name = 'filler'`)
	})
}

func TestAChapterIsNotTooDeep(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		root := newAccount(t, s)
		ada := newUser(t, s, root, access.Owner, "ada")
		above := root
		for range access.LevelLimit.Max {
			var err error
			if above, err = s.CreateChapter(t.Context(), root, ada.ID, above.ID, "Deeper"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.CreateChapter(t.Context(), root, ada.ID, above.ID, "Too deep")
		wantRefused(t, "one more level", err, "")
		if chapters, err := s.Chapters(t.Context(), root); err != nil || int64(len(chapters)) != access.LevelLimit.Max {
			t.Errorf("%v: there are %d chapters", err, len(chapters))
		}
	})
}

func TestConcurrentOrganizationHasSoManyCampaigns(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		root := newAccount(t, a)
		chapter := tree(t, a, root, newUser(t, a, root, access.Owner, "ada"), "East")["East"]
		insert := `INSERT INTO campaign_reader (account_id, campaign_id, relation)`
		fill(t, a, campaign.Limit.Max-3, insert, fmt.Sprintf(`%d, 1000000000000000 + i, %d`, root.Number, campaign.Chapter))
		fill(t, a, 50, insert, fmt.Sprintf(`%d, -i, %d`, root.Number, campaign.Benefiting)) // of others
		title := "Gala"
		in := campaign.Input{Title: &title}
		owners := []access.Account{root, chapter}
		_, err := a.ImportCampaigns(t.Context(), chapter, []campaign.Input{in, in, in, in})
		wantRefused(t, "an import of four", err, "")
		wantRoomFor(t, 3, campaign.Limit, []*Book{a, b}, func(s *Book, i int) error {
			_, err := s.CreateCampaign(t.Context(), owners[i%3%2], in)
			return err
		})
		if n := count(t, a, `SELECT COUNT(*) FROM campaign`); n != 3 {
			t.Errorf("there are %d campaigns", n)
		}
		if _, err := a.ImportCampaigns(t.Context(), root, nil); err != nil {
			t.Error(err)
		}
		run(t, a, `DELETE FROM campaign_reader WHERE campaign_id < 0 OR campaign_id > 1000000000000000`)
	})
}

// A user who signs in again and again, as a script does, does not fill the list: the browsers that have been unused for longest
// are signed out.
func TestAUserHasSoManySessions(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		now := stopClock(s)
		ada := newUser(t, s, newAccount(t, s), access.Owner, "ada")
		var tokens []string
		start := func() {
			t.Helper()
			now.move(time.Second)
			token := must(s.StartSession(t.Context(), ada.ID, access.Device{}))(t)
			tokens = append(tokens, token)
		}
		for range access.MaxSessions {
			start()
		}
		now.move(time.Hour)
		if _, err := s.Session(t.Context(), tokens[0]); err != nil { // the oldest is used
			t.Fatal(err)
		}
		s.Touching.Wait()
		start()
		start()
		sessions, err := s.Sessions(t.Context(), ada.ID)
		if err != nil || len(sessions) != access.MaxSessions {
			t.Errorf("%v: there are %d sessions", err, len(sessions))
		}
		for i, want := range map[int]error{0: nil, 1: crm.ErrUnauthenticated, 2: crm.ErrUnauthenticated, 3: nil, access.MaxSessions + 1: nil} {
			_, err := s.Session(t.Context(), tokens[i])
			wantError(t, fmt.Sprint("session ", i), err, want)
		}
		s.Touching.Wait()
	})
}
