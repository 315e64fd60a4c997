package page

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
	PageParameter    = "page"
	InvitedParameter = "invited"

	rowsPerPage = 25
)

// List reads which page of the list at a path is asked for. A wrong number is the first page: it comes from no link of ours.
func (r *Request) List(path, parameter string, perPage int64) list {
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
	return WithQuery(l.path, q)
}

func WithQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// WithoutEmpty is an address without the parameters that a form sent empty, so that it is as short as a link of ours.
func WithoutEmpty(u *url.URL) (address string, clean bool) {
	q := u.Query()
	n := len(q)
	maps.DeleteFunc(q, func(_ string, values []string) bool { return strings.Join(values, "") == "" })
	return WithQuery(u.Path, q), len(q) == n
}

// Pager is the navigation below a list.
type Pager struct {
	Label          string // what it leads through, where a page has several; "" for the page's only list
	Pages          []pageLink
	Previous, Next string
}

type pageLink struct {
	Number  int64 // 0 is a gap
	Current bool
	Address string
}

// Pager leads to the other pages of a list of so many elements. A list of one page has none.
func (l list) Pager(total int64) (p Pager) {
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

// Part is one page of a list, as templates show it.
type Part[T any] struct {
	Rows  []T
	Pager Pager
}

// Paged cuts a list that a limit bounds to the page that is asked for, or to the last one.
func Paged[T any](r *Request, all []T, path, parameter string) Part[T] {
	l, total := r.List(path, parameter, rowsPerPage), int64(len(all))
	l.Page = min(l.Page, l.LastPage(total))
	return Part[T]{all[l.Skip():min(l.Skip()+l.PerPage, total)], l.Pager(total)}
}

// SamePage is a path with the page numbers of the request, for forms that lead back to where they were sent from.
func (r *Request) SamePage(path string) string {
	kept := url.Values{}
	for _, parameter := range []string{PageParameter, InvitedParameter} {
		if number := r.URL.Query().Get(parameter); number != "" {
			kept.Set(parameter, number)
		}
	}
	return WithQuery(path, kept)
}

// Tab leads to one scope of a list.
type Tab struct {
	Label, Address string
	Total          int64
	Current        bool
}

// Scope is a part of a list that has a tab.
type Scope[S comparable] struct {
	Name  S
	Label string
}

func TabsOf[S comparable](scopes []Scope[S], current S, totals map[S]int64, address func(S) string) (tabs []Tab) {
	for _, s := range scopes {
		tabs = append(tabs, Tab{Label: s.Label, Address: address(s.Name), Total: totals[s.Name], Current: s.Name == current})
	}
	return tabs
}

// Pick is the element of a list that the path names.
func Pick[T any](all []T, err error, is func(T) bool) (T, error) {
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

// columnsCookie, and the name of a list, keeps which columns a person has chosen for it.
const columnsCookie = "__Secure-columns-"

// MemoryTime is how long a browser keeps what a person has chosen.
const MemoryTime = 365 * 24 * time.Hour

// columns are those that the person has chosen for a list, nil where they have not. What another person has chosen in the
// same browser counts for nothing.
func (r *Request) columns(list string) []string {
	user, names, chosen := strings.Cut(CookieValue(r.Request, columnsCookie+list), ".")
	if !chosen || user != IDText(r.Session.User.ID) {
		return nil
	}
	return strings.Split(names, ".")
}

func (r *Request) keepColumns(list string, names []string) {
	value := strings.Join(append([]string{IDText(r.Session.User.ID)}, names...), ".")
	SetCookie(r.W, columnsCookie+list, value, MemoryTime)
}
