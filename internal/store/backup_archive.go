package store

import (
	"archive/tar"
	"bufio"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A backup is a tar archive, compressed with gzip: first what it is, then every file under its name in the data directory.
const (
	backupFormat = 1
	manifestFile = "donorbook-backup.json"
)

type manifest struct {
	Format int       `json:"format"`
	Taken  time.Time `json:"taken_at"`
	Schema int       `json:"schema"`
}

// sum is the SHA-256 of a file.
type sum [sha256.Size]byte

// writeArchive writes files into an archive and flushes it to the disk. It returns what it has read of each file.
func writeArchive(ctx context.Context, path string, m manifest, files []archived, progress func(done, total int64)) (sums map[string]sum, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffer := bufio.NewWriterSize(f, 1<<20)
	packed, err := gzip.NewWriterLevel(buffer, gzip.BestSpeed) // the processor is shared with those who are served
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := archive.WriteHeader(&tar.Header{Name: manifestFile, Mode: 0o600, Size: int64(len(text)), ModTime: m.Taken}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(text); err != nil {
		return nil, err
	}
	meter := newMeter(ctx, files, progress)
	sums = make(map[string]sum)
	for _, file := range files {
		if sums[file.name], err = addFile(archive, file, meter); err != nil {
			return nil, fmt.Errorf("%s: %w", file.path, err)
		}
	}
	for _, finish := range []func() error{archive.Close, packed.Close, buffer.Flush, f.Sync} {
		if err := finish(); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

func addFile(archive *tar.Writer, file archived, meter *meter) (s sum, err error) {
	f, err := os.Open(file.path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o600, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return s, err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(archive, hash, meter), f); err != nil {
		return s, err
	}
	return sum(hash.Sum(nil)), nil
}

// readArchive reads an archive to its end, which proves that nothing of it is missing or changed.
func readArchive(path string, each func(name string, content io.Reader) error) (m manifest, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return m, notABackup(err)
	}
	archive := tar.NewReader(unpacked)
	header, err := archive.Next()
	if err != nil || header.Name != manifestFile {
		return m, notABackup(err)
	}
	if err := json.NewDecoder(io.LimitReader(archive, 1<<16)).Decode(&m); err != nil {
		return m, notABackup(err)
	}
	if m.Format != backupFormat {
		return m, &DamagedBackupError{fmt.Errorf("it has the format %d, and this program knows format %d: use a newer donorbook", m.Format, backupFormat)}
	}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = checkEntry(header)
		}
		if err == nil {
			err = each(header.Name, archive)
		}
		if err != nil {
			return m, damaged(err)
		}
	}
	_, err = io.Copy(io.Discard, unpacked) // its checksum comes last
	return m, damaged(err)
}

// DamagedBackupError is a file that is not a backup, or not a whole one.
type DamagedBackupError struct{ Reason error }

func (e *DamagedBackupError) Error() string { return e.Reason.Error() }
func (e *DamagedBackupError) Unwrap() error { return e.Reason }

func notABackup(err error) error {
	if err == nil {
		return &DamagedBackupError{errors.New("it is not a backup of donorbook")}
	}
	return &DamagedBackupError{fmt.Errorf("it is not a backup of donorbook, or damaged: %w", err)}
}

func damaged(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, tar.ErrHeader) || errors.As(err, &corrupt) {
		return &DamagedBackupError{fmt.Errorf("it is damaged or not complete: %w", err)}
	}
	return err
}

// checkEntry refuses what no backup of ours has in it: everything but a file below the data directory.
func checkEntry(header *tar.Header) error {
	if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) || strings.HasPrefix(header.Name, ".") || strings.Contains(header.Name, `\`) {
		return &DamagedBackupError{fmt.Errorf("it has %q in it, which is no file of a data directory", header.Name)}
	}
	return nil
}

// compareArchive tells whether an archive has in it what was written.
func compareArchive(ctx context.Context, path string, want map[string]sum, progress func(done, total int64)) error {
	meter := &meter{ctx: ctx, progress: progress}
	found := make(map[string]sum)
	_, err := readArchive(path, func(name string, content io.Reader) error {
		hash := sha256.New()
		_, err := io.Copy(io.MultiWriter(hash, meter), content)
		found[name] = sum(hash.Sum(nil))
		return err
	})
	if err == nil && !maps.Equal(found, want) {
		err = errors.New("its content is not the same")
	}
	return err
}

// extractArchive writes the files of an archive below a directory and flushes them to the disk. No name leads out of it.
func extractArchive(ctx context.Context, path, dir string, progress func(done, total int64)) (manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return manifest{}, err
	}
	defer root.Close()
	meter := &meter{ctx: ctx, progress: progress}
	complete := false
	m, err := readArchive(path, func(name string, content io.Reader) error {
		complete = complete || name == databaseFile
		return extractFile(root, name, io.TeeReader(content, meter))
	})
	if err == nil && !complete {
		err = notABackup(nil)
	}
	return m, err
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

// meter counts bytes, and ends the work of a caller that has left.
type meter struct {
	ctx         context.Context
	done, total int64
	progress    func(done, total int64)
}

func newMeter(ctx context.Context, files []archived, progress func(done, total int64)) *meter {
	m := &meter{ctx: ctx, progress: progress}
	for _, file := range files {
		if info, err := os.Stat(file.path); err == nil {
			m.total += info.Size()
		}
	}
	return m
}

func (m *meter) Write(b []byte) (int, error) {
	m.done += int64(len(b))
	m.progress(m.done, m.total)
	return len(b), m.ctx.Err()
}
