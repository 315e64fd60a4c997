package browser_test

import (
	"fmt"
	"testing"
)

// The page with every part passes the audit in all widths and colors, also with what opens over it.
func TestEveryPartOfTheDesignPassesTheAudit(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.visit("/console/design")
	p.audit()
	for _, scheme := range []string{"light", "dark"} {
		p.colors(scheme)
		for _, width := range []int64{390, 1024, 1280} {
			p.width(width)
			for _, finding := range p.findingsAt(fmt.Sprintf("%d wide, %s", width, scheme), allRules) {
				t.Error(finding)
			}
		}
	}
	p.colors("light")
	p.fits()
	p.click("Open popup")
	p.sees("Another choice")
	p.audit()
	p.press("Escape")
	p.doesNotSee("Another choice")
	p.click("Open drawer")
	p.sees("New gift from Ada Lund")
	p.audit()
	p.in(".drawer").fill("Amount", "50")
	p.press("Escape")
	p.doesNotSee("New gift from Ada Lund")
	if got := p.focused(); got != "summary “Open drawer”" {
		t.Errorf("after the drawer the focus is on %s", got)
	}
	p.click("Open dialog")
	p.sees("Show this list", "Next row")
	p.audit()
	p.withoutScripts()
	p.reload()
	p.click("Open drawer")
	p.sees("New gift from Ada Lund")
	p.click("Close drawer")
	p.doesNotSee("New gift from Ada Lund")
}

func TestTheKeyboardLeadsEverywhere(t *testing.T) {
	t.Parallel()
	p := demo(t)
	home := p.path()
	p.types("gc")
	p.in("h1").sees("Contacts")
	p.types("jjkj")
	if got := p.focused(); got != "link “Marcus Bennett”" {
		t.Errorf("j leads to %s", got)
	}
	p.types("x")
	p.sees("1 selected")
	p.fill("Search contacts", "")
	p.types("g g?n")
	if got := p.value("Search contacts"); got != "g g?n" {
		t.Errorf("typed %q", got)
	}
	p.visit(home)
	p.types("/")
	if got := p.focused(); got != "field “Search everything”" {
		t.Errorf("/ leads to %s", got)
	}
	p.fill("Search everything", "lighthouse")
	p.press("Enter")
	p.in("h1").sees("Search")
	p.in("main").sees("Campaigns", "Lighthouse Gala")
	p.audit()
	p.fits()
	p.types("?")
	p.sees("Go to recurring plans")
	p.untick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.doesNotSee("Go to recurring plans")
	p.types("gc?")
	p.in("h1").sees("Search")
	p.doesNotSee("Go to recurring plans")
	p.click("Shortcuts")
	p.sees("Go to recurring plans")
	p.tick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.types("gh")
	p.in("h1").sees("Harbor Light Foundation")
	p.width(390)
	p.types("/") // leads to a page of its own where there is no room
	p.in("h1").sees("Search")
}
