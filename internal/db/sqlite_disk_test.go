package db_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// If a disk accepts no writes, the error says so, and not only that some operation has failed.
func TestAFullDiskIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for _, fault := range []syscall.Errno{syscall.ENOSPC, syscall.EROFS} {
		s := openSQLite(t)
		account := newAccount(t, s).Number
		fail := failWrites(t, s, fault)
		s.DB().SetDiskFault(func(dir string) error { return fmt.Errorf("%w: %s: %w", db.ErrUnavailable, dir, fault) }) // the other would write to the real disk
		fail.Store(true)
		_, err := s.CreateContact(t.Context(), account, input(t, `{"first_name":"A"}`), crm.Force)
		for what, err := range map[string]error{"a create": err, "ready": s.Ready(t.Context())} {
			if !errors.Is(err, crm.ErrUnavailable) || !errors.Is(err, fault) || strings.Contains(err.Error(), "disk I/O error") {
				t.Errorf("%s with %v: %v", what, fault, err)
			}
		}
		fail.Store(false)
		create(t, s, account, `{"first_name":"B"}`)
	}
	if err := db.DiskFault(t.TempDir()); err != nil {
		t.Errorf("a disk that is not full: %v", err)
	}
}

// A small write may fit into a log that is there already, while the next larger one fails: a server whose disk is full is not ready.
func TestAServerWithAFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	succeed(t, s.Ready(t.Context()))
	full := openSQLite(t)
	full.DB().SetDiskFault(func(dir string) error { return fmt.Errorf("%w: %s: %w", db.ErrUnavailable, dir, syscall.ENOSPC) })
	if err := full.Ready(t.Context()); !errors.Is(err, crm.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("ready on a full disk: %v", err)
	}
}

// A connection that cannot be opened now, because there are no file descriptors, may be opened later.
func TestAConnectionThatCannotBeOpenedIsUnavailable(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	account := newAccount(t, s).Number
	id := create(t, s, account, `{"first_name":"A"}`).ID
	path := s.DB().SetPath(filepath.Join(t.TempDir(), "nowhere", db.DatabaseFile))
	_, err := s.Contact(t.Context(), account, id, nil)
	wantError(t, "a read", err, crm.ErrUnavailable)
	s.DB().SetPath(path)
	get(t, s, account, id)
}
