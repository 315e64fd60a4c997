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
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
	"donorbook/internal/store"
)

func TestABackupHasEverythingInIt(t *testing.T) {
	t.Parallel()
	s, data, account := filled(t, 20)
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	_, secret := assert.Must2(s.CreateKey(t.Context(), account, access.KeyInput{Name: "K"}))(t)
	before, _ := list(t, s, account)
	writeTestFile(t, "authority", data, "tls", "ca.pem")
	writeTestFile(t, "account", data, "acme", "acme_account+key")
	writeTestFile(t, "mine", data, "notes.txt")
	writeTestFile(t, "half", data, "tls", ".new-123")
	for _, name := range []string{"donorbook.lock", "donorbook.id", "donorbook.id.new"} {
		writeTestFile(t, "{}", data, name)
	}

	if report := backUp(t, data, file); report.Accounts != 1 || report.Contacts != 20 {
		t.Errorf("the report says %+v", report)
	}
	wantNames(t, "beside the backup", filepath.Dir(file), "backup.tar.gz -rw-------")
	create(t, s, account, `{"first_name":"Later"}`)

	again, data := restored(t, file)
	if after, total := list(t, again, account); after != before || total != 20 {
		t.Errorf("%d contacts:\n%s\nwere\n%s", total, after, before)
	}
	must(again.Authenticate(t.Context(), secret))(t)
	equal(t, doc.IDSeq(create(t, again, account, `{"first_name":"New"}`).ID), 21,
		"the next contact has the number")
	for name, want := range map[string]string{"tls/ca.pem": "authority", "acme/acme_account+key": "account"} {
		equal(t, string(must(os.ReadFile(filepath.Join(data, name)))(t)), want, "%s", name)
	}
	for _, entry := range namesAndModes(t, data) {
		name, mode, _ := strings.Cut(entry, " ")
		isLog := strings.HasPrefix(name, "donorbook.db-")
		isHidden := strings.HasPrefix(filepath.Base(name), ".") && name != "."
		if name == "notes.txt" || isHidden || strings.HasSuffix(name, ".lock") || !isLog && !strings.HasSuffix(mode, "------") {
			t.Errorf("restored: %s", entry)
		}
	}
}

// Writes between the pages of a backup are not blocked, and the backup contains none of them.
func TestABackupShowsOneMoment(t *testing.T) {
	t.Parallel()
	data, file := empty(t), filepath.Join(t.TempDir(), "b")
	s := open(t, data)
	account := rig.NewAccount(t, s).Number
	var addresses []string // so many that the pages are not copied at once
	for i := range 20 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %s"}`, i, strings.Repeat("x", 200)))
	}
	large := `"addresses":[` + strings.Join(addresses, ",") + `]`
	for i := range 300 {
		create(t, s, account, fmt.Sprintf(`{"first_name":"P%d",%s}`, i, large))
	}
	first := doc.MakeID(account, 1)
	written := 0
	must(Write(t.Context(), store.Options{Data: data}, file, Options{Progress: func(what string, done, total int64) {
		if what == "copying the database" && done < total {
			written++
			create(t, s, account, fmt.Sprintf(`{"first_name":"Later %d",%s}`, written, large))
			must(s.AddTags(t.Context(), account, first, []string{fmt.Sprint("later", written)}))(t)
		}
	}}))(t)
	again, _ := restored(t, file)
	_, total := list(t, again, account)
	if tags := rig.Get(t, again, account, first).Tags; written == 0 || total != 300 || len(tags) != 0 {
		t.Errorf("the backup has %d contacts and the tags %v; %d were written meanwhile", total, tags, written)
	}
}

func TestABackupRefusesWhatItMustNotTouch(t *testing.T) {
	t.Parallel()
	data, dir := empty(t), t.TempDir()
	there := filepath.Join(dir, "there")
	writeTestFile(t, "precious", there)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		what       string
		ctx        context.Context
		data, file string
		want       error
	}{
		{"a file that is there", t.Context(), data, there, fs.ErrExist},
		{"the data directory", t.Context(), data, filepath.Join(data, "b"), ErrPlace},
		{"below the data directory", t.Context(), data, filepath.Join(data, "x", "b"), ErrPlace},
		{"no database", t.Context(), filepath.Join(dir, "none"), filepath.Join(dir, "b"), fs.ErrNotExist},
		{"no directory", t.Context(), data, filepath.Join(dir, "none", "b"), fs.ErrNotExist},
		{"a caller that has left", gone, data, filepath.Join(dir, "b"), context.Canceled},
	} {
		_, err := Write(test.ctx, store.Options{Data: test.data}, test.file, Options{})
		wantError(t, test.what, err, test.want)
	}
	_, err := Write(t.Context(), store.Options{Data: data}, dir, Options{Replace: true})
	wantError(t, "a directory", err, fs.ErrExist)
	_, err = Write(t.Context(), store.Options{Data: data, Database: "postgres://h/d"}, filepath.Join(dir, "b"), Options{})
	wantError(t, "PostgreSQL", err, ErrServer)
	wantNames(t, "after all that", dir, "there -rw-r--r--")
	must(Write(t.Context(), store.Options{Data: data}, there, Options{Replace: true}))(t)
	restored(t, there)
}

func TestADamagedDatabaseIsNotBackedUp(t *testing.T) {
	t.Parallel()
	data, dir := empty(t), t.TempDir()
	path := filepath.Join(data, "donorbook.db")
	content := must(os.ReadFile(path))(t)
	clear(content[len(content)/2&^4095:][:4096]) // a page in the middle
	succeed(t, os.WriteFile(path, content, 0o600))
	_, err := Write(t.Context(), store.Options{Data: data}, filepath.Join(dir, "b"), Options{})
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got the error %v", err)
	}
	wantNames(t, "the refused backup", dir)
}

func TestWhatAKilledBackupHasLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTestFile(t, "half", dir, ".donorbook-backup-1", "donorbook.db")
	living := must(newStaging(dir, ".donorbook-backup-"))(t)
	backUp(t, empty(t), filepath.Join(dir, "b"))
	left := must(os.ReadDir(dir))(t)
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
		succeed(t, os.MkdirAll(dir, 0o700))
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
	file, full := filepath.Join(t.TempDir(), "b"), t.TempDir()
	backUp(t, empty(t), file)
	writeTestFile(t, "mine", full, "notes.txt")
	_, err := Restore(t.Context(), file, store.Options{Data: full}, Options{})
	if err == nil || !strings.Contains(err.Error(), "is not empty (it has notes.txt)") || !strings.Contains(err.Error(), "--data") {
		t.Errorf("got the error %v", err)
	}
	wantNames(t, "the refused directory", full, "notes.txt -rw-r--r--")
	_, err = Restore(t.Context(), file, store.Options{Data: full, Database: "postgres://h/d"}, Options{})
	wantError(t, "PostgreSQL", err, ErrServer)
	mounted := t.TempDir() // a new file system, on which a restore was killed
	writeTestFile(t, "half", mounted, ".donorbook-restore-1", "donorbook.db")
	succeed(t, os.Mkdir(filepath.Join(mounted, "lost+found"), 0o700))
	must(Restore(t.Context(), file, store.Options{Data: mounted}, Options{}))(t)
	if left := namesAndModes(t, mounted); len(left) != 3 || left[0] != ". drwx------" || left[1] != "donorbook.db -rw-------" {
		t.Errorf("there is %v", left)
	}
}

// Whatever is wrong with a backup, the directory does not change.
func TestARestoreRefusesADamagedBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	backUp(t, empty(t), whole)
	content := must(os.ReadFile(whole))(t)
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
		target, _, err := restore(t, content, Options{})
		var refused *DamagedError
		if name == "a file twice" && err == nil || name != "a file twice" && !errors.As(err, &refused) {
			t.Errorf("%s: got the error %v", name, err)
		}
		_, err = os.Stat(target)
		wantError(t, name+": the directory", err, fs.ErrNotExist)
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
		succeed(t, archive.WriteHeader(header))
		if header.Size > 0 {
			must(io.WriteString(archive, e.content))(t)
		}
	}
	succeed(t, errors.Join(archive.Close(), packed.Close()))
	return text.Bytes()
}
