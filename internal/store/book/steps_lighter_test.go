package book

import (
	"slices"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/steps"
)

// Step 11 makes one set of the two that a tag had, makes a set of the archive, and lifts times that fall. The end of the test compares the sets with
// the documents.
func TestTheArchiveBecomesASet(t *testing.T) {
	const people = db.BlockSize + 5
	eachEngine(t, func(t *testing.T, s *Book) {
		account, first := newAccount(t, s).Number, stopClock(s).time().Unix()
		fillNamed(t, s, account, people, func(i int) string {
			if i%100 == 0 || i >= db.BlockSize {
				return `{"first_name":"F","tags":["x","y"]}`
			}
			return `{"first_name":"F","tags":["y"]}`
		})
		for _, seq := range []int64{101, 102, db.BlockSize + 2} {
			archive(t, s, account, doc.MakeID(account, seq))
		}
		damage(t, s, `DELETE FROM contact_set WHERE account_id = $1 AND name = 'archived'`, account)
		damage(t, s, `UPDATE contact_set SET size = 4, bits = $2 WHERE account_id = $1 AND name = 't:x' AND block = 1`, account, []byte{0, 0, 2, 0, 3, 0, 4, 0})
		damage(t, s, `DELETE FROM contact_set WHERE account_id = $1 AND name = 't:y' AND block = 1`, account)
		for _, had := range []struct {
			name  string
			block int64
			bits  []byte
		}{{"a:x", 1, []byte{1, 0}}, {"a:y", 0, []byte{100, 0, 101, 0}}, {"a:y", 1, []byte{0, 0, 1, 0, 2, 0, 3, 0, 4, 0}}} {
			damage(t, s, `INSERT INTO contact_set (account_id, name, block, size, bits) VALUES ($1, $2, $3, $4, $5)`, account, had.name, had.block, int64(len(had.bits)/2), had.bits)
		}
		damage(t, s, `UPDATE contact SET created_at = created_at + 100 WHERE id = $1`, doc.MakeID(account, 4000))
		told := int64(0)
		err := s.UpdateAccount(t.Context(), account, func(x *store.Tx) error {
			return steps.FillSets(x.Tx, func(_ string, done, _ int64) { told = done })
		})
		if err != nil || told != people {
			t.Fatalf("%v: %d contacts are told", err, told)
		}
		err = s.View(t.Context(), func(c db.Conn) error {
			row, err := store.ReadTally(c, account)
			if err != nil {
				return err
			}
			made, err := contacts.CountBefore(c, &row, []int64{first, first + 1, first + 100, first + 101})
			if want := []int64{0, 3999, 3999, people}; !slices.Equal(made, want) || row.LastCreated != first+100 {
				t.Errorf("before each time %v were made, want %v; the last one at %d", made, want, row.LastCreated-first)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		damage(t, s, `UPDATE contact SET created_at = $2 WHERE account_id = $1`, account, first) // as the documents say
		damage(t, s, `UPDATE account_tally SET last_created = $2 WHERE account_id = $1`, account, first)
	})
}
