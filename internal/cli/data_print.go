package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"donorbook/internal/assistant"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// columns are what people want to see of records with many fields. Other lists show all fields that fit into a line.
var columns = map[string][]string{
	"listContacts":     {"id", "type", "first_name", "last_name", "company", "primary_email", "primary_phone", "tags"},
	"listCampaigns":    {"id", "type", "status", "title", "slug", "raised", "goal", "currency"},
	"listTransactions": {"id", "transacted_at", "contact_id", "amount", "currency", "method", "status", "campaign_code", "first_name", "last_name", "company"},
	"listReceipts":     {"number", "transaction_id", "status", "amount", "currency", "issued_at", "replaced_by"},
	"listTemplates":    {"occasion", "name", "subject", "amount", "is_standard"},
	"listPlans":        {"id", "contact_id", "amount", "currency", "frequency", "method", "status", "next_bill_date", "first_name", "last_name"},
}

// perPage is how many records are read at once where all are listed.
const perPage = "100"

// listPage is a page of a list as the API answers with it.
type listPage struct {
	Data  []json.RawMessage
	Links struct{ Next *string }
	Meta  struct {
		CurrentPage int64 `json:"current_page"`
		LastPage    int64 `json:"last_page"`
		Total       int64
	}
}

// printList prints all pages of a list as they are read, or the one that was asked for.
func (c *dataCommand) printList(t *terminal, asJSON bool, call func(arguments []string) (assistant.Result, error)) error {
	w := bufio.NewWriter(t.stdout)
	print := newTable(w, c.operation)
	if asJSON {
		print = newArray(w)
	}
	arguments := c.arguments()
	one := slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "page=") || strings.HasPrefix(a, "per_page=") })
	if !one {
		arguments = append(arguments, "per_page="+perPage)
	}
	for first := true; ; first = false {
		answer, err := call(arguments)
		if err != nil {
			return errors.Join(err, w.Flush())
		}
		var page listPage
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			return err
		}
		last := one || page.Links.Next == nil
		if err := print(page.Data, first, last); err != nil {
			return err
		}
		if one && page.Meta.LastPage > 1 {
			fmt.Fprintf(t.stderr, "Page %d of %d, %d in total.\n", page.Meta.CurrentPage, page.Meta.LastPage, page.Meta.Total)
		}
		if last {
			return w.Flush()
		}
		next, err := url.Parse(*page.Links.Next)
		if err != nil {
			return err
		}
		arguments = append(slices.DeleteFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "page=") }), "page="+next.Query().Get("page"))
	}
}

// printer prints a page of records.
type printer func(page []json.RawMessage, first, last bool) error

// newArray prints records as one JSON array.
func newArray(w *bufio.Writer) printer {
	any := false
	return func(page []json.RawMessage, first, last bool) error {
		if first {
			_, _ = w.WriteString("[") // Flush tells
		}
		for _, record := range page {
			if any {
				_, _ = w.WriteString(",")
			}
			any = true
			_, _ = w.WriteString("\n  ")
			_, _ = w.Write(bytes.ReplaceAll(assistant.Indented(record), []byte("\n"), []byte("\n  ")))
		}
		if last && any {
			_, _ = w.WriteString("\n")
		}
		if last {
			_, _ = w.WriteString("]\n")
		}
		return nil
	}
}

// newTable prints records in columns. The first page decides how wide they are, so that no row has to wait for all others.
func newTable(w *bufio.Writer, op assistant.Operation) printer {
	names := columns[op.Name]
	if names == nil {
		names = op.Columns
	}
	widths := make([]int, len(names))
	return func(page []json.RawMessage, first, _ bool) error {
		var rows [][]string
		if first {
			heading := make([]string, len(names))
			for i, name := range names {
				heading[i] = strings.ToUpper(strings.ReplaceAll(name, "_", " "))
			}
			rows = append(rows, heading)
		}
		for _, record := range page {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(record, &fields); err != nil {
				return err
			}
			row := make([]string, len(names))
			for i, name := range names {
				row[i] = oneLine(fieldInWords(fields[name]))
			}
			rows = append(rows, row)
		}
		for _, row := range rows {
			for i, field := range row {
				if n := utf8.RuneCountInString(field); first && n > widths[i] {
					widths[i] = n
				}
			}
		}
		for _, row := range rows {
			line := ""
			for i, field := range row {
				line += fmt.Sprintf("%-*s  ", widths[i], field)
			}
			_, _ = w.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		return nil
	}
}

// fieldInWords is a value in a table: nothing is -, a list has commas, and a time is short.
func fieldInWords(value json.RawMessage) string {
	var text string
	var texts []string
	switch {
	case len(value) == 0 || string(value) == "null" || string(value) == "[]":
		return "-"
	case json.Unmarshal(value, &text) == nil:
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at.UTC().Format("2006-01-02 15:04")
		}
		return text
	case json.Unmarshal(value, &texts) == nil:
		return strings.Join(texts, ", ")
	}
	return string(value)
}

// refusedBy is what the API has refused, nil where it has done what was asked for.
func refusedBy(answer assistant.Result) error {
	var told struct {
		Message string
		Errors  map[string][]string
	}
	if answer.Status < 300 {
		return nil
	}
	if err := json.Unmarshal(answer.Body, &told); err != nil {
		return fmt.Errorf("the answer was %d", answer.Status)
	}
	var lines []string
	for _, field := range slices.Sorted(maps.Keys(told.Errors)) {
		lines = append(lines, told.Errors[field]...)
	}
	message := told.Message
	if lines != nil {
		message = strings.Join(lines, "\n")
	}
	switch status := answer.Status; {
	case status == 403:
		return fmt.Errorf("%w: the account has no active record of this id", crm.ErrNotFound)
	case status == 404:
		return fmt.Errorf("%w: %s", crm.ErrNotFound, message)
	case status < 500 && status != 429:
		return &doc.Malformed{Message: message}
	}
	return errors.New(message)
}
