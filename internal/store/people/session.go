package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sessionColumns = `SELECT u.id, u.email, u.name, u.created_at, s.hash, s.account_id, s.address, s.agent,
		s.created_at, s.seen_at, s.expires_at
		FROM user_session s JOIN app_user u ON u.id = s.user_id`
	sqlSession  = sessionColumns + ` WHERE s.hash = $1`
	sqlSessions = sessionColumns + ` WHERE s.user_id = $1`

	sqlTouchSession   = `UPDATE user_session SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`
	sqlOpenAccount    = `UPDATE user_session SET account_id = $2 WHERE hash = $1`
	sqlEndSessions    = `DELETE FROM user_session WHERE user_id = $1 AND hash <> $2`
	sqlExpireSessions = `DELETE FROM user_session WHERE user_id = $1 AND (expires_at <= $2 OR seen_at <= $3)`

	sqlTouchMember = `UPDATE member SET seen_at = $3 WHERE account_id = $1 AND user_id = $2 AND seen_at < $3`
)

var errNoSession = fmt.Errorf("the session: %w", crm.ErrNotFound)

// SignIn starts a session for a user who knows the password. The caller does not learn what was wrong, neither from the
// error nor from the time it takes.
func (s *PeopleStore) SignIn(ctx context.Context, email, password string,
	device access.Device,
) (token string, user access.User, err error) {
	found, err := s.userByEmail(ctx, email)
	known := err == nil
	switch {
	case errors.Is(err, crm.ErrNotFound):
		found.password = access.NobodysPassword
	case err != nil:
		return "", access.User{}, err
	}
	same, err := s.Passwords.verify(ctx, found.password, password)
	if err == nil && (!known || !same) {
		err = crm.ErrUnauthenticated
	}
	if err == nil {
		token, err = s.startSession(ctx, found.ID, found.password, device)
	}
	if err != nil {
		return "", access.User{}, err
	}
	return token, found.User, nil
}

// StartSession starts a session for a user who has just joined.
func (s *PeopleStore) StartSession(ctx context.Context, user int64, device access.Device) (token string, err error) {
	return s.startSession(ctx, user, "", device)
}

// startSession opens the account that was open last. Where the password is no longer the one that was compared, by its
// hash, the session does not begin: a change of the password ends all sessions.
func (s *PeopleStore) startSession(ctx context.Context, user int64, hash string, device access.Device) (string, error) {
	now := s.Now()
	session, token := access.NewSession(device, now)
	err := s.updateUser(ctx, user, func(t *store.Tx, locked userRow) error {
		if hash != "" && hash != locked.password {
			return crm.ErrUnauthenticated
		}
		accounts, err := db.List(t.Conn, store.Number, sqlMemberships, user)
		if err != nil {
			return err
		}
		if session.Account = locked.opened; !slices.Contains(accounts, locked.opened) {
			session.Account = append(accounts, 0)[0] // any that they belong to
		}
		if err := makeRoom(t, user, now); err != nil {
			return err
		}
		t.Insert(store.SessionTable, session.ID, user, session.Account, session.Device.Address, session.Device.Agent,
			store.Seconds(session.CreatedAt), store.Seconds(session.SeenAt), store.Seconds(session.ExpiresAt))
		if device.New {
			if err := s.tellSignIn(t, locked.User, session); err != nil {
				return err
			}
		}
		return t.Run(sqlTouchMember, session.Account, user, store.Seconds(now))
	})
	switch {
	case errors.Is(err, crm.ErrNotFound):
		return "", crm.ErrUnauthenticated
	case err != nil:
		return "", err
	}
	return token, nil
}

// makeRoom forgets the sessions that have ended, and ends those that were not used for longest, so that one more may
// begin.
func makeRoom(t *store.Tx, user int64, now time.Time) error {
	if err := t.Run(sqlExpireSessions, user, store.Seconds(now), store.Seconds(access.IdleSince(now))); err != nil {
		return err
	}
	sessions, err := db.List(t.Conn, readSession, sqlSessions, user)
	if err != nil {
		return err
	}
	sessions = validSessions(sessions, now)
	for _, old := range sessions[min(len(sessions), access.MaxSessions-1):] {
		t.Delete(store.SessionTable, old.ID)
	}
	return nil
}

// Session finds the user who holds a cookie. It asks the database every time: a session that was ended on any node is
// ended here.
func (s *PeopleStore) Session(ctx context.Context, token string) (access.Session, error) {
	now := s.Now()
	session, err := store.Find(ctx, s.Store, crm.ErrUnauthenticated, readSession, sqlSession, access.HashToken(token))
	if err == nil && !session.Valid(now) {
		err = crm.ErrUnauthenticated
	}
	if err != nil {
		return access.Session{}, err
	}
	s.NoteUse(session.SeenAt, now, func(ctx context.Context) error {
		return s.UpdateShared(ctx, session.User.ID, func(t *store.Tx) error {
			if err := t.Run(sqlTouchSession, session.ID, store.Seconds(now)); err != nil {
				return err
			}
			return t.Run(sqlTouchMember, session.Account, session.User.ID, store.Seconds(now))
		})
	})
	return session, nil
}

// Sessions are where a user is signed in, the last used first.
func (s *PeopleStore) Sessions(ctx context.Context, user int64) ([]access.Session, error) {
	sessions, err := store.List(ctx, s.Store, readSession, sqlSessions, user)
	return validSessions(sessions, s.Now()), err
}

// validSessions are those that have not ended, the last used first.
func validSessions(sessions []access.Session, now time.Time) []access.Session {
	sessions = slices.DeleteFunc(sessions, func(s access.Session) bool { return !s.Valid(now) })
	store.SortRows(sessions, func(a, b *access.Session) int {
		return cmp.Or(b.SeenAt.Compare(a.SeenAt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return sessions
}

func readSession(r db.Row) access.Session {
	return access.Session{
		User: readUser(r), ID: r.Text(4), Account: r.Int(5),
		Device:    access.Device{Address: r.Text(6), Agent: r.Text(7)},
		CreatedAt: store.Moment(r.Int(8)), SeenAt: store.Moment(r.Int(9)), ExpiresAt: store.Moment(r.Int(10)),
	}
}

// EndSession ends one session of a user, on every node at once.
func (s *PeopleStore) EndSession(ctx context.Context, user int64, id string) error {
	if !access.IsHash(id) {
		return errNoSession
	}
	return s.UpdateShared(ctx, user, func(t *store.Tx) error {
		session, err := store.FindIn(t.Conn, errNoSession, readSession, sqlSession, id)
		if err == nil && session.User.ID != user {
			err = errNoSession
		}
		if err == nil {
			t.Delete(store.SessionTable, id)
		}
		return err
	})
}

// EndSessions ends all sessions of a user but one, "" for all of them.
func (s *PeopleStore) EndSessions(ctx context.Context, user int64, except string) error {
	return s.UpdateShared(ctx, user, func(t *store.Tx) error { return t.Run(sqlEndSessions, user, except) })
}

// OpenAccount notes which organization a session works with.
func (s *PeopleStore) OpenAccount(ctx context.Context, session access.Session, account int64) error {
	now := s.Now()
	return s.UpdateShared(ctx, session.User.ID, func(t *store.Tx) error {
		if _, err := store.FindIn(t.Conn, store.ErrNoMember, store.Number, store.SQLRole, account,
			session.User.ID); err != nil {
			return err
		}
		if err := t.Run(sqlSetOpened, session.User.ID, account); err != nil {
			return err
		}
		if err := t.Run(sqlOpenAccount, session.ID, account); err != nil {
			return err
		}
		return t.Run(sqlTouchMember, account, session.User.ID, store.Seconds(now))
	})
}
