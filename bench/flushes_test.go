package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlushesAndCommitsAreCounted(t *testing.T) {
	d := &dataset{dir: t.TempDir()}
	db, err := openDatabase(d.file(), durable)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close() //nolint:errcheck // it goes with its directory
	w := watch{filepath.Join(d.dir, "flushes.txt")}
	calls := "12 fdatasync(8) = 0\n13 fdatasync(8 <unfinished ...>\n12 fsync(9) = 0\n13 <... fdatasync resumed>) = 0\n"
	got, err := w.count(d, func() (int, error) {
		if err := os.WriteFile(w.file, []byte(calls), 0o600); err != nil {
			return 0, err
		}
		return 5, errors.Join(db.exec(`CREATE TABLE a (b)`), db.exec(`INSERT INTO a VALUES (1), (2)`))
	})
	if err != nil || got != (flushing{creates: 5, commits: 2, flushes: 3}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := w.count(d, func() (int, error) { return 5, nil }); err == nil {
		t.Error("creates without any commit are believed")
	}
}

func TestFlushesAreJudgedByTheCommit(t *testing.T) {
	f := &facts{flushes: []flushing{{400, 10, 12}, {400, 10, 8}}, rawFlushes: flushing{1000, 10, 14}}
	found := flushFinding(nil, f)
	if len(found.values) != 2 || found.values[0] != 1.2 || found.values[1] != 0.8 || found.ours != "1.00 flushes and 40.0 creates a commit" {
		t.Errorf("got %+v", found)
	}
	if found := flushFinding(nil, &facts{unwatched: "strace is not installed"}); !strings.Contains(found.reason, "strace") {
		t.Errorf("without strace: %+v", found)
	}
}

func TestWhatAnswersWronglyIsNotTimed(t *testing.T) {
	b := &bench{options: options{rounds: 2}, all: make(results)}
	timed := 0
	run := func(timing) result {
		timed++
		return result{requests: 1, seconds: 1}
	}
	b.repeat([]variant{
		{"right", func() error { return nil }, run},
		{"wrong", func() error { return errors.New("another body") }, run},
	})
	if timed != 2 || b.all.failure("right") != "" || !strings.Contains(b.all.failure("wrong"), "another body") {
		t.Errorf("timed %d times, %q", timed, b.all.failure("wrong"))
	}
}

func TestTheFilesystemOfAPathIsFound(t *testing.T) {
	mounts := "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n30 27 0:5 / /srv/data rw - xfs /dev/sdb1 rw\n31 27 0:6 / /srv/d rw - tmpfs tmpfs rw\n"
	for path, want := range map[string]string{"/home/x": "ext4 on vda", "/srv/data/x": "xfs on sdb1", "/srv/database": "ext4 on vda"} {
		if got := filesystemOf(mounts, path); got != want {
			t.Errorf("%s lies on %q, not %q", path, got, want)
		}
	}
}
