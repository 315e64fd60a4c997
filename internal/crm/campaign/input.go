package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"donorbook/internal/crm/doc"
)

// RowsInvalid is a file that was refused: every fault of every row.
type RowsInvalid struct {
	Rows []RowFaults
}

// RowFaults is what is wrong with one row of a file; the first row is 1.
type RowFaults struct {
	Row    int
	Faults []doc.Fault
}

// Error is one line for each fault, as in "row 3: title: The title field is required."
func (v *RowsInvalid) Error() string {
	var lines []string
	for _, row := range v.Rows {
		for _, fault := range row.Faults {
			where := fmt.Sprintf("row %d: ", row.Row)
			if fault.Field != "" {
				where += fault.Field + ": "
			}
			lines = append(lines, where+fault.String())
		}
	}
	return strings.Join(lines, "\n")
}

// DecodeAll reads a file of campaigns, a JSON array of objects, and checks every row. The error is a
// *Malformed where the file cannot be read, and a *RowsInvalid where rows are wrong.
func DecodeAll(document []byte) ([]Input, error) {
	document = bytes.TrimPrefix(document, []byte("\ufeff")) // some editors put it in front
	r := doc.NewReader("The file", document)
	if r.Next() != '[' {
		r.Skip()
		if r.Err == nil {
			r.Err = &doc.Malformed{Message: "The file must be a JSON array of campaigns."}
		}
		return nil, r.Err
	}
	r.Token()
	r.Outside = 1 // a path begins inside its row
	rows, wrong := []Input{}, &RowsInvalid{}
	slugs := map[string]int{}
	for r.Err == nil && r.Dec.PeekKind() != ']' {
		in, faults := readRow(r)
		rows = append(rows, in)
		if first, ok := in.repeats(slugs, len(rows)); ok {
			faults.Add("slug", "is the same as in row %v", first)
		}
		if len(faults.Faults) > 0 {
			wrong.Rows = append(wrong.Rows, RowFaults{Row: len(rows), Faults: faults.Faults})
		}
	}
	r.Token()
	switch err := r.End(); {
	case err != nil:
		return nil, err
	case len(wrong.Rows) > 0:
		return nil, wrong
	}
	return rows, nil
}

// importedKeys are what only a file says about a campaign: what came in and happened before. Others may send them back
// as they were shown, and change nothing with them.
var importedKeys = []string{"raised", "donors", "created_at", "updated_at"}

// Decode reads the body of a create or a change.
func Decode(r *doc.Reader) (in Input, faults *doc.Invalid, err error) {
	var published *string
	r.Document(func(key string) {
		switch {
		case slices.Contains(importedKeys, key):
			r.Ignore()
		case key == "published":
			published = readPublished(r)
		default:
			Table.Read(r, key, &in)
		}
	})
	if err := r.End(); r.Err != nil {
		return Input{}, nil, err
	}
	if published != nil && !r.Fault.HasFault("status") {
		in.Status = published // before a status: no answer has this key, so the client has added it
	}
	return in, &r.Fault, nil
}

// readPublished reads the status that other services have as a number or a boolean: 0 unpublishes. null says nothing.
func readPublished(r *doc.Reader) *string {
	switch value := r.Literal(); strings.ToLower(value) {
	case "1", "true":
		return new(Published)
	case "0", "false":
		return new(Draft)
	case "":
	default:
		r.Wrong(doc.Boolean)
	}
	return nil
}

// readRow reads and checks one element of the array. A row that names its campaign by slug may be a change
// of an existing one, and needs no title yet.
func readRow(r *doc.Reader) (in Input, faults *doc.Invalid) {
	faults = &doc.Invalid{}
	if r.Next() != '{' {
		r.Skip()
		faults.Add("", "The row must be a JSON object.")
		return in, faults
	}
	r.Object(func(key string) { Table.Read(r, key, &in) })
	*faults, r.Fault = r.Fault, doc.Invalid{}
	errors.As(in.Validate(faults, in.Slug == nil || *in.Slug == ""), &faults)
	return in, faults
}

// repeats tells which earlier row has the same slug, and notes this one.
func (in *Input) repeats(slugs map[string]int, row int) (first int, ok bool) {
	if in.Slug == nil || *in.Slug == "" {
		return 0, false
	}
	if first, ok = slugs[*in.Slug]; !ok {
		slugs[*in.Slug] = row
	}
	return first, ok
}
