package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestTagsAreListedRenamedMergedAndDeleted(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		p.sees(p.get(p.org("/tags")), "No tags yet")
		s.contact(p, "Ana", "A", tagged("a/b, c", "vip"))
		s.contact(p, "Bo", "B", tagged("vip"))
		p.follow(s.contact(p, "Cy", "C", tagged("vip"))+"/archive", "x", "y")
		list := p.get(p.org("/tags"))
		p.sees(list, "a/b, c 1", "vip 2 + 1 archived", "Rename vip", "Delete tag vip")
		if !strings.Contains(list.body, p.org("/tags/rename?tag=a%2Fb%2C&#43;c")) {
			t.Error("the list does not lead to the form")
		}
		p.sees(p.get(p.org("/tags/rename?tag=vip")), "Rename “vip”", "The tag will be renamed on 2 contacts and 1 archived contact.")
		for name, says := range map[string]string{"": "New name must not be empty.", strings.Repeat("x", 65): "New name must not be longer than 64 characters."} {
			a := p.post(p.org("/tags/rename"), "tag", "vip", "name", name)
			p.wantStatus(a, http.StatusUnprocessableEntity)
			p.sees(a, says, "Rename “vip”")
		}
		p.sees(p.follow(p.org("/tags/rename"), "tag", "vip", "name", "vip"), "Nothing was changed.")
		renamed := p.follow(p.org("/tags/rename"), "tag", "a/b, c", "name", " Board ")
		p.sees(renamed, "“a/b, c” is now “Board” on 1 contact.", "Board 1")
		ask := p.post(p.org("/tags/rename"), "tag", "Board", "name", "vip")
		p.wantStatus(ask, http.StatusOK)
		p.sees(ask, "Merge “Board” into “vip”?", "The tag “vip” already exists on 2 contacts and 1 archived contact. “Board” will become “vip” on 1 contact.")
		s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})
		merged := p.follow(p.org("/tags/rename"), hiddenFields(ask)...)
		p.sees(merged, "“Board” is now “vip” on 1 contact.")
		s.wantTagsOf(p.account, map[string]string{"A": "vip", "B": "vip", "C": "vip archived"})
		p.sees(p.undo(merged), "Undone. 1 contact restored to how it was.", "Board 1")
		s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})

		p.sees(p.get(p.org("/tags/delete?tag=vip")), "Delete “vip”?", "This removes the tag from 2 contacts and 1 archived contact.")
		deleted := p.follow(p.org("/tags/delete"), "tag", "vip")
		p.sees(deleted, "Removed “vip” from 2 contacts and 1 archived contact.")
		s.wantTagsOf(p.account, map[string]string{"A": "Board", "B": "", "C": " archived"})
		for _, path := range []string{"/tags/delete?tag=vip", "/tags/rename?tag=vip", "/tags/rename"} {
			if a := p.get(p.org(path)); a.location() != p.org("/tags") {
				t.Errorf("%s: %d %s", path, a.status, a.location())
			}
		}
		p.sees(p.follow(p.org("/tags/delete"), "tag", "vip"), "No contacts have the tag “vip” anymore. Nothing was changed.")
		p.sees(p.get(p.org("/jobs")), "Changed the tag on 2 contacts and 1 archived contact.")
		p.sees(p.undo(deleted), "Undone. 3 contacts restored to how they were.")
		s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})
		p.follow(p.org("/contacts"), "first_name", "Di", "last_name", "D", "tags.0", "VIP")
		p.sees(p.get(p.org("/tags")), "Possible duplicates", "vip 2 + 1 archived")
		p.sees(p.follow(p.org("/tags/merge"), "tag", "vip", "into", "VIP"), "“vip” became “VIP” on 2 contacts and 1 archived contact.")
	})
}

func TestTagsThatDifferInLetterCaseAreMergedWithOneClick(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		s.contact(p, "Ana", "A", tagged("Donor"))
		s.contact(p, "Bo", "B", tagged("Donor", "résumé"))
		s.contact(p, "Cy", "C", tagged("donor", "x"))
		s.contact(p, "Di", "D", tagged("DONOR", "Donor"))
		s.contact(p, "Ed", "E", tagged("resume")) // which differs in more than letter case
		list := p.get(p.org("/tags"))
		p.sees(list, "Possible duplicates", "Merge into “Donor”")
		if n := strings.Count(list.body, "Merge into"); n != 1 {
			t.Errorf("%d suggestions", n)
		}
		merged := p.follow(p.org("/tags/merge"), "tag", "donor", "tag", "DONOR", "into", "Donor")
		p.sees(merged, "“donor”, “DONOR” became “Donor” on 2 contacts.")
		s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "Donor x", "D": "Donor", "E": "resume"})
		if strings.Contains(merged.words(), "Possible duplicates") {
			t.Error("it is still suggested")
		}
		p.sees(p.undo(merged), "Possible duplicates")
		s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "donor x", "D": "DONOR Donor", "E": "resume"})
		p.wantStatus(p.post(p.org("/tags/merge"), "tag", "donor", "into", ""), http.StatusUnprocessableEntity)
		viewer := s.member(p.account, access.Viewer)
		if page := viewer.get(viewer.org("/tags")); strings.Contains(page.words(), "Possible duplicates") || strings.Contains(page.words(), "Rename") {
			t.Error("a viewer is offered what is not allowed")
		}
	})
}

// A tag of many contacts is changed in the background, and the list says so.
func TestATagOfManyContactsIsChangedInTheBackground(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	for i := range 501 {
		s.contact(p, "Number", fmt.Sprint(i), tagged("old", fmt.Sprintf("t%03d", i%60)))
	}
	begun := p.follow(p.org("/tags/rename"), "tag", "old", "name", "new")
	p.sees(begun, "“old” is being changed to “new” in the background.", "View progress", "old Change to “new” in progress 501")
	busy := p.post(p.org("/tags/delete"), "tag", "old")
	p.wantStatus(busy, http.StatusUnprocessableEntity)
	p.sees(busy, "This tag is being renamed, merged or deleted.", "Delete “old”?")
	p.sees(p.get(p.org("/jobs/1")), "Change the tag “old” to “new”", "0 of 501 contacts")
	p.sees(p.get(p.org("/tags?page=2")), "t059", "Previous")
	p.sees(p.get(p.org("/tags?q="+url.QueryEscape("T01"))), "t010", "t019")
	p.sees(p.get(p.org("/tags?q=zzz")), "No tags found")
	p.sees(p.get(p.org("/tags?page=9")), "This page is empty")
	s.working()
	p.sees(p.watch("/jobs/1"), "Done", "Changed the tag on 501 contacts.")
	p.sees(p.get(p.org("/tags")), "new 501")
}
