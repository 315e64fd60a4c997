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
