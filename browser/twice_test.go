package browser_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// slowly delays every answer, so that a person can do something before it arrives.
func (p *page) slowly(delay time.Duration) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	p.must("watching requests", err)
	_, err = chromedp.Call(p.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Latency: float64(delay.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1}},
	})
	p.must("slowing the network down", err)
}

// clickTwice presses a button, and again while the first answer is still on its way.
func (p *page) clickTwice(what string) {
	p.t.Helper()
	at, err := ask[struct{ X, Y float64 }](p, "point", p.scope, what)
	p.must("finding "+what, err)
	p.do("clicking "+what, chromedp.MouseClickXY(at.X, at.Y))
	time.Sleep(200 * time.Millisecond)
	p.do("clicking "+what+" again", chromedp.MouseClickXY(at.X, at.Y))
	p.settle()
}

func TestADoubleClickAddsOneContact(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := s.owner()
	key := s.key(p.organizationID())
	contacts := func() int {
		t.Helper()
		status, body := s.call(key, http.MethodGet, "/v1/contacts", "")
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return strings.Count(string(body), `"first_name":`)
	}
	p.in(".side").click("Contacts")
	p.click("Add your first contact")
	p.fill("First name", "Zoë")
	p.fill("Last name", "Okafor")
	p.slowly(time.Second)
	p.clickTwice("Add contact")
	p.slowly(0)
	p.sees("Zoë Okafor was added.")
	if n := contacts(); n != 1 {
		t.Errorf("%d contacts were added", n)
	}

	// A form that the browser restores can be sent again each time the person comes back to it.
	p.back()
	p.fill("First name", "Bo")
	p.fill("Last name", "Ek")
	p.click("Add contact")
	p.sees("Bo Ek was added.")
	if n := contacts(); n != 2 {
		t.Errorf("%d contacts are there", n)
	}
}
