package contacts

import (
	"cmp"
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	SQLTagCount    = `SELECT contacts FROM tag WHERE account_id = $1 AND fold = $2 AND name = $3`
	sqlSuggestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3 ORDER BY fold, name LIMIT $4`
	sqlTagPage     = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3 ORDER BY fold, name LIMIT $4 OFFSET $5`
	sqlTagTotal    = `SELECT COUNT(*) FROM tag WHERE account_id = $1 AND fold >= $2 AND fold <= $3`
	sqlFoldedAlike = `SELECT name, contacts FROM tag WHERE account_id = $1 AND fold IN (SELECT fold FROM tag WHERE account_id = $1 GROUP BY fold HAVING COUNT(*) > 1 LIMIT $2) ORDER BY fold, name`
	sqlLargestTags = `SELECT name, contacts FROM tag WHERE account_id = $1 ORDER BY size DESC, fold, name LIMIT $2`
)

// rankedTags is among how many tags the largest are looked for, those with more digits first. So one is missed only where a
// thousand others have a number of as many digits or more, and come before it in the alphabet.
const rankedTags = 1000

// TagCount is a tag and how many active contacts have it.
type TagCount struct {
	Name     string
	Contacts int64
}

// Append appends the wire form.
func (t TagCount) Append(dst []byte) []byte { return crm.AppendTag(dst, t.Name, t.Contacts) }

// Tags is one page of the tags that begin with what was typed, without regard to case and marks, in the order of the alphabet. Where
// nothing was typed they are all tags of active contacts.
func (s *ContactStore) Tags(ctx context.Context, account int64, prefix string, page crm.PageRequest) (tags []TagCount, result store.ListResult, err error) {
	names := crm.TagRange(prefix)
	err = s.View(ctx, func(c db.Conn) error {
		if result.Total, err = c.Int(sqlTagTotal, account, names.From, names.To); err != nil || page.Skip() >= result.Total {
			tags = nil
			return err
		}
		tags, err = db.List(c, scanTag, sqlTagPage, account, names.From, names.To, page.PerPage, page.Skip())
		return err
	})
	result.Count = int64(len(tags))
	return tags, result, err
}

// SuggestTags are tags that begin with what was typed, without regard to case and marks, in the order of the alphabet. Where
// nothing was typed they are the largest ones.
func (s *ContactStore) SuggestTags(ctx context.Context, account int64, prefix string, limit int) ([]TagCount, error) {
	names := crm.TagRange(prefix)
	if names.From == "" {
		return s.LargestTags(ctx, account, limit)
	}
	return store.List(ctx, s.Base, scanTag, sqlSuggestTags, account, names.From, names.To, int64(limit))
}

// LargestTags are the tags that the most contacts have, the largest first.
func (s *ContactStore) LargestTags(ctx context.Context, account int64, limit int) ([]TagCount, error) {
	counts, err := store.List(ctx, s.Base, scanTag, sqlLargestTags, account, int64(max(limit, rankedTags)))
	slices.SortStableFunc(counts, func(a, b TagCount) int { return cmp.Compare(b.Contacts, a.Contacts) })
	return counts[:min(limit, len(counts))], err
}

// AlikeTags are groups of tags that differ in letter case alone, the largest tag of each first. The limit is that of groups that are looked
// at: of those that differ in marks, too, some may fall apart.
func (s *ContactStore) AlikeTags(ctx context.Context, account int64, limit int) (groups [][]TagCount, err error) {
	alike, err := store.List(ctx, s.Base, scanTag, sqlFoldedAlike, account, int64(limit))
	at := map[string]int{}
	for _, tag := range alike {
		name := crm.TagCase(tag.Name)
		if _, known := at[name]; !known {
			at[name] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[name]] = append(groups[at[name]], tag)
	}
	groups = slices.DeleteFunc(groups, func(group []TagCount) bool { return len(group) < 2 })
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b TagCount) int { return cmp.Compare(b.Contacts, a.Contacts) })
	}
	return groups, err
}

func scanTag(r db.Row) TagCount { return TagCount{r.Text(0), r.Int(1)} }

// ArchivedWithTags is how many archived contacts have each of some tags. A tag that none has is missing.
func (s *ContactStore) ArchivedWithTags(ctx context.Context, account int64, names []string) (map[string]int64, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (map[string]int64, error) {
		sizes := make(map[string]int64)
		row, err := store.ReadTally(c, account)
		if err != nil || row.ContactSeq == row.ContactActive {
			return sizes, err
		}
		archive, err := s.Sets.of(c, &row, find.ArchiveSet)
		if err != nil {
			return nil, err
		}
		merged, err := s.Sets.of(c, &row, find.MergedSet)
		for _, name := range names {
			if err != nil {
				return nil, err
			}
			var tagged *heldSet
			if tagged, err = s.Sets.of(c, &row, find.TagSet+name); err == nil {
				both := archive.Clone()
				both.AndNot(&merged.Set)
				if both.And(&tagged.Set); both.Count() > 0 {
					sizes[name] = both.Count()
				}
			}
		}
		return sizes, err
	})
}
