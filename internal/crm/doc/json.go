package doc

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

	"donorbook/internal/crm/text"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads one JSON document that a person or program sent. It is strict about JSON itself (a repeated
// key, bad UTF-8 or text after the end make the document unreadable) and collects everything that is wrong with
// the values, so that the sender hears of all faults at once.
type Reader struct {
	Dec     *jsontext.Decoder
	all     string // the document once more, so that a text can be a part of it and no copy
	what    string // how the document is called in messages, as in "The request body"
	Outside int    // how many of the outermost objects and arrays a path does not begin with
	Err     error  // the document cannot be read; everything after is skipped
	Fault   Invalid

	SentAs map[string]string // paths of values that were sent under another name, and these names

	isBody  bool     // of a request: its client is told what was ignored
	Strict  bool     // a key that would be ignored is a fault
	Ignored []string // paths of the keys that were ignored, the first maxIgnored of them
}

// The limits of what a reader notes about keys that it ignores.
const (
	maxIgnored    = 20
	maxIgnoredKey = 255 // bytes
)

// NewBody reads the body of a request.
func NewBody(body []byte) *Reader {
	r := NewReader("The request body", body)
	r.isBody = true
	return r
}

func NewReader(what string, document []byte) *Reader {
	r := &Reader{Dec: decoders.Get().(*jsontext.Decoder), all: string(document), what: what}
	r.Dec.Reset(bytes.NewBuffer(document))
	return r
}

// decoders are used again: each remembers which names it has seen in slices of its own.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// ReadStored reads a document that we wrote and keep from its first comma on. What is wrong with it is no fault of a
// client, so the error is plain text.
func ReadStored(body []byte, member func(r *Reader, key string)) error {
	if len(body) == 0 || body[0] != ',' {
		return errors.New("the stored document is damaged")
	}
	document := slices.Clone(body)
	document[0] = '{'
	r := NewReader("The stored document", document)
	r.Document(func(key string) { member(r, key) })
	if err := r.End(); err != nil {
		return fmt.Errorf("the stored document is damaged: %v", err) //nolint:errorlint // see above
	}
	return nil
}

// Path is where the value stands that was read last, as in emails.0.value.
func (r *Reader) Path() string {
	names := slices.Collect(r.Dec.StackPointer().Tokens())
	return strings.Join(names[min(r.Outside, len(names)):], ".")
}

// Wrong notes which rule the value breaks that was read last.
func (r *Reader) Wrong(rule Rule, args ...any) {
	if r.Err == nil {
		r.Fault.Add(r.Path(), rule, args...)
	}
}

// StandsFor notes that what belongs at a path was sent under another name.
func (r *Reader) StandsFor(path, name string) {
	if r.SentAs == nil {
		r.SentAs = map[string]string{}
	}
	r.SentAs[path] = name
}

// End checks that nothing follows, and returns what was found wrong. Nothing can be read after it.
func (r *Reader) End() error {
	if r.Err == nil {
		if _, err := r.Dec.ReadToken(); !errors.Is(err, io.EOF) {
			r.unreadable(err)
		}
	}
	decoders.Put(r.Dec)
	r.Dec = nil
	if r.Err != nil {
		return r.Err
	}
	return r.Fault.Err()
}

// unreadable notes the first syntax error.
func (r *Reader) unreadable(err error) {
	if r.Err != nil {
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
	r.Err = &Malformed{Message: message}
}

// Next is the kind of the value that comes next, or 0 when the document is unreadable.
func (r *Reader) Next() jsontext.Kind {
	if r.Err != nil {
		return 0
	}
	kind := r.Dec.PeekKind()
	if kind == 0 {
		r.Skip() // reading on tells what is wrong
	}
	return kind
}

func (r *Reader) Token() jsontext.Token {
	if r.Err != nil {
		return jsontext.Null
	}
	token, err := r.Dec.ReadToken()
	if err != nil {
		r.unreadable(err)
		return jsontext.Null
	}
	return token
}

func (r *Reader) Skip() {
	if r.Err != nil {
		return
	}
	if err := r.Dec.SkipValue(); err != nil {
		r.unreadable(err)
	}
}

// Ignore skips the value of a key that is unknown here or read-only. Whoever has sent it in a request is told.
func (r *Reader) Ignore() {
	if r.Skip(); !r.isBody || r.Err != nil || len(r.Ignored) == maxIgnored {
		return
	}
	path := r.Path()
	if len(path) > maxIgnoredKey {
		path = strings.ToValidUTF8(path[:maxIgnoredKey], "")
	}
	if slices.ContainsFunc(r.Ignored, func(noted string) bool { return inFirst(noted) == inFirst(path) }) {
		return // elements of a list mostly have the same keys, so that of one is enough
	}
	if r.Ignored = append(r.Ignored, path); r.Strict {
		r.Fault.Add(path, NotAccepted)
	}
}

// KeysOf are the keys of a body that no one reads: all of it is ignored.
func KeysOf(body []byte) []string {
	r := NewBody(body)
	r.Document(func(string) { r.Ignore() })
	_ = r.End() // what is no JSON has no keys
	return r.Ignored
}

// inFirst is the path of a key in the first element of its list.
func inFirst(path string) string {
	names := strings.Split(path, ".")
	for i := range names {
		if strings.Trim(names[i], "0123456789") == "" {
			names[i] = "0"
		}
	}
	return strings.Join(names, ".")
}

// Document reads the object that the whole document must be.
func (r *Reader) Document(member func(key string)) {
	if r.Next() != '{' {
		r.Skip()
		if r.Err == nil {
			r.Err = &Malformed{Message: r.what + " must be a JSON object."}
		}
	}
	r.Object(member)
}

// Object calls member for each key of an object; member reads or skips the value. It reports whether the value
// was an object or null.
func (r *Reader) Object(member func(key string)) bool {
	switch r.Next() {
	case '{':
		r.Token()
		for r.Err == nil && r.Dec.PeekKind() != '}' {
			if key := r.quoted(); r.Err == nil {
				member(key)
			}
		}
		r.Token()
		return true
	case 'n':
		r.Skip()
		return true
	default:
		r.Skip()
		return false
	}
}

// List calls element for each element of an array, at most limit times; one element more is a fault, and the rest
// is skipped. It returns whether the array was sent: null counts as not sent.
func (r *Reader) List(limit int, element func()) (sent bool) {
	switch r.Next() {
	case '[':
		r.Token()
		n := 0
		for ; r.Err == nil && r.Dec.PeekKind() != ']'; n++ {
			if n < limit {
				element()
			} else {
				r.Skip()
			}
		}
		r.Token()
		if n > limit {
			r.Wrong(TooMany, limit)
		}
		return true
	case 'n':
		r.Skip()
		return false
	default:
		r.Skip()
		r.Wrong(Array)
		return false
	}
}

// Text reads a string, trimmed. null and "" are both "". Its length is checked later.
func (r *Reader) Text() (value string) {
	switch r.Next() {
	case '"':
		value = strings.TrimSpace(r.quoted())
		if broken := TextRule(value); broken != "" {
			r.Wrong(broken)
		}
	case 'n':
		r.Skip()
	default:
		r.Skip()
		r.Wrong(Text)
	}
	return value
}

// TextSent is text for a field that may be sent or not.
func (r *Reader) TextSent() *string {
	value := r.Text()
	return &value
}

// Literal reads a value of any kind: a text without its quotes, null as "", anything else as it was written.
func (r *Reader) Literal() string {
	switch r.Next() {
	case '"':
		return strings.TrimSpace(r.quoted())
	case 'n':
		r.Skip()
		return ""
	}
	return r.Raw()
}

// quoted reads the string that comes next. Where nothing in it is escaped it is a part of the document.
func (r *Reader) quoted() string {
	if r.Err != nil {
		return ""
	}
	value, err := r.Dec.ReadValue()
	if err != nil {
		r.unreadable(err)
		return ""
	}
	if bytes.IndexByte(value, '\\') < 0 {
		end := int(r.Dec.InputOffset())
		return r.all[end-len(value)+1 : end-1]
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		r.unreadable(err)
	}
	return string(text)
}

// Number reads a number as it was written, so that nothing is rounded. null is 0. ok is false where the value was
// no number, which is noted.
func (r *Reader) Number() (text string, ok bool) {
	switch r.Next() {
	case '0':
		value, err := r.Dec.ReadValue()
		if err != nil {
			r.unreadable(err)
			return "", false
		}
		return string(value), true
	case 'n':
		r.Skip()
		return "0", true
	}
	r.Skip()
	r.Wrong(Number)
	return "", false
}

// Boolean reads true or false, which may be texts: some clients have no other values. null is false.
func (r *Reader) Boolean() bool {
	if r.Next() == 'n' {
		r.Skip()
		return false
	}
	value := r.Literal()
	if value != "true" && value != "false" {
		r.Wrong(Boolean)
	}
	return value == "true"
}

// TextRule is the rule that a text of any length breaks, "" for none.
func TextRule(value string) Rule {
	switch {
	case strings.IndexByte(value, 0) >= 0:
		return NoNUL
	case !utf8.ValidString(value):
		return UTF8
	}
	return ""
}

// IsLonger tells whether a text has more characters than the limit.
func IsLonger(value string, limit int) bool {
	return len(value) > limit && utf8.RuneCountInString(value) > limit
}

// Element reads an object inside a list, where null is no object.
func (r *Reader) Element(member func(key string)) {
	isNull := r.Next() == 'n'
	if !r.Object(member) || isNull {
		r.Wrong(Object)
	}
}

// time reads a time as we write it; null is the zero time.
func (r *Reader) time(parse func(string) (time.Time, bool)) (t time.Time) {
	if r.Next() == 'n' {
		r.Skip()
		return t
	}
	text := r.Text()
	t, ok := parse(text)
	if !ok {
		r.Wrong("is not a stored time: %q", text)
	}
	return t
}

// ID reads the id of a contact or a campaign that was sent; null is 0. It may be a text of digits: clients that keep
// all ids as texts send them so.
func (r *Reader) ID() int64 {
	var value string
	if r.Next() == '"' {
		if value = r.Text(); strings.Trim(value, "0123456789") != "" {
			r.Wrong(IDForm)
			return 0
		}
	} else {
		var ok bool
		if value, ok = r.Number(); !ok {
			return 0
		}
	}
	id, ok := text.ParseDecimal(value, 0, 18)
	if !ok {
		r.Wrong(IDForm)
	}
	return id
}

// Integer reads a number as we write it.
func (r *Reader) Integer() int64 {
	text, _ := r.Number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.Wrong("is not a stored number")
	}
	return n
}

func AppendText(dst []byte, value string) []byte {
	if value == "" {
		return append(dst, `null`...)
	}
	quoted, err := jsontext.AppendQuote(dst, value)
	if err != nil {
		panic(fmt.Sprintf("crm: text that was never checked for UTF-8 reached the document: %v", err))
	}
	return quoted
}

func AppendTime(dst []byte, t time.Time, format func([]byte, time.Time) []byte) []byte {
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

func AppendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendText(dst, text)
	}
	return append(dst, ']')
}

// Scalar reads a value of any kind: a text without its quotes and the spaces around it, a number as it was written.
func (r *Reader) Scalar() (kind jsontext.Kind, text string) {
	switch kind = r.Next(); kind {
	case '"':
		text = strings.TrimSpace(r.quoted())
	case '0':
		text, _ = r.Number()
	default:
		r.Skip()
	}
	return kind, text
}

// Raw reads a value as it is written.
func (r *Reader) Raw() string {
	if r.Err != nil {
		return ""
	}
	value, err := r.Dec.ReadValue()
	if err != nil {
		r.unreadable(err)
	}
	return string(value)
}

// TextOrNumber reads a text, or a number as it was written.
func (r *Reader) TextOrNumber() string {
	if r.Next() == '0' {
		text, _ := r.Number()
		return text
	}
	return r.Text()
}
