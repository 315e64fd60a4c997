package console

import (
	"net/url"
	"strconv"

	"donorbook/internal/crm"
)

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

// The parameters that hold a page number. A page with two lists has two.
const (
	pageParameter    = "page"
	invitedParameter = "invited"
)

const rowsPerPage = 25

// paged cuts a list that a limit bounds to the page that the query asks for, or to the last one.
func paged[T any](all []T, path string, query url.Values, parameter string) ([]T, pager) {
	at, total := pageNumber(query, parameter, rowsPerPage), int64(len(all))
	at.Page = min(at.Page, at.LastPage(total))
	return all[at.Skip():min(at.Skip()+at.PerPage, total)], pagerFor(path, query, parameter, at, total)
}

// samePage is a path with the page numbers of the query, for forms that lead back to where they were sent from.
func samePage(path string, query url.Values) string {
	kept := url.Values{}
	for _, parameter := range []string{pageParameter, invitedParameter} {
		if number := query.Get(parameter); number != "" {
			kept.Set(parameter, number)
		}
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + kept.Encode()
}

// newPager leads to the other pages of a list at path with the given query. A list of one page has none.
func newPager(path string, query url.Values, page crm.PageRequest, total int64) pager {
	return pagerFor(path, query, pageParameter, page, total)
}

func pagerFor(path string, query url.Values, parameter string, page crm.PageRequest, total int64) pager {
	last := page.LastPage(total)
	if last == 1 && page.Page == 1 {
		return pager{}
	}
	address := func(n int64) string {
		q := url.Values{}
		for key, values := range query {
			q[key] = values
		}
		q.Del(parameter)
		if n > 1 {
			q.Set(parameter, strconv.FormatInt(n, 10))
		}
		if len(q) == 0 {
			return path
		}
		return path + "?" + q.Encode()
	}
	var p pager
	for _, n := range crm.PageNumbers(min(page.Page, last), last) {
		p.Pages = append(p.Pages, pageLink{Number: n, Current: n == page.Page, Address: address(n)})
	}
	if page.Page > 1 {
		p.Previous = address(min(page.Page-1, last))
	}
	if page.Page < last {
		p.Next = address(page.Page + 1)
	}
	return p
}

// pageOf reads the page number of a list. A wrong one is the first page: nobody typed it.
func pageOf(query url.Values, perPage int64) crm.PageRequest {
	return pageNumber(query, pageParameter, perPage)
}

func pageNumber(query url.Values, parameter string, perPage int64) crm.PageRequest {
	n, err := strconv.ParseInt(query.Get(parameter), 10, 64)
	if err != nil || n < 1 || n > 1<<40 {
		n = 1
	}
	return crm.PageRequest{Page: n, PerPage: perPage}
}
