package store

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// actor is the user who makes a change, and the role that it needs at that moment.
type actor struct {
	user, account int64
	role          crm.Role
}

type actorKey struct{}

// Acting is a context in which every change needs a user to have a role in an account while it is made. A check before that
// shows only what was allowed then; the role may have been taken away since.
func Acting(ctx context.Context, user, account int64, role crm.Role) context.Context {
	return context.WithValue(ctx, actorKey{}, actor{user, account, role})
}

// guarded asks for the actor's role in the transaction of the change. It stays as it is until the transaction ends.
func guarded(ctx context.Context, fn func(*tx) error) func(*tx) error {
	a, ok := ctx.Value(actorKey{}).(actor)
	if !ok {
		return fn
	}
	return func(t *tx) error {
		role, err := t.role(a.account, a.user)
		if err != nil {
			return err
		}
		if role < a.role {
			return errNoMember
		}
		return fn(t)
	}
}

// role is what a user may do in an account, 0 for one who does not belong to it. It stays so until the transaction ends.
func (t *tx) role(account, user int64) (role crm.Role, err error) {
	_, err = t.Lock(func(r db.Row) { role = crm.Role(r.Int(2)) }, memberTable, account, user)
	return role, err
}

var errNoMember = fmt.Errorf("the member: %w", crm.ErrNotFound)

const sqlRole = `SELECT role FROM member WHERE account_id = $1 AND user_id = $2`
