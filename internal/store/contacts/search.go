package contacts

import (
	"math"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// query is a search among the contacts of an account, whatever their state.
func query(account int64, search find.Search) db.Query {
	q := db.Query{Account: account, Space: find.WordSpace(account)}
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

// named are those of the ids, which ascend, whose contacts may have the name of the input, after the first of all. The contacts that have such a name are looked up once, however many ids there are.
func named(t *store.Tx, account int64, ids []int64, name find.Search) ([]int64, error) {
	var found db.Set
	err := t.Search(store.WordsTable, query(account, name), math.MaxInt32, func(id int64) error {
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
