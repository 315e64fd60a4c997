package console

import (
	"net/url"
	"strconv"

	"donorbook/internal/crm"
)

// pager is the navigation below a list.
type pager struct {
	Pages          []pageLink
	Previous, Next string
}

type pageLink struct {
	Number  int64 // 0 is a gap
	Current bool
	Address string
}

// newPager leads to the other pages of a list at path with the given query. A list of one page has none.
func newPager(path string, query url.Values, page crm.PageRequest, total int64) pager {
	last := page.LastPage(total)
	if last == 1 && page.Page == 1 {
		return pager{}
	}
	address := func(n int64) string {
		q := url.Values{}
		for key, values := range query {
			q[key] = values
		}
		q.Del("page")
		if n > 1 {
			q.Set("page", strconv.FormatInt(n, 10))
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
func pageOf(r url.Values, perPage int64) crm.PageRequest {
	n, err := strconv.ParseInt(r.Get("page"), 10, 64)
	if err != nil || n < 1 || n > 1<<40 {
		n = 1
	}
	return crm.PageRequest{Page: n, PerPage: perPage}
}
