package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"donorbook/internal/crm"
)

const (
	sqlSuggestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3 ORDER BY fold, name LIMIT $4`
	sqlLargestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 ORDER BY size DESC, fold, name LIMIT $2`

	// Mostly a number changes and keeps its digits. SQLite would move the row of the index all the same if it were named.
	sqlAddToTag = `UPDATE tag SET contacts = contacts + $4 WHERE account_id = $1 AND fold = $2 AND name = $3
		AND contacts + $4 > 0 AND size = length(CAST(contacts + $4 AS TEXT))`

	sqlCountTag = `INSERT INTO tag (account_id, fold, name, contacts, size) VALUES ($1, $2, $3, $4, length(CAST(CAST($4 AS BIGINT) AS TEXT)))
		ON CONFLICT (account_id, fold, name) DO UPDATE SET contacts = tag.contacts + excluded.contacts,
			size = length(CAST(tag.contacts + excluded.contacts AS TEXT))`
	sqlDropTag = `DELETE FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3 AND contacts <= 0`
)

// rankedTags is among how many tags the largest are looked for, those with more digits first. So one is missed only where a
// thousand others have a number of as many digits or more, and come before it in the alphabet.
const rankedTags = 1000

// TagCount is a tag and how many active contacts have it.
type TagCount struct {
	Name     string
	Contacts int64
}

// SuggestTags are tags that begin with what was typed, without regard to case and marks, in the order of the alphabet. Where
// nothing was typed they are the largest ones.
func (s *Store) SuggestTags(ctx context.Context, account int64, prefix string, limit int) ([]TagCount, error) {
	names := crm.TagRange(prefix)
	if names.From == "" {
		return s.LargestTags(ctx, account, limit)
	}
	return s.tagCounts(ctx, sqlSuggestTags, account, names.From, names.To, int64(limit))
}

// LargestTags are the tags that the most contacts have, the largest first.
func (s *Store) LargestTags(ctx context.Context, account int64, limit int) ([]TagCount, error) {
	counts, err := s.tagCounts(ctx, sqlLargestTags, account, int64(max(limit, rankedTags)))
	slices.SortStableFunc(counts, func(a, b TagCount) int { return cmp.Compare(b.Contacts, a.Contacts) })
	return counts[:min(limit, len(counts))], err
}

func (s *Store) tagCounts(ctx context.Context, sql string, args ...any) (counts []TagCount, err error) {
	err = s.read(ctx, func(c conn) error {
		counts = nil // of an attempt that failed
		return each(c, func(r rows) error {
			counts = append(counts, TagCount{r.text(0), r.int(1)})
			return nil
		}, sql, args...)
	})
	return counts, err
}

// countTags notes that an account has one more contact with these tags, or one fewer. Only active contacts count.
func (row *tally) countTags(c crm.Contact, n int64) {
	if c.Archived() {
		return
	}
	for _, name := range c.Tags {
		if row.tags == nil {
			row.tags = make(map[string]int64)
		}
		row.tags[name] += n
	}
}

// saveTags writes what was counted, once for each tag, however many contacts got it.
func (t *tx) saveTags(row *tally) error {
	for _, name := range slices.Sorted(maps.Keys(row.tags)) {
		if n := row.tags[name]; n != 0 {
			if err := t.saveTag(row.account, name, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) saveTag(account int64, name string, n int64) error {
	fold := crm.FoldTag(name)
	if !t.distant { // where an answer costs no round trip
		if found, err := t.exec(sqlAddToTag, account, fold, name, n); err != nil || found > 0 {
			return err
		}
	}
	if err := t.post(sqlCountTag, account, fold, name, n); err != nil || n > 0 {
		return err
	}
	return t.post(sqlDropTag, account, fold, name)
}
