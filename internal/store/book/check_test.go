package book

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
)

// check checks a store, and returns what was found.
func checkAll(t *testing.T, s *Book, repair bool) (found []string, report check.CheckReport) {
	t.Helper()
	report, err := s.Check(t.Context(), check.CheckOptions{Repair: repair, Found: func(p check.Problem) {
		if p.Repaired != repair && !strings.Contains(p.What, "restore") {
			t.Errorf("%s: repaired is %v", p, p.Repaired)
		}
		found = append(found, p.String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	return found, report
}

// What cannot be derived is reported and not changed.
func TestACheckTellsWhatIsLost(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		w := newWorld(t, s, 30)
		root := w.root.Number
		id := func(seq int64) int64 { return doc.MakeID(root, seq) }
		damage(t, s, `UPDATE contact SET body = $2 WHERE id = $1`, id(3), []byte(`,"first_name":"Q"}`))
		damage(t, s, `UPDATE contact SET checksum = checksum + 1 WHERE id = $1`, id(14)) // archived
		damage(t, s, `DELETE FROM contact WHERE id = $1`, id(5))
		damage(t, s, `DELETE FROM contact WHERE id >= $1 AND id <= $2`, id(29), id(30))
		damage(t, s, `UPDATE campaign SET body = $1 WHERE slug = 'kept'`, []byte(`{}`))
		damage(t, s, `UPDATE member SET user_id = 77 WHERE account_id = $1`, w.chapter.Number)
		damage(t, s, `UPDATE api_key SET account_id = 78 WHERE account_id = $1`, w.chapter.Number)
		damage(t, s, `INSERT INTO contact (account_id, id, archived, match_keys, body, checksum) VALUES (79, $1, 0, '', $2, 0)`, doc.MakeID(79, 1), []byte(`{}`))
		damage(t, s, `UPDATE account SET parent = 80 WHERE account_id = $1`, w.stranger.Number)
		damage(t, s, `UPDATE campaign SET account_id = 0 WHERE slug = 'kept'`)
		var bodies []string
		for range 2 {
			found, report := checkAll(t, s, true)
			all := strings.Join(found, "\n")
			for _, want := range []string{
				fmt.Sprintf("account %s: contact %d: its document is damaged: restore it from a backup", w.root.ID, id(3)),
				fmt.Sprintf("account %s: contact %d: its document is damaged: restore it from a backup", w.root.ID, id(14)),
				fmt.Sprintf("account %s: contact %d: it is missing: restore it from a backup", w.root.ID, id(5)),
				fmt.Sprintf("account %s: the contacts %d to %d are missing: restore them from a backup", w.root.ID, id(29), id(30)),
				"its document is damaged: restore it from a backup", "have the user_id 77, and the table app_user has no such row",
				"have the account_id 78, and the table account has no such row", "rows of the table contact: 1 have the account_id 79",
				"rows of the table campaign: 1 have the account_id 0", "have the parent 80, and the table account has no such row",
			} {
				if !strings.Contains(all, want) {
					t.Errorf("%q is not told:\n%s", want, all)
				}
			}
			if report.Problems-report.Repaired < 9 {
				t.Errorf("%+v: %s", report, all)
			}
			err := s.Read(t.Context(), func(c db.Conn) error {
				_, err := c.One(func(r db.Row) { bodies = append(bodies, string(r.Bytes(4))) }, contacts.SQLLoadContacts, root, []int64{id(3)})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		if bodies[0] != `,"first_name":"Q"}` || bodies[1] != bodies[0] {
			t.Errorf("a damaged document was changed: %q", bodies)
		}
	})
}

// A check that is interrupted has not read everything. It must not treat what it did not read as lost, or repair totals from it.
func TestACheckThatIsBrokenOffTellsNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, 450, func(i int) string { return fmt.Sprintf(`{"first_name":"N%d","last_name":"L"}`, i) })
		for _, repair := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.Check(ctx, check.CheckOptions{Repair: repair, Found: func(p check.Problem) { t.Error(p) }, Progress: func(_ string, done, _ int64) {
				if done > 0 {
					cancel()
				}
			}})
			if err == nil {
				t.Error("the check came to its end")
			}
		}
	})
}

// A tag may have spaces that an index of words does not treat as spaces.
func TestACheckKnowsTagsWithOtherSpaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		create(t, s, newAccount(t, s).Number, `{"first_name":"A","last_name":"B","tags":["東京\u3000支部","a\u00a0b"]}`)
		if found, _ := checkAll(t, s, false); len(found) > 0 {
			t.Error(found)
		}
	})
}

// If the account of a row is not the one in its id, the check reports it and ends.
func TestACheckTellsContactsInAnotherAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		closeAfter(t, s)
		low, high := newAccount(t, s), newAccount(t, s)
		if low.Number > high.Number {
			low, high = high, low
		}
		for range 3 {
			create(t, s, high.Number, `{"first_name":"Ana"}`)
		}
		first, second := doc.MakeID(high.Number, 1), doc.MakeID(high.Number, 2)
		damage(t, s, `UPDATE contact SET account_id = $1 WHERE id = $2`, low.Number, first)
		damage(t, s, `UPDATE contact SET account_id = 77 WHERE id = $1`, second)
		found, _ := checkAll(t, s, false)
		for _, want := range []string{
			fmt.Sprintf("account %s: contact %d: its row is in this account, but its id belongs to account %s: restore it from a backup", low.ID, first, high.ID),
			fmt.Sprintf("account number 77: contact %d: its row is in this account, but its id belongs to account %s: restore it from a backup", second, high.ID),
		} {
			if !slices.Contains(found, want) {
				t.Errorf("%q is not told: %q", want, found)
			}
		}
	})
}

// Ids after the last contact were assigned, so their contacts were lost. Another node assigns later ids during the repair.
func TestConcurrentRepairNeverGivesAnIDOutAgain(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		closeAfter(t, a)
		closeAfter(t, b)
		account := newAccount(t, a).Number
		for range 3 {
			create(t, a, account, `{"first_name":"Early"}`)
		}
		damage(t, a, `UPDATE account_tally SET contact_seq = 8 WHERE account_id = $1`, account)
		meanwhile := false
		var found []string
		report, err := a.Check(t.Context(), check.CheckOptions{Repair: true, Found: func(p check.Problem) { found = append(found, p.String()) }, Progress: func(string, int64, int64) {
			if !meanwhile {
				meanwhile = true
				create(t, b, account, `{"first_name":"Meanwhile"}`)
			}
		}})
		lost := fmt.Sprintf("the contacts %d to %d are missing: restore them from a backup", doc.MakeID(account, 4), doc.MakeID(account, 8))
		if err != nil || report.Repaired > 0 || len(found) != 1 || !strings.Contains(found[0], lost) {
			t.Errorf("found %q, %+v, %v, want %q", found, report, err, lost)
		}
		for seq := int64(10); seq < 15; seq++ { // the ninth was created meanwhile
			if c := create(t, a, account, `{"first_name":"Late"}`); c.ID != doc.MakeID(account, seq) {
				t.Errorf("a new contact is %d, want %d", c.ID, doc.MakeID(account, seq))
			}
		}
	})
}

// A sequence that is behind is raised to the last contact, even if another repair has done so meanwhile.
func TestConcurrentTwoRepairsRaiseASequenceOnce(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		for range 5 {
			create(t, a, account, `{"first_name":"Early"}`)
		}
		damage(t, a, `UPDATE account_tally SET contact_seq = 3 WHERE account_id = $1`, account)
		meanwhile := false
		must(a.Check(t.Context(), check.CheckOptions{Repair: true, Found: func(check.Problem) {}, Progress: func(string, int64, int64) {
			if !meanwhile {
				meanwhile = true
				checkAll(t, b, true)
				create(t, b, account, `{"first_name":"Meanwhile"}`)
			}
		}}))(t)
		if c := create(t, a, account, `{"first_name":"Late"}`); c.ID != doc.MakeID(account, 7) {
			t.Errorf("a new contact is %d, want %d", c.ID, doc.MakeID(account, 7))
		}
	})
}

// A whole index is computed again while another node writes.
func TestConcurrentRepairWorksBesideAnotherNode(t *testing.T) {
	eachPair(t, func(t *testing.T, a, b *Book) {
		account := newAccount(t, a).Number
		for i := range 300 {
			create(t, a, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["all","t%d"]}`, i, i, i%7))
		}
		wantTotal := func(n int64) {
			t.Helper()
			for _, s := range []*Book{a, b} {
				if _, total := page(t, s, account, crm.Active, 1, 1); total != n {
					t.Errorf("%d contacts are listed, want %d", total, n)
				}
			}
		}
		wantTotal(300)
		damage(t, a, `DELETE FROM contact_index WHERE account_id = $1`, account)
		damage(t, a, `DELETE FROM tag WHERE account_id = $1`, account)
		damage(t, a, `DELETE FROM contact_search`)
		damage(t, a, `UPDATE account_tally SET contact_active = 7 WHERE account_id = $1`, account)
		done := make(chan error)
		go func() {
			var err error
			for i := 0; i < 50 && err == nil; i++ {
				if _, err = b.CreateContact(t.Context(), account, input(t, fmt.Sprintf(`{"first_name":"N%d","tags":["all"]}`, i)), crm.Force); err == nil {
					_, err = b.AddTags(t.Context(), account, doc.MakeID(account, int64(i+1)), []string{"late"})
				}
			}
			done <- err
		}()
		checkAll(t, a, true)
		succeed(t, <-done)
		if found, report := checkAll(t, a, false); len(found) > 0 || report.Contacts != 350 {
			t.Errorf("after the repair: %+v, %q", report, found)
		}
		wantTotal(350)
		if found := search(t, b, account, crm.Active, typed("p2 late"), 25); len(found) != 11 { // P2 and P20 to P29
			t.Errorf("the search finds %v", found)
		}
		wantTags(t, b, account, contacts.TagCount{Name: "all", Contacts: 350}, contacts.TagCount{Name: "late", Contacts: 50}, contacts.TagCount{Name: "t0", Contacts: 43}, contacts.TagCount{Name: "t1", Contacts: 43}, contacts.TagCount{Name: "t2", Contacts: 43}, contacts.TagCount{Name: "t3", Contacts: 43},
			contacts.TagCount{Name: "t4", Contacts: 43}, contacts.TagCount{Name: "t5", Contacts: 43}, contacts.TagCount{Name: "t6", Contacts: 42})
	})
}

// A repair fixes what was found and does not change what is correct.
func TestARepairHurtsNothingElse(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := must(Open(t.Context(), o))(t)
		closeAfter(t, s)
		account := newAccount(t, s).Number
		a := create(t, s, account, `{"first_name":"A","tags":["gala","ball"]}`).ID
		b := create(t, s, account, `{"first_name":"B","tags":["gala"]}`).ID
		create(t, s, account, `{"first_name":"C","tags":["gala"]}`)
		archive(t, s, account, a)
		archive(t, s, account, b)
		damage(t, s, `DELETE FROM contact_set WHERE account_id = $1 AND name = 'archived'`, account)
		damage(t, s, `UPDATE tag SET contacts = -3, size = 2 WHERE account_id = $1`, account)
		if found, _ := checkAll(t, s, true); len(found) == 0 {
			t.Error("nothing was found")
		}
		if again, _ := checkAll(t, s, false); len(again) > 0 {
			t.Errorf("after the repair: %q", again)
		}
		counts, err := s.LargestTags(t.Context(), account, 5)
		if err != nil || len(counts) != 1 || counts[0] != (contacts.TagCount{Name: "gala", Contacts: 1}) {
			t.Errorf("tags are counted as %v, %v", counts, err)
		}
	})
}
