package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
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
	for files := tar.NewReader(must(gzip.NewReader(bytes.NewReader(archive)))(t)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		succeed(t, err)
		all = append(all, entry{header.Name, string(must(io.ReadAll(files))(t)), header.Typeflag})
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
	succeed(t, os.WriteFile(file, []byte(last.content), 0o600))
	opened := must(sqlite3.Open(file))(t)
	succeed(t, errors.Join(opened.Exec(sql), opened.Close()))
	last.content = string(must(os.ReadFile(file))(t))
	return archiveOf(t, all...)
}

// soundBackup is the content of a backup of a few contacts.
func soundBackup(t *testing.T) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "b")
	_, data, _ := filled(t, 3)
	backUp(t, data, file)
	return must(os.ReadFile(file))(t)
}

// restore restores an archive into a new directory.
func restore(t *testing.T, archive []byte, b Options) (dir string, report Report, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup")
	succeed(t, os.WriteFile(file, archive, 0o600))
	dir = filepath.Join(t.TempDir(), "new")
	report, err = Restore(t.Context(), file, store.Options{Data: dir}, b)
	return dir, report, err
}

// wantDamaged checks that an archive is refused as damaged, in these words, and that no directory is left.
func wantDamaged(t *testing.T, what string, archive []byte, b Options, says ...string) {
	t.Helper()
	dir, _, err := restore(t, archive, b)
	if refused := new(DamagedError); !errors.As(err, &refused) {
		t.Errorf("%s: got the error %v", what, err)
		return
	}
	for _, words := range says {
		contains(t, err.Error(), words, "%s", what)
	}
	_, err = os.Stat(dir)
	wantError(t, what+": the directory", err, fs.ErrNotExist)
}

// A backup that was changed or damaged is not put in place, unless that is asked for.
func TestARestoreChecksEveryDocument(t *testing.T) {
	t.Parallel()
	sound := soundBackup(t)
	for name, test := range map[string]struct{ sql, says string }{
		"a document": {`UPDATE contact SET body = CAST(replace(CAST(body AS TEXT), 'Ada', 'Eve') AS BLOB)`,
			"damaged"},
		"a match key":  {`DELETE FROM contact_index WHERE id = 1`, "match key"},
		"a total":      {`UPDATE tag SET contacts = 5`, "tag"},
		"a lost owner": {`DELETE FROM account`, "account"},
	} {
		archive := changed(t, sound, test.sql)
		wantDamaged(t, name, archive, Options{}, test.says, "--accept-damage")
		found, n := "", int64(0)
		dir, report, err := restore(t, archive, Options{AcceptDamage: true,
			Found: func(p check.Problem) { found, n = found+p.String(), n+1 }})
		if err != nil || n == 0 || int64(report.Problems) != n || !strings.Contains(found, test.says) {
			t.Errorf("%s, accepted: %v, %d problems, found %q", name, err, report.Problems, found)
		}
		wantNames(t, name, dir, "donorbook.db -rw-------")
	}
}

// What is not in the program's own schema is refused before it can run, and no flag changes that.
func TestARestoreRefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	sound := soundBackup(t)
	for name, test := range map[string]struct{ sql, says string }{
		"a trigger": {`CREATE TRIGGER evil AFTER UPDATE ON contact BEGIN DELETE FROM contact; END`,
			"trigger evil"},
		"a trigger that reads": {`CREATE TRIGGER evil BEFORE INSERT ON derived BEGIN SELECT 1; END`, "trigger evil"},
		"a view":               {`CREATE VIEW evil AS SELECT 1`, "view evil"},
		"a table":              {`CREATE TABLE evil (x)`, "table evil"},
		"an index":             {`CREATE INDEX evil ON contact (upper(body))`, "index evil"},
		"a missing index":      {`DROP INDEX ` + anIndex(t, sound), "is missing"},
		"another table": {`PRAGMA writable_schema = ON;
			UPDATE sqlite_schema SET sql = replace(sql, 'importing', 'imported') WHERE name = 'account_tally'`,
			"table account_tally"},
		"a view in the place of a table": {`ALTER TABLE schema_version RENAME TO versions; CREATE VIEW schema_version AS
			SELECT version FROM versions`, "view schema_version"},
	} {
		for _, b := range []Options{{}, {AcceptDamage: true}} {
			wantDamaged(t, name, changed(t, sound, test.sql), b, test.says)
		}
	}
	_, _, err := restore(t, sound, Options{})
	succeed(t, err)
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
	fixtures := must(filepath.Glob("../api/testdata/schemas/schema*.db.gz"))(t)
	if len(fixtures) == 0 {
		t.Fatal("no fixtures")
	}
	for _, fixture := range fixtures {
		packed := must(os.ReadFile(fixture))(t)
		content := must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(packed)))(t)))(t)
		archive := archiveOf(t, entry{manifestFile, `{"format":1}`, tar.TypeReg},
			entry{"notes.txt", "mine", tar.TypeReg},
			entry{db.DatabaseFile, string(content), tar.TypeReg})
		dir, report, err := restore(t, archive, Options{Found: func(p check.Problem) {
			t.Errorf("%s: %v", fixture,
				p)
		}})
		if err != nil || !slices.Equal(report.LeftOut, []string{"notes.txt"}) {
			t.Errorf("%s: %v, left out: %v", fixture, err, report.LeftOut)
			continue
		}
		wantNames(t, fixture, dir, "donorbook.db -rw-------")
		open(t, dir)
		evil := changed(t, archive, `CREATE TRIGGER evil AFTER UPDATE ON contact BEGIN DELETE FROM contact; END`)
		wantDamaged(t, fixture+" with a trigger", evil, Options{}, "trigger evil")
	}
}
