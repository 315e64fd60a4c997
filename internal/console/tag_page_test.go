package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestTagsAreListedRenamedMergedAndDeleted(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	p.get("tags").sees("No tags yet")
	s.contact(p, "Ana", "A", tagged("a/b, c", "vip"))
	s.contact(p, "Bo", "B", tagged("vip"))
	p.follow(s.contact(p, "Cy", "C", tagged("vip"))+"/archive", "x", "y")
	p.get("tags").sees("a/b, c 1", "vip 2 + 1 archived", "Rename vip", "Delete tag vip").has(p.org("/tags/rename?tag=a%2Fb%2C&#43;c"))
	p.get("tags/rename?tag=vip").sees("Rename “vip”", "The tag will be renamed on 2 contacts and 1 archived contact.")
	for name, says := range map[string]string{"": "New name must not be empty.", strings.Repeat("x", 65): "New name must not be longer than 64 characters."} {
		p.post("tags/rename", "tag", "vip", "name", name).is(422).sees(says, "Rename “vip”")
	}
	p.follow("tags/rename", "tag", "vip", "name", "vip").sees("Nothing was changed.")
	p.follow("tags/rename", "tag", "a/b, c", "name", " Board ").sees("“a/b, c” is now “Board” on 1 contact.", "Board 1")
	ask := p.post("tags/rename", "tag", "Board", "name", "vip")
	ask.is(200).sees("Merge “Board” into “vip”?", "The tag “vip” already exists on 2 contacts and 1 archived contact. “Board” will become “vip” on 1 contact.")
	s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})
	merged := p.follow("tags/rename", hiddenFields(ask)...)
	merged.sees("“Board” is now “vip” on 1 contact.")
	s.wantTagsOf(p.account, map[string]string{"A": "vip", "B": "vip", "C": "vip archived"})
	p.undo(merged).sees("Undone. 1 contact restored to how it was.", "Board 1")
	s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})

	p.get("tags/delete?tag=vip").sees("Delete “vip”?", "This removes the tag from 2 contacts and 1 archived contact.")
	deleted := p.follow("tags/delete", "tag", "vip")
	deleted.sees("Removed “vip” from 2 contacts and 1 archived contact.")
	s.wantTagsOf(p.account, map[string]string{"A": "Board", "B": "", "C": " archived"})
	for _, path := range []string{"/tags/delete?tag=vip", "/tags/rename?tag=vip", "/tags/rename"} {
		p.get(p.org(path)).leads(p.org("/tags"))
	}
	p.follow("tags/delete", "tag", "vip").sees("No contacts have the tag “vip” anymore. Nothing was changed.")
	p.get("jobs").sees("Changed the tag on 2 contacts and 1 archived contact.")
	p.undo(deleted).sees("Undone. 3 contacts restored to how they were.")
	s.wantTagsOf(p.account, map[string]string{"A": "Board vip", "B": "vip", "C": "vip archived"})
	p.follow("contacts", "first_name", "Di", "last_name", "D", "tags.0", "VIP")
	p.get("tags").sees("Possible duplicates", "vip 2 + 1 archived")
	p.follow("tags/merge", "tag", "vip", "into", "VIP").sees("“vip” became “VIP” on 2 contacts and 1 archived contact.")

}

func TestTagsThatDifferInLetterCaseAreMergedWithOneClick(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	s.contact(p, "Ana", "A", tagged("Donor"))
	s.contact(p, "Bo", "B", tagged("Donor", "résumé"))
	s.contact(p, "Cy", "C", tagged("donor", "x"))
	s.contact(p, "Di", "D", tagged("DONOR", "Donor"))
	s.contact(p, "Ed", "E", tagged("resume")) // which differs in more than letter case
	list := p.get("tags")
	list.sees("Possible duplicates", "Merge into “Donor”")
	if n := strings.Count(list.body, "Merge into"); n != 1 {
		t.Errorf("%d suggestions", n)
	}
	merged := p.follow("tags/merge", "tag", "donor", "tag", "DONOR", "into", "Donor")
	merged.sees("“donor”, “DONOR” became “Donor” on 2 contacts.")
	s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "Donor x", "D": "Donor", "E": "resume"})
	merged.lacks("Possible duplicates")
	p.undo(merged).sees("Possible duplicates")
	s.wantTagsOf(p.account, map[string]string{"A": "Donor", "B": "Donor résumé", "C": "donor x", "D": "DONOR Donor", "E": "resume"})
	p.post("tags/merge", "tag", "donor", "into", "").is(422)
	viewer := s.member(p.account, access.Viewer)
	viewer.get("tags").lacks("Possible duplicates", "Rename")

}

// A tag of many contacts is changed in the background, and the list says so.
func TestATagOfManyContactsIsChangedInTheBackground(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	for i := range 501 {
		s.contact(p, "Number", fmt.Sprint(i), tagged("old", fmt.Sprintf("t%03d", i%60)))
	}
	p.follow("tags/rename", "tag", "old", "name", "new").sees("“old” is being changed to “new” in the background.", "View progress", "old Change to “new” in progress 501")
	p.post("tags/delete", "tag", "old").is(422).sees("This tag is being renamed, merged or deleted.", "Delete “old”?")
	p.get("jobs/1").sees("Change the tag “old” to “new”", "0 of 501 contacts")
	p.get("tags?page=2").sees("t059", "Previous")
	p.get("tags?q="+url.QueryEscape("T01")).sees("t010", "t019")
	p.get("tags?q=zzz").sees("No tags found")
	p.get("tags?page=9").sees("This page is empty")
	p.done("jobs/1").sees("Done", "Changed the tag on 501 contacts.")
	p.get("tags").sees("new 501")
}
