package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A printed statement has no navigation and is no wider than the sheet.
func TestAStatementIsPrintedAlone(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.in(".side").click("Contacts") // the home page may name a donor twice
	p.fill("Search contacts", "marcus bennett")
	p.in("main").click("Marcus Bennett")
	p.in("main").click("Giving statement")
	p.in("h1").sees("Giving statement")
	p.in("article").sees("Harbor Light Foundation", "Marcus Bennett", "Giving statement for")
	p.audit()

	p.width(720)
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	p.must("looking at it as on paper", err)
	shown, err := evaluate[[]string](p, `[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && e.matches('a, button, input, h1, article, nav'))
		.map((e) => e.localName)`)
	p.must("looking for what is printed", err)
	if len(shown) != 1 || shown[0] != "article" {
		t.Errorf("on paper there is %q", shown)
	}
	if overflow, err := ask[int](p, "overflow"); err != nil || overflow > 0 {
		t.Errorf("the sheet is %d pixels too narrow, %v", overflow, err)
	}
}

func TestOwnersSetWhatStatementsShow(t *testing.T) {
	t.Parallel()
	p := demo(t)
	p.click("Settings")
	p.fill("Postal address", "120 Harbor Street\nBoston, MA 02110")
	p.fill("Tax ID", "04-1234567")
	p.click("Save giving settings")
	p.sees("Giving settings saved.")
	p.audit()
}
