package store

// What a batch asks PostgreSQL again and again, each time about another row, is asked once with lists for arguments: a statement
// by itself costs the server more than most of the rows it is about.

// jointly is how one statement is asked about many rows.
type jointly struct {
	sql   string
	place int // the column, from 0, that has the number of the row, from 1, that an answer is about; 0 where there are no answers
}

// asksTogether has the statements that may be moved up to one of their own kind: past a look-up, or past another one in here that
// writes, since each of them writes to a table of its own and has no row twice. Every other statement stays where it is, and
// none is moved before it; nor is a look-up moved before what was written.
//
// A subquery with an order or a limit is not taken apart by the planner: it looks up row by row, whatever it knows of the tables.
var asksTogether = map[string]jointly{
	sqlMatch: {`SELECT found.id, n.place FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS n (account_id, key, place)
		CROSS JOIN LATERAL (SELECT id FROM contact_index WHERE account_id = n.account_id AND key = n.key ORDER BY id) AS found
		ORDER BY n.place, found.id`, 1},
	sqlLoadContact: {`SELECT found.id, revision, archived, match_keys, body, checksum, n.place FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS n (account_id, id, place)
		CROSS JOIN LATERAL (SELECT id, revision, archived, match_keys, body, checksum FROM contact WHERE account_id = n.account_id AND id = n.id LIMIT 1) AS found`, 6},
	sqlInsertContact: {`INSERT INTO contact (account_id, id, revision, archived, match_keys, body, checksum)
		SELECT account_id, id, revision, 0, match_keys, body, checksum
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bigint[])
		AS n (account_id, id, revision, match_keys, body, checksum)`, 0},
	sqlInsertKey: {`INSERT INTO contact_index (account_id, id, key)
		SELECT account_id, id, key FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n (account_id, id, key)`, 0},
	postgresSearch.insert: {`INSERT INTO contact_search (account_id, id, words)
		SELECT account_id, id, array_to_tsvector(string_to_array(words, ' '))
		FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS n (account_id, id, words)`, 0},
	sqlCountTag: {`INSERT INTO tag (account_id, fold, name, contacts, size)
		SELECT account_id, fold, name, contacts, length(CAST(contacts AS TEXT))
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS n (account_id, fold, name, contacts)
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`, 0},
}

// asked is the statement as it is sent, with the others of its kind that have come to it.
func (s *statement) asked() statement {
	if len(s.others) == 0 {
		return *s
	}
	all, form := append([]statement{*s}, s.others...), asksTogether[s.sql]
	joined := statement{sql: form.sql, args: make([]any, len(s.args))}
	for column, arg := range s.args {
		switch arg.(type) {
		case int64:
			joined.args[column] = columnOf[int64](all, column)
		case string:
			joined.args[column] = columnOf[string](all, column)
		case []byte:
			joined.args[column] = columnOf[[]byte](all, column)
		}
	}
	if s.read != nil {
		joined.read = func(r rows) error { return all[r.int(form.place)-1].read(r) }
	}
	return joined
}

// columnOf are the arguments of all the statements at one place.
func columnOf[T any](all []statement, column int) []T {
	list := make([]T, len(all))
	for i := range all {
		list[i] = all[i].args[column].(T)
	}
	return list
}
