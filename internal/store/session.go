package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sessionColumns = `SELECT u.id, u.email, u.name, u.created_at, s.hash, s.account_id, s.address, s.agent, s.created_at, s.seen_at, s.expires_at
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

// SignIn starts a session for a user who knows the password. The caller does not learn what was wrong, neither from the error nor from
// the time it takes.
func (s *Store) SignIn(ctx context.Context, email, password string, device crm.Device) (token string, user crm.User, err error) {
	user, hash, err := s.userByEmail(ctx, email)
	known := err == nil
	switch {
	case errors.Is(err, crm.ErrNotFound):
		hash = crm.NobodysPassword
	case err != nil:
		return "", crm.User{}, err
	}
	same, err := s.passwords.verify(ctx, hash, password)
	if err != nil {
		return "", crm.User{}, err
	}
	if !known || !same {
		return "", crm.User{}, crm.ErrUnauthenticated
	}
	if token, err = s.startSession(ctx, user.ID, hash, device); err != nil {
		return "", crm.User{}, err
	}
	return token, user, nil
}

// StartSession starts a session for a user who has just joined.
func (s *Store) StartSession(ctx context.Context, user int64, device crm.Device) (token string, err error) {
	return s.startSession(ctx, user, "", device)
}

// startSession opens what was open last. A password that was changed since it was compared, with the given hash, ends
// sessions that are about to begin too.
func (s *Store) startSession(ctx context.Context, user int64, hash string, device crm.Device) (string, error) {
	now := s.now()
	session, token := crm.NewSession(device, now)
	err := s.updateShared(ctx, user, func(t *tx) error {
		kept, err := t.lockUser(user)
		if errors.Is(err, crm.ErrNotFound) || err == nil && hash != "" && hash != kept {
			return crm.ErrUnauthenticated
		}
		if err != nil {
			return err
		}
		if session.Account, err = lastOpened(t.Conn, user); err != nil {
			return err
		}
		if _, err := t.Exec(sqlExpireSessions, user, seconds(now), seconds(crm.IdleSince(now))); err != nil {
			return err
		}
		if err := t.makeRoom(user, now); err != nil {
			return err
		}
		t.Insert(sessionTable, session.ID, user, session.Account, session.Device.Address, session.Device.Agent,
			seconds(session.CreatedAt), seconds(session.SeenAt), seconds(session.ExpiresAt))
		_, err = t.Exec(sqlTouchMember, session.Account, user, seconds(now))
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// makeRoom ends the sessions that were not used for longest, so that one more may begin.
func (t *tx) makeRoom(user int64, now time.Time) error {
	sessions, err := validSessions(t.Conn, user, now)
	if err != nil {
		return err
	}
	for _, old := range sessions[min(len(sessions), crm.MaxSessions-1):] {
		t.Delete(sessionTable, old.ID)
	}
	return nil
}

// lastOpened is the account that a user worked with last, or any that they belong to.
func lastOpened(c db.Conn, user int64) (account int64, err error) {
	var opened int64
	if _, err := c.One(func(r db.Row) { opened = r.Int(0) }, sqlOpened, user); err != nil {
		return 0, err
	}
	err = c.Each(func(r db.Row) error {
		if r.Int(0) == opened || account == 0 {
			account = r.Int(0)
		}
		return nil
	}, sqlMemberships, user)
	return account, err
}

// Session finds out who holds a cookie. It asks the database every time: a session that was ended anywhere is ended here.
func (s *Store) Session(ctx context.Context, token string) (session crm.Session, err error) {
	now, found := s.now(), false
	err = s.read(ctx, func(c db.Conn) error {
		found, err = c.One(func(r db.Row) { session = readSession(r) }, sqlSession, crm.HashToken(token))
		return err
	})
	if err != nil {
		return crm.Session{}, err
	}
	if !found || !session.Valid(now) {
		return crm.Session{}, crm.ErrUnauthenticated
	}
	s.touchSession(session, now)
	return session, nil
}

// touchSession notes the last use, beside the request and not as part of it.
func (s *Store) touchSession(session crm.Session, now time.Time) {
	if now.Sub(session.SeenAt) < touchInterval {
		return
	}
	s.touching.Go(func() {
		// A note that cannot be written is tried again with the next request; no client waits for it.
		_ = s.updateShared(context.Background(), session.User.ID, func(t *tx) error {
			if _, err := t.Exec(sqlTouchSession, session.ID, seconds(now)); err != nil {
				return err
			}
			_, err := t.Exec(sqlTouchMember, session.Account, session.User.ID, seconds(now))
			return err
		})
	})
}

// Sessions are where a user is signed in, the last used first.
func (s *Store) Sessions(ctx context.Context, user int64) (sessions []crm.Session, err error) {
	now := s.now()
	err = s.read(ctx, func(c db.Conn) error {
		sessions, err = validSessions(c, user, now)
		return err
	})
	return sessions, err
}

func validSessions(c db.Conn, user int64, now time.Time) (sessions []crm.Session, err error) {
	err = c.Each(func(r db.Row) error {
		if session := readSession(r); session.Valid(now) {
			sessions = append(sessions, session)
		}
		return nil
	}, sqlSessions, user)
	slices.SortFunc(sessions, func(a, b crm.Session) int {
		return cmp.Or(b.SeenAt.Compare(a.SeenAt), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return sessions, err
}

func readSession(r db.Row) crm.Session {
	return crm.Session{
		User: readUser(r), ID: r.Text(4), Account: r.Int(5), Device: crm.Device{Address: r.Text(6), Agent: r.Text(7)},
		CreatedAt: moment(r.Int(8)), SeenAt: moment(r.Int(9)), ExpiresAt: moment(r.Int(10)),
	}
}

// EndSession ends one session of a user, on every node at once.
func (s *Store) EndSession(ctx context.Context, user int64, id string) error {
	if !crm.IsHash(id) {
		return errNoSession
	}
	return s.updateShared(ctx, user, func(t *tx) error {
		mine := false
		if _, err := t.One(func(r db.Row) { mine = r.Int(0) == user }, sqlSession, id); err != nil {
			return err
		}
		if !mine {
			return errNoSession
		}
		t.Delete(sessionTable, id)
		return nil
	})
}

// EndSessions ends all sessions of a user but one, "" for all of them.
func (s *Store) EndSessions(ctx context.Context, user int64, except string) error {
	return s.updateShared(ctx, user, func(t *tx) error {
		_, err := t.Exec(sqlEndSessions, user, except)
		return err
	})
}

// OpenAccount notes which organization a session works with.
func (s *Store) OpenAccount(ctx context.Context, session crm.Session, account int64) error {
	now := s.now()
	return s.updateShared(ctx, session.User.ID, func(t *tx) error {
		member, err := t.Exists(sqlRole, account, session.User.ID)
		if err != nil {
			return err
		}
		if !member {
			return errNoMember
		}
		if _, err := t.Exec(sqlSetOpened, session.User.ID, account); err != nil {
			return err
		}
		if _, err := t.Exec(sqlOpenAccount, session.ID, account); err != nil {
			return err
		}
		_, err = t.Exec(sqlTouchMember, account, session.User.ID, seconds(now))
		return err
	})
}
