package doc

import "bytes"

// CutField finds the first field of a name in the body of a stored document, which is JSON without spaces, and cuts the
// body around its value. No text in it can be taken for the name: its quotes are escaped. What a body says is found in
// this way where reading all of it would take too long.
func CutField(body []byte, name string) (before, value, after []byte, found bool) {
	field := `,"` + name + `":`
	at := bytes.Index(body, []byte(field))
	if at < 0 {
		return body, nil, nil, false
	}
	at += len(field)
	end := at + valueEnd(body[at:])
	return body[:at], body[at:end], body[end:], true
}

// valueEnd is where the value ends that a text begins with.
func valueEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case depth == 0 && (c == ',' || c == ']' || c == '}'):
			return i
		case c == ']' || c == '}':
			depth--
		}
	}
	return len(text)
}
