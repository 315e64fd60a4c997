package people

import (
	"cmp"
	"context"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlMemberships = `SELECT account_id, role FROM member WHERE user_id = $1`
	sqlMembership  = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at,
		m.role
		FROM account a JOIN member m ON m.account_id = a.account_id LEFT JOIN account p ON p.account_id = a.parent
		WHERE a.public_id = $2 AND m.user_id = $1`
	sqlWorkedIn = `SELECT timezone, currency FROM account_tally WHERE account_id = $1`
	sqlMembers  = `SELECT user_id, role, created_at, seen_at FROM member WHERE account_id = $1`

	sqlMemberCount = `SELECT COUNT(*) FROM member WHERE account_id = $1`
	sqlOwners      = `SELECT COUNT(*) FROM member WHERE account_id = $1 AND role = $2`
	sqlSetRole     = `UPDATE member SET role = $3 WHERE account_id = $1 AND user_id = $2`
)

// Memberships are the organizations that a user belongs to, by name.
func (s *PeopleStore) Memberships(ctx context.Context, user int64) ([]access.Membership, error) {
	return store.Snapshot(ctx, s.Store, func(c db.Conn) ([]access.Membership, error) {
		memberships, err := db.List(c, func(r db.Row) access.Membership {
			return access.Membership{Account: access.Account{Number: r.Int(0)}, Role: access.Role(r.Int(1))}
		}, sqlMemberships, user)
		if err != nil {
			return nil, err
		}
		numbers := store.Collect(memberships, func(m access.Membership) int64 { return m.Account.Number })
		accounts, err := db.List(c, store.ReadAccount, store.SQLAccountsByNumber, numbers)
		fillAccounts(memberships, store.Keyed(accounts, store.AccountNumber))
		return memberships, err
	})
}

// fillAccounts gives memberships their accounts, and sorts them by name.
func fillAccounts(memberships []access.Membership, accounts map[int64]access.Account) {
	for i, m := range memberships {
		memberships[i].Account = accounts[m.Account.Number]
	}
	store.SortRows(memberships, func(a, b *access.Membership) int {
		return store.CompareAccounts(a.Account,
			b.Account)
	})
}

// Membership finds the organization with a public id, for a user who belongs to it.
func (s *PeopleStore) Membership(ctx context.Context, user int64, account string) (access.Membership, error) {
	if !access.IsAccountID(account) {
		return access.Membership{}, store.ErrNoMember
	}
	m, err := store.Find(ctx, s.Store, store.ErrNoMember, func(r db.Row) access.Membership {
		return access.Membership{Account: store.ReadAccount(r), Role: access.Role(r.Int(6))}
	}, sqlMembership, user, account)
	if err != nil {
		return m, err
	}
	return store.Find(ctx, s.Store, store.ErrNoMember, func(r db.Row) access.Membership {
		return access.Membership{Account: m.Account, Role: m.Role, Timezone: r.Text(0), Currency: r.Text(1)}
	}, sqlWorkedIn, m.Account.Number)
}

// Members are the users of an account, by name.
func (s *PeopleStore) Members(ctx context.Context, account int64) ([]access.Member, error) {
	return store.Snapshot(ctx, s.Store, func(c db.Conn) ([]access.Member, error) {
		members, err := db.List(c, func(r db.Row) access.Member {
			return access.Member{User: access.User{ID: r.Int(0)}, Role: access.Role(r.Int(1)),
				Since: store.Moment(r.Int(2)), SeenAt: store.Moment(r.Int(3))}
		}, sqlMembers, account)
		if err != nil {
			return nil, err
		}
		ids := store.Collect(members, func(m access.Member) int64 { return m.User.ID })
		users, err := db.List(c, readUser, sqlUsersByID, ids)
		known := store.Keyed(users, func(u access.User) int64 { return u.ID })
		for i, m := range members {
			members[i].User = known[m.User.ID]
		}
		store.SortRows(members, func(a, b *access.Member) int {
			return cmp.Or(access.CompareNames(a.User.Name, b.User.Name), cmp.Compare(a.User.ID, b.User.ID))
		})
		return members, err
	})
}

// SetRole changes what a member may do. The last owner stays one.
func (s *PeopleStore) SetRole(ctx context.Context, account, user int64, role access.Role) error {
	if err := role.Check(); err != nil {
		return err
	}
	return s.changeMember(ctx, account, user, func(t *store.Tx, user access.User, was access.Role) error {
		return setRole(t, account, user, was, role)
	})
}

// RemoveMember takes a user out of an organization, and cancels the invitations that they made. The last owner stays.
func (s *PeopleStore) RemoveMember(ctx context.Context, account, user int64) error {
	return s.changeMember(ctx, account, user, func(t *store.Tx, user access.User, was access.Role) error {
		if err := checkOwners(t, account, was, 0); err != nil {
			return err
		}
		if err := noteMember(t, account, user, was, 0); err != nil {
			return err
		}
		t.Delete(store.MemberTable, account, user.ID)
		return t.Run(sqlDeleteInvitationsBy, account, user.ID)
	})
}

// changeMember changes what a user may do in an account; was is 0 for one who does not belong to it.
func (s *PeopleStore) changeMember(ctx context.Context, account, user int64,
	change func(t *store.Tx, user access.User, was access.Role) error,
) error {
	return s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		was, err := t.Role(account, user)
		if err != nil {
			return err
		}
		found, err := loadUser(t, user)
		if err != nil {
			return err
		}
		return change(t, found, was)
	})
}

// loadUser is a user by their id. One who is lost has only that.
func loadUser(t *store.Tx, id int64) (user access.User, err error) {
	user.ID = id
	_, err = t.One(func(r db.Row) { user = readUser(r) }, sqlUserByID, id)
	return user, err
}

// noteMember notes what becomes of a user's role in an account; 0 is none.
func noteMember(t *store.Tx, account int64, user access.User, was, role access.Role) error {
	u, err := t.LockAccount(account)
	if err != nil {
		return err
	}
	kind, before, after := history.DidUpdate, user.Email, user.Email
	switch {
	case was == 0:
		kind, before = history.DidCreate, ""
	case role == 0:
		kind, after = history.DidDelete, ""
	}
	u.Record(history.UserNoun, user.ID, kind, doc.Differences{doc.TextDifference("email", before, after),
		roleDifference(was, role)}.Text())
	return nil
}

func roleDifference(was, role access.Role) doc.Difference {
	name := func(r access.Role) string {
		if r == 0 {
			return ""
		}
		return r.String()
	}
	return doc.TextDifference("role", name(was), name(role))
}

// join gives a user a role in an account; was is the one that they have, 0 for none.
func join(t *store.Tx, account int64, user access.User, was, role access.Role, now time.Time) error {
	if was != 0 {
		return setRole(t, account, user, was, role)
	}
	if err := t.CheckLimit(access.MemberLimit, 1, sqlMemberCount, account); err != nil {
		return err
	}
	return AddMember(t, account, user, role, now)
}

// setRole also cancels the invitations of a user who may no longer invite.
func setRole(t *store.Tx, account int64, user access.User, was, role access.Role) error {
	if err := checkOwners(t, account, was, role); err != nil || was == role {
		return err
	}
	if err := noteMember(t, account, user, was, role); err != nil {
		return err
	}
	if err := t.Run(sqlSetRole, account, user.ID, int64(role)); err != nil || role == access.Owner {
		return err
	}
	return t.Run(sqlDeleteInvitationsBy, account, user.ID)
}

// checkOwners refuses a change for a user who is no member, and one that takes the last owner away.
func checkOwners(t *store.Tx, account int64, was, role access.Role) error {
	if was == 0 {
		return store.ErrNoMember
	}
	owners, err := t.Int(sqlOwners, account, int64(access.Owner))
	if err != nil {
		return err
	}
	return was.CheckChange(role, owners)
}

func AddMember(t *store.Tx, account int64, user access.User, role access.Role, now time.Time) error {
	if err := noteMember(t, account, user, 0, role); err != nil {
		return err
	}
	t.Insert(store.MemberTable, account, user.ID, int64(role), store.Seconds(now), int64(0))
	return nil
}
