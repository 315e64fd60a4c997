package console_test

import (
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
)

func TestChaptersAreMadeAndRenamed(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Owner)
		p.sees(p.get(p.org("/chapters")), "No chapters yet")
		p.sees(p.follow(p.org("/chapters"), "name", " North "), "North created. You are its owner.")
		chapters, err := s.store.Chapters(t.Context(), p.account)
		if err != nil || len(chapters) != 1 || chapters[0].Name != "North" {
			t.Fatalf("%v: %+v", err, chapters)
		}
		north := chapters[0]
		page := p.follow(p.org("/chapters"), "name", "Far North", "parent", north.ID)
		p.sees(page, "Far North")
		if !strings.Contains(page.body, `href="/console/o/`+north.ID+`"`) {
			t.Error("the chapter cannot be opened")
		}
		p.wantStatus(p.get("/console/o/"+north.ID+"/settings"), http.StatusOK)
		p.sees(p.get("/console/o/"+north.ID+"/settings"), "Chapter of Harbor")

		p.sees(p.follow(p.org("/chapters/"+north.ID), "name", "Norden"), "Renamed to Norden.")
		wrong := p.post(p.org("/chapters/"+north.ID), "name", strings.Repeat("x", 256))
		p.wantStatus(wrong, http.StatusUnprocessableEntity)
		p.sees(wrong, "Name must not be longer than 255 characters.")
		if !strings.Contains(wrong.body, strings.Repeat("x", 256)) {
			t.Error("what was typed is lost")
		}
		empty := p.post(p.org("/chapters"), "name", " ", "parent", north.ID)
		p.wantStatus(empty, http.StatusUnprocessableEntity)
		p.sees(empty, "Name is required")
		p.wantStatus(p.post(p.org("/chapters"), "name", "Lost", "parent", "0000000000000000"), http.StatusNotFound)
	})
}

// A user who belongs only to a chapter sees what is below it, but not what is above it.
func TestAChapterDoesNotSeeWhatIsAboveIt(t *testing.T) {
	s := anySite(t)
	owner := s.member(s.organization("Harbor Light"), access.Owner)
	chapter := must(s.store.CreateChapter(t.Context(), owner.account, owner.user.ID, owner.account.ID, "North"))(t)
	p := s.member(chapter, access.Owner)
	for _, path := range []string{"/chapters", "/settings", "/settings/people"} {
		a := p.get(p.org(path))
		p.wantStatus(a, http.StatusOK)
		if strings.Contains(a.body, "Harbor Light") {
			t.Errorf("%s tells the name of the organization above", path)
		}
	}
	p.wantStatus(p.post(p.org("/chapters"), "name", "Stolen", "parent", owner.account.ID), http.StatusNotFound)
	p.wantStatus(p.post(p.org("/chapters/"+owner.account.ID), "name", "Stolen"), http.StatusNotFound)
}
