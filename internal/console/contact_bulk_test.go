package console_test

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

// tagsOf are the tags of each contact, by last names.
func (s *site) tagsOf(account access.Account) map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, c := range s.contacts(account) {
		all[c.LastName] = strings.Join(c.Tags, " ")
		if c.Archived() {
			all[c.LastName] += " archived"
		}
	}
	return all
}

func (s *site) wantTagsOf(account access.Account, want map[string]string) {
	s.t.Helper()
	if got := s.tagsOf(account); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("the contacts are %v, want %v", got, want)
	}
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
	a, b := idIn(s.contact(p, "Ana", "A", tagged("x"))), idIn(s.contact(p, "Bo", "B"))
	c := idIn(s.contact(p, "Cy", "C"))
	p.follow("contacts/" + c + "/archive")
	p.get("contacts?scope=all").has(`name="id" value="`+a+`" aria-label="Select Ana A"`, `name="query" value="scope=all"`, `value="restore">Restore<span class="visually-hidden"> contacts</span>`)
	picked := []string{"query", "scope=all", "id", a, "id", b, "id", c}
	ask := p.post("contacts/bulk", append(picked, "action", "tag")...)
	ask.is(200).sees("Add tags to 3 contacts", "the 3 contacts you selected", "Separate several tags with commas.")
	if !slices.Contains(hiddenFields(ask), b) {
		t.Error("the selection is not kept")
	}
	p.post("contacts/bulk", append(picked, "action", "tag", "confirmed", "1", "tag", " , ")...).is(422).sees("Tags need at least one name.", "Add tags to 3 contacts")
	p.post("contacts/bulk", append(picked, "action", "tag", "confirmed", "1", "tag", "fine, "+strings.Repeat("n", 65))...).is(422).sees("A tag must not be longer than 64 characters.")
	s.wantTagsOf(p.account, map[string]string{"A": "x", "B": "", "C": " archived"})

	done := p.follow("contacts/bulk", append(picked, "action", "tag", "confirmed", "1", "tag", "x, y")...)
	done.sees("Added “x”, “y” to 2 contacts. 1 contact is archived and was left alone.", "Contacts", "Undo")
	s.wantTagsOf(p.account, map[string]string{"A": "x y", "B": "x y", "C": " archived"})
	p.undo(done).sees("Undone. 2 contacts restored to how they were.", "Cy C")
	s.wantTagsOf(p.account, map[string]string{"A": "x", "B": "", "C": " archived"})

	done = p.follow("contacts/bulk", append(picked, "action", "archive")...) // which asks for nothing more
	done.sees("Archived 2 contacts. 1 contact was already archived.")
	s.wantTagsOf(p.account, map[string]string{"A": "x archived", "B": " archived", "C": " archived"})
	p.follow("contacts/bulk", append(picked, "action", "restore")...).sees("Restored 3 contacts.")
	p.follow("contacts/bulk", "action", "untag", "confirmed", "1", "tag", "x", "id", a, "id", b).sees("Removed “x” from 1 contact. 1 contact did not have “x”.")
	p.follow("contacts/bulk", "action", "archive").sees("No contacts are selected, so nothing was done.")
	p.get("jobs").sees("Add “x”, “y” to 3 contacts", "Undone", "Archive 3 contacts", p.user.Name+", ", "Remove “x” from 2 contacts")

}

// All that a search found is asked about first, with the number. Another number than the one that was seen is asked about again.
func TestEverythingThatASearchFoundIsChanged(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for i := range 53 {
		s.contact(p, "Number", fmt.Sprintf("N%02d", i), tagged("some"))
	}
	other := s.contact(p, "Other", "O", tagged("none"))
	p.get("contacts?q=number").sees("Select all 53 contacts")
	p.get("contacts").sees("Select all 54 contacts")
	all := []string{"all", "1", "query", "q=number&page=7", "action", "archive"}
	ask := p.post("contacts/bulk", all...)
	ask.sees("Archive 53 contacts?", "all 53 contacts in the list, on every page")
	s.contact(p, "Number", "Late")
	again := p.post("contacts/bulk", hiddenFields(ask)...)
	again.sees("Your search now finds 54 contacts. Nothing has changed yet.", "Archive 54 contacts?")
	if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	done := p.follow("contacts/bulk", hiddenFields(again)...)
	done.sees("Archived 54 contacts.")
	if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 54 || counts.Active != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	p.undo(done).sees("Undone. 54 contacts restored to how they were.")
	if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	for _, query := range []string{"scope=nonsense", "q=%zz", "created_after=never"} {
		p.follow("contacts/bulk", "all", "1", "query", query, "action", "archive", "confirmed", "1").sees("Nothing was changed.")
	}
	p.post("contacts/bulk", "all", "1", "action", "drop").is(404)
	export := p.post("contacts/bulk", "all", "1", "query", "q=number", "action", "export")
	export.sees("Export 54 contacts", "The file will have all 54 contacts in the list, on every page.")
	if file := p.file(export); strings.Count(file, "\n") != 55 || strings.Contains(file, "Other") {
		t.Errorf("the file is %s", file)
	}
	picked := p.post("contacts/bulk", "query", "q=number", "action", "export", "id", "3", "id", path.Base(other))
	picked.sees("Export 2 contacts", "The file will have the 2 contacts you selected.")
	if file := p.file(picked); strings.Count(file, "\n") != 3 || !strings.Contains(file, "Other") || !strings.Contains(file, "N02") {
		t.Errorf("the file of what was picked is %s", file)
	}
	if none := p.get("contacts/export?scope=picked"); strings.Count(none.body, "\n") != 1 {
		t.Errorf("the file of nothing is %s", none.body)
	}

}

// file downloads what the form of a page asks for.
func (p *person) file(page answer) string {
	query := url.Values{}
	for pair := range slices.Chunk(hiddenFields(page), 2) {
		query.Add(pair[0], pair[1])
	}
	return p.get("contacts/export?" + query.Encode()).body
}

// More than a person waits for goes on in the background, and tells how far it is.
func TestAJobIsWatchedStoppedAndUndone(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for i := range 520 {
		s.contact(p, "Number", strconv.Itoa(i))
	}
	ask := p.post("contacts/bulk", "all", "1", "query", "", "action", "tag")
	p.follow("contacts/bulk", append(hiddenFields(ask), "tag", "new")...).sees("Adding “new” to 520 contacts.", "View progress")
	p.get("jobs/1").sees("Add “new” to 520 contacts", "In progress", "0 of 520 contacts", "Stop this change").lacks("Undo").has(`hx-trigger="every 1s"`)
	p.done("jobs/1").sees("Done", "Added “new” to 520 contacts.", "Undo this change")
	p.follow("jobs/1/cancel").sees("This has already finished.")
	newest := s.contacts(p.account)
	must(s.store.RemoveTags(t.Context(), p.account.Number, newest[1].ID, []string{"new"}))(t)
	if _, err := s.store.AddTags(t.Context(), p.account.Number, newest[2].ID, []string{"later"}); err != nil { // which is not in the way
		t.Fatal(err)
	}
	p.follow("jobs/1/undo")
	p.done("jobs/2").sees("519 contacts restored to how they were. 1 contact was changed since then and was left as is.", "Number 518")
	p.follow("jobs/1/undo").sees("This was already undone, or hasn’t finished yet. Nothing was changed.")
	p.get("jobs/99").is(404)
	p.get("jobs/x").is(404)

}

// The ids in a form are only a wish. Those of another organization are ignored, as if no contact had them.
func TestAnothersContactsCannotBeSelected(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	viewer := s.member(e.account, access.Viewer)
	before := s.state(e)
	mallory := s.member(s.organization("Mallory"), access.Owner)
	own := idIn(s.contact(mallory, "Own", "One"))
	for _, id := range []int64{e.contact, e.archived} {
		for _, action := range []string{"tag", "untag", "archive", "restore"} {
			only := mallory.follow("contacts/bulk", "action", action, "tag", "stolen", "confirmed", "1", "id", strconv.FormatInt(id, 10))
			nothing := mallory.follow("contacts/bulk", "action", action, "tag", "stolen", "confirmed", "1", "id", "999999999")
			if only.words() != nothing.words() {
				t.Errorf("%s of another's contact: %s", action, only.words())
			}
		}
		mallory.follow("contacts/bulk", "action", "tag", "tag", "t"+strconv.FormatInt(id, 10), "confirmed", "1", "id", strconv.FormatInt(id, 10), "id", own).sees("to 1 contact.")
	}
	for _, path := range []string{"/jobs/" + strconv.FormatInt(e.job, 10) + "/undo", "/jobs/" + strconv.FormatInt(e.job, 10) + "/cancel"} {
		mallory.post(mallory.org(path)) // her own job of that number, if any
	}
	if s.state(e) != before {
		t.Error("another organization was changed")
	}
	viewer.post("contacts/bulk", "all", "1", "seen", "1", "confirmed", "1", "action", "archive").is(403)
	viewer.get("contacts").hides(`name="id"`).lacks("Archive contacts")
	if s.state(e) != before {
		t.Error("a viewer has changed something")
	}
	// Undo leads back to lists of the organization and nowhere else.
	for _, to := range []string{"https://evil.example/", "//evil.example", "/contacts/../../x", "/settings", strings.Repeat("/contacts", 200)} {
		p := e.owner
		done := p.follow("contacts/bulk", "action", "tag", "tag", "z"+strconv.Itoa(len(to)), "confirmed", "1", "id", strconv.FormatInt(e.contact, 10))
		path := strings.SplitN(undoButton.FindStringSubmatch(done.body)[1], "?", 2)[0]
		if a := p.post(path + "?to=" + url.QueryEscape(to)); !strings.HasPrefix(a.location(), p.org("/jobs/")) {
			t.Errorf("%s: undo leads to %s", to, a.location())
		}
	}
}
