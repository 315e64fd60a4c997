package store

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm"
)

// checkIntegrity reads every account as a whole and compares everything that is kept twice: totals, the index, the
// list of changes and what the documents say.
func checkIntegrity(t testing.TB, s *Store) {
	t.Helper()
	ctx := context.Background() // the test's own has ended
	accounts, err := s.Accounts(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, account := range accounts {
		if err := s.view(ctx, func(c conn) error { return checkAccount(t, c, account.Number) }); err != nil {
			t.Error(err)
		}
		for _, scope := range []crm.ContactScope{crm.Active, crm.Archived, crm.All} {
			_, result, err := s.Contacts(ctx, account.Number, scope, crm.PageRequest{Page: 1, PerPage: 100}, nil)
			if err != nil || result.Count != min(result.Total, 100) {
				t.Errorf("%s contacts: %d of %d on the first page, %v", scope, result.Count, result.Total, err)
			}
		}
	}
}

type changeRow struct{ Revision, ID, Archived int64 }

type indexRow struct {
	Key string
	ID  int64
}

type tagRow struct{ Fold, Name string }

func checkAccount(t testing.TB, c conn, account int64) error {
	t.Helper()
	row, err := readTally(c, account, "")
	if err != nil {
		return err
	}
	var active, count int64
	var changes, wantChanges []changeRow
	index, wantIndex := map[indexRow]bool{}, map[indexRow]bool{}
	tags, wantTags := map[tagRow]int64{}, map[tagRow]int64{}
	err = each(c, func(r rows) error {
		id, revision, archived := r.int(0), r.int(1), r.int(2)
		contact, err := crm.ParseContact(id, r.bytes(4), splitKeys(r.text(3)))
		if err != nil {
			return err
		}
		count++
		active += 1 - archived
		if id != crm.MakeID(account, count) {
			t.Errorf("contact %d of account %d has the id %d", count, account, id)
		}
		if contact.Archived() != (archived == 1) {
			t.Errorf("contact %d: archived is %d, and the document says %v", id, archived, contact.ArchivedAt)
		}
		if revision < 1 || revision > row.revision {
			t.Errorf("contact %d is of revision %d, and the account of %d", id, revision, row.revision)
		}
		wantChanges = append(wantChanges, changeRow{revision, id, archived})
		for _, key := range contact.IndexKeys() {
			wantIndex[indexRow{key, id}] = true
		}
		for _, name := range contact.Tags {
			if !contact.Archived() {
				wantTags[tagRow{crm.FoldTag(name), name}]++
			}
		}
		return nil
	}, `SELECT id, revision, archived, match_keys, body FROM contact WHERE account_id = $1 ORDER BY id`, account)
	if err != nil {
		return err
	}
	if count != row.contactSeq || active != row.contactActive {
		t.Errorf("account %d: %d contacts, %d of them active, are counted as %d and %d", account, count, active, row.contactSeq, row.contactActive)
	}
	err = each(c, func(r rows) error {
		changes = append(changes, changeRow{r.int(0), r.int(1), r.int(2)})
		return nil
	}, `SELECT revision, id, archived FROM contact_change WHERE account_id = $1 ORDER BY id`, account)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(wantChanges, changes, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("account %d: the changes differ from the contacts:\n%s", account, diff)
	}
	err = each(c, func(r rows) error {
		index[indexRow{r.text(0), r.int(1)}] = true
		return nil
	}, `SELECT key, id FROM contact_index WHERE account_id = $1`, account)
	if diff := cmp.Diff(wantIndex, index); diff != "" {
		t.Errorf("account %d: the index differs from the contacts:\n%s", account, diff)
	}
	if err != nil {
		return err
	}
	err = each(c, func(r rows) error {
		tags[tagRow{r.text(0), r.text(1)}] = r.int(2)
		return nil
	}, `SELECT fold, name, contacts FROM tag WHERE account_id = $1`, account)
	if diff := cmp.Diff(wantTags, tags); diff != "" {
		t.Errorf("account %d: the tags are counted otherwise than the contacts have them:\n%s", account, diff)
	}
	return err
}
