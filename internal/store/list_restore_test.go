package store

import (
	"errors"
	"testing"

	"donorbook/internal/crm"
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
			eachEngine(t, func(t *testing.T, s *Store) {
				account := newAccount(t, s).Number
				create(t, s, account, `{"first_name":"One","emails":["one@x.org"],"phones":["212 555 0101"]}`)
				lost := []int64{create(t, s, account, `{"first_name":"Two","emails":["two@x.org"],"phones":["212 555 0102"]}`).ID,
					create(t, s, account, `{"first_name":"Three","emails":["three@x.org"],"phones":["212 555 0103"]}`).ID}
				wantLists(t, s, account, []int64{1, 2, 3}, nil)
				err := s.update(t.Context(), account, needs{}, func(tx *tx) error {
					row, err := tx.lock(account)
					for _, id := range lost {
						gone, loadErr := tx.load(account, id)
						if loadErr != nil {
							return loadErr
						}
						err = errors.Join(err, tx.moveSets(row, id, setsOf(&gone.contact), nil))
						for _, sql := range []string{
							`DELETE FROM contact WHERE account_id = $1 AND id = $2`,
							`DELETE FROM contact_index WHERE account_id = $1 AND id = $2`,
							`DELETE FROM change WHERE account_id = $1 AND id = $2`,
						} {
							_, execErr := tx.Exec(sql, account, id)
							err = errors.Join(err, execErr)
						}
						tx.Delete(wordsTable, account, id)
					}
					row.setRevision, row.revision, row.contactSeq, row.contactActive = 0, 1, 1, 1
					row.touch(tx)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				want := []int64{1}
				if test.then != "" {
					d := create(t, s, account, test.then)
					archive(t, s, account, d.ID)
					wantLists(t, s, account, want, []int64{crm.IDSeq(d.ID)})
					return
				}
				wantLists(t, s, account, want, nil)
			})
		})
	}
}
