package assistant

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// document is the OpenAPI document.
type document map[string]any

func parseDocument(text []byte) (d document) {
	_ = json.Unmarshal(text, &d) // it is part of the program
	return d
}

// operation is one operation of the API: where each argument of its tool goes, and the schema of all of them.
type operation struct {
	method, path string
	permission   string
	description  string
	place        map[string]string // of each argument: path, query or body
	schema       map[string]any
	headers      []string // of its answers, beside those that others have as well
}

func (op operation) readOnly() bool { return op.method == http.MethodGet }

// operation finds an operation by its id.
func (d document) operation(id string) (operation, bool) {
	for path, item := range object(d["paths"]) {
		for method, described := range object(item) {
			if op := object(described); op["operationId"] == id {
				return d.read(strings.ToUpper(method), path, op), true
			}
		}
	}
	return operation{}, false
}

func (d document) read(method, path string, described map[string]any) operation {
	op := operation{method: method, path: path, place: map[string]string{}}
	op.permission, _ = described["x-permission"].(string)
	op.description, _ = described["description"].(string)
	properties, required := map[string]any{}, []string{}
	body := d.body(described)
	for name, property := range object(body["properties"]) {
		op.place[name], properties[name] = "body", property
	}
	for _, name := range list(body["required"]) {
		required = append(required, name.(string))
	}
	for _, parameter := range list(described["parameters"]) {
		p := object(d.resolved(parameter))
		name, place := p["name"].(string), p["in"].(string)
		if place == "header" || p["deprecated"] == true {
			continue
		}
		schema := object(p["schema"])
		schema["description"] = p["description"]
		if other := p["x-other-spelling"]; other != nil {
			schema["x-other-spelling"] = other
		}
		op.place[name], properties[name] = place, schema
		if p["required"] == true {
			required = append(required, name)
		}
	}
	for _, answer := range object(described["responses"]) {
		for name := range object(object(answer)["headers"]) {
			common := strings.HasPrefix(name, "X-RateLimit-") || strings.HasPrefix(name, "X-Ignored-") || name == "X-Request-Id" || !strings.HasPrefix(name, "X-")
			if !common && !slices.Contains(op.headers, name) {
				op.headers = append(op.headers, name)
			}
		}
	}
	slices.Sort(op.headers)
	slices.Sort(required)
	op.schema = map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	return op
}

// body is the schema of an operation's JSON body, empty if it has none.
func (d document) body(described map[string]any) map[string]any {
	content := object(object(object(described["requestBody"])["content"])["application/json"])
	return object(d.resolved(content["schema"]))
}

// resolved is a copy of a part of the document with what it refers to in place, and without examples, which only cost an assistant's attention.
func (d document) resolved(part any) any {
	switch part := part.(type) {
	case map[string]any:
		if reference, ok := part["$ref"].(string); ok {
			return d.resolved(d.at(reference))
		}
		whole := make(map[string]any, len(part))
		for key, value := range part {
			if key != "example" && key != "examples" {
				whole[key] = d.resolved(value)
			}
		}
		return whole
	case []any:
		whole := make([]any, len(part))
		for i, value := range part {
			whole[i] = d.resolved(value)
		}
		return whole
	}
	return part
}

// at is the part that a reference such as #/components/schemas/ContactInput names.
func (d document) at(reference string) any {
	part := map[string]any(d)
	for _, key := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
		part = object(part[key])
	}
	return part
}

func object(part any) map[string]any {
	o, _ := part.(map[string]any)
	return o
}

func list(part any) []any {
	l, _ := part.([]any)
	return l
}
