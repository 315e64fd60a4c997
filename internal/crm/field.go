package crm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// table is a document, field by field, in the order of the wire. D is the document, I is what a client sends about it; a part of
// another document is sent as it is kept, so there I is D.
//
// Everything that is done with each field comes from here: reading what was sent and what is stored, checking, writing, merging,
// patching, comparing, measuring, telling what changed, filling a form and reading it back.
type table[D, I any] []field[D, I]

// field is one line of a table. What a field has no use for is nil: nobody sends when a contact was created.
type field[D, I any] struct {
	name    string // on the wire
	label   string // what people call it, or one element of it
	plural  string // what people call all elements of a list
	limit   int    // elements that a list may have
	count   func(doc *D) int
	part    func(name string) (label string, ok bool) // what people call a part of it
	parts   []string                                  // the names of its parts, and of theirs
	load    func(r *jsonReader, doc *D)               // takes what is stored
	append  func(dst []byte, doc *D) []byte           // writes the value
	same    func(a, b *D) bool                        // compares
	size    func(doc *D) int                          // bytes that it adds to the document, before any is escaped
	words   func(doc *D) []string                     // for people: one text, or one for each element
	fill    func(doc *D, at place, set setter)        // puts it into a form
	read    func(r *jsonReader, in *I)                // takes what was sent
	take    func(form Form, at place, in *I)          // takes what a form holds
	check   func(c *checker, at place, in *I)         // finds what is wrong
	merge   func(doc *D, in *I, now time.Time)        // adds what was sent
	patch   func(doc *D, in *I, now time.Time)        // replaces it by what was sent
	written string                                    // ,"name":
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
	text     func(value V) string                // in words, and in a form
	fill     func(at place, value V, set setter) // puts it into a form; nil where it is one text there
	take     func(form Form, name string) V      // takes what a form holds
	size     func(value V) int
	part     func(name string) (label string, ok bool) // what people call a part of it
	parts    []string                                  // the names of its parts, and of theirs
	unset    V                                         // what a field is that was cleared
	required bool
	stays    bool // cleared, it stays as it was
}

// text is a text of at most so many characters.
func text(limit int) kind[string] {
	same := func(value string) string { return value }
	return kind[string]{
		read: (*jsonReader).text, append: appendText, text: same, take: Form.Value, size: func(value string) int { return len(value) },
		check: func(c *checker, at place, name string, value *string) { c.text(at, name, *value, limit) },
	}
}

// link is the address of a page.
func link() kind[string] {
	return text(maxURL).and(func(c *checker, at place, name string, value *string) {
		if *value != "" && !isWebURL(*value) {
			c.add(at, name, WebURL)
		}
	})
}

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

// and checks more. It is asked of values that nothing is wrong with so far.
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

// part is a field of a document inside another one.
func part[D any, V comparable](name, label string, k kind[V], in func(*D) *V) field[D, D] {
	f := field[D, D]{
		name: name, label: label, part: k.part, parts: k.parts, written: `,"` + name + `":`,
		load:   func(r *jsonReader, doc *D) { *in(doc) = k.read(r) },
		append: func(dst []byte, doc *D) []byte { return k.append(dst, *in(doc)) },
		same:   func(a, b *D) bool { return *in(a) == *in(b) },
		words:  func(doc *D) []string { return []string{k.text(*in(doc))} },
		fill:   func(doc *D, at place, set setter) { set(at.field(name), k.text(*in(doc))) },
		take:   func(form Form, at place, doc *D) { *in(doc) = k.take(form, at.field(name)) },
		check:  func(c *checker, at place, doc *D) { k.check(c, at, name, in(doc)) },
	}
	f.read = f.load
	if k.fill != nil {
		f.fill = func(doc *D, at place, set setter) { k.fill(place{name: at.field(name)}, *in(doc), set) }
	}
	if k.size != nil {
		f.size = func(doc *D) int { return k.size(*in(doc)) }
	}
	return f
}

// sent is a field that a client may send or not; nil is not sent.
func sent[D, I any, V comparable](name, label string, k kind[V], in func(*D) *V, of func(*I) **V) field[D, I] {
	var zero V
	p := part(name, label, k, in)
	return field[D, I]{
		name: name, label: label, part: p.part, parts: p.parts, written: p.written,
		load: p.load, append: p.append, same: p.same, words: p.words, fill: p.fill, size: p.size,
		read: func(r *jsonReader, in *I) { value := k.read(r); *of(in) = &value },
		take: func(form Form, at place, in *I) { value := k.take(form, at.field(name)); *of(in) = &value },
		check: func(c *checker, at place, in *I) {
			value := *of(in)
			if value != nil {
				k.check(c, at, name, value)
			}
			switch {
			case !k.required:
			case c.isNew && (value == nil || *value == zero):
				c.add(at, name, Required)
			case value != nil && *value == zero:
				c.add(at, name, NotEmpty)
			}
		},
		merge: func(doc *D, from *I, _ time.Time) {
			if value := *of(from); value != nil && *value != zero {
				*in(doc) = *value
			}
		},
		patch: func(doc *D, from *I, _ time.Time) {
			switch value := *of(from); {
			case value == nil:
			case *value != zero:
				*in(doc) = *value
			case !k.required && !k.stays:
				*in(doc) = k.unset
			}
		},
	}
}

// element is what the elements of one list have in common.
type element[E comparable] struct {
	read   func(r *jsonReader, e *E)
	load   func(r *jsonReader, e *E)
	append func(dst []byte, e *E, i int) []byte
	size   func(e *E) int
	words  func(e *E) string
	fill   func(e *E, at place, set setter)
	take   func(form Form, at place, e *E)
	parts  []string // in a form; one without a name is the element itself
	part   func(name string) (label string, ok bool)
}

// objects are elements that are documents themselves. Each takes so many bytes beside its texts.
func objects[E comparable](t table[E, E], frame int, words func(e *E) string) element[E] {
	read := func(r *jsonReader, e *E) { r.element(func(key string) { t.read(r, key, e) }) }
	return element[E]{
		read: read, load: read, words: words, parts: t.names(), part: t.label,
		append: func(dst []byte, e *E, _ int) []byte { return t.appendObject(dst, e) },
		size:   func(e *E) int { return frame + t.size(e) },
		fill:   t.fill,
		take:   t.take,
	}
}

// list is a field of up to limit elements, which is replaced whole. So many elements are read, and what is repeated counts once.
func list[D, I any, E comparable](name, label, plural string, limit, read int, of element[E], in func(*D) *[]E, from func(*I) **[]E) field[D, I] {
	var zero E
	f := field[D, I]{
		name: name, label: label, plural: plural, limit: limit, part: of.part, written: `,"` + name + `":`,
		count: func(doc *D) int { return len(*in(doc)) },
		load: func(r *jsonReader, doc *D) {
			list := in(doc)
			r.list(read, func() { *list = append(*list, zero); of.load(r, &(*list)[len(*list)-1]) })
		},
		append: func(dst []byte, doc *D) []byte {
			dst = append(dst, '[')
			for i := range *in(doc) {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = of.append(dst, &(*in(doc))[i], i)
			}
			return append(dst, ']')
		},
		same: func(a, b *D) bool { return slices.Equal(*in(a), *in(b)) },
		size: func(doc *D) (n int) {
			for i := range *in(doc) {
				n += of.size(&(*in(doc))[i])
			}
			return n
		},
		words: func(doc *D) (all []string) {
			for i := range *in(doc) {
				all = append(all, of.words(&(*in(doc))[i]))
			}
			return all
		},
		fill: func(doc *D, _ place, set setter) {
			for i := range *in(doc) {
				of.fill(&(*in(doc))[i], elementOf(name, i), set)
			}
		},
		read: func(r *jsonReader, in *I) {
			list := []E{}
			if r.list(read, func() { list = append(list, zero); of.read(r, &list[len(list)-1]) }) {
				*from(in) = &list
			}
		},
		patch: func(doc *D, sent *I, _ time.Time) {
			if list := *from(sent); list != nil {
				*in(doc) = *list
			}
		},
	}
	if of.take != nil {
		f.take = func(form Form, _ place, in *I) {
			list := make([]E, form.Rows(name, of.parts))
			for i := range list {
				of.take(form, elementOf(name, i), &list[i])
			}
			*from(in) = &list
		}
	}
	return f
}

// hidden makes a field one that people alone may set, and no program.
func (f field[D, I]) hidden() field[D, I] {
	f.read = nil
	return f
}

// kept is a field that is stored and shown, and never sent.
func kept[D, I any, V comparable](name string, k kind[V], in func(*D) *V) field[D, I] {
	p := part(name, "", k, in)
	return field[D, I]{name: name, written: p.written, load: p.load, append: p.append, same: p.same}
}

// keptObject is a document inside another one that is never sent.
func keptObject[D, I any, V comparable](name string, t table[V, V], in func(*D) *V) field[D, I] {
	return field[D, I]{
		name: name, written: `,"` + name + `":`,
		load:   func(r *jsonReader, doc *D) { r.element(func(key string) { t.load(r, key, in(doc)) }) },
		append: func(dst []byte, doc *D) []byte { return t.appendObject(dst, in(doc)) },
		same:   func(a, b *D) bool { return *in(a) == *in(b) },
	}
}

// derived is a field that is shown and follows from the others.
func derived[D, I any](name string, append func(dst []byte, doc *D) []byte) field[D, I] {
	return field[D, I]{name: name, written: `,"` + name + `":`, append: append}
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
func (t table[D, I]) read(r *jsonReader, key string, in *I) {
	if f := t.find(key); f != nil && f.read != nil {
		f.read(r, in)
	} else {
		r.skip()
	}
}

// load takes the value of one key that is stored. What is derived from the rest is not read.
func (t table[D, I]) load(r *jsonReader, key string, doc *D) {
	if f := t.find(key); f != nil && f.load != nil {
		f.load(r, doc)
	} else {
		r.skip()
	}
}

// append writes all fields, each with a comma in front.
func (t table[D, I]) append(dst []byte, doc *D) []byte {
	for i := range t {
		dst = t[i].append(append(dst, t[i].written...), doc)
	}
	return dst
}

func (t table[D, I]) appendObject(dst []byte, doc *D) []byte {
	start := len(dst)
	dst = t.append(dst, doc)
	dst[start] = '{'
	return append(dst, '}')
}

// size is how many bytes all fields add.
func (t table[D, I]) size(doc *D) (bytes int) {
	for i := range t {
		if t[i].size != nil {
			bytes += t[i].size(doc)
		}
	}
	return bytes
}

func (t table[D, I]) check(c *checker, at place, in *I) {
	for i := range t {
		if t[i].check != nil {
			t[i].check(c, at, in)
		}
	}
}

// same tells whether two documents say the same in every field.
func (t table[D, I]) same(a, b *D) bool {
	return !slices.ContainsFunc(t, func(f field[D, I]) bool { return f.same != nil && !f.same(a, b) })
}

func (t table[D, I]) fill(doc *D, at place, set setter) {
	for i := range t {
		if t[i].fill != nil {
			t[i].fill(doc, at, set)
		}
	}
}

func (t table[D, I]) take(form Form, at place, in *I) {
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

// label is what people call a field, a list, or what stands in an element of one: Email 2, Address 1 city.
func (t table[D, I]) label(path string) (label string, ok bool) {
	name, rest, inside := strings.Cut(path, ".")
	f := t.find(name)
	switch {
	case f == nil || f.label == "":
		return "", false
	case !inside && f.plural != "":
		return f.plural, true
	case !inside:
		return f.label, true
	}
	number, part, _ := strings.Cut(rest, ".")
	label = f.label
	if n, err := strconv.Atoi(number); err == nil {
		label += " " + strconv.Itoa(n+1)
	} else {
		part = rest
	}
	if f.part != nil {
		if name, known := f.part(part); known && name != "" {
			label += " " + name
		}
	}
	return label, true
}

// place is where a document stands: nowhere else, or inside another one (event), or in a list (emails.0). Names are put together
// only where something is wrong there.
type place struct {
	name    string
	element int // of a list, from 1
}

func elementOf(list string, i int) place { return place{list, i + 1} }

// field is the name of a part, or of the place itself where the part is "".
func (p place) field(part string) string {
	name := p.name
	if p.element > 0 {
		name += "." + strconv.Itoa(p.element-1)
	}
	if name != "" && part != "" {
		name += "."
	}
	return name + part
}

// checker finds what is wrong with an input.
type checker struct {
	Invalid
	isNew  bool
	region string
	now    time.Time
}

// newChecker goes on from the faults that were found while reading, if any.
func newChecker(faults *Invalid, isNew bool) *checker {
	c := &checker{isNew: isNew}
	if faults != nil {
		c.Faults = faults.Faults
	}
	return c
}

func (v *Invalid) hasAt(at place, part string) bool {
	return len(v.Faults) > 0 && v.has(at.field(part))
}

// add notes what is wrong with a part, unless something is already.
func (v *Invalid) add(at place, part string, rule Rule, args ...any) {
	if field := at.field(part); !v.has(field) {
		v.Add(field, rule, args...)
	}
}

// text finds a text that is too long or no text.
func (v *Invalid) text(at place, part, value string, limit int) {
	if broken := textRule(value); broken != "" {
		v.add(at, part, broken)
	} else if isLonger(value, limit) {
		v.add(at, part, TooLong, limit)
	}
}

// sortFaults brings the faults into the order of the fields and of the elements of a list, whatever order the client
// wrote them in.
func sortFaults(v *Invalid, fields []string) {
	if len(v.Faults) < 2 {
		return
	}
	type placed struct {
		rank, element int
		fault         Fault
	}
	sorted := make([]placed, 0, len(v.Faults))
	for _, fault := range v.Faults {
		rank, element := rankOf(fault.Field, fields)
		sorted = append(sorted, placed{rank, element, fault})
	}
	slices.SortStableFunc(sorted, func(a, b placed) int { return cmp.Or(a.rank-b.rank, a.element-b.element) })
	for i := range sorted {
		v.Faults[i] = sorted[i].fault
	}
}

// rankOf is the place of a field among the others, and which element of a list it is about. A fault of the whole list comes
// before those of its elements.
func rankOf(name string, fields []string) (rank, element int) {
	if rank = slices.Index(fields, name); rank >= 0 {
		return rank, -1
	}
	field, rest, _ := strings.Cut(name, ".")
	number, _, _ := strings.Cut(rest, ".")
	element, err := strconv.Atoi(number)
	if err != nil {
		element = -1
	}
	return slices.Index(fields, field), element
}
