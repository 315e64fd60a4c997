package db

// A search in PostgreSQL is a table with one tsvector a document, and a GIN index. Words are taken as they are: no
// configuration of text search, which may differ from server to server, has a say. The text is frozen, because steps of
// schemas have it.
const postgresSearchTable = `CREATE TABLE %s (
	account_id BIGINT NOT NULL,
	id BIGINT NOT NULL,
	words tsvector NOT NULL,
	PRIMARY KEY (account_id, id)
);

CREATE INDEX %s_words ON %s USING GIN (words);
`

var postgresSearch = searchDialect{
	find:      `SELECT id FROM %s WHERE account_id = $1 AND words @@ CAST(CAST($2 AS TEXT) AS tsquery) LIMIT $3`,
	clear:     `TRUNCATE %s`,
	clearSome: `DELETE FROM %s WHERE account_id = $1 AND id >= $2 AND id <= $3`,
	words: `SELECT id, word FROM %s CROSS JOIN LATERAL unnest(tsvector_to_array(words)) AS word WHERE id >= $1
		AND id <= $2`,
	and: " & ",
	or:  " | ",
	word: func(text string, prefix bool) string {
		if prefix {
			return "'" + text + "':*"
		}
		return "'" + text + "'"
	},
}

// postgresWords makes a document of the text that has its words.
func postgresWords(c Column, parameter string) string {
	if c.Name != "words" {
		return parameter
	}
	return "array_to_tsvector(string_to_array(" + parameter + ", ' '))"
}
