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

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/page.js
var pageScript string

// page is what one person has open: a window with its own cookies. A wrong step ends the test; every step waits until
// what it needs is there and until what it caused has happened.
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

	questions questions
}

// open gives a new person a window of 1280 by 800.
func (s *server) open() *page {
	s.t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	p := &page{&window{t: s.t, server: s, ctx: ctx, scripts: true}, "html"}
	p.must("opening a window", chromedp.Do(ctx))
	p.watch.listen(p)
	p.listenToQuestions()
	s.t.Cleanup(func() {
		p.close()
		cancel()
	})
	call(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(p, cdppage.AddScriptToEvaluateOnNewDocument,
		cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: pageScript})
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
	p.t.Logf("the window was at %s and said:\n%s", path, strings.Join(strings.Fields(text), " "))
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

// call gives the browser a command of its protocol.
func call[P, R any](p *page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	answer, err := chromedp.Call(p.ctx, command, params)
	p.must(command.Method, err)
	return answer
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

// told is what a script in the page returns.
func told[T any](p *page, script string) T {
	p.t.Helper()
	answer, err := evaluate[T](p, script)
	p.must("running "+script[:min(len(script), 80)], err)
	return answer
}

// run runs a script in the page.
func (p *page) run(script string) {
	p.t.Helper()
	told[chromedp.Void](p, script)
}

// ask calls a function of page.js, again until it does not throw.
func ask[T any](p *page, function string, arguments ...any) (answer T) {
	p.t.Helper()
	encoded := must(json.Marshal(append([]any{}, arguments...)))(p.t) // [] if there are none
	p.must(function+" "+string(encoded), p.try(func() (err error) {
		answer, err = evaluate[T](p, fmt.Sprintf("harness.%s(...%s)", function, encoded))
		return err
	}))
	return answer
}

// same compares what is there with what should be there.
func same[T comparable](p *page, what string, got, want T) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: %v, want %v", what, got, want)
	}
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

// in narrows the next steps to a part of the page.
func (p *page) in(selector string) *page { return &page{p.window, selector} }

// visit opens an address of the server.
func (p *page) visit(path string) {
	p.t.Helper()
	if strings.HasPrefix(path, "/") {
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

// refreshUntil reloads the page until it says something.
func (p *page) refreshUntil(words string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); p.reload() {
		if strings.Contains(ask[string](p, "text", "main"), words) {
			return
		}
	}
	p.sees(words)
}

// back presses the browser's back button.
func (p *page) back() {
	p.t.Helper()
	entry := func() (int64, []*cdppage.NavigationEntry) {
		history, err := chromedp.Run(p.ctx, chromedp.NavigationEntries())
		p.must("asking for the history", err)
		return history.CurrentIndex, history.Entries
	}
	at, entries := entry()
	before := entries[at-1].ID
	call(p, cdppage.NavigateToHistoryEntry, cdppage.NavigateToHistoryEntryParams{EntryID: before})
	p.must("going back", p.try(func() error { // a page from the back/forward cache does not load again
		if at, entries := entry(); entries[at].ID != before {
			return errors.New("the page stays where it is")
		}
		return nil
	}))
	p.settle()
}

// path is where the window is, without the server's address.
func (p *page) path() string {
	p.t.Helper()
	return strings.TrimPrefix(told[string](p, "location.href"), p.server.url)
}

// click presses a link, a button or a label by its words, or anything by a selector.
func (p *page) click(what string) {
	p.t.Helper()
	p.presses(what)
	p.settle()
}

type point struct{ X, Y float64 }

func (p *page) presses(what string) point {
	p.t.Helper()
	at := ask[point](p, "point", p.scope, what)
	p.do("clicking "+what, chromedp.MouseClickXY(at.X, at.Y))
	return at
}

// clickTwice presses a button, and again while the answer to the first press, which the server has given, is still on
// its way.
func (p *page) clickTwice(what string) {
	p.t.Helper()
	held := chromedp.Events(p.ctx, fetch.RequestPaused)
	call(p, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{
		{RequestStage: fetch.RequestStageResponse, ResourceType: network.ResourceTypeDocument},
	}})
	at := p.presses(what)
	for _, err := range held {
		p.must("waiting for the answer", err)
		break
	}
	p.do("clicking "+what+" again", chromedp.MouseClickXY(at.X, at.Y))
	call(p, fetch.Disable, cdp.Empty{})
	p.settle()
}

// downloads presses something that sends a file, and returns the file's name and what is in it. The page stays.
func (p *page) downloads(what string) (name, text string) {
	p.t.Helper()
	dir := p.t.TempDir()
	window := call(p, target.GetTargetInfo, target.GetTargetInfoParams{})
	call(p, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: "allow", BrowserContextID: window.TargetInfo.BrowserContextID, DownloadPath: dir,
	})
	p.presses(what)
	p.must("waiting for the file", p.try(func() error {
		files, err := filepath.Glob(filepath.Join(dir, "[^.]*.*"))
		if err != nil || len(files) != 1 || strings.HasSuffix(files[0], ".crdownload") {
			return errors.Join(err, errors.New("it has not arrived"))
		}
		content, err := os.ReadFile(files[0])
		name, text = filepath.Base(files[0]), string(content)
		return err
	}))
	p.run("harness.stay()")
	p.settle()
	return name, text
}

// fill fills fields with values, in pairs. A field is found by its label, its name or a selector; a choice is chosen by
// its words.
func (p *page) fill(pairs ...string) {
	p.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		field, value := pair[0], pair[1]
		switch typed := ask[bool](p, "fill", p.scope, field, value); {
		case typed && value == "":
			p.press("Delete")
			continue
		case typed:
			call(p, input.InsertText, input.InsertTextParams{Text: value})
		}
		p.settle()
	}
}

// tick and untick set a box or a choice, by its label or its name.
func (p *page) tick(field string)   { p.t.Helper(); p.setBox(field, true) }
func (p *page) untick(field string) { p.t.Helper(); p.setBox(field, false) }

func (p *page) setBox(field string, on bool) {
	p.t.Helper()
	ask[chromedp.Void](p, "check", p.scope, field, on)
	p.settle()
}

// chooses chooses a file in a form.
func (p *page) chooses(name, text string) {
	p.t.Helper()
	p.run(fmt.Sprintf(`(() => {
		const files = new DataTransfer()
		files.items.add(new File([%q], %q, {type: "text/csv"}))
		const input = document.querySelector("input[type=file]")
		input.files = files.files
		input.dispatchEvent(new Event("change", {bubbles: true}))
	})()`, text, name))
}

// holds compares the values of fields, in pairs; that of a box is "true" or "false".
func (p *page) holds(pairs ...string) {
	p.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		same(p, "the field "+pair[0], ask[string](p, "value", p.scope, pair[0]), pair[1])
	}
}

var keys = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Space": " ", "Escape": kb.Escape, "Delete": kb.Delete,
	"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowRight": kb.ArrowRight,
}

// press presses keys one after the other.
func (p *page) press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.do("pressing "+name, chromedp.KeyEvent(keys[name], rawKey))
		p.settle()
	}
}

// rawKey is a key as a keyboard sends it. Otherwise the browser would not know that the Enter that followed a link must
// not also send the form of the field that is focused then.
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
	return ask[string](p, "focused")
}

func (p *page) focusIs(want string) {
	p.t.Helper()
	same(p, "the focus", p.focused(), want)
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

// enters goes to an element with the keyboard and presses Enter.
func (p *page) enters(description string) {
	p.t.Helper()
	p.tabTo(description)
	p.press("Enter")
}

// text is what a person can read in the one place that a selector means.
func (p *page) text(selector string) string {
	p.t.Helper()
	return ask[string](p, "text", selector)
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
	p.must("reading the page", p.try(func() error {
		text, err := evaluate[string](p, fmt.Sprintf("harness.text(%q)", p.scope))
		if err == nil && strings.Contains(text, words) != wanted {
			err = fmt.Errorf("“%s” is in the text of the page: %t, want %t", words, !wanted, wanted)
		}
		return err
	}))
}

// has says whether a visible element matches a selector.
func (p *page) has(selector string) bool {
	p.t.Helper()
	return ask[bool](p, "exists", p.scope, selector)
}

// width makes the window as wide as a desk (1280) or a phone (390).
func (p *page) width(pixels int64) {
	p.t.Helper()
	height := int64(800)
	if pixels < 600 {
		height = 844
	}
	p.do("resizing", chromedp.EmulateViewport(pixels, height))
}

// colors sets the color scheme that the person prefers: "light" or "dark". Animations are off, so that pictures stay
// the same.
func (p *page) colors(scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// withoutScripts makes every script fail to load from the next page on. Pages have no inline scripts, so this is what a
// person without JavaScript sees.
func (p *page) withoutScripts() {
	p.t.Helper()
	p.scripts = false
	call(p, network.Enable, network.EnableParams{})
	call(p, network.SetBlockedURLs, network.SetBlockedURLsParams{
		URLPatterns: []*network.BlockPattern{{URLPattern: "*://*:*/*.js", Block: true}},
	})
}

// screenshot writes a PNG of what is in the window.
func (p *page) screenshot(path string) {
	p.t.Helper()
	ask[chromedp.Void](p, "atRest")
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must("taking a picture", err)
	must(0, os.WriteFile(path, picture, 0o644))(p.t)
}
