package campaign

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	dom "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// People write the texts of a campaign in a form with light formatting, a small part of Markdown: paragraphs, **bold**,
// *italic*, # headings, - lists,
// 1. lists, > quotes, links, pictures and a line of ---. What is stored and answered is HTML.

// markdown knows nothing that people would come upon by accident, such as code by four spaces. A line ends where the
// person has ended it.
var markdown = sync.OnceValue(func() goldmark.Markdown {
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200), util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewATXHeadingParser(), 600), util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000)),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewLinkParser(), 200), util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewRawHTMLParser(), 400),
			util.Prioritized(parser.NewEmphasisParser(), 500)))
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.Linkify),
		goldmark.WithRendererOptions(html.WithHardWraps(), html.WithUnsafe()))
})

// fromMarkup is the HTML of a text with light formatting, which is not sanitized yet. A text that has the layout of
// HTML already is taken as it is.
func fromMarkup(typed string) string {
	if typed = strings.TrimSpace(typed); IsHTML(typed) {
		return typed
	}
	if isDense(typed) {
		return Paragraphs(typed)
	}
	source := []byte(typed)
	tree := markdown().Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if heading, ok := node.(*ast.Heading); ok && entering {
			heading.Level = min(heading.Level+1, 6) // the title of the page is above all others
		}
		return ast.WalkContinue, nil
	})
	var b bytes.Buffer
	if err := markdown().Renderer().Render(&b, source, tree); err != nil {
		return typed
	}
	return strings.TrimSpace(strings.ReplaceAll(b.String(), "<br>\n", "<br>"))
}

// isDense tells whether a part of a text is so full of marks that it is hardly formatting. What it costs to read grows
// with the square of them.
func isDense(typed string) bool {
	return slices.ContainsFunc(blankLine.Split(typed, -1), func(part string) bool {
		marks := 0
		for _, c := range []byte(part) {
			if strings.IndexByte("*_[]().<>!-+#", c) >= 0 {
				marks++
			}
		}
		return marks > maxMarks
	})
}

const maxMarks = 2_000

// Story is the HTML that a page shows of a text as it was typed.
func Story(typed string) string { return sanitizeHTML(fromMarkup(typed)) }

// markup is a stored text as a form shows it: with light formatting, or as HTML where that would lose something.
func markup(stored string) string {
	shown := Paragraphs(stored)
	nodes, ok := fragment(shown)
	if !ok {
		return stored
	}
	w := markupWriter{}
	written := strings.TrimSpace(w.blocks(nodes))
	if again, ok := fragment(Story(written)); w.lost || !ok || canonical(nodes) != canonical(again) {
		return stored
	}
	return written
}

// fragment is the tree of a sanitized text.
func fragment(text string) ([]*dom.Node, bool) {
	nodes, err := dom.ParseFragment(strings.NewReader(text),
		&dom.Node{Type: dom.ElementNode, Data: "div", DataAtom: atom.Div})
	return nodes, err == nil
}

// markupWriter writes HTML as light formatting. It need not be sure of what it writes: the result is read again and
// compared.
type markupWriter struct{ lost bool }

// blocks are paragraphs, headings, lists and quotes, with an empty line between them.
func (w *markupWriter) blocks(nodes []*dom.Node) string {
	var all []string
	var line strings.Builder // of a paragraph that has no tags
	end := func() {
		if text := strings.TrimSpace(line.String()); text != "" {
			all = append(all, escapeStart(text))
		}
		line.Reset()
	}
	for _, node := range nodes {
		if block, ok := w.block(node); ok {
			end()
			all = append(all, block)
		} else {
			line.WriteString(w.inline(node))
		}
	}
	end()
	return strings.Join(all, "\n\n")
}

var headingMarks = map[atom.Atom]string{atom.H2: "# ", atom.H3: "## ", atom.H4: "### ", atom.H5: "#### ",
	atom.H6: "##### "}

func (w *markupWriter) block(node *dom.Node) (text string, ok bool) {
	switch node.DataAtom {
	case atom.P:
		return escapeStart(strings.TrimSpace(w.inlines(node))), true
	case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return headingMarks[node.DataAtom] + strings.TrimSpace(w.inlines(node)), true
	case atom.Hr:
		return "---", true
	case atom.Blockquote:
		return indented("> ", "> ", w.blocks(children(node))), true
	case atom.Ul, atom.Ol:
		return w.list(node), true
	}
	return "", false
}

// list has an empty line between its items where these have paragraphs.
func (w *markupWriter) list(list *dom.Node) string {
	mark, space := "- ", "\n"
	if list.DataAtom == atom.Ol {
		mark = "1. "
	}
	var items []string
	for item := range list.ChildNodes() {
		if item.Type == dom.TextNode {
			w.lost = w.lost || strings.TrimSpace(item.Data) != ""
			continue
		}
		var tight, nested []*dom.Node
		for _, child := range children(item) {
			if child.DataAtom == atom.P {
				space = "\n\n"
			}
			if child.DataAtom == atom.Ul || child.DataAtom == atom.Ol {
				nested = append(nested, child)
			} else {
				tight = append(tight, child)
			}
		}
		text := w.blocks(tight)
		for _, child := range nested {
			text += "\n" + w.list(child)
		}
		items = append(items, indented(mark, strings.Repeat(" ", len(mark)), text))
	}
	return strings.Join(items, space)
}

// indented has a mark before its first line, and another before each one that follows.
func indented(first, rest, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		mark := rest
		if i == 0 {
			mark = first
		}
		lines[i] = strings.TrimRight(mark+line, " ")
	}
	return strings.Join(lines, "\n")
}

func (w *markupWriter) inlines(node *dom.Node) string {
	var b strings.Builder
	for child := range node.ChildNodes() {
		b.WriteString(w.inline(child))
	}
	return b.String()
}

func (w *markupWriter) inline(node *dom.Node) string {
	switch {
	case node.Type == dom.TextNode:
		return escape(collapse(node.Data))
	case node.DataAtom == atom.Strong || node.DataAtom == atom.B:
		return "**" + w.inlines(node) + "**"
	case node.DataAtom == atom.Em || node.DataAtom == atom.I:
		return "*" + w.inlines(node) + "*"
	case node.DataAtom == atom.Br:
		return "\n"
	case node.DataAtom == atom.A:
		if isBareLink(node) {
			return node.FirstChild.Data
		}
		return "[" + w.inlines(node) + "](" + attribute(node, "href") + ")"
	case node.DataAtom == atom.Img && attribute(node, "width")+attribute(node, "height")+attribute(node, "title") == "":
		return "![" + escape(attribute(node, "alt")) + "](" + attribute(node, "src") + ")"
	}
	w.lost = true
	return ""
}

// isBareLink tells whether a link shows its address.
func isBareLink(a *dom.Node) bool {
	return a.FirstChild != nil && a.FirstChild == a.LastChild && a.FirstChild.Type == dom.TextNode &&
		a.FirstChild.Data == attribute(a, "href")
}

// escapeMarks keeps what a text has by chance from being formatting.
var escapeMarks = strings.NewReplacer(`\`, `\\`, "*", `\*`, "[", `\[`, "]", `\]`, "<", `\<`)

// entity is what would be read as a sign of HTML.
var entity = regexp.MustCompile(`&(#?[a-zA-Z0-9]+;)`)

func escape(text string) string { return entity.ReplaceAllString(escapeMarks.Replace(text), `\&$1`) }

// escapeStart does so for what counts at the beginning of a line.
func escapeStart(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line = strings.TrimSpace(line); line != "" && strings.ContainsAny(line[:1], "#>-+=_") {
			line = `\` + line
		} else if digits := strings.TrimLeft(line, "0123456789"); digits != line && digits != "" &&
			strings.ContainsAny(digits[:1], ".)") {
			line = line[:len(line)-len(digits)] + `\` + digits
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// canonical tells of a tree what a reader would notice: white space around blocks is nothing, and a link that shows its
// address is as good as the address.
func canonical(nodes []*dom.Node) string {
	w := canonicalWriter{}
	inLine := false
	for _, node := range nodes {
		if !inLine && node.Type == dom.TextNode && strings.TrimSpace(node.Data) == "" {
			continue
		}
		if inLine != !isBlock(node) { // a paragraph without tags begins or ends
			w.block("p")
			inLine = !inLine
		}
		w.node(node)
	}
	w.block("p")
	return strings.TrimPrefix(string(w), paragraphEnd)
}

type canonicalWriter []byte

const blockEnd, paragraphEnd = "\n", "\np\n"

// block notes where a block begins or ends. Where a paragraph ends and the next one begins is one place.
func (w *canonicalWriter) block(name string) {
	*w = bytes.TrimRight(*w, " ")
	if name != "p" || !bytes.HasSuffix(*w, []byte(paragraphEnd)) {
		*w = append(*w, blockEnd+name+blockEnd...)
	}
}

func (w *canonicalWriter) text(text string) {
	text = collapse(text)
	if len(*w) == 0 || bytes.HasSuffix(*w, []byte(blockEnd)) {
		text = strings.TrimLeft(text, " ")
	}
	*w = append(*w, dom.EscapeString(text)...)
}

func (w *canonicalWriter) node(node *dom.Node) {
	switch {
	case node.Type == dom.TextNode:
		w.text(node.Data)
		return
	case node.DataAtom == atom.A && isBareLink(node):
		w.text(node.FirstChild.Data)
		return
	case isBlock(node) || node.DataAtom == atom.Br:
		w.block(node.Data)
		defer func() { w.block(cmp.Or(map[string]string{"p": "p"}[node.Data], "/"+node.Data)) }()
	default:
		name := cmp.Or(map[string]string{"b": "strong", "i": "em"}[node.Data], node.Data)
		for _, key := range []string{"href", "src", "alt", "title", "width", "height"} {
			name += " " + key + "=" + attribute(node, key)
		}
		*w = append(*w, "<"+name+">"...)
		defer func() { *w = append(*w, "</>"...) }()
	}
	for child := range node.ChildNodes() {
		w.node(child)
	}
}

func isBlock(node *dom.Node) bool {
	switch node.DataAtom {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Li, atom.Blockquote,
		atom.Pre, atom.Hr:
		return true
	}
	return false
}

// collapse makes one space of all white space between words, as browsers do.
func collapse(text string) string { return whiteSpace.ReplaceAllString(text, " ") }

var whiteSpace = regexp.MustCompile(`[ \t\r\n]+`)

func children(node *dom.Node) []*dom.Node { return slices.Collect(node.ChildNodes()) }

func attribute(node *dom.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
