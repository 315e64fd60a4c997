package crm

import (
	"slices"
	"strconv"
	"strings"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// The limits of a list. No page number may be larger than the integers that every JSON client holds exactly.
const (
	defaultPerPage = 20
	maxPerPage     = 100
	maxPage        = 1<<53 - 1
)

// PageRequest is which part of a list is asked for.
type PageRequest struct {
	Page    int64 // from 1
	PerPage int64
}

// ParsePage reads the query parameters page and per_page; nil is a parameter that was not sent.
func ParsePage(page, perPage *string, v *doc.Invalid) PageRequest {
	return PageRequest{
		Page:    parseCount(v, "page", page, 1, maxPage),
		PerPage: parseCount(v, "per_page", perPage, defaultPerPage, maxPerPage),
	}
}

func parseCount(v *doc.Invalid, field string, sent *string, unsent, limit int64) int64 {
	if sent == nil {
		return unsent
	}
	n, err := strconv.ParseInt(*sent, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != *sent || n < 1 || n > limit {
		rule := doc.Rule("must be an integer from 1 to %v")
		if limit == maxPage && n <= limit { // which tells a reader nothing
			rule = "must be an integer of at least 1"
		}
		v.Add(field, rule, limit)
		return unsent
	}
	return n
}

// Skip is the number of elements before the page. Pages are so bounded that it cannot overflow.
func (p PageRequest) Skip() int64 { return (p.Page - 1) * p.PerPage }

// LastPage is the number of the last page, at least 1.
func (p PageRequest) LastPage(total int64) int64 {
	return max(1, (total+p.PerPage-1)/p.PerPage)
}

// PageNumbers are the numbers to show for navigation; 0 stands for a gap.
func PageNumbers(page, last int64) []int64 {
	numbers := make([]int64, 0, 13) // there are never more
	switch {
	case last < 14:
		return span(numbers, 1, last)
	case page <= 7:
		return span(append(span(numbers, 1, 10), 0), last-1, last)
	case page > last-7:
		return span(append(numbers, 1, 2, 0), last-9, last)
	default:
		middle := span(append(numbers, 1, 2, 0), page-3, page+3)
		return span(append(middle, 0), last-1, last)
	}
}

func span(dst []int64, from, to int64) []int64 {
	for n := from; n <= to; n++ {
		dst = append(dst, n)
	}
	return dst
}

// SortParameters are the query parameters that say by what a list is sorted. The last one means descending order
// without a sign.
var SortParameters = []string{"sort", "sort_by", "sort_by_desc"}

// IsDescending tells whether a query parameter is the one that means descending order.
func IsDescending(parameter string) bool { return text.IsNamed(parameter, "sort_by_desc") }

// ParseSort reads by what a list is to be sorted: value gives each parameter by its name, "" where it was not sent.
func ParseSort(v *doc.Invalid, value func(name string) string, fields ...string) (by string, descending bool) {
	var first, asked string
	for _, name := range SortParameters {
		sent := value(name)
		if sent != "" && IsDescending(name) {
			sent = "-" + sent
		}
		switch {
		case sent == "" || sent == asked:
		case asked != "":
			v.Add(name, doc.SentAs, first, name)
		default:
			first, asked = name, sent
			by, descending = ReadSort(v, name, sent, fields...)
		}
	}
	return by, descending
}

// ReadSort reads a field to sort by, in snake or camel case, with a - before it for descending order.
func ReadSort(v *doc.Invalid, name, sent string, fields ...string) (by string, descending bool) {
	field, descending := strings.CutPrefix(sent, "-")
	if i := slices.IndexFunc(fields, func(f string) bool { return text.IsNamed(field, f) }); i >= 0 {
		return fields[i], descending
	}
	rule := doc.SortRule
	if IsDescending(name) {
		rule = doc.OneOf
	}
	v.AddAt(doc.Place{}, name, rule, strings.Join(fields, ", "))
	return "", false
}

// ContactScope is which contacts a list shows.
type ContactScope string

const (
	Active   ContactScope = "active"
	Archived ContactScope = "archived"
	All      ContactScope = "all"
)

// ParseContactScope reads the query parameter scope of the contact list; "" is the default.
func ParseContactScope(value string) (ContactScope, error) {
	switch scope := ContactScope(value); scope {
	case "", "null": // some clients send it for a scope that they have not set
		return Active, nil
	case Active, Archived, All:
		return scope, nil
	}
	return Active, doc.NewInvalid("scope", doc.OneOf, "active, archived, all")
}
