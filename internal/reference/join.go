package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	yaml "github.com/oasdiff/yaml3"

	"donorbook/internal/rig/rows"
)

// Operation is what the API's table of operations knows of one of them.
type Operation struct {
	Method, Path, Name, Permission string
	Parameter                      string // of its path, in the document; "" for none
	Own                            string // what an id must be one of, "" for what the answer 403 says by itself
	Noun                           string // of a document that has an ETag; "" for none
	List, Body, Needed             bool   // it is a list; it takes a body, and needs one
	Repeatable                     bool   // it takes an Idempotency-Key
	Like                           string // the operation that it is under another method; "" for none
}

// Join makes the OpenAPI document from the prose, schemas and examples in openapi.yaml and the operations of the API: as YAML, and the same as JSON.
func Join(prose []byte, operations []Operation) (asYAML, asJSON []byte) {
	var file yaml.Node
	check(yaml.Unmarshal(prose, &file))
	root := file.Content[0]
	texts := get(root, "operations")
	paths := object()
	for _, op := range operations {
		item := get(paths, op.Path)
		if item == nil {
			item = object()
			put(paths, op.Path, item)
		}
		put(item, strings.ToLower(op.Method), op.describe(texts))
		if op.List {
			name, schema := page(get(get(get(texts, op.Name), "answers"), "200"))
			put(get(get(root, "components"), "schemas"), name, schema)
		}
	}
	if left := len(texts.Content)/2 - len(operations); left != 0 {
		panic(fmt.Sprintf("openapi.yaml describes %d operations that the API does not have", left))
	}
	at := slices.IndexFunc(root.Content, func(n *yaml.Node) bool { return n == texts })
	root.Content[at-1], root.Content[at] = text("paths"), paths
	responses := get(get(root, "components"), "responses")
	for i := 1; i < len(responses.Content); i += 2 {
		withHeaders(responses.Content[i])
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	check(encoder.Encode(&file))
	var compact, indented bytes.Buffer
	writeNode(&compact, root)
	check(json.Indent(&indented, compact.Bytes(), "", "  "))
	return out.Bytes(), append(indented.Bytes(), '\n')
}

// describe is an operation as the document has it.
func (op *Operation) describe(texts *yaml.Node) *yaml.Node {
	prose := get(texts, op.Name)
	if prose == nil {
		panic(op.Name + " is not in openapi.yaml")
	}
	of := prose
	var same *yaml.Node
	if op.Like != "" {
		of, same = get(texts, op.Like), text(op.Like)
	}
	d := object("operationId", text(op.Name), "summary", get(prose, "summary"), "description", get(prose, "description"), "tags", get(of, "tags"),
		"security", list(object("key", list())), "x-permission", text(op.Permission), "x-same-as", same)
	if parameters := op.parameters(of); len(parameters.Content) > 0 {
		put(d, "parameters", parameters)
	}
	if op.Body {
		put(d, "requestBody", op.body(get(of, "body")))
	}
	put(d, "responses", op.answers(get(of, "answers")))
	return d
}

// parameters are those of the path, those of the query as the prose has them, and those that all operations of the kind have.
func (op *Operation) parameters(prose *yaml.Node) *yaml.Node {
	all := list()
	add := func(when bool, name string) {
		if when {
			all.Content = append(all.Content, ref("parameters", name))
		}
	}
	add(op.Parameter != "", op.Parameter)
	if own := get(prose, "parameters"); own != nil {
		all.Content = append(all.Content, own.Content...)
	}
	add(op.List, "page")
	add(op.List, "perPage")
	add(op.Noun != "" && op.Method == "GET", "ifNoneMatch")
	add(op.Noun != "" && op.Method != "GET", "ifMatch")
	add(op.Repeatable, "idempotencyKey")
	return all
}

func (op *Operation) body(prose *yaml.Node) *yaml.Node {
	return object("required", scalar("!!bool", fmt.Sprint(op.Needed)), "description", get(prose, "description"), "content", content(get(prose, "schema"), get(prose, "examples")))
}

// answers are the successes and refusals that the prose has, and those that follow from what the operation is.
func (op *Operation) answers(prose *yaml.Node) *yaml.Node {
	all := object()
	for status := range strings.FieldsSeq("200 201 202 204 304 400 401 403 404 405 408 409 412 413 415 422 429 500 503") {
		told := get(prose, status)
		switch {
		case told != nil && status < "300":
			put(all, status, op.success(told))
		case told != nil && get(told, "$ref") != nil:
			put(all, status, told)
		case told != nil && status != "403":
			put(all, status, op.refusal(status, told))
		default:
			if answer := op.usual(status); answer != nil {
				if told != nil {
					set(answer, "description", get(told, "description"))
				}
				put(all, status, answer)
			}
		}
	}
	return all
}

// success is an answer with what was asked for.
func (op *Operation) success(told *yaml.Node) *yaml.Node {
	schema, examples := get(told, "schema"), get(told, "examples")
	if op.List {
		name, _ := page(told)
		schema, examples = text(name), op.pages(examples)
	}
	headers := object()
	if schema != nil && slices.Contains(tagged, schema.Value) {
		put(headers, "ETag", ref("headers", "ETag"))
	}
	if op.List {
		put(headers, "Link", ref("headers", "Link"))
	}
	put(headers, "X-Ignored-Query", ref("headers", "IgnoredQuery"))
	if op.Method != "GET" {
		put(headers, "X-Ignored-Body", ref("headers", "IgnoredBody"))
	}
	if op.Repeatable {
		put(headers, "Idempotent-Replayed", ref("headers", "Replayed"))
	}
	if more := get(told, "headers"); more != nil {
		for i := 0; i < len(more.Content); i += 2 {
			put(headers, more.Content[i].Value, ref("headers", more.Content[i+1].Value))
		}
	}
	answer := object("description", get(told, "description"), "headers", headers, "content", get(told, "content"))
	if schema != nil {
		put(answer, "content", content(schema, examples))
	}
	return withHeaders(answer)
}

// page is the schema of a page of a list, and its name.
func page(told *yaml.Node) (name string, schema *yaml.Node) {
	items, words := get(told, "items").Value, get(told, "description").Value
	data := "The " + strings.TrimSuffix(strings.TrimPrefix(words, "One page of "), ".") + " of this page"
	if order := get(told, "order"); order != nil {
		data += ", " + order.Value
	}
	return strings.TrimSuffix(items, "Definition") + "Page", object(
		"type", text("object"), "description", text(words), "additionalProperties", scalar("!!bool", "false"), "required", list(text("data"), text("links"), text("meta")),
		"properties", object(
			"data", object("type", text("array"), "maxItems", scalar("!!int", "100"), "description", text(data+"."), "items", ref("schemas", items)),
			"links", ref("schemas", "PageLinks"), "meta", ref("schemas", "PageMeta")))
}

// pages are the examples of a list. Where one has data alone, that is all of the list.
func (op *Operation) pages(examples *yaml.Node) *yaml.Node {
	all := object()
	for i := 0; i < len(examples.Content); i += 2 {
		example, data := examples.Content[i+1], get(examples.Content[i+1], "data")
		if data != nil {
			url := "https://give.example.org" + strings.Replace(op.Path, "{id}", "41", 1)
			count, one, null := scalar("!!int", fmt.Sprint(len(data.Content))), scalar("!!int", "1"), scalar("!!null", "null")
			only := text(url + "?page=1")
			step := func(url *yaml.Node, label, active string) *yaml.Node {
				return object("url", url, "label", text(label), "active", scalar("!!bool", active))
			}
			example = object("summary", get(example, "summary"), "value", object("data", data,
				"links", object("first", only, "last", only, "prev", null, "next", null),
				"meta", object("current_page", one, "from", one, "last_page", one,
					"links", list(step(null, "&laquo; Previous", "false"), step(only, "1", "true"), step(null, "Next &raquo;", "false")),
					"path", text(url), "per_page", scalar("!!int", "20"), "to", count, "total", count)))
		}
		put(all, examples.Content[i].Value, example)
	}
	return all
}

// tagged are the documents that have an ETag.
var tagged = []string{"Contact", "Campaign", "Transaction", "Plan"}

// refusal is an answer that the prose explains.
func (op *Operation) refusal(status string, told *yaml.Node) *yaml.Node {
	schema, examples := "Error", get(told, "examples")
	if status == "422" {
		schema = "ValidationError"
		if op.Repeatable {
			if examples == nil {
				examples = object()
			}
			examples = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: slices.Clone(examples.Content)}
			put(examples, "reusedKey", ref("examples", "reusedKey"))
		}
	}
	answer := withHeaders(object("description", get(told, "description"), "headers", object(), "content", content(text(schema), examples)))
	if op.Repeatable && status != "409" {
		put(get(answer, "headers"), "Idempotent-Replayed", ref("headers", "Replayed"))
	}
	return answer
}

// usual is the answer that every operation of its kind has, nil for none.
func (op *Operation) usual(status string) *yaml.Node {
	switch {
	case status == "304" && op.Noun != "" && op.Method == "GET":
		told := "The " + op.Noun + " is still in the state that `If-None-Match` names. The answer has no body."
		return withHeaders(object("description", text(told), "headers", object("ETag", ref("headers", "ETag"))))
	case status == "400" && op.Repeatable && !op.Body:
		const told = "The request has an `Idempotency-Key`, and its body could not be read to its end."
		return described(ref("responses", "BadRequest"), told)
	case status == "403" && op.Own != "":
		told := "The key lacks the permission `" + op.Permission + "`, or the id is not one of " + op.Own + "."
		return described(ref("responses", "Forbidden"), told)
	case status == "403" && op.Noun != "contact" && op.Parameter != "contactId":
		return described(ref("responses", "Forbidden"), "The key lacks the permission `"+op.Permission+"`.")
	}
	is := map[string]bool{
		"": true, "a list": op.List, "repeatable": op.Repeatable, "at a path": op.Parameter != "", "a document": op.Noun != "",
		"with a body": op.Body,
	}
	for _, usual := range rows.Of[struct{ Status, Name, When string }](`
		400  BadQuery          a list
		400  BadRequest        repeatable
		401  Unauthenticated   ""
		403  Forbidden         ""
		404  NotFound          at a path
		405  MethodNotAllowed  ""
		408  RequestTimeout    repeatable
		412  NotMatched        a document
		412  NoTag             ""
		413  BodyTooLarge      repeatable
		415  NotJSON           with a body
		422  PageRefused       a list
		422  RetryKeyRefused   repeatable
		422  NotAccepted       ""
		429  TooManyRequests   ""
		500  InternalError     ""
		503  Unavailable       ""
	`) {
		if usual.Status == status && is[usual.When] {
			return ref("responses", usual.Name)
		}
	}
	return nil
}

// withHeaders gives an answer the headers that every answer has.
func withHeaders(answer *yaml.Node) *yaml.Node {
	headers := object("X-Request-Id", ref("headers", "RequestId"), "X-RateLimit-Limit", ref("headers", "RateLimit"), "X-RateLimit-Remaining", ref("headers", "RateRemaining"))
	if more := get(answer, "headers"); more != nil {
		headers.Content = append(headers.Content, more.Content...)
		*more = *headers
		return answer
	}
	answer.Content = slices.Insert(answer.Content, 2, text("headers"), headers) // after the description
	return answer
}

// content is JSON of a schema, which may be given by its name.
func content(schema, examples *yaml.Node) *yaml.Node {
	if schema.Kind == yaml.ScalarNode {
		schema = ref("schemas", schema.Value)
	}
	return object("application/json", object("schema", schema, "examples", examples))
}

func described(answer *yaml.Node, words string) *yaml.Node {
	answer.Style = 0
	put(answer, "description", text(words))
	return answer
}

func ref(kind, name string) *yaml.Node {
	n := object("$ref", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "#/components/" + kind + "/" + name, Style: yaml.DoubleQuotedStyle})
	n.Style = yaml.FlowStyle
	return n
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

func text(value string) *yaml.Node { return scalar("!!str", value) }

func list(elements ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: elements}
}

// object is an object of keys and values; a value that is nil is left out.
func object(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i < len(pairs); i += 2 {
		put(n, pairs[i].(string), pairs[i+1].(*yaml.Node))
	}
	return n
}

func put(n *yaml.Node, key string, value *yaml.Node) {
	if value != nil {
		n.Content = append(n.Content, text(key), value)
	}
}

func set(n *yaml.Node, key string, value *yaml.Node) {
	if old := get(n, key); old != nil {
		*old = *value
		return
	}
	n.Style = 0
	put(n, key, value)
}

func get(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// writeNode writes JSON and keeps the order of keys, which a map would lose: readers see the fields in the order of the document.
func writeNode(b *bytes.Buffer, node *yaml.Node) {
	switch {
	case node.Kind == yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i < len(node.Content); i += 2 {
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, node.Content[i].Value)
			b.WriteByte(':')
			writeNode(b, node.Content[i+1])
		}
		b.WriteByte('}')
	case node.Kind == yaml.SequenceNode:
		b.WriteByte('[')
		for i, element := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeNode(b, element)
		}
		b.WriteByte(']')
	case node.Kind != yaml.ScalarNode:
		panic(fmt.Sprintf("line %d: anchors and aliases have no place in the document", node.Line))
	case node.Tag == "!!str":
		writeText(b, node.Value)
	case node.Tag == "!!int", node.Tag == "!!float", node.Tag == "!!bool", node.Tag == "!!null":
		b.WriteString(node.Value)
	default:
		panic(fmt.Sprintf("line %d: %q is read as %s: put it in quotes", node.Line, node.Value, node.Tag))
	}
}

func writeText(b *bytes.Buffer, text string) {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(text))
	b.Truncate(b.Len() - 1) // the encoder ends with a line feed
}
