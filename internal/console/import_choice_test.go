package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// The preview lists rows with the email of a contact with another name, what would change, what is left out and what is not imported, and the person chooses once for
// all of them. What was created can be erased.
func TestAPersonChoosesWhatAnImportDoes(t *testing.T) {
	const file = "First name,Last name,Email,Phone,Title,Shoe size\nZoë,Okafor,zoe@example.org,call me,Head,38\nBo,Lee,bo@example.org,,Clerk,\nAda,Okafor,zoe@example.org,,,39\nZOE,OKAFOR,zoe@example.org,,,\n"
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Owner)
	p.post(p.org("/contacts"), "first_name", "Zoë", "last_name", "Okafor", "emails.0.value", "zoe@example.org")
	p.post(p.org("/contacts"), "first_name", "Bo", "last_name", "Lee", "emails.0.value", "bo@example.org")
	path := p.uploads(p.org("/contacts/import"), "people.csv", strings.NewReader(file)).location()
	a := p.get(path)
	p.sees(a, "Shoe size 38 · 39", "Columns that are not recognized", "If a contact with the same email, phone or ID has a different name", "If the file and that contact have different values")
	form := append(mapping(a), "mode", "merge", "other_name", "keep", "unknown", "custom")
	p.follow(path, append(form, "do", "try")...)
	a = p.until(path, "Nothing was changed yet.")
	p.sees(a, "Rows 4 New contacts 1 Merged 2 Unchanged 1 Rejected 0", "Same email, phone or ID, different name",
		"Row 4 Ada Okafor Zoë Okafor zoe@example.org A new contact.",
		"Values left out", `Row 2 Zoë Okafor Zoë Okafor zoe@example.org Merged. Title: Head. Left out: Phone "call me" must be a valid phone number`, "Row 3 Bo Lee Bo Lee bo@example.org Merged.")
	if words := a.words(); strings.Contains(words, " more ") {
		t.Errorf("a row that is told elsewhere is counted among those that are not shown: %s", words)
	}
	form = append(mapping(a), "mode", "merge", "other_name", "keep", "unknown", "custom")
	p.follow(path, append(form, "do", "import")...)
	a = p.until(path, "Done")
	p.sees(a, "New contacts 1", "Rows that need attention", "Row 4 Ada Okafor Zoë Okafor", "Undo and erase")
	p.sees(p.get(p.org("/settings/fields")), "Shoe size")
	editor := s.member(p.account, access.Editor)
	editor.wantStatus(editor.post(path+"/undo", "erase", "1"), http.StatusForbidden)
	p.follow(path+"/undo", "erase", "1")
	p.sees(p.until(path, "Import undone"), "1 contact that it created was erased")
	if got := p.get(p.org("/contacts")).words(); strings.Contains(got, "Ada") || !strings.Contains(got, "Zoë") {
		t.Errorf("the contacts are %s", got)
	}
}

// The preview lists companies and couples as they were understood, and offers the usual form for names in capitals.
func TestAPreviewTellsHowNamesWereUnderstood(t *testing.T) {
	const file = "Donor Name,Email\nMr. and Mrs. Paul Greene,paul@example.org\nHarbor Rotary Club,club@example.org\nJANE MCDONALD,jane@example.org\n"
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Owner)
	path := p.uploads(p.org("/contacts/import"), "people.csv", strings.NewReader(file)).location()
	a := p.get(path)
	p.follow(path, append(mapping(a), "mode", "merge", "other_name", "keep", "do", "try")...)
	a = p.until(path, "Nothing was changed yet.")
	p.sees(a, "Companies, couples, dates and refunds", `"Harbor Rotary Club" is a company`, `"Mr. and Mrs. Paul Greene" is a couple`, "Names 1 row of the file has a name in capitals")
	p.follow(path, append(mapping(a), "mode", "merge", "other_name", "keep", "usual_names", "1", "do", "import")...)
	p.until(path, "Done")
	p.sees(p.get(p.org("/contacts")), "Jane McDonald", "Paul Greene", "Harbor Rotary Club")
}

// A person who imports gifts chooses whether they wait for thanks. A preview keeps the choice.
func TestImportedGiftsWaitForThanksIfSomeoneWants(t *testing.T) {
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Owner)
	file := "Date,Amount,First name,Last name,Email\n" + s.store.Now().Format("2006-01-02") + ",35,Ada,Lovelace,ada@example.org\n"
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", file).location()
	a := p.get(path)
	p.sees(a, "New gifts wait for thanks")
	p.follow(path, append(mapping(a), "other_name", "keep", "thanks", "1", "do", "try")...)
	if a = p.until(path, "Nothing was changed yet."); !strings.Contains(a.body, `name="thanks" value="1" checked`) {
		t.Error("the preview has forgotten the choice")
	}
	p.follow(path, append(mapping(a), "other_name", "keep", "thanks", "1", "do", "import")...)
	p.until(path, "Done")
	p.sees(p.get(p.org("/gifts?thanks=waiting")), "Ada Lovelace", "$35")
	p.follow(path + "/undo")
	p.until(path, "Import undone")
	p.doesNotSee(p.get(p.org("/gifts?thanks=waiting")), "Ada Lovelace")
}
