package db

import (
	"slices"
	"strings"
)

// searchDialect is how an engine finds documents by their words. In its statements $1 is the account, $2 the query, and
// %s the name of the search.
type searchDialect struct {
	find      string // ids in no order, at most $3
	clear     string // removes all words of all accounts
	clearSome string // removes those of an account, from $2 to $3
	// makes the search as cheap to write to as it can be, after many documents came at once; "" where it is that
	// already
	compact  string
	merge    string // goes on with merging, which leaves out what was removed
	mergeAll string // begins to merge all parts of the search; "" where there is nothing to merge
	changes  string // how many rows were changed so far, where there is something to merge
	words    string // every id with each of its words, in no order; $1 and $2 are the least and the greatest id
	begin    string // a look at the search that tells it of this transaction; "" where it needs none
	and, or  string
	word     func(text string, prefix bool) string
}

// Word is a word to look for, or the beginning of one.
type Word struct {
	Text   string
	Prefix bool
}

// Query is a search: every term must be met, each by one of its choices, and a choice by all of its words. The space
// stands before every word of an account's documents and keeps accounts apart.
type Query struct {
	Account int64
	Space   string
	Terms   [][][]Word
}

// expression is the query in the engine's signs.
func (d *searchDialect) expression(q Query) string {
	group := func(n int, sign string, part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return "(" + strings.Join(slices.Compact(parts), sign) + ")"
	}
	return group(len(q.Terms), d.and, func(i int) string {
		return group(len(q.Terms[i]), d.or, func(j int) string {
			words := q.Terms[i][j]
			return group(len(words), d.and, func(k int) string {
				return d.word(q.Space+words[k].Text,
					words[k].Prefix)
			})
		})
	})
}

// Search reads the ids of what a query finds, but at most so many, in no order: an engine hands them out faster where
// it need not sort them.
func (c Conn) Search(search *Table, q Query, limit int64, read func(id int64) error) error {
	if len(q.Terms) == 0 {
		return nil
	}
	d := &c.dialect().search
	return c.Each(func(r Row) error { return read(r.Int(0)) }, search.spell(d.find), q.Account, d.expression(q), limit)
}

// EachWord reads the words of the documents from one id to another, in no order.
func (c Conn) EachWord(search *Table, from, to int64, read func(id int64, word string) error) error {
	return c.Each(func(r Row) error { return read(r.Int(0), r.Text(1)) }, search.spell(c.dialect().search.words), from,
		to)
}

// ClearSearch removes all words of all accounts.
func (t *Tx) ClearSearch(search *Table) error {
	_, err := t.Exec(search.spell(t.dialect.search.clear))
	return err
}

// ClearWords removes the words of the documents of an account, from one id to another.
func (t *Tx) ClearWords(search *Table, account, from, to int64) error {
	_, err := t.Exec(search.spell(t.dialect.search.clearSome), account, from, to)
	return err
}

// CompactSearch makes the search as cheap to write to as it can be, after many documents came at once: without it, the
// next changes would pay for that.
func (t *Tx) CompactSearch(search *Table) error {
	if t.dialect.search.compact == "" {
		return nil
	}
	_, err := t.Exec(search.spell(t.dialect.search.compact))
	return err
}

func (t *Table) spell(sql string) string { return strings.ReplaceAll(sql, "%s", t.Name) }
