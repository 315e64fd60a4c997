package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
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

const sqlUsersByID = `SELECT id, email, name, created_at FROM app_user WHERE id = ANY($1)`

// UserRecord is a user as the operator of the service sees them.
type UserRecord struct {
	User        crm.User
	Memberships []crm.Membership
	SeenAt      time.Time // in any organization; zero: never
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
	return s.addUser(ctx, account.Number, &needs{account: account.Number}, in, func(t *tx) error {
		_, err := t.lock(account.Number)
		return err
	}, func(t *tx, user crm.User) error {
		return t.addMember(account.Number, user.ID, role, s.now())
	})
}

// addUser makes a user in a change of an account: decide may refuse it, and join writes what comes with it. The hash is
// worked out before the change, so that no other change waits for it.
func (s *Store) addUser(ctx context.Context, account int64, n *needs, in crm.UserInput, decide func(*tx) error, join func(*tx, crm.User) error) (user crm.User, err error) {
	login := crm.Login(in.Email)
	hash, err := s.passwords.hash(ctx, in.Password)
	if err != nil {
		return crm.User{}, err
	}
	for range 20 { // a random number is rarely taken, and the same email cannot come in twice
		user = crm.NewUser(in, s.now())
		err = s.queue(ctx, account, n, func(t *tx) error {
			if err := decide(t); err != nil {
				return err
			}
			taken, err := t.Exists(sqlUserByLogin, login)
			if err != nil {
				return err
			}
			if taken {
				return crm.EmailTaken()
			}
			t.Insert(userTable, user.ID, login, user.Email, user.Name, hash, int64(0), seconds(user.CreatedAt))
			return join(t, user)
		})
		if !errors.Is(err, db.ErrTaken) {
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
	return user, s.update(ctx, account.Number, needs{}, func(t *tx) error {
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

// Users lists all users and where they belong, by email.
func (s *Store) Users(ctx context.Context) (users []UserRecord, err error) {
	err = s.view(ctx, func(c db.Conn) error {
		users, err = db.List(c, func(r db.Row) UserRecord { return UserRecord{User: readUser(r)} }, sqlAllUsers)
		if err != nil {
			return err
		}
		found, err := db.List(c, readAccount, sqlAccountList)
		if err != nil {
			return err
		}
		at, accounts := map[int64]int{}, map[int64]crm.Account{}
		for i, u := range users {
			at[u.User.ID] = i
		}
		for _, a := range found {
			accounts[a.Number] = a
		}
		return c.Each(func(r db.Row) error {
			u := &users[at[r.Int(1)]]
			u.Memberships = append(u.Memberships, crm.Membership{Account: accounts[r.Int(0)], Role: crm.Role(r.Int(2))})
			if seen := moment(r.Int(3)); seen.After(u.SeenAt) {
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

// RenameUser changes a user's name.
func (s *Store) RenameUser(ctx context.Context, user int64, name string) error {
	name, err := crm.UserName(name)
	if err != nil {
		return err
	}
	return s.updateShared(ctx, user, func(t *tx) error {
		if _, err := t.lockUser(user); err != nil {
			return err
		}
		_, err := t.Exec(sqlRenameUser, user, name)
		return err
	})
}

// ChangePassword sets the password of a user who knows the current one. All their other sessions end.
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

// ResetPassword sets the password of a user who forgot it. All their sessions end.
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
	return s.updateShared(ctx, user, func(t *tx) error {
		kept, err := t.lockUser(user)
		if err != nil {
			return err
		}
		if was != "" && was != kept {
			faults := new(crm.Invalid)
			faults.Add("current_password", "The password was changed a moment ago.")
			return faults
		}
		if _, err := t.Exec(sqlSetPassword, user, hash); err != nil {
			return err
		}
		_, err = t.Exec(sqlEndSessions, user, session)
		return err
	})
}

// lockUser keeps a user's password as it is for the rest of the transaction, and returns its hash.
func (t *tx) lockUser(user int64) (hash string, err error) {
	found, err := t.Lock(func(r db.Row) { hash = r.Text(4) }, userTable, user)
	if err == nil && !found {
		err = fmt.Errorf("the user: %w", crm.ErrNotFound)
	}
	return hash, err
}

// userByEmail finds a user and the hash of their password.
func (s *Store) userByEmail(ctx context.Context, email string) (user crm.User, hash string, err error) {
	if !crm.IsEmail(email) { // no user has it, and it is perhaps not even a text
		return crm.User{}, "", fmt.Errorf("the user: %w", crm.ErrNotFound)
	}
	return s.findUser(ctx, sqlUserByLogin, crm.Login(email))
}

func (s *Store) findUser(ctx context.Context, sql string, key any) (user crm.User, hash string, err error) {
	user, err = find(ctx, s, fmt.Errorf("the user: %w", crm.ErrNotFound), func(r db.Row) crm.User {
		hash = r.Text(4)
		return readUser(r)
	}, sql, key)
	return user, hash, err
}

func readUser(r db.Row) crm.User {
	return crm.User{ID: r.Int(0), Email: r.Text(1), Name: r.Text(2), CreatedAt: moment(r.Int(3))}
}

func usersByID(c db.Conn, ids []int64) (map[int64]crm.User, error) {
	found := map[int64]crm.User{}
	err := c.Each(func(r db.Row) error {
		u := readUser(r)
		found[u.ID] = u
		return nil
	}, sqlUsersByID, ids)
	return found, err
}
