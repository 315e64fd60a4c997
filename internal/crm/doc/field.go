// Package doc is how documents are described: tables of fields, from which reading, checking, writing, merging,
// comparing and forms come; the faults that input may have; the JSON that is read; ids and versions; and what a change
// did to a document. It knows no noun: which fields a contact has stands in crm.
package doc

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/text"
)

// Table is a document, field by field, in the order of the wire. D is a pointer to the document, I to what a client
// sends about it; a part of another document is sent as it is kept, so there I is D. They are pointers because the
// compiler makes one function for all types of pointers, but another one for each type of document.
//
// Everything that is done with each field comes from here: reading what was sent and what is stored, checking, writing,
// merging, patching, comparing, measuring, telling what changed, filling a form and reading it back.
type Table[D, I any] []Field[D, I]

// Field is one line of a table. What a field has no use for is nil: no client sends when a contact was created.
type Field[D, I any] struct {
	Stored[D]
	Read  func(r *Reader, in I)            // takes what was sent
	Take  func(form Form, at Place, in I)  // takes what a form holds
	Check func(c *Checker, at Place, in I) // finds what is wrong
	Merge func(doc D, in I, now time.Time) // adds what was sent
	Patch func(doc D, in I, now time.Time) // replaces it by what was sent
}

// Stored is the part of a field that has nothing to do with input.
type Stored[D any] struct {
	Name   string                            // on the wire
	Label  string                            // what people call it, or one element of it
	Load   func(r *Reader, doc D)            // takes what is stored
	Append func(dst []byte, doc D) []byte    // writes the value
	Same   func(a, b D) bool                 // compares
	Size   func(doc D) int                   // bytes that it adds to the document, before any is escaped
	Text   func(doc D) string                // in words for people
	Fill   func(doc D, at Place, set Setter) // puts it into a form
	Differ func(was, is D) Differences       // what a change did to it, where that is more than one thing

	// undo takes a difference back, and tells whether a part was left alone because it was changed since; nil for what
	// is taken back whole.
	Undo func(doc D, d *Difference, region string) (left bool)

	// does what Apply does; nil for what is changed whole
	Redo func(doc D, d *Difference, undone *Undone[D], region string) (conflict bool)
	// gives it the value of another document; nil for lists and for what is never sent
	Copy func(doc, from D)

	// Of a list:
	Plural string // what people call all elements
	Unite  func(doc, other D, otherFirst bool, region string)
	Limit  int // elements that it may have
	Count  func(doc D) int
	Words  func(doc D) []string        // what each element says
	Tell   func(element []byte) string // what an element says that the history keeps
	// of an element in a form; one without a name is the element itself
	Parts  []string
	part   func(name string) (label string, ok bool) // what people call a part
	inside []string                                  // of a document: the names of its parts, and of theirs
}

// Setter puts a value into a form.
type Setter func(name, value string)

// Form is a form that a person has sent: a value for each field, and the number of rows in which a list has any of
// these parts.
type Form interface {
	Value(name string) string
	Rows(list string, parts []string) int
}

// Kind is what fields of one kind have in common.
type Kind[V comparable] struct {
	Read     func(r *Reader) V
	Append   func(dst []byte, value V) []byte
	Check    func(c *Checker, at Place, name string, value *V)
	Text     func(value V) string                      // in words, and in a form; nil for what is in no form
	fill     func(at Place, value V, set Setter)       // puts it into a form, where it is more than one text there
	Take     func(form Form, name string) V            // takes what a form holds
	size     func(value V) int                         // nil where all values are about as long
	part     func(name string) (label string, ok bool) // what people call a part
	inside   []string                                  // the names of its parts, and of theirs
	unset    V                                         // what a field is that was cleared
	required bool
	stays    bool // cleared, it stays as it was
}

// String is a text of at most so many characters. It is not inlined, like kept and giftText: the tables, which are made
// once, would take 30 KB more of the program.
//
//go:noinline
func String(limit int) Kind[string] {
	same := func(value string) string { return value }
	return Kind[string]{
		Read: (*Reader).Text, Append: AppendText, Text: same, Take: Form.Value,
		size:  func(value string) int { return len(value) },
		Check: func(c *Checker, at Place, name string, value *string) { c.CheckText(at, name, *value, limit) },
	}
}

// Choice is a text that must be known, if it is not empty.
func Choice(limit int, rule Rule, known func(string) bool) Kind[string] {
	return String(limit).And(func(c *Checker, at Place, name string, value *string) {
		if *value != "" && !known(*value) {
			c.AddAt(at, name, rule)
		}
	})
}

// Link is the address of a page.
func Link() Kind[string] { return Choice(text.MaxURL, WebURL, text.IsWebURL) }

// Integer is a number as we write it.
func Integer() Kind[int64] {
	return Kind[int64]{Read: (*Reader).Integer, Append: func(dst []byte, n int64) []byte {
		return strconv.AppendInt(dst,
			n, 10)
	}}
}

// Moment is a time as we write it; null is the zero time.
func Moment(parse func(string) (time.Time, bool), format func([]byte, time.Time) []byte) Kind[time.Time] {
	return Kind[time.Time]{
		Read:   func(r *Reader) time.Time { return r.time(parse) },
		Append: func(dst []byte, t time.Time) []byte { return AppendTime(dst, t, format) },
	}
}

// And checks more. It is asked about values that nothing is wrong with so far.
func (k Kind[V]) And(more func(c *Checker, at Place, name string, value *V)) Kind[V] {
	first := k.Check
	k.Check = func(c *Checker, at Place, name string, value *V) {
		first(c, at, name, value)
		if !c.HasAt(at, name) {
			more(c, at, name, value)
		}
	}
	return k
}

// Needed makes a field one that a new document must have, and none may lose.
func (k Kind[V]) Needed() Kind[V] {
	k.required = true
	return k
}

func (k Kind[V]) checkSent(c *Checker, at Place, name string, value *V) {
	if value != nil && k.Check != nil {
		k.Check(c, at, name, value)
	}
	var zero V
	switch {
	case !k.required:
	case c.IsNew && (value == nil || *value == zero):
		c.AddAt(at, name, Required)
	case value != nil && *value == zero:
		c.AddAt(at, name, NotEmpty)
	}
}

func show[D any, V comparable](name, label string, k Kind[V], in func(D) *V) Stored[D] {
	s := Stored[D]{
		Name: name, Label: label, part: k.part, inside: k.inside,
		Load:   func(r *Reader, doc D) { *in(doc) = k.Read(r) },
		Append: func(dst []byte, doc D) []byte { return k.Append(dst, *in(doc)) },
		Same:   func(a, b D) bool { return *in(a) == *in(b) },
		Copy:   func(doc, from D) { *in(doc) = *in(from) },
	}
	if k.size != nil {
		s.Size = func(doc D) int { return k.size(*in(doc)) }
	}
	if k.Text != nil {
		s.Text = func(doc D) string { return k.Text(*in(doc)) }
		s.Fill = func(doc D, at Place, set Setter) { set(at.Field(name), s.Text(doc)) }
	}
	if k.fill != nil {
		s.Fill = func(doc D, at Place, set Setter) { k.fill(Place{Name: at.Field(name)}, *in(doc), set) }
	}
	return s
}

// Part is a field of a document inside another one.
func Part[D any, V comparable](name, label string, k Kind[V], in func(D) *V) Field[D, D] {
	f := Field[D, D]{Stored: show(name, label, k, in)}
	f.Read = f.Load
	f.Check = func(c *Checker, at Place, doc D) { k.checkSent(c, at, name, in(doc)) }
	f.Patch = func(doc, from D, _ time.Time) { *in(doc) = *in(from) }
	if k.Take != nil {
		f.Take = func(form Form, at Place, doc D) { *in(doc) = k.Take(form, at.Field(name)) }
	}
	return f
}

// Sent is a field that a client may send or not; nil is not sent.
func Sent[D, I any, V comparable](name, label string, k Kind[V], in func(D) *V, of func(I) **V) Field[D, I] {
	var zero V
	f := Field[D, I]{
		Stored: show(name, label, k, in),
		Read:   func(r *Reader, in I) { value := k.Read(r); *of(in) = &value },
		Check:  func(c *Checker, at Place, in I) { k.checkSent(c, at, name, *of(in)) },
		Merge: func(doc D, from I, _ time.Time) {
			if value := *of(from); value != nil && *value != zero {
				*in(doc) = *value
			}
		},
		Patch: func(doc D, from I, _ time.Time) {
			switch value := *of(from); {
			case value == nil:
			case *value != zero:
				*in(doc) = *value
			case !k.required && !k.stays:
				*in(doc) = k.unset
			}
		},
	}
	if k.Take != nil {
		f.Take = func(form Form, at Place, in I) { value := k.Take(form, at.Field(name)); *of(in) = &value }
	}
	return f
}

// Kept is a field that is stored and shown, and never sent.
//
//go:noinline
func Kept[D, I any, V comparable](name string, k Kind[V], in func(D) *V) Field[D, I] {
	return Field[D, I]{Stored: show(name, "", k, in)}
}

// KeptObject is a document inside another one that is never sent.
func KeptObject[D, I any, V comparable](name string, t Table[*V, *V], in func(D) *V) Field[D, I] {
	return Field[D, I]{Stored: Stored[D]{
		Name:   name,
		Load:   func(r *Reader, doc D) { r.Element(func(key string) { t.Load(r, key, in(doc)) }) },
		Append: func(dst []byte, doc D) []byte { return t.AppendObject(dst, in(doc)) },
		Same:   func(a, b D) bool { return *in(a) == *in(b) },
	}}
}

// Derived is a field that is shown and follows from the others.
func Derived[D, I any](name string, append func(dst []byte, doc D) []byte) Field[D, I] {
	return Field[D, I]{Stored: Stored[D]{Name: name, Append: append}}
}

// Element is what the elements of one list have in common.
type Element[E comparable] struct {
	table  Table[*E, *E]
	frame  int // bytes that it takes beside its texts
	words  func(e *E) string
	Read   func(r *Reader, e *E)
	Load   func(r *Reader, e *E)
	Append func(dst []byte, e *E, i int) []byte
	Key    func(e *E, region string) string // no two elements of a list have the same
}

// Objects are elements that are documents themselves.
func Objects[E comparable](t Table[*E, *E], frame int, words func(e *E) string) Element[E] {
	read := func(r *Reader, e *E) { r.Element(func(key string) { t.Read(r, key, e) }) }
	return Element[E]{
		table: t, frame: frame, words: words, Read: read, Load: read,
		Append: func(dst []byte, e *E, _ int) []byte { return t.AppendObject(dst, e) },
	}
}

// List is a field of up to limit elements, which is replaced whole. So many elements are read; what is repeated counts
// once.
func List[D, I any, E comparable](name, label, plural string, limit, read int, of Element[E], in func(D) *[]E,
	from func(I) **[]E,
) Field[D, I] {
	take := func(r *Reader, list *[]E, read func(r *Reader, e *E), most int) (sent bool) {
		return r.List(most, func() {
			*list = append(*list, *new(E))
			read(r, &(*list)[len(*list)-1])
		})
	}
	return Field[D, I]{
		Stored: Stored[D]{
			Name: name, Label: label, Plural: plural, Limit: limit, Parts: of.table.Names(), part: of.table.Label,
			Count: func(doc D) int { return len(*in(doc)) },
			Load:  func(r *Reader, doc D) { take(r, in(doc), of.Load, read) },
			Append: func(dst []byte, doc D) []byte {
				dst = append(dst, '[')
				for i := range *in(doc) {
					if i > 0 {
						dst = append(dst, ',')
					}
					dst = of.Append(dst, &(*in(doc))[i], i)
				}
				return append(dst, ']')
			},
			Same: func(a, b D) bool { return slices.Equal(*in(a), *in(b)) },
			Size: func(doc D) (n int) {
				for i := range *in(doc) {
					n += of.frame + of.table.Size(&(*in(doc))[i])
				}
				return n
			},
			Words: func(doc D) (all []string) {
				for i := range *in(doc) {
					all = append(all, of.words(&(*in(doc))[i]))
				}
				return all
			},
			Tell: func(element []byte) string {
				e := of.parse([]json.RawMessage{element})
				return of.words(&e[0])
			},
			Unite: func(doc, other D, otherFirst bool, region string) {
				first, rest := *in(doc), *in(other)
				if otherFirst {
					first, rest = rest, first
				}
				*in(doc) = of.unite(first, rest, region)
			},
			Undo: func(doc D, d *Difference, region string) (left bool) {
				*in(doc), left = of.takeBack(*in(doc), d, region)
				return left
			},
			Redo: func(doc D, d *Difference, undone *Undone[D], region string) (conflict bool) {
				*in(doc), conflict = of.redo(*in(doc), d, Within(undone, func(doc D) []E { return *in(doc) }), region)
				return conflict
			},
			Fill: func(doc D, _ Place, set Setter) {
				for i := range *in(doc) {
					of.table.Fill(&(*in(doc))[i], ElementOf(name, i), set)
				}
			},
		},
		Read: func(r *Reader, in I) {
			list := []E{}
			if take(r, &list, of.Read, read) {
				*from(in) = &list
			}
		},
		Take: func(form Form, _ Place, in I) {
			list := make([]E, form.Rows(name, of.table.Names()))
			for i := range list {
				of.table.Take(form, ElementOf(name, i), &list[i])
			}
			*from(in) = &list
		},
		Patch: func(doc D, sent I, _ time.Time) {
			if list := *from(sent); list != nil {
				*in(doc) = *list
			}
		},
	}
}

// Find is the field with that name on the wire, nil where there is none.
func (t Table[D, I]) Find(name string) *Field[D, I] {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// Read takes the value of one key that was sent. Keys that are unknown or read-only are ignored.
func (t Table[D, I]) Read(r *Reader, key string, in I) {
	if f := t.Find(key); f != nil && f.Read != nil {
		f.Read(r, in)
	} else {
		r.Ignore()
	}
}

// Load takes the value of one key that is stored. What is derived from the rest is not read.
func (t Table[D, I]) Load(r *Reader, key string, doc D) {
	if f := t.Find(key); f != nil && f.Load != nil {
		f.Load(r, doc)
	} else {
		r.Skip()
	}
}

// Append writes all fields, each with a comma in front.
func (t Table[D, I]) Append(dst []byte, doc D) []byte {
	for i := range t {
		f := &t[i]
		dst = append(append(append(dst, ',', '"'), f.Name...), '"', ':')
		dst = f.Append(dst, doc)
	}
	return dst
}

func (t Table[D, I]) AppendObject(dst []byte, doc D) []byte {
	start := len(dst)
	dst = t.Append(dst, doc)
	dst[start] = '{'
	return append(dst, '}')
}

// Size is how many bytes all fields add.
func (t Table[D, I]) Size(doc D) (bytes int) {
	for i := range t {
		if t[i].Size != nil {
			bytes += t[i].Size(doc)
		}
	}
	return bytes
}

func (t Table[D, I]) Check(c *Checker, at Place, in I) {
	for i := range t {
		if t[i].Check != nil {
			t[i].Check(c, at, in)
		}
	}
}

// Merge adds what was sent to a document.
func (t Table[D, I]) Merge(doc D, in I, now time.Time) {
	for i := range t {
		if t[i].Merge != nil {
			t[i].Merge(doc, in, now)
		}
	}
}

// Patch replaces what was sent.
func (t Table[D, I]) Patch(doc D, in I, now time.Time) {
	for i := range t {
		if t[i].Patch != nil {
			t[i].Patch(doc, in, now)
		}
	}
}

// Same tells whether two documents say the same in every field.
func (t Table[D, I]) Same(a, b D) bool {
	for i := range t {
		if t[i].Same != nil && !t[i].Same(a, b) {
			return false
		}
	}
	return true
}

func (t Table[D, I]) Fill(doc D, at Place, set Setter) {
	for i := range t {
		if t[i].Fill != nil {
			t[i].Fill(doc, at, set)
		}
	}
}

func (t Table[D, I]) Take(form Form, at Place, in I) {
	for i := range t {
		if t[i].Take != nil {
			t[i].Take(form, at, in)
		}
	}
}

func (t Table[D, I]) Names() []string {
	names := make([]string, 0, len(t))
	for i := range t {
		names = append(names, t[i].Name)
	}
	return names
}

// Label is what people call a field, a list, or what stands in an element of one: Email 2, Address 1 city. A part whose
// label begins with a capital letter is called by that alone.
func (t Table[D, I]) Label(path string) (label string, ok bool) {
	name, inside, isInside := strings.Cut(path, ".")
	f := t.Find(name)
	switch {
	case f == nil || f.Label == "":
		return "", f != nil
	case !isInside && f.Plural != "":
		return f.Plural, true
	}
	label = f.Label
	number, rest, _ := strings.Cut(inside, ".")
	if n, err := strconv.Atoi(number); err == nil {
		label, inside = label+" "+strconv.Itoa(n+1), rest
	}
	if f.part != nil {
		part, _ := f.part(inside)
		if part != "" && 'A' <= part[0] && part[0] <= 'Z' {
			return part, true
		}
		label = strings.TrimSpace(label + " " + part)
	}
	return label, true
}

// Staying makes a field one that stays as it was where it is cleared.
func (k Kind[V]) Staying() Kind[V] {
	k.stays = true
	return k
}

// InColumn makes a field one that is kept in a column of its own, and not in the document.
func (f Field[D, I]) InColumn() Field[D, I] {
	f.Load, f.Append = nil, nil
	return f
}

// InFiles makes a field one that no form has.
func (f Field[D, I]) InFiles() Field[D, I] {
	f.Fill, f.Take = nil, nil
	return f
}
