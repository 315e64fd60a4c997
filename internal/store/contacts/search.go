package contacts

import (
	"context"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// CountedResults is up to where the results of a search are counted.
const CountedResults = 1000

// SearchPlace is where a page of results lies.
type SearchPlace = db.Place

// SearchResult is one page of what was found, newest first.
type SearchResult struct {
	Contacts   []crm.Contact
	Total      int64    // of all pages; more than CountedResults is one more than that
	Next, Prev db.Place // of the pages beside it; the zero value where there is none
}

// SearchContacts finds the contacts of a scope that meet a search.
func (s *ContactStore) SearchContacts(ctx context.Context, account int64, scope crm.ContactScope, search find.Search, at db.Place, limit int) (result SearchResult, err error) {
	if len(search.Terms) == 0 {
		return result, nil
	}
	err = s.View(ctx, func(c db.Conn) error {
		result, err = searchPage(c, query(account, scope, search), at, limit)
		return err
	})
	return result, err
}

// query is a search among the contacts of a scope.
func query(account int64, scope crm.ContactScope, search find.Search) db.Query {
	q := db.Query{Account: account}
	if scope != crm.Archived {
		q.Spaces = append(q.Spaces, find.WordSpace(account, false))
	}
	if scope != crm.Active {
		q.Spaces = append(q.Spaces, find.WordSpace(account, true))
	}
	for _, term := range search.Terms {
		var choices [][]db.Word
		for _, choice := range term {
			var words []db.Word
			for _, w := range choice {
				words = append(words, db.Word(w))
			}
			choices = append(choices, words)
		}
		q.Terms = append(q.Terms, choices)
	}
	return q
}

func searchPage(c db.Conn, q db.Query, at db.Place, limit int) (result SearchResult, err error) {
	found, err := c.Search(store.WordsTable, q, at, limit, CountedResults+1)
	ids := found.IDs
	if result.Total = found.Total; err != nil || len(ids) == 0 {
		return result, err
	}
	if at.Before != 0 || found.More {
		result.Next.After = ids[len(ids)-1]
	}
	if at.After != 0 || at.Before != 0 && found.More {
		result.Prev.Before = ids[0]
	}
	result.Contacts, err = LoadContacts(c, q.Account, ids)
	slices.Reverse(result.Contacts)
	return result, err
}

// named are those of the ids, which ascend, whose contacts are active and may have the name of the input, after the first of
// all. The contacts that have such a name are looked up once, however many ids there are.
func named(t *store.Tx, account int64, ids []int64, name find.Search) ([]int64, error) {
	var found db.Set
	err := t.SearchEach(store.WordsTable, query(account, crm.Active, name), math.MaxInt32, func(id int64) error {
		found.Add(doc.IDSeq(id))
		return nil
	})
	named := ids[:1:1]
	for _, id := range ids[1:] {
		if found.Has(doc.IDSeq(id)) {
			named = append(named, id)
		}
	}
	return named, err
}
