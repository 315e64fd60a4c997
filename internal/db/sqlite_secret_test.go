package db_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/store"
)

func TestTheSecretIsNowhereInTheFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, store.Options{Data: dir})
	account := newAccount(t, s).Number
	var secrets []string
	for range 3 {
		key, secret := must2(s.CreateKey(t.Context(), account, access.KeyInput{Name: "Findable name", Permissions: access.AllPermissions}))(t)
		must(s.Authenticate(t.Context(), secret))(t)
		for noted := false; !noted; { // the time of its last use is written meanwhile
			keys := must(s.Keys(t.Context(), account))(t)
			noted = !slices.ContainsFunc(keys, func(k access.Key) bool { return k.LastUsedAt.IsZero() })
		}
		succeed(t, s.RevokeKey(t.Context(), key.ID))
		secrets = append(secrets, secret)
	}
	var found, files int
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		found += bytes.Count(content, []byte("Findable name"))
		for _, secret := range secrets {
			random := secret[len("dbk_")+8 : len(secret)-6]
			for _, part := range []string{secret, random, random[:12], random[len(random)-12:]} {
				if bytes.Contains(content, []byte(part)) {
					t.Errorf("%s holds a part of a secret", filepath.Base(path))
				}
			}
		}
		return err
	})
	if err != nil || files < 2 || found < 3 {
		t.Errorf("%v: the names of the keys were found %d times in %d files", err, found, files)
	}
}
