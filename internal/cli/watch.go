package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// watch shows how far long work has come: in the log of a server, in one line of a terminal that changes, elsewhere in a line every
// few seconds.
type watch struct {
	t        *terminal
	task     string // begins each line
	intro    string // is printed once, before the first line
	bytes    bool   // they are counted, not rows
	quiet    bool   // a step that ends before it was shown is not shown
	terminal bool
	now      func() time.Time

	step         string
	began, shown time.Time
	complete     bool
	open         bool // the last line is not ended
}

const (
	watchTerminal = 100 * time.Millisecond
	watchLines    = 5 * time.Second
)

func newWatch(t *terminal, w watch) *watch {
	w.t, w.now, w.terminal = t, time.Now, t.log == nil && isTerminal(t.stderr)
	return &w
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type progressFunc = func(step string, done, total int64)

// progress tells how much of a step is done. The total of bytes is 0 if it is not known.
func (w *watch) progress(step string, done, total int64) {
	now := w.now()
	if w.step == "" && w.intro != "" {
		fmt.Fprintln(w.t.stderr, w.intro)
	}
	if step != w.step {
		w.step, w.began, w.shown, w.complete = step, now, now, false
	}
	pause := watchLines
	if w.terminal {
		pause = watchTerminal
	}
	complete := done >= total && (!w.quiet || total > 0 && w.shown.After(w.began))
	if w.complete || !complete && now.Sub(w.shown) < pause {
		return
	}
	w.shown, w.complete = now, complete
	w.show(w.line(done, total, now.Sub(w.began).Seconds()), done, total)
}

func (w *watch) show(line string, done, total int64) {
	switch {
	case w.t.log != nil:
		w.t.log.Info(w.task, "step", w.step, "done", done, "of", total)
	case !w.terminal:
		fmt.Fprintln(w.t.stderr, line)
	default:
		fmt.Fprintf(w.t.stderr, "\r%s\x1b[K", line)
		w.open = true
		if w.complete {
			w.end()
		}
	}
}

func (w *watch) line(done, total int64, seconds float64) string {
	amount, unit := func(n int64) string { return fmt.Sprint(n) }, " rows"
	if w.bytes {
		amount, unit = bytesInWords, ""
	}
	percent := int64(100)
	if total > 0 {
		percent = min(done*100/total, 100)
	}
	line := w.step
	if w.task != "" {
		line = w.task + ": " + line
	}
	switch {
	case total > 0 || !w.bytes:
		line += fmt.Sprintf(": %s of %s%s, %d%%", amount(done), amount(total), unit, percent)
	case done > 0:
		line += ": " + amount(done) + unit
	}
	if seconds > 0 && done > 0 {
		line += ", " + amount(int64(float64(done)/seconds+0.5)) + unit + "/s"
	}
	return line
}

// end ends the line that changes.
func (w *watch) end() {
	if w.open {
		fmt.Fprintln(w.t.stderr)
	}
	w.open = false
}

func bytesInWords(n int64) string {
	if n < 1_000_000 {
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}
