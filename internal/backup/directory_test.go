package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataDirectoryIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"donorbook.db", "donorbook.db-wal", "donorbook.db-shm", "tls/ca-key.pem",
		"acme/key"} {
		writeTestFile(t, "", dir, name)
	}
	succeed(t, os.Chmod(dir, 0o755))
	changed, err := Tighten(dir)
	if err != nil || len(changed) != 8 || changed[0].Path != dir || changed[0].Was != 0o755 {
		t.Errorf("%v, %v", changed, err)
	}
	wantNames(t, "then", dir, "acme drwx------", "acme/key -rw-------", "donorbook.db -rw-------",
		"donorbook.db-shm -rw-------",
		"donorbook.db-wal -rw-------", "tls drwx------", "tls/ca-key.pem -rw-------")
	equal(t, namesAndModes(t, dir)[0], ". drwx------", "the directory")
	for _, dir := range []string{dir, filepath.Join(dir, "none")} {
		if changed, err := Tighten(dir); len(changed) != 0 || err != nil {
			t.Errorf("%s: %v, %v", dir, changed, err)
		}
	}
	outside := filepath.Join(t.TempDir(), "key.pem")
	writeTestFile(t, "", outside)
	succeed(t, os.Symlink(outside, filepath.Join(dir, "tls", "key.pem")))
	changed, err = Tighten(dir)
	if info, _ := os.Stat(outside); len(changed) != 0 || err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a file elsewhere: %v, %v", changed, err)
	}
	if os.Geteuid() == 0 { // only root can give a directory to another user
		succeed(t, os.Chown(dir, 12345, -1))
		_, err := Tighten(dir)
		if err == nil || !strings.Contains(err.Error(), dir+" belongs to user 12345, and this program runs as user 0") {
			t.Errorf("a directory of another user: %v", err)
		}
	}
}
