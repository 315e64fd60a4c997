package api

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/reference"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

func TestAFingerprintIsThatOfOneRequest(t *testing.T) {
	seen := map[string]string{}
	for _, method := range []string{"POST", "PATCH", "PUT"} {
		for _, target := range []string{"/v1/contacts", "/v1/contacts?a=1", "/v1/contacts?a=1&b=2",
			"/v1/contacts?b=2&a=1", "/v1/contacts%3Fa=1", "/v1/tags"} {
			for _, body := range []string{"", "{}", "{} ", `{"a":1}`} {
				request := method + " " + target + " " + body
				sum := string(fingerprint(httptest.NewRequest(method, target, nil), []byte(body)))
				if other, known := seen[sum]; known {
					t.Errorf("%s has the fingerprint of %s", request, other)
				}
				seen[sum] = request
			}
		}
	}
}

// Method, path, name and permission of every operation, in the server and in the document.
func TestRoutesAndDocumentListTheSameOperations(t *testing.T) {
	var served []string
	for _, op := range withOthers(operations) {
		served = append(served, op.route+" "+op.name+" "+strings.Join(op.permission.Names(), " "))
		if method, path := op.method(), op.path(); strings.Contains(path, "{") != (op.id != nil) || op.id != nil &&
			!strings.Contains(path, "{"+op.id.name+"}") || method == "GET" && op.body != noBody {
			t.Errorf("%s: the path and the kind of its id, or the method and the body, do not agree", op.route)
		}
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string
			Permission  string `json:"x-permission"`
		}
	}
	succeed(t, json.Unmarshal(web.Gunzip(openapiJSON), &document))
	var described []string
	for path, methods := range document.Paths {
		for method, operation := range methods {
			described = append(described, strings.ToUpper(method)+" "+path+" "+operation.OperationID+" "+
				operation.Permission)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	equal(t, served, described, "the document (-) and the routes (+) differ")
}

// The documents that the program serves are made from the table of operations and openapi.yaml: the OpenAPI document as
// YAML and as JSON, and the page for people, with its style and its script, and the types and calls of the Go client.
// UPDATE=1 go test makes those anew that have changed; others stay as they are, whichever version of Go has compressed
// them.
func TestServedDocumentsAreUpToDate(t *testing.T) {
	read := func(name string) []byte {
		body := must(os.ReadFile(name))(t)
		return body
	}
	var described []reference.Operation
	for _, op := range withOthers(operations) {
		described = append(described, op.described())
	}
	asYAML, asJSON := reference.Join(read("openapi.yaml"), described)
	for name, want := range map[string][]byte{
		"openapi.yaml.gz": asYAML,
		"openapi.json.gz": asJSON,
		"docs.html.gz":    reference.Page(asJSON),
		"docs.css.gz":     read("docs.css"),
		"docs.js.gz":      read("docs.js"),

		"../../client/generated.go": reference.Client(asYAML),
	} {
		pack, unpack := web.Gzip, web.Gunzip
		if !strings.HasSuffix(name, ".gz") {
			pack, unpack = bytes.Clone, bytes.Clone
		}
		if bytes.Equal(unpack(read(name)), want) {
			continue
		}
		if os.Getenv("UPDATE") != "1" {
			t.Errorf("%s is older than what it is made from: run make openapi", name)
		} else if err := os.WriteFile(name, pack(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// described is an operation for its description in the document.
func (op *operation) described() reference.Operation {
	d := reference.Operation{
		Method: op.method(), Path: op.path(), Name: op.name, Permission: strings.Join(op.permission.Names(), " "),
		List: slices.Contains(op.query, "per_page"), Body: op.body != noBody, Needed: op.body == neededBody,
		Repeatable: op.isRepeatable(),
	}
	if op.id != nil {
		d.Parameter, d.Own = op.id.parameter, op.id.own
	}
	if op.tagged {
		d.Noun = strings.TrimSuffix(op.id.parameter, "Id")
	}
	if i := slices.IndexFunc(operations, func(other operation) bool {
		return strings.HasSuffix(other.also,
			" "+op.name)
	}); i >= 0 {
		d.Like = operations[i].name
	}
	return d
}

// The query parameters of every operation, as the server knows them and as the document does: by their names, or as
// another name of one.
func TestRoutesAndDocumentKnowTheSameParameters(t *testing.T) {
	type parameter struct{ Name, In, Description, Ref string }
	var document struct {
		Paths      map[string]map[string]struct{ Parameters []parameter }
		Components struct{ Parameters map[string]parameter }
	}
	text := strings.ReplaceAll(string(web.Gunzip(openapiJSON)), `"$ref"`, `"ref"`)
	succeed(t, json.Unmarshal([]byte(text), &document))
	for _, op := range withOthers(operations) {
		method, path := op.method(), op.path()
		names, descriptions := []string{}, ""
		for _, p := range document.Paths[path][strings.ToLower(method)].Parameters {
			if p.Ref != "" {
				p = document.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
			}
			if p.In == "query" {
				names, descriptions = append(names, p.Name), descriptions+p.Description
			}
		}
		for _, name := range names {
			if !slices.Contains(op.query, name) {
				t.Errorf("%s: the document has the parameter %s, and the server says that it ignores it", op.route,
					name)
			}
		}
		numbered := regexp.MustCompile(`\[\d+]$`)
		for _, name := range op.query {
			name = numbered.ReplaceAllString(name, "[0]") // the document names the first
			if !slices.Contains(names, name) && !strings.Contains(descriptions, "`"+name+"`") {
				t.Errorf("%s: the server knows the parameter %s, and the document does not", op.route, name)
			}
		}
	}
}

// Proxies refuse answers with long headers.
func TestHeadersThatRepeatTheQueryStayShort(t *testing.T) {
	w := httptest.NewRecorder()
	long, tooLong := strings.Repeat("a", 400), strings.Repeat("b", 200)
	nameIgnored(w, "X-Ignored-Query", unknownIn(long+"=1&"+tooLong+"=2&c=3", nil))
	if got, want := w.Header().Get("X-Ignored-Query"), long+", c"; got != want {
		t.Errorf("ignored are %q, want %q", got, want)
	}
	for n, want := range map[int]bool{400: true, 600: false} {
		w := httptest.NewRecorder()
		l := list{page: crm.PageRequest{Page: 2, PerPage: 20}, link: []byte(`"` + strings.Repeat("u", n)),
			out: delivery{w: w}}
		l.setLinks(store.ListResult{Total: 100})
		if got := w.Header().Get("Link"); strings.Contains(got, `u3>; rel="next"`) != want || got != "" != want {
			t.Errorf("the links are %q with URLs of %d bytes", got, n)
		}
	}
	equal(t, testing.AllocsPerRun(100, func() { unknownIn("page=2&per_page=5", operations[0].query) }), 0,
		"parameters that are all known take")
}

// The page for people who port a program lists what is here and what is not.
func TestCompatibilityPageIsTrue(t *testing.T) {
	page := must(os.ReadFile("../../docs/compatibility.md"))(t)
	here, gaps, _ := strings.Cut(string(page), "## Not here")
	gaps, _, _ = strings.Cut(gaps, "\n## ")
	served := func(pattern string) bool {
		return slices.ContainsFunc(withOthers(operations), func(op operation) bool { return op.route == pattern })
	}
	named := regexp.MustCompile("`((?:GET|POST|PUT|PATCH|DELETE) (/v1/[^`?]+))")
	found := named.FindAllStringSubmatch(here, -1)
	for _, m := range append(found, named.FindAllStringSubmatch(gaps, -1)...) {
		if !served(m[1]) {
			t.Errorf("the page says that %s is here", m[1])
		}
	}
	paths := regexp.MustCompile("(?m)^\\| (`/v1/.*?`) \\|").FindAllStringSubmatch(gaps, -1)
	if len(found) < 20 || len(paths) < 5 {
		t.Fatalf("the page lists %d operations and %d gaps", len(found), len(paths))
	}
	for _, m := range paths {
		for path := range strings.SplitSeq(strings.Trim(m[1], "`"), "`, `") {
			if slices.ContainsFunc(operations, func(op operation) bool { return op.path() == path }) {
				t.Errorf("the page says that %s is not here", path)
			}
		}
	}
}
