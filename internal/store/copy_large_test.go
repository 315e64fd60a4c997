package store

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestACopyOf100000ContactsThereAndBack takes minutes with the race detector, which has seen all of this code in the other
// tests: then it runs in a process without.
func TestACopyOf100000ContactsThereAndBack(t *testing.T) {
	t.Parallel()
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		program := filepath.Join(t.TempDir(), "store.test")
		for _, line := range [][]string{{"go", "test", "-c", "-trimpath", "-o", program, "."}, {program, "-test.run=^" + t.Name() + "$", "-test.v"}} {
			command := exec.CommandContext(t.Context(), line[0], line[1:]...)
			command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", line[0], err, out)
			}
			t.Logf("%s", out)
		}
		return
	}
	there, back := testEngines[1].options(t), Options{Data: t.TempDir()}
	from := Options{Data: t.TempDir()}
	began := time.Now()
	lap := func(what string) {
		t.Logf("%s: %.1f s", what, time.Since(began).Seconds())
		began = time.Now()
	}
	a := openLarge(t, from)
	fillContacts(t, a, newAccount(t, a).Number, 100_000)
	lap("fill")
	first := mustCopy(t, from, there, CopyOptions{})
	lap("there")
	second := mustCopy(t, there, back, CopyOptions{})
	lap("back")
	if diff := cmp.Diff(first, second); diff != "" || first.Tables[0].Rows != 100_000 {
		t.Errorf("the reports differ:\n%s", diff)
	}
	b, c := openLarge(t, there), openLarge(t, back)
	sameAnswers(t, a, b)
	lap("compare with PostgreSQL")
	sameAnswers(t, a, c)
	lap("compare with SQLite")
}

// openLarge opens a store that is too large to be looked at as a whole when the test ends.
func openLarge(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
