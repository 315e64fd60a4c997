package crm

// or is what a value is that is empty or was cleared.
func (k kind[V]) or(unset V) kind[V] {
	first, zero := k.check, *new(V)
	k.unset = unset
	k.check = func(c *checker, at place, name string, value *V) {
		if *value == zero {
			*value = unset
		}
		first(c, at, name, value)
	}
	return k
}

// object is a document inside another one, or none. It is sent whole, and a form has one where it says anything about it.
func object[V any](t table[*V, *V]) kind[*V] {
	inside := func(at place, name string) place { return place{name: at.field(name)} }
	return kind[*V]{
		part: t.label, inside: t.paths(),
		read: func(r *jsonReader) (doc *V) {
			if r.next() == '{' {
				doc = new(V)
			}
			if !r.object(func(key string) { t.read(r, key, doc) }) {
				r.wrong(Object)
			}
			return doc
		},
		append: func(dst []byte, doc *V) []byte {
			if doc == nil {
				return append(dst, `null`...)
			}
			return t.appendObject(dst, doc)
		},
		check: func(c *checker, at place, name string, doc **V) {
			if *doc != nil {
				t.check(c, inside(at, name), *doc)
			}
		},
		fill: func(at place, doc *V, set setter) {
			if doc != nil {
				t.fill(doc, at, set)
			}
		},
		take: func(form Form, name string) *V {
			doc, heard := new(V), &hearing{Form: form}
			if t.take(heard, place{name: name}, doc); !heard.said {
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

// formOf is the form that a hearing listens to.
func formOf(form Form) Form {
	if h, ok := form.(*hearing); ok {
		return formOf(h.Form)
	}
	return form
}

// choice takes a value from a form without saying anything.
func (k kind[V]) choice() kind[V] {
	take := k.take
	k.take = func(form Form, name string) V { return take(formOf(form), name) }
	return k
}

// paths are the names of all fields, and of those inside them.
func (t table[D, I]) paths() (paths []string) {
	for i := range t {
		paths = append(paths, t[i].name)
		for _, part := range t[i].inside {
			paths = append(paths, t[i].name+"."+part)
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

func (t table[D, I]) texts() (all []FormText[D, I]) {
	for i := range t {
		if f := &t[i]; f.take != nil && f.text != nil {
			all = append(all, FormText[D, I]{Name: f.name, Label: f.label,
				Set: func(in I, text string) { f.take(oneText(text), place{}, in) }, Text: f.text})
		}
	}
	return all
}

// oneText is a form that holds one text.
type oneText string

func (t oneText) Value(string) string { return string(t) }

func (t oneText) Rows(string, []string) int { return 0 }
