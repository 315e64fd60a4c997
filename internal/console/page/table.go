package page

import (
	"bytes"
	"cmp"
	"html/template"
	"slices"
)

// Table is one page of a list as the template "table" draws it: contacts, gifts, plans, donors and campaigns alike.
type Table struct {
	Org
	Kind    string // contacts, gifts and so on. A column called when has its cells drawn by the template gifts-when.
	ID      string // of the caption; "" is list
	Caption string
	Columns []Column
	Rows    any // pointers to values, of which cells show what they need
	Pager   Pager
	Pick    bool     // rows can be selected
	Choices []Option // of columns
	Query   string   // of the list, to come back to
}

// Column is one of a list.
type Column struct {
	Name, Label string
	Class       string // of its cells; "" is its name
	Told        bool   // where a row is a card, the label stands before the value
	Optional    bool   // people choose whether it is shown
	Usual       bool   // it is shown as long as a person has not chosen
	Sort        string // what the list is sorted by, "" for none
	Address     string // of the list in its order
	Order       string // ascending, descending, or "" where the list has another order
}

func (c Column) In() string { return cmp.Or(c.Class, c.Name) }

// Table is the table itself, for templates of pages that are one.
func (t Table) Table() *Table { return &t }

// NewTable is a table of the organization's.
func (r *Request) NewTable(kind, caption string, columns []Column, rows any) Table {
	return Table{Org: r.org(), Kind: kind, Caption: caption, Columns: columns, Rows: rows}
}

// NewList is the table of a list, with the columns that the person has chosen.
func (r *Request) NewList(of *Listing, caption string, rows any) Table {
	t := r.NewTable(of.Name, caption, nil, rows)
	t.Columns, t.Choices = chosen(of.Columns, r.columns(of.Name))
	q, _ := of.Query(r.URL.Query())
	t.Query = q.Encode()
	return t
}

// ChooseColumns remembers which columns a list has, of those that let people choose.
func ChooseColumns(lists ...*Listing) Handler {
	return func(r *Request) error {
		list, err := Pick(lists, nil, func(l *Listing) bool { return l.Name == r.PathValue("list") })
		if err != nil {
			return err
		}
		sent, names := r.URL.Query(), []string{""} // so that none differs from no choice
		for _, c := range list.Columns {
			if c.Optional && slices.Contains(sent["column"], c.Name) {
				names = append(names, c.Name)
			}
		}
		r.keepColumns(list.Name, names)
		return r.Redirect(r.ListPath(list, sent.Get("query")))
	}
}

// cell is what a template sees that draws one.
type cell struct {
	*Table
	Row any
}

// cells draws a row, each cell by the template of the list's kind and the column's name.
func (t *Table) cells(templates *template.Template, row any) (template.HTML, error) {
	var b bytes.Buffer
	for _, c := range t.Columns {
		b.WriteString(`<td class="` + c.In() + `"`)
		if c.Told {
			b.WriteString(` data-label="` + c.Label + `"`)
		}
		b.WriteByte('>')
		if err := templates.ExecuteTemplate(&b, t.Kind+"-"+c.Name, cell{t, row}); err != nil {
			return "", err
		}
		b.WriteString("</td>")
	}
	return template.HTML(b.String()), nil //nolint:gosec // templates wrote it, between names of ours
}

// Without are columns but for some.
func Without(columns []Column, names ...string) []Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return slices.Contains(names, c.Name) })
}

// Pointers are the elements of a list, for templates that call methods of pointers.
func Pointers[T any](all []T) []*T {
	to := make([]*T, len(all))
	for i := range all {
		to[i] = &all[i]
	}
	return to
}

// chosen are the columns that are shown, and the choice between those that need not be. names are those that a person has chosen, nil for
// one who has not.
func chosen(columns []Column, names []string) (shown []Column, choices []Option) {
	for _, c := range columns {
		isShown := !c.Optional || names == nil && c.Usual || slices.Contains(names, c.Name)
		if c.Optional {
			choices = append(choices, Option{Value: c.Name, Label: c.Label, Chosen: isShown})
		}
		if isShown {
			shown = append(shown, c)
		}
	}
	return shown, choices
}
