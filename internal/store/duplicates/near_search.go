package duplicates

import (
	"context"
	"slices"

	"donorbook/internal/crm/duplicate"
	"donorbook/internal/crm/find"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	maxMeant    = 3   // that are offered
	maxLooked   = 200 // contacts that are read to tell
	namesAtOnce = 20  // sort names of one statement
	maxSteps    = 150 // statements that go through the last names which begin alike
	maxNames    = 8   // last names that a word may have been meant for

	sqlSortNames = `SELECT sort_name FROM contact WHERE account_id = $1 AND sort_name <> '' AND sort_name > $2
		AND sort_name <= $3 ORDER BY sort_name LIMIT $4`
)

// NearSearches are what may have been meant by the text of a search that found nothing, the best first: every word is
// compared as the finder compares names, so that Fitzgereld finds Fitzgerald and Tom Thomas. Each of them finds an
// active contact. First, all spellings that one letter makes are looked up; where that finds nothing, the last names
// that begin with the same two letters are compared.
func (s *DuplicateStore) NearSearches(ctx context.Context, account int64, typed,
	region string,
) (texts []string, err error) {
	if _, ok := find.ParseNear(typed, region); !ok {
		return nil, nil
	}
	err = s.base.InTurn(ctx, account, func(weigh store.Admit) error {
		return s.base.View(ctx, func(c db.Conn) error {
			row, err := store.ReadTally(c, account)
			if err == nil {
				err = weigh(row.ContactSeq)
			}
			if err == nil {
				texts, err = nearSearches(c, account, typed, region)
			}
			return err
		})
	})
	return texts[:min(len(texts), maxMeant)], err
}

func nearSearches(c db.Conn, account int64, typed, region string) ([]string, error) {
	near, _ := find.ParseNear(typed, region)
	texts, err := meant(c, account, &near)
	if err != nil || len(texts) > 0 {
		return texts, err
	}
	any := false
	for _, word := range near.Words() {
		names, err := namesLike(c, account, word)
		if err != nil {
			return nil, err
		}
		near.Allow(word, names)
		any = any || len(names) > 0
	}
	if !any {
		return nil, nil
	}
	return meant(c, account, &near)
}

// meant is what would have found the contacts that a search allows for.
func meant(c db.Conn, account int64, near *find.NearSearch) ([]string, error) {
	var ids []int64
	err := c.Search(store.WordsTable, store.Query(account, near.Search()), maxLooked, func(id int64) error {
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	found, err := loadActive(c, account, ids)
	return near.Meant(found), err
}

// namesLike are the last names that a word may have been meant for, of those that begin with the same letters.
// Statement by statement, it skips the other people of a name.
func namesLike(c db.Conn, account int64, word string) (names []string, err error) {
	between := find.NamesLike(word)
	for range maxSteps {
		some, err := db.List(c, func(r db.Row) string { return r.Text(0) }, sqlSortNames, account, between.From,
			between.To, int64(namesAtOnce))
		if err != nil || len(some) == 0 || len(names) >= maxNames {
			return names, err
		}
		for _, sortName := range some {
			var parts []string
			parts, between.From = find.LastNameOf(sortName)
			for _, part := range parts {
				if duplicate.IsNear(word, part) && part != word && !slices.Contains(names, part) {
					names = append(names, part)
				}
			}
		}
	}
	return names, nil
}
