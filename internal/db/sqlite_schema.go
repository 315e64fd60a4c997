package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"
)

// A database file that comes from elsewhere may hold code: triggers, views, defaults, constraints and indexes that call
// functions. So nothing but the list of what it has is read before that is the same, word for word, as what this
// program makes.

// schemaObject is a table, index, trigger or view.
type schemaObject struct{ kind, name string }

func (o schemaObject) String() string { return o.kind + " " + o.name }

// SQLite makes some indexes by itself, which have no text. Its tables of statistics are no part of the schema: whatever
// is in them, answers are the same.
const sqliteObjects = `SELECT type, name, tbl_name || ' ' || COALESCE(sql, '') FROM sqlite_schema
	WHERE COALESCE(sql, '') NOT IN ('CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)')`

// schemaTexts are all objects of a database and how each was made.
func schemaTexts(c Conn) (map[schemaObject]string, error) {
	texts := make(map[schemaObject]string)
	err := c.Each(func(r Row) error {
		texts[schemaObject{r.Text(0), r.Text(1)}] = r.Text(2)
		return nil
	}, sqliteObjects)
	return texts, err
}

// checkSchema refuses a database whose schema is not the one that the program's steps make. It returns its version.
func checkSchema(ctx context.Context, c *sqliteConn, schema *Schema) (version int, err error) {
	found, err := schemaTexts(Conn{conn: c})
	if err != nil {
		return 0, err
	}
	for _, object := range sorted(found) {
		if object.kind != "table" && object.kind != "index" {
			return 0,
				fmt.Errorf("the database has the %s, and donorbook makes none: drop it where it came from, and make the backup again", object)
		}
	}
	number, err := Conn{conn: c}.Int(sqlVersion)
	switch {
	case err != nil:
		return 0, err
	case number >= copyMark:
		return 0, ErrUnfinished
	case number > int64(schema.Version()):
		return int(number), newerSchema(int(number), schema)
	case number <= int64(schema.Squashed):
		return int(number), olderSchema(schema)
	}
	known, err := schemaOfVersion(ctx, schema, int(number))
	if err != nil {
		return 0, err
	}
	for _, object := range sorted(found) {
		if _, ours := known[object]; !ours {
			return 0,
				fmt.Errorf("the database has the %s, and schema version %d does not: drop it where it came from, and make the backup again", object, number)
		}
	}
	for _, object := range sorted(known) {
		if found[object] != known[object] {
			return 0, fmt.Errorf("the %s of the database is missing, or is not the one of schema version %d", object,
				number)
		}
	}
	return int(number), nil
}

func sorted(texts map[schemaObject]string) []schemaObject {
	return slices.SortedFunc(maps.Keys(texts), func(a, b schemaObject) int {
		return cmp.Compare(a.String(),
			b.String())
	})
}

// schemaOfVersion takes the steps up to a version in an empty database in memory.
func schemaOfVersion(ctx context.Context, schema *Schema, version int) (texts map[schemaObject]string, err error) {
	db, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	c := newSQLiteConn(&sqliteEngine{fault: diskFault, write: make(chan *sqliteConn, 1)}, db)
	c.writes = true
	c.engine.write <- c
	defer func() { err = errors.Join(err, c.close()) }()
	if err := migrate(ctx, c.engine, &Schema{Steps: schema.Steps[:version-schema.Squashed], Squashed: schema.Squashed},
		nil); err != nil {
		return nil, err
	}
	return schemaTexts(Conn{conn: c})
}

// Without statistics SQLite takes any index for one that leads to ten rows, so that all rows of an account look no
// worse than those of one document. These are never counted: each index says that an account has very many rows, and
// that every further column leaves few of them. An index of some rows has a tenth of them, so that it is taken before
// one of all in the same order. So a plan is the same for an empty database and for a large one.
const (
	sqliteEstimates = `INSERT INTO sqlite_stat1 (tbl, idx, stat)
		SELECT t.name, i.name, CASE i.partial WHEN 1 THEN '100000 10000 ' ELSE '1000000 100000 ' END || CASE i."unique" * COUNT(*) WHEN 2 THEN '' WHEN 3 THEN '1000 ' ELSE '1000 10 5 2 ' END || '1 1 1 1 1 1 1 1 noskipscan'
		FROM sqlite_schema AS t, pragma_index_list(t.name) AS i, pragma_index_info(i.name) AS c WHERE t.type = 'table'
		GROUP BY t.name, i.name HAVING COUNT(*) > 1 AND MIN(c.name) FILTER (WHERE c.seqno = 0) = 'account_id'`

	// analyzes nothing: makes the table of statistics where there is none, and reads it
	sqliteReload = `ANALYZE sqlite_schema`
)
