package browser_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/page.js
var pageScript string

// page is what one person has open: a window with its own cookies. A wrong step ends the test; every step waits until what it
// needs is there and until what it caused has happened.
type page struct {
	*window
	scope string // a selector: the part of the page that the words below refer to
}

type window struct {
	t        *testing.T
	server   *server
	ctx      context.Context
	watch    watch
	marks    int
	expected []int
	scripts  bool // are loaded
	size     [2]int64
	scheme   string

	questions questions
}

// open gives a new person a window of 1280 by 800.
func (s *server) open() *page { return s.openFor(s.t) }

// openFor is open for a part of a test.
func (s *server) openFor(t *testing.T) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	p := &page{&window{t: t, server: s, ctx: ctx, scripts: true}, "html"}
	p.must("opening a window", chromedp.Do(ctx))
	p.watch.listen(p)
	p.listenToQuestions()
	t.Cleanup(func() {
		p.close()
		cancel()
	})
	_, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.must("focusing the window", err)
	_, err = chromedp.Call(ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: pageScript})
	p.must("preparing the window", err)
	p.width(1280)
	p.colors("light")
	return p
}

func (p *page) close() {
	if p.t.Failed() {
		p.leaveEvidence()
	} else {
		p.check()
		for _, status := range p.expected {
			p.t.Errorf("the test expected an answer of %d, and none came", status)
		}
	}
	if err := chromedp.Cancel(p.ctx); err != nil {
		p.t.Errorf("closing the window: %v", err)
	}
}

// leaveEvidence reports what a person would see when the test failed.
func (p *page) leaveEvidence() {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	path, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return
	}
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`)) // the path alone is useful
	for _, trouble := range p.watch.take(p) {
		p.t.Logf("the console says: %s", trouble)
	}
	p.t.Logf("the window was at %s and said:\n%s", path, text[:min(len(text), 1500)])
	if dir := os.Getenv("EVIDENCE"); dir != "" {
		p.screenshot(filepath.Join(dir, strings.ReplaceAll(p.t.Name(), "/", "-")+".png"))
	}
}

func (p *page) must(doing string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", doing, err)
	}
}

// do does one thing in the browser, with a time limit.
func (p *page) do(doing string, action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	p.must(doing, chromedp.Do(ctx, action))
}

// try repeats a step until it works or patience ends. What the page threw is the message.
func (p *page) try(step func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := step()
		if err == nil || time.Now().After(end) || p.ctx.Err() != nil {
			var thrown *chromedp.ExceptionError
			if errors.As(err, &thrown) && thrown.Exception != nil {
				message, _, _ := strings.Cut(thrown.Exception.Description, "\n")
				return errors.New(message)
			}
			return err
		}
	}
}

// evaluate runs script in the page. The page's content security policy does not apply to it.
func evaluate[T any](p *page, script string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, func(e *runtime.EvaluateParams) {
		yes := true
		e.AwaitPromise = &yes
	}))
}

// ask calls a function of page.js, again until it does not throw.
func ask[T any](p *page, function string, arguments ...any) (answer T, err error) {
	encoded, err := json.Marshal(append([]any{}, arguments...)) // [] if there are none
	if err != nil {
		return answer, err
	}
	err = p.try(func() (err error) {
		answer, err = evaluate[T](p, fmt.Sprintf("harness.%s(...%s)", function, encoded))
		return err
	})
	return answer, err
}

// settle waits until everything that the last step caused has happened.
func (p *page) settle() {
	p.t.Helper()
	p.must("waiting for the page", p.try(func() error {
		state, err := evaluate[string](p, "harness.state()")
		if err == nil && state != "" {
			err = errors.New(state)
		}
		return err
	}))
	p.check()
}

// check fails the test if the page has complained.
func (p *page) check() {
	p.t.Helper()
	troubles, came := forgive(p.watch.take(p), p.expected)
	p.expected = slices.DeleteFunc(p.expected, func(status int) bool { return slices.Contains(came, status) })
	for _, trouble := range troubles {
		if p.scripts || !strings.Contains(trouble, "ERR_BLOCKED_BY_CLIENT") {
			p.t.Errorf("the console says: %s", trouble)
		}
	}
}

// expects says that the next step is answered with a status that would otherwise fail the test, such as 404 or 422.
func (p *page) expects(status int) { p.expected = append(p.expected, status) }

// in is the same window, limited to words and elements inside one part of the page.
func (p *page) in(selector string) *page { return &page{p.window, selector} }

// visit opens an address of the server, or any address that has a scheme.
func (p *page) visit(path string) {
	p.t.Helper()
	if !strings.Contains(path, "://") {
		path = p.server.url + path
	}
	p.do("opening "+path, chromedp.Navigate(path))
	p.settle()
}

// reload presses the browser's reload button.
func (p *page) reload() {
	p.t.Helper()
	p.do("reloading", chromedp.Reload())
	p.settle()
}

// back presses the browser's back button.
func (p *page) back() {
	p.t.Helper()
	history, err := chromedp.Run(p.ctx, chromedp.NavigationEntries())
	p.must("going back", err)
	if history.CurrentIndex == 0 {
		p.t.Fatal("there is nowhere to go back to")
	}
	before := history.Entries[history.CurrentIndex-1]
	_, err = chromedp.Call(p.ctx, cdppage.NavigateToHistoryEntry, cdppage.NavigateToHistoryEntryParams{EntryID: before.ID})
	p.must("going back", err)
	p.must("going back", p.try(func() error { // a page from the back/forward cache does not load again
		history, err := chromedp.Run(p.ctx, chromedp.NavigationEntries())
		if err == nil && history.Entries[history.CurrentIndex].ID != before.ID {
			err = errors.New("the page stays where it is")
		}
		return err
	}))
	p.settle()
}

// path is where the window is, without the server's address.
func (p *page) path() string {
	p.t.Helper()
	at, err := evaluate[string](p, "location.href")
	p.must("asking where the page is", err)
	return strings.TrimPrefix(at, p.server.url)
}

// status is the HTTP status of the page.
func (p *page) status() int {
	p.t.Helper()
	status, err := ask[int](p, "status")
	p.must("asking for the status", err)
	return status
}

// click presses a link, a button or a label by its words, or anything by a selector.
func (p *page) click(what string) {
	p.t.Helper()
	at, err := ask[struct{ X, Y float64 }](p, "point", p.scope, what)
	p.must("clicking "+what, err)
	p.do("clicking "+what, chromedp.MouseClickXY(at.X, at.Y))
	p.settle()
}

// fill replaces the value of a field, found by its label, its name or a selector. A choice is chosen by its words.
func (p *page) fill(field, value string) {
	p.t.Helper()
	typed, err := ask[bool](p, "fill", p.scope, field, value)
	p.must("filling "+field, err)
	if !typed {
		p.settle()
		return
	}
	if value == "" {
		p.press("Delete")
		return
	}
	_, err = chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: value})
	p.must("filling "+field, err)
	p.settle()
}

// tick and untick set a box or a choice, by its label or its name.
func (p *page) tick(field string)   { p.t.Helper(); p.setBox(field, true) }
func (p *page) untick(field string) { p.t.Helper(); p.setBox(field, false) }

func (p *page) setBox(field string, on bool) {
	p.t.Helper()
	_, err := ask[chromedp.Void](p, "check", p.scope, field, on)
	p.must("setting "+field, err)
	p.settle()
}

// value is the value of a field; for a box it is "true" or "false".
func (p *page) value(field string) string {
	p.t.Helper()
	value, err := ask[string](p, "value", p.scope, field)
	p.must("reading "+field, err)
	return value
}

var keys = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Space": " ", "Escape": kb.Escape, "Delete": kb.Delete, "Backspace": kb.Backspace,
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	"Home": kb.Home, "End": kb.End,
}

// press presses keys one after the other: "Tab", "Shift+Tab", "Enter", "Space", "Escape", "ArrowDown" and so on.
func (p *page) press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		plain, shift := strings.CutPrefix(name, "Shift+")
		key, known := keys[plain]
		if !known {
			p.t.Fatalf("no key is called %s", name)
		}
		options := []chromedp.KeyOption{rawKey}
		if shift {
			options = append(options, chromedp.KeyModifiers(chromedp.ModifierShift))
		}
		p.do("pressing "+name, chromedp.KeyEvent(key, options...))
		p.settle()
	}
}

// rawKey is a key as a keyboard sends it. Otherwise the browser would not know that the Enter that followed a link must not also
// send the form of the field that is focused then.
func rawKey(e *input.DispatchKeyEventParams) {
	if e.Type == "keyDown" {
		e.Type = "rawKeyDown"
	}
}

// types sends the keys of a text to whatever has the focus.
func (p *page) types(text string) {
	p.t.Helper()
	p.do("typing", chromedp.KeyEvent(text))
	p.settle()
}

// focused describes the focused element: link “Contacts”, button “Save”, field “Email”, or nothing.
func (p *page) focused() string {
	p.t.Helper()
	focused, err := ask[string](p, "focused")
	p.must("asking for the focus", err)
	return focused
}

// tabTo presses Tab until the focused element has this description.
func (p *page) tabTo(description string) {
	p.t.Helper()
	var passed []string
	for range 100 {
		p.press("Tab")
		at := p.focused()
		if at == description {
			return
		}
		passed = append(passed, at)
	}
	p.t.Fatalf("Tab never reaches %s, only %s", description, strings.Join(passed, ", "))
}

// text is what a person can read in the one place that a selector means.
func (p *page) text(selector string) string {
	p.t.Helper()
	text, err := ask[string](p, "text", selector)
	p.must("reading "+selector, err)
	return text
}

// sees waits until all the words can be read on the page.
func (p *page) sees(words ...string) {
	p.t.Helper()
	for _, each := range words {
		p.waitForText(each, true)
	}
}

// doesNotSee waits until none of the words can be read on the page.
func (p *page) doesNotSee(words ...string) {
	p.t.Helper()
	for _, each := range words {
		p.waitForText(each, false)
	}
}

func (p *page) waitForText(words string, wanted bool) {
	p.t.Helper()
	err := p.try(func() error {
		text, err := evaluate[string](p, fmt.Sprintf("harness.text(%q)", p.scope))
		if err == nil && strings.Contains(text, words) != wanted {
			err = fmt.Errorf("“%s” is in the text of the page: %t, want %t", words, !wanted, wanted)
		}
		return err
	})
	p.must("reading the page", err)
}

// has says whether a visible element matches a selector.
func (p *page) has(selector string) bool {
	p.t.Helper()
	found, err := ask[bool](p, "exists", p.scope, selector)
	p.must("looking for "+selector, err)
	return found
}

// width makes the window as wide as a desk (1280) or a phone (390).
func (p *page) width(pixels int64) {
	p.t.Helper()
	height := int64(800)
	if pixels < 600 {
		height = 844
	}
	p.size = [2]int64{pixels, height}
	p.do("resizing", chromedp.EmulateViewport(pixels, height))
}

// colors sets the color scheme that the person prefers: "light" or "dark". Animations are off, so that pictures stay the same.
func (p *page) colors(scheme string) {
	p.t.Helper()
	p.scheme = scheme
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	p.must("choosing colors", err)
}

// withoutScripts makes every script fail to load from the next page on. Pages have no inline scripts, so this is what a person
// without JavaScript sees.
func (p *page) withoutScripts() {
	p.t.Helper()
	p.scripts = false
	_, err := chromedp.Call(p.ctx, network.Enable, network.EnableParams{})
	p.must("watching requests", err)
	_, err = chromedp.Call(p.ctx, network.SetBlockedURLs, network.SetBlockedURLsParams{
		URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/*.js", Block: true}},
	})
	p.must("refusing scripts", err)
}

// screenshot writes a PNG of what is in the window.
func (p *page) screenshot(path string) {
	p.t.Helper()
	_, err := ask[chromedp.Void](p, "atRest")
	p.must("waiting for movements", err)
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must("taking a picture", err)
	p.must("writing a picture", os.WriteFile(path, picture, 0o644))
}
