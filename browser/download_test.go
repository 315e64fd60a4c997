package browser_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// downloads presses something that sends a file, and returns the file's name and what is in it. The page stays.
func (p *page) downloads(what string) (name, text string) {
	p.t.Helper()
	dir := p.t.TempDir()
	info, err := chromedp.Call(p.ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
	p.must("finding the window", err)
	_, err = chromedp.Call(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: "allow", BrowserContextID: info.TargetInfo.BrowserContextID, DownloadPath: dir,
	})
	p.must("allowing downloads", err)
	at, err := ask[struct{ X, Y float64 }](p, "point", p.scope, what)
	p.must("clicking "+what, err)
	p.do("clicking "+what, chromedp.MouseClickXY(at.X, at.Y))
	p.must("waiting for the file", p.try(func() error {
		files, err := filepath.Glob(filepath.Join(dir, "*.*"))
		if err != nil || len(files) != 1 || strings.HasSuffix(files[0], ".crdownload") || strings.HasPrefix(filepath.Base(files[0]), ".") {
			return errors.Join(err, errors.New("it has not arrived"))
		}
		content, err := os.ReadFile(files[0])
		name, text = filepath.Base(files[0]), string(content)
		return err
	}))
	_, err = ask[chromedp.Void](p, "stay")
	p.must("staying", err)
	p.settle()
	return name, text
}
