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
	s, p := signedIn(t, access.Editor)
	rows := must(table.Open(strings.NewReader(file), int64(len(file)), "people.csv"))(t)
	spec := jobs.FileImport{Name: "people.csv", Mode: jobs.MergeExisting, Region: "US", Mapping: sheet.Contacts.Recognize(rows.Header(), nil, nil)}
	im, _ := must2(s.store.ImportFile(t.Context(), p.account.Number, rows, spec, 3, false, func(jobs.ImportProgress) {}))(t)
	path := p.org("/imports/" + strconv.FormatInt(im.ID, 10))
	lists := func(state string) {
		t.Helper()
		p.get("contacts/import").sees(state)
		p.get("jobs").sees(state)
	}
	p.follow(path + "/undo").sees("the work continues.").lacks("command line")
	lists("Being undone")
	undo := "/jobs/" + strconv.FormatInt(im.ID+1, 10)
	p.get(p.org(undo)).sees("In progress 0 changes undone so far.")
	p.follow(p.org(undo + "/cancel"))
	lists("Undo stopped")
	p.get(path).sees("Undo stopped", "Undo stopped after 0 changes. The rest wasn’t undone.", "Continue undo").lacks("was undone")
	p.follow(path + "/undo").sees("Being undone")
	p.follow(p.org(undo + "/cancel"))
	p.get(p.org(undo)).sees("Stopped", "Continue undo")
	p.follow(p.org(undo+"/undo")).sees("Done", "Import undone: the contacts it created were archived")
	p.get(path).sees("Undone", "Import undone")
	lists("Undone")
	p.follow(path + "/undo").sees("This was already undone, or hasn’t finished yet. Nothing was changed.")

}
