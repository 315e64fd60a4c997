package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// backUp makes a backup and checks that it succeeds.
func backUp(t *testing.T, o store.Options, file string) Report {
	t.Helper()
	report, err := Write(t.Context(), o, file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// restored is the store that is restored from a backup, in a new directory.
func restored(t *testing.T, file string) (*book.Book, store.Options) {
	t.Helper()
	o := store.Options{Data: filepath.Join(t.TempDir(), "new")}
	if _, err := Restore(t.Context(), file, o, Options{}); err != nil {
		t.Fatal(err)
	}
	return open(t, o), o
}

// names are all files and directories below a directory, with their modes.
func namesAndModes(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		name, _ := filepath.Rel(dir, path)
		all = append(all, fmt.Sprintf("%s %v", name, info.Mode()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func writeTestFile(t *testing.T, content string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestABackupHasEverythingInIt(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "backup.tar.gz")
	s := open(t, store.Options{Data: data})
	account := newAccount(t, s)
	for i := range 20 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],"tags":["t"]}`, i, i))
	}
	_, secret, err := s.CreateKey(t.Context(), account.Number, access.KeyInput{Name: "K"})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := list(t, s, account.Number)
	writeTestFile(t, "authority", data, "tls", "ca.pem")
	writeTestFile(t, "account", data, "acme", "acme_account+key")
	writeTestFile(t, "mine", data, "notes.txt")
	writeTestFile(t, "half", data, "tls", ".new-123")
	for _, name := range []string{"donorbook.lock", "donorbook.id", "donorbook.id.new"} {
		writeTestFile(t, "{}", data, name)
	}

	report := backUp(t, store.Options{Data: data}, file)
	if report.Accounts != 1 || report.Contacts != 20 {
		t.Errorf("the report says %+v", report)
	}
	if left := namesAndModes(t, filepath.Dir(file)); len(left) != 2 || left[1] != "backup.tar.gz -rw-------" {
		t.Errorf("beside the backup there is %v", left)
	}
	create(t, s, account.Number, `{"first_name":"Later"}`)

	again, o := restored(t, file)
	if after, total := list(t, again, account.Number); after != before || total != 20 {
		t.Errorf("%d contacts:\n%s\nwere\n%s", total, after, before)
	}
	if _, err := again.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("the key: %v", err)
	}
	if d := create(t, again, account.Number, `{"first_name":"New"}`); doc.IDSeq(d.ID) != 21 {
		t.Errorf("the next contact has the number %d", doc.IDSeq(d.ID))
	}
	for name, want := range map[string]string{"tls/ca.pem": "authority", "acme/acme_account+key": "account"} {
		if text, err := os.ReadFile(filepath.Join(o.Data, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, entry := range namesAndModes(t, o.Data) {
		name, mode, _ := strings.Cut(entry, " ")
		if name == "notes.txt" || strings.HasPrefix(filepath.Base(name), ".") && name != "." || strings.HasSuffix(name, ".lock") || !strings.HasPrefix(name, "donorbook.db-") && !strings.HasSuffix(mode, "------") {
			t.Errorf("restored: %s", entry)
		}
	}
}

// TestABackupShowsOneMoment writes between the pages of a backup: the writes are not blocked, and the backup contains none of
// them.
func TestABackupShowsOneMoment(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "b")
	s := open(t, store.Options{Data: data})
	account := newAccount(t, s)
	var addresses []string // so many that the pages are not copied at once
	for i := range 20 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %s"}`, i, strings.Repeat("x", 200)))
	}
	large := `"addresses":[` + strings.Join(addresses, ",") + `]`
	for i := range 300 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}],%s}`, i, i, large))
	}
	first := doc.MakeID(account.Number, 1)
	written := 0
	_, err := Write(t.Context(), store.Options{Data: data}, file, Options{Progress: func(what string, done, total int64) {
		if what != "copying the database" || done == total {
			return
		}
		written++
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"Later %d",%s}`, written, large))
		if _, err := s.AddTags(t.Context(), account.Number, first, []string{fmt.Sprint("later", written)}); err != nil {
			t.Error(err)
		}
	}})
	if err != nil || written == 0 {
		t.Fatalf("%v, %d contacts were written meanwhile", err, written)
	}
	again, _ := restored(t, file)
	if _, total := list(t, again, account.Number); total != 300 {
		t.Errorf("the backup has %d contacts", total)
	}
	if tags := tagsOf(t, again, account.Number, first); len(tags) != 0 {
		t.Errorf("the backup has the tags %v", tags)
	}
}

func TestABackupRefusesWhatItMustNotTouch(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	s := open(t, store.Options{Data: data})
	newAccount(t, s)
	there := filepath.Join(dir, "there")
	writeTestFile(t, "precious", there)
	try := func(o store.Options, file string, b Options) error {
		_, err := Write(t.Context(), o, file, b)
		return err
	}
	wantError(t, "a file that is there", try(store.Options{Data: data}, there, Options{}), fs.ErrExist)
	wantError(t, "a directory", try(store.Options{Data: data}, dir, Options{Replace: true}), fs.ErrExist)
	wantError(t, "the data directory", try(store.Options{Data: data}, filepath.Join(data, "b"), Options{}), ErrPlace)
	wantError(t, "below the data directory", try(store.Options{Data: data}, filepath.Join(data, "x", "b"), Options{}), ErrPlace)
	wantError(t, "no database", try(store.Options{Data: filepath.Join(dir, "none")}, filepath.Join(dir, "b"), Options{}), fs.ErrNotExist)
	wantError(t, "no directory", try(store.Options{Data: data}, filepath.Join(dir, "none", "b"), Options{}), fs.ErrNotExist)
	wantError(t, "PostgreSQL", try(store.Options{Data: data, Database: "postgres://h/d"}, filepath.Join(dir, "b"), Options{}), ErrServer)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Write(gone, store.Options{Data: data}, filepath.Join(dir, "b"), Options{})
	wantError(t, "a caller that has left", err, context.Canceled)
	if got := namesAndModes(t, dir); !slices.Equal(got, []string{". " + got[0][2:], "there -rw-r--r--"}) {
		t.Errorf("there is now %v", got)
	}
	if err := try(store.Options{Data: data}, there, Options{Replace: true}); err != nil {
		t.Error(err)
	}
	restored(t, there)
}

func TestADamagedDatabaseIsNotBackedUp(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	s, err := book.Open(t.Context(), store.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	account := newAccount(t, s)
	for i := range 200 {
		create(t, s, account.Number, fmt.Sprintf(`{"first_name":"P%d","emails":[{"value":"p%d@x.org"}]}`, i, i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(data, "donorbook.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(content[len(content)/2&^4095:][:4096]) // a page in the middle
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Write(t.Context(), store.Options{Data: data}, filepath.Join(dir, "b"), Options{})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got the error %v", err)
	}
	if left := namesAndModes(t, dir); len(left) != 1 {
		t.Errorf("there is %v", left)
	}
}

func TestWhatAKilledBackupHasLeftIsRemoved(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	newAccount(t, open(t, store.Options{Data: data}))
	writeTestFile(t, "half", dir, ".donorbook-backup-1", "donorbook.db")
	living, err := newStaging(dir, ".donorbook-backup-")
	if err != nil {
		t.Fatal(err)
	}
	backUp(t, store.Options{Data: data}, filepath.Join(dir, "b"))
	left, _ := os.ReadDir(dir)
	if len(left) != 2 || left[0].Name() != filepath.Base(living.root) {
		t.Errorf("there is %v", left)
	}
	living.remove()
}

// A path that is too long simulates a disk that becomes full: the directory is created, but not the file in it.
func TestABackupThatCannotBeginLeavesNothing(t *testing.T) {
	t.Parallel()
	const prefix, longest = ".donorbook-backup-", 4095
	for _, room := range []int{len("/lock"), len("/l")} { // beside the directory, whose name ends with up to 10 digits
		dir := t.TempDir()
		for length := longest - room - len("/"+prefix+"0123456789"); len(dir) < length; {
			part := length - len(dir) - 1
			if part > 255 {
				part = 200
			}
			dir = filepath.Join(dir, strings.Repeat("d", part))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		failed := false
		for i := 0; i < 100 && !failed; i++ { // the number may have fewer digits
			stage, err := newStaging(dir, prefix)
			if failed = err != nil; !failed {
				stage.remove()
			} else if stage != nil {
				t.Error("a staging directory was returned with an error")
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || !failed {
			t.Errorf("it failed: %v; there is %v, %v", failed, left, err)
		}
	}
}

func TestARestoreRefusesADirectoryThatIsNotEmpty(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), filepath.Join(t.TempDir(), "b")
	newAccount(t, open(t, store.Options{Data: data}))
	backUp(t, store.Options{Data: data}, file)

	full := t.TempDir()
	writeTestFile(t, "mine", full, "notes.txt")
	_, err := Restore(t.Context(), file, store.Options{Data: full}, Options{})
	if err == nil || !strings.Contains(err.Error(), "is not empty (it has notes.txt)") || !strings.Contains(err.Error(), "--data") {
		t.Errorf("got the error %v", err)
	}
	if left := namesAndModes(t, full); len(left) != 2 {
		t.Errorf("there is %v", left)
	}
	if _, err := Restore(t.Context(), file, store.Options{Data: full, Database: "postgres://h/d"}, Options{}); !errors.Is(err, ErrServer) {
		t.Errorf("got the error %v", err)
	}
	mounted := t.TempDir() // a new file system, on which a restore was killed
	writeTestFile(t, "half", mounted, ".donorbook-restore-1", "donorbook.db")
	if err := os.Mkdir(filepath.Join(mounted, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, store.Options{Data: mounted}, Options{}); err != nil {
		t.Error(err)
	}
	if left := namesAndModes(t, mounted); len(left) != 3 || left[0] != ". drwx------" || left[1] != "donorbook.db -rw-------" {
		t.Errorf("there is %v", left)
	}
}

// TestARestoreRefusesADamagedBackup: whatever is wrong, the directory does not change.
func TestARestoreRefusesADamagedBackup(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	newAccount(t, open(t, store.Options{Data: data}))
	whole := filepath.Join(dir, "whole")
	backUp(t, store.Options{Data: data}, whole)
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	trailer := bytes.Clone(content)
	trailer[len(trailer)-6] ^= 1
	about := entry{manifestFile, `{"format":1}`, tar.TypeReg}
	for name, content := range map[string][]byte{
		"empty":            nil,
		"a text":           []byte("hello"),
		"cut off":          content[:len(content)-1],
		"half":             content[:len(content)/2],
		"a flipped bit":    flipped,
		"a wrong checksum": trailer,
		"another archive":  archiveOf(t, entry{"donorbook.db", "x", tar.TypeReg}),
		"no database":      archiveOf(t, about),
		"no such database": archiveOf(t, about, entry{"donorbook.db", strings.Repeat("x", 5000), tar.TypeReg}),
		"a newer format":   archiveOf(t, entry{manifestFile, `{"format":2}`, tar.TypeReg}),
		"a way out":        archiveOf(t, about, entry{"../out", "x", tar.TypeReg}),
		"the root":         archiveOf(t, about, entry{"/tmp/out", "x", tar.TypeReg}),
		"a link":           archiveOf(t, about, entry{"tls", "/etc", tar.TypeSymlink}),
		"a file twice":     archiveOf(t, about, entry{"tls/a", "x", tar.TypeReg}, entry{"tls/a", "x", tar.TypeReg}),
		"a log":            withEntries(t, content, entry{"donorbook.db-wal", "x", tar.TypeReg}),
		"a hidden log":     withEntries(t, content, entry{"tls/../donorbook.db-wal", "x", tar.TypeReg}),
		"an identity":      withEntries(t, content, entry{"donorbook.id", "{}", tar.TypeReg}),
		"what is written":  withEntries(t, content, entry{"tls/.new-1", "x", tar.TypeReg}),
	} {
		file := filepath.Join(dir, "damaged")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(t.TempDir(), "new")
		_, err := Restore(t.Context(), file, store.Options{Data: target}, Options{})
		var refused *DamagedError
		if name == "a file twice" && err == nil || name != "a file twice" && !errors.As(err, &refused) {
			t.Errorf("%s: got the error %v", name, err)
		}
		if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the directory was left: %v", name, err)
		}
	}
}

type entry struct {
	name, content string
	kind          byte
}

func archiveOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var text bytes.Buffer
	packed := gzip.NewWriter(&text)
	archive := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o600, Size: int64(len(e.content))}
		if e.kind == tar.TypeSymlink {
			header.Size, header.Linkname = 0, e.content
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := io.WriteString(archive, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
