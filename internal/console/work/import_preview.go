package work

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/jobs"
)

func columnName(i int) string { return "column." + strconv.Itoa(i) }

// columnLabel is what a person calls a column; one without a name is called by its number.
func columnLabel(name string, i int) string { return cmp.Or(name, "Column "+strconv.Itoa(i+1)) }

// fillColumns shows the columns of a file: what they mean, which a person may change, and their first values. Gifts that are objects have the names of
// the API, and nothing to choose.
func fillColumns(r *page.Request, view *jobPageView) error {
	if view.Import.Spec.MatchNames {
		r.Form.SetUnsent("match_names", "1")
	}
	if view.Import.Spec.Thanks {
		r.Form.SetUnsent("thanks", "1")
	}
	if view.Import.Spec.UsualNames {
		r.Form.SetUnsent("usual_names", "1")
	}
	r.Form.SetUnsent("other_name", string(cmp.Or(view.Import.Spec.OtherName, jobs.KeepBoth)))
	if view.OfGifts() && view.Import.Spec.JSON {
		return nil
	}
	r.Form.SetUnsent("mode", string(view.Import.Spec.Mode))
	r.Form.SetUnsent("source", view.Import.Spec.Mapping.System())
	if view.Import.Spec.FileIsRight {
		r.Form.SetUnsent("file_is_right", "1")
	}
	fields, err := r.Store.CustomFields(r.Context(), view.Account)
	if err != nil {
		return err
	}
	r.Form.SetUnsent("header_row", strconv.Itoa(view.Import.Spec.FoundRow))
	columns := jobs.SheetOf(view.Import.Spec.Of)
	known := targetOptions(columns, fields)
	for i, column := range view.Import.Spec.Mapping {
		r.Form.SetUnsent(columnName(i), column.Target)
		values := valuesOf(view.Preview, i)
		choices := slices.Clip(known)
		if !slices.ContainsFunc(known, func(o page.Option) bool { return o.Value == column.Target }) {
			choices = append(choices, page.Option{Value: column.Target, Label: columns.Label(column.Target)})
		}
		if made := newFieldTarget(values); view.MayDefine && column.Name != "" && made != column.Target {
			choices = append(choices, page.Option{Value: made, Label: columns.Label(made)})
		}
		if r.Form.Value(columnName(i)) == sheet.Skip {
			view.Skipped++
			if column.Name != "" && len(values) > 0 {
				view.Ignored = append(view.Ignored, columnView{Field: page.Field{Label: column.Name}, Values: values[:min(3, len(values))]})
			}
		}
		shown := columnView{Field: page.NewSelect(r.Form, columnName(i), columnLabel(column.Name, i), choices)}
		if column.Doubt != "" && r.Form.Value(columnName(i)) == sheet.Skip {
			shown.Doubt = columns.Label(column.Doubt)
		}
		for _, value := range values {
			shown.Values = append(shown.Values, page.Shortened(value, shownValue, 0))
		}
		view.Columns = append(view.Columns, shown)
	}
	slices.SortStableFunc(view.Columns, func(a, b columnView) int { // what a person should look at comes first
		return cmp.Compare(min(len(b.Doubt), 1), min(len(a.Doubt), 1))
	})
	fillValues(view, r.Form)
	return nil
}

// newFieldTarget is the custom field that a column with these values may become.
func newFieldTarget(values []string) string {
	return sheet.NewFieldPrefix + string(custom.GuessType(values))
}

// valuesOf are the first values of a column, each once.
func valuesOf(preview [][]string, column int) (values []string) {
	for _, row := range preview {
		if column < len(row) && row[column] != "" {
			values = append(values, row[column])
		}
	}
	return text.Distinct(values)
}

// shownValue is how many characters of a value the preview shows.
const shownValue = 40

// targetOptions are what a column may become.
func targetOptions(columns *sheet.Sheet, fields *custom.Fields) (all []page.Option) {
	for _, target := range columns.Targets() {
		all = append(all, page.Option{Value: target, Label: columns.Label(target)})
	}
	if columns != sheet.Contacts {
		return all
	}
	for _, f := range fields.Active() {
		all = append(all, page.Option{Value: sheet.CustomField(f.ID), Label: f.Title})
	}
	return all
}

// valueName is the name of the field for what a value of a file means.
func valueName(i int) string { return "value." + strconv.Itoa(i) }

// valuesToExplain are the values whose meaning a person has said, and those that the dry run could not tell the meaning of.
func valuesToExplain(im *jobs.Import) (all []sheet.UnknownValue) {
	for _, column := range im.Spec.Mapping {
		for _, value := range slices.Sorted(maps.Keys(column.Values)) {
			if sheet.Meanings(column.Target) != nil {
				all = append(all, sheet.UnknownValue{Column: column.Name, Target: column.Target, Value: value})
			}
		}
	}
	for _, unknown := range im.Progress.Unknown {
		if sheet.Meanings(unknown.Target) != nil {
			all = append(all, unknown)
		}
	}
	return all
}

// fillValues shows the values that a person has to explain, and the campaigns that do not exist.
func fillValues(view *jobPageView, f *page.Form) {
	for i, value := range valuesToExplain(view.Import) {
		at := slices.IndexFunc(view.Import.Spec.Mapping, func(c sheet.Column) bool { return c.Name == value.Column })
		if at >= 0 {
			f.SetUnsent(valueName(i), view.Import.Spec.Mapping[at].Values[strings.ToLower(value.Value)])
		}
		choices := []page.Option{{Label: unexplained[value.Target]}}
		for _, meaning := range sheet.Meanings(value.Target) {
			choices = append(choices, page.Option{Value: meaning, Label: meaningLabel(meaning)})
		}
		view.Values = append(view.Values, columnView{Field: page.NewSelect(f, valueName(i), page.Shortened(value.Value, shownValue, 0), choices), Values: []string{value.Column}})
	}
	for _, unknown := range view.Import.Progress.Unknown {
		if unknown.Target == "campaign" {
			view.Missing = append(view.Missing, page.Shortened(unknown.Value, shownValue, 0))
		}
	}
}

// unexplained is what becomes of rows with a value that no one explains.
var unexplained = map[string]string{"status": "Reject these rows", "type": "Reject these rows", "method": "Other, kept in the note", "frequency": "Leave out"}

// meaningLabel is what people call a meaning: ACH transfer, Partly refunded.
func meaningLabel(meaning string) string {
	return cmp.Or(giving.Words[meaning], page.Capital(strings.ReplaceAll(meaning, "_", " ")))
}

// explainValues is a mapping with what a person says about values.
func explainValues(im *jobs.Import, mapping sheet.Mapping, f *page.Form) {
	for i, value := range valuesToExplain(im) {
		at := slices.IndexFunc(mapping, func(c sheet.Column) bool { return c.Name == value.Column })
		if meaning := f.Value(valueName(i)); at >= 0 && (meaning == "" || slices.Contains(sheet.Meanings(value.Target), meaning)) {
			mapping[at] = mapping[at].Meaning(value.Value, meaning)
		}
	}
}

// readMapping is what a person has chosen for the columns.
func readMapping(im *jobs.Import, f *page.Form) (sheet.Mapping, error) {
	if im.Spec.Of == jobs.ImportGifts && im.Spec.JSON {
		return im.Spec.Mapping, nil
	}
	mapping := slices.Clone(im.Spec.Mapping)
	for i := range mapping {
		if mapping[i].Target = f.Value(columnName(i)); mapping[i].Target != sheet.Skip {
			mapping[i].Doubt = ""
		}
	}
	if f.Fields.Has("source") {
		mapping = mapping.From(f.Value("source"))
	}
	explainValues(im, mapping, f)
	err := jobs.SheetOf(im.Spec.Of).Check(mapping)
	var refused *doc.Invalid
	if !errors.As(err, &refused) {
		return mapping, err
	}
	for i, fault := range refused.Faults { // which name a column as the file does
		at := slices.IndexFunc(mapping, func(column sheet.Column) bool { return column.Name == fault.Field })
		if at >= 0 && fault.Field != "" {
			refused.Faults[i] = doc.Fault{Field: columnName(at), Rule: "%v", Args: []any{"The column " + columnLabel(fault.Field, at) + " " + fault.Format(string(fault.Rule)) + "."}}
		}
	}
	return mapping, refused
}

// toldRows are rows that a person has to know of, for one reason.
type toldRows struct {
	ID, Title, Text string
	Rows            []toldRow
	More            int64 // that are not shown
}

// toldRow is a row of the file, and what became of it, or would.
type toldRow struct{ jobs.TrialRow }

// InFile is what a person recognizes the row by: the name that it has, or its first cells.
func (row toldRow) InFile() string {
	if name := cmp.Or(row.FileName, row.Name); name != "" && row.Outcome != jobs.RowRejected {
		return name
	}
	cells := slices.DeleteFunc(slices.Clone(row.Cells), func(cell string) bool { return cell == "" })
	return page.Shortened(strings.Join(cells[:min(3, len(cells))], " · "), 2*shownValue, 0)
}

var (
	contactFates = map[string]string{jobs.RowCreated: "New contact.", jobs.RowMerged: "Merged.", jobs.RowUnchanged: "No changes.", jobs.RowSkipped: "Skipped."}
	giftFates    = map[string]string{jobs.RowCreated: "Recorded.", jobs.RowMerged: "Updates the gift.", jobs.RowUnchanged: "Not recorded again.", jobs.RowSkipped: "Skipped."}
)

// Fate is what became of the row, or would.
func (row toldRow) Fate() string {
	fate := contactFates[row.Outcome]
	switch {
	case row.Outcome == jobs.RowRejected, row.Outcome == jobs.RowSkipped && row.Reason != "":
		fate = row.Reason
	case row.OtherName:
		fate = page.Capital(row.KeptApart())
	case row.Of == jobs.ImportGifts:
		fate = giftFates[row.Outcome]
	}
	return fate + row.DetailsInWords()
}

// fillRows lists rows that a person has to know of: a sample of each kind, or on demand all that are kept.
func fillRows(r *page.Request, view *jobPageView) error {
	rows, err := r.Store.JobRows(r.Context(), r.Account(), view.ID, 0, rowsKept)
	if err != nil {
		return err
	}
	counts := view.Import.Progress.ImportCounts
	if tried := view.Import.Progress.Tried; tried != nil {
		counts = *tried
	}
	groups := []toldRows{
		{ID: jobs.RowRejected, Title: "Rejected rows", More: counts.Rejected},
		{ID: jobs.AboutOtherName, Title: "Same email, phone or ID, different name", More: counts.OtherName, Text: "Family members and colleagues may share an email or phone, and two systems may use the same ID for different people. Choose below what to do with these rows."},
		{ID: jobs.RowSkipped, Title: "Rows that are no gifts", Text: "Fees, payouts and the like are not imported."},
		{ID: jobs.AboutLeftOut, Title: "Values left out", Text: "The rest of each row is imported."},
		{ID: jobs.AboutReadAs, Title: "Companies, couples, dates and refunds", Text: "How these were understood. If one is wrong, change it in the file, or in the contact afterwards."},
		{ID: jobs.RowMerged, Title: changesTitle(view), More: counts.Merged},
		{ID: jobs.RowUnchanged, Title: "Gifts already recorded", More: counts.Unchanged},
	}
	group := func(id string) int { return slices.IndexFunc(groups, func(g toldRows) bool { return g.ID == id }) }
	most := rowsShown
	if view.All = r.URL.Query().Has("all"); view.All {
		most = rowsKept
	}
	for i := range rows {
		told, err := rows[i].Tried()
		if err != nil {
			return err
		}
		if at := group(told.Outcome); at >= 0 && told.About() != told.Outcome { // it is counted there, and listed elsewhere
			groups[at].More--
		}
		at := group(told.About())
		if at < 0 {
			continue
		}
		g := &groups[at]
		if g.More--; len(g.Rows) < most {
			g.Rows = append(g.Rows, toldRow{told})
		} else {
			g.More, view.MoreKept = g.More+1, true
		}
	}
	for _, g := range groups {
		if g.More = max(0, g.More); len(g.Rows) > 0 {
			view.Groups = append(view.Groups, g)
		}
	}
	return nil
}

// changesTitle is the title above rows that tell more about what exists.
func changesTitle(view *jobPageView) string {
	if view.OfGifts() {
		return "Refunds and updates of gifts"
	}
	return "Changes to existing contacts"
}
