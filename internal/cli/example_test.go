package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"donorbook/internal/api"
)

// exampleDocument is what the OpenAPI document says in examples.
type exampleDocument struct {
	Paths      map[string]map[string]exampleOperation
	Components struct{ Parameters map[string]exampleParameter }
}

type exampleOperation struct {
	Parameters  []exampleParameter
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
}

type exampleParameter struct {
	Name, In string
	Ref      string
	Required bool
	Example  any
}

// values are what a parameter is sent with.
func (p exampleParameter) values() (values []string) {
	list, ok := p.Example.([]any)
	if !ok {
		list = []any{p.Example}
	}
	for _, value := range list {
		values = append(values, fmt.Sprint(value))
	}
	return values
}

// checkExamples sends every example of the OpenAPI document to the demo: its ids are those of the demo, so that tests that are generated from the document run.
func checkExamples(p *process, key string) {
	t := p.t
	t.Helper()
	document := decode[exampleDocument](t, []byte(strings.ReplaceAll(string(api.Document()), `"$ref"`, `"ref"`)))
	sent, merge := 0, ""
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
		for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
			operation, ok := document.Paths[path][strings.ToLower(method)]
			if !ok || !strings.HasPrefix(path, "/v1/") {
				continue
			}
			address, queries := path, []string{""}
			for _, parameter := range operation.Parameters {
				if parameter.Ref != "" {
					parameter = document.Components.Parameters[parameter.Ref[strings.LastIndexByte(parameter.Ref, '/')+1:]]
				}
				switch {
				case parameter.In == "path":
					address = strings.ReplaceAll(address, "{"+parameter.Name+"}", url.PathEscape(parameter.values()[0]))
				case parameter.In == "query" && parameter.Example != nil:
					query := "?" + url.Values{parameter.Name: parameter.values()}.Encode()
					if parameter.Required {
						queries = nil
					}
					queries = append(queries, query)
				}
			}
			bodies := []string{""}
			if examples := operation.RequestBody.Content["application/json"].Examples; len(examples) > 0 {
				bodies = nil
				for _, name := range slices.Backward(slices.Sorted(maps.Keys(examples))) { // a part is refunded before all of it
					bodies = append(bodies, string(examples[name].Value))
				}
			}
			if strings.HasPrefix(path, "/v1/merges/") { // no number of the history is the same in every demo
				address = strings.Replace(path, "{id}", merge, 1)
			}
			for _, query := range queries {
				for _, body := range bodies {
					_, _ = p.send(key, http.MethodPost, "/v1/contacts/41/tags/add", `{"tags":["alumni"]}`) // an example before may have renamed it
					answer := must(p.send(key, method, address+query, body))(t)
					sent++
					merge = cmp.Or(answer.header.Get("X-Merge-Id"), merge)
					hasGifts := method+" "+path == "DELETE /v1/campaigns/{id}" && answer.status == http.StatusConflict
					if answer.status/100 != 2 && !hasGifts {
						t.Errorf("%s %s %s: %d %s", method, address+query, body, answer.status, answer.body)
					}
				}
			}
		}
	}
	if sent < 100 {
		t.Errorf("%d examples were sent", sent)
	}
}
