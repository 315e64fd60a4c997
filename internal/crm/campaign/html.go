package campaign

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/microcosm-cc/bluemonday"
	"golang.org/x/net/html"

	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
)

// sanitizeHTML leaves of an HTML text what a description needs, and nothing that could run, track by form, or
// imitate the page around it.
func sanitizeHTML(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSpace(htmlPolicy().Sanitize(text))
}

// htmlPolicy is text formatting, lists, headings, links and images. There are no classes, ids, styles, tables or
// frames. Links open beside the page and give it no say.
var htmlPolicy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark", "small", "sub", "sup",
		"blockquote", "pre", "code", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6")
	p.AllowAttrs("href").Matching(foreignAddress).OnElements("a")
	p.AllowAttrs("src").Matching(imageAddress).OnElements("img")
	p.AllowAttrs("alt", "title").OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.Integer).OnElements("img")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(true) // those that match
	p.AllowURLSchemeWithCustomPolicy("https", func(u *url.URL) bool { return text.IsWebURL(u.String()) })
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // and rel=noopener
	return p
})

// Links lead to other sites. Images are on other sites, or were uploaded here.
var (
	foreignAddress = regexp.MustCompile(`^\s*(?i:https):`)
	imageAddress   = regexp.MustCompile(foreignAddress.String() + `|^` + picture.Form + `$`)
)

// maxRemovedKinds is how many kinds of elements are worth listing. Listing each of thousands would take long, too.
const maxRemovedKinds = 20

// RemovedHTML says what sanitizing has taken out of a text that was typed, in words for people: tables, images, <div>.
func RemovedHTML(typed string) (kinds []string) {
	typed = fromMarkup(typed)
	left := map[string]int{}
	htmlElements(sanitizeHTML(typed), func(name string, shown bool) {
		if shown {
			left[name]++
		}
	})
	htmlElements(typed, func(name string, _ bool) {
		if left[name]--; left[name] >= 0 || len(kinds) > maxRemovedKinds {
			return
		}
		kind := elementKind(name)
		switch {
		case slices.Contains(kinds, kind):
		case len(kinds) < maxRemovedKinds:
			kinds = append(kinds, kind)
		default:
			kinds = append(kinds, "other elements")
		}
	})
	return kinds
}

// htmlElements finds the elements of a text. Links and pictures without an address are not shown.
func htmlElements(text string, found func(name string, shown bool)) {
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		switch z.Next() {
		case html.ErrorToken: // the end
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			needed := map[string]string{"a": "href", "img": "src"}[token.Data]
			found(token.Data, needed == "" || slices.ContainsFunc(token.Attr,
				func(a html.Attribute) bool { return a.Key == needed }))
		}
	}
}

// elementKind is what people call an element.
func elementKind(name string) string {
	for kind, names := range elementKinds {
		if slices.Contains(names, name) {
			return kind
		}
	}
	return "<" + name + ">"
}

var elementKinds = map[string][]string{
	"tables":         strings.Fields("table caption colgroup col thead tbody tfoot tr th td"),
	"images":         strings.Fields("img picture svg"),
	"links":          {"a"},
	"scripts":        strings.Fields("script noscript"),
	"styles":         strings.Fields("style link"),
	"embedded pages": strings.Fields("iframe frame frameset object embed"),
	"video or audio": strings.Fields("video audio source track"),
	"form fields":    strings.Fields("form fieldset legend label input button select option textarea"),
}

var (
	blankLine = regexp.MustCompile(`\n[ \t]*\n\s*`)
	// inLine are tags that people put into a text without thinking of its lines.
	inLine = strings.Fields("a b code del em i img ins mark s small strong sub sup u")
)

// Paragraphs is a text whose lines no tag makes, with tags for them: HTML alone would run them together. Where the text
// is sanitized, so is the result.
func Paragraphs(text string) string {
	if !strings.Contains(text, "\n") || IsHTML(text) {
		return text
	}
	var b strings.Builder
	from, at := 0, 0
	end := func(to int) {
		if paragraph := strings.TrimSpace(text[from:to]); paragraph != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString("<p>")
			b.WriteString(strings.ReplaceAll(paragraph, "\n", "<br>"))
			b.WriteString("</p>")
		}
	}
	for line := range strings.Lines(text) {
		next := at + len(line)
		if strings.Trim(line, " \t\n") == "" {
			end(at)
			from = next
		}
		at = next
	}
	end(len(text))
	return b.String()
}

// IsHTML tells whether a text is HTML that says itself where a line ends. A heart, <3, is no tag. Every look at a
// public page asks this, so the text is read once and nothing is kept of it.
func IsHTML(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "<")
		if !found {
			return false
		}
		if name, isTag := tagAt(rest); isTag && !slices.ContainsFunc(inLine,
			func(tag string) bool { return strings.EqualFold(tag, name) }) {
			return true
		}
		text = rest
	}
}

// tagAt is the name of the tag that begins behind a <, "" for a comment or a declaration.
func tagAt(text string) (name string, isTag bool) {
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "?") {
		return "", true
	}
	inside := strings.TrimPrefix(text, "/")
	if end := strings.IndexAny(inside, "<>"); end < 0 || inside[end] == '<' {
		return "", false
	} else {
		inside = inside[:end]
	}
	end := strings.IndexFunc(inside, func(c rune) bool {
		return c >= utf8.RuneSelf || !isLetter(byte(c)) &&
			(c < '0' || c > '9')
	})
	if end < 0 {
		end = len(inside)
	}
	name, rest := inside[:end], inside[end:]
	return name, name != "" && isLetter(name[0]) && (rest == "" || strings.ContainsRune(" \t\n\f\r/", rune(rest[0])))
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
