package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// In a browser that runs no scripts, a page offers nothing that only a script could do. The helpers of the other tests are
// scripts too, so this test uses the browser's own protocol.
func TestWithoutScriptsNoButtonIsDead(t *testing.T) {
	t.Parallel()
	p := start(t).owner()
	home := p.path()
	_, err := chromedp.Call(p.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.must("switching scripts off", err)
	for _, path := range []string{"/contacts/new", "/settings"} {
		_, err := chromedp.Run(p.ctx, chromedp.Navigate(p.server.url+home+path))
		p.must("opening the page", err)
		offered, err := chromedp.Run(p.ctx, chromedp.Evaluate[int](`[...document.querySelectorAll("[data-add], [data-remove], [data-copy]")].filter((e) => e.offsetWidth > 0).length`))
		p.must("looking", err)
		if offered != 0 {
			t.Errorf("%s offers %d things that do nothing", path, offered)
		}
	}
}
