package crm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads one JSON document that a person or program sent. It is strict about JSON itself (a repeated
// key, bad UTF-8 or text after the end make the document unreadable) and collects everything that is wrong with
// the values, so that the sender hears of all faults at once.
type jsonReader struct {
	dec   *jsontext.Decoder
	what  string // how the document is called in messages, as in "The request body"
	err   error  // the document cannot be read; everything after is skipped
	fault Invalid
}

func newJSONReader(what string, document []byte) *jsonReader {
	return &jsonReader{dec: jsontext.NewDecoder(bytes.NewBuffer(document)), what: what}
}

// end checks that nothing follows, and returns what was found wrong.
func (r *jsonReader) end() error {
	if r.err == nil {
		if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
			r.unreadable(err)
		}
	}
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
			key := r.token().String()
			if r.err == nil {
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
func (r *jsonReader) list(path string, limit int, element func(path string)) (sent bool) {
	switch r.next() {
	case '[':
		r.token()
		n := 0
		for ; r.err == nil && r.dec.PeekKind() != ']'; n++ {
			if n < limit {
				element(path + "." + strconv.Itoa(n))
			} else {
				r.skip()
			}
		}
		r.token()
		if n > limit && r.err == nil {
			r.fault.Add(path, "The %s field must not have more than %d elements.", path, limit)
		}
		return true
	case 'n':
		r.skip()
		return false
	default:
		r.skip()
		if r.err == nil {
			r.fault.Add(path, "The %s field must be an array.", path)
		}
		return false
	}
}

// anyLength leaves the length of a text to whoever validates it.
const anyLength = math.MaxInt

// text reads a string of at most limit characters, trimmed. null and "" are both "".
func (r *jsonReader) text(path string, limit int) *string {
	var value string
	switch r.next() {
	case '"':
		token := r.token()
		if r.err != nil {
			return &value
		}
		value = strings.TrimSpace(token.String())
		if problem := textProblem(value, limit); problem != "" {
			r.fault.Add(path, "The %s field %s.", path, problem)
		}
	case 'n':
		r.skip()
	default:
		r.skip()
		if r.err == nil {
			r.fault.Add(path, "The %s field must be a string.", path)
		}
	}
	return &value
}

// number reads a number as it was written, so that nothing is rounded. null is 0. ok is false where the value was
// no number, which is noted.
func (r *jsonReader) number(path string) (text string, ok bool) {
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
	if r.err == nil {
		r.fault.Add(path, "The %s field must be a number.", path)
	}
	return "", false
}

// boolean reads true or false. null is false.
func (r *jsonReader) boolean(path string) *bool {
	kind := r.next()
	r.skip()
	if r.err == nil && kind != 't' && kind != 'f' && kind != 'n' {
		r.fault.Add(path, "The %s field must be true or false.", path)
	}
	value := kind == 't'
	return &value
}

// textProblem says what is wrong with a text as the end of a sentence, "" where nothing is.
func textProblem(value string, limit int) string {
	switch {
	case strings.IndexByte(value, 0) >= 0:
		return "must not contain NUL characters"
	case !utf8.ValidString(value):
		return "must be valid UTF-8"
	case len(value) > limit && utf8.RuneCountInString(value) > limit:
		return fmt.Sprintf("must not be longer than %d characters", limit)
	}
	return ""
}
