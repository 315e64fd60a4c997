package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/jobs"
	"donorbook/internal/table"
)

// tagsOf are the tags of each contact, by last names.
func (s *site) wantTagsOf(account access.Account, want map[string]string) {
	s.t.Helper()
	got := map[string]string{}
	for _, c := range s.contacts(account) {
		got[c.LastName] = strings.Join(c.Tags, " ")
		if c.Archived() {
			got[c.LastName] += " archived"
		}
	}
	equal(s.t, fmt.Sprint(got), fmt.Sprint(want), "the contacts are %v, want %v", got, want)
}

// undoButton is where the Undo button of a notice leads.
var undoButton = regexp.MustCompile(`<form method="post" action="([^"]*/undo[^"]*)"`)

func (p *person) undo(a answer) answer {
	p.site.t.Helper()
	found := undoButton.FindStringSubmatch(a.body)
	if found == nil {
		p.site.t.Fatalf("there is nothing to undo: %s", a.words())
	}
	return p.follow(strings.ReplaceAll(found[1], "&amp;", "&"))
}

func TestContactsThatWereTickedAreTaggedAndArchived(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	a, b, c := idIn(s.contact(p, "Ana", "A", tagged("x"))), idIn(s.contact(p, "Bo", "B")), idIn(s.contact(p, "Cy", "C"))
	p.follow("contacts/" + c + "/archive")
	p.get("contacts?scope=all").has(`name="id" value="`+a+`" aria-label="Select Ana A"`,
		`name="query" value="scope=all"`, `value="restore">`)
	picked := []string{"query", "scope=all", "id", a, "id", b, "id", c}
	bulk := func(more ...string) answer { return p.post("contacts/bulk", append(picked, more...)...) }
	ask := bulk("action", "tag").is(200).sees("Add tags to 3 contacts", "the 3 contacts you selected")
	if !slices.Contains(hiddenFields(ask), b) {
		t.Error("the selection is not kept")
	}
	for tag, said := range map[string]string{" , ": "Tags need at least one name.",
		"fine, " + strings.Repeat("n", 65): "longer than 64 characters."} {
		bulk("action", "tag", "confirmed", "1", "tag", tag).is(422).sees(said, "Add tags to 3 contacts")
	}
	before := map[string]string{"A": "x", "B": "", "C": " archived"}
	s.wantTagsOf(p.account, before)
	done := p.get(bulk("action", "tag", "confirmed", "1", "tag", "x, y").is(303).location()).
		sees("Added “x”, “y” to 2 contacts. 1 contact is archived and was left alone.")
	s.wantTagsOf(p.account, map[string]string{"A": "x y", "B": "x y", "C": " archived"})
	p.undo(done).sees("2 contacts restored to how they were.")
	s.wantTagsOf(p.account, before)
	bulk("action", "archive").is(303) // which asks for nothing more
	s.wantTagsOf(p.account, map[string]string{"A": "x archived", "B": " archived", "C": " archived"})
	p.get(bulk("action", "restore").location()).sees("Restored 3 contacts.")
	p.follow("contacts/bulk", "action", "untag", "confirmed", "1", "tag", "x", "id", a, "id", b).
		sees("1 contact did not have “x”.")
	p.follow("contacts/bulk", "action", "archive").sees("No contacts are selected, so nothing was done.")
	p.get("jobs").sees("Add “x”, “y” to 3 contacts", "Undone", "Archive 3 contacts", p.user.Name+", ")
}

// All that a search found is asked about first, with the number. Another number than the one that was seen is asked
// about again.
func TestEverythingThatASearchFoundIsChanged(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for i := range 53 {
		s.contact(p, "Number", fmt.Sprintf("N%02d", i), tagged("some"))
	}
	other := s.contact(p, "Other", "O", tagged("none"))
	p.get("contacts?q=number").sees("Select all 53 contacts")
	archived := func(want int64) {
		t.Helper()
		equal(t, must(s.store.Counts(t.Context(), p.account.Number))(t).Archived, want)
	}
	ask := p.post("contacts/bulk", "all", "1", "query", "q=number&page=7", "action", "archive").
		sees("Archive 53 contacts?", "all 53 contacts in the list, on every page")
	s.contact(p, "Number", "Late")
	ask = p.post("contacts/bulk", hiddenFields(ask)...).sees("Nothing has changed yet.", "Archive 54 contacts?")
	archived(0)
	done := p.follow("contacts/bulk", hiddenFields(ask)...).sees("Archived 54 contacts.")
	archived(54)
	p.undo(done)
	archived(0)
	for _, query := range []string{"scope=nonsense", "q=%zz", "created_after=never"} {
		p.follow("contacts/bulk", "all", "1", "query", query, "action", "archive", "confirmed", "1").
			sees("Nothing was changed.")
	}
	p.post("contacts/bulk", "all", "1", "action", "drop").is(404)
	file := func(lines int, form ...string) answer { // of what the form of the page asks for
		t.Helper()
		a := p.get("contacts/export?" + pairs(hiddenFields(p.post("contacts/bulk",
			append(form, "query", "q=number", "action", "export")...))).Encode())
		equal(t, strings.Count(a.body, "\n"), lines, "%v (%v)", form, a.body)
		return a
	}
	file(55, "all", "1").lacks("Other")
	file(3, "id", "3", "id", idIn(other)).sees("Other", "N02")
	equal(t, strings.Count(p.get("contacts/export?scope=picked").body, "\n"), 1, "the file of nothing")
}

// More than a person waits for goes on in the background, and tells how far it is. It is undone but for what was
// changed since.
func TestAJobIsWatchedAndUndone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	people := "first_name,last_name,tags\n" + strings.Repeat("Number,One,old\n", 510)
	rows := must(table.Open(strings.NewReader(people), int64(len(people)), "people.csv"))(t)
	spec := jobs.FileImport{Name: "people.csv", Mode: jobs.ForceCreate, Region: "US",
		Mapping: sheet.Contacts.Recognize(rows.Header(), nil, nil)}
	must2(s.store.ImportFile(t.Context(), p.account.Number, rows, spec, 510, false, func(jobs.ImportProgress) {}))(t)
	ask := p.post("contacts/bulk", "all", "1", "query", "", "action", "tag")
	p.follow("contacts/bulk", append(hiddenFields(ask), "tag", "new")...).
		sees("Adding “new” to 510 contacts.", "View progress")
	p.get("jobs/2").sees("In progress", "0 of 510 contacts", "Stop this change").lacks("Undo").
		has(`hx-trigger="every 1s"`)
	p.done("jobs/2", "Done", "Added “new” to 510 contacts.", "Undo this change").hides("hx-trigger")
	p.follow("jobs/2/cancel").sees("This has already finished.")
	newest := s.contacts(p.account)
	must(s.store.RemoveTags(t.Context(), p.account.Number, newest[1].ID, []string{"new"}))(t)
	must(s.store.AddTags(t.Context(), p.account.Number, newest[2].ID, []string{"later"}))(t) // which is not in the way
	p.follow("jobs/2/undo")
	p.done("jobs/3", "509 contacts restored to how they were. 1 contact was changed since then and was left as is.")
	p.follow("jobs/2/undo").sees("Nothing was changed.")
	p.get("jobs/99").is(404)
	p.get("jobs/x").is(404)

	// So does a tag of many contacts, and the list says so.
	p.follow("tags/rename", "tag", "old", "name", "new").
		sees("in the background.", "old Change to “new” in progress 510")
	p.post("tags/delete", "tag", "old").is(422).sees("This tag is being renamed, merged or deleted.")
	p.done("jobs/4", "Done", "Changed the tag on 510 contacts.")
	p.get("tags").sees("new 510")
}

// The ids in a form are only a wish. Those of another organization are ignored, as if no contact had them.
func TestAnothersContactsCannotBeSelected(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	before := s.state(e)
	mallory := s.member(s.organization("Mallory"), access.Owner)
	own := idIn(s.contact(mallory, "Own", "One"))
	for _, id := range []int64{e.contact, e.archived} {
		theirs := fmt.Sprint(id)
		for _, action := range []string{"tag", "untag", "archive", "restore"} {
			steal := func(id string) string {
				return mallory.follow("contacts/bulk", "action", action, "tag", "stolen", "confirmed", "1", "id", id).
					words()
			}
			equal(t, steal(theirs), steal("999999999"), "%s of another's contact", action)
		}
		mallory.follow("contacts/bulk", "action", "tag", "tag", "t"+theirs, "confirmed", "1", "id", theirs, "id", own).
			sees("to 1 contact.")
	}
	for _, end := range []string{"undo", "cancel"} {
		mallory.post(fmt.Sprintf("jobs/%d/%s", e.job, end)) // her own job of that number, if any
	}
	equal(t, s.state(e), before, "another organization was changed")
	// Undo leads back to lists of the organization and nowhere else.
	for _, to := range []string{"https://evil.example/", "//evil.example", "/contacts/../../x", "/settings",
		strings.Repeat("/contacts", 200)} {
		done := e.owner.follow("contacts/bulk", "action", "tag", "tag", fmt.Sprint("z", len(to)), "confirmed", "1",
			"id", fmt.Sprint(e.contact))
		path, _, _ := strings.Cut(undoButton.FindStringSubmatch(done.body)[1], "?")
		if a := e.owner.post(path + "?to=" + url.QueryEscape(to)); !strings.HasPrefix(a.location(),
			e.owner.org("/jobs/")) {
			t.Errorf("%s: undo leads to %s", to, a.location())
		}
	}
}

func TestTagsAreListedRenamedMergedAndDeleted(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.contact(p, "Ana", "A", tagged("a/b, c", "vip"))
	s.contact(p, "Bo", "B", tagged("vip"))
	p.follow(s.contact(p, "Cy", "C", tagged("vip")) + "/archive")
	p.get("tags").sees("a/b, c 1", "vip 2 + 1 archived").has(p.org("/tags/rename?tag=a%2Fb%2C&#43;c"))
	p.get("tags/rename?tag=vip").sees("The tag will be renamed on 2 contacts and 1 archived contact.")
	for name, says := range map[string]string{"": "must not be empty.",
		strings.Repeat("x", 65): "longer than 64 characters."} {
		p.post("tags/rename", "tag", "vip", "name", name).is(422).sees(says, "Rename “vip”")
	}
	p.follow("tags/rename", "tag", "vip", "name", "vip").sees("Nothing was changed.")
	p.follow("tags/rename", "tag", "a/b, c", "name", " Board ").sees("Board 1")
	ask := p.post("tags/rename", "tag", "Board", "name", "vip").is(200).sees("Merge “Board” into “vip”?")
	both := map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"}
	s.wantTagsOf(p.account, both)
	merged := p.follow("tags/rename", hiddenFields(ask)...)
	s.wantTagsOf(p.account, map[string]string{"A": "vip", "B": "vip", "C": "vip archived"})
	p.undo(merged).sees("Board 1")
	s.wantTagsOf(p.account, both)
	p.get("tags/delete?tag=vip").sees("Delete “vip”?", "This removes the tag from 2 contacts and 1 archived contact.")
	deleted := p.follow("tags/delete", "tag", "vip")
	s.wantTagsOf(p.account, map[string]string{"A": "Board", "B": "", "C": " archived"})
	for _, path := range []string{"tags/delete?tag=vip", "tags/rename?tag=vip", "tags/rename"} {
		p.get(path).leads(p.org("/tags"))
	}
	p.follow("tags/delete", "tag", "vip").sees("No contacts have the tag “vip” anymore.")
	p.undo(deleted).sees("3 contacts restored to how they were.")
	s.wantTagsOf(p.account, both)
}

func TestTagsThatDifferInLetterCaseAreMergedWithOneClick(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for last, tags := range map[string][]string{"A": {"Donor"}, "B": {"Donor", "résumé"}, "C": {"donor", "x"},
		"D": {"DONOR", "Donor"},
		"E": {"resume"}} { // which differs in more than letter case
		s.contact(p, "Ana", last, tagged(tags...))
	}
	list := p.get("tags").sees("Possible duplicates", "Merge into “Donor”")
	equal(t, strings.Count(list.body, "Merge into"), 1)
	merged := p.follow("tags/merge", "tag", "donor", "tag", "DONOR", "into", "Donor").lacks("Possible duplicates")
	s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "Donor x", "D": "Donor",
		"E": "resume"})
	p.undo(merged).sees("Possible duplicates")
	s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "donor x", "D": "DONOR Donor",
		"E": "resume"})
	p.post("tags/merge", "tag", "donor", "into", "").is(422)
	for i := range 55 {
		s.contact(p, "Bo", "Ek", tagged(fmt.Sprintf("t%03d", i)))
	}
	p.get("tags?page=2").sees("t054", "Previous")
	p.get("tags?q=T01").sees("t010", "t019").lacks("t020")
}

// An undo that was stopped says so, and is continued on the page of the import or on its own.
func TestAStoppedUndoIsContinued(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	path := p.importOf("contacts", file)
	p.imports(path, "import", "mode", "merge")
	lists := func(state string) {
		t.Helper()
		p.get(importPage).sees(state)
		p.get("jobs").sees(state)
	}
	p.follow(path + "/undo").sees("the work continues.").lacks("command line")
	lists("Being undone")
	const undo = "jobs/2"
	p.get(undo).sees("In progress 0 changes undone so far.")
	p.follow(undo + "/cancel")
	lists("Undo stopped")
	p.get(path).sees("Undo stopped after 0 changes. The rest wasn’t undone.", "Continue undo").lacks("was undone")
	p.follow(path + "/undo").sees("Being undone")
	p.follow(undo + "/cancel")
	p.follow(undo + "/undo")
	p.done(undo, "Done", "Import undone")
	lists("Undone")
	p.follow(path + "/undo").sees("This was already undone, or hasn’t finished yet. Nothing was changed.")
}
