package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"donorbook/internal/backup"
	"donorbook/internal/crm/doc"
)

// newFile is a file that a command writes where a person said. It gets its name when it is complete.
type newFile struct {
	*os.File
	path    string
	force   bool // replaces what is there
	through bool // it is a pipe or a device, which is written to
}

// checkFile refuses a path at which a command must not write: a file that exists is replaced only with force, and a link is not followed.
func checkFile(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return usageError{fmt.Errorf("%s is a directory; choose a file in it", path)}
	case info.Mode()&os.ModeSymlink != 0:
		return usageError{fmt.Errorf("%s is a link, and links are not followed; name the file itself", path)}
	case info.Mode().IsRegular() && !force:
		return &doc.Malformed{Message: path + " already exists; choose another file, or use --force to replace it"}
	}
	return nil
}

// createFile begins a file, which finish ends.
func createFile(path string, force bool) (*newFile, error) {
	if err := checkFile(path, force); err != nil {
		return nil, err
	}
	f := &newFile{path: path, force: force}
	info, err := os.Lstat(path)
	if f.through = err == nil && !info.Mode().IsRegular(); !f.through {
		f.File, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.part") // mode 0600
		return f, err
	}
	if f.File, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%s was replaced by something else in the meantime", path), err, f.Close())
	}
	return f, nil
}

// finish gives the file its name, unless writing it failed.
func (f *newFile) finish(err error) error {
	if f.through {
		return errors.Join(err, f.Close())
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is not there any more, unless something failed
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = checkFile(f.path, f.force) // writing has taken its time
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

// tighten keeps other users of the machine out of the directories of a command, and reports what it changed. What cannot be
// changed is only a warning: the operator may have reasons, such as a volume that belongs to another user.
func (t *terminal) tighten() {
	for _, dir := range backup.Directories(t.storage.Options()) {
		changed, err := backup.Tighten(dir)
		for _, c := range changed {
			t.notice(fmt.Sprintf("%s was open to other users of this machine (mode %04o); now only its owner can use it", c.Path, c.Was))
		}
		if err != nil {
			t.notice(err.Error())
		}
	}
}

// notice tells the operator something that is not a result of the command.
func (t *terminal) notice(text string) {
	if t.log != nil {
		t.log.Warn(text)
		return
	}
	fmt.Fprintln(t.stderr, "donorbook: "+text)
}
