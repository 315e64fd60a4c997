// Package browser_test looks at the real program with a real browser, for what only a browser can tell: the keyboard,
// scripts and what is left without them, layout and colors, downloads, dialogs. What pages say and do is tested in
// internal/console, through HTTP.
package browser_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience is how long anything may take on a busy machine before a test gives up.
const patience = 2 * time.Minute

var (
	program  string          // the path of donorbook
	chromium context.Context // the one browser; each page has its own context
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "donorbook-browser")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program = filepath.Join(dir, "donorbook")
	if err := build(program, "./cmd/donorbook"); err != nil {
		return 1, err
	}
	stop, err := startChromium(dir)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, stop()
}

// build makes a program of the repository as a release is built, so that all that is compiled for other tests serves
// here too.
func build(path, folder string) error {
	cmd := exec.Command("go", "build", "-C", "..", "-trimpath", "-o", path, folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", folder, err, out)
	}
	return nil
}

// startChromium starts the browser for all tests. Each server creates its own authority, so certificates are not
// checked here: internal/web does that.
func startChromium(dir string) (stop func() error, err error) {
	path, err := chromiumPath()
	if err != nil {
		return nil, err
	}
	fonts, err := filepath.Abs("testdata/fonts.conf")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Flag("headless", "new"),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("lang", "en-US"),
		chromedp.Env("TZ=UTC", "FONTCONFIG_FILE="+fonts),
		chromedp.WSURLReadTimeout(patience),
	)
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		cancelAllocator()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	chromium = ctx
	return func() error {
		defer cancelAllocator()
		return chromedp.Cancel(ctx)
	}, nil
}

// chromiumPath prefers the browser without windows: it takes half the time of the one that draws them where no one
// looks.
func chromiumPath() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "/usr/bin/chromium", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no Chromium: apt-get install chromium-headless-shell")
}
