package console

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// list is one page of the list of a noun: which part is asked for, and the addresses of the others.
type list struct {
	crm.PageRequest
	path      string
	query     url.Values
	parameter string // of the page number; a page with two lists has two
}

const (
	pageParameter    = "page"
	invitedParameter = "invited"

	rowsPerPage = 25
)

// list reads which page of the list at a path is asked for. A wrong number is the first page: it comes from no link of ours.
func (r *request) list(path, parameter string, perPage int64) list {
	query := r.URL.Query()
	n, err := strconv.ParseInt(query.Get(parameter), 10, 64)
	if err != nil || n < 1 || n > 1<<40 {
		n = 1
	}
	return list{crm.PageRequest{Page: n, PerPage: perPage}, path, query, parameter}
}

// address is a page of the list.
func (l list) address(page int64) string {
	q := maps.Clone(l.query)
	q.Del(l.parameter)
	if page > 1 {
		q.Set(l.parameter, strconv.FormatInt(page, 10))
	}
	return withQuery(l.path, q)
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// withoutEmpty is an address without the parameters that a form sent empty, so that it is as short as a link of ours.
func withoutEmpty(u *url.URL) (address string, clean bool) {
	q := u.Query()
	n := len(q)
	maps.DeleteFunc(q, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	return withQuery(u.Path, q), len(q) == n
}

// pager is the navigation below a list.
type pager struct {
	Label          string // what it leads through, where a page has several; "" for the page's only list
	Pages          []pageLink
	Previous, Next string
}

type pageLink struct {
	Number  int64 // 0 is a gap
	Current bool
	Address string
}

// pager leads to the other pages of a list of so many elements. A list of one page has none.
func (l list) pager(total int64) (p pager) {
	last := l.LastPage(total)
	if last == 1 && l.Page == 1 {
		return p
	}
	for _, n := range crm.PageNumbers(min(l.Page, last), last) {
		p.Pages = append(p.Pages, pageLink{Number: n, Current: n == l.Page, Address: l.address(n)})
	}
	if l.Page > 1 {
		p.Previous = l.address(min(l.Page-1, last))
	}
	if l.Page < last {
		p.Next = l.address(l.Page + 1)
	}
	return p
}

// rows is one page of a list, as templates show it.
type rows[T any] struct {
	Rows  []T
	Pager pager
}

// paged cuts a list that a limit bounds to the page that is asked for, or to the last one.
func paged[T any](r *request, all []T, path, parameter string) rows[T] {
	l, total := r.list(path, parameter, rowsPerPage), int64(len(all))
	l.Page = min(l.Page, l.LastPage(total))
	return rows[T]{all[l.Skip():min(l.Skip()+l.PerPage, total)], l.pager(total)}
}

// samePage is a path with the page numbers of the request, for forms that lead back to where they were sent from.
func (r *request) samePage(path string) string {
	kept := url.Values{}
	for _, parameter := range []string{pageParameter, invitedParameter} {
		if number := r.URL.Query().Get(parameter); number != "" {
			kept.Set(parameter, number)
		}
	}
	return withQuery(path, kept)
}

// tab leads to one scope of a list.
type tab struct {
	Label, Address string
	Total          int64
	Current        bool
}

// scope is a part of a list that has a tab.
type scope[S comparable] struct {
	name  S
	label string
}

func tabsOf[S comparable](scopes []scope[S], current S, totals map[S]int64, address func(S) string) (tabs []tab) {
	for _, s := range scopes {
		tabs = append(tabs, tab{Label: s.label, Address: address(s.name), Total: totals[s.name], Current: s.name == current})
	}
	return tabs
}

// pick is the element of a list that the path names.
func pick[T any](all []T, err error, is func(T) bool) (T, error) {
	for _, one := range all {
		if is(one) {
			return one, err
		}
	}
	if err == nil {
		err = crm.ErrNotFound
	}
	return *new(T), err
}

// memory is what a person's browser remembers of a list.
type memory struct {
	columns []string // nil where the person has not chosen
	filter  string   // the query that was shown last
}

const (
	listCookie = "__Host-list-" // and the name of the list
	memoryTime = 365 * 24 * time.Hour
	maxMemory  = 2000 // bytes of a filter
)

// remembered is what the person has chosen for a list. What another person has chosen in the same browser counts for nothing, and a filter only
// for the organization that it was used in.
func (r *request) remembered(list string) (m memory) {
	kept, err := url.ParseQuery(cookieValue(r.Request, listCookie+list))
	if err != nil || kept.Get("user") != idText(r.session.User.ID) {
		return m
	}
	if kept.Has("columns") {
		m.columns = strings.Split(kept.Get("columns"), ".")
	}
	if kept.Get("account") == r.membership.Account.ID {
		m.filter = kept.Get("filter")
	}
	return m
}

func (r *request) keepList(list string, m memory) {
	kept := url.Values{"user": {idText(r.session.User.ID)}, "account": {r.membership.Account.ID}}
	if m.columns != nil {
		kept.Set("columns", strings.Join(m.columns, "."))
	}
	if m.filter != "" && len(m.filter) <= maxMemory {
		kept.Set("filter", m.filter)
	}
	setCookie(r.w, listCookie+list, kept.Encode(), memoryTime)
}
