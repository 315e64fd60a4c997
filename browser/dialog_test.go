package browser_test

import (
	"errors"
	"sync"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// questions are the browser's questions to a person who is about to leave a form with changes. A question that the test does not
// expect fails it.
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

// stays does something that would leave the page. The browser must ask, and the person stays; in leaves, the person leaves.
func (p *page) stays(step func())  { p.t.Helper(); p.asked("stay", step) }
func (p *page) leaves(step func()) { p.t.Helper(); p.asked("leave", step) }

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
