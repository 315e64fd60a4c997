package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// The descriptions of the document are Markdown. This file knows as much of it as they use: paragraphs, lists,
// tables, fenced code, and within a line code, strong words and links inside the page.

// sections divides a description at its headings.
func sections(text string) (intro string, list []section) {
	intro, rest, found := strings.Cut(text, "\n## ")
	for found {
		var part string
		part, rest, found = strings.Cut(rest, "\n## ")
		title, body, _ := strings.Cut(part, "\n")
		list = append(list, section{ID: "guide-" + kebab(title), Title: title, Text: body})
	}
	return intro, list
}

func markdown(text string) template.HTML {
	var b strings.Builder
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for len(lines) > 0 {
		var block []string
		switch line := lines[0]; {
		case line == "":
			lines = lines[1:]
		case strings.HasPrefix(line, "```"):
			block, lines = takeWhile(lines[1:], func(l string) bool { return !strings.HasPrefix(l, "```") })
			lines = lines[1:]
			b.WriteString(string(codeBlock(shellCode(strings.Join(block, "\n")))))
		case strings.HasPrefix(line, "|"):
			block, lines = takeWhile(lines, func(l string) bool { return strings.HasPrefix(l, "|") })
			writeTable(&b, block)
		case strings.HasPrefix(line, "- "):
			block, lines = takeWhile(lines, func(l string) bool { return l != "" })
			writeList(&b, block)
		default:
			block, lines = takeWhile(lines, func(l string) bool { return l != "" })
			b.WriteString("<p>" + inline(strings.Join(block, " ")) + "</p>")
		}
	}
	return template.HTML(b.String()) // every text went through html.EscapeString on its way here
}

func takeWhile(lines []string, keep func(string) bool) (taken, rest []string) {
	n := 0
	for n < len(lines) && keep(lines[n]) {
		n++
	}
	return lines[:n], lines[n:]
}

func writeTable(b *strings.Builder, rows []string) {
	b.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="plain">`)
	for i, row := range rows {
		if i == 1 { // the line between head and body
			continue
		}
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		b.WriteString("<tr>")
		for cell := range strings.SplitSeq(strings.Trim(row, "|"), "|") {
			fmt.Fprintf(b, "<%s>%s</%s>", tag, inline(strings.TrimSpace(cell)), tag)
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</table></div>")
}

func writeList(b *strings.Builder, lines []string) {
	b.WriteString("<ul>")
	for len(lines) > 0 {
		item := strings.TrimPrefix(lines[0], "- ")
		var more []string
		more, lines = takeWhile(lines[1:], func(l string) bool { return !strings.HasPrefix(l, "- ") })
		for _, line := range more {
			item += " " + strings.TrimSpace(line)
		}
		b.WriteString("<li>" + inline(item) + "</li>")
	}
	b.WriteString("</ul>")
}

var inlineMarks = regexp.MustCompile("`([^`]+)`" + `|\*\*([^*]+)\*\*|\[([^\]]+)\]\((#[a-z0-9-]+)\)`)

func inline(text string) string {
	return inlineMarks.ReplaceAllStringFunc(html.EscapeString(text), func(match string) string {
		part := inlineMarks.FindStringSubmatch(match)
		switch {
		case part[1] != "":
			return "<code>" + part[1] + "</code>"
		case part[2] != "":
			return "<strong>" + part[2] + "</strong>"
		default:
			return `<a href="` + part[4] + `">` + part[3] + "</a>"
		}
	})
}

// codeBlock looks like the samples of the operations.
func codeBlock(code template.HTML) template.HTML {
	return `<figure class="code"><figcaption>Shell</figcaption><pre tabindex="0"><code>` + code + `</code></pre></figure>`
}

var jsonMarks = regexp.MustCompile(`("(?:[^"\\]|\\.)*")(:)?|\b(?:true|false|null)\b|-?\b[0-9][0-9.eE+-]*\b`)

// jsonCode is indented JSON with its parts marked for colour.
func jsonCode(value json.RawMessage, prefix string) template.HTML {
	if string(value) == `""` {
		return `<span class="faint">The body is empty.</span>`
	}
	return markCode(indent(value, prefix), jsonMarks, func(part []string) string {
		switch {
		case part[2] != "":
			return "key"
		case part[1] != "":
			return "text"
		default:
			return "word"
		}
	})
}

var shellMarks = regexp.MustCompile(`\bcurl\b|\$[A-Z_]+| --?[a-zA-Z]+\b|"?https://[^\s"]+"?`)

func shellCode(command string) template.HTML {
	return markCode(command, shellMarks, func(part []string) string {
		switch {
		case strings.HasPrefix(part[0], "$"):
			return "word"
		case strings.Contains(part[0], "://"):
			return "address"
		default:
			return "key"
		}
	})
}

// markCode escapes code and wraps what marks finds into spans of the class that kind names.
func markCode(code string, marks *regexp.Regexp, kind func(part []string) string) template.HTML {
	var b strings.Builder
	at := 0
	for _, span := range marks.FindAllStringIndex(code, -1) {
		word := code[span[0]:span[1]]
		b.WriteString(html.EscapeString(code[at:span[0]]))
		fmt.Fprintf(&b, `<span class="%s">%s</span>`, kind(marks.FindStringSubmatch(word)), html.EscapeString(word))
		at = span[1]
	}
	b.WriteString(html.EscapeString(code[at:]))
	return template.HTML(b.String()) // every part was escaped
}

func indent(value json.RawMessage, prefix string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, value, prefix, "  "); err != nil {
		panic(fmt.Sprintf("api: openapi.json: example: %v", err))
	}
	return b.String()
}

// exampleAddress is the path with the parameters' examples put in; only reads show their query.
func exampleAddress(e endpoint, parameters []parameter) string {
	address, query := e.Path, []string{}
	for _, p := range parameters {
		value := strings.Trim(string(p.Example), `"`)
		switch {
		case p.In == "path":
			address = strings.Replace(address, "{"+p.Name+"}", value, 1)
		case e.Method == "GET":
			query = append(query, p.Name+"="+value)
		}
	}
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return exampleBase + address
}

// curl is a command that a reader can paste into a shell.
func curl(method, address string, body json.RawMessage) template.HTML {
	lines := []string{"curl", `"` + address + `"`, exampleTrust, `-H "Authorization: Bearer $DONORBOOK_KEY"`}
	if method != "GET" {
		lines[0] += " -X " + method
	}
	if body == nil {
		return shellCode(joinLines(lines))
	}
	lines = append(lines, `-H "Content-Type: application/json"`, "-d '")
	if bytes.ContainsRune(body, '\'') {
		panic("api: openapi.json: an apostrophe in the example of a body would end the quotes of the shell")
	}
	return shellCode(joinLines(lines)) + jsonCode(body, "  ") + "'"
}

func joinLines(lines []string) string { return strings.Join(lines, " \\\n  ") }

// limits says in words what a value must satisfy.
func limits(s *schema) []string {
	var list []string
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, "`"+strings.Trim(string(value), `"`)+"`")
		}
		if len(values) == 1 {
			list = append(list, "Always "+values[0]+".")
		} else {
			list = append(list, "One of "+strings.Join(values, ", ")+".")
		}
	}
	switch {
	case s.Minimum != "" && s.Maximum != "":
		list = append(list, "From "+grouped(s.Minimum)+" to "+grouped(s.Maximum)+".")
	case s.Minimum != "":
		list = append(list, "At least "+grouped(s.Minimum)+".")
	}
	list = append(list, countLimit(s.MinLength, s.MaxLength, "character")...)
	list = append(list, countLimit(s.MinItems, s.MaxItems, "element")...)
	if s.Default != nil {
		list = append(list, "Default `"+strings.Trim(string(s.Default), `"`)+"`.")
	}
	return list
}

// elementLimits are the limits of each element of a list of plain values; objects have lines of their own.
func elementLimits(items *schema) []string {
	if items.MaxLength == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Each of at most %d characters.", items.MaxLength)}
}

func countLimit(least, most int, unit string) []string {
	plural := func(n int) string {
		if n == 1 {
			return "1 " + unit
		}
		return grouped(json.Number(strconv.Itoa(n))) + " " + unit + "s"
	}
	switch {
	case least > 1 && most > 0, least == 1 && unit == "element" && most > 0:
		return []string{fmt.Sprintf("From %s to %s.", grouped(json.Number(strconv.Itoa(least))), plural(most))}
	case most > 0:
		return []string{"At most " + plural(most) + "."}
	default:
		return nil
	}
}

// grouped puts commas into long numbers, so that people can read them.
func grouped(n json.Number) string {
	digits := string(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// exampleNote shows an example that fits into a line and says more than the limits do.
func exampleNote(value json.RawMessage, s *schema) string {
	if value == nil || value[0] == '{' || string(value) == "null" || len(s.Enum) > 0 || slices.Contains(s.Type, "boolean") {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		panic(fmt.Sprintf("api: openapi.json: example: %v", err))
	}
	text := b.String()
	if value[0] == '"' {
		if err := json.Unmarshal(value, &text); err != nil {
			panic(fmt.Sprintf("api: openapi.json: example: %v", err))
		}
	}
	return "Example `" + text + "`"
}

// kebab makes an anchor of a name: createContact and "Contact tags" become create-contact and contact-tags.
func kebab(name string) string {
	var b strings.Builder
	dash := false
	for i, r := range name {
		switch {
		case unicode.IsUpper(r):
			dash = dash || i > 0 && unicode.IsLower(rune(name[i-1]))
			fallthrough
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(unicode.ToLower(r))
		default:
			dash = true
		}
	}
	return b.String()
}

// words spells the name of a schema for people: ContactPage becomes Contact page.
func words(name string) string {
	spelled := strings.ReplaceAll(kebab(name), "-", " ")
	return strings.ToUpper(spelled[:1]) + spelled[1:]
}

// breakable lets a long path or field name break at its joints instead of anywhere.
func breakable(name string) template.HTML {
	escaped := html.EscapeString(name)
	for _, joint := range []string{"/", ".", "_"} {
		escaped = strings.ReplaceAll(escaped, joint, joint+"<wbr>")
	}
	return template.HTML(escaped) // escaped above
}
