package move

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// All data of an account in files that anyone can read: a line of JSON for each record, in the form in which the API
// shows it, and a manifest that tells what must be there. What the API does not show stands in each line under "kept".

// Manifest describes the files of an account. It is written last, so that files without it are not complete.
type Manifest struct {
	Format     string          `json:"format"`
	Version    int             `json:"version"`
	ExportedAt string          `json:"exported_at"`
	Account    ManifestAccount `json:"account"`
	Files      []ManifestFile  `json:"files"`
}

// ManifestAccount is whose data it is.
type ManifestAccount struct {
	ID     string `json:"id"`
	Number int64  `json:"number"` // stands before the sequence numbers in ids
	Name   string `json:"name"`
}

// ManifestFile is one of the files.
type ManifestFile struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ManifestName is the name of the manifest.
const ManifestName = "manifest.json"

const (
	manifestFormat  = "donorbook account"
	manifestVersion = 1
)

// The files, in the order in which they are written and read: what others refer to comes first.
const (
	AccountFile   = "account.jsonl"
	FieldFile     = "custom_fields.jsonl"
	TemplateFile  = "templates.jsonl"
	CampaignFile  = "campaigns.jsonl"
	PictureFile   = "pictures.jsonl"
	ContactFile   = "contacts.jsonl"
	PlanFile      = "plans.jsonl"
	GiftFile      = "transactions.jsonl"
	HistoryFile   = "history.jsonl"
	MergeFile     = "merges.jsonl"
	DismissedFile = "different_people.jsonl"
	memberFile    = "members.jsonl"
	keyFile       = "keys.jsonl"
)

// LineWriter writes the lines of one file, and adds up what the manifest says about it.
type LineWriter struct {
	ManifestFile
	Out *bufio.Writer
}

func (w *LineWriter) write(line []byte) error {
	w.Rows++
	_, err := w.Out.Write(append(line, '\n'))
	return err
}

// document writes a record as the API shows it, and what the API does not show.
func (w *LineWriter) document(line []byte, kept any) error {
	text, err := plainJSON(kept)
	if err != nil {
		return err
	}
	return w.write(slices.Concat(line[:len(line)-1], []byte(`,"kept":`), text, []byte("}")))
}

// encode writes a record that the API does not show.
func (w *LineWriter) encode(line any) error {
	text, err := plainJSON(line)
	if err != nil {
		return err
	}
	return w.write(text)
}

func encodeAll[T any](w *LineWriter, records []T, line func(T) any) error {
	for _, record := range records {
		if err := w.encode(line(record)); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile lets write fill a file, and tells what has become of it.
func WriteFile(create func(name string) (io.WriteCloser, error), name string,
	write func(*LineWriter) error,
) (ManifestFile, error) {
	file, err := create(name)
	if err != nil {
		return ManifestFile{}, err
	}
	hash, size := sha256.New(), new(byteCount)
	w := &LineWriter{ManifestFile: ManifestFile{Name: name},
		Out: bufio.NewWriterSize(io.MultiWriter(file, hash, size), 64<<10)}
	if err = write(w); err == nil {
		err = w.Out.Flush()
	}
	err = errors.Join(err, file.Close())
	w.Bytes, w.SHA256 = int64(*size), hex.EncodeToString(hash.Sum(nil))
	return w.ManifestFile, err
}

type byteCount int64

func (n *byteCount) Write(b []byte) (int, error) {
	*n += byteCount(len(b))
	return len(b), nil
}

// plainJSON is JSON on one line, without the escapes that only web pages need.
func plainJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// FileProblem is what is wrong with the files of an account.
type FileProblem struct {
	File   string
	Line   int64 // 0 is the whole file
	Reason string
}

func (p *FileProblem) Error() string {
	where := p.File
	if p.Line > 0 {
		where += ", line " + strconv.FormatInt(p.Line, 10)
	}
	return where + ": " + p.Reason
}

// maxManifest is more than a manifest needs.
const maxManifest = 1 << 20

// ReadManifest reads the manifest, and compares every file with it. The fingerprint is that of the manifest, and so of
// all files.
func ReadManifest(files fs.FS) (m Manifest, fingerprint string, err error) {
	file, err := openRegular(files, ManifestName)
	if err != nil {
		return m, "", err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err := errors.Join(err, file.Close()); err != nil {
		return m, "", err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, "", &FileProblem{File: ManifestName, Reason: "is not JSON: " + err.Error()}
	}
	switch {
	case m.Format != manifestFormat:
		return m, "", &FileProblem{File: ManifestName, Reason: "does not describe the data of an account"}
	case m.Version != manifestVersion:
		return m, "",
			&FileProblem{File: ManifestName, Reason: fmt.Sprintf("has version %d; this program reads version %d",
				m.Version, manifestVersion)}
	}
	for i, file := range m.Files {
		if placeOf(file.Name) < 0 || slices.ContainsFunc(m.Files[:i],
			func(f ManifestFile) bool { return f.Name == file.Name }) {
			return m, "", &FileProblem{File: ManifestName, Reason: "names " + file.Name +
				", which this version does not know, or names it twice: a newer version may have written it"}
		}
		if err := file.compare(files); err != nil {
			return m, "", err
		}
	}
	sum := sha256.Sum256(text)
	return m, hex.EncodeToString(sum[:]), nil
}

// latest is the time up to which dates in the files are right: now, or when they were written, where this machine's
// clock is behind.
func (m *Manifest) latest(now time.Time) time.Time {
	if written, err := time.Parse(time.RFC3339, m.ExportedAt); err == nil && written.After(now) {
		return written
	}
	return now
}

// openRegular opens a file. Anything else may never end, as a pipe, or lead elsewhere, as a link.
func openRegular(files fs.FS, name string) (fs.File, error) {
	info, err := fs.Lstat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FileProblem{File: name, Reason: "is not a regular file"}
	}
	return files.Open(name)
}

func (f ManifestFile) compare(files fs.FS) error {
	file, err := openRegular(files, f.Name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.SHA256 {
		return &FileProblem{File: f.Name, Reason: "is not what the manifest says: its checksum differs"}
	}
	return nil
}

// maxLine is how long a line may be. The history of a campaign has the longest: its texts, as they were before a change
// and after it.
const maxLine = 8 << 20

// eachLine reads the lines of a file, which the manifest must name.
func (m *Manifest) eachLine(files fs.FS, name string, read func(line []byte) error) error {
	if !m.lists(name) {
		return &FileProblem{File: ManifestName, Reason: "does not name " + name}
	}
	file, err := openRegular(files, name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := int64(1)
	for ; lines.Scan(); n++ {
		if err := read(bytes.Clone(lines.Bytes())); err != nil {
			var wrong *FileProblem
			if errors.As(err, &wrong) && wrong.File == "" {
				wrong.File, wrong.Line = name, n
			}
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &FileProblem{File: name, Line: n, Reason: fmt.Sprintf("is longer than %d bytes", maxLine)}
	}
	return lines.Err()
}

func (m *Manifest) lists(name string) bool {
	return slices.ContainsFunc(m.Files, func(f ManifestFile) bool { return f.Name == name })
}

// rows is how many records a file has.
func (m *Manifest) rows(name string) int64 {
	for _, f := range m.Files {
		if f.Name == name {
			return f.Rows
		}
	}
	return 0
}

// accountExport is an export of an account under way. It reads one snapshot, so that all files agree.
type accountExport struct {
	conn     db.Conn
	account  access.Account
	row      store.Tally
	progress db.Progress
	members  []access.Member
	keys     []access.Key
	manifest Manifest
}

// ExportAccount writes all data of an account into files that create makes, and returns the manifest, which is to be
// written when all else is in place.
func (s *MoveStore) ExportAccount(ctx context.Context, account access.Account,
	create func(name string) (io.WriteCloser, error), progress db.Progress,
) (Manifest, error) {
	if err := s.recordExport(ctx, account.Number, Exported{What: "account", Format: "jsonl"}); err != nil {
		return Manifest{}, err
	}
	x := &accountExport{account: account, progress: progress}
	var err error
	if x.members, err = s.Members(ctx, account.Number); err != nil {
		return Manifest{}, err
	}
	if x.keys, err = s.Keys(ctx, account.Number); err != nil {
		return Manifest{}, err
	}
	x.manifest = Manifest{Format: manifestFormat, Version: manifestVersion,
		ExportedAt: s.Now().UTC().Format(time.RFC3339),
		Account:    ManifestAccount{account.ID, account.Number, account.Name}, Files: []ManifestFile{}}
	err = s.Db.LongView(ctx, func(c db.Conn) (err error) {
		x.conn = c
		if x.row, err = store.ReadTally(c, account.Number); err != nil {
			return err
		}
		for _, n := range nouns {
			if n.export == nil {
				continue
			}
			written, err := WriteFile(create, n.file, func(w *LineWriter) error { return n.export(x, w) })
			if err != nil {
				return err
			}
			x.manifest.Files = append(x.manifest.Files, written)
		}
		return nil
	})
	return x.manifest, store.Translate(err)
}
