package book

import (
	"testing"

	"donorbook/internal/crm/doc"
)

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
