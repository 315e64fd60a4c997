package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
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

// query is the parameters of a list: those fields of a filter that are set. One that is set but empty is an error, because it would list everything.
func query(filter any) (url.Values, error) {
	values := url.Values{}
	if filter == nil {
		return values, nil
	}
	fields := reflect.ValueOf(filter)
	for i := range fields.NumField() {
		field, name := fields.Field(i), fields.Type().Field(i).Tag.Get("query")
		if field.IsZero() {
			continue
		}
		texts, several := field.Interface().([]string)
		if !several {
			texts = []string{written(reflect.Indirect(field).Interface())}
		}
		for _, text := range texts {
			if text == "" {
				return nil, fmt.Errorf("the filter %s is empty; leave it out to list everything", name)
			}
			values.Add(name, text)
		}
	}
	return values, nil
}

func written(value any) string {
	if moment, is := value.(time.Time); is {
		return moment.UTC().Format(time.RFC3339)
	}
	return fmt.Sprint(value)
}

// first is the filter that a caller gave, or none.
func first[F any](filters []F) (filter F) {
	if len(filters) > 0 {
		filter = filters[0]
	}
	return filter
}

// page reads one page of a list.
func page[T any](ctx context.Context, c *Client, path string, filter any, number int) (Page[T], error) {
	values, err := query(filter)
	if err != nil {
		return Page[T]{}, err
	}
	values.Set("per_page", strconv.Itoa(perPage))
	values.Set("page", strconv.Itoa(number))
	var list struct {
		Data []T
		Meta struct {
			LastPage int `json:"last_page"`
			Total    int64
		}
	}
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
func all[T any](ctx context.Context, c *Client, path string, filter any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for number := 1; ; number++ {
			p, err := page[T](ctx, c, path, filter, number)
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
