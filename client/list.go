package client

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// perPage is the most that the API gives at once.
const perPage = 100

// Page is a part of a list: up to 100 items.
type Page[T any] struct {
	Items  []T
	Number int   // of this page, from 1
	Last   int   // number of the last page
	Total  int64 // how many items the list has
}

// query is the parameters of a list. A filter is a pointer, and nil is no filter; a filter that is there but empty is an error, because
// it would list everything.
type query struct {
	values url.Values
	err    error
}

// filter adds a filter to a query.
func filter[T string | int64 | bool | time.Time](q *query, name string, value *T) {
	if value == nil {
		return
	}
	switch v := any(*value).(type) {
	case time.Time:
		q.add(name, v.UTC().Format(time.RFC3339))
	default:
		q.add(name, fmt.Sprint(v))
	}
}

func (q *query) add(name, value string) {
	if value == "" {
		q.err = fmt.Errorf("the filter %s is empty; leave it out to list everything", name)
	}
	if q.values == nil {
		q.values = url.Values{}
	}
	q.values.Add(name, value)
}

// choice adds a parameter that has a default.
func (q *query) choice(name, value string) {
	if value != "" {
		q.add(name, value)
	}
}

// page reads one page of a list.
func page[T any](ctx context.Context, c *Client, path string, q query, number int) (Page[T], error) {
	if q.err != nil {
		return Page[T]{}, q.err
	}
	var list struct {
		Data []T
		Meta struct {
			LastPage int `json:"last_page"`
			Total    int64
		}
	}
	values := url.Values{"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(number)}}
	maps.Copy(values, q.values)
	a, err := c.send(ctx, http.MethodGet, path, values, nil, &list)
	if err != nil {
		return Page[T]{}, err
	}
	// An older server may not know a filter. What it lists then is not what the caller asked for.
	if ignored := a.header.Get("X-Ignored-Query"); ignored != "" {
		return Page[T]{}, fmt.Errorf("GET %s: the server does not know these parameters: %s", path, ignored)
	}
	return Page[T]{list.Data, number, list.Meta.LastPage, list.Meta.Total}, nil
}

// all walks through all pages of a list. The numbers of pages lead, not the links of the answer: those have the server's public address,
// which need not be the one that this client was given. After an error, the walk ends.
func all[T any](ctx context.Context, c *Client, path string, q query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for number := 1; ; number++ {
			p, err := page[T](ctx, c, path, q, number)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if number >= p.Last {
				return
			}
		}
	}
}
