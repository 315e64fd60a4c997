package cli

import (
	"encoding/json"
	"fmt"
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
	text := stamp(at)
	return &text
}
