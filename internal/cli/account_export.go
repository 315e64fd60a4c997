package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/move"
)

type accountExport struct {
	ID  string `arg:"" help:"Id of the account."`
	Dir string `arg:"" help:"Directory to make. It must be missing or empty."`
}

func (accountExport) Help() string {
	return `Writes everything that an account has, as it is at one moment, while servers go on: contacts with archived ones, campaigns, gifts with their refunds, plans, custom fields, segments, settings, history, and the names of members and keys. Each file is JSON Lines, in the form of the API; manifest.json has the number of records and the SHA-256 of every file. Passwords and the secrets of keys are not in it.

	donorbook account export ID river-aid
	donorbook account import river-aid --data another-directory

The directory gets its name only when it is complete. Only you can read it: it holds the data of people.`
}

var errDirectoryTaken = errors.New("choose another directory; nothing was written")

// checkDirectory refuses everything that an export would remove, but for an empty directory.
func (c *accountExport) checkDirectory() error {
	info, err := os.Lstat(c.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory: %w", c.Dir, errDirectoryTaken)
	}
	entries, err := os.ReadDir(c.Dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s: the directory is not empty: %w", c.Dir, errDirectoryTaken)
	}
	return err
}

func (c *accountExport) Run(t *terminal) error {
	if err := c.checkDirectory(); err != nil {
		return err
	}
	return t.withAccount(c.ID, func(s *book.Book, account access.Account) error {
		part, err := os.MkdirTemp(filepath.Dir(filepath.Clean(c.Dir)), "."+filepath.Base(c.Dir)+".*.part") // mode 0700
		if err != nil {
			return err
		}
		defer os.RemoveAll(part) //nolint:errcheck // it is not there any more, unless the export failed
		w := newWatch(t, watch{})
		manifest, err := s.ExportAccount(store.By(t.ctx, history.CommandChannel, commandLine), account, func(name string) (io.WriteCloser, error) { return createSynced(filepath.Join(part, name)) }, w.progress)
		w.end()
		if err != nil {
			return err
		}
		if err := writeManifest(filepath.Join(part, move.ManifestName), manifest); err != nil {
			return err
		}
		if err := c.checkDirectory(); err != nil { // the export has taken its time
			return err
		}
		if err := os.Remove(c.Dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Rename(part, c.Dir); err != nil {
			return err
		}
		for _, file := range manifest.Files {
			fmt.Fprintf(t.stderr, "%-20s %8d\n", file.Name, file.Rows)
		}
		return nil
	})
}

// syncedFile is on disk when it is closed.
type syncedFile struct{ *os.File }

func createSynced(path string) (io.WriteCloser, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return syncedFile{file}, err
}

func (f syncedFile) Close() error { return errors.Join(f.Sync(), f.File.Close()) }

func writeManifest(path string, manifest move.Manifest) error {
	file, err := createSynced(path)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return errors.Join(encoder.Encode(manifest), file.Close())
}
