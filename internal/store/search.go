package store

import (
	"context"
	"math"
	"slices"
	"strings"

	"donorbook/internal/crm"
)

// searchDialect is how an engine writes and reads the words of contacts. In its statements $1 is the account, $2 the contact
// or the query.
type searchDialect struct {
	insert, replace string // $3 are the words
	older, newer    string // ids on one side of $3, at most $4, the nearest first
	count           string // how many ids there are, counted up to $3
	remove          string // forgets a contact
	within          string // an id above $2 up to $3, where there is one
	clear           string // removes all words of all accounts
	words           string // every contact with each of its words, in no order; $1 and $2 are the least and greatest id
	expression      func(spaces []string, search crm.Search) string
}

// CountedResults is up to where the results of a search are counted.
const CountedResults = 1000

func wordSpaces(account int64, scope crm.ContactScope) (spaces []string) {
	if scope != crm.Archived {
		spaces = append(spaces, crm.WordSpace(account, false))
	}
	if scope != crm.Active {
		spaces = append(spaces, crm.WordSpace(account, true))
	}
	return spaces
}

// SearchPlace is where a page of results lies: after a contact or before it, in the order of the results, newest first. The
// zero value is the first page.
type SearchPlace struct{ After, Before int64 }

// SearchResult is one page of what was found, newest first.
type SearchResult struct {
	Contacts   []crm.Contact
	Total      int64       // of all pages; more than CountedResults is one more than that
	Next, Prev SearchPlace // of the pages beside it; the zero value where there is none
}

// SearchContacts finds the contacts of a scope that meet a search.
func (s *Store) SearchContacts(ctx context.Context, account int64, scope crm.ContactScope, search crm.Search, at SearchPlace, limit int) (result SearchResult, err error) {
	if len(search.Terms) == 0 {
		return result, nil
	}
	f := finder{searchDialect: s.engine.dialect().search, account: account}
	f.asked = f.expression(wordSpaces(account, scope), search)
	err = s.view(ctx, func(c conn) error {
		f.conn = c
		result, err = f.page(at, limit)
		return err
	})
	return result, err
}

// finder looks up one search.
type finder struct {
	conn
	searchDialect
	account int64
	asked   string // the search in the engine's words
}

func (f *finder) page(at SearchPlace, limit int) (result SearchResult, err error) {
	ids, more, err := f.ids(at, limit)
	if err != nil {
		return result, err
	}
	if _, err = one(f.conn, func(r rows) { result.Total = r.int(0) }, f.count, f.account, f.asked, int64(CountedResults+1)); err != nil {
		return result, err
	}
	if len(ids) == 0 {
		return result, nil
	}
	if at.Before != 0 || more {
		result.Next.After = ids[len(ids)-1]
	}
	if at.After != 0 || at.Before != 0 && more {
		result.Prev.Before = ids[0]
	}
	slices.Reverse(ids)
	result.Contacts, err = loadContacts(f.conn, f.account, ids)
	slices.Reverse(result.Contacts)
	return result, err
}

// ids are those of a page, the greatest first, and whether there are more on the far side.
func (f *finder) ids(at SearchPlace, limit int) (ids []int64, more bool, err error) {
	sql, from := f.older, int64(math.MaxInt64)
	switch {
	case at.Before != 0:
		sql, from = f.newer, at.Before
	case at.After != 0:
		from = at.After
	}
	err = each(f.conn, func(r rows) error {
		ids = append(ids, r.int(0))
		return nil
	}, sql, f.account, f.asked, from, int64(limit+1))
	if more = len(ids) > limit; more {
		ids = ids[:limit]
	}
	if at.Before != 0 {
		slices.Reverse(ids)
	}
	return ids, more, err
}

// named are those of the ids, which ascend, whose contacts are active and may have the name of the input, after the first of
// all. Who has such a name is read once, however many ids there are.
func (t *tx) named(account int64, ids []int64, name crm.Search) ([]int64, error) {
	f := finder{conn: t.conn, searchDialect: *t.search, account: account}
	f.asked = f.expression(wordSpaces(account, crm.Active), name)
	found, _, err := f.ids(SearchPlace{}, math.MaxInt32)
	slices.Reverse(found)
	named := ids[:1:1]
	for _, id := range ids[1:] {
		if containsSorted(found, id) {
			named = append(named, id)
		}
	}
	return named, err
}

// insertWords makes a new contact known to the search.
func (t *tx) insertWords(account, id int64, words string) error {
	return t.post(t.search.insert, account, id, words)
}

// saveWords brings the search up to a change of a contact.
func (t *tx) saveWords(account int64, from, to *crm.Contact) error {
	words := to.SearchDocument(account)
	if words == from.SearchDocument(account) {
		return nil
	}
	return t.post(t.search.replace, account, to.ID, words)
}

// joinQuery writes a search with the signs of an engine.
func joinQuery(search crm.Search, and, or string, word func(crm.SearchWord) string) string {
	var terms []string
	for _, term := range search.Terms {
		var choices []string
		for _, choice := range term {
			var words []string
			for _, w := range choice {
				words = append(words, word(w))
			}
			choices = append(choices, "("+strings.Join(words, and)+")")
		}
		terms = append(terms, "("+strings.Join(choices, or)+")")
	}
	return strings.Join(terms, and)
}
