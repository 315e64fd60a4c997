package store

import (
	"context"
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/db"
)

// actor is the user who makes a change, and the role that it needs at that moment.
type actor struct {
	user, account int64
	role          access.Role
}

type actorKey struct{}

// Acting is a context in which every change needs a user to have a role in an account while it is made. A check before that
// shows only what was allowed then; the role may have been taken away since.
func Acting(ctx context.Context, user, account int64, role access.Role) context.Context {
	return context.WithValue(ctx, actorKey{}, actor{user, account, role})
}

// guarded asks for the actor's role in the transaction of the change. It stays as it is until the transaction ends.
func guarded(ctx context.Context, fn func(*Tx) error) func(*Tx) error {
	a, ok := ctx.Value(actorKey{}).(actor)
	if !ok {
		return fn
	}
	return func(t *Tx) error {
		role, err := t.Role(a.account, a.user)
		if err != nil {
			return err
		}
		if role < a.role {
			return ErrNoMember
		}
		return fn(t)
	}
}

type matchKey struct{}

// IfMatch is a context in which a document is changed only if its tag is one of those that a header lists.
func IfMatch(ctx context.Context, tags []string) context.Context {
	return context.WithValue(ctx, matchKey{}, tags)
}

// Matches refuses a change of a document that is not in the state that the change needs. The transaction of the change asks for its tag.
func Matches(ctx context.Context, tag func() doc.ETag) error {
	if tags, conditional := ctx.Value(matchKey{}).([]string); conditional && !tag().Matches(tags) {
		return crm.ErrNotMatched
	}
	return nil
}

// Role is what a user may do in an account, 0 for one who does not belong to it. It stays so until the transaction ends.
func (t *Tx) Role(account, user int64) (role access.Role, err error) {
	_, err = t.Lock(func(r db.Row) { role = access.Role(r.Int(2)) }, MemberTable, account, user)
	return role, err
}

var ErrNoMember = fmt.Errorf("the member: %w", crm.ErrNotFound)

const SQLRole = `SELECT role FROM member WHERE account_id = $1 AND user_id = $2`
