package api

import (
	"bytes"
	_ "embed" // the documents are part of the program
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"donorbook/internal/web"
)

// document is something that the server answers with as it is.
type document struct {
	web.File
	policy string // Content-Security-Policy, for pages
}

var (
	//go:embed openapi.yaml
	openapiYAML []byte
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed docs.html.tmpl
	docsTemplate string
	//go:embed docs.css
	docsCSS []byte
	//go:embed docs.js
	docsJS []byte
)

// The reference page is complete without its script and needs nothing from any other address.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// documentPaths are where the documents are found.
var documentPaths = []string{"/openapi.json", "/openapi.yaml", "/docs", "/docs/docs.css", "/docs/docs.js"}

// documents is everything that explains the interface, by path. It is made when somebody asks for the first of them.
var documents = sync.OnceValue(func() map[string]document {
	return map[string]document{
		"/openapi.json":  {web.NewFile("application/json", openapiJSON), ""},
		"/openapi.yaml":  {web.NewFile("application/yaml", openapiYAML), ""},
		"/docs":          {web.NewFile("text/html; charset=utf-8", renderDocs(openapiJSON)), docsPolicy},
		"/docs/docs.css": {web.NewFile("text/css; charset=utf-8", docsCSS), ""},
		"/docs/docs.js":  {web.NewFile("text/javascript; charset=utf-8", docsJS), ""},
	}
})

// renderDocs renders the reference page. What it reads is part of the program, so a failure is a mistake of ours that
// the tests find; it cannot depend on the machine.
func renderDocs(source []byte) []byte {
	var api openapi
	if err := json.Unmarshal(source, &api); err != nil {
		panic(fmt.Sprintf("api: openapi.json: %v", err))
	}
	functions := template.FuncMap{
		"markdown": markdown, "breakable": breakable, "kebab": kebab, "words": words,
		"table": newTable, "choice": newChoice,
	}
	page := template.Must(template.New("docs").Funcs(functions).Parse(docsTemplate))
	var b bytes.Buffer
	if err := page.Execute(&b, newReference(&api)); err != nil {
		panic(fmt.Sprintf("api: docs.html.tmpl: %v", err))
	}
	return b.Bytes()
}

// reference is what the page shows.
type reference struct {
	Title, Version, Summary string
	Intro                   string
	Guide                   []section
	Groups                  []group
	Objects                 []object
	Headers                 []field

	api *openapi
}

type section struct{ ID, Title, Text string }

type group struct {
	ID, Name, Text string
	Operations     []endpoint
}

type endpoint struct {
	ID, Name, Method, Path, Summary, Text, Permission string
	Parameters                                        []field
	BodyText                                          string
	Body                                              []field
	Requests                                          []sample
	Responses                                         []answer
}

type answer struct {
	ID, Status, Reason, Text string
	Object                   string // name of the schema of the body
	Headers                  []string
	Examples                 []sample
}

// OK tells whether the answer is the one that the caller hopes for.
func (a answer) OK() bool { return a.Status < "300" }

type object struct {
	ID, Name, Text string
	Fields         []field
	Example        []sample // none or one
}

// field is one line of a table: a parameter, a key of an object or a header.
type field struct {
	ID, Name, Type, Text string
	Required             bool
	Limits               []string
	Object               string // name of the object whose fields stand in a section of their own
}

type sample struct {
	Title string
	Code  template.HTML
}

// choice is one or more samples of which the page shows one at a time.
type choice struct {
	Name    string
	Prefix  string // in front of each title, such as the status of an answer
	Samples []sample
}

func newChoice(name, prefix string, samples []sample) choice { return choice{name, prefix, samples} }

// table is a list of fields, where on the page they stand, and whether it says which ones are required: in an answer
// all are.
type table struct {
	Fields       []field
	Place        string
	ShowRequired bool
}

func newTable(fields []field, place string, showRequired bool) table {
	return table{fields, place, showRequired}
}

func newReference(api *openapi) *reference {
	r := &reference{Title: api.Info.Title, Version: api.Info.Version, Summary: api.Info.Summary, api: api}
	r.Intro, r.Guide = sections(api.Info.Description)
	r.Objects = r.objects() // known first, because the operations link to them
	for _, tag := range api.Tags {
		g := group{ID: kebab(tag.Name), Name: tag.Name, Text: tag.Description}
		for _, route := range api.Paths.keys {
			methods := api.Paths.values[route]
			for _, method := range methods.keys {
				if op := methods.values[method]; slices.Contains(op.Tags, tag.Name) {
					g.Operations = append(g.Operations, r.endpoint(method, route, op))
				}
			}
		}
		r.Groups = append(r.Groups, g)
	}
	r.fillObjectExamples()
	r.Headers = r.headers()
	return r
}

func (r *reference) endpoint(method, route string, op operation) endpoint {
	e := endpoint{
		ID: kebab(op.OperationID), Name: op.OperationID, Method: strings.ToUpper(method), Path: route,
		Summary: op.Summary, Text: op.Description, BodyText: op.RequestBody.Description,
	}
	for _, need := range op.Security {
		for _, permissions := range need {
			e.Permission = strings.Join(permissions, ", ")
		}
	}
	var parameters []parameter
	for _, p := range op.Parameters {
		parameters = append(parameters, follow(r.api.Components.Parameters, p.Ref, p))
	}
	for _, p := range parameters {
		f := r.field(e.ID, p.Name, p.Schema, p.Required, p.Example)
		f.Type, f.Text = f.Type+" in "+p.In, p.Description
		e.Parameters = append(e.Parameters, f)
	}
	body := op.RequestBody.Content.values["application/json"]
	if body.Schema != nil {
		e.Body = r.fields(e.ID, "", r.resolve(body.Schema))
	}
	e.Requests = requests(e, parameters, body)
	for _, status := range op.Responses.keys {
		e.Responses = append(e.Responses, r.answer(e.ID, status, op.Responses.values[status]))
	}
	return e
}

// requests is one command to try for each example of a body, or one where there is no body.
func requests(e endpoint, parameters []parameter, body content) []sample {
	address := exampleAddress(e, parameters)
	if len(body.Examples.keys) == 0 {
		return []sample{{Title: "Request", Code: curl(e.Method, address, nil)}}
	}
	var list []sample
	for _, key := range body.Examples.keys {
		ex := body.Examples.values[key]
		list = append(list, sample{Title: ex.Summary, Code: curl(e.Method, address, ex.Value)})
	}
	return list
}

func (r *reference) answer(place, status string, inline response) answer {
	found := follow(r.api.Components.Responses, inline.Ref, inline)
	code, _ := strconv.Atoi(status)
	a := answer{ID: place + "-" + status, Status: status, Reason: http.StatusText(code), Text: found.Description}
	if inline.Description != "" { // a description beside a reference speaks about this operation
		a.Text = inline.Description
	}
	a.Headers = found.Headers.keys
	for _, media := range found.Content.keys {
		body := found.Content.values[media]
		if body.Schema.Ref != "" {
			a.Object = path.Base(body.Schema.Ref)
		}
		for _, key := range body.Examples.keys {
			ex := follow(r.api.Components.Examples, body.Examples.values[key].Ref, body.Examples.values[key])
			a.Examples = append(a.Examples, sample{Title: ex.Summary, Code: jsonCode(ex.Value, "")})
		}
	}
	return a
}

// objects are the schemas that are the whole body of some answer, or the items of a list.
func (r *reference) objects() []object {
	whole := map[string]bool{}
	note := func(s *schema) {
		if s != nil && s.Ref != "" {
			whole[path.Base(s.Ref)] = true
		}
	}
	for _, methods := range r.api.Paths.values {
		for _, op := range methods.values {
			for _, inline := range op.Responses.values {
				found := follow(r.api.Components.Responses, inline.Ref, inline)
				for _, body := range found.Content.values {
					note(body.Schema)
					if data := r.resolve(body.Schema).Properties.values["data"]; data != nil {
						note(data.Items)
					}
				}
			}
		}
	}
	var objects []object
	for _, name := range r.api.Components.Schemas.keys {
		if whole[name] {
			objects = append(objects, object{ID: "object-" + kebab(name), Name: name})
		}
	}
	r.Objects = objects
	for i, o := range objects {
		s := r.api.Components.Schemas.values[o.Name]
		objects[i].Text, objects[i].Fields = s.Description, r.fields(o.ID, "", s)
	}
	return objects
}

// fillObjectExamples shows beside each object an example of an answer that consists of it.
func (r *reference) fillObjectExamples() {
	for i := range r.Objects {
		o := &r.Objects[i]
		for _, g := range r.Groups {
			for _, e := range g.Operations {
				for _, a := range e.Responses {
					if o.Example == nil && a.Object == o.Name {
						o.Example = a.Examples[:1]
					}
				}
			}
		}
	}
}

func (r *reference) hasObject(name string) bool {
	return slices.ContainsFunc(r.Objects, func(o object) bool { return o.Name == name })
}

// headers lists each header of an answer once, by the name under which answers carry it.
func (r *reference) headers() []field {
	var headers []field
	for _, methods := range r.api.Paths.values {
		for _, op := range methods.values {
			for _, inline := range op.Responses.values {
				found := follow(r.api.Components.Responses, inline.Ref, inline)
				for _, name := range found.Headers.keys {
					h := follow(r.api.Components.Headers, found.Headers.values[name].Ref, found.Headers.values[name])
					f := r.field("header", name, h.Schema, false, h.Example)
					f.Text = h.Description
					if !slices.ContainsFunc(headers, func(known field) bool { return known.Name == name }) {
						headers = append(headers, f)
					}
				}
			}
		}
	}
	slices.SortFunc(headers, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return headers
}

func (r *reference) resolve(s *schema) *schema { return follow(r.api.Components.Schemas, s.Ref, s) }

// fields flattens an object: nested keys follow their parent under a dotted path.
func (r *reference) fields(place, prefix string, s *schema) []field {
	var list []field
	for _, key := range s.Properties.keys {
		property := s.Properties.values[key]
		name := prefix + key
		f := r.field(place, name, property, slices.Contains(s.Required, key), nil)
		list = append(list, f)
		if f.Object != "" {
			continue
		}
		inner, _ := r.nonNull(property)
		if slices.Contains(inner.Type, "array") {
			inner, _ = r.nonNull(inner.Items)
			name += "[]"
		}
		list = append(list, r.fields(place, name+".", inner)...)
	}
	return list
}

func (r *reference) field(place, name string, s *schema, required bool, ex json.RawMessage) field {
	inner, null := r.nonNull(s)
	f := field{ID: place + "-" + kebab(name), Name: name, Required: required, Text: s.Description}
	if f.Text == "" {
		f.Text = inner.Description
	}
	f.Type = strings.Join(inner.Type, " or ")
	if slices.Contains(inner.Type, "array") {
		items, _ := r.nonNull(inner.Items)
		f.Type = strings.Replace(f.Type, "array", "array of "+items.Type[0]+"s", 1)
		if ref := path.Base(inner.Items.Ref); inner.Items.Ref != "" && r.hasObject(ref) {
			f.Object = ref
		}
		f.Limits = append(limits(inner), elementLimits(items)...)
	} else {
		f.Limits = limits(inner)
	}
	if null {
		f.Type += " or null"
	}
	if f.Type == "" {
		f.Type = "any value"
	}
	if ex == nil {
		ex = s.Example
	}
	if note := exampleNote(ex, inner); note != "" {
		f.Limits = append(f.Limits, note)
	}
	return f
}

// nonNull is the schema behind references and "this or null", and whether null was allowed that way.
func (r *reference) nonNull(s *schema) (inner *schema, null bool) {
	s = r.resolve(s)
	for _, choice := range s.OneOf {
		if slices.Equal(choice.Type, []string{"null"}) {
			null = true
		} else {
			inner = r.resolve(choice)
		}
	}
	if inner == nil {
		inner = s
	}
	return inner, null
}
