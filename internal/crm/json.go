package crm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads one JSON document that a person or program sent. It is strict about JSON itself (a repeated
// key, bad UTF-8 or text after the end make the document unreadable) and collects everything that is wrong with
// the values, so that the sender hears of all faults at once.
type jsonReader struct {
	dec     *jsontext.Decoder
	all     string // the document once more, so that a text can be a part of it and no copy
	what    string // how the document is called in messages, as in "The request body"
	outside int    // how many of the outermost objects and arrays a path does not begin with
	err     error  // the document cannot be read; everything after is skipped
	fault   Invalid

	sentAs map[string]string // paths of values that were sent under another name, and these names
}

func newJSONReader(what string, document []byte) *jsonReader {
	r := &jsonReader{dec: decoders.Get().(*jsontext.Decoder), all: string(document), what: what}
	r.dec.Reset(bytes.NewBuffer(document))
	return r
}

// decoders are used again: each remembers which names it has seen in slices of its own.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// readStored reads a document that we wrote and keep from its first comma on. What is wrong with it is no fault of a client, so
// the error is plain text.
func readStored(body []byte, member func(r *jsonReader, key string)) error {
	if len(body) == 0 || body[0] != ',' {
		return errors.New("the stored document is damaged")
	}
	document := slices.Clone(body)
	document[0] = '{'
	r := newJSONReader("The stored document", document)
	r.document(func(key string) { member(r, key) })
	if err := r.end(); err != nil {
		return fmt.Errorf("the stored document is damaged: %v", err) //nolint:errorlint // see above
	}
	return nil
}

// path is where the value stands that was read last, as in emails.0.value.
func (r *jsonReader) path() string {
	names := slices.Collect(r.dec.StackPointer().Tokens())
	return strings.Join(names[min(r.outside, len(names)):], ".")
}

// wrong notes which rule the value breaks that was read last.
func (r *jsonReader) wrong(rule Rule, args ...any) {
	if r.err == nil {
		r.fault.Add(r.path(), rule, args...)
	}
}

// standsFor notes that what belongs at a path was sent under another name.
func (r *jsonReader) standsFor(path, name string) {
	if r.sentAs == nil {
		r.sentAs = map[string]string{}
	}
	r.sentAs[path] = name
}

// end checks that nothing follows, and returns what was found wrong. Nothing can be read after it.
func (r *jsonReader) end() error {
	if r.err == nil {
		if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
			r.unreadable(err)
		}
	}
	decoders.Put(r.dec)
	r.dec = nil
	if r.err != nil {
		return r.err
	}
	return r.fault.Err()
}

// unreadable notes the first syntax error.
func (r *jsonReader) unreadable(err error) {
	if r.err != nil {
		return
	}
	message := r.what + " is not valid JSON."
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		message = r.what + " has text after the end of the JSON value."
	case errors.Is(err, io.EOF):
		message = r.what + " is empty."
	case errors.Is(err, jsontext.ErrDuplicateName):
		message = r.what + " names the same key twice in one object."
	case errors.As(err, &syntax):
		message = fmt.Sprintf("%s is not valid JSON near byte %d.", r.what, syntax.ByteOffset)
	}
	r.err = &Malformed{Message: message}
}

// next is the kind of the value that comes next, or 0 when the document is unreadable.
func (r *jsonReader) next() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	kind := r.dec.PeekKind()
	if kind == 0 {
		r.skip() // reading on tells what is wrong
	}
	return kind
}

func (r *jsonReader) token() jsontext.Token {
	if r.err != nil {
		return jsontext.Null
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		r.unreadable(err)
		return jsontext.Null
	}
	return token
}

func (r *jsonReader) skip() {
	if r.err != nil {
		return
	}
	if err := r.dec.SkipValue(); err != nil {
		r.unreadable(err)
	}
}

// document reads the object that the whole document must be.
func (r *jsonReader) document(member func(key string)) {
	if r.next() != '{' {
		r.skip()
		if r.err == nil {
			r.err = &Malformed{Message: r.what + " must be a JSON object."}
		}
	}
	r.object(member)
}

// object calls member for each key of an object; member reads or skips the value. It reports whether the value
// was an object or null.
func (r *jsonReader) object(member func(key string)) bool {
	switch r.next() {
	case '{':
		r.token()
		for r.err == nil && r.dec.PeekKind() != '}' {
			if key := r.quoted(); r.err == nil {
				member(key)
			}
		}
		r.token()
		return true
	case 'n':
		r.skip()
		return true
	default:
		r.skip()
		return false
	}
}

// list calls element for each element of an array, at most limit times; one element more is a fault, and the rest
// is skipped. It returns whether the array was sent: null counts as not sent.
func (r *jsonReader) list(limit int, element func()) (sent bool) {
	switch r.next() {
	case '[':
		r.token()
		n := 0
		for ; r.err == nil && r.dec.PeekKind() != ']'; n++ {
			if n < limit {
				element()
			} else {
				r.skip()
			}
		}
		r.token()
		if n > limit {
			r.wrong(TooMany, limit)
		}
		return true
	case 'n':
		r.skip()
		return false
	default:
		r.skip()
		r.wrong(Array)
		return false
	}
}

// text reads a string, trimmed. null and "" are both "". Its length is checked later.
func (r *jsonReader) text() (value string) {
	switch r.next() {
	case '"':
		value = strings.TrimSpace(r.quoted())
		if broken := textRule(value); broken != "" {
			r.wrong(broken)
		}
	case 'n':
		r.skip()
	default:
		r.skip()
		r.wrong(Text)
	}
	return value
}

// textSent is text for a field that may be sent or not.
func (r *jsonReader) textSent() *string {
	value := r.text()
	return &value
}

// literal reads a value of any kind: a text without its quotes, null as "", anything else as it was written.
func (r *jsonReader) literal() string {
	switch r.next() {
	case '"':
		return strings.TrimSpace(r.quoted())
	case 'n':
		r.skip()
		return ""
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		r.unreadable(err)
	}
	return string(value)
}

// quoted reads the string that comes next. Where nothing in it is escaped it is a part of the document.
func (r *jsonReader) quoted() string {
	if r.err != nil {
		return ""
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		r.unreadable(err)
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		end := int(r.dec.InputOffset())
		return r.all[end-len(value)+1 : end-1]
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		r.unreadable(err)
	}
	return string(text)
}

// number reads a number as it was written, so that nothing is rounded. null is 0. ok is false where the value was
// no number, which is noted.
func (r *jsonReader) number() (text string, ok bool) {
	switch r.next() {
	case '0':
		value, err := r.dec.ReadValue()
		if err != nil {
			r.unreadable(err)
			return "", false
		}
		return string(value), true
	case 'n':
		r.skip()
		return "0", true
	}
	r.skip()
	r.wrong(Number)
	return "", false
}

// boolean reads true or false. null is false.
func (r *jsonReader) boolean() bool {
	kind := r.next()
	r.skip()
	if kind != 't' && kind != 'f' && kind != 'n' {
		r.wrong(Boolean)
	}
	return kind == 't'
}

// textRule is the rule that a text of any length breaks, "" for none.
func textRule(value string) Rule {
	switch {
	case strings.IndexByte(value, 0) >= 0:
		return NoNUL
	case !utf8.ValidString(value):
		return UTF8
	}
	return ""
}

// isLonger tells whether a text has more characters than the limit.
func isLonger(value string, limit int) bool {
	return len(value) > limit && utf8.RuneCountInString(value) > limit
}

// element reads an object inside a list, where null is no object.
func (r *jsonReader) element(member func(key string)) {
	isNull := r.next() == 'n'
	if !r.object(member) || isNull {
		r.wrong(Object)
	}
}

// time reads a time as we write it; null is the zero time.
func (r *jsonReader) time(parse func(string) (time.Time, bool)) (t time.Time) {
	if r.next() == 'n' {
		r.skip()
		return t
	}
	text := r.text()
	t, ok := parse(text)
	if !ok {
		r.wrong("is not a stored time: %q", text)
	}
	return t
}

// integer reads a number as we write it.
func (r *jsonReader) integer() int64 {
	text, _ := r.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.wrong("is not a stored number")
	}
	return n
}

func appendText(dst []byte, value string) []byte {
	if value == "" {
		return append(dst, `null`...)
	}
	quoted, err := jsontext.AppendQuote(dst, value)
	if err != nil {
		panic(fmt.Sprintf("crm: text that was never checked for UTF-8 reached the document: %v", err))
	}
	return quoted
}

func appendTime(dst []byte, t time.Time, format func([]byte, time.Time) []byte) []byte {
	if t.IsZero() {
		return append(dst, `null`...)
	}
	dst = format(append(dst, '"'), t)
	return append(dst, '"')
}

// Malformed is an input that could not be read at all, such as a body that is not a JSON object.
type Malformed struct {
	Message string
}

func (m *Malformed) Error() string { return m.Message }

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, text)
	}
	return append(dst, ']')
}

// scalar reads a value of any kind: a text without its quotes and the spaces around it, a number as it was written.
func (r *jsonReader) scalar() (kind jsontext.Kind, text string) {
	switch kind = r.next(); kind {
	case '"':
		text = strings.TrimSpace(r.quoted())
	case '0':
		text, _ = r.number()
	default:
		r.skip()
	}
	return kind, text
}

// raw reads a value as it is stored.
func (r *jsonReader) raw() string {
	if r.err != nil {
		return ""
	}
	value, err := r.dec.ReadValue()
	if err != nil {
		r.unreadable(err)
	}
	return string(value)
}

// textOrNumber reads a text, or a number as it was written.
func (r *jsonReader) textOrNumber() string {
	if r.next() == '0' {
		text, _ := r.number()
		return text
	}
	return r.text()
}
