package book

import (
	"fmt"
	"testing"

	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
)

// TestConcurrentImportIsErased: the undo of an import can erase those whom it has created, and ends the custom fields
// that were made for it. Contacts that were there before, or were changed since, stay.
func TestConcurrentImportIsErased(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillBefore(t, s, account)
		before := peopleOf(t, s, account)
		im := upload(t, s, account, "First name,Last name,Email,Shoe size,Title\nAna,Ruiz,ana@example.org,,Head\nQuetzalina,Moss,q@example.org,38,\nDan,Wu,dan@example.org,,\n")
		mapping, fields, err := s.MakeFields(t.Context(), account,
			sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} }))
		if err != nil || len(fields) != 1 {
			t.Fatal(fields, err)
		}
		must(s.BeginImport(t.Context(), account, im.ID,
			jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}))(t)
		finishJobs(t, s)
		must(s.DefineField(t.Context(), account, custom.FieldInput{Title: "Kept", Type: custom.TextField}))(t)
		must(s.UpdateContact(t.Context(), account, doc.MakeID(account, 4), input(t, `{"company":"C"}`)))(t)
		undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
		finishJobs(t, s)
		rows, err := s.JobRows(t.Context(), account, undo.ID, 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Contact != doc.MakeID(account, 4) {
			t.Errorf("%v: changed since: %+v", err, rows)
		}
		c := recordOf(t, s, account, doc.MakeID(account, 3))
		expect(t, "the contact that was created is", "true false", c.Erased(), c.FirstName == "Quetzalina")
		if after := peopleOf(t, s, account); after[0] != before[0] || after[1] != before[1] {
			t.Errorf("the contacts that were there before are %q, want %q", after[:2], before)
		}
		left, err := s.CustomFields(t.Context(), account)
		if err != nil || len(left.Active()) != 1 || left.Active()[0].Title != "Kept" {
			t.Errorf("%v: %d custom fields are left", err, len(left.Active()))
		}
	})
}

// TestFieldThatOthersUseStays: a custom field that was made for an import does not end with it where another contact
// has a value in it. A hundred and twenty people are erased by two jobs, however many units of work erase them.
func TestFieldThatOthersUseStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		other := create(t, s, account, `{"first_name":"Old","last_name":"Friend"}`)
		file := "First name,Last name,Shoe size\n"
		for i := range 120 {
			file += fmt.Sprintf("Quetzalina,Moss %d,38\n", i)
		}
		im := upload(t, s, account, file)
		mapping, fields := must2(s.MakeFields(t.Context(), account,
			sheet.Contacts.WithUnknown(im.Spec.Mapping, nil, func(int) []string { return []string{"38"} })))(t)
		must(s.BeginImport(t.Context(), account, im.ID,
			jobs.Choices{Mapping: mapping, Fields: fields, Mode: jobs.MergeExisting}))(t)
		finishJobs(t, s)
		must(s.UpdateContact(t.Context(), account, other.ID,
			input(t, fmt.Sprintf(`{"custom_fields":[{"field_id":%d,"value":40}]}`, fields[0]))))(t)
		undo := must(s.UndoJob(t.Context(), account, im.ID, "US", true))(t)
		finishJobs(t, s)
		expect(t, "custom fields are left", "1", len(must(s.CustomFields(t.Context(), account))(t).Active()))
		last := recordOf(t, s, account, doc.MakeID(account, 121))
		expect(t, "the last one is erased", "true", last.Erased())
		// a slow machine makes smaller portions, but a job is never for one person
		if next, err := s.Job(t.Context(), account, undo.ID+30); err == nil {
			t.Errorf("thirty jobs erase 120 people: %+v", next)
		}
	})
}
