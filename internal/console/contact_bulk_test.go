package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
)

// contactID is the id in the address of a contact's page.
func contactID(path string) string { return path[strings.LastIndex(path, "/")+1:] }

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

// working does the work in the background, as a server does.
func (s *site) working() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		s.store.WorkOnJobs(ctx, func(err error) { s.t.Error(err) })
		close(ended)
	}()
	s.t.Cleanup(func() {
		stop()
		<-ended
	})
}

// watch asks how far a job is, as a script does, until it has ended.
func (p *person) watch(path string) answer {
	p.site.t.Helper()
	for i := range 1000 {
		a := p.live(p.org(path))
		p.wantStatus(a, http.StatusOK)
		if !strings.Contains(a.body, "hx-trigger") {
			return a
		}
		time.Sleep(time.Duration(min(20+i, 200)) * time.Millisecond) // less often when it takes long: work in the background gives way to requests
	}
	p.site.t.Fatalf("%s does not end", path)
	return answer{}
}

func TestContactsThatWereTickedAreTaggedAndArchived(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		a, b := contactID(s.contact(p, "Ana", "A", tagged("x"))), contactID(s.contact(p, "Bo", "B"))
		c := contactID(s.contact(p, "Cy", "C"))
		p.follow(p.org("/contacts/" + c + "/archive"))
		page := p.get(p.org("/contacts?scope=all"))
		for _, part := range []string{`name="id" value="` + a + `" aria-label="Select Ana A"`, `name="query" value="scope=all"`, `value="restore">Restore<span class="visually-hidden"> contacts</span>`} {
			if !strings.Contains(page.body, part) {
				t.Errorf("the list lacks %s", part)
			}
		}
		picked := []string{"query", "scope=all", "id", a, "id", b, "id", c}
		ask := p.post(p.org("/contacts/bulk"), append(picked, "action", "tag")...)
		p.wantStatus(ask, http.StatusOK)
		p.sees(ask, "Add tags to 3 contacts", "the 3 contacts you selected", "Separate several tags with commas.")
		if !slices.Contains(hiddenFields(ask), b) {
			t.Error("the selection is not kept")
		}
		empty := p.post(p.org("/contacts/bulk"), append(picked, "action", "tag", "confirmed", "1", "tag", " , ")...)
		p.wantStatus(empty, http.StatusUnprocessableEntity)
		p.sees(empty, "Tags need at least one name.", "Add tags to 3 contacts")
		long := p.post(p.org("/contacts/bulk"), append(picked, "action", "tag", "confirmed", "1", "tag", "fine, "+strings.Repeat("n", 65))...)
		p.wantStatus(long, http.StatusUnprocessableEntity)
		p.sees(long, "A tag must not be longer than 64 characters.")
		s.wantTagsOf(p.account, map[string]string{"A": "x", "B": "", "C": " archived"})

		done := p.follow(p.org("/contacts/bulk"), append(picked, "action", "tag", "confirmed", "1", "tag", "x, y")...)
		p.sees(done, "Added “x”, “y” to 2 contacts. 1 contact is archived and was left alone.", "Contacts", "Undo")
		s.wantTagsOf(p.account, map[string]string{"A": "x y", "B": "x y", "C": " archived"})
		p.sees(p.undo(done), "Undone. 2 contacts restored to how they were.", "Cy C")
		s.wantTagsOf(p.account, map[string]string{"A": "x", "B": "", "C": " archived"})

		done = p.follow(p.org("/contacts/bulk"), append(picked, "action", "archive")...) // which asks for nothing more
		p.sees(done, "Archived 2 contacts. 1 contact was already archived.")
		s.wantTagsOf(p.account, map[string]string{"A": "x archived", "B": " archived", "C": " archived"})
		p.sees(p.follow(p.org("/contacts/bulk"), append(picked, "action", "restore")...), "Restored 3 contacts.")
		p.sees(p.follow(p.org("/contacts/bulk"), "action", "untag", "confirmed", "1", "tag", "x", "id", a, "id", b), "Removed “x” from 1 contact. 1 contact did not have “x”.")
		p.sees(p.follow(p.org("/contacts/bulk"), "action", "archive"), "No contacts are selected, so nothing was done.")
		p.sees(p.get(p.org("/jobs")), "Add “x”, “y” to 3 contacts", "Undone", "Archive 3 contacts", p.user.Name+", ", "Remove “x” from 2 contacts")
	})
}

// All that a search found is asked about first, with the number. Another number than the one that was seen is asked about again.
func TestEverythingThatASearchFoundIsChanged(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		for i := range 53 {
			s.contact(p, "Number", fmt.Sprintf("N%02d", i), tagged("some"))
		}
		other := s.contact(p, "Other", "O", tagged("none"))
		p.sees(p.get(p.org("/contacts?q=number")), "Select all 53 contacts")
		p.sees(p.get(p.org("/contacts")), "Select all 54 contacts")
		all := []string{"all", "1", "query", "q=number&page=7", "action", "archive"}
		ask := p.post(p.org("/contacts/bulk"), all...)
		p.sees(ask, "Archive 53 contacts?", "all 53 contacts in the list, on every page")
		s.contact(p, "Number", "Late")
		again := p.post(p.org("/contacts/bulk"), hiddenFields(ask)...)
		p.sees(again, "Your search now finds 54 contacts. Nothing has changed yet.", "Archive 54 contacts?")
		if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 0 {
			t.Errorf("%+v, %v", counts, err)
		}
		done := p.follow(p.org("/contacts/bulk"), hiddenFields(again)...)
		p.sees(done, "Archived 54 contacts.")
		if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 54 || counts.Active != 1 {
			t.Errorf("%+v, %v", counts, err)
		}
		p.sees(p.undo(done), "Undone. 54 contacts restored to how they were.")
		if counts, err := s.store.Counts(t.Context(), p.account.Number); err != nil || counts.Archived != 0 {
			t.Errorf("%+v, %v", counts, err)
		}
		for _, query := range []string{"scope=nonsense", "q=%zz", "created_after=never"} {
			p.sees(p.follow(p.org("/contacts/bulk"), "all", "1", "query", query, "action", "archive", "confirmed", "1"), "Nothing was changed.")
		}
		p.wantStatus(p.post(p.org("/contacts/bulk"), "all", "1", "action", "drop"), http.StatusNotFound)
		export := p.post(p.org("/contacts/bulk"), "all", "1", "query", "q=number", "action", "export")
		p.sees(export, "Export 54 contacts", "The file will have all 54 contacts in the list, on every page.")
		if file := p.file(export); strings.Count(file, "\n") != 55 || strings.Contains(file, "Other") {
			t.Errorf("the file is %s", file)
		}
		picked := p.post(p.org("/contacts/bulk"), "query", "q=number", "action", "export", "id", "3", "id", path.Base(other))
		p.sees(picked, "Export 2 contacts", "The file will have the 2 contacts you selected.")
		if file := p.file(picked); strings.Count(file, "\n") != 3 || !strings.Contains(file, "Other") || !strings.Contains(file, "N02") {
			t.Errorf("the file of what was picked is %s", file)
		}
		if none := p.get(p.org("/contacts/export?scope=picked")); strings.Count(none.body, "\n") != 1 {
			t.Errorf("the file of nothing is %s", none.body)
		}
	})
}

// file downloads what the form of a page asks for.
func (p *person) file(page answer) string {
	query := url.Values{}
	for pair := range slices.Chunk(hiddenFields(page), 2) {
		query.Add(pair[0], pair[1])
	}
	return p.get(p.org("/contacts/export?" + query.Encode())).body
}

// More than a person waits for goes on in the background, and tells how far it is.
func TestAJobIsWatchedStoppedAndUndone(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		for i := range 520 {
			s.contact(p, "Number", strconv.Itoa(i))
		}
		ask := p.post(p.org("/contacts/bulk"), "all", "1", "query", "", "action", "tag")
		begun := p.follow(p.org("/contacts/bulk"), append(hiddenFields(ask), "tag", "new")...)
		p.sees(begun, "Adding “new” to 520 contacts.", "View progress")
		job := p.get(p.org("/jobs/1"))
		p.sees(job, "Add “new” to 520 contacts", "In progress", "0 of 520 contacts", "Stop this change")
		if strings.Contains(job.words(), "Undo") || !strings.Contains(job.body, `hx-trigger="every 1s"`) {
			t.Error("a job that runs can be undone, or is not watched")
		}
		s.working()
		job = p.watch("/jobs/1")
		p.sees(job, "Done", "Added “new” to 520 contacts.", "Undo this change")
		p.sees(p.follow(p.org("/jobs/1/cancel")), "This has already finished.")
		newest := s.contacts(p.account)
		must(s.store.RemoveTags(t.Context(), p.account.Number, newest[1].ID, []string{"new"}))(t)
		if _, err := s.store.AddTags(t.Context(), p.account.Number, newest[2].ID, []string{"later"}); err != nil { // which is not in the way
			t.Fatal(err)
		}
		p.follow(p.org("/jobs/1/undo"))
		undone := p.watch("/jobs/2")
		p.sees(undone, "519 contacts restored to how they were. 1 contact was changed since then and was left as is.", "Number 518")
		p.sees(p.follow(p.org("/jobs/1/undo")), "This was already undone, or hasn’t finished yet. Nothing was changed.")
		p.wantStatus(p.get(p.org("/jobs/99")), http.StatusNotFound)
		p.wantStatus(p.get(p.org("/jobs/x")), http.StatusNotFound)
	})
}

// The ids in a form are only a wish. Those of another organization are ignored, as if no contact had them.
func TestAnothersContactsCannotBeSelected(t *testing.T) {
	s := anySite(t)
	e := s.estate("Harbor")
	viewer := s.member(e.account, access.Viewer)
	before := s.state(e)
	mallory := s.member(s.organization("Mallory"), access.Owner)
	own := contactID(s.contact(mallory, "Own", "One"))
	for _, id := range []int64{e.contact, e.archived} {
		for _, action := range []string{"tag", "untag", "archive", "restore"} {
			only := mallory.follow(mallory.org("/contacts/bulk"), "action", action, "tag", "stolen", "confirmed", "1", "id", strconv.FormatInt(id, 10))
			nothing := mallory.follow(mallory.org("/contacts/bulk"), "action", action, "tag", "stolen", "confirmed", "1", "id", "999999999")
			if only.words() != nothing.words() {
				t.Errorf("%s of another's contact: %s", action, only.words())
			}
		}
		both := mallory.follow(mallory.org("/contacts/bulk"), "action", "tag", "tag", "t"+strconv.FormatInt(id, 10), "confirmed", "1", "id", strconv.FormatInt(id, 10), "id", own)
		mallory.sees(both, "to 1 contact.")
	}
	for _, path := range []string{"/jobs/" + strconv.FormatInt(e.job, 10) + "/undo", "/jobs/" + strconv.FormatInt(e.job, 10) + "/cancel"} {
		mallory.post(mallory.org(path)) // her own job of that number, if any
	}
	if s.state(e) != before {
		t.Error("another organization was changed")
	}
	viewer.wantStatus(viewer.post(viewer.org("/contacts/bulk"), "all", "1", "seen", "1", "confirmed", "1", "action", "archive"), http.StatusForbidden)
	if page := viewer.get(viewer.org("/contacts")); strings.Contains(page.body, `name="id"`) || strings.Contains(page.words(), "Archive contacts") {
		t.Error("a viewer is offered what is not allowed")
	}
	if s.state(e) != before {
		t.Error("a viewer has changed something")
	}
	// Undo leads back to lists of the organization and nowhere else.
	for _, to := range []string{"https://evil.example/", "//evil.example", "/contacts/../../x", "/settings", strings.Repeat("/contacts", 200)} {
		p := e.owner
		done := p.follow(p.org("/contacts/bulk"), "action", "tag", "tag", "z"+strconv.Itoa(len(to)), "confirmed", "1", "id", strconv.FormatInt(e.contact, 10))
		path := strings.SplitN(undoButton.FindStringSubmatch(done.body)[1], "?", 2)[0]
		if a := p.post(path + "?to=" + url.QueryEscape(to)); !strings.HasPrefix(a.location(), p.org("/jobs/")) {
			t.Errorf("%s: undo leads to %s", to, a.location())
		}
	}
}
