package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
)

// entriesOf are the files of an archive.
func entriesOf(t *testing.T, archive []byte) (all []entry) {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, reading := io.ReadAll(files)
		if err := errors.Join(err, reading); err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{header.Name, string(content), header.Typeflag})
	}
}

// withEntries is an archive with more files in it.
func withEntries(t *testing.T, archive []byte, more ...entry) []byte {
	t.Helper()
	return archiveOf(t, append(entriesOf(t, archive), more...)...)
}

// changed is an archive in whose database someone has run statements.
func changed(t *testing.T, archive []byte, sql string) []byte {
	t.Helper()
	all := entriesOf(t, archive)
	file := filepath.Join(t.TempDir(), db.DatabaseFile)
	last := &all[len(all)-1]
	if err := os.WriteFile(file, []byte(last.content), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := sqlite3.Open(file)
	if err == nil {
		err = errors.Join(opened.Exec(sql), opened.Close())
	}
	content, reading := os.ReadFile(file)
	if err := errors.Join(err, reading); err != nil {
		t.Fatal(err)
	}
	last.content = string(content)
	return archiveOf(t, all...)
}

// soundBackup is the content of a backup of a few contacts.
func soundBackup(t *testing.T) []byte {
	t.Helper()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "b")
	s := open(t, store.Options{Data: data})
	account := newAccount(t, s)
	for i := range 3 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"Ada","emails":[{"value":"p%d@x.org"}],"tags":["t"]}`, i))
	}
	backUp(t, store.Options{Data: data}, file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// restore restores an archive into a new directory.
func restore(t *testing.T, archive []byte, b Options) (dir string, report Report, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "new")
	report, err = Restore(t.Context(), file, store.Options{Data: dir}, b)
	return dir, report, err
}

// A backup that was changed or damaged is not put in place, unless that is asked for.
func TestARestoreChecksEveryDocument(t *testing.T) {
	t.Parallel()
	sound := soundBackup(t)
	for name, test := range map[string]struct{ sql, says string }{
		"a document":   {`UPDATE contact SET body = CAST(replace(CAST(body AS TEXT), 'Ada', 'Eve') AS BLOB)`, "damaged"},
		"a match key":  {`DELETE FROM contact_index WHERE id = 1`, "match key"},
		"a total":      {`UPDATE tag SET contacts = 5`, "tag"},
		"a lost owner": {`DELETE FROM account`, "account"},
	} {
		archive := changed(t, sound, test.sql)
		dir, _, err := restore(t, archive, Options{})
		var refused *DamagedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "--accept-damage") {
			t.Errorf("%s: got the error %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory was left: %v", name, err)
		}
		var found []string
		dir, report, err := restore(t, archive, Options{AcceptDamage: true, Found: func(p check.Problem) { found = append(found, p.String()) }})
		if err != nil || report.Problems == 0 || int(report.Problems) != len(found) || !strings.Contains(strings.Join(found, "\n"), test.says) {
			t.Errorf("%s, accepted: %v, %d problems, found %q", name, err, report.Problems, found)
		}
		if got := namesAndModes(t, dir); !slices.Equal(got, []string{". drwx------", "donorbook.db -rw-------"}) {
			t.Errorf("%s: there is %v", name, got)
		}
	}
}

// What is not in the program's own schema is refused before it can run, and no flag changes that.
func TestARestoreRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	sound := soundBackup(t)
	for name, test := range map[string]struct{ sql, says string }{
		"a trigger":            {`CREATE TRIGGER evil AFTER UPDATE ON contact BEGIN DELETE FROM contact; END`, "trigger evil"},
		"a trigger that reads": {`CREATE TRIGGER evil BEFORE INSERT ON derived BEGIN SELECT 1; END`, "trigger evil"},
		"a view":               {`CREATE VIEW evil AS SELECT 1`, "view evil"},
		"a table":              {`CREATE TABLE evil (x)`, "table evil"},
		"an index":             {`CREATE INDEX evil ON contact (upper(body))`, "index evil"},
		"a missing index":      {`DROP INDEX ` + anIndex(t, sound), "is missing"},
		"another table": {`PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, 'importing', 'imported') WHERE name = 'account_tally'`, "table account_tally"},
		"a view in the place of a table": {`ALTER TABLE schema_version RENAME TO versions; CREATE VIEW schema_version AS SELECT version FROM versions`, "view schema_version"},
	} {
		for _, b := range []Options{{}, {AcceptDamage: true}} {
			dir, _, err := restore(t, changed(t, sound, test.sql), b)
			var refused *DamagedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: got the error %v", name, err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the directory was left: %v", name, err)
			}
		}
	}
	if _, _, err := restore(t, sound, Options{}); err != nil {
		t.Errorf("the sound one: %v", err)
	}
}

// anIndex is the name of an index that the program has made.
func anIndex(t *testing.T, archive []byte) string {
	t.Helper()
	all := entriesOf(t, archive)
	content := all[len(all)-1].content
	_, rest, found := strings.Cut(content, "CREATE INDEX ")
	name, _, _ := strings.Cut(rest, " ")
	if !found {
		t.Fatal("there is none")
	}
	return name
}

// A backup of any older schema is restored, upgraded and checked; its schema is compared with the one of its time.
func TestOlderBackupsAreRestored(t *testing.T) {
	t.Parallel()
	fixtures, err := filepath.Glob("../api/testdata/schemas/schema*.db.gz")
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("%d fixtures: %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		packed, err := os.Open(fixture)
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(unpacked)
		if err := errors.Join(err, packed.Close()); err != nil {
			t.Fatal(err)
		}
		archive := archiveOf(t, entry{manifestFile, `{"format":1}`, tar.TypeReg}, entry{"notes.txt", "mine", tar.TypeReg}, entry{db.DatabaseFile, string(content), tar.TypeReg})
		dir, report, err := restore(t, archive, Options{Found: func(p check.Problem) { t.Errorf("%s: %v", fixture, p) }})
		if err != nil {
			t.Errorf("%s: %v", fixture, err)
			continue
		}
		if !slices.Equal(report.LeftOut, []string{"notes.txt"}) {
			t.Errorf("%s: left out: %v", fixture, report.LeftOut)
		}
		if got := namesAndModes(t, dir); !slices.Equal(got, []string{". drwx------", "donorbook.db -rw-------"}) {
			t.Errorf("%s: there is %v", fixture, got)
		}
		open(t, store.Options{Data: dir})
		if _, _, err := restore(t, changed(t, archive, `CREATE TRIGGER evil AFTER UPDATE ON contact BEGIN DELETE FROM contact; END`), Options{}); err == nil || !strings.Contains(err.Error(), "trigger evil") {
			t.Errorf("%s with a trigger: %v", fixture, err)
		}
	}
}

// A log of another program in the data directory grows while the backup is made.
func TestABackupTakesItsOwnFilesOnly(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "b")
	newAccount(t, open(t, store.Options{Data: data}))
	log := filepath.Join(data, "access.log")
	writeTestFile(t, strings.Repeat("a line\n", 100_000), log)
	writeTestFile(t, "authority", data, "tls", "ca.pem")
	grow := func(string, int64, int64) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("another line\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := Write(t.Context(), store.Options{Data: data}, file, Options{Progress: grow}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entriesOf(t, content) {
		names = append(names, e.name)
	}
	if want := []string{manifestFile, "tls/ca.pem", db.DatabaseFile}; !slices.Equal(names, want) {
		t.Errorf("the backup has %v, want %v", names, want)
	}
}
