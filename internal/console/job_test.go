package console_test

import (
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// An undo that was stopped says so, and is continued on the page of the import or on its own.
func TestAStoppedUndoIsContinued(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		rows := must(table.Open(strings.NewReader(file), int64(len(file)), "people.csv"))(t)
		spec := jobs.FileImport{Name: "people.csv", Mode: jobs.MergeExisting, Region: "US", Mapping: sheet.Contacts.Recognize(rows.Header(), nil, nil)}
		im, _ := must2(s.store.ImportFile(t.Context(), p.account.Number, rows, spec, 3, false, func(jobs.ImportProgress) {}))(t)
		path := p.org("/imports/" + strconv.FormatInt(im.ID, 10))
		lists := func(state string) {
			t.Helper()
			p.sees(p.get(p.org("/contacts/import")), state)
			p.sees(p.get(p.org("/jobs")), state)
		}
		a := p.follow(path + "/undo")
		p.sees(a, "the work continues.")
		if strings.Contains(a.words(), "command line") { // which has imported the file, but does not undo it
			t.Errorf("the page says %s", a.words())
		}
		lists("Being undone")
		undo := "/jobs/" + strconv.FormatInt(im.ID+1, 10)
		p.sees(p.get(p.org(undo)), "In progress 0 changes undone so far.")
		p.follow(p.org(undo + "/cancel"))
		lists("Undo stopped")
		a = p.get(path)
		p.sees(a, "Undo stopped", "Undo stopped after 0 changes. The rest wasn’t undone.", "Continue undo")
		if strings.Contains(a.words(), "was undone") {
			t.Errorf("the page says %s", a.words())
		}
		p.sees(p.follow(path+"/undo"), "Being undone")
		p.follow(p.org(undo + "/cancel"))
		p.sees(p.get(p.org(undo)), "Stopped", "Continue undo")
		p.sees(p.follow(p.org(undo+"/undo")), "Done", "Import undone: the contacts it created were archived")
		p.sees(p.get(path), "Undone", "Import undone")
		lists("Undone")
		p.sees(p.follow(path+"/undo"), "This was already undone, or hasn’t finished yet. Nothing was changed.")
	})
}
