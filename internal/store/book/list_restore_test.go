package book

import (
	"errors"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/derived"
)

// If the database of a running node is replaced by an older copy, the node must not answer from its cache.
func TestListsFollowADatabaseThatWentBack(t *testing.T) {
	for _, test := range []struct {
		name string
		then string // what happens after it went back, before the next list
	}{
		{"and stays there", ""},
		{"and goes on to the same revision", `{"first_name":"Again","emails":[{"value":"again@x.org"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, s *Book) {
				account := newAccount(t, s).Number
				kept := create(t, s, account, `{"first_name":"One","emails":["one@x.org"],"phones":["212 555 0101"]}`).ID
				lost := []int64{create(t, s, account, `{"first_name":"Two","emails":["two@x.org"],"phones":["212 555 0102"]}`).ID,
					create(t, s, account, `{"first_name":"Three","emails":["three@x.org"],"phones":["212 555 0103"]}`).ID}
				wantLists(t, s, account, []int64{1, 2, 3}, nil)
				succeed(t, s.Update(t.Context(), account, store.Needs{}, func(tx *store.Tx) error {
					row, err := tx.LockAccount(account)
					for _, id := range lost {
						gone, loadErr := contacts.Load(tx, account, id)
						if loadErr != nil {
							return loadErr
						}
						err = errors.Join(err, derived.Put(tx, row, id, &find.Rows{Sets: gone.Rows().Sets}, new(find.Rows)))
						for _, sql := range []string{
							`DELETE FROM contact WHERE account_id = $1 AND id = $2`,
							`DELETE FROM contact_index WHERE account_id = $1 AND id = $2`,
							`DELETE FROM change WHERE account_id = $1 AND id = $2`,
						} {
							_, execErr := tx.Exec(sql, account, id)
							err = errors.Join(err, execErr)
						}
						tx.Delete(store.WordsTable, account, id)
					}
					first, loadErr := contacts.Load(tx, account, kept)
					if loadErr != nil {
						return loadErr
					}
					row.LastCreated = first.CreatedAt
					row.SetRevision, row.Revision, row.ContactSeq, row.ContactActive = 0, 1, 1, 1
					row.Touch(tx)
					return err
				}))
				want := []int64{1}
				if test.then != "" {
					d := create(t, s, account, test.then)
					archive(t, s, account, d.ID)
					wantLists(t, s, account, want, []int64{doc.IDSeq(d.ID)})
					return
				}
				wantLists(t, s, account, want, nil)
			})
		})
	}
}
