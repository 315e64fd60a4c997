package contacts

import (
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
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
