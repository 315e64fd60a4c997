package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"donorbook/internal/api"
)

func TestOpenAPIDocumentIsValid(t *testing.T) {
	loader := openapi3.NewLoader()
	loader.Context = t.Context()
	document := must(loader.LoadFromData(api.Document()))(t)
	// Examples are checked against their schemas as well: that is kin-openapi's default.
	succeed(t, document.Validate(loader.Context, openapi3.EnableMultiError()))
}

// Clients rely on every key being present, and tests rely on there being no other key, so a schema that is less strict
// would hide drift.
func TestOpenAPIAnswersAreClosed(t *testing.T) {
	document := must(openapi3.NewLoader().LoadFromData(api.Document()))(t)
	for name, ref := range document.Components.Schemas {
		schema := ref.Value
		if strings.HasSuffix(name, "Input") || strings.HasSuffix(name, "Patch") {
			if schema.AdditionalProperties.Has != nil {
				t.Errorf("%s: unknown keys of a request are ignored, but the schema refuses them", name)
			}
			continue
		}
		if open := schema.AdditionalProperties.Has; open == nil || *open {
			t.Errorf("%s: the schema of an answer must have additionalProperties: false", name)
		}
		for property := range schema.Properties {
			if !slices.Contains(schema.Required, property) && property != "erased_at" && property != "merged_into" &&
				!strings.HasPrefix(property, "benefit") && (name != "Transaction" ||
				!slices.Contains([]string{"external_ids", "thanks", "thanked_at", "thanked_by", "receipt", "voided"},
					// which only erased or merged contacts have, gifts and campaigns whose donors get something, gifts
					// with several ids or a receipt, or those to thank for
					property)) {
				t.Errorf("%s: %s is always present, but the schema does not require it", name, property)
			}
		}
	}
}

// Strict validators and client generators refuse formats that they do not know, some accept date-time only with Z, and
// a number without a format becomes a 32-bit float, which cannot hold cents.
func TestOpenAPIHasFormatsThatEveryToolKnows(t *testing.T) {
	known := []string{"int64", "double", "uri", "date-time"}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case []any:
			for i, element := range value {
				walk(fmt.Sprint(path, "/", i), element)
			}
		case map[string]any:
			format, _ := value["format"].(string)
			pattern, _ := value["pattern"].(string)
			if format != "" && !slices.Contains(known, format) {
				t.Errorf("%s: not every tool knows the format %s", path, format)
			}
			if format == "date-time" && !strings.HasSuffix(pattern, "Z$") {
				t.Errorf("%s: strict tools take date-time only with Z, so describe the time by a pattern alone", path)
			}
			_, isProperty := value["type"].(map[string]any) // a property that is called type
			if isNumber := strings.Contains(fmt.Sprint(value["type"]), "number"); isNumber && !isProperty &&
				format != "double" {
				t.Errorf("%s: a number needs the format double", path)
			}
			for key, inside := range value {
				if key != "example" && key != "examples" {
					walk(path+"/"+key, inside)
				}
			}
		}
	}
	var document any
	succeed(t, json.Unmarshal(api.Document(), &document))
	walk("", document)
}

// An integrator reads in the document where to look when a filter has no effect, and how to page.
func TestOpenAPINamesTheHeadersOfEveryAnswer(t *testing.T) {
	document := must(openapi3.NewLoader().LoadFromData(api.Document()))(t)
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				if !strings.HasPrefix(path, "/v1/") || !strings.HasPrefix(status, "2") {
					continue
				}
				names := []string{"X-Ignored-Query"}
				if strings.HasPrefix(operation.OperationID, "list") {
					names = append(names, "Link")
				}
				for _, name := range names {
					if response.Value.Headers[name] == nil {
						t.Errorf("%s %s: the answer %s has no header %s", method, path, status, name)
					}
				}
			}
		}
	}
}

// A client that is generated from the document sends the keys that it lists. So each key that it lists for a contact is
// read: a value that no key accepts is an error of that key, and is not ignored.
func TestEveryInputOfTheDocumentIsRead(t *testing.T) {
	c := must(loadContract())(t)
	s := anyServer(t)
	key := s.anyKey(t)
	id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
	for method, target := range map[string]string{"POST": "/v1/contacts", "PATCH": "/v1/contacts/{id}",
		"PUT": "/v1/contacts/{id}"} {
		body := c.document.Paths.Find(target).GetOperation(method).RequestBody.Value.Content.Get("application/json")
		target = strings.Replace(target, "{id}", id, 1)
		for property := range body.Schema.Value.Properties {
			value := "{}"
			switch property { // what may be an object
			case "custom_fields":
				value = "5"
			case "address", "external_id":
				value = "[]"
			}
			got := s.ask(t, method, target, key, `{"`+property+`":`+value+`}`)
			equal(t, got.status, 422, "%s %s takes anything for %s", method, target, property)
			contains(t, got.body, `"`+property+`":["The `+property+` field must be `,
				"%s %s takes anything for %s", method, target, property)
		}
		for name, example := range body.Examples {
			sent := must(json.Marshal(example.Value.Value))(t)
			if got := s.ask(t, method, target, key, string(sent)); got.status >= 300 {
				t.Errorf("%s %s: the example %s is refused: %s", method, target, name, got.body)
			}
		}
	}
}
