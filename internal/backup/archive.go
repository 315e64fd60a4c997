package backup

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"donorbook/internal/db"
)

// A backup is a tar archive, compressed with gzip: first the manifest, then the certificates and the database under their names in the data directory.
const (
	format       = 1
	manifestFile = "donorbook-backup.json"
)

type manifest struct {
	Format int       `json:"format"`
	Taken  time.Time `json:"taken_at"`
	Schema int       `json:"schema"`
}

// archived is a file and its name in the archive.
type archived struct{ name, path string }

// writeArchive writes files into an archive and syncs it to disk. It returns the checksum of what it read.
func writeArchive(ctx context.Context, path string, files []archived, step progress) (sum uint64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffer := bufio.NewWriterSize(f, 1<<20)
	packed, err := gzip.NewWriterLevel(buffer, gzip.BestSpeed) // leaves processor time to the server
	archive, meter := tar.NewWriter(packed), newMeter(ctx, step)
	for _, file := range files {
		if n, err := size(file.path); err == nil {
			meter.total += n
		}
	}
	for _, file := range files {
		if err == nil {
			err = addFile(archive, file, meter)
		}
	}
	for _, finish := range []func() error{archive.Close, packed.Close, buffer.Flush, f.Sync} {
		if err == nil {
			err = finish()
		}
	}
	return meter.hash.Sum64(), err
}

func addFile(archive *tar.Writer, file archived, meter *meter) error {
	f, err := os.Open(file.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()})
	}
	if err == nil {
		_, err = io.Copy(archive, meter.watch(file.name, f))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.path, err)
	}
	return nil
}

// readArchive reads a whole archive, which proves that nothing is missing or changed. It returns the checksum of its files.
func readArchive(ctx context.Context, path string, step progress, each func(name string, content io.Reader) error) (m manifest, sum uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, 0, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return m, 0, notABackup(err)
	}
	archive, meter := tar.NewReader(unpacked), newMeter(ctx, step)
	header, err := archive.Next()
	if err == nil && header.Name != manifestFile {
		err = errors.New("it does not begin with " + manifestFile)
	}
	if err == nil {
		err = json.NewDecoder(meter.watch(manifestFile, io.LimitReader(archive, 1<<16))).Decode(&m)
	}
	if err != nil {
		return m, 0, notABackup(err)
	}
	if m.Format != format {
		return m, 0, &DamagedError{fmt.Errorf("it has format %d, but this program knows only format %d: use a newer donorbook", m.Format, format)}
	}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, unpacked) // gzip's checksum is at the end
			return m, meter.hash.Sum64(), damaged(err)
		}
		if err == nil {
			err = checkEntry(header)
		}
		if err == nil {
			err = each(header.Name, meter.watch(header.Name, archive))
		}
		if err != nil {
			return m, 0, damaged(err)
		}
	}
}

// DamagedError is a file that is not a backup, or is damaged.
type DamagedError struct{ Reason error }

func (e *DamagedError) Error() string { return e.Reason.Error() }
func (e *DamagedError) Unwrap() error { return e.Reason }

func notABackup(err error) error {
	return &DamagedError{fmt.Errorf("it is not a backup of donorbook, or it is damaged: %w", err)}
}

func damaged(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) || errors.As(err, &corrupt) {
		return &DamagedError{fmt.Errorf("it is damaged or incomplete: %w", err)}
	}
	return err
}

// checkEntry refuses entries that our backups never had: anything but a file inside the data directory, and files that would become part of the
// database, such as a log.
func checkEntry(header *tar.Header) error {
	name := header.Name
	clean := filepath.IsLocal(name) && path.Clean(name) == name && !strings.Contains(name, `\`)
	if header.Typeflag != tar.TypeReg || !clean || isHidden(name) || db.OwnFile(name) && !isTaken(name) {
		return &DamagedError{fmt.Errorf("it contains %q, which no backup has", name)}
	}
	return nil
}

// compareArchive checks that an archive contains what was written.
func compareArchive(ctx context.Context, path string, sum uint64, step progress) error {
	_, found, err := readArchive(ctx, path, step, func(_ string, content io.Reader) error {
		_, err := io.Copy(io.Discard, content)
		return err
	})
	if err == nil && found != sum {
		err = errors.New("its content differs")
	}
	return err
}

// extractArchive writes the files of an archive into a directory and syncs them to disk. No name can lead out of it. It leaves out what is not
// ours, and returns the names.
func extractArchive(ctx context.Context, path, dir string, step progress) (m manifest, leftOut []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, nil, err
	}
	defer root.Close()
	complete := false
	m, _, err = readArchive(ctx, path, step, func(name string, content io.Reader) error {
		if !isTaken(name) {
			leftOut = append(leftOut, name)
			_, err := io.Copy(io.Discard, content)
			return err
		}
		complete = complete || name == db.DatabaseFile
		return extractFile(root, name, content)
	})
	if err == nil && !complete {
		err = notABackup(errors.New("it has no " + db.DatabaseFile))
	}
	return m, leftOut, err
}

func extractFile(root *os.Root, name string, content io.Reader) (err error) {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, content); err != nil {
		return err
	}
	return f.Sync()
}

// seed lets a backup be compared with what was written a moment ago, by a checksum that no one keeps: gzip keeps its own. It costs a twentieth of SHA-256.
var seed = maphash.MakeSeed()

// meter counts and hashes the bytes that are read, and stops when the context ends.
type meter struct {
	ctx         context.Context
	hash        maphash.Hash
	done, total int64
	step        progress
}

// progress tells how many bytes of a step are done, and of how many, or 0 if that is not known.
type progress func(done, total int64)

func newMeter(ctx context.Context, step progress) *meter {
	m := &meter{ctx: ctx, step: step}
	m.hash.SetSeed(seed)
	return m
}

// watch lets the meter see the content of a file as it is read.
func (m *meter) watch(name string, content io.Reader) io.Reader {
	m.hash.WriteString(name)
	return io.TeeReader(content, m)
}

func (m *meter) Write(b []byte) (int, error) {
	m.hash.Write(b)
	m.done += int64(len(b))
	m.step(m.done, m.total)
	return len(b), m.ctx.Err()
}
