package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/table"
)

// Survey is what all rows of a file tell together.
type Survey struct {
	Total   int64      // rows
	Days    string     // how the columns write days, as sheet.Rows.Days takes it
	Samples [][]string // the first values of each column, which differ
}

// sampleValues is how many values of a column a survey keeps.
const sampleValues = 3

// SurveyRows reads a whole file, so that one that is broken is refused before anything is imported.
func SurveyRows(ctx context.Context, rows *table.Reader) (s Survey, err error) {
	columns := len(rows.Header())
	days, samples := sheet.NewDays(columns), make([][]string, columns)
	for ; err == nil; s.Total++ {
		if err = ctx.Err(); err != nil {
			break
		}
		var cells []string
		if cells, _, err = rows.Next(); errors.As(err, new(*table.RowError)) {
			err = nil
			continue
		}
		for i, cell := range cells {
			if cell = strings.TrimSpace(cell); cell == "" {
				continue
			}
			days.See(i, cell)
			if len(samples[i]) < sampleValues && !slices.Contains(samples[i], cell) {
				samples[i] = append(samples[i], cell)
			}
		}
	}
	if s.Total, s.Days, s.Samples = s.Total-1, days.String(), samples; errors.Is(err, io.EOF) {
		err = nil
	}
	return s, err
}

// imported is what became of a row of contacts.
type imported struct {
	contacts.Document
	contacts.Plan
	outcome, reason string
}

// dropsName tells that a row was merged by its external id into a contact with another name, which stays.
func (im *imported) dropsName(from *ImportRow) bool {
	return im.outcome != RowRejected && im.Into != nil && !im.Leave && im.OtherOf == nil && from.contact.In.PersonName().Contradicts(im.Into.Contact.PersonName())
}

// importContact decides about a row, and does what was decided by do.
func importContact(t *store.Tx, a *store.Account, row *ImportRow, rule crm.ImportRule, do func(*contacts.NewContact, contacts.Plan) (contacts.Document, error)) (im imported, err error) {
	if row.contact == nil {
		return imported{outcome: RowRejected, reason: row.Reason}, nil
	}
	if im.Plan, err = contacts.PlanImport(t, a.Account, row.contact, rule); err == nil {
		im.Document, err = do(im.Row, im.Plan)
	}
	err = row.contact.In.CallID(err)
	switch {
	case err != nil:
		if im.outcome, im.reason = RowRejected, ReasonOf(err); im.reason != "" {
			err = nil
		}
	case im.Created:
		im.outcome = RowCreated
	case im.OtherOf != nil && im.Leave:
		im.outcome = RowSkipped
	case bytes.Equal(im.Body, im.Before):
		im.outcome = RowUnchanged
	default:
		im.outcome = RowMerged
	}
	return im, err
}
