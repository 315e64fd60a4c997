//go:build drill

package table_test

import (
	"io"
	"testing"

	"donorbook/internal/table"
)

// More rows than a spreadsheet program can show are refused.
func TestAWorkbookHasNoMoreRowsThanProgramsShow(t *testing.T) {
	t.Parallel()
	w, err := table.NewWriter(io.Discard, "xlsx")
	rows := 0
	for ; err == nil && rows < 2<<20; rows++ {
		err = w.Row(nil)
	}
	if err == nil || rows != 1<<20+1 {
		t.Errorf("%v after %d rows", err, rows)
	}
}
