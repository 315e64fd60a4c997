package console_test

import (
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestChaptersAreMadeAndRenamed(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.get("chapters").sees("No chapters yet")
	p.follow("chapters", "name", " North ").sees("North created. You are its owner.")
	chapters, err := s.store.Chapters(t.Context(), p.account)
	if err != nil || len(chapters) != 1 || chapters[0].Name != "North" {
		t.Fatalf("%v: %+v", err, chapters)
	}
	north := chapters[0]
	p.follow("chapters", "name", "Far North", "parent", north.ID).sees("Far North").has(`href="/console/o/` + north.ID + `"`)
	p.get("/console/o/" + north.ID + "/settings").is(200)
	p.get("/console/o/" + north.ID + "/settings").sees("Chapter of Harbor")

	p.follow("chapters/"+north.ID, "name", "Norden").sees("Renamed to Norden.")
	p.post("chapters/"+north.ID, "name", strings.Repeat("x", 256)).is(422).sees("Name must not be longer than 255 characters.").has(strings.Repeat("x", 256))
	p.post("chapters", "name", " ", "parent", north.ID).is(422).sees("Name is required")
	p.post("chapters", "name", "Lost", "parent", "0000000000000000").is(404)

}

// A user who belongs only to a chapter sees what is below it, but not what is above it.
func TestAChapterDoesNotSeeWhatIsAboveIt(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	chapter := must(s.store.CreateChapter(t.Context(), owner.account, owner.user.ID, owner.account.ID, "North"))(t)
	p := s.member(chapter, access.Owner)
	for _, path := range []string{"/chapters", "/settings", "/settings/people"} {
		p.get(p.org(path)).is(200).hides("Harbor Light")
	}
	p.post("chapters", "name", "Stolen", "parent", owner.account.ID).is(404)
	p.post("chapters/"+owner.account.ID, "name", "Stolen").is(404)
}
