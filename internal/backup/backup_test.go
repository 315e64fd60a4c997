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
	"donorbook/internal/db"
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
	for _, name := range []string{"notes.txt", "tls/.new-123", "donorbook.lock", "donorbook.id", "donorbook.id.new"} {
		writeTestFile(t, "{}", data, name)
	}
	report := backUp(t, data, file)
	equal(t, []int64{report.Accounts, report.Contacts}, []int64{1, 20})
	wantNames(t, "beside the backup", filepath.Dir(file), "backup.tar.gz -rw-------")
	var names []string
	for _, e := range entriesOf(t, must(os.ReadFile(file))(t)) {
		names = append(names, e.name)
	}
	equal(t, names, []string{manifestFile, "acme/acme_account+key", "tls/ca.pem", db.DatabaseFile})
	create(t, s, account, `{"first_name":"Later"}`)

	again, data := restored(t, file)
	after, total := list(t, again, account)
	equal(t, after, before)
	equal(t, total, 20)
	must(again.Authenticate(t.Context(), secret))(t)
	equal(t, doc.IDSeq(create(t, again, account, `{"first_name":"New"}`).ID), 21, "the next contact has the number")
	for name, want := range map[string]string{"tls/ca.pem": "authority", "acme/acme_account+key": "account"} {
		equal(t, string(must(os.ReadFile(filepath.Join(data, name)))(t)), want, "%s", name)
	}
	for _, entry := range namesAndModes(t, data) {
		isLog := strings.HasPrefix(entry, "donorbook.db-")
		equal(t, isLog || strings.HasSuffix(entry, "------"), true, "restored: %s", entry)
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
	write := func(ctx context.Context, o store.Options, b Options, file ...string) error {
		_, err := Write(ctx, o, filepath.Join(file...), b)
		return err
	}
	o := store.Options{Data: data}
	for want, err := range map[error]error{
		fs.ErrExist:      write(t.Context(), o, Options{}, there),
		ErrPlace:         write(t.Context(), o, Options{}, data, "x", "b"),
		fs.ErrNotExist:   write(t.Context(), o, Options{}, dir, "none", "b"),
		context.Canceled: write(gone, o, Options{}, dir, "b"),
		ErrServer: write(t.Context(), store.Options{Data: data, Database: "postgres://h/d"}, Options{}, dir,
			"b"),
	} {
		wantError(t, "a backup", err, want)
	}
	wantError(t, "a directory", write(t.Context(), o, Options{Replace: true}, dir), fs.ErrExist)
	path := filepath.Join(data, "donorbook.db")
	whole := must(os.ReadFile(path))(t)
	damaged := bytes.Clone(whole)
	clear(damaged[len(damaged)/2&^4095:][:4096]) // a page in the middle
	writeTestFile(t, string(damaged), path)
	err := write(t.Context(), o, Options{}, dir, "b")
	contains(t, fmt.Sprint(err), "damaged")
	wantNames(t, "after all that", dir, "there -rw-r--r--")
	writeTestFile(t, string(whole), path)
	succeed(t, write(t.Context(), o, Options{Replace: true}, there))
	restored(t, there)
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
	contains(t, fmt.Sprint(err), "is not empty (it has notes.txt)")
	wantNames(t, "the refused directory", full, "notes.txt -rw-r--r--")
	mounted := t.TempDir() // a new file system, on which a restore was killed
	writeTestFile(t, "half", mounted, ".donorbook-restore-1", "donorbook.db")
	succeed(t, os.Mkdir(filepath.Join(mounted, "lost+found"), 0o700))
	must(Restore(t.Context(), file, store.Options{Data: mounted}, Options{}))(t)
	wantNames(t, "the new file system", mounted, "donorbook.db -rw-------", "lost+found drwx------")
	equal(t, namesAndModes(t, mounted)[0], ". drwx------")
}

// Whatever is wrong with a backup, the directory does not change.
func TestARestoreRefusesADamagedBackup(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole")
	backUp(t, empty(t), whole)
	content := must(os.ReadFile(whole))(t)
	flipped, trailer := bytes.Clone(content), bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	trailer[len(trailer)-6] ^= 1
	for name, content := range map[string][]byte{
		"empty": nil, "a text": []byte("hello"), "cut off": content[:len(content)-1], "half": content[:len(content)/2],
		"a flipped bit": flipped, "a wrong checksum": trailer,
		"another archive": archiveOf(t, file("donorbook.db", "x")),
		"no database":     archiveOf(t, file(manifestFile, `{"format":1}`)),
		"a newer format":  archiveOf(t, file(manifestFile, `{"format":2}`)),
	} {
		wantDamaged(t, name, content, Options{})
	}
	for name, more := range map[string][]entry{
		"no such database": {file("donorbook.db", strings.Repeat("x", 5000))}, "a way out": {file("../out", "x")},
		"the root": {file("/tmp/out", "x")}, "a link": {{"tls", "/etc", tar.TypeSymlink}},
	} {
		wantDamaged(t, name, archiveOf(t, append([]entry{file(manifestFile, `{"format":1}`)}, more...)...), Options{})
	}
	for _, name := range []string{"donorbook.db-wal", "tls/../donorbook.db-wal", "donorbook.id", "tls/.new-1"} {
		wantDamaged(t, name, withEntries(t, content, file(name, "x")), Options{})
	}
	twice := archiveOf(t, file(manifestFile, `{"format":1}`), file("tls/a", "x"), file("tls/a", "x"))
	target, _, err := restore(t, twice, Options{})
	equal(t, err == nil, false, "a file twice")
	wantError(t, "a file twice: the directory", errOf(os.Stat(target)), fs.ErrNotExist)
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

// file is a file of an archive.
func file(name, content string) entry { return entry{name, content, tar.TypeReg} }

func errOf[T any](_ T, err error) error { return err }
