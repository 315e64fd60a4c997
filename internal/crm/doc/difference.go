package doc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/text"
)

// Difference is what a change did to one field, both ways. Of a list it is what was taken out and put in at one place;
// At is -1 for any other field.
type Difference struct {
	Field         string
	Before, After json.RawMessage
	At            int
	Out, In       []json.RawMessage
}

// Differences are what a change did to a document.
type Differences []Difference

func Compare[D, I any](t Table[D, I], was, is D) (all Differences) {
	for i := range t {
		f := &t[i]
		if f.Same == nil || f.Name == "updated_at" || f.Same(was, is) {
			continue
		}
		if f.Differ != nil {
			all = append(all, f.Differ(was, is)...)
			continue
		}
		before, now := f.value(was), f.value(is)
		if f.Limit > 0 {
			all = append(all, spliced(f.Name, elements(before), elements(now)))
		} else {
			all = append(all, Difference{Field: f.Name, Before: before, After: now, At: -1})
		}
	}
	return all
}

// value is what the history keeps of a field. One that is kept beside the document is a text.
func (s *Stored[D]) value(doc D) []byte {
	if s.Append == nil {
		return AppendText(nil, s.Text(doc))
	}
	return s.Append(nil, doc)
}

// elements are those of an array that we wrote.
func elements(array []byte) (list []json.RawMessage) {
	_ = json.Unmarshal(array, &list)
	return list
}

// spliced is the one place at which two lists differ.
func spliced(field string, before, after []json.RawMessage) Difference {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	at, end := 0, 0
	for at < min(len(before), len(after)) && same(before[at], after[at]) {
		at++
	}
	for end < min(len(before), len(after))-at && same(before[len(before)-1-end], after[len(after)-1-end]) {
		end++
	}
	return Difference{Field: field, At: at, Out: before[at : len(before)-end], In: after[at : len(after)-end]}
}

// listDifference is how a difference of a list is written.
type listDifference struct {
	At  int               `json:"at"`
	Out []json.RawMessage `json:"out,omitempty"`
	In  []json.RawMessage `json:"in,omitempty"`
}

// Text is what the history keeps: an object of [before, after] by field.
func (d Differences) Text() string {
	var b bytes.Buffer
	for i, one := range d {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(AppendText(nil, one.Field))
		b.WriteByte(':')
		if one.At >= 0 {
			text, _ := json.Marshal(listDifference{one.At, one.Out, one.In}) // raw texts that are valid
			b.Write(text)
			continue
		}
		b.WriteByte('[')
		b.Write(one.Before)
		b.WriteByte(',')
		b.Write(one.After)
		b.WriteByte(']')
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteByte('}')
	return b.String()
}

// KnownDifferences is what a change did, as far as it can be read. What was erased says nothing.
func KnownDifferences(text string) Differences {
	d, _ := ParseDifferences(text) //nolint:errcheck // see above
	return d
}

// ParseDifferences reads what the history keeps. Keys whose values are neither a pair nor a splice are left out: a
// change may say more than what differs.
func ParseDifferences(text string) (all Differences, err error) {
	err = eachKept(text, func(one Difference, _ json.RawMessage) {
		if one.Before != nil || len(one.Out)+len(one.In) > 0 {
			all = append(all, one)
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachKept reads the keys of what the history keeps, with what they say differs, if they do.
func eachKept(text string, do func(one Difference, raw json.RawMessage)) error {
	if text == "" {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		one := Difference{At: -1}
		one.Field, _ = key.(string)
		var pair []json.RawMessage
		var list listDifference
		switch {
		case raw[0] == '[' && json.Unmarshal(raw, &pair) == nil && len(pair) == 2:
			one.Before, one.After = pair[0], pair[1]
		case raw[0] == '{' && json.Unmarshal(raw, &list) == nil && len(list.Out)+len(list.In) > 0:
			one.At, one.Out, one.In = list.At, list.Out, list.In
		}
		do(one, raw)
	}
	return nil
}

// ShortDifferences is what a page of many changes shows of one: a few elements of each list, and the beginning of each
// text. left is how many elements and ends of texts it lacks.
func ShortDifferences(text string, elements, characters int) (short string, left int) {
	var b bytes.Buffer
	cut := func(list, others []json.RawMessage) []json.RawMessage {
		there := make(map[string]bool)
		for _, other := range others {
			there[string(other)] = true
		}
		// was only moved
		list = slices.DeleteFunc(slices.Clone(list), func(e json.RawMessage) bool { return there[string(e)] })
		left += max(0, len(list)-elements)
		return list[:min(len(list), elements)]
	}
	begin := func(value json.RawMessage) json.RawMessage {
		var said string
		if len(value) <= characters || json.Unmarshal(value, &said) != nil {
			return value
		}
		letters := []rune(said)
		if len(letters) <= characters {
			return value
		}
		left++
		return AppendText(nil, string(letters[:characters])+"…")
	}
	_ = eachKept(text, func(one Difference, raw json.RawMessage) { // what cannot be read says less
		switch {
		case one.At >= 0:
			// raw texts that are valid
			raw, _ = json.Marshal(listDifference{one.At, cut(one.Out, one.In), cut(one.In, one.Out)})
		case one.Before != nil:
			raw, _ = json.Marshal([]json.RawMessage{begin(one.Before), begin(one.After)})
		}
		b.WriteByte("{,"[min(b.Len(), 1)])
		b.Write(append(AppendText(nil, one.Field), ':'))
		b.Write(raw)
	})
	if b.Len() == 0 {
		return "", left
	}
	b.WriteByte('}')
	return b.String(), left
}

// Has tells whether a field differs.
func (d Differences) Has(field string) bool {
	return slices.ContainsFunc(d, func(one Difference) bool { return one.Field == field })
}

// Meet tells whether two changes touch the same text, or the same element of a list.
func (d Differences) Meet(other Differences) bool {
	for _, one := range d {
		for _, two := range other {
			if one.Field == two.Field && (one.At < 0 || slices.ContainsFunc(slices.Concat(one.Out, one.In),
				func(element json.RawMessage) bool {
					return slices.ContainsFunc(slices.Concat(two.Out, two.In),
						func(with json.RawMessage) bool { return sameElement(element, with) })
				})) {
				return true
			}
		}
	}
	return false
}

// Without is what a change says if another one had not brought what it did.
func (d Differences) Without(brought Differences) (left Differences) {
	for _, one := range d {
		known := true
		for i := range brought {
			if known && brought[i].Field == one.Field {
				one, known = one.without(&brought[i])
			}
		}
		if known && !(bytes.Equal(one.Before, one.After) &&
			slices.EqualFunc(one.Out, one.In, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })) {
			left = append(left, one)
		}
	}
	return left
}

// without leaves out what another change has brought; known is false where it cannot be told apart.
func (d Difference) without(brought *Difference) (_ Difference, known bool) {
	if d.At < 0 {
		before, knowsBefore := textWithout(d.Before, brought)
		after, knowsAfter := textWithout(d.After, brought)
		d.Before, d.After = before, after
		return d, knowsBefore && knowsAfter
	}
	known = true
	theirs := func(element json.RawMessage) bool {
		same := func(other json.RawMessage) bool { return sameElement(element, other) }
		is := slices.ContainsFunc(brought.In, same) && !slices.ContainsFunc(brought.Out, same)
		if is && strings.HasPrefix(string(element), "{") && !strings.Contains(string(element), `"value":`) {
			known = false // such as an address, which may have been altered
		}
		return is
	}
	d.Out, d.In = slices.DeleteFunc(slices.Clone(d.Out), theirs), slices.DeleteFunc(slices.Clone(d.In), theirs)
	return d, known
}

// textWithout is a value as it was before another change, or without the text that this has put to it.
func textWithout(value json.RawMessage, brought *Difference) (_ json.RawMessage, known bool) {
	var text, before, after string
	switch {
	case bytes.Equal(value, brought.After):
		return brought.Before, true
	case json.Unmarshal(value, &text) != nil || json.Unmarshal(brought.After, &after) != nil ||
		json.Unmarshal(brought.Before, &before) != nil:
		return value, true // neither is a text
	}
	const between = "\n\n" // two notes
	if before != "" {
		after = strings.TrimSuffix(strings.TrimPrefix(after, before+between), between+before)
	}
	if after == "" || !strings.Contains(text, after) {
		return value, true
	}
	text = strings.Replace(strings.Replace(text, between+after, "", 1), after+between, "", 1)
	return AppendText(nil, text), !strings.Contains(text, after)
}

// sameElement tells whether two elements are the same, by their values where they have one.
func sameElement(a, b json.RawMessage) bool {
	var one, two struct{ Value string }
	if json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &two) == nil && one.Value != "" {
		return one.Value == two.Value
	}
	return bytes.Equal(a, b)
}

// TextDifference is what a change did to a text; "" is none. A text that stays says what the change is about.
func TextDifference(field, before, after string) Difference {
	return Difference{Field: field, Before: AppendText(nil, before), After: AppendText(nil, after), At: -1}
}

// NumberDifference is what a change did to a number that names something; 0 is none.
func NumberDifference(field string, before, after int64) Difference {
	number := func(n int64) json.RawMessage {
		if n == 0 {
			return json.RawMessage("null")
		}
		return strconv.AppendInt(nil, n, 10)
	}
	return Difference{Field: field, Before: number(before), After: number(after), At: -1}
}

// TextsDifference is what a change did to a list of texts that is kept whole.
func TextsDifference(field string, before, after []string) Difference {
	return Difference{Field: field, Before: AppendTexts(nil, before), After: AppendTexts(nil, after), At: -1}
}

// TakeBack gives a field the value that it had before, and tells whether all of it was taken back.
func (s *Stored[D]) TakeBack(doc D, d *Difference, region string) bool {
	switch {
	case s.Load == nil || s.Name == "stats" || s.Name == "created_at":
		// which follow from something else, or never change
		return true
	case s.Undo != nil:
		return !s.Undo(doc, d, region)
	case string(s.value(doc)) == string(d.After):
		ReadKept(d.Before, func(r *Reader) { s.Load(r, doc) })
		return true
	}
	return string(s.value(doc)) == string(d.Before) // someone has done it before
}

// ReadKept reads a value that the history keeps. It was written by us; what cannot be read is empty.
func ReadKept(value []byte, read func(*Reader)) {
	r := NewReader("The history", value)
	read(r)
	_ = r.End()
}

// parse reads elements that the history keeps.
func (of *Element[E]) parse(raw []json.RawMessage) []E {
	list := make([]E, len(raw))
	for i := range raw {
		ReadKept(raw[i], func(r *Reader) { of.Load(r, &list[i]) })
	}
	return list
}

// unite is a list with what another one has beside it.
func (of *Element[E]) unite(list, more []E, region string) []E {
	var known text.Set
	for i := range list {
		known.Add(of.Key(&list[i], region))
	}
	all := slices.Clone(list)
	for i := range more {
		if known.Add(of.Key(&more[i], region)) {
			all = append(all, more[i])
		}
	}
	return all
}

// index is where in a list an element is, whatever else it says; -1 for nowhere.
func (of *Element[E]) index(list []E, e *E, region string) int {
	key := of.Key(e, region)
	return slices.IndexFunc(list, func(other E) bool { return of.Key(&other, region) == key })
}

// takeBack takes out of a list what a change has put in, and puts back what it has taken out. An element that was
// changed since stays, and one that was removed since does not come back because the change had moved or altered it.
func (of *Element[E]) takeBack(list []E, d *Difference, region string) (kept []E, left bool) {
	kept = slices.Clone(list)
	in := of.parse(d.In)
	for _, e := range in {
		if i := of.index(kept, &e, region); i >= 0 && kept[i] == e {
			kept = slices.Delete(kept, i, i+1)
		} else if i >= 0 {
			left = true
		}
	}
	var back []E
	for _, e := range of.parse(d.Out) {
		switch i := of.index(kept, &e, region); {
		case i >= 0:
			left = left || kept[i] != e
		case of.index(in, &e, region) < 0 || of.index(list, &e, region) >= 0:
			back = append(back, e)
		}
	}
	return slices.Insert(kept, min(d.At, len(kept)), back...), left
}

// Undone is a change that another one takes back: the document before and after it, where everything is done again.
type Undone[D any] struct{ Was, Is D }

// Within is the same of a part of the document; nil for none.
func Within[D, V any](undone *Undone[D], part func(D) V) *Undone[V] {
	if undone == nil {
		return nil
	}
	return &Undone[V]{part(undone.Was), part(undone.Is)}
}

// Inverse is the difference that takes another one back.
func (d Difference) Inverse() Difference {
	d.Before, d.After, d.Out, d.In = d.After, d.Before, d.In, d.Out
	return d
}

// apply does to a list what a change did to another state of it. What the change only moved is moved if it is there;
// what it has put in or altered is there afterwards. conflict tells that something was altered that is not there.
func (of *Element[E]) apply(list []E, d *Difference, region string) (is []E, conflict bool) {
	out, in := of.parse(d.Out), of.parse(d.In)
	if end := d.At + len(out); end <= len(list) && slices.Equal(list[d.At:end], out) &&
		!slices.ContainsFunc(in, func(e E) bool {
			return of.index(list[:d.At], &e, region) >= 0 ||
				of.index(list[end:], &e, region) >= 0
		}) {
		return slices.Concat(list[:d.At], in, list[end:]), false
	}
	var put []E
	for i := range in {
		was := of.index(out, &in[i], region)
		if was >= 0 && of.index(list, &in[i], region) < 0 {
			if out[was] == in[i] {
				continue
			}
			conflict = true
		}
		put = append(put, in[i])
	}
	at := min(d.At, len(list))
	is = slices.Clone(list)
	for _, e := range slices.Concat(out, in) {
		if i := of.index(is, &e, region); i >= 0 {
			if is = slices.Delete(is, i, i+1); i < at {
				at--
			}
		}
	}
	return slices.Insert(is, min(at, len(is)), put...), conflict
}

// redo is apply of a change that may take another one back: then it gives back what that has taken here, and takes what
// that has brought here.
func (of *Element[E]) redo(list []E, d *Difference, undone *Undone[[]E], region string) (is []E, conflict bool) {
	if undone == nil {
		return of.apply(list, d, region)
	}
	// without leaves those elements out of one side that the other has not, and that the change was not about here.
	without := func(side, other []json.RawMessage, was, is []E) []json.RawMessage {
		others := of.parse(other)
		return slices.DeleteFunc(slices.Clone(side), func(element json.RawMessage) bool {
			e := of.parse([]json.RawMessage{element})
			return of.index(others, &e[0], region) < 0 && (of.index(was, &e[0], region) < 0 ||
				of.index(is, &e[0], region) >= 0)
		})
	}
	change := *d
	change.In, change.Out = without(d.In, d.Out, undone.Was, undone.Is), without(d.Out, d.In, undone.Is, undone.Was)
	is, conflict = of.apply(list, &change, region)
	in := of.parse(change.In)
	return slices.DeleteFunc(is, func(e E) bool {
		return of.index(in, &e, region) < 0 && of.index(undone.Is, &e, region) >= 0 &&
			of.index(undone.Was, &e, region) < 0
	}), conflict
}

// Apply does to a document what a change did to another state of it; conflict tells that the field was not as the
// change had found it. A change that takes another one back gives back what that has taken here, and not what it had
// taken there; undone is nil for any other change.
func (s *Stored[D]) Apply(doc D, d *Difference, undone *Undone[D], region string) (conflict bool) {
	switch {
	case s.Load == nil:
	case s.Redo != nil:
		return s.Redo(doc, d, undone, region)
	case undone == nil:
		conflict = string(s.value(doc)) != string(d.Before)
		ReadKept(d.After, func(r *Reader) { s.Load(r, doc) })
	case s.Same(doc, undone.Is):
		s.Copy(doc, undone.Was)
	}
	return conflict
}

// Change is one thing that is different after a document was changed, in words for people.
type Change struct {
	Field  string `json:"field"`  // as a person calls it, such as "Last name" or "Email added"
	Before string `json:"before"` // "" where there was nothing
	After  string `json:"after"`  // "" where nothing is left
}

// ListChanges tells what a list has lost and got.
func ListChanges(label string, was, is []string) (changes []Change) {
	for _, text := range text.Without(was, is) {
		changes = append(changes, Change{Field: label + " removed", Before: text})
	}
	for _, text := range text.Without(is, was) {
		changes = append(changes, Change{Field: label + " added", After: text})
	}
	return changes
}

// Place is where in the table a field is; a name may go on behind a dot.
func (t Table[D, I]) Place(name string) int {
	name, _, _ = strings.Cut(name, ".")
	return slices.IndexFunc(t, func(f Field[D, I]) bool { return f.Name == name })
}
