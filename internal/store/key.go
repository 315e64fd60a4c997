package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlKeyColumns = `SELECT id, name, hint, permissions, created_at, last_used_at, expires_at, revoked_at, hash FROM api_key WHERE account_id = $1`
	sqlKeys       = sqlKeyColumns + ` ORDER BY id`
	sqlKey        = sqlKeyColumns + ` AND id = $2`

	sqlActiveKeys = `SELECT COUNT(*) FROM api_key WHERE account_id = $1 AND revoked_at = 0 AND (expires_at = 0 OR expires_at > $2)`
	sqlForgetKeys = `DELETE FROM api_key WHERE account_id = $1 AND id <= $2 AND (revoked_at <> 0 OR (expires_at <> 0 AND expires_at <= $3))`

	sqlRevokeKey = `UPDATE api_key SET revoked_at = $3 WHERE account_id = $1 AND id = $2 AND revoked_at = 0`
	sqlTouchKey  = `UPDATE api_key SET last_used_at = $3 WHERE account_id = $1 AND id = $2 AND last_used_at < $3`
)

const (
	keyCacheTime  = time.Second // a key that was revoked elsewhere works no longer than this
	keyCacheSize  = 10_000
	touchInterval = time.Minute // the time of last use is written at most so often
)

// CreateKey makes a key. The secret is returned this once and kept nowhere. Keys that ended long ago are forgotten.
func (s *Store) CreateKey(ctx context.Context, account int64, in crm.KeyInput) (key crm.Key, secret string, err error) {
	err = s.update(ctx, account, needs{}, func(t *tx) error {
		row, err := t.lock(account)
		if err != nil {
			return err
		}
		now := s.now()
		if key, secret, err = crm.NewKey(account, row.keySeq+1, in, now); err != nil {
			return err
		}
		active, err := t.Int(sqlActiveKeys, account, seconds(now))
		if err != nil {
			return err
		}
		if err := crm.KeyLimit.Check(active, 1); err != nil {
			return err
		}
		row.touch(t)
		row.keySeq++
		if _, err := t.Exec(sqlForgetKeys, account, crm.MakeID(account, row.keySeq-crm.KeptKeys), seconds(now)); err != nil {
			return err
		}
		hash := crm.HashSecret(secret)
		t.Insert(keyTable, account, key.ID, key.Name, key.Hint, hash[:], int64(key.Permissions),
			seconds(key.CreatedAt), int64(0), seconds(key.ExpiresAt), int64(0))
		return nil
	})
	if err != nil {
		return crm.Key{}, "", err
	}
	return key, secret, nil
}

// Keys lists the keys of an account, oldest first.
func (s *Store) Keys(ctx context.Context, account int64) (keys []crm.Key, err error) {
	return list(ctx, s, func(r db.Row) crm.Key { return readKey(account, r) }, sqlKeys, account)
}

func readKey(account int64, r db.Row) crm.Key {
	return crm.Key{
		Account: account, ID: r.Int(0), Name: r.Text(1), Hint: r.Text(2), Permissions: crm.Permission(r.Int(3)),
		CreatedAt: moment(r.Int(4)), LastUsedAt: moment(r.Int(5)), ExpiresAt: moment(r.Int(6)), RevokedAt: moment(r.Int(7)),
	}
}

// RevokeKey ends a key, here at once and on every other node within the time that a key is cached. A key that was
// revoked before stays so.
func (s *Store) RevokeKey(ctx context.Context, id int64) error {
	account := crm.IDAccount(id)
	err := s.update(ctx, account, needs{}, func(t *tx) error {
		found, err := t.Exists(sqlKey, account, id)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("key %d: %w", id, crm.ErrNotFound)
		}
		_, err = t.Exec(sqlRevokeKey, account, id, seconds(s.now()))
		return err
	})
	s.keys.forget(id)
	return err
}

// Authenticate finds out who holds a secret.
func (s *Store) Authenticate(ctx context.Context, secret string) (crm.Principal, error) {
	now, hash := s.now(), crm.HashSecret(secret)
	who, generation, ok := s.keys.find(hash, now)
	if ok {
		return who, nil
	}
	id, ok := crm.ParseSecret(secret)
	if !ok {
		return crm.Principal{}, crm.ErrUnauthenticated
	}
	var key crm.Key
	var same bool
	account := crm.IDAccount(id)
	err := s.read(ctx, func(c db.Conn) error {
		_, err := c.One(func(r db.Row) { key, same = readKey(account, r), crm.SameHash(r.Bytes(8), hash[:]) }, sqlKey, account, id)
		return err
	})
	if err != nil {
		return crm.Principal{}, err
	}
	if !same || !key.Valid(now) {
		return crm.Principal{}, crm.ErrUnauthenticated
	}
	s.touch(key, now)
	who = crm.Principal{Account: account, Key: id, Permissions: key.Permissions}
	until := now.Add(keyCacheTime)
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(until) {
		until = key.ExpiresAt
	}
	s.keys.add(hash, cachedKey{who: who, until: until}, generation)
	return who, nil
}

// touch notes the last use, beside the request and not as part of it.
func (s *Store) touch(key crm.Key, now time.Time) {
	if now.Sub(key.LastUsedAt) < touchInterval {
		return
	}
	s.touching.Go(func() {
		// A note that cannot be written is tried again with the next request; no client waits for it.
		_ = s.update(context.Background(), key.Account, needs{}, func(t *tx) error {
			_, err := t.Exec(sqlTouchKey, key.Account, key.ID, seconds(now))
			return err
		})
	})
}

// keyCache remembers for a moment who holds which secret.
type keyCache struct {
	mu         sync.RWMutex
	generation int64 // counts revocations: what was read before one is not added after it
	keys       map[[sha256.Size]byte]cachedKey
}

type cachedKey struct {
	who   crm.Principal
	until time.Time
}

func (cache *keyCache) find(hash [sha256.Size]byte, now time.Time) (who crm.Principal, generation int64, ok bool) {
	cache.mu.RLock()
	defer cache.mu.RUnlock()
	key, ok := cache.keys[hash]
	return key.who, cache.generation, ok && now.Before(key.until)
}

func (cache *keyCache) add(hash [sha256.Size]byte, key cachedKey, generation int64) {
	cache.mu.Lock()
	defer cache.mu.Unlock()
	if generation != cache.generation {
		return
	}
	if cache.keys == nil || len(cache.keys) >= keyCacheSize {
		cache.keys = make(map[[sha256.Size]byte]cachedKey)
	}
	cache.keys[hash] = key
}

func (cache *keyCache) forget(id int64) {
	cache.mu.Lock()
	defer cache.mu.Unlock()
	cache.generation++
	for hash, key := range cache.keys {
		if key.who.Key == id {
			delete(cache.keys, hash)
		}
	}
}
