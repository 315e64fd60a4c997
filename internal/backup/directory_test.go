package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestADataDirectoryIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"donorbook.db", "donorbook.db-wal", "donorbook.db-shm", "tls/ca-key.pem", "acme/key"} {
		writeTestFile(t, "", dir, name)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	changed, err := Tighten(dir)
	if err != nil || len(changed) != 8 || changed[0].Path != dir || changed[0].Was != 0o755 {
		t.Errorf("%v, %v", changed, err)
	}
	want := []string{". drwx------", "acme drwx------", "acme/key -rw-------", "donorbook.db -rw-------", "donorbook.db-shm -rw-------",
		"donorbook.db-wal -rw-------", "tls drwx------", "tls/ca-key.pem -rw-------"}
	if got := namesAndModes(t, dir); !slices.Equal(got, want) {
		t.Errorf("there is %v", got)
	}
	if changed, err := Tighten(dir); len(changed) != 0 || err != nil {
		t.Errorf("once more: %v, %v", changed, err)
	}
	if changed, err := Tighten(filepath.Join(dir, "none")); len(changed) != 0 || err != nil {
		t.Errorf("where there is none: %v, %v", changed, err)
	}
	outside := filepath.Join(t.TempDir(), "key.pem")
	writeTestFile(t, "", outside)
	if err := os.Symlink(outside, filepath.Join(dir, "tls", "key.pem")); err != nil {
		t.Fatal(err)
	}
	changed, err = Tighten(dir)
	if info, _ := os.Stat(outside); len(changed) != 0 || err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("a file elsewhere: %v, %v", changed, err)
	}
	if os.Geteuid() == 0 { // only root can give a directory to another user
		if err := os.Chown(dir, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := Tighten(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s belongs to user 12345, and this program runs as user 0", dir)) {
			t.Errorf("a directory of another user: %v", err)
		}
	}
}
