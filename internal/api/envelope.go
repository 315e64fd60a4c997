package api

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/store"
)

// query holds the parameters of a URL in the order in which they were sent.
type query []pair

type pair struct {
	name, value string
}

func parseQuery(raw string) (query, error) {
	var q query
	for raw != "" {
		var part string
		part, raw, _ = strings.Cut(raw, "&")
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		name, err1 := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err1 != nil || err2 != nil {
			return nil, &doc.Malformed{Message: "The query string is not valid: a % must be followed by two hexadecimal digits."}
		}
		q = append(q, pair{name, value})
	}
	return q, nil
}

// find is the value of a parameter, in snake or camel case, or nil if it was sent without one or not at all. If it was sent with
// different values, the client may mean any of them.
func (q query) find(name string, v *doc.Invalid) (value *string) {
	for i := range q {
		switch {
		case !text.IsNamed(q[i].name, name), strings.TrimSpace(q[i].value) == "":
		case value == nil:
			value = &q[i].value
		case *value != q[i].value:
			v.Add(name, doc.SentTwice)
			return nil
		}
	}
	return value
}

// sentAs is what the client has called a parameter.
func (q query) sentAs(name string) string {
	if i := slices.IndexFunc(q, func(p pair) bool { return text.IsNamed(p.name, name) }); i >= 0 {
		return q[i].name
	}
	return name
}

// all are the parameters in the order in which they were sent.
func (q query) all(yield func(name, value string) bool) {
	for i := range q {
		if !yield(q[i].name, q[i].value) {
			return
		}
	}
}

// text is the value of a parameter, or "" if it was not sent.
func (q query) text(name string, v *doc.Invalid) string {
	if value := q.find(name, v); value != nil {
		return *value
	}
	return ""
}

// list is the answer with one page of a list.
type list struct {
	page    crm.PageRequest
	query   query
	invalid doc.Invalid
	path    string // URL of the list without a query
	link    []byte // a link as JSON, up to the page's number
	out     delivery
}

func (a *API) newList(r *http.Request) (*list, error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	l := &list{query: q, path: a.options.Proxies.BaseURL(r) + r.URL.Path}
	l.page = crm.ParsePage(q.find("page", &l.invalid), q.find("per_page", &l.invalid), &l.invalid)
	l.link = quote(make([]byte, 0, len(l.path)+len(r.URL.RawQuery)+32), l.path+q.forLinks()+"page=")
	l.link = l.link[:len(l.link)-1]
	return l, nil
}

// fetch appends one page of a list, and may flush it in pieces.
type fetch func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error)

// lists handles a list: read takes what the query says beside the page, and everything that is wrong is told at once.
func lists(read func(a *API, r *http.Request, c call, l *list) fetch) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request, c call) error {
		l, err := a.newList(r)
		if err != nil {
			return err
		}
		page := read(a, r, c, l)
		if err := l.check(); err != nil {
			return a.resourceFirst(r, c, err)
		}
		return l.respond(w, page)
	}
}

// each is the page of a list that is read as a whole, and appended element by element.
func each[E any](read func() ([]E, store.ListResult, error), write func(e *E, dst []byte) []byte) fetch {
	return func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		found, result, err := read()
		for i := range found {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = write(&found[i], dst)
		}
		return dst, result, err
	}
}

// text is the value of a parameter, or "" if it was not sent.
func (l *list) text(name string) string { return l.query.text(name, &l.invalid) }

// note keeps what is wrong with a part of the query.
func (l *list) note(err error) {
	var faults *doc.Invalid
	if err != nil && errors.As(err, &faults) {
		l.invalid.Faults = append(l.invalid.Faults, faults.Faults...)
	}
}

// check reports everything that is wrong with the query at once: the page and what else was read of it.
func (l *list) check() error {
	for i := range l.invalid.Faults {
		l.invalid.Faults[i].Field = l.query.sentAs(l.invalid.Faults[i].Field)
	}
	return l.invalid.Err()
}

// forLinks is the query of a link up to the page number: the other parameters as they were sent, but no secrets.
func (q query) forLinks() string {
	if len(q) == 0 {
		return "?"
	}
	var b strings.Builder
	b.WriteByte('?')
	for _, p := range q {
		if p.name == "page" || access.HoldsSecret(p.name) || access.HoldsSecret(p.value) {
			continue
		}
		b.WriteString(url.QueryEscape(p.name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.value))
		b.WriteByte('&')
	}
	return b.String()
}

// maxLinkHeader is how long the header of links may be, in bytes: proxies refuse an answer with long headers.
const maxLinkHeader = 2000

// setLinks sets the header that has the same links as the body, for clients that page by it.
func (l *list) setLinks(found store.ListResult) {
	if l.out.begun {
		return
	}
	var room [512]byte // enough for most
	dst := room[:0]
	prev, next, last := l.neighbors(found)
	for _, link := range [...]struct {
		rel  string
		page int64
	}{{"first", 1}, {"prev", prev}, {"next", next}, {"last", last}} {
		if link.page == 0 {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, '<'), l.link[1:]...) // without the quotation mark
		dst = strconv.AppendInt(dst, link.page, 10)
		dst = append(append(append(dst, `>; rel="`...), link.rel...), '"')
	}
	if len(dst) <= maxLinkHeader {
		l.out.w.Header()["Link"] = []string{string(dst)}
	}
}

// neighbors are the numbers of the pages before and after this one, 0 where there is none, and of the last one.
func (l *list) neighbors(found store.ListResult) (prev, next, last int64) {
	prev, next, last = l.page.Page-1, l.page.Page+1, l.page.LastPage(found.Total)
	if next > last {
		next = 0
	}
	return prev, next, last
}

func (l *list) begin(dst []byte) []byte { return append(dst, `{"data":[`...) }

// end ends the data and appends links and meta.
func (l *list) end(dst []byte, found store.ListResult) []byte {
	page := l.page.Page
	prev, next, last := l.neighbors(found)
	dst = append(dst, `],"links":{"first":`...)
	dst = l.appendLink(dst, 1)
	dst = append(dst, `,"last":`...)
	dst = l.appendLink(dst, last)
	dst = append(dst, `,"prev":`...)
	dst = l.appendLink(dst, prev)
	dst = append(dst, `,"next":`...)
	dst = l.appendLink(dst, next)
	dst = append(dst, `},"meta":{"current_page":`...)
	dst = strconv.AppendInt(dst, page, 10)
	from, to := "null", "null"
	if found.Count > 0 {
		from = strconv.FormatInt(l.page.Skip()+1, 10)
		to = strconv.FormatInt(l.page.Skip()+found.Count, 10)
	}
	dst = append(dst, `,"from":`...)
	dst = append(dst, from...)
	dst = append(dst, `,"last_page":`...)
	dst = strconv.AppendInt(dst, last, 10)
	dst = append(dst, `,"links":`...)
	dst = l.appendNavigation(dst, prev, next, last)
	dst = append(dst, `,"path":`...)
	dst = quote(dst, l.path)
	dst = append(dst, `,"per_page":`...)
	dst = strconv.AppendInt(dst, l.page.PerPage, 10)
	dst = append(dst, `,"to":`...)
	dst = append(dst, to...)
	dst = append(dst, `,"total":`...)
	dst = strconv.AppendInt(dst, found.Total, 10)
	return append(dst, `}}`...)
}

// appendNavigation appends meta.links: previous, page numbers with gaps, next.
func (l *list) appendNavigation(dst []byte, prev, next, last int64) []byte {
	dst = append(dst, '[')
	dst = l.appendStep(dst, prev, "&laquo; Previous", false)
	for _, n := range crm.PageNumbers(l.page.Page, last) {
		label := "..."
		if n > 0 {
			label = strconv.FormatInt(n, 10)
		}
		dst = l.appendStep(append(dst, ','), n, label, n == l.page.Page)
	}
	dst = l.appendStep(append(dst, ','), next, "Next &raquo;", false)
	return append(dst, ']')
}

func (l *list) appendStep(dst []byte, page int64, label string, active bool) []byte {
	dst = append(dst, `{"url":`...)
	dst = l.appendLink(dst, page)
	dst = append(dst, `,"label":"`...)
	dst = append(dst, label...)
	dst = append(dst, `","active":`...)
	dst = strconv.AppendBool(dst, active)
	return append(dst, '}')
}

// appendLink appends the URL of a page, null for page 0.
func (l *list) appendLink(dst []byte, page int64) []byte {
	if page == 0 {
		return append(dst, `null`...)
	}
	dst = append(dst, l.link...)
	dst = strconv.AppendInt(dst, page, 10)
	return append(dst, '"')
}

// quote appends a JSON string. Its texts are URLs, so unusual characters are already escaped.
func quote(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
