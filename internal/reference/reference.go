// Package reference renders the reference page of the API from its OpenAPI document. It is not part of the program, which serves the
// page that make openapi wrote.
package reference

import (
	"bytes"
	_ "embed" // the template
	"encoding/json"
	"html"
	"html/template"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed page.html.tmpl
var source string

// Page renders the page. It panics if it cannot show something in the document.
func Page(openapiJSON []byte) []byte {
	d := newDocument(string(openapiJSON))
	var b bytes.Buffer
	check(newTemplate(d).Execute(&b, d.root))
	return b.Bytes()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func newTemplate(d *document) *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"all": d.all, "at": d.at, "examples": d.examples, "merge": merge, "unique": unique,
		"split": strings.Split, "splitN": strings.SplitN, "trim": strings.Trim, "starts": strings.HasPrefix, "contains": strings.Contains,
		"replace": strings.ReplaceAll, "upper": strings.ToUpper, "types": regexp.MustCompile(`[a-z]+`).FindAllString, "name": path.Base,
		"integer": strconv.Atoi, "number": message.NewPrinter(language.English).Sprint, "reason": http.StatusText,
		"kebab": kebab, "words": words, "breakable": breakable, "inline": inline, "shell": shell, "json": indented,
		"args": func(list ...any) []any { return list },
	}).Parse(source))
}

// document is an OpenAPI document whose values are read by path. A value is JSON text, so that keys keep their order, except that a
// string is its content. A missing value is empty.
type document struct {
	root   string
	parsed map[string][]member // by text, because most are read many times
}

func newDocument(root string) *document { return &document{root, map[string][]member{}} }

// member is a member of an object, or an element of a list, which has no key.
type member struct{ Key, Value string }

func (d *document) members(text string) []member {
	list, known := d.parsed[text]
	if known {
		return list
	}
	reader := json.NewDecoder(strings.NewReader(text))
	_, _ = reader.Token() // opens an object or a list; other values have no more
	for reader.More() {
		var key json.Token = ""
		if text[0] == '{' {
			key, _ = reader.Token()
		}
		var value json.RawMessage
		check(reader.Decode(&value))
		list = append(list, member{key.(string), string(value)})
	}
	d.parsed[text] = list
	return list
}

// all finds the values at a path below a value, such as paths/*/get.
func (d *document) all(value, route string) (found []member) {
	step, rest, deeper := strings.Cut(route, "/")
	for _, m := range d.members(value) {
		if step != "*" && step != m.Key {
			continue
		}
		if m.Value = d.resolve(m.Value); deeper {
			found = append(found, d.all(m.Value, rest)...)
		} else {
			found = append(found, m)
		}
	}
	return found
}

// at finds the first value at a path below a value.
func (d *document) at(value, route string) string {
	return append(d.all(value, route), member{})[0].Value
}

// resolve replaces a reference with its component. The reference moves to the key component, and keys beside it override those of the
// component. A choice between a schema and null becomes the schema with the key null.
func (d *document) resolve(text string) string {
	if text[0] == '"' {
		check(json.Unmarshal([]byte(text), &text))
	} else if ref := d.at(text, "$ref"); ref != "" {
		return merge(strings.Replace(text, `"$ref"`, `"component"`, 1), d.at(d.root, strings.TrimPrefix(ref, "#/")))
	} else if schema := d.at(text, "oneOf/*"); schema != "" {
		return merge(strings.Replace(text, `"oneOf"`, `"null"`, 1), schema)
	}
	return text
}

// merge joins two objects. If both have a key, the first one wins.
func merge(first, second string) string {
	return strings.TrimSuffix(first, "}") + "," + strings.TrimPrefix(second, "{")
}

// unique sorts members by key and keeps each key once.
func unique(list []member) []member {
	slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(list, func(a, b member) bool { return a.Key == b.Key })
}

// examples finds an example of each object that is a whole answer or an element of a list, by name.
func (d *document) examples() map[string]string {
	examples := map[string]string{}
	bodies := d.all(d.root, "paths/*/*/responses/*/content/*")
	for _, place := range []struct{ schema, value string }{{"schema", "value"}, {"schema/properties/data/items", "value/data/*"}} {
		for _, body := range bodies {
			if component := d.at(body.Value, place.schema+"/component"); component != "" && examples[path.Base(component)] == "" {
				name := path.Base(component)
				examples[name] = d.at(body.Value, "examples/*/"+place.value)
			}
		}
	}
	return examples
}

// Spans and parts are found in escaped text. The groups of the parts are classes of the style sheet.
var (
	joints     = regexp.MustCompile(`[/._]`)
	humps      = regexp.MustCompile(`([a-z])([A-Z])`)
	spaces     = regexp.MustCompile(`[^a-z0-9]+`)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	strongSpan = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	linkSpan   = regexp.MustCompile(`\[([^\]]+)\]\((#[a-z0-9-]+)\)`)
	shellPart  = regexp.MustCompile(`(?P<key>\bcurl\b| --?[a-zA-Z]+\b)|(?P<word>\$[A-Z_]+)|(?P<address>https://[^\s&]+)`)
	jsonPart   = regexp.MustCompile(`(?P<key>&#34;[^&]+&#34;:)|(?P<text>&#34;(?:.*?[^\\])??&#34;)|(?P<word>\b(?:true|false|null)\b|-?\b[0-9][0-9.eE+-]*\b)`)
)

// breakable lets a long path or field name break at its joints instead of anywhere.
func breakable(name string) template.HTML {
	return template.HTML(joints.ReplaceAllString(html.EscapeString(name), "$0<wbr>")) // escaped
}

// kebab makes an anchor of a name: createContact and "Contact tags" become create-contact and contact-tags.
func kebab(name string) string {
	return strings.Trim(spaces.ReplaceAllString(strings.ToLower(humps.ReplaceAllString(name, "$1-$2")), "-"), "-")
}

// words is the name of a schema for people: ContactPage becomes Contact page.
func words(name string) string { return name[:1] + strings.ReplaceAll(kebab(name), "-", " ")[1:] }

// inline renders what Markdown has within a line, as far as the document uses it: code, strong words and links inside the page.
func inline(text string) template.HTML {
	text = html.EscapeString(strings.Join(strings.Fields(text), " "))
	text = codeSpan.ReplaceAllString(text, "<code>$1</code>")
	text = strongSpan.ReplaceAllString(text, "<strong>$1</strong>")
	return template.HTML(linkSpan.ReplaceAllString(text, `<a href="$2">$1</a>`)) // escaped above
}

func shell(command string) template.HTML { return colored(command, shellPart) }

func indented(value, prefix string) (template.HTML, error) {
	var b bytes.Buffer
	err := json.Indent(&b, []byte(value), prefix, "  ")
	return colored(b.String(), jsonPart), err
}

// colored marks the parts of code.
func colored(code string, parts *regexp.Regexp) template.HTML {
	return template.HTML(parts.ReplaceAllStringFunc(html.EscapeString(code), func(part string) string {
		group := slices.IndexFunc(parts.FindStringSubmatch(part)[1:], func(match string) bool { return match != "" })
		return `<span class="` + parts.SubexpNames()[group+1] + `">` + part + `</span>`
	})) // escaped
}
