package book

import (
	"errors"
	"testing"

	"donorbook/internal/crm/doc"
	"donorbook/internal/store/move"
	"donorbook/internal/table"
)

// TestAListThatIsTooLongForAWorkbookIsRefusedAtOnce: a download that broke off after a million rows would tell no one why.
func TestAListThatIsTooLongForAWorkbookIsRefusedAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, c := range []struct {
			format string
			rows   int64
			fits   bool
		}{{"xlsx", table.MaxLines - 1, true}, {"xlsx", table.MaxLines, false}, {"csv", table.MaxLines, true}, {"jsonl", table.MaxLines, true}} {
			_, err := s.Prepared(t.Context(), account, "contacts", &move.Export{Rows: c.rows, How: move.ExportOptions{Format: c.format}})
			var refused *doc.Invalid
			if errors.As(err, &refused) == c.fits || !c.fits && refused.Error() != "A workbook holds at most 1,048,575 records, and this list has more. Export it as CSV." {
				t.Errorf("%d rows as %s: %v", c.rows, c.format, err)
			}
		}
	})
}
