package book

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
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
	succeed(t, err)
	return found, report
}

// A check that is interrupted has not read everything. It must not treat what it did not read as lost, or repair
// totals from it.
func TestACheckThatIsBrokenOffTellsNothing(t *testing.T) {
	s, account := newBookOf(t)
	fillNamed(t, s, account, 450, func(i int) string { return fmt.Sprintf(`{"first_name":"N%d","last_name":"L"}`, i) })
	for _, repair := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.Check(ctx, check.CheckOptions{Repair: repair, Found: func(p check.Problem) { t.Error(p) },
			Progress: func(_ string, done, _ int64) {
				if done > 0 {
					cancel()
				}
			}})
		if err == nil {
			t.Error("the check came to its end")
		}
	}
}

// Ids after the last contact were assigned, so their contacts were lost. Another node assigns later ids during the
// repair.
func TestConcurrentRepairNeverGivesAnIDOutAgain(t *testing.T) {
	a, b := twoNodes(t)
	closeAfter(t, a)
	closeAfter(t, b)
	account := newAccount(t, a).Number
	for range 3 {
		create(t, a, account, `{"first_name":"Early"}`)
	}
	damage(t, a, `UPDATE account_tally SET contact_seq = 8 WHERE account_id = $1`, account)
	meanwhile := false
	var found []string
	report, err := a.Check(t.Context(), check.CheckOptions{Repair: true,
		Found: func(p check.Problem) { found = append(found, p.String()) }, Progress: func(string, int64, int64) {
			if !meanwhile {
				meanwhile = true
				create(t, b, account, `{"first_name":"Meanwhile"}`)
			}
		}})
	lost := fmt.Sprintf("the contacts %d to %d are missing: restore them from a backup", doc.MakeID(account, 4),
		doc.MakeID(account, 8))
	if err != nil || report.Repaired > 0 || len(found) != 1 || !strings.Contains(found[0], lost) {
		t.Errorf("found %q, %+v, %v, want %q", found, report, err, lost)
	}
	for seq := int64(10); seq < 15; seq++ { // the ninth was created meanwhile
		equal(t, create(t, a, account, `{"first_name":"Late"}`).ID, doc.MakeID(account, seq), "a new contact")
	}
}

// A sequence that is behind is raised to the last contact, even if another repair has done so meanwhile.
func TestConcurrentTwoRepairsRaiseASequenceOnce(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	for range 5 {
		create(t, a, account, `{"first_name":"Early"}`)
	}
	damage(t, a, `UPDATE account_tally SET contact_seq = 3 WHERE account_id = $1`, account)
	meanwhile := false
	must(a.Check(t.Context(), check.CheckOptions{Repair: true, Found: func(check.Problem) {},
		Progress: func(string, int64, int64) {
			if !meanwhile {
				meanwhile = true
				checkAll(t, b, true)
				create(t, b, account, `{"first_name":"Meanwhile"}`)
			}
		}}))(t)
	equal(t, create(t, a, account, `{"first_name":"Late"}`).ID, doc.MakeID(account, 7), "a new contact")
}

// A whole index is computed again while another node writes.
func TestConcurrentRepairWorksBesideAnotherNode(t *testing.T) {
	a, b := twoNodes(t)
	account := newAccount(t, a).Number
	for i := range 300 {
		create(t, a, account, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["all","t%d"]}`,
			i, i, i%7))
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
			if _, err = b.CreateContact(t.Context(), account,
				input(t, fmt.Sprintf(`{"first_name":"N%d","tags":["all"]}`, i)), crm.Force); err == nil {
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
	wantTags(t, b, account, store.TagCount{Name: "all", Contacts: 350},
		store.TagCount{Name: "late", Contacts: 50}, store.TagCount{Name: "t0", Contacts: 43},
		store.TagCount{Name: "t1", Contacts: 43}, store.TagCount{Name: "t2", Contacts: 43},
		store.TagCount{Name: "t3", Contacts: 43},
		store.TagCount{Name: "t4", Contacts: 43}, store.TagCount{Name: "t5", Contacts: 43},
		store.TagCount{Name: "t6", Contacts: 42})
}

// checkIntegrity reads every account completely and compares everything that is stored twice: totals, the index, the
// list of archived contacts, and what the documents say.
func checkIntegrity(t testing.TB, s *Book) {
	t.Helper()
	ctx := context.Background() // the test's own context has ended
	accounts := must(s.Accounts(ctx))(t)
	// which must agree
	must(s.Check(ctx, check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %v", p) }}))(t)
	for _, account := range accounts {
		succeed(t, s.View(ctx, func(c db.Conn) error {
			checkAccount(t, c, account.Number)
			return nil
		}))
		for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
			_, result := must2(s.Contacts(ctx, account.Number, scope, crm.PageRequest{Page: 1, PerPage: 100}, nil,
				nil))(t)
			equal(t, result.Count, min(result.Total, 100), "%s contacts: of %d on the first page", scope, result.Total)
		}
	}
}

// mapsDiffer is how two maps differ. To compare large ones takes most of the time of gocmp.Diff.
func mapsDiffer[K, V comparable](want, got map[K]V) string {
	if maps.Equal(want, got) {
		return ""
	}
	return gocmp.Diff(want, got)
}

type indexRow struct {
	Key string
	ID  int64
}

type tagName struct{ Fold, Name string }

func checkAccount(t testing.TB, c db.Conn, account int64) {
	t.Helper()
	tally := must(store.ReadTally(c, account))(t)
	var active, count, created int64
	index, wantIndex := map[indexRow]bool{}, map[indexRow]bool{}
	words, wantWords := map[indexRow]bool{}, map[indexRow]bool{}
	tags, wantTags := map[tagName]int64{}, map[tagName]int64{}
	sets, wantSets := map[string][]int64{}, map[string][]int64{}
	lastGifts, given := map[int64]int64{}, map[int64]int64{}
	each := func(read func(db.Row), sql string) {
		t.Helper()
		succeed(t, c.Scan(read, sql, account))
	}
	each(func(r db.Row) {
		_, g := store.ScanGift(r)
		if g.Damage != nil || g.Net() <= 0 {
			return
		}
		if g.Currency == tally.Currency {
			given[g.Contact] += g.Net()
		}
		lastGifts[g.Contact] = store.Later(lastGifts[g.Contact], cmp.Or(g.Local.Unix(), 1)) // where 0 is none
		if name, seq := fmt.Sprintf("d:%d", g.Campaign), doc.IDSeq(g.Contact); g.Campaign != 0 &&
			!slices.Contains(wantSets[name], seq) {
			wantSets[name] = append(wantSets[name], seq)
		}
	}, `SELECT `+store.GiftColumns+` FROM gift WHERE account_id = $1`)
	for _, givers := range wantSets {
		slices.Sort(givers)
	}
	each(func(r db.Row) {
		id, seq, isArchived := r.Int(0), doc.IDSeq(r.Int(0)), r.Int(2) == 1
		contact := must(crm.ParseContact(id, r.Bytes(4), store.SplitKeys(r.Text(3))))(t)
		count++
		created = max(created, contact.CreatedAt.Unix())
		equal(t, contact.Archived(), isArchived, "contact %d is archived", id)
		is := []any{id, r.Int(1), r.Int(5), r.Int(9), r.Text(10), r.Int(11), r.Int(7)}
		should := []any{doc.MakeID(account, count), created, store.Checksum(r.Bytes(4)), contact.UpdatedAt.Unix(),
			find.SortName(&contact), given[id], lastGifts[id]}
		equal(t, is, should, "contact %d has other columns than its document", id)
		in := find.CommonWords(&contact)
		for _, name := range contact.Tags {
			in = append(in, "t:"+name)
		}
		for name, is := range map[string]bool{"archived": isArchived, "merged": contact.MergedInto != 0,
			"l:email": len(contact.Emails) == 0, "l:phone": len(contact.Phones) == 0} {
			if is {
				in = append(in, name)
			}
		}
		for _, name := range in {
			wantSets[name] = append(wantSets[name], seq)
		}
		for _, word := range strings.Split(find.SearchDocument(&contact, account), " ") {
			wantWords[indexRow{word, id}] = true
		}
		for _, key := range contact.MatchKeys {
			wantIndex[indexRow{key, id}] = true
		}
		if !isArchived {
			active++
			for _, name := range contact.Tags {
				wantTags[tagName{crm.FoldTag(name), name}]++
			}
		}
	}, `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, updated_at, sort_name,
		given FROM contact WHERE account_id = $1 ORDER BY id`)
	equal(t, []int64{tally.LastCreated, tally.ContactSeq, tally.ContactActive}, []int64{created, count, active},
		"account %d: when the last contact was made, and the numbers of contacts", account)
	each(func(r db.Row) { index[indexRow{r.Text(0), r.Int(1)}] = true },
		`SELECT key, id FROM contact_index WHERE account_id = $1`)
	succeed(t, c.EachWord(store.WordsTable, doc.MakeID(account, 0), doc.MakeID(account, doc.MaxSeq),
		func(id int64, word string) error {
			words[indexRow{word, id}] = true
			return nil
		}))
	each(func(r db.Row) {
		tags[tagName{r.Text(0), r.Text(1)}] = r.Int(2)
		equal(t, int64(len(strconv.FormatInt(r.Int(2), 10))), r.Int(3), "the size of the tag %q", r.Text(1))
	}, `SELECT fold, name, contacts, size FROM tag WHERE account_id = $1`)
	each(func(r db.Row) { sets[r.Text(0)] = nil }, `SELECT DISTINCT name FROM contact_set WHERE account_id = $1`)
	for name := range sets {
		var set db.Set
		succeed(t, store.AddBlocks(c, account, name, 0, &set))
		sets[name] = set.Page(0, set.Count())
	}
	equal(t, mapsDiffer(wantIndex, index), "", "account %d: the index differs from the contacts", account)
	equal(t, mapsDiffer(wantWords, words), "", "account %d: the words differ from those of the contacts", account)
	equal(t, mapsDiffer(wantTags, tags), "", "account %d: the tags are counted otherwise than the contacts have them",
		account)
	equal(t, sets, wantSets, "account %d: the sets are not what the contacts", account)
}
