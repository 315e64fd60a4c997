package browser_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
)

// The page with every part passes the audit in all widths and colors, also with what opens over it.
func TestEveryPartOfTheDesignPassesTheAudit(t *testing.T) {
	t.Parallel()
	p := parts(t).open()
	p.visit("/console/design")
	p.audit()
	if lost := p.told(`[...document.querySelectorAll("main a")].map((a) => a.getAttribute("href")).filter((to) => to.includes("/o/")).join(" ")`); lost != "" {
		t.Errorf("samples lead to %s", lost)
	}
	for _, scheme := range []string{"light", "dark"} {
		p.colors(scheme)
		for _, width := range []int64{390, 1024, 1280} {
			p.width(width)
			for _, finding := range p.findingsAt(fmt.Sprintf("%d wide, %s", width, scheme)) {
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

// parts serves the page with every part, which is not one of the program.
func parts(t *testing.T) *server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "design")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", path, "./internal/console/design").CombinedOutput(); err != nil {
		t.Fatalf("building the page: %v\n%s", err, out)
	}
	s := &server{t: t, cmd: exec.Command(path), exited: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // it runs until it is killed
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.exited
	})
	s.url = s.prints(`(https://\S+)/console/design`)
	return s
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
	p.sees("Go to recurring gifts")
	p.untick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.doesNotSee("Go to recurring gifts")
	p.types("gc?")
	p.in("h1").sees("Search")
	p.doesNotSee("Go to recurring gifts")
	p.click("Shortcuts")
	p.sees("Go to recurring gifts")
	p.tick("Use keyboard shortcuts in this browser")
	p.press("Escape")
	p.types("gh")
	p.in("h1").sees("Harbor Light Foundation")
	p.width(390)
	p.types("/") // leads to a page of its own where there is no room
	p.in("h1").sees("Search")
}

// A name is drawn with one font, whatever Latin letters it has.
func TestNamesAreDrawnWithOneFont(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	s.addContacts(p.organizationID(), `{"first_name":"Nguyễn Thị","last_name":"Đặng Ơn"}`, `{"first_name":"Łucja","last_name":"Őry Ștefan"}`)
	p.in(".side").click("Contacts")
	p.sees("Nguyễn Thị Đặng Ơn")
	p.run("document.fonts.ready")
	for _, name := range []string{"Nguyễn Thị Đặng Ơn", "Łucja Őry Ștefan"} {
		for _, font := range p.fonts(fmt.Sprintf("a[title=%q]", name)) {
			if !strings.HasPrefix(font, "Inter") {
				t.Errorf("%s is drawn with %s", name, font)
			}
		}
	}
}

// fonts are those that the browser draws what a selector means with.
func (p *page) fonts(selector string) (names []string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, dom.Enable, dom.EnableParams{})
	p.must("looking at the page", err)
	_, err = chromedp.Call(p.ctx, css.Enable, cdp.Empty{})
	p.must("looking at styles", err)
	document, err := chromedp.Call(p.ctx, dom.GetDocument, dom.GetDocumentParams{})
	p.must("looking at the page", err)
	found, err := chromedp.Call(p.ctx, dom.QuerySelector, dom.QuerySelectorParams{NodeID: document.Root.NodeID, Selector: selector})
	p.must("looking for "+selector, err)
	used, err := chromedp.Call(p.ctx, css.GetPlatformFontsForNode, css.GetPlatformFontsForNodeParams{NodeID: found.NodeID})
	p.must("asking for fonts", err)
	for _, font := range used.Fonts {
		names = append(names, font.FamilyName)
	}
	return names
}
