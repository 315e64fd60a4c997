package db

import (
	"math"
	"slices"
	"strings"
)

// searchDialect is how an engine finds documents by their words. In its statements $1 is the account, $2 the query, and %s the name
// of the search.
type searchDialect struct {
	older, newer string // ids on one side of $3, at most $4, the nearest first
	count        string // how many ids there are, counted up to $3
	clear        string // removes all words of all accounts
	compact      string // makes the search as cheap to write to as it can be, after many documents came at once; "" where it is that already
	words        string // every id with each of its words, in no order; $1 and $2 are the least and the greatest id
	begin        string // a look at the search that tells it of this transaction; "" where it needs none
	and, or      string
	word         func(text string, prefix bool) string
}

// Word is a word to look for, or the beginning of one.
type Word struct {
	Text   string
	Prefix bool
}

// Query is a search: every term must be met, each by one of its choices, and a choice by all of its words. A word is looked for in
// each of the spaces, which stand before the words of a document and keep accounts apart.
type Query struct {
	Account int64
	Spaces  []string
	Terms   [][][]Word
}

// expression is the query in the engine's signs.
func (d *searchDialect) expression(q Query) string {
	group := func(n int, sign string, part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return "(" + strings.Join(parts, sign) + ")"
	}
	return group(len(q.Terms), d.and, func(i int) string {
		return group(len(q.Terms[i]), d.or, func(j int) string {
			words := q.Terms[i][j]
			return group(len(words), d.and, func(k int) string {
				return group(len(q.Spaces), d.or, func(l int) string { return d.word(q.Spaces[l]+words[k].Text, words[k].Prefix) })
			})
		})
	})
}

// Place is where a page of results lies: after an id or before it, in the order of the results, the greatest first. The zero value
// is the first page.
type Place struct{ After, Before int64 }

// Search finds the ids of a page of results, the greatest first, and tells whether there are more on the far side.
func (c Conn) Search(search *Table, q Query, at Place, limit int) (ids []int64, more bool, err error) {
	d := &c.dialect().search
	sql, from := d.older, int64(math.MaxInt64)
	switch {
	case at.Before != 0:
		sql, from = d.newer, at.Before
	case at.After != 0:
		from = at.After
	}
	ids, err = List(c, func(r Row) int64 { return r.Int(0) }, search.spell(sql), q.Account, d.expression(q), from, int64(limit)+1)
	if more = len(ids) > limit; more {
		ids = ids[:limit]
	}
	if at.Before != 0 {
		slices.Reverse(ids)
	}
	return ids, more, err
}

// CountResults counts what a search finds, up to a limit.
func (c Conn) CountResults(search *Table, q Query, limit int64) (int64, error) {
	d := &c.dialect().search
	return c.Int(search.spell(d.count), q.Account, d.expression(q), limit)
}

// EachWord reads the words of the documents from one id to another, in no order.
func (c Conn) EachWord(search *Table, from, to int64, read func(id int64, word string) error) error {
	return c.Each(func(r Row) error { return read(r.Int(0), r.Text(1)) }, search.spell(c.dialect().search.words), from, to)
}

// ClearSearch removes all words of all accounts.
func (t *Tx) ClearSearch(search *Table) error {
	_, err := t.Exec(search.spell(t.dialect.search.clear))
	return err
}

// CompactSearch makes the search as cheap to write to as it can be, after many documents came at once: without it, the next changes
// would pay for that.
func (t *Tx) CompactSearch(search *Table) error {
	if t.dialect.search.compact == "" {
		return nil
	}
	_, err := t.Exec(search.spell(t.dialect.search.compact))
	return err
}

func (t *Table) spell(sql string) string { return strings.ReplaceAll(sql, "%s", t.Name) }
