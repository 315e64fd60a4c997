package crm

import (
	"net/url"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
)

// sanitiseHTML leaves of an HTML text what a description needs, and nothing that could run, track by form, or
// imitate the page around it.
func sanitiseHTML(text string) string {
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
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("src").OnElements("img")
	p.AllowAttrs("alt", "title").OnElements("img")
	p.AllowAttrs("width", "height").Matching(bluemonday.Integer).OnElements("img")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	p.AllowURLSchemeWithCustomPolicy("https", func(u *url.URL) bool { return isWebURL(u.String()) })
	p.RequireNoFollowOnLinks(true)
	p.AddTargetBlankToFullyQualifiedLinks(true) // and rel=noopener
	return p
})
