package crm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table is a document, field by field, in the order of the wire. D is a pointer to the document, I to what a client sends about it; a
// part of another document is sent as it is kept, so there I is D. They are pointers because the compiler makes one function for all types of
// pointers, but another one for each type of document.
//
// Everything that is done with each field comes from here: reading what was sent and what is stored, checking, writing, merging,
// patching, comparing, measuring, telling what changed, filling a form and reading it back.
type table[D, I any] []field[D, I]

// field is one line of a table. What a field has no use for is nil: no client sends when a contact was created.
type field[D, I any] struct {
	stored[D]
	read  func(r *jsonReader, in I)        // takes what was sent
	take  func(form Form, at place, in I)  // takes what a form holds
	check func(c *checker, at place, in I) // finds what is wrong
	merge func(doc D, in I, now time.Time) // adds what was sent
	patch func(doc D, in I, now time.Time) // replaces it by what was sent
}

// stored is the part of a field that has nothing to do with input.
type stored[D any] struct {
	name   string                            // on the wire
	label  string                            // what people call it, or one element of it
	load   func(r *jsonReader, doc D)        // takes what is stored
	append func(dst []byte, doc D) []byte    // writes the value
	same   func(a, b D) bool                 // compares
	size   func(doc D) int                   // bytes that it adds to the document, before any is escaped
	text   func(doc D) string                // in words for people
	fill   func(doc D, at place, set setter) // puts it into a form
	differ func(was, is D) Differences       // what a change did to it, where that is more than one thing

	// undo takes a difference back, and tells whether a part was left alone because it was changed since; nil for what is taken back whole.
	undo func(doc D, d *Difference, region string) (left bool)

	// Of a list:
	plural string // what people call all elements
	limit  int    // elements that it may have
	count  func(doc D) int
	words  func(doc D) []string                      // what each element says
	tell   func(element []byte) string               // what an element says that the history keeps
	parts  []string                                  // of an element in a form; one without a name is the element itself
	part   func(name string) (label string, ok bool) // what people call a part
	inside []string                                  // of a document: the names of its parts, and of theirs
}

type setter func(name, value string)

// Form is a form that a person has sent: a value for each field, and the number of rows in which a list has any of these parts.
type Form interface {
	Value(name string) string
	Rows(list string, parts []string) int
}

// kind is what fields of one kind have in common.
type kind[V comparable] struct {
	read     func(r *jsonReader) V
	append   func(dst []byte, value V) []byte
	check    func(c *checker, at place, name string, value *V)
	text     func(value V) string                      // in words, and in a form; nil for what is in no form
	fill     func(at place, value V, set setter)       // puts it into a form, where it is more than one text there
	take     func(form Form, name string) V            // takes what a form holds
	size     func(value V) int                         // nil where all values are about as long
	part     func(name string) (label string, ok bool) // what people call a part
	inside   []string                                  // the names of its parts, and of theirs
	unset    V                                         // what a field is that was cleared
	required bool
	stays    bool // cleared, it stays as it was
}

// text is a text of at most so many characters. It is not inlined, like kept and giftText: the tables, which are made once, would take
// 30 KB more of the program.
//
//go:noinline
func text(limit int) kind[string] {
	same := func(value string) string { return value }
	return kind[string]{
		read: (*jsonReader).text, append: appendText, text: same, take: Form.Value, size: func(value string) int { return len(value) },
		check: func(c *checker, at place, name string, value *string) { c.text(at, name, *value, limit) },
	}
}

// oneOf is a text that must be known, if it is not empty.
func oneOf(limit int, rule Rule, known func(string) bool) kind[string] {
	return text(limit).and(func(c *checker, at place, name string, value *string) {
		if *value != "" && !known(*value) {
			c.add(at, name, rule)
		}
	})
}

// link is the address of a page.
func link() kind[string] { return oneOf(maxURL, WebURL, isWebURL) }

// integer is a number as we write it.
func integer() kind[int64] {
	return kind[int64]{read: (*jsonReader).integer, append: func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }}
}

// moment is a time as we write it; null is the zero time.
func moment(parse func(string) (time.Time, bool), format func([]byte, time.Time) []byte) kind[time.Time] {
	return kind[time.Time]{
		read:   func(r *jsonReader) time.Time { return r.time(parse) },
		append: func(dst []byte, t time.Time) []byte { return appendTime(dst, t, format) },
	}
}

// and checks more. It is asked about values that nothing is wrong with so far.
func (k kind[V]) and(more func(c *checker, at place, name string, value *V)) kind[V] {
	first := k.check
	k.check = func(c *checker, at place, name string, value *V) {
		first(c, at, name, value)
		if !c.hasAt(at, name) {
			more(c, at, name, value)
		}
	}
	return k
}

// needed makes a field one that a new document must have, and none may lose.
func (k kind[V]) needed() kind[V] {
	k.required = true
	return k
}

func (k kind[V]) checkSent(c *checker, at place, name string, value *V) {
	if value != nil && k.check != nil {
		k.check(c, at, name, value)
	}
	var zero V
	switch {
	case !k.required:
	case c.isNew && (value == nil || *value == zero):
		c.add(at, name, Required)
	case value != nil && *value == zero:
		c.add(at, name, NotEmpty)
	}
}

func show[D any, V comparable](name, label string, k kind[V], in func(D) *V) stored[D] {
	s := stored[D]{
		name: name, label: label, part: k.part, inside: k.inside,
		load:   func(r *jsonReader, doc D) { *in(doc) = k.read(r) },
		append: func(dst []byte, doc D) []byte { return k.append(dst, *in(doc)) },
		same:   func(a, b D) bool { return *in(a) == *in(b) },
	}
	if k.size != nil {
		s.size = func(doc D) int { return k.size(*in(doc)) }
	}
	if k.text != nil {
		s.text = func(doc D) string { return k.text(*in(doc)) }
		s.fill = func(doc D, at place, set setter) { set(at.field(name), s.text(doc)) }
	}
	if k.fill != nil {
		s.fill = func(doc D, at place, set setter) { k.fill(place{name: at.field(name)}, *in(doc), set) }
	}
	return s
}

// part is a field of a document inside another one.
func part[D any, V comparable](name, label string, k kind[V], in func(D) *V) field[D, D] {
	f := field[D, D]{stored: show(name, label, k, in)}
	f.read = f.load
	f.check = func(c *checker, at place, doc D) { k.checkSent(c, at, name, in(doc)) }
	f.patch = func(doc, from D, _ time.Time) { *in(doc) = *in(from) }
	if k.take != nil {
		f.take = func(form Form, at place, doc D) { *in(doc) = k.take(form, at.field(name)) }
	}
	return f
}

// sent is a field that a client may send or not; nil is not sent.
func sent[D, I any, V comparable](name, label string, k kind[V], in func(D) *V, of func(I) **V) field[D, I] {
	var zero V
	f := field[D, I]{
		stored: show(name, label, k, in),
		read:   func(r *jsonReader, in I) { value := k.read(r); *of(in) = &value },
		check:  func(c *checker, at place, in I) { k.checkSent(c, at, name, *of(in)) },
		merge: func(doc D, from I, _ time.Time) {
			if value := *of(from); value != nil && *value != zero {
				*in(doc) = *value
			}
		},
		patch: func(doc D, from I, _ time.Time) {
			switch value := *of(from); {
			case value == nil:
			case *value != zero:
				*in(doc) = *value
			case !k.required && !k.stays:
				*in(doc) = k.unset
			}
		},
	}
	if k.take != nil {
		f.take = func(form Form, at place, in I) { value := k.take(form, at.field(name)); *of(in) = &value }
	}
	return f
}

// kept is a field that is stored and shown, and never sent.
//
//go:noinline
func kept[D, I any, V comparable](name string, k kind[V], in func(D) *V) field[D, I] {
	return field[D, I]{stored: show(name, "", k, in)}
}

// keptObject is a document inside another one that is never sent.
func keptObject[D, I any, V comparable](name string, t table[*V, *V], in func(D) *V) field[D, I] {
	return field[D, I]{stored: stored[D]{
		name:   name,
		load:   func(r *jsonReader, doc D) { r.element(func(key string) { t.load(r, key, in(doc)) }) },
		append: func(dst []byte, doc D) []byte { return t.appendObject(dst, in(doc)) },
		same:   func(a, b D) bool { return *in(a) == *in(b) },
	}}
}

// derived is a field that is shown and follows from the others.
func derived[D, I any](name string, append func(dst []byte, doc D) []byte) field[D, I] {
	return field[D, I]{stored: stored[D]{name: name, append: append}}
}

// element is what the elements of one list have in common.
type element[E comparable] struct {
	table  table[*E, *E]
	frame  int // bytes that it takes beside its texts
	words  func(e *E) string
	read   func(r *jsonReader, e *E)
	load   func(r *jsonReader, e *E)
	append func(dst []byte, e *E, i int) []byte
	key    func(e *E, region string) string // no two elements of a list have the same
}

// objects are elements that are documents themselves.
func objects[E comparable](t table[*E, *E], frame int, words func(e *E) string) element[E] {
	read := func(r *jsonReader, e *E) { r.element(func(key string) { t.read(r, key, e) }) }
	return element[E]{
		table: t, frame: frame, words: words, read: read, load: read,
		append: func(dst []byte, e *E, _ int) []byte { return t.appendObject(dst, e) },
	}
}

// list is a field of up to limit elements, which is replaced whole. So many elements are read; what is repeated counts once.
func list[D, I any, E comparable](name, label, plural string, limit, read int, of element[E], in func(D) *[]E, from func(I) **[]E) field[D, I] {
	take := func(r *jsonReader, list *[]E, read func(r *jsonReader, e *E), most int) (sent bool) {
		return r.list(most, func() {
			*list = append(*list, *new(E))
			read(r, &(*list)[len(*list)-1])
		})
	}
	return field[D, I]{
		stored: stored[D]{
			name: name, label: label, plural: plural, limit: limit, parts: of.table.names(), part: of.table.label,
			count: func(doc D) int { return len(*in(doc)) },
			load:  func(r *jsonReader, doc D) { take(r, in(doc), of.load, read) },
			append: func(dst []byte, doc D) []byte {
				dst = append(dst, '[')
				for i := range *in(doc) {
					if i > 0 {
						dst = append(dst, ',')
					}
					dst = of.append(dst, &(*in(doc))[i], i)
				}
				return append(dst, ']')
			},
			same: func(a, b D) bool { return slices.Equal(*in(a), *in(b)) },
			size: func(doc D) (n int) {
				for i := range *in(doc) {
					n += of.frame + of.table.size(&(*in(doc))[i])
				}
				return n
			},
			words: func(doc D) (all []string) {
				for i := range *in(doc) {
					all = append(all, of.words(&(*in(doc))[i]))
				}
				return all
			},
			tell: func(element []byte) string {
				e := of.parse([]json.RawMessage{element})
				return of.words(&e[0])
			},
			undo: func(doc D, d *Difference, region string) (left bool) {
				*in(doc), left = of.takeBack(*in(doc), d, region)
				return left
			},
			fill: func(doc D, _ place, set setter) {
				for i := range *in(doc) {
					of.table.fill(&(*in(doc))[i], elementOf(name, i), set)
				}
			},
		},
		read: func(r *jsonReader, in I) {
			list := []E{}
			if take(r, &list, of.read, read) {
				*from(in) = &list
			}
		},
		take: func(form Form, _ place, in I) {
			list := make([]E, form.Rows(name, of.table.names()))
			for i := range list {
				of.table.take(form, elementOf(name, i), &list[i])
			}
			*from(in) = &list
		},
		patch: func(doc D, sent I, _ time.Time) {
			if list := *from(sent); list != nil {
				*in(doc) = *list
			}
		},
	}
}

// find is the field with that name on the wire, nil where there is none.
func (t table[D, I]) find(name string) *field[D, I] {
	for i := range t {
		if t[i].name == name {
			return &t[i]
		}
	}
	return nil
}

// read takes the value of one key that was sent. Keys that are unknown or read-only are ignored.
func (t table[D, I]) read(r *jsonReader, key string, in I) {
	if f := t.find(key); f != nil && f.read != nil {
		f.read(r, in)
	} else {
		r.skip()
	}
}

// load takes the value of one key that is stored. What is derived from the rest is not read.
func (t table[D, I]) load(r *jsonReader, key string, doc D) {
	if f := t.find(key); f != nil && f.load != nil {
		f.load(r, doc)
	} else {
		r.skip()
	}
}

// append writes all fields, each with a comma in front.
func (t table[D, I]) append(dst []byte, doc D) []byte {
	for i := range t {
		f := &t[i]
		dst = append(append(append(dst, ',', '"'), f.name...), '"', ':')
		dst = f.append(dst, doc)
	}
	return dst
}

func (t table[D, I]) appendObject(dst []byte, doc D) []byte {
	start := len(dst)
	dst = t.append(dst, doc)
	dst[start] = '{'
	return append(dst, '}')
}

// size is how many bytes all fields add.
func (t table[D, I]) size(doc D) (bytes int) {
	for i := range t {
		if t[i].size != nil {
			bytes += t[i].size(doc)
		}
	}
	return bytes
}

func (t table[D, I]) check(c *checker, at place, in I) {
	for i := range t {
		if t[i].check != nil {
			t[i].check(c, at, in)
		}
	}
}

// merge adds what was sent to a document.
func (t table[D, I]) merge(doc D, in I, now time.Time) {
	for i := range t {
		if t[i].merge != nil {
			t[i].merge(doc, in, now)
		}
	}
}

// patch replaces what was sent.
func (t table[D, I]) patch(doc D, in I, now time.Time) {
	for i := range t {
		if t[i].patch != nil {
			t[i].patch(doc, in, now)
		}
	}
}

// same tells whether two documents say the same in every field.
func (t table[D, I]) same(a, b D) bool {
	for i := range t {
		if t[i].same != nil && !t[i].same(a, b) {
			return false
		}
	}
	return true
}

func (t table[D, I]) fill(doc D, at place, set setter) {
	for i := range t {
		if t[i].fill != nil {
			t[i].fill(doc, at, set)
		}
	}
}

func (t table[D, I]) take(form Form, at place, in I) {
	for i := range t {
		if t[i].take != nil {
			t[i].take(form, at, in)
		}
	}
}

func (t table[D, I]) names() []string {
	names := make([]string, 0, len(t))
	for i := range t {
		names = append(names, t[i].name)
	}
	return names
}

// label is what people call a field, a list, or what stands in an element of one: Email 2, Address 1 city. A part whose label begins with
// a capital letter is called by that alone.
func (t table[D, I]) label(path string) (label string, ok bool) {
	name, inside, isInside := strings.Cut(path, ".")
	f := t.find(name)
	switch {
	case f == nil || f.label == "":
		return "", f != nil
	case !isInside && f.plural != "":
		return f.plural, true
	}
	label = f.label
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

// staying makes a field one that stays as it was where it is cleared.
func (k kind[V]) staying() kind[V] {
	k.stays = true
	return k
}

// beside makes a field one that is kept beside the document.
func (f field[D, I]) beside() field[D, I] {
	f.load, f.append = nil, nil
	return f
}

// inFiles makes a field one that no form has.
func (f field[D, I]) inFiles() field[D, I] {
	f.fill, f.take = nil, nil
	return f
}

// notBefore refuses an end that comes before its start.
func (f field[D, I]) notBefore(start string, times func(in I) (start, end time.Time)) field[D, I] {
	check := f.check
	f.check = func(c *checker, at place, in I) {
		check(c, at, in)
		if from, to := times(in); !from.IsZero() && !to.IsZero() && to.Before(from) {
			c.add(at, f.name, NotBefore, at.field(start))
		}
	}
	return f
}
