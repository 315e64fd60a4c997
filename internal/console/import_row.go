package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"donorbook/internal/store/jobs"
)

// toldRows are rows that a person has to know of, for one reason.
type toldRows struct {
	ID, Title, Text string
	Rows            []string
	More            int64 // that are not shown
}

// fillRows lists rows that a person has to know of: a sample of each kind, or on demand all that are kept.
func (c *Console) fillRows(r *http.Request, v visit, view *importView) error {
	rows, err := c.store.JobRows(r.Context(), v.account(), view.ID, 0, rowsKept)
	if err != nil {
		return err
	}
	counts := view.Progress.ImportCounts
	if tried := view.Progress.Tried; tried != nil {
		counts = *tried
	}
	groups := []toldRows{
		{ID: jobs.RowRejected, Title: "Rejected rows", More: counts.Rejected},
		{ID: jobs.AboutOtherName, Title: "Same email or phone, other name", More: counts.OtherName, Text: "Someone else has the email or phone of a contact. You choose below what becomes of these rows."},
		{ID: jobs.AboutLeftOut, Title: "Values that are left out", Text: "The rest of each row is imported."},
		{ID: jobs.RowMerged, Title: "Changes in contacts that exist", More: counts.Merged},
		{ID: jobs.RowUnchanged, Title: "Gifts that are here already", More: counts.Unchanged},
	}
	most := rowsShown
	if view.All = r.URL.Query().Has("all"); view.All {
		most = rowsKept
	}
	for i := range rows {
		told, err := rows[i].Tried()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(groups, func(g toldRows) bool { return g.ID == told.About() })
		if at < 0 {
			continue
		}
		g := &groups[at]
		if g.More--; len(g.Rows) < most {
			g.Rows = append(g.Rows, fmt.Sprintf("Row %d: %s", told.Line, rowSaid(&told, view.Ended())))
		} else {
			g.More, view.MoreKept = g.More+1, true
		}
	}
	for _, g := range groups {
		if g.More = max(0, g.More); len(g.Rows) > 0 {
			view.Told = append(view.Told, g)
		}
	}
	return nil
}

// rowSaid is what became of a row, or would.
func rowSaid(row *jobs.TrialRow, ended bool) string {
	switch {
	case !ended, row.About() == jobs.AboutOtherName:
		return row.InWords()
	case row.About() == jobs.AboutLeftOut:
		return strings.TrimSpace(row.LeftOutInWords())
	}
	return row.Reason
}
