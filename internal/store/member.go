package store

import (
	"cmp"
	"context"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
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
	return snapshot(ctx, s.Base, func(c db.Conn) ([]crm.Membership, error) {
		memberships, err := db.List(c, func(r db.Row) crm.Membership {
			return crm.Membership{Account: crm.Account{Number: r.Int(0)}, Role: crm.Role(r.Int(1))}
		}, sqlMemberships, user)
		if err != nil {
			return nil, err
		}
		numbers := collect(memberships, func(m crm.Membership) int64 { return m.Account.Number })
		accounts, err := db.List(c, readAccount, sqlAccountsByNumber, numbers)
		fillAccounts(memberships, keyed(accounts, accountNumber))
		return memberships, err
	})
}

// fillAccounts gives memberships their accounts, and sorts them by name.
func fillAccounts(memberships []crm.Membership, accounts map[int64]crm.Account) {
	for i, m := range memberships {
		memberships[i].Account = accounts[m.Account.Number]
	}
	sortRows(memberships, func(a, b *crm.Membership) int { return compareAccounts(a.Account, b.Account) })
}

// Membership finds the organization with a public id, for a user who belongs to it.
func (s *PeopleStore) Membership(ctx context.Context, user int64, account string) (crm.Membership, error) {
	if !crm.IsAccountID(account) {
		return crm.Membership{}, errNoMember
	}
	return find(ctx, s.Base, errNoMember, func(r db.Row) crm.Membership {
		return crm.Membership{Account: readAccount(r), Role: crm.Role(r.Int(6)), Timezone: r.Text(7)}
	}, sqlMembership, user, account)
}

// Members are the users of an account, by name.
func (s *PeopleStore) Members(ctx context.Context, account int64) ([]crm.Member, error) {
	return snapshot(ctx, s.Base, func(c db.Conn) ([]crm.Member, error) {
		members, err := db.List(c, func(r db.Row) crm.Member {
			return crm.Member{User: crm.User{ID: r.Int(0)}, Role: crm.Role(r.Int(1)), Since: moment(r.Int(2)), SeenAt: moment(r.Int(3))}
		}, sqlMembers, account)
		if err != nil {
			return nil, err
		}
		ids := collect(members, func(m crm.Member) int64 { return m.User.ID })
		users, err := db.List(c, readUser, sqlUsersByID, ids)
		known := keyed(users, func(u crm.User) int64 { return u.ID })
		for i, m := range members {
			members[i].User = known[m.User.ID]
		}
		sortRows(members, func(a, b *crm.Member) int {
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
	return s.changeMember(ctx, account, user, func(t *tx, user crm.User, was crm.Role) error { return t.setRole(account, user, was, role) })
}

// RemoveMember takes a user out of an organization, and cancels the invitations that they made. The last owner stays.
func (s *PeopleStore) RemoveMember(ctx context.Context, account, user int64) error {
	return s.changeMember(ctx, account, user, func(t *tx, user crm.User, was crm.Role) error {
		if err := t.checkOwners(account, was, 0); err != nil {
			return err
		}
		if err := t.noteMember(account, user, was, 0); err != nil {
			return err
		}
		t.Delete(memberTable, account, user.ID)
		return t.exec(sqlDeleteInvitationsBy, account, user.ID)
	})
}

// changeMember changes what a user may do in an account; was is 0 for one who does not belong to it.
func (s *PeopleStore) changeMember(ctx context.Context, account, user int64, change func(t *tx, user crm.User, was crm.Role) error) error {
	return s.updateAccount(ctx, account, func(t *tx) error {
		was, err := t.role(account, user)
		if err != nil {
			return err
		}
		found, err := t.user(user)
		if err != nil {
			return err
		}
		return change(t, found, was)
	})
}

// user is a user by their id. One who is lost has only that.
func (t *tx) user(id int64) (user crm.User, err error) {
	user.ID = id
	_, err = t.One(func(r db.Row) { user = readUser(r) }, sqlUserByID, id)
	return user, err
}

// noteMember notes what becomes of a user's role in an account; 0 is none.
func (t *tx) noteMember(account int64, user crm.User, was, role crm.Role) error {
	a, err := t.lock(account)
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
	t.record(a, crm.UserNoun, user.ID, kind, doc.Differences{doc.TextDifference("email", before, after), roleDifference(was, role)}.Text())
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
func (t *tx) join(account int64, user crm.User, was, role crm.Role, now time.Time) error {
	if was != 0 {
		return t.setRole(account, user, was, role)
	}
	if err := t.checkLimit(crm.MemberLimit, 1, sqlMemberCount, account); err != nil {
		return err
	}
	return t.addMember(account, user, role, now)
}

// setRole also cancels the invitations of a user who may no longer invite.
func (t *tx) setRole(account int64, user crm.User, was, role crm.Role) error {
	if err := t.checkOwners(account, was, role); err != nil || was == role {
		return err
	}
	if err := t.noteMember(account, user, was, role); err != nil {
		return err
	}
	if err := t.exec(sqlSetRole, account, user.ID, int64(role)); err != nil || role == crm.Owner {
		return err
	}
	return t.exec(sqlDeleteInvitationsBy, account, user.ID)
}

// checkOwners refuses a change for a user who is no member, and one that takes the last owner away.
func (t *tx) checkOwners(account int64, was, role crm.Role) error {
	if was == 0 {
		return errNoMember
	}
	owners, err := t.Int(sqlOwners, account, int64(crm.Owner))
	if err != nil {
		return err
	}
	return was.CheckChange(role, owners)
}

func (t *tx) addMember(account int64, user crm.User, role crm.Role, now time.Time) error {
	if err := t.noteMember(account, user, 0, role); err != nil {
		return err
	}
	t.Insert(memberTable, account, user.ID, int64(role), seconds(now), int64(0))
	return nil
}
