package browser_test

import (
	"net/http"
	"testing"
)

func TestAMistypedAddressSaysWhereToGo(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.owner()
	stranger := s.open()
	stranger.expects(http.StatusNotFound)
	stranger.visit("/lighthous-gala")
	stranger.sees("Page not found", "There’s no page at this address.")
	stranger.audit()
	stranger.fits()
	stranger.doesNotSee("Go to console") // which is not for those who give
	stranger.click("Sign in")
	stranger.in("h1").sees("Sign in")
}

func TestTheReferenceNamesItsServerAndLeadsToTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	home := p.path()
	p.visit(home + "/settings")
	p.in("main").click("API reference")
	p.sees("curl " + s.url + "/v1/contacts")
	p.doesNotSee("localhost:8443")
	p.fitsAt(320)
	p.fewSections()
	p.fits()
	p.in(".top").click("Console")
	if at := p.path(); at != home {
		t.Errorf("the reference leads to %s", at)
	}
	p.back()
	p.width(390)
	p.click("Contents")
	p.click("Back to the console")
	if at := p.path(); at != home {
		t.Errorf("on a phone the reference leads to %s", at)
	}
}
