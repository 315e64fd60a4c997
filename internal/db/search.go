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
	any          string // ids in no order, at most $3
	count        string // how many ids there are, counted up to $3
	clear        string // removes all words of all accounts
	clearSome    string // removes those of an account, from $2 to $3
	compact      string // makes the search as cheap to write to as it can be, after many documents came at once; "" where it is that already
	merge        string // goes on with merging, which leaves out what was removed
	mergeAll     string // begins to merge all parts of the search; "" where there is nothing to merge
	changes      string // how many rows were changed so far, where there is something to merge
	words        string // every id with each of its words, in no order; $1 and $2 are the least and the greatest id
	begin        string // a look at the search that tells it of this transaction; "" where it needs none
	starts       bool   // it keeps the starts of words, and hands out the documents of a word one after the other, the greatest first
	known        string // the words from $1 to $2, at most $3, where it keeps starts
	and, or      string
	word         func(text string, prefix bool) string
}

// Word is a word to look for, or the beginning of one.
type Word struct {
	Text   string
	Prefix bool
	Shared bool   // a word that begins so may be that of many documents
	Start  string // the start that every word has which begins so, if there is one
}

// Query is a search: every term must be met, each by one of its choices, and a choice by all of its words. A word is looked for in
// each of the spaces, which stand before the words of a document and keep accounts apart.
type Query struct {
	Account int64
	Spaces  []string
	Terms   [][][]Word
}

// maxKnown is how many words that begin as asked one query looks up one by one. Each costs about as much as fifty documents that are collected.
const maxKnown = 256

// expression is the query in the engine's signs.
func (c Conn) expression(search *Table, q Query) (text string, err error) {
	d, left := &c.dialect().search, maxKnown
	group := func(n int, sign string, part func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		return "(" + strings.Join(slices.Compact(parts), sign) + ")"
	}
	// An engine that hands out the documents of a word one after the other must collect those of a beginning first. So it is asked for the
	// start, or for each of the words that begin so.
	word := func(space string, w Word) string {
		if !d.starts || err != nil {
			return d.word(space+w.Text, w.Prefix)
		}
		if w.Start != "" {
			return d.word(space+w.Start, false)
		}
		if w.Shared {
			var known []string
			from := space + w.Text
			known, err = List(c, func(r Row) string { return r.Text(0) }, search.spell(d.known), from, from+"\U0010FFFF", int64(left)+1)
			if n := len(known); 0 < n && n <= left {
				left -= n
				return group(n, d.or, func(i int) string { return d.word(known[i], false) })
			}
		}
		return d.word(space+w.Text, w.Prefix)
	}
	text = group(len(q.Terms), d.and, func(i int) string {
		return group(len(q.Terms[i]), d.or, func(j int) string {
			words := q.Terms[i][j]
			return group(len(words), d.and, func(k int) string {
				return group(len(q.Spaces), d.or, func(l int) string { return word(q.Spaces[l], words[k]) })
			})
		})
	})
	return text, err
}

// Place is where a page of results lies: after an id or before it, in the order of the results, the greatest first. The zero value
// is the first page.
type Place struct{ After, Before int64 }

// Results are a page of what a search finds, the greatest id first.
type Results struct {
	IDs   []int64
	More  bool  // on the far side
	Total int64 // of all pages, counted up to a limit
}

// Search finds a page of results and counts all of them up to a limit. The first page and the number are found at once.
func (c Conn) Search(search *Table, q Query, at Place, limit, counted int) (r Results, err error) {
	expression, err := c.expression(search, q)
	if err != nil {
		return r, err
	}
	d := &c.dialect().search
	sql, from, read := d.older, int64(math.MaxInt64), int64(limit)+1
	switch {
	case at.Before != 0:
		sql, from = d.newer, at.Before
	case at.After != 0:
		from = at.After
	default:
		read = max(read, int64(counted))
	}
	r.IDs, err = List(c, func(r Row) int64 { return r.Int(0) }, search.spell(sql), q.Account, expression, from, read)
	if r.Total = int64(min(len(r.IDs), counted)); err == nil && at != (Place{}) {
		r.Total, err = c.Int(search.spell(d.count), q.Account, expression, int64(counted))
	}
	if r.More = len(r.IDs) > limit; r.More {
		r.IDs = r.IDs[:limit]
	}
	if at.Before != 0 {
		slices.Reverse(r.IDs)
	}
	return r, err
}

// SearchEach reads the ids of what a search finds, but at most so many, in no order: an engine hands them out faster where it need not sort them.
func (c Conn) SearchEach(search *Table, q Query, limit int64, read func(id int64) error) error {
	expression, err := c.expression(search, q)
	if err != nil {
		return err
	}
	return c.Each(func(r Row) error { return read(r.Int(0)) }, search.spell(c.dialect().search.any), q.Account, expression, limit)
}

// Kept are the words of a document that the search keeps, each once. A document has words and, behind a line break, the starts of words.
func (c Conn) Kept(document string) []string {
	if !c.dialect().search.starts {
		document, _, _ = strings.Cut(document, "\n")
	}
	words := strings.FieldsFunc(document, func(r rune) bool { return r == ' ' || r == '\n' }) // an index takes other spaces for letters
	slices.Sort(words)
	return slices.Compact(words)
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

// ClearWords removes the words of the documents of an account, from one id to another.
func (t *Tx) ClearWords(search *Table, account, from, to int64) error {
	_, err := t.Exec(search.spell(t.dialect.search.clearSome), account, from, to)
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
