package people

import (
	"cmp"
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlMemberships = `SELECT account_id, role FROM member WHERE user_id = $1`
	sqlMembership  = `SELECT a.account_id, a.public_id, a.name, a.parent, COALESCE(p.public_id, ''), a.created_at, m.role, COALESCE(t.timezone, 'UTC')
		FROM account a JOIN member m ON m.account_id = a.account_id LEFT JOIN account p ON p.account_id = a.parent LEFT JOIN account_tally t ON t.account_id = a.account_id
		WHERE a.public_id = $2 AND m.user_id = $1`
	sqlMembers = `SELECT user_id, role, created_at, seen_at FROM member WHERE account_id = $1`

	sqlMemberCount = `SELECT COUNT(*) FROM member WHERE account_id = $1`
	sqlOwners      = `SELECT COUNT(*) FROM member WHERE account_id = $1 AND role = $2`
	sqlSetRole     = `UPDATE member SET role = $3 WHERE account_id = $1 AND user_id = $2`
)

// Memberships are the organizations that a user belongs to, by name.
func (s *PeopleStore) Memberships(ctx context.Context, user int64) ([]crm.Membership, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) ([]crm.Membership, error) {
		memberships, err := db.List(c, func(r db.Row) crm.Membership {
			return crm.Membership{Account: crm.Account{Number: r.Int(0)}, Role: crm.Role(r.Int(1))}
		}, sqlMemberships, user)
		if err != nil {
			return nil, err
		}
		numbers := store.Collect(memberships, func(m crm.Membership) int64 { return m.Account.Number })
		accounts, err := db.List(c, ReadAccount, SQLAccountsByNumber, numbers)
		fillAccounts(memberships, store.Keyed(accounts, accountNumber))
		return memberships, err
	})
}

// fillAccounts gives memberships their accounts, and sorts them by name.
func fillAccounts(memberships []crm.Membership, accounts map[int64]crm.Account) {
	for i, m := range memberships {
		memberships[i].Account = accounts[m.Account.Number]
	}
	store.SortRows(memberships, func(a, b *crm.Membership) int { return compareAccounts(a.Account, b.Account) })
}

// Membership finds the organization with a public id, for a user who belongs to it.
func (s *PeopleStore) Membership(ctx context.Context, user int64, account string) (crm.Membership, error) {
	if !crm.IsAccountID(account) {
		return crm.Membership{}, store.ErrNoMember
	}
	return store.Find(ctx, s.Base, store.ErrNoMember, func(r db.Row) crm.Membership {
		return crm.Membership{Account: ReadAccount(r), Role: crm.Role(r.Int(6)), Timezone: r.Text(7)}
	}, sqlMembership, user, account)
}

// Members are the users of an account, by name.
func (s *PeopleStore) Members(ctx context.Context, account int64) ([]crm.Member, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) ([]crm.Member, error) {
		members, err := db.List(c, func(r db.Row) crm.Member {
			return crm.Member{User: crm.User{ID: r.Int(0)}, Role: crm.Role(r.Int(1)), Since: store.Moment(r.Int(2)), SeenAt: store.Moment(r.Int(3))}
		}, sqlMembers, account)
		if err != nil {
			return nil, err
		}
		ids := store.Collect(members, func(m crm.Member) int64 { return m.User.ID })
		users, err := db.List(c, readUser, sqlUsersByID, ids)
		known := store.Keyed(users, func(u crm.User) int64 { return u.ID })
		for i, m := range members {
			members[i].User = known[m.User.ID]
		}
		store.SortRows(members, func(a, b *crm.Member) int {
			return cmp.Or(crm.CompareNames(a.User.Name, b.User.Name), cmp.Compare(a.User.ID, b.User.ID))
		})
		return members, err
	})
}

// SetRole changes what a member may do. The last owner stays one.
func (s *PeopleStore) SetRole(ctx context.Context, account, user int64, role crm.Role) error {
	if err := role.Check(); err != nil {
		return err
	}
	return s.changeMember(ctx, account, user, func(t *store.Tx, user crm.User, was crm.Role) error { return setRole(t, account, user, was, role) })
}

// RemoveMember takes a user out of an organization, and cancels the invitations that they made. The last owner stays.
func (s *PeopleStore) RemoveMember(ctx context.Context, account, user int64) error {
	return s.changeMember(ctx, account, user, func(t *store.Tx, user crm.User, was crm.Role) error {
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
func (s *PeopleStore) changeMember(ctx context.Context, account, user int64, change func(t *store.Tx, user crm.User, was crm.Role) error) error {
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
func loadUser(t *store.Tx, id int64) (user crm.User, err error) {
	user.ID = id
	_, err = t.One(func(r db.Row) { user = readUser(r) }, sqlUserByID, id)
	return user, err
}

// noteMember notes what becomes of a user's role in an account; 0 is none.
func noteMember(t *store.Tx, account int64, user crm.User, was, role crm.Role) error {
	a, err := t.LockAccount(account)
	if err != nil {
		return err
	}
	kind, before, after := crm.DidUpdate, user.Email, user.Email
	switch {
	case was == 0:
		kind, before = crm.DidCreate, ""
	case role == 0:
		kind, after = crm.DidDelete, ""
	}
	t.Record(a, crm.UserNoun, user.ID, kind, doc.Differences{doc.TextDifference("email", before, after), roleDifference(was, role)}.Text())
	return nil
}

func roleDifference(was, role crm.Role) doc.Difference {
	name := func(r crm.Role) string {
		if r == 0 {
			return ""
		}
		return r.String()
	}
	return doc.TextDifference("role", name(was), name(role))
}

// join gives a user a role in an account; was is the one that they have, 0 for none.
func join(t *store.Tx, account int64, user crm.User, was, role crm.Role, now time.Time) error {
	if was != 0 {
		return setRole(t, account, user, was, role)
	}
	if err := t.CheckLimit(crm.MemberLimit, 1, sqlMemberCount, account); err != nil {
		return err
	}
	return AddMember(t, account, user, role, now)
}

// setRole also cancels the invitations of a user who may no longer invite.
func setRole(t *store.Tx, account int64, user crm.User, was, role crm.Role) error {
	if err := checkOwners(t, account, was, role); err != nil || was == role {
		return err
	}
	if err := noteMember(t, account, user, was, role); err != nil {
		return err
	}
	if err := t.Run(sqlSetRole, account, user.ID, int64(role)); err != nil || role == crm.Owner {
		return err
	}
	return t.Run(sqlDeleteInvitationsBy, account, user.ID)
}

// checkOwners refuses a change for a user who is no member, and one that takes the last owner away.
func checkOwners(t *store.Tx, account int64, was, role crm.Role) error {
	if was == 0 {
		return store.ErrNoMember
	}
	owners, err := t.Int(sqlOwners, account, int64(crm.Owner))
	if err != nil {
		return err
	}
	return was.CheckChange(role, owners)
}

func AddMember(t *store.Tx, account int64, user crm.User, role crm.Role, now time.Time) error {
	if err := noteMember(t, account, user, 0, role); err != nil {
		return err
	}
	t.Insert(store.MemberTable, account, user.ID, int64(role), store.Seconds(now), int64(0))
	return nil
}
