package donations

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Keys encrypt the secrets of connections by a key in a file. It is not in the database, so that a copy of the database
// is no copy of the secrets. All nodes need the same one.
type Keys struct {
	path string
	mu   sync.Mutex
	key  []byte
}

const keySize = 32 // AES-256

// NewKeys reads and makes a key at a path, when it is first needed.
func NewKeys(path string) *Keys { return &Keys{path: path} }

// ErrNoKeyFile is that this server cannot read the secrets of a connection.
var ErrNoKeyFile = errors.New("the key file of this server is missing or is another one than that of the connection: restore it, or connect again")

// cipher is what encrypts. A key is made only to encrypt something.
func (k *Keys) cipher(mayMake bool) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == nil {
		key, err := os.ReadFile(k.path)
		if errors.Is(err, fs.ErrNotExist) && mayMake {
			key, err = k.make()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, ErrNoKeyFile
		case err == nil && len(key) != keySize:
			err = fmt.Errorf("the key file %s has %d bytes instead of %d", k.path, len(key), keySize)
		}
		if err != nil {
			return nil, err
		}
		k.key = key
	}
	block, err := aes.NewCipher(k.key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Derive is a key for something else, the same on all nodes that have the file; ErrNoKeyFile where there is none yet.
func (k *Keys) Derive(purpose string) ([]byte, error) {
	if _, err := k.cipher(false); err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, k.key, nil, "donorbook "+purpose, keySize)
}

// make writes a new key under its name when it is whole: another process that does the same keeps the one that was
// first.
func (k *Keys) make() ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key) //nolint:errcheck // never fails
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(k.path), ".key-*") // readable by its owner alone
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), k.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(k.path)
}

// secrets are what of a connection must stay secret.
type secrets struct {
	Key   string   `json:"key"`
	Hooks []string `json:"hooks"`
}

// bound is what a secret is encrypted for: it is nothing in the row of another account.
func bound(account int64) []byte {
	return []byte("donorbook connection " + strconv.FormatInt(account, 10))
}

func (k *Keys) seal(account int64, what secrets) ([]byte, error) {
	plain, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	c, err := k.cipher(true)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, c.NonceSize())
	rand.Read(nonce) //nolint:errcheck // never fails
	return c.Seal(nonce, nonce, plain, bound(account)), nil
}

func (k *Keys) open(account int64, sealed []byte) (what secrets, err error) {
	c, err := k.cipher(false)
	if err != nil {
		return what, err
	}
	if len(sealed) < c.NonceSize() {
		return what, ErrNoKeyFile
	}
	plain, err := c.Open(nil, sealed[:c.NonceSize()], sealed[c.NonceSize():], bound(account))
	if err != nil {
		return what, ErrNoKeyFile
	}
	return what, json.Unmarshal(plain, &what)
}

// hint is the end of a key, by which its owner knows it.
func hint(key string) string { return key[max(0, len(key)-4):] }
