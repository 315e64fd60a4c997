package browser_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// watch collects what a page reports in the browser's console: errors, uncaught exceptions, failed requests, violations
// of the content security policy. The browser reports all of them there, in order.
type watch struct {
	mu       sync.Mutex
	troubles []string
	seen     int // the last mark that was seen
	arrived  *sync.Cond
}

const (
	mark  = "donorbook-mark-"
	never = math.MaxInt
)

// listen collects until the page's context ends.
func (w *watch) listen(p *page) {
	w.arrived = sync.NewCond(&w.mu)
	messages := chromedp.Console(p.ctx)
	go func() {
		for message, err := range messages {
			if err != nil {
				break
			}
			w.add(message)
		}
		w.giveUp()
	}()
}

// giveUp releases everything that waits for a mark.
func (w *watch) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = never
	w.arrived.Broadcast()
}

func (w *watch) add(message chromedp.ConsoleMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if number, found := strings.CutPrefix(message.Text, mark); found {
		w.seen, _ = strconv.Atoi(number) // the page itself never says such a thing
		w.arrived.Broadcast()
		return
	}
	if message.Type == chromedp.ConsoleError || message.Type == chromedp.ConsoleException || message.Type == "assert" {
		trouble := fmt.Sprintf("%s %s %s", message.Source, message.Text, message.URL)
		w.troubles = append(w.troubles, strings.TrimSpace(trouble))
	}
}

// take returns the problems so far and clears them.
func (w *watch) take(p *page) []string {
	p.marks++
	number := p.marks
	if err := p.try(func() error {
		_, err := evaluate[chromedp.Void](p, fmt.Sprintf("console.debug(%q)", mark+strconv.Itoa(number)))
		return err
	}); err != nil {
		p.t.Fatalf("asking the console: %v", err)
	}
	overdue := time.AfterFunc(patience, w.giveUp)
	defer overdue.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.seen < number {
		w.arrived.Wait()
	}
	if w.seen == never && p.ctx.Err() == nil {
		p.t.Fatal("the console of the page says nothing any more")
	}
	troubles := w.troubles
	w.troubles = nil
	return troubles
}

// statusTrouble is how the browser, and htmx, complain about an answer that is not a success.
var statusTrouble = regexp.MustCompile(`(?:status of|Status Error Code) (\d+)`)

// forgive removes the problems that the test expects, and reports which of them occurred.
func forgive(troubles []string, expected []int) (rest []string, came []int) {
	rest = slices.DeleteFunc(troubles, func(trouble string) bool {
		found := statusTrouble.FindStringSubmatch(trouble)
		if found == nil {
			return false
		}
		status, _ := strconv.Atoi(found[1]) // digits
		if !slices.Contains(expected, status) {
			return false
		}
		came = append(came, status)
		return true
	})
	return rest, came
}

// questions are the browser's questions to a person who is about to leave a form with changes. A question that the test
// does not expect fails it.
type questions struct {
	mu     sync.Mutex
	answer string // "stay" or "leave"; "" if none is expected
	asked  int
}

// listenToQuestions answers until the page's context ends.
func (p *page) listenToQuestions() {
	dialogs := chromedp.Events(p.ctx, cdppage.JavascriptDialogOpening)
	go func() {
		for dialog, err := range dialogs {
			if err != nil {
				return
			}
			p.answerDialog(string(dialog.Type))
		}
	}()
}

func (p *page) answerDialog(kind string) {
	p.questions.mu.Lock()
	defer p.questions.mu.Unlock()
	p.questions.asked++
	if p.questions.answer == "" || kind != "beforeunload" {
		p.t.Errorf("the browser asks about %s, and nobody expects it", kind)
	}
	stay := p.questions.answer == "stay"
	_, err := chromedp.Call(p.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{Accept: !stay})
	if err == nil && stay {
		_, err = evaluate[chromedp.Void](p, "harness.stay()")
	}
	if err != nil {
		p.t.Errorf("answering the browser: %v", err)
	}
}

// asked does something that would leave the page. The browser must ask, and the person answers "stay" or "leave".
func (p *page) asked(answer string, step func()) {
	p.t.Helper()
	p.questions.mu.Lock()
	p.questions.answer, p.questions.asked = answer, 0
	p.questions.mu.Unlock()
	step()
	p.must("leaving the page", p.try(func() error {
		p.questions.mu.Lock()
		defer p.questions.mu.Unlock()
		if p.questions.asked != 1 {
			return errors.New("the browser did not ask")
		}
		p.questions.answer = ""
		return nil
	}))
	p.settle()
}
