package assistant

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"donorbook/internal/guard"
	"log/slog"
)

// call makes one call of a tool. What goes wrong is told to the assistant in the result, so that it can correct itself.
func call(ctx context.Context, op operation, arguments []byte, send sender) (result *mcp.CallToolResult) {
	err := guard.Do(func() error { result = answerTo(ctx, op, arguments, send); return nil })
	if err != nil {
		slog.ErrorContext(ctx, "a tool has failed", "error", err)
		return failed(string(broken))
	}
	return result
}

func answerTo(ctx context.Context, op operation, arguments []byte, send sender) *mcp.CallToolResult {
	r, err := op.request(ctx, arguments)
	if err != nil {
		return failed(err.Error())
	}
	a, err := send(r)
	switch {
	case err != nil:
		return failed(err.Error())
	case a.large:
		return failed("The answer is too long. Ask for fewer items with per_page, or use a filter.")
	}
	return a.result()
}

// request is the request of a call. It refuses arguments that the operation does not have: the API ignores them, and a filter that is
// ignored answers with everyone.
func (op operation) request(ctx context.Context, arguments []byte) (*http.Request, error) {
	given, err := fields(arguments)
	if err != nil {
		return nil, told("The arguments must be one JSON object in which each name occurs once.")
	}
	path, query, body := op.path, url.Values{}, map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch value := given[name]; op.place[name] {
		case "path":
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(plain(value)), 1)
		case "query":
			list := texts(value)
			if len(list) == 0 && string(value) != "null" {
				return nil, told("The " + name + " argument must not be an empty list: leave it out to list all.")
			}
			for _, text := range list {
				query.Add(name, text)
			}
		case "body":
			body[name] = value
		default:
			return nil, told(fmt.Sprintf("There is no argument %.100s. Use only: %s.", name, strings.Join(slices.Sorted(maps.Keys(op.place)), ", ")))
		}
	}
	if _, rest, missing := strings.Cut(path, "{"); missing {
		name, _, _ := strings.Cut(rest, "}")
		return nil, told("The " + name + " argument is required.")
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return op.sendable(ctx, path, body)
}

// fields are the members of an object, which may be absent.
func fields(text []byte) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if len(text) == 0 || string(text) == "null" {
		return members, nil
	}
	in := jsontext.NewDecoder(bytes.NewReader(text)) // refuses repeated names and bad UTF-8
	if token, err := in.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, cmp.Or(err, error(told("no object")))
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return nil, err
		}
		members[key] = slices.Clone([]byte(value))
	}
	return members, nil
}

// sendable is a request that can be sent again after a lost connection, if its method allows that: it counts once.
func (op operation) sendable(ctx context.Context, path string, body map[string]json.RawMessage) (*http.Request, error) {
	var content []byte
	if slices.Contains(slices.Collect(maps.Values(op.place)), "body") {
		content, _ = json.Marshal(body) // they are JSON already
	}
	r, err := http.NewRequestWithContext(ctx, op.method, path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if !op.readOnly() && op.method != http.MethodDelete { // which the API does not keep an answer of
		r.Header.Set("Idempotency-Key", "mcp-"+rand.Text())
	}
	return r, nil
}

// texts are the values of a query parameter: each element of a list, and none of null.
func texts(value json.RawMessage) []string {
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil { // null is a list without elements
		elements = []json.RawMessage{value}
	}
	list := make([]string, 0, len(elements))
	for _, element := range elements {
		list = append(list, plain(element))
	}
	return list
}

// plain is a string without its quotes; other values are as they were written.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}

// result is the answer as structured content, and the same as text for assistants that read only that.
func (a answer) result() *mcp.CallToolResult {
	text, result := string(a.body), &mcp.CallToolResult{}
	record := json.Valid(a.body) && bytes.HasPrefix(a.body, []byte("{"))
	if record {
		result.StructuredContent = json.RawMessage(a.body)
	}
	switch {
	case a.status == http.StatusUnauthorized:
		result.IsError, text = true, "The API key is missing, incorrect, expired or revoked. Ask the person who set up this connection."
	case a.status >= http.StatusMultipleChoices, text != "" && !record:
		result.IsError, text = true, fmt.Sprintf("Donorbook answered %d: %.2000s", a.status, text)
		if wait := a.header.Get("Retry-After"); wait != "" {
			text += " Try again after " + wait + " seconds."
		}
	case text == "":
		text = "Done."
	}
	result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
	if a.header.Get("X-Contact-Merged") == "true" {
		result.Content = append(result.Content, &mcp.TextContent{Text: "This person was already a contact, so the details were merged into it."})
	}
	return result
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
