package doc

// Or is what a value is that is empty or was cleared.
func (k Kind[V]) Or(unset V) Kind[V] {
	first, zero := k.Check, *new(V)
	k.unset = unset
	k.Check = func(c *Checker, at Place, name string, value *V) {
		if *value == zero {
			*value = unset
		}
		first(c, at, name, value)
	}
	return k
}

// Nested is a document inside another one, or none. It is sent whole, and a form has one where it says anything about
// it.
func Nested[V any](t Table[*V, *V]) Kind[*V] {
	inside := func(at Place, name string) Place { return Place{Name: at.Field(name)} }
	return Kind[*V]{
		part: t.Label, inside: t.Paths(),
		Read: func(r *Reader) (doc *V) {
			if r.Next() == '{' {
				doc = new(V)
			}
			if !r.Object(func(key string) { t.Read(r, key, doc) }) {
				r.Wrong(Object)
			}
			return doc
		},
		Append: func(dst []byte, doc *V) []byte {
			if doc == nil {
				return append(dst, `null`...)
			}
			return t.AppendObject(dst, doc)
		},
		Check: func(c *Checker, at Place, name string, doc **V) {
			if *doc != nil {
				t.Check(c, inside(at, name), *doc)
			}
		},
		fill: func(at Place, doc *V, set Setter) {
			if doc != nil {
				t.Fill(doc, at, set)
			}
		},
		Take: func(form Form, name string) *V {
			doc, heard := new(V), &hearing{Form: form}
			if t.Take(heard, Place{Name: name}, doc); !heard.said {
				return nil
			}
			return doc
		},
	}
}

// hearing notes whether a form says anything. A choice that the person has not touched says nothing.
type hearing struct {
	Form
	said bool
}

func (h *hearing) Value(name string) string {
	value := h.Form.Value(name)
	h.said = h.said || value != ""
	return value
}

// FormOf is the form that a hearing listens to.
func FormOf(form Form) Form {
	if h, ok := form.(*hearing); ok {
		return FormOf(h.Form)
	}
	return form
}

// Choice takes a value from a form without saying anything.
func (k Kind[V]) Choice() Kind[V] {
	take := k.Take
	k.Take = func(form Form, name string) V { return take(FormOf(form), name) }
	return k
}

// Paths are the names of all fields, and of those inside them.
func (t Table[D, I]) Paths() (paths []string) {
	for i := range t {
		paths = append(paths, t[i].Name)
		for _, part := range t[i].inside {
			paths = append(paths, t[i].Name+"."+part)
		}
	}
	return paths
}

// FormText is a field that one text fills: in a form, and in a cell of a file.
type FormText[D, I any] struct {
	Name, Label string
	Set         func(in I, text string)
	Text        func(doc D) string
}

func (t Table[D, I]) Texts() (all []FormText[D, I]) {
	for i := range t {
		if f := &t[i]; f.Take != nil && f.Text != nil {
			all = append(all, FormText[D, I]{Name: f.Name, Label: f.Label,
				Set: func(in I, text string) { f.Take(oneText(text), Place{}, in) }, Text: f.Text})
		}
	}
	return all
}

// oneText is a form that holds one text.
type oneText string

func (t oneText) Value(string) string { return string(t) }

func (t oneText) Rows(string, []string) int { return 0 }
