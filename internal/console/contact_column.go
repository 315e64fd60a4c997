package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

// Emails, phones and addresses of a contact that a person can map columns to. Those that are recognized may be more. Each column of a file
// lists all of them, so more would make the page long.
const (
	mappedEmails    = 2
	mappedPhones    = 2
	mappedAddresses = 1
)

func columnName(i int) string { return "column." + strconv.Itoa(i) }

// columnLabel is what a person calls a column; one without a name is called by its number.
func columnLabel(name string, i int) string { return cmp.Or(name, "Column "+strconv.Itoa(i+1)) }

// fillColumns shows the columns of a file: what they mean, which a person may change, and their first values.
func (c *Console) fillColumns(r *http.Request, view *importView, f *form) error {
	preview, err := c.store.Preview(r.Context(), &view.Import, previewRows)
	if err != nil {
		return err
	}
	f.setUnsent("mode", string(view.Spec.Mode))
	known := targetOptions()
	for i, column := range view.Spec.Mapping {
		f.setUnsent(columnName(i), column.Target)
		choices := known
		if !slices.ContainsFunc(known, func(o option) bool { return o.Value == column.Target }) {
			choices = append(slices.Clone(known), option{Value: column.Target, Label: crm.TargetLabel(column.Target)})
		}
		shown := columnView{field: newSelect(f, columnName(i), columnLabel(column.Name, i), choices)}
		for _, row := range preview {
			if i < len(row) && row[i] != "" {
				shown.Values = append(shown.Values, shortened(row[i], shownValue, 0))
			}
		}
		view.Columns = append(view.Columns, shown)
	}
	return nil
}

// shownValue is how many characters of a value the preview shows.
const shownValue = 40

// targetOptions are what a column may become.
func targetOptions() (all []option) {
	for _, target := range crm.Targets(mappedEmails, mappedPhones, mappedAddresses) {
		all = append(all, option{Value: target, Label: crm.TargetLabel(target)})
	}
	return all
}

// readMapping is what a person has chosen for the columns.
func readMapping(im *store.Import, f *form) (crm.Mapping, error) {
	mapping := slices.Clone(im.Spec.Mapping)
	for i := range mapping {
		mapping[i].Target = f.Value(columnName(i))
	}
	err := mapping.Check()
	var refused *crm.Invalid
	if !errors.As(err, &refused) {
		return mapping, err
	}
	for i, fault := range refused.Faults { // which name a column as the file does
		at := slices.IndexFunc(mapping, func(column crm.Column) bool { return column.Name == fault.Field })
		if at >= 0 && fault.Field != "" {
			refused.Faults[i] = crm.Fault{Field: columnName(at), Rule: "%v", Args: []any{"The column " + columnLabel(fault.Field, at) + " " + fault.Format(string(fault.Rule)) + "."}}
		}
	}
	return mapping, refused
}
