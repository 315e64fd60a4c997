package assistant

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// Operation is an operation of the API for the command line.
type Operation struct {
	Name, Noun, Summary, Words string // Noun is what its path begins with, such as contacts
	Arguments                  []Argument
	Columns                    []string // of the elements of a list: those that are no objects; nil where it is no list
}

// Argument is a value that an operation takes.
type Argument struct {
	Name, Words     string
	IsPath          bool // it is a part of the path
	IsList, IsYesNo bool
	IsText          bool
	IsOtherSpelling bool // of another argument
}

// Operations are all operations, in the order of their paths.
func (c *Caller) Operations() (all []Operation) {
	paths := object(c.document["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := object(paths[path])
		for _, method := range []string{"get", "post", "patch", "delete"} {
			described := object(item[method])
			if described == nil || described["x-same-as"] != nil {
				continue
			}
			op := c.document.read(strings.ToUpper(method), path, described)
			all = append(all, Operation{
				Name: described["operationId"].(string), Noun: strings.Split(path, "/")[2], Summary: described["summary"].(string), Words: op.description,
				Arguments: op.arguments(), Columns: c.document.columns(described),
			})
		}
	}
	return all
}

// arguments are those of the path, those that are needed, and the others.
func (op operation) arguments() (all []Argument) {
	required := op.schema["required"].([]string)
	for name, described := range object(op.schema["properties"]) {
		schema := object(described)
		about, _ := schema["description"].(string)
		if values := list(schema["enum"]); values != nil {
			about += " One of: " + strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " <nil>", "") + "."
		}
		if slices.Contains(required, name) {
			about = "Required. " + about
		}
		all = append(all, Argument{Name: name, Words: strings.Join(strings.Fields(about), " "), IsPath: op.place[name] == "path", IsList: isOf(schema, "array"), IsYesNo: isOf(schema, "boolean"),
			IsText: isOf(schema, "string"), IsOtherSpelling: schema["x-other-spelling"] == true})
	}
	rank := func(a Argument) int {
		switch {
		case a.IsPath:
			return 0
		case slices.Contains(required, a.Name):
			return 1
		}
		return 2
	}
	slices.SortFunc(all, func(a, b Argument) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// columns are the fields of the elements of a list that fit into a line.
func (d document) columns(described map[string]any) (names []string) {
	content := object(object(object(object(described["responses"])["200"])["content"])["application/json"])
	data := object(object(object(d.resolved(content["schema"]))["properties"])["data"])
	items := object(data["items"])
	for _, name := range list(items["required"]) {
		field := object(object(items["properties"])[name.(string)])
		if isOf(field, "string") || isOf(field, "integer") || isOf(field, "number") || isOf(field, "boolean") || isOf(field, "array") && isOf(object(field["items"]), "string") {
			names = append(names, name.(string))
		}
	}
	return names
}

// Result is the answer to a call.
type Result struct {
	Status int
	Body   []byte
	Notes  []string // what its headers say beside the body, such as the id of a merge
}

// notes are the headers of an answer that only some operations have.
func (op operation) notes(header http.Header) (lines []string) {
	for _, name := range op.headers {
		if value := header.Get(name); value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}

// Call makes a call with arguments such as tag=gala, beside those of a JSON object, which may be empty. The operation must be one of Operations. Nothing that is
// sent is ignored: what the operation does not take is refused.
func (c *Caller) Call(ctx context.Context, name string, more []byte, arguments []string) (Result, error) {
	op, ok := c.document.operation(name)
	if !ok {
		return Result{}, told("There is no operation " + name + ".")
	}
	given, err := fields(more)
	if err != nil {
		return Result{}, told("The input must be one JSON object in which each name occurs once.")
	}
	for _, argument := range arguments {
		key, value, found := strings.Cut(argument, "=")
		if !found {
			return Result{}, told(fmt.Sprintf("%q is no argument: write name=value.", argument))
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
		return Result{}, err
	}
	r, err := op.request(ctx, all)
	if err != nil {
		return Result{}, err
	}
	r.Header.Del("Idempotency-Key") // no connection can be lost
	r.Header.Set("Prefer", "handling=strict")
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	record := &recorder{answer: answer{header: http.Header{}}, limit: maxPrinted}
	if !record.serve(c.api, r) {
		return Result{}, broken
	}
	if record.large {
		return Result{}, told("The answer is too long. Ask for fewer items with per_page.")
	}
	return Result{record.status, record.body, op.notes(record.header)}, nil
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
