package people

import (
	"cmp"
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlAccountsBelow = `SELECT account_id, public_id, name, parent, '', created_at FROM account WHERE parent = ANY($1)`
	sqlParent        = `SELECT parent FROM account WHERE account_id = $1`
	sqlRenameAccount = `UPDATE account SET name = $2 WHERE account_id = $1`
)

// Chapters are all accounts below an account, each followed by those below it, and side by side by name.
func (s *PeopleStore) Chapters(ctx context.Context, root access.Account) (chapters []access.Account, err error) {
	all, err := store.Snapshot(ctx, s.Base, func(c db.Conn) ([]access.Account, error) { return AccountsBelow(c, root.Number) })
	if err != nil {
		return nil, err
	}
	store.SortRows(all, func(a, b *access.Account) int { return compareAccounts(*a, *b) })
	below := map[int64][]access.Account{}
	for _, a := range all {
		below[a.Parent] = append(below[a.Parent], a)
	}
	var walk func(access.Account)
	walk = func(above access.Account) {
		for _, chapter := range below[above.Number] {
			chapter.ParentID = above.ID
			chapters = append(chapters, chapter)
			walk(chapter)
		}
	}
	walk(root)
	return chapters, nil
}

// AccountsBelow are all accounts below another, level by level.
func AccountsBelow(c db.Conn, root int64) (all []access.Account, err error) {
	for level := []int64{root}; len(level) > 0; {
		next, err := db.List(c, ReadAccount, sqlAccountsBelow, level)
		if err != nil {
			return nil, err
		}
		level, all = store.Collect(next, accountNumber), append(all, next...)
	}
	return all, nil
}

// AccountsAbove are the accounts above another, up to the top of its tree. They never change.
func AccountsAbove(c db.Conn, account access.Account) (numbers []int64, err error) {
	for above := account.Parent; above != 0 && err == nil; {
		numbers = append(numbers, above)
		above, err = c.Int(sqlParent, above)
	}
	return numbers, err
}

// Ancestry is an account, and those above it.
func (s *PeopleStore) Ancestry(ctx context.Context, number int64) (account access.Account, above []int64, err error) {
	if account, err = s.AccountByNumber(ctx, number); err == nil {
		above, err = store.Snapshot(ctx, s.Base, func(c db.Conn) ([]int64, error) { return AccountsAbove(c, account) })
	}
	return account, above, err
}

// TopOf is the organization that an account belongs to: itself, or the one at the top of the tree.
func TopOf(account access.Account, above []int64) int64 {
	if len(above) == 0 {
		return account.Number
	}
	return above[len(above)-1]
}

// CreateChapter makes an account below root, or below one of its chapters. The user who makes it owns it.
func (s *PeopleStore) CreateChapter(ctx context.Context, root access.Account, by int64, parent, name string) (access.Account, error) {
	above, err := s.accountWithin(ctx, root, parent)
	if err != nil {
		return access.Account{}, err
	}
	return s.addAccount(ctx, name, above, by)
}

// checkChapters refuses one more chapter of an organization that has enough of them. The organization is locked, so that two at once
// cannot both be the last one.
func checkChapters(t *store.Tx, top int64) error {
	chapters, err := AccountsBelow(t.Conn, top)
	if err != nil {
		return err
	}
	return access.ChapterLimit.Check(int64(len(chapters)), 1)
}

// RenameAccount changes the name of root or of one of its chapters.
func (s *PeopleStore) RenameAccount(ctx context.Context, root access.Account, id, name string) error {
	account, err := s.accountWithin(ctx, root, id)
	if err != nil {
		return err
	}
	if name, err = access.AccountName(name); err != nil {
		return err
	}
	return s.UpdateAccount(ctx, account.Number, func(t *store.Tx) error {
		renamed, err := Rename(t, account.Number, name)
		if err == nil && len(renamed) > 0 {
			t.Record(t.Account(account.Number), history.SettingNoun, 0, history.DidUpdate, renamed.Text())
		}
		return err
	})
}

// Rename gives an account another name, and returns what differs.
func Rename(t *store.Tx, account int64, name string) (doc.Differences, error) {
	now, err := store.FindIn(t.Conn, crm.ErrNotFound, ReadAccount, SQLAccountsByNumber, []int64{account})
	if err != nil || now.Name == name {
		return nil, err
	}
	return doc.Differences{doc.TextDifference("name", now.Name, name)}, t.Run(sqlRenameAccount, account, name)
}

// accountWithin finds an account by its public id, where it is root or an account below it. The caller learns nothing about any
// other.
func (s *PeopleStore) accountWithin(ctx context.Context, root access.Account, id string) (access.Account, error) {
	if !access.IsAccountID(id) {
		return access.Account{}, noAccount(id)
	}
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (access.Account, error) {
		account, err := store.FindIn(c, noAccount(id), ReadAccount, SQLAccountByID, id)
		if err != nil || account.Number == root.Number {
			return account, err
		}
		above, err := AccountsAbove(c, account)
		if err == nil && !slices.Contains(above, root.Number) {
			err = noAccount(id)
		}
		return account, err
	})
}

func compareAccounts(a, b access.Account) int {
	return cmp.Or(access.CompareNames(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
