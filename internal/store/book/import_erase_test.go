package book

import (
	"testing"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// TestAnImportIsErased: the undo of an import can erase those whom it has created, and ends the custom fields that were made for it. Contacts that were there
// before, or were changed since, stay.
func TestAnImportIsErased(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		before := peopleOf(t, s, account)
		im := upload(t, s, account, "First name,Last name,Email,Shoe size,Title\nAna,Ruiz,ana@example.org,,Head\nQuetzalina,Moss,q@example.org,38,\nDan,Wu,dan@example.org,,\n")
		mapping, fields, err := s.MakeFields(t.Context(), account, sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} }))
		if err != nil || len(fields) != 1 {
			t.Fatal(fields, err)
		}
		if _, err := s.BeginImport(t.Context(), account, im.ID, jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}); err != nil {
			t.Fatal(err)
		}
		finishJobs(t, s)
		if _, err := s.DefineField(t.Context(), account, custom.FieldInput{Title: "Kept", Type: custom.TextField}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UpdateContact(t.Context(), account, doc.MakeID(account, 4), input(t, `{"company":"C"}`)); err != nil {
			t.Fatal(err)
		}
		undo, err := s.EraseImport(t.Context(), account, im.ID, "US")
		if err != nil {
			t.Fatal(err)
		}
		finishJobs(t, s)
		rows, err := s.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != doc.MakeID(account, 4) {
			t.Errorf("%v: changed since: %+v", err, rows)
		}
		if c := recordOf(t, s, account, doc.MakeID(account, 3)); !c.Erased() || c.FirstName == "Quetzalina" {
			t.Errorf("the contact that was created is %+v", c)
		}
		if after := peopleOf(t, s, account); after[0] != before[0] || after[1] != before[1] {
			t.Errorf("the contacts that were there before are %q, want %q", after[:2], before)
		}
		left, err := s.CustomFields(t.Context(), account)
		if err != nil || len(left.Active()) != 1 || left.Active()[0].Title != "Kept" {
			t.Errorf("%v: %d custom fields are left", err, len(left.Active()))
		}
	})
}
