package store

import (
	"strings"

	"donorbook/internal/crm"
)

// Words of contacts in PostgreSQL: one tsvector a contact, with a GIN index. Words are taken as they are: no configuration of
// text search, which may differ from server to server, has a say.
var postgresSearch = searchDialect{
	insert: `INSERT INTO contact_search (account_id, id, words) VALUES ($1, $2, array_to_tsvector(string_to_array($3, ' ')))`,
	replace: `INSERT INTO contact_search (account_id, id, words) VALUES ($1, $2, array_to_tsvector(string_to_array($3, ' ')))
		ON CONFLICT (account_id, id) DO UPDATE SET words = excluded.words`,
	older:  `SELECT id FROM contact_search WHERE account_id = $1 AND words @@ CAST(CAST($2 AS TEXT) AS tsquery) AND id < $3 ORDER BY id DESC LIMIT $4`,
	newer:  `SELECT id FROM contact_search WHERE account_id = $1 AND words @@ CAST(CAST($2 AS TEXT) AS tsquery) AND id > $3 ORDER BY id LIMIT $4`,
	count:  `SELECT COUNT(*) FROM (SELECT 1 FROM contact_search WHERE account_id = $1 AND words @@ CAST(CAST($2 AS TEXT) AS tsquery) LIMIT $3) AS found`,
	remove: `DELETE FROM contact_search WHERE account_id = $1 AND id = $2`,
	within: `SELECT id FROM contact_search WHERE account_id = $1 AND id > $2 AND id <= $3 LIMIT 1`,
	clear:  `TRUNCATE contact_search`,
	words:  `SELECT id, word FROM contact_search CROSS JOIN LATERAL unnest(tsvector_to_array(words)) AS word WHERE id >= $1 AND id <= $2`,

	expression: func(spaces []string, search crm.Search) string {
		return joinQuery(search, " & ", " | ", func(w crm.SearchWord) string {
			var choices []string
			for _, space := range spaces {
				choice := "'" + space + w.Text + "'"
				if w.Prefix {
					choice += ":*"
				}
				choices = append(choices, choice)
			}
			return "(" + strings.Join(choices, " | ") + ")"
		})
	},
}
