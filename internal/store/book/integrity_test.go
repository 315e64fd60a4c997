package book

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
)

// checkIntegrity reads every account completely and compares everything that is stored twice: totals, the index, the list of
// archived contacts, and what the documents say.
func checkIntegrity(t testing.TB, s *Book) {
	t.Helper()
	ctx := context.Background() // the test's own context has ended
	accounts, err := s.Accounts(ctx)
	if err != nil {
		t.Error(err)
	}
	if _, err := s.Check(ctx, check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %v", p) }}); err != nil { // which must agree
		t.Error(err)
	}
	for _, account := range accounts {
		if err := s.View(ctx, func(c db.Conn) error { return checkAccount(t, c, account.Number) }); err != nil {
			t.Error(err)
		}
		for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
			_, result, err := s.Contacts(ctx, account.Number, scope, crm.PageRequest{Page: 1, PerPage: 100}, nil, nil)
			if err != nil || result.Count != min(result.Total, 100) {
				t.Errorf("%s contacts: %d of %d on the first page, %v", scope, result.Count, result.Total, err)
			}
		}
	}
}

// mapsDiffer is how two maps differ. To compare large ones takes most of the time of cmp.Diff.
func mapsDiffer[K, V comparable](want, got map[K]V) string {
	if maps.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

type indexRow struct {
	Key string
	ID  int64
}

type tagName struct{ Fold, Name string }

func checkAccount(t testing.TB, c db.Conn, account int64) error {
	t.Helper()
	row, err := store.ReadTally(c, account)
	if err != nil {
		return err
	}
	var active, count int64
	created := int64(0)
	index, wantIndex := map[indexRow]bool{}, map[indexRow]bool{}
	words, wantWords := map[indexRow]bool{}, map[indexRow]bool{}
	tags, wantTags := map[tagName]int64{}, map[tagName]int64{}
	wantSets, lastGifts, given := map[string][]int64{}, map[int64]int64{}, map[int64]int64{}
	err = c.Each(func(r db.Row) error {
		if _, g := gifts.ScanGift(r); g.Damage == nil && g.Net() > 0 {
			if g.Currency == row.Currency {
				given[g.Contact] += g.Net()
			}
			lastGifts[g.Contact] = gifts.Later(lastGifts[g.Contact], firstSecond(g.Local.Unix()))
			if name, seq := fmt.Sprintf("d:%d", g.Campaign), doc.IDSeq(g.Contact); g.Campaign != 0 && !slices.Contains(wantSets[name], seq) {
				wantSets[name] = append(wantSets[name], seq)
			}
		}
		return nil
	}, `SELECT `+gifts.GiftColumns+` FROM gift WHERE account_id = $1`, account)
	if err != nil {
		return err
	}
	for _, givers := range wantSets {
		slices.Sort(givers)
	}
	err = c.Each(func(r db.Row) error {
		id, archived := r.Int(0), r.Int(2)
		contact, err := crm.ParseContact(id, r.Bytes(4), store.SplitKeys(r.Text(3)))
		if err != nil {
			return err
		}
		if store.Checksum(r.Bytes(4)) != r.Int(5) {
			t.Errorf("contact %d has the checksum %d", id, r.Int(5))
		}
		count++
		active += 1 - archived
		if id != doc.MakeID(account, count) {
			t.Errorf("contact %d of account %d has the id %d", count, account, id)
		}
		if contact.Archived() != (archived == 1) {
			t.Errorf("contact %d: archived is %d, and the document says %v", id, archived, contact.ArchivedAt)
		}
		if archived == 1 {
			wantSets["archived"] = append(wantSets["archived"], doc.IDSeq(id))
		}
		if contact.MergedInto != 0 {
			wantSets["merged"] = append(wantSets["merged"], doc.IDSeq(id))
		}
		created = max(created, contact.CreatedAt.Unix())
		for _, word := range strings.Split(find.SearchDocument(&contact, account), " ") {
			wantWords[indexRow{word, id}] = true
		}
		for _, key := range contact.MatchKeys {
			wantIndex[indexRow{key, id}] = true
		}
		for _, name := range find.CommonWords(&contact) {
			wantSets[name] = append(wantSets[name], doc.IDSeq(id))
		}
		for _, name := range contact.Tags {
			wantSets["t:"+name] = append(wantSets["t:"+name], doc.IDSeq(id))
			if !contact.Archived() {
				wantTags[tagName{crm.FoldTag(name), name}]++
			}
		}
		if len(contact.Emails) == 0 {
			wantSets["l:email"] = append(wantSets["l:email"], doc.IDSeq(id))
		}
		if len(contact.Phones) == 0 {
			wantSets["l:phone"] = append(wantSets["l:phone"], doc.IDSeq(id))
		}
		is := []any{r.Int(1), r.Int(9), r.Text(10), r.Int(11), r.Int(7)}
		should := []any{created, contact.UpdatedAt.Unix(), find.SortName(&contact), given[id], lastGifts[id]}
		if diff := cmp.Diff(should, is); diff != "" {
			t.Errorf("contact %d has other columns than its document:\n%s", id, diff)
		}
		return nil
	}, `SELECT id, created_at, archived, match_keys, body, checksum, revision, last_gift, custom, updated_at, sort_name, given FROM contact WHERE account_id = $1 ORDER BY id`, account)
	if err != nil {
		return err
	}
	if created != row.LastCreated {
		t.Errorf("account %d: the last contact was made at %d, and noted is %d", account, created, row.LastCreated)
	}
	if count != row.ContactSeq || active != row.ContactActive {
		t.Errorf("account %d: %d contacts, %d of them active, are counted as %d and %d", account, count, active, row.ContactSeq, row.ContactActive)
	}
	err = c.Each(func(r db.Row) error {
		index[indexRow{r.Text(0), r.Int(1)}] = true
		return nil
	}, `SELECT key, id FROM contact_index WHERE account_id = $1`, account)
	if diff := mapsDiffer(wantIndex, index); diff != "" {
		t.Errorf("account %d: the index differs from the contacts:\n%s", account, diff)
	}
	if err != nil {
		return err
	}
	err = c.EachWord(store.WordsTable, doc.MakeID(account, 0), doc.MakeID(account, doc.MaxSeq), func(id int64, word string) error {
		words[indexRow{word, id}] = true
		return nil
	})
	if diff := mapsDiffer(wantWords, words); diff != "" {
		t.Errorf("account %d: the words differ from those of the contacts:\n%s", account, diff)
	}
	if err != nil {
		return err
	}
	err = c.Each(func(r db.Row) error {
		tags[tagName{r.Text(0), r.Text(1)}] = r.Int(2)
		if size := len(strconv.FormatInt(r.Int(2), 10)); int64(size) != r.Int(3) {
			t.Errorf("account %d: the tag %q of %d contacts has the size %d", account, r.Text(1), r.Int(2), r.Int(3))
		}
		return nil
	}, `SELECT fold, name, contacts, size FROM tag WHERE account_id = $1`, account)
	if diff := mapsDiffer(wantTags, tags); diff != "" {
		t.Errorf("account %d: the tags are counted otherwise than the contacts have them:\n%s", account, diff)
	}
	if err != nil {
		return err
	}
	return checkSets(t, c, account, wantSets)
}

// checkSets compares every set of an account with the sequence numbers that should be in it.
func checkSets(t testing.TB, c db.Conn, account int64, want map[string][]int64) error {
	t.Helper()
	names, err := db.List(c, func(r db.Row) string { return r.Text(0) }, `SELECT DISTINCT name FROM contact_set WHERE account_id = $1`, account)
	got := map[string][]int64{}
	for _, name := range names {
		var set db.Set
		if err := contacts.AddBlocks(c, account, name, 0, &set); err != nil {
			return err
		}
		got[name] = set.Page(0, set.Count())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("account %d: the sets are not what the contacts say:\n%s", account, diff)
	}
	return err
}

// firstSecond is a time of a gift as it is kept of a contact, where 0 is none.
func firstSecond(at int64) int64 {
	if at == 0 {
		return 1
	}
	return at
}
