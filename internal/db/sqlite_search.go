package db

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
)

// Every connection knows FTS5, since SQLite reads no table of an unknown kind, not even to check its file.
func init() { sqlite3.AutoExtension(fts5.Register) }

// A search in SQLite is an FTS5 table with one row a document. It keeps no text and no places of words, only which
// document has which word, and a look at all words. The text is frozen, because a step of the schema has it.
const sqliteSearchTable = `CREATE VIRTUAL TABLE %s USING fts5(words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '@.#+~=-_'");

CREATE VIRTUAL TABLE %s_word USING fts5vocab(%s, instance);
`

var sqliteSearch = searchDialect{
	find:      `SELECT rowid FROM %s WHERE %s MATCH $2 LIMIT $3`,
	clear:     `INSERT INTO %s (%s) VALUES ('delete-all')`,
	clearSome: `DELETE FROM %s WHERE rowid >= $2 AND rowid <= $3`,
	compact:   `INSERT INTO %s (%s) VALUES ('optimize')`,
	merge:     `INSERT INTO %s (%s, rank) VALUES ('merge', 32)`,
	// Each such statement takes in what others have written meanwhile, so that a merge of nothing else would not end
	// while they write.
	mergeAll: `INSERT INTO %s (%s, rank) VALUES ('merge', -32)`,
	changes:  `SELECT total_changes()`,
	words:    `SELECT doc, term FROM %s_word WHERE doc >= $1 AND doc <= $2`,
	begin:    `SELECT rowid FROM %s WHERE rowid = 0`,
	and:      " AND ",
	or:       " OR ",
	word: func(text string, prefix bool) string {
		if prefix {
			return `"` + text + `"*`
		}
		return `"` + text + `"`
	},
}
