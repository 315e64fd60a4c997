package people

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/text"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	SQLUserByLogin = `SELECT id, email, name, created_at, password FROM app_user WHERE login = $1`
	sqlUserByID    = `SELECT id, email, name, created_at, password FROM app_user WHERE id = $1`
	sqlAnyUser     = `SELECT id FROM app_user WHERE id > $1 ORDER BY id LIMIT 1`
	sqlRenameUser  = `UPDATE app_user SET name = $2 WHERE id = $1`
	sqlSetPassword = `UPDATE app_user SET password = $2 WHERE id = $1`
	sqlSetOpened   = `UPDATE app_user SET opened = $2 WHERE id = $1`

	sqlAllUsers       = `SELECT id, email, name, created_at FROM app_user ORDER BY login`
	sqlUsersByID      = `SELECT id, email, name, created_at FROM app_user WHERE id = ANY($1)`
	sqlAllMemberships = `SELECT account_id, user_id, role, seen_at FROM member`
)

var errNoUser = fmt.Errorf("the user: %w", crm.ErrNotFound)

// UserRecord is a user as the operator of the service sees them.
type UserRecord struct {
	User        access.User
	Memberships []access.Membership
	SeenAt      time.Time // in any organization; zero: never
}

// hasher works out the hashes of passwords. Each takes tens of megabytes and milliseconds, so only a few are worked out
// at once. The others wait their turn for as long as their client does, which costs nothing but a goroutine each.
type hasher struct {
	slots  chan struct{}
	Worked *atomic.Int64 // hashes so far
}

func NewHasher() hasher {
	return hasher{slots: make(chan struct{}, 2), Worked: new(atomic.Int64)}
}

func (h hasher) Do(ctx context.Context, work func()) error {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.slots }()
	h.Worked.Add(1)
	work()
	return nil
}

func (h hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.Do(ctx, func() { hash = access.HashPassword(password) })
	return hash, err
}

func (h hasher) verify(ctx context.Context, hash, password string) (same bool, err error) {
	err = h.Do(ctx, func() { same = access.VerifyPassword(hash, password) })
	return same, err
}

// CreateUser makes a user who belongs to an account.
func (s *PeopleStore) CreateUser(ctx context.Context, account access.Account, role access.Role,
	in access.UserInput,
) (access.User, error) {
	if err := in.Validate(); err != nil {
		return access.User{}, err
	}
	if err := role.Check(); err != nil {
		return access.User{}, err
	}
	return s.addUser(ctx, in, s.UpdateAccount, account.Number, func(t *store.Tx, user access.User) error {
		return join(t, account.Number, user, 0, role, s.Now())
	})
}

// addUser makes a user in a change, which update runs; join decides where they belong, and writes it. The hash is
// worked out before the change, so that no other change waits for it.
func (s *PeopleStore) addUser(ctx context.Context, in access.UserInput,
	update func(context.Context, int64, func(*store.Tx) error) error, account int64,
	join func(*store.Tx, access.User) error,
) (user access.User, err error) {
	login := text.Login(in.Email)
	hash, err := s.Passwords.hash(ctx, in.Password)
	if err != nil {
		return access.User{}, err
	}
	err = store.Repeat(func() error {
		user = access.NewUser(in, s.Now())
		return update(ctx, account, func(t *store.Tx) error {
			taken, err := t.Exists(SQLUserByLogin, login)
			if err == nil && taken {
				err = access.EmailTaken()
			}
			if err == nil {
				err = join(t, user)
			}
			if err == nil {
				t.Insert(store.UserTable, user.ID, login, user.Email, user.Name, hash, int64(0),
					store.Seconds(user.CreatedAt))
			}
			return err
		})
	})
	if err != nil {
		return access.User{}, err
	}
	return user, nil
}

// AddMember gives a user who exists already a role in an account.
func (s *PeopleStore) AddMember(ctx context.Context, account access.Account, role access.Role,
	email string,
) (access.User, error) {
	if err := role.Check(); err != nil {
		return access.User{}, err
	}
	user, err := s.userByEmail(ctx, email)
	if err != nil {
		return access.User{}, err
	}
	return user.User, s.changeMember(ctx, account.Number, user.ID,
		func(t *store.Tx, user access.User, was access.Role) error {
			return join(t, account.Number, user, was, role, s.Now())
		})
}

// Users lists all users and where they belong, by email.
func (s *PeopleStore) Users(ctx context.Context) ([]UserRecord, error) {
	return store.Snapshot(ctx, s.Store, func(c db.Conn) ([]UserRecord, error) {
		users, err := db.List(c, func(r db.Row) UserRecord { return UserRecord{User: readUser(r)} }, sqlAllUsers)
		if err != nil {
			return nil, err
		}
		accounts, err := db.List(c, store.ReadAccount, store.SQLAccountList)
		if err != nil {
			return nil, err
		}
		at := map[int64]*UserRecord{}
		for i := range users {
			at[users[i].User.ID] = &users[i]
		}
		err = c.Each(func(r db.Row) error {
			u := at[r.Int(1)]
			if u == nil {
				return nil // a membership without its user
			}
			u.Memberships = append(u.Memberships, access.Membership{Account: access.Account{Number: r.Int(0)},
				Role: access.Role(r.Int(2))})
			if seen := store.Moment(r.Int(3)); seen.After(u.SeenAt) {
				u.SeenAt = seen
			}
			return nil
		}, sqlAllMemberships)
		known := store.Keyed(accounts, store.AccountNumber)
		for _, u := range users {
			fillAccounts(u.Memberships, known)
		}
		return users, err
	})
}

// RenameUser changes a user's name.
func (s *PeopleStore) RenameUser(ctx context.Context, user int64, name string) error {
	name, err := access.UserName(name)
	if err != nil {
		return err
	}
	return s.updateProfile(ctx, user, func(t *store.Tx, now userRow) (doc.Difference, error) {
		return doc.TextDifference("name", now.Name, name), t.Run(sqlRenameUser, user, name)
	})
}

// ChangePassword sets the password of a user who knows the current one. All their other sessions end.
func (s *PeopleStore) ChangePassword(ctx context.Context, session access.Session, current, password string) error {
	user, err := store.Find(ctx, s.Store, errNoUser, scanUser, sqlUserByID, session.User.ID)
	if err != nil {
		return err
	}
	same, err := s.Passwords.verify(ctx, user.password, current)
	if err != nil {
		return err
	}
	faults := new(doc.Invalid)
	if !same {
		faults.Add("current_password", "The current password is wrong.")
	}
	return s.setPassword(ctx, user, faults, password, session.ID, func(_ *store.Tx, now userRow) error {
		if user.password == now.password {
			return nil
		}
		return store.Fault("current_password", "The password was changed a moment ago.")
	})
}

// ResetPassword sets the password of a user who forgot it. All their sessions end.
func (s *PeopleStore) ResetPassword(ctx context.Context, email, password string) error {
	user, err := s.userByEmail(ctx, email)
	if err != nil {
		return err
	}
	return s.setPassword(ctx, user, new(doc.Invalid), password, "", nil)
}

// setPassword ends all sessions but one, and all links by which a password is set; the user is told. may refuses where
// something else was changed meanwhile.
func (s *PeopleStore) setPassword(ctx context.Context, user userRow, faults *doc.Invalid, password, session string,
	may func(*store.Tx, userRow) error,
) error {
	access.ValidatePassword(faults, password, user.Email, user.Name)
	if err := faults.Err(); err != nil {
		return err
	}
	hash, err := s.Passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.updateProfile(ctx, user.ID, func(t *store.Tx, now userRow) (d doc.Difference, err error) {
		if may != nil {
			err = may(t, now)
		}
		if err == nil {
			err = t.Run(sqlSetPassword, user.ID, hash)
		}
		if err == nil {
			err = t.Run(sqlEndResets, user.ID)
		}
		if err == nil {
			err = s.tellPassword(t, now.User)
		}
		if err != nil {
			return d, err
		}
		return doc.TextDifference("password", "", "changed"), t.Run(sqlEndSessions, user.ID, session)
	})
}

const sqlUserAccounts = `SELECT account_id FROM member WHERE user_id = $1 ORDER BY account_id`

// updateProfile changes something about a user that each of their organizations should know of, and notes it there. All
// of these accounts are locked before the user is.
func (s *PeopleStore) updateProfile(ctx context.Context, user int64,
	change func(*store.Tx, userRow) (doc.Difference, error),
) error {
	accounts, err := store.List(ctx, s.Store, store.Number, sqlUserAccounts, user)
	if err != nil {
		return err
	}
	return store.Repeat(func() error {
		write := func(t *store.Tx) error {
			locked, err := lockUser(t, user)
			if err != nil {
				return err
			}
			now, err := db.List(t.Conn, store.Number, sqlUserAccounts, user)
			if err == nil && !slices.Equal(now, accounts) { // they have joined or left one meanwhile
				accounts, err = now, store.ErrAgain
			}
			if err != nil {
				return err
			}
			difference, err := change(t, locked)
			for i := 0; i < len(accounts) && err == nil; i++ {
				err = noteProfile(t, accounts[i], locked.User, difference)
			}
			return err
		}
		if len(accounts) == 0 {
			return s.UpdateShared(ctx, user, write)
		}
		return s.Update(ctx, accounts[0], store.Needs{Also: accounts[1:]}, write)
	})
}

func noteProfile(t *store.Tx, account int64, user access.User, d doc.Difference) error {
	u, err := t.LockAccount(account)
	if err == nil {
		u.Record(history.UserNoun, user.ID, history.DidUpdate,
			doc.Differences{doc.TextDifference("email", user.Email, user.Email), d}.Text())
	}
	return err
}

// updateUser changes a user, who is locked until the transaction ends.
func (s *PeopleStore) updateUser(ctx context.Context, user int64, fn func(*store.Tx, userRow) error) error {
	return s.UpdateShared(ctx, user, func(t *store.Tx) error {
		locked, err := lockUser(t, user)
		if err != nil {
			return err
		}
		return fn(t, locked)
	})
}

// lockUser reads a user, who stays as they are until the transaction ends.
func lockUser(t *store.Tx, user int64) (locked userRow, err error) {
	found, err := t.Lock(func(r db.Row) {
		locked = userRow{access.User{ID: user, Email: r.Text(2), Name: r.Text(3)}, r.Text(4), r.Int(5)}
	}, store.UserTable, user)
	if err == nil && !found {
		err = errNoUser
	}
	return locked, err
}

// userRow is a user with what only the store knows.
type userRow struct {
	access.User
	password string // its hash
	opened   int64  // the account that they worked with last
}

func scanUser(r db.Row) userRow { return userRow{User: readUser(r), password: r.Text(4)} }

func readUser(r db.Row) access.User {
	return access.User{ID: r.Int(0), Email: r.Text(1), Name: r.Text(2), CreatedAt: store.Moment(r.Int(3))}
}

func (s *PeopleStore) userByEmail(ctx context.Context, email string) (userRow, error) {
	if !access.IsEmail(email) { // no user has it, and it is perhaps not even a text
		return userRow{}, errNoUser
	}
	return store.Find(ctx, s.Store, errNoUser, scanUser, SQLUserByLogin, text.Login(email))
}
