package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"donorbook/internal/crm"
)

const (
	sessionColumns = `SELECT u.id, u.email, u.name, u.created_at, s.hash, s.account_id, s.address, s.agent, s.created_at, s.seen_at, s.expires_at
		FROM user_session s JOIN app_user u ON u.id = s.user_id`
	sqlSession  = sessionColumns + ` WHERE s.hash = $1`
	sqlSessions = sessionColumns + ` WHERE s.user_id = $1`

	sqlInsertSession = `INSERT INTO user_session (hash, user_id, account_id, address, agent, created_at, seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	sqlTouchSession   = `UPDATE user_session SET seen_at = $2 WHERE hash = $1 AND seen_at < $2`
	sqlOpenAccount    = `UPDATE user_session SET account_id = $2 WHERE hash = $1`
	sqlEndSession     = `DELETE FROM user_session WHERE hash = $1`
	sqlEndSessions    = `DELETE FROM user_session WHERE user_id = $1 AND hash <> $2`
	sqlExpireSessions = `DELETE FROM user_session WHERE user_id = $1 AND (expires_at <= $2 OR seen_at <= $3)`

	sqlTouchMember = `UPDATE member SET seen_at = $3 WHERE account_id = $1 AND user_id = $2 AND seen_at < $3`
)

var errNoSession = fmt.Errorf("the session: %w", crm.ErrNotFound)

// SignIn starts a session for whoever knows a password. Nobody learns what was wrong, neither from the error nor from
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

// StartSession starts a session for somebody who has just joined.
func (s *Store) StartSession(ctx context.Context, user int64, device crm.Device) (token string, err error) {
	return s.startSession(ctx, user, "", device)
}

// startSession opens what was open last. A password that was changed since it was compared, with the given hash, ends
// sessions that are about to begin too.
func (s *Store) startSession(ctx context.Context, user int64, hash string, device crm.Device) (string, error) {
	now := s.now()
	session, token := crm.NewSession(device, now)
	err := s.update(ctx, user, func(t *tx) error {
		kept, err := t.lockUser(user)
		if errors.Is(err, crm.ErrNotFound) || err == nil && hash != "" && hash != kept {
			return crm.ErrUnauthenticated
		}
		if err != nil {
			return err
		}
		if session.Account, err = lastOpened(t.conn, user); err != nil {
			return err
		}
		if _, err := t.exec(sqlExpireSessions, user, seconds(now), seconds(crm.IdleSince(now))); err != nil {
			return err
		}
		if err := t.makeRoom(user, now); err != nil {
			return err
		}
		_, err = t.exec(sqlInsertSession, session.ID, user, session.Account, session.Device.Address, session.Device.Agent,
			seconds(session.CreatedAt), seconds(session.SeenAt), seconds(session.ExpiresAt))
		if err != nil {
			return err
		}
		_, err = t.exec(sqlTouchMember, session.Account, user, seconds(now))
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// makeRoom ends the sessions that were not used for longest, so that one more may begin.
func (t *tx) makeRoom(user int64, now time.Time) error {
	sessions, err := validSessions(t.conn, user, now)
	if err != nil {
		return err
	}
	for _, old := range sessions[min(len(sessions), crm.MaxSessions-1):] {
		if _, err := t.exec(sqlEndSession, old.ID); err != nil {
			return err
		}
	}
	return nil
}

// lastOpened is the account that a user worked with last, or any that they belong to.
func lastOpened(c conn, user int64) (account int64, err error) {
	var opened int64
	if _, err := one(c, func(r rows) { opened = r.int(0) }, sqlOpened, user); err != nil {
		return 0, err
	}
	err = each(c, func(r rows) error {
		if r.int(0) == opened || account == 0 {
			account = r.int(0)
		}
		return nil
	}, sqlMemberships, user)
	return account, err
}

// Session finds out who holds a cookie. It asks the database every time: a session that was ended anywhere is ended here.
func (s *Store) Session(ctx context.Context, token string) (session crm.Session, err error) {
	now, found := s.now(), false
	err = s.read(ctx, func(c conn) error {
		found, err = one(c, func(r rows) { session = readSession(r) }, sqlSession, crm.HashToken(token))
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
		// A note that cannot be written is tried again with the next request; nobody waits for it.
		_ = s.update(context.Background(), session.User.ID, func(t *tx) error {
			if _, err := t.exec(sqlTouchSession, session.ID, seconds(now)); err != nil {
				return err
			}
			_, err := t.exec(sqlTouchMember, session.Account, session.User.ID, seconds(now))
			return err
		})
	})
}

// Sessions are where a user is signed in, the last used first.
func (s *Store) Sessions(ctx context.Context, user int64) (sessions []crm.Session, err error) {
	now := s.now()
	err = s.read(ctx, func(c conn) error {
		sessions, err = validSessions(c, user, now)
		return err
	})
	return sessions, err
}

func validSessions(c conn, user int64, now time.Time) (sessions []crm.Session, err error) {
	err = each(c, func(r rows) error {
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

func readSession(r rows) crm.Session {
	return crm.Session{
		User: readUser(r), ID: r.text(4), Account: r.int(5), Device: crm.Device{Address: r.text(6), Agent: r.text(7)},
		CreatedAt: moment(r.int(8)), SeenAt: moment(r.int(9)), ExpiresAt: moment(r.int(10)),
	}
}

// EndSession ends one session of a user, on every node at once.
func (s *Store) EndSession(ctx context.Context, user int64, id string) error {
	if !crm.IsHash(id) {
		return errNoSession
	}
	return s.update(ctx, user, func(t *tx) error {
		mine := false
		if _, err := one(t.conn, func(r rows) { mine = r.int(0) == user }, sqlSession, id); err != nil {
			return err
		}
		if !mine {
			return errNoSession
		}
		_, err := t.exec(sqlEndSession, id)
		return err
	})
}

// EndSessions ends all sessions of a user but one, "" for all of them.
func (s *Store) EndSessions(ctx context.Context, user int64, except string) error {
	return s.update(ctx, user, func(t *tx) error {
		_, err := t.exec(sqlEndSessions, user, except)
		return err
	})
}

// OpenAccount notes which organisation a session works with.
func (s *Store) OpenAccount(ctx context.Context, session crm.Session, account int64) error {
	now := s.now()
	return s.update(ctx, session.User.ID, func(t *tx) error {
		_, member, err := readRole(t.conn, account, session.User.ID)
		if err != nil {
			return err
		}
		if !member {
			return errNoMember
		}
		if _, err := t.exec(sqlSetOpened, session.User.ID, account); err != nil {
			return err
		}
		if _, err := t.exec(sqlOpenAccount, session.ID, account); err != nil {
			return err
		}
		_, err = t.exec(sqlTouchMember, account, session.User.ID, seconds(now))
		return err
	})
}
