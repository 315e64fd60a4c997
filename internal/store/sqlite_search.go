package store

import (
	"strings"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"donorbook/internal/crm"
)

// Every connection knows FTS5, since SQLite reads no table of an unknown kind, not even to check its file.
func init() { sqlite3.AutoExtension(fts5.Register) }

// Words of contacts in SQLite: one row of an FTS5 table a contact. The table keeps no text and no places of words, only which
// contact has which word.
var sqliteSearch = searchDialect{
	insert:  `INSERT INTO contact_search (rowid, words) VALUES ($2, $3)`,
	replace: `INSERT OR REPLACE INTO contact_search (rowid, words) VALUES ($2, $3)`,
	older:   `SELECT rowid FROM contact_search WHERE contact_search MATCH $2 AND rowid < $3 ORDER BY rowid DESC LIMIT $4`,
	newer:   `SELECT rowid FROM contact_search WHERE contact_search MATCH $2 AND rowid > $3 ORDER BY rowid LIMIT $4`,
	count:   `SELECT COUNT(*) FROM (SELECT rowid FROM contact_search WHERE contact_search MATCH $2 LIMIT $3)`,
	remove:  `DELETE FROM contact_search WHERE rowid = $2`,
	within:  `SELECT rowid FROM contact_search WHERE rowid > $2 AND rowid <= $3 LIMIT 1`,
	clear:   `INSERT INTO contact_search (contact_search) VALUES ('delete-all')`,
	words:   `SELECT doc, term FROM contact_search_word WHERE doc >= $1 AND doc <= $2`,

	expression: func(spaces []string, search crm.Search) string {
		return joinQuery(search, " AND ", " OR ", func(w crm.SearchWord) string {
			var choices []string
			for _, space := range spaces {
				choice := `"` + space + w.Text + `"`
				if w.Prefix {
					choice += "*"
				}
				choices = append(choices, choice)
			}
			return "(" + strings.Join(choices, " OR ") + ")"
		})
	},
}
