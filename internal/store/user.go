package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
)

const (
	sqlInsertUser  = `INSERT INTO app_user (id, login, email, name, password, opened, created_at) VALUES ($1, $2, $3, $4, $5, 0, $6)`
	sqlUserByLogin = `SELECT id, email, name, created_at, password FROM app_user WHERE login = $1`
	sqlUserByID    = `SELECT id, email, name, created_at, password FROM app_user WHERE id = $1`
	sqlAnyUser     = `SELECT id FROM app_user WHERE id > $1 ORDER BY id LIMIT 1`
	sqlRenameUser  = `UPDATE app_user SET name = $2 WHERE id = $1`
	sqlSetPassword = `UPDATE app_user SET password = $2 WHERE id = $1`
	sqlSetOpened   = `UPDATE app_user SET opened = $2 WHERE id = $1`
	sqlOpened      = `SELECT opened FROM app_user WHERE id = $1`

	sqlAllUsers       = `SELECT id, email, name, created_at FROM app_user ORDER BY login`
	sqlAllMemberships = `SELECT account_id, user_id, role, seen_at FROM member`
)

var sqlUsersByID = `SELECT id, email, name, created_at FROM app_user WHERE id IN (` + parameters(1, fewWidth) + `)`

// UserRecord is a user as the operator of the service sees them.
type UserRecord struct {
	User        crm.User
	Memberships []crm.Membership
	SeenAt      time.Time // in any organisation; zero: never
}

// hasher works out the hashes of passwords. Each takes tens of megabytes and milliseconds, so only a few are worked out at
// once. The others wait their turn for as long as their client does, which costs nothing but a goroutine each.
type hasher struct {
	slots  chan struct{}
	worked *atomic.Int64 // hashes so far
}

func newHasher() hasher {
	return hasher{slots: make(chan struct{}, 2), worked: new(atomic.Int64)}
}

func (h hasher) do(ctx context.Context, work func()) error {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.slots }()
	h.worked.Add(1)
	work()
	return nil
}

func (h hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, func() { hash = crm.HashPassword(password) })
	return hash, err
}

func (h hasher) verify(ctx context.Context, hash, password string) (same bool, err error) {
	err = h.do(ctx, func() { same = crm.VerifyPassword(hash, password) })
	return same, err
}

// CreateUser makes a user who belongs to an account.
func (s *Store) CreateUser(ctx context.Context, account crm.Account, role crm.Role, in crm.UserInput) (crm.User, error) {
	if err := in.Validate(); err != nil {
		return crm.User{}, err
	}
	if err := role.Check(); err != nil {
		return crm.User{}, err
	}
	return s.addUser(ctx, account.Number, in, func(t *tx) error {
		_, err := t.tally(account.Number)
		return err
	}, func(t *tx, user crm.User) error {
		return t.addMember(account.Number, user.ID, role, s.now())
	})
}

// addUser makes a user in a change of an account: decide may refuse it, and join writes what comes with it. The hash is
// worked out before the change, so that nobody waits for it.
func (s *Store) addUser(ctx context.Context, account int64, in crm.UserInput, decide func(*tx) error, join func(*tx, crm.User) error) (user crm.User, err error) {
	login := crm.Login(in.Email)
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return crm.User{}, err
	}
	for range 20 { // a random number is rarely taken, and the same email cannot come in twice
		user = crm.NewUser(in, s.now())
		err = s.update(ctx, account, func(t *tx) error {
			if err := decide(t); err != nil {
				return err
			}
			taken, err := one(t.conn, func(rows) {}, sqlUserByLogin, login)
			if err != nil {
				return err
			}
			if taken {
				return crm.EmailTaken()
			}
			if _, err = t.exec(sqlInsertUser, user.ID, login, user.Email, user.Name, hash, seconds(user.CreatedAt)); err != nil {
				return err
			}
			return join(t, user)
		})
		if !errors.Is(err, errTaken) {
			break
		}
	}
	if err != nil {
		return crm.User{}, err
	}
	return user, nil
}

// AddMember gives a user who is there already a role in an account.
func (s *Store) AddMember(ctx context.Context, account crm.Account, role crm.Role, email string) (crm.User, error) {
	if err := role.Check(); err != nil {
		return crm.User{}, err
	}
	user, _, err := s.userByEmail(ctx, email)
	if err != nil {
		return crm.User{}, err
	}
	return user, s.update(ctx, account.Number, func(t *tx) error {
		was, found, err := t.role(account.Number, user.ID)
		if err != nil {
			return err
		}
		if found {
			return t.setRole(account.Number, user.ID, was, role)
		}
		return t.addMember(account.Number, user.ID, role, s.now())
	})
}

// Users lists everybody and where they belong, by email.
func (s *Store) Users(ctx context.Context) (users []UserRecord, err error) {
	err = s.view(ctx, func(c conn) error {
		users = nil
		at, accounts := map[int64]int{}, map[int64]crm.Account{}
		err := each(c, func(r rows) error {
			at[r.int(0)] = len(users)
			users = append(users, UserRecord{User: readUser(r)})
			return nil
		}, sqlAllUsers)
		if err != nil {
			return err
		}
		err = each(c, func(r rows) error {
			a := readAccount(r)
			accounts[a.Number] = a
			return nil
		}, sqlAccountList)
		if err != nil {
			return err
		}
		return each(c, func(r rows) error {
			u := &users[at[r.int(1)]]
			u.Memberships = append(u.Memberships, crm.Membership{Account: accounts[r.int(0)], Role: crm.Role(r.int(2))})
			if seen := moment(r.int(3)); seen.After(u.SeenAt) {
				u.SeenAt = seen
			}
			return nil
		}, sqlAllMemberships)
	})
	for _, u := range users {
		sortMemberships(u.Memberships)
	}
	return users, err
}

// RenameUser changes how somebody is called.
func (s *Store) RenameUser(ctx context.Context, user int64, name string) error {
	name, err := crm.UserName(name)
	if err != nil {
		return err
	}
	return s.update(ctx, user, func(t *tx) error {
		if _, err := t.lockUser(user); err != nil {
			return err
		}
		_, err := t.exec(sqlRenameUser, user, name)
		return err
	})
}

// ChangePassword sets the password of whoever knows the current one. All their other sessions end.
func (s *Store) ChangePassword(ctx context.Context, session crm.Session, current, password string) error {
	user, hash, err := s.findUser(ctx, sqlUserByID, session.User.ID)
	if err != nil {
		return err
	}
	same, err := s.passwords.verify(ctx, hash, current)
	if err != nil {
		return err
	}
	faults := new(crm.Invalid)
	if !same {
		faults.Add("current_password", "The current password is not right.")
	}
	crm.ValidatePassword(faults, password, user.Email, user.Name)
	if err := faults.Err(); err != nil {
		return err
	}
	return s.setPassword(ctx, user.ID, hash, password, session.ID)
}

// ResetPassword sets the password of somebody who forgot it. All their sessions end.
func (s *Store) ResetPassword(ctx context.Context, email, password string) error {
	user, _, err := s.userByEmail(ctx, email)
	if err != nil {
		return err
	}
	faults := new(crm.Invalid)
	if crm.ValidatePassword(faults, password, user.Email, user.Name); len(faults.Faults) > 0 {
		return faults
	}
	return s.setPassword(ctx, user.ID, "", password, "")
}

// setPassword ends all sessions but one. The password must still be what it was, "" for whatever it was.
func (s *Store) setPassword(ctx context.Context, user int64, was, password, session string) error {
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.update(ctx, user, func(t *tx) error {
		kept, err := t.lockUser(user)
		if err != nil {
			return err
		}
		if was != "" && was != kept {
			faults := new(crm.Invalid)
			faults.Add("current_password", "The password was changed a moment ago.")
			return faults
		}
		if _, err := t.exec(sqlSetPassword, user, hash); err != nil {
			return err
		}
		_, err = t.exec(sqlEndSessions, user, session)
		return err
	})
}

// lockUser keeps a user's password as it is for the rest of the transaction, and returns its hash.
func (t *tx) lockUser(user int64) (hash string, err error) {
	found, err := one(t.conn, func(r rows) { hash = r.text(4) }, sqlUserByID+t.forUpdate, user)
	if err == nil && !found {
		err = fmt.Errorf("the user: %w", crm.ErrNotFound)
	}
	return hash, err
}

// userByEmail finds a user and the hash of their password.
func (s *Store) userByEmail(ctx context.Context, email string) (user crm.User, hash string, err error) {
	if !crm.IsEmail(email) { // nobody's, and perhaps not even a text
		return crm.User{}, "", fmt.Errorf("the user: %w", crm.ErrNotFound)
	}
	return s.findUser(ctx, sqlUserByLogin, crm.Login(email))
}

func (s *Store) findUser(ctx context.Context, sql string, key any) (user crm.User, hash string, err error) {
	err = s.read(ctx, func(c conn) error {
		found, err := one(c, func(r rows) { user, hash = readUser(r), r.text(4) }, sql, key)
		if err == nil && !found {
			err = fmt.Errorf("the user: %w", crm.ErrNotFound)
		}
		return err
	})
	return user, hash, err
}

func readUser(r rows) crm.User {
	return crm.User{ID: r.int(0), Email: r.text(1), Name: r.text(2), CreatedAt: moment(r.int(3))}
}

func usersByID(c conn, ids []int64) (map[int64]crm.User, error) {
	found := map[int64]crm.User{}
	err := eachOf(c, func(r rows) error {
		u := readUser(r)
		found[u.ID] = u
		return nil
	}, sqlUsersByID, ids)
	return found, err
}
