package assistant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Caller calls any operation of an API in this process by its name: for the command line, which has no tools of its own to choose.
type Caller struct {
	document document
	api      http.Handler
}

// NewCaller calls the operations of an API, which the OpenAPI document describes.
func NewCaller(openapi []byte, api http.Handler) *Caller {
	return &Caller{parseDocument(openapi), api}
}

// Operations are the names of all operations with their summaries, in the order of their paths.
func (c *Caller) Operations() (all [][2]string) {
	type known struct{ path, name, summary string }
	var found []known
	for path, item := range object(c.document["paths"]) {
		for method, described := range object(item) {
			op := object(described)
			found = append(found, known{path + " " + method, fmt.Sprint(op["operationId"]), fmt.Sprint(op["summary"])})
		}
	}
	slices.SortFunc(found, func(a, b known) int { return cmp.Compare(a.path, b.path) })
	for _, op := range found {
		all = append(all, [2]string{op.name, op.summary})
	}
	return all
}

// Explain says what an operation does and which arguments it takes.
func (c *Caller) Explain(name string) (words string, arguments [][2]string, ok bool) {
	op, ok := c.document.operation(name)
	if !ok {
		return "", nil, false
	}
	properties, required := object(op.schema["properties"]), op.schema["required"].([]string)
	for argument, schema := range properties {
		about := strings.TrimSpace(fmt.Sprint(cmp.Or(object(schema)["description"], any(""))))
		if values := list(object(schema)["enum"]); values != nil {
			about = strings.TrimSpace(about + " One of: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(values), "<nil>", "null"), "[]") + ".")
		}
		if slices.Contains(required, argument) {
			about = "Required. " + about
		}
		arguments = append(arguments, [2]string{argument, strings.Join(strings.Fields(about), " ")})
	}
	slices.SortFunc(arguments, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	return op.description, arguments, true
}

// Call makes a call with arguments such as tag=gala, beside those of a JSON object, which may be empty. The operation must be one of Operations. Nothing that is
// sent is ignored: what the operation does not take is refused.
func (c *Caller) Call(ctx context.Context, name string, more []byte, arguments []string) (status int, body []byte, err error) {
	op, ok := c.document.operation(name)
	if !ok {
		return 0, nil, told("There is no operation " + name + ".")
	}
	given, err := fields(more)
	if err != nil {
		return 0, nil, told("The input must be one JSON object in which each name occurs once.")
	}
	for _, argument := range arguments {
		key, value, found := strings.Cut(argument, "=")
		if !found {
			return 0, nil, told(fmt.Sprintf("%q is no argument: write name=value.", argument))
		}
		schema := object(object(op.schema["properties"])[key])
		if isOf(schema, "array") && !strings.HasPrefix(value, "[") { // one element; the name may be repeated
			var elements []json.RawMessage
			_ = json.Unmarshal(given[key], &elements)
			given[key], _ = json.Marshal(append(elements, typed(object(schema["items"]), value)))
			continue
		}
		given[key] = typed(schema, value)
	}
	all, err := json.Marshal(given)
	if err != nil {
		return 0, nil, err
	}
	r, err := op.request(ctx, all)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Del("Idempotency-Key") // no connection can be lost
	r.Header.Set("Prefer", "handling=strict")
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	record := &recorder{answer: answer{header: http.Header{}}, limit: maxPrinted}
	if !record.serve(c.api, r) {
		return 0, nil, broken
	}
	if record.large {
		return 0, nil, told("The answer is too long. Ask for fewer items with per_page.")
	}
	return record.status, record.body, nil
}

// maxPrinted is the longest answer that is printed: a page of the largest documents is shorter.
const maxPrinted = 64 << 20

// typed is a value as JSON: as it is where it is of a type that is no text and can be read as one, and a text otherwise.
func typed(schema map[string]any, value string) json.RawMessage {
	isText := isOf(schema, "string") || schema["oneOf"] == nil && schema["type"] == nil
	if json.Valid([]byte(value)) && (!isText || value == "null" && isOf(schema, "null")) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // a text is never refused
	return text
}

// isOf tells whether a schema has a type, beside others.
func isOf(schema map[string]any, name string) bool {
	return schema["type"] == name || slices.Contains(list(schema["type"]), any(name))
}

// Indented is JSON as people read it.
func Indented(body []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return body
	}
	return b.Bytes()
}
