package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// printJSON prints a result for programs.
func (t *terminal) printJSON(value any) error {
	encoder := json.NewEncoder(t.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printTable prints rows for people, in aligned columns: the fields of T that have a heading.
func printTable[T any](t *terminal, rows []T) error {
	w := tabwriter.NewWriter(t.stdout, 0, 4, 2, ' ', 0)
	var fields []int
	var cells []string
	for i := range reflect.TypeFor[T]().NumField() {
		if heading := reflect.TypeFor[T]().Field(i).Tag.Get("heading"); heading != "" {
			fields, cells = append(fields, i), append(cells, heading)
		}
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	for _, row := range rows {
		for i, field := range fields {
			cells[i] = oneLine(cell(reflect.ValueOf(row).Field(field).Interface()))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

func cell(value any) string {
	switch v := value.(type) {
	case *string:
		if v == nil {
			return "-"
		}
		return *v
	case []string:
		return strings.Join(v, ",")
	}
	return fmt.Sprint(value)
}

// printRows prints a list as JSON or as a table. If there is nothing to show, a hint says what to do next.
func printRows[T any](t *terminal, asJSON bool, rows []T, hint string) error {
	if asJSON {
		return t.printJSON(rows)
	}
	if len(rows) == 0 && hint != "" {
		fmt.Fprintln(t.stderr, hint)
	}
	return printTable(t, rows)
}

// oneLine keeps a name from breaking a line, or from sending commands to the terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// stamp is a time as scripts see it.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// optionalStamp is nil for a time that never was.
func optionalStamp(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	return optional(stamp(at))
}

// optional is nil for a text that is not set.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

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
