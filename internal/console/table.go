package console

import (
	"bytes"
	"cmp"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// table is one page of a list as the template "table" draws it: contacts, gifts, plans, donors and campaigns alike.
type table struct {
	org
	Kind     string // contacts, gifts and so on. A column called when has its cells drawn by the template gifts-when.
	ID       string // of the caption; "" is list
	Caption  string
	Columns  []tableColumn
	Rows     any // pointers to values, of which cells show what they need
	Pager    pager
	Pick     bool   // rows can be selected
	Currency string // of the organization, where amounts do not have their own
}

// tableColumn is one of a list.
type tableColumn struct {
	Name, Label string
	Class       string // of its cells; "" is its name
	Told        bool   // where a row is a card, the label stands before the value
	Optional    bool   // people choose whether it is shown
	Usual       bool   // it is shown as long as a person has not chosen
	Sort        string // what the list is sorted by, "" for none
	Address     string // of the list in its order
	Order       string // ascending, descending, or "" where the list has another order
}

func (c tableColumn) In() string { return cmp.Or(c.Class, c.Name) }

// Table is the table itself, for templates of pages that are one.
func (t table) Table() *table { return &t }

// newTable is a table of the organization's.
func (r *request) newTable(kind, caption string, columns []tableColumn, rows any) table {
	return table{org: r.org(), Kind: kind, Caption: caption, Columns: columns, Rows: rows}
}

// cell is what a template sees that draws one.
type cell struct {
	*table
	Row any
}

// cell draws what a column shows of a row.
func (t *table) cell(templates *template.Template, column string, row any) (template.HTML, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, t.Kind+"-"+column, cell{t, row})
	return template.HTML(b.String()), err //nolint:gosec // a template wrote it
}

// without are columns but for some.
func without(columns []tableColumn, names ...string) []tableColumn {
	return slices.DeleteFunc(slices.Clone(columns), func(c tableColumn) bool { return slices.Contains(names, c.Name) })
}

// pointers are the elements of a list, for templates that call methods of pointers.
func pointers[T any](all []T) []*T {
	to := make([]*T, len(all))
	for i := range all {
		to[i] = &all[i]
	}
	return to
}

// chosen are the columns that are shown, and the choice between those that need not be. names are those that a person has chosen, nil for
// one who has not.
func chosen(columns []tableColumn, names []string) (shown []tableColumn, choices []option) {
	for _, c := range columns {
		isShown := !c.Optional || names == nil && c.Usual || slices.Contains(names, c.Name)
		if c.Optional {
			choices = append(choices, option{Value: c.Name, Label: c.Label, Chosen: isShown})
		}
		if isShown {
			shown = append(shown, c)
		}
	}
	return shown, choices
}

// sorted adds the links that sort a list by its columns: the other way round where it is sorted by one already. Names begin with A, all else
// with the newest and the largest.
func sorted(columns []tableColumn, path string, query url.Values) []tableColumn {
	columns = slices.Clone(columns)
	for i := range columns {
		c := &columns[i]
		if c.Sort == "" {
			continue
		}
		next := "-" + c.Sort
		switch query.Get("sort") {
		case c.Sort:
			c.Order = "ascending"
		case "-" + c.Sort:
			c.Order, next = "descending", c.Sort
		default:
			next = strings.TrimPrefix(next, map[bool]string{true: "-"}[c.Name == "name"])
		}
		q := maps.Clone(query)
		q.Set("sort", next)
		c.Address = withQuery(path, q)
	}
	return columns
}
