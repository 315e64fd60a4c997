package book

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/giving"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// changedTimes are when documents were changed, which a merge and its undo do.
var changedTimes = regexp.MustCompile(`,"updated_at":"[^"]*Z?"(,"merged_into"|,"erased_at"|,"type"|}$)`)

// everything are all rows of an account that people can tell apart: documents, keys, sums, sets and words, without when and by which change they became so.
func everything(t testing.TB, s *Book, account int64) (rows []string) {
	t.Helper()
	skipped := " revision updated_at checksum "
	succeed(t, s.View(t.Context(), func(c db.Conn) error {
		for _, table := range []*db.Table{store.ContactTable, store.IndexTable, store.SetTable, store.TagTable, store.GiftTable, store.PlanTable, store.ReferenceTable, store.GivingTable} {
			err := c.EachOf(table, account, func(row []any) error {
				text := table.Name
				for i, column := range table.Columns {
					if body, isBody := row[i].([]byte); isBody && table == store.ContactTable {
						text += " " + changedTimes.ReplaceAllString(string(body), "$1")
					} else if !strings.Contains(skipped, " "+column.Name+" ") {
						text += fmt.Sprintf(" %s=%s", column.Name, fmt.Sprint(row[i]))
					}
				}
				rows = append(rows, text)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return rows
}

func wantState(t testing.TB, what string, got, want []string) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// totals are the sums of the account as a whole, which no merge may change.
func totals(t testing.TB, s *Book, account int64) (sums []string) {
	for _, row := range everything(t, s, account) {
		if cell, isSum := strings.CutPrefix(row, "giving "); isSum && giving.CellContact(strings.Fields(strings.ReplaceAll(cell, "cell=", ""))[1]) == 0 {
			sums = append(sums, regexp.MustCompile(` donors=\d+`).ReplaceAllString(row, "")) // two donors become one
		}
	}
	return sums
}
