package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const (
	sqlKeyColumns = `SELECT id, name, hint, permissions, created_at, last_used_at, expires_at, revoked_at, hash
		FROM api_key WHERE account_id = $1`
	sqlKeys = sqlKeyColumns + ` ORDER BY id`
	SQLKey  = sqlKeyColumns + ` AND id = $2`

	sqlActiveKeys = `SELECT COUNT(*) FROM api_key WHERE account_id = $1 AND revoked_at = 0 AND (expires_at = 0
		OR expires_at > $2)`
	sqlForgetKeys = `DELETE FROM api_key WHERE account_id = $1 AND id <= $2 AND (revoked_at <> 0 OR (expires_at <> 0
		AND expires_at <= $3))`

	sqlRevokeKey = `UPDATE api_key SET revoked_at = $3 WHERE account_id = $1 AND id = $2 AND revoked_at = 0`
	sqlTouchKey  = `UPDATE api_key SET last_used_at = $3 WHERE account_id = $1 AND id = $2 AND last_used_at < $3`
)

// keyCacheTime is how long a key that was revoked on another node may still work.
const keyCacheTime = time.Second

// CreateKey makes a key. The secret is returned this once and kept nowhere. Keys that ended long ago are forgotten.
func (s *PeopleStore) CreateKey(ctx context.Context, account int64,
	in access.KeyInput,
) (key access.Key, secret string, err error) {
	err = s.UpdateOnce(ctx, account, func(t *store.Tx) error {
		row, now := t.Account(account), s.Now()
		var err error
		if key, secret, err = access.NewKey(account, row.KeySeq+1, in, now); err != nil {
			return err
		}
		if err := t.CheckLimit(access.KeyLimit, 1, sqlActiveKeys, account, store.Seconds(now)); err != nil {
			return err
		}
		row.Touch()
		row.KeySeq++
		if err := t.Run(sqlForgetKeys, account, doc.MakeID(account, row.KeySeq-access.KeptKeys),
			store.Seconds(now)); err != nil {
			return err
		}
		row.Record(history.KeyNoun, key.ID, history.DidCreate, doc.Differences{doc.TextDifference("name", "", key.Name),
			doc.TextsDifference("permissions", nil, key.Permissions.Names())}.Text())
		hash := access.HashSecret(secret)
		t.Insert(store.KeyTable, account, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions),
			store.Seconds(key.CreatedAt), int64(0), store.Seconds(key.ExpiresAt), int64(0))
		return nil
	})
	if err != nil {
		return access.Key{}, "", err
	}
	return key, secret, nil
}

// Keys lists the keys of an account, oldest first.
func (s *PeopleStore) Keys(ctx context.Context, account int64) ([]access.Key, error) {
	return store.List(ctx, s.Store, readKey, sqlKeys, account)
}

// HasKeys tells whether an account has a key that works.
func (s *PeopleStore) HasKeys(ctx context.Context, account int64) (bool, error) {
	n, err := store.Find(ctx, s.Store, nil, store.Number, sqlActiveKeys, account, store.Seconds(s.Now()))
	return n > 0, err
}

func readKey(r db.Row) access.Key {
	return access.Key{
		Account: doc.IDAccount(r.Int(0)), ID: r.Int(0), Name: r.Text(1), Hint: r.Text(2),
		Permissions: access.Permission(r.Int(3)),
		CreatedAt:   store.Moment(r.Int(4)), LastUsedAt: store.Moment(r.Int(5)), ExpiresAt: store.Moment(r.Int(6)),
		RevokedAt: store.Moment(r.Int(7)),
	}
}

// RevokeKey ends a key, here at once and on every other node within the time that a key is cached. A key that was
// revoked before stays so.
func (s *PeopleStore) RevokeKey(ctx context.Context, id int64) error {
	account := doc.IDAccount(id)
	err := s.UpdateAccount(ctx, account, func(t *store.Tx) error {
		key, err := store.FindIn(t.Conn, crm.ErrNotFound, readKey, SQLKey, account, id)
		if err != nil || !key.RevokedAt.IsZero() {
			return err
		}
		t.Account(account).Record(history.KeyNoun, id, history.DidDelete,
			doc.Differences{doc.TextDifference("name", key.Name, "")}.Text())
		return t.Run(sqlRevokeKey, account, id, store.Seconds(s.Now()))
	})
	s.revoked.Add(1)
	if errors.Is(err, crm.ErrNotFound) {
		err = fmt.Errorf("key %d: %w", id, err)
	}
	return err
}

// Authenticate finds the account and the permissions of a secret.
func (s *PeopleStore) Authenticate(ctx context.Context, secret string) (access.Principal, error) {
	now, hash, revoked := s.Now(), access.HashSecret(secret), s.revoked.Load()
	if known, ok := s.keys.Get(hash); ok && known.revoked == revoked && now.Before(known.until) {
		return known.who, nil
	}
	id, ok := access.ParseSecret(secret)
	if !ok {
		return access.Principal{}, crm.ErrUnauthenticated
	}
	same := false
	key, err := store.Find(ctx, s.Store, crm.ErrUnauthenticated, func(r db.Row) access.Key {
		same = access.SameHash(r.Bytes(8), hash[:])
		return readKey(r)
	}, SQLKey, doc.IDAccount(id), id)
	if err == nil && (!same || !key.Valid(now)) {
		err = crm.ErrUnauthenticated
	}
	if err != nil {
		return access.Principal{}, err
	}
	s.NoteUse(key.LastUsedAt, now, func(ctx context.Context) error {
		return s.UpdateAccount(ctx, key.Account, func(t *store.Tx) error {
			return t.Run(sqlTouchKey, key.Account,
				key.ID, store.Seconds(now))
		})
	})
	who := access.Principal{Account: key.Account, Key: id, KeyName: key.Name, Permissions: key.Permissions}
	until := now.Add(keyCacheTime)
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(until) {
		until = key.ExpiresAt
	}
	s.keys.Keep(hash, knownKey{who, until, revoked}, 0)
	return who, nil
}

// knownKey is the key that a secret belongs to, for a moment. Once this node has revoked any key, it is read again.
type knownKey struct {
	who     access.Principal
	until   time.Time
	revoked int64 // keys that this node had revoked
}
