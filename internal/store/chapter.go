package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const sqlRenameAccount = `UPDATE account SET name = $2 WHERE account_id = $1`

// Chapters are all accounts below an account, each followed by those below it, and side by side by name.
func (s *Store) Chapters(ctx context.Context, root crm.Account) (chapters []crm.Account, err error) {
	var below map[int64][]crm.Account
	err = s.view(ctx, func(c db.Conn) error {
		below = map[int64][]crm.Account{}
		return eachChapter(c, root.Number, func(a crm.Account) { below[a.Parent] = append(below[a.Parent], a) })
	})
	if err != nil {
		return nil, err
	}
	var walk func(crm.Account)
	walk = func(above crm.Account) {
		level := below[above.Number]
		sortAccounts(level)
		for _, chapter := range level {
			chapter.ParentID = above.ID
			chapters = append(chapters, chapter)
			walk(chapter)
		}
	}
	walk(root)
	return chapters, nil
}

// eachChapter calls read for every account below another, level by level.
func eachChapter(c db.Conn, root int64, read func(crm.Account)) error {
	for level := []int64{root}; len(level) > 0; {
		var next []int64
		err := c.Each(func(r db.Row) error {
			a := readAccount(r)
			read(a)
			next = append(next, a.Number)
			return nil
		}, sqlAccountsBelow, level)
		if err != nil {
			return err
		}
		level = next
	}
	return nil
}

// CreateChapter makes an account below root, or below one of its chapters. The user who makes it owns it.
func (s *Store) CreateChapter(ctx context.Context, root crm.Account, by int64, parent, name string) (crm.Account, error) {
	above, err := s.accountWithin(ctx, root, parent)
	if err != nil {
		return crm.Account{}, err
	}
	return s.addAccount(ctx, name, above, func(t *tx, chapter crm.Account) error {
		return t.addMember(chapter.Number, by, crm.Owner, s.now())
	})
}

// checkChapters refuses one more chapter below an account whose organization, top, has enough of them already.
func (t *tx) checkChapters(top int64) error {
	if _, err := t.lock(top); err != nil { // two at once cannot both be the last one
		return err
	}
	chapters := int64(0)
	if err := eachChapter(t.Conn, top, func(crm.Account) { chapters++ }); err != nil {
		return err
	}
	return crm.ChapterLimit.Check(chapters, 1)
}

// accountsAbove are the accounts above another, up to the top of its tree. They never change.
func accountsAbove(c db.Conn, account crm.Account) (numbers []int64, err error) {
	for above := account.Parent; above != 0 && err == nil; {
		numbers = append(numbers, above)
		above, err = c.Int(sqlParent, above)
	}
	return numbers, err
}

// topOf is the organization that an account belongs to: itself, or the one at the top of the tree.
func topOf(account crm.Account, above []int64) int64 {
	if len(above) == 0 {
		return account.Number
	}
	return above[len(above)-1]
}

// RenameAccount changes the name of root or of one of its chapters.
func (s *Store) RenameAccount(ctx context.Context, root crm.Account, id, name string) error {
	account, err := s.accountWithin(ctx, root, id)
	if err != nil {
		return err
	}
	if name, err = crm.AccountName(name); err != nil {
		return err
	}
	return s.update(ctx, account.Number, needs{}, func(t *tx) error {
		if _, err := t.lock(account.Number); err != nil {
			return err
		}
		_, err := t.Exec(sqlRenameAccount, account.Number, name)
		return err
	})
}

// accountWithin finds an account by its public id, where it is root or somewhere below it. The caller learns nothing about any
// other.
func (s *Store) accountWithin(ctx context.Context, root crm.Account, id string) (account crm.Account, err error) {
	outside := fmt.Errorf("account %q: %w", id, crm.ErrNotFound)
	if !crm.IsAccountID(id) {
		return crm.Account{}, outside
	}
	err = s.view(ctx, func(c db.Conn) error {
		if account, err = findAccount(c, id); err != nil {
			return err
		}
		for above := account.Number; above != root.Number; {
			found, err := c.One(func(r db.Row) { above = r.Int(0) }, sqlParent, above)
			if err != nil {
				return err
			}
			if !found { // above the last one
				return outside
			}
		}
		return nil
	})
	if err != nil {
		return crm.Account{}, err
	}
	return account, nil
}

func sortAccounts(accounts []crm.Account) { slices.SortFunc(accounts, compareAccounts) }

func compareAccounts(a, b crm.Account) int {
	return cmp.Or(crm.CompareNames(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
