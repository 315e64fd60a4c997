package api

import (
	"bytes"
	"encoding/json"
	"path"
)

// openapi is the document, as far as the page shows it.
type openapi struct {
	Info       struct{ Title, Version, Summary, Description string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[ordered[operation]]
	Components struct {
		Schemas    ordered[*schema]
		Parameters ordered[parameter]
		Headers    ordered[parameter]
		Responses  ordered[response]
		Examples   ordered[example]
	}
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Security                          []map[string][]string
	Parameters                        []parameter
	RequestBody                       struct {
		Description string
		Content     ordered[content]
	}
	Responses ordered[response]
}

// parameter is a query or path parameter, or a header, which has no name of its own.
type parameter struct {
	Ref                   string `json:"$ref"`
	Name, In, Description string
	Required              bool
	Schema                *schema
	Example               json.RawMessage
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     ordered[parameter]
	Content     ordered[content]
}

type content struct {
	Schema   *schema
	Examples ordered[example]
}

type example struct {
	Ref     string `json:"$ref"`
	Summary string
	Value   json.RawMessage
}

type schema struct {
	Ref                                      string `json:"$ref"`
	Type                                     oneOrMore
	Description                              string
	Properties                               ordered[*schema]
	Required                                 []string
	Items                                    *schema
	OneOf                                    []*schema
	Enum                                     []json.RawMessage
	Default, Example                         json.RawMessage
	Minimum, Maximum                         json.Number
	MinLength, MaxLength, MinItems, MaxItems int
}

// oneOrMore is a word or a list of words.
type oneOrMore []string

func (list *oneOrMore) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]string)(list))
	}
	*list = make([]string, 1)
	return json.Unmarshal(b, &(*list)[0])
}

// ordered is an object whose keys keep the order of the document.
type ordered[T any] struct {
	keys   []string
	values map[string]T
}

func (o *ordered[T]) UnmarshalJSON(b []byte) error {
	o.values = map[string]T{}
	reader := json.NewDecoder(bytes.NewReader(b))
	if _, err := reader.Token(); err != nil { // the opening brace
		return err
	}
	for reader.More() {
		key, err := reader.Token()
		if err != nil {
			return err
		}
		var value T
		if err := reader.Decode(&value); err != nil {
			return err
		}
		name := key.(string)
		o.keys, o.values[name] = append(o.keys, name), value
	}
	return nil
}

// follow is the component that a reference names, or the inline value where there is none.
func follow[T any](components ordered[T], ref string, inline T) T {
	if ref == "" {
		return inline
	}
	found, ok := components.values[path.Base(ref)]
	if !ok {
		panic("api: openapi.json: nothing is called " + ref)
	}
	return found
}
