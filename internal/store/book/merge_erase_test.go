package book

import (
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
)

// Who was part of another contact for a while, and is erased, is in none of that contact's history.
func TestErasingAPersonAfterAMergeWasUndone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		account := newAccount(t, s).Number
		survivor, _ := twoOf(t, s, account)
		wrong := createAs(t, s, account, `{"first_name":"Wanda","last_name":"Wrongkwolf","emails":["wanda@kwolf.example"],"phones":["617-555-0177"]}`, crm.Force).ID
		sent := create(t, s, account, `{"first_name":"Senta","last_name":"Sentkwolf","emails":["thomas@example.org","senta@kwolf.example"]}`)
		var erased []int64
		for _, merge := range []int64{sent.Merge, mergeOf(t, s, account, survivor, wrong)} {
			undone, err := s.UndoMerge(t.Context(), account, merge, "US")
			if err != nil {
				t.Fatal(err)
			}
			erased = append(erased, undone.Other.ID)
		}
		for _, id := range erased {
			erase(t, s, t.Context(), account, id)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if found := traces(t, o, []string{"wrongkwolf", "wanda@kwolf", "sentkwolf", "senta@kwolf", "555-0177"}); len(found) > 0 {
			t.Errorf("found %q", found)
		}
	})
}

// What was sent about a person who was erased since cannot be made a contact again.
func TestAMergedCreateOfAnErasedPersonStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		create(t, s, account, `{"first_name":"Aside","last_name":"Person","phones":["617-555-0199"]}`)
		person := create(t, s, account, `{"first_name":"Tom","last_name":"Reed","emails":["tom@example.org"]}`).ID
		sent := create(t, s, account, `{"first_name":"Tom","last_name":"Reed","phones":["617-555-0199"]}`)
		erase(t, s, t.Context(), account, person)
		_, err := s.UndoMerge(t.Context(), account, sent.Merge, "US")
		wantFault(t, "what was sent", err, "", doc.ErasedMerge)
	})
}
