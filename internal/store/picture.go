package store

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/picture"
	"donorbook/internal/db"
)

const (
	sqlOwnPictures  = `SELECT name FROM picture WHERE account_id = $1 AND campaign_id = $2 AND name = ANY($3)`
	sqlPictures     = `SELECT name, body, checksum FROM picture WHERE account_id = $1 AND name = ANY($2) ORDER BY name`
	sqlPictureStart = `SELECT account_id, length(body), checksum FROM picture WHERE account_id = $1 AND name = $2`

	// The name of an older picture, or of one that came with an account from another server, does not tell whose it is.
	sqlPictureOwner = `SELECT account_id FROM picture WHERE name = $1 ORDER BY account_id LIMIT 1`
	sqlPicturePart  = `SELECT substr(body, CAST($3 AS INTEGER), CAST($4 AS INTEGER)) FROM picture WHERE account_id = $1
		AND name = $2`
)

// NoCampaign is what the pictures of a new campaign belong to until it has an id, and OrganizationPictures what the
// logo of the organization does.
const (
	NoCampaign           = -1
	OrganizationPictures = 0
)

// drawTime is how long a picture may be drawn: some seconds are usual for the largest.
const drawTime = 20 * time.Second

// MakePicture draws a file that was uploaded, when it is the account's turn. One large picture is drawn at a time,
// because each may take much memory and some seconds, and a small one beside it, so that no logo waits for the photos
// of others.
func (s *Store) MakePicture(ctx context.Context, account int64, data []byte, kind picture.Kind,
	field string,
) (made picture.Picture, err error) {
	source, err := picture.Open(data, field)
	if err != nil {
		return made, err
	}
	gate := s.Drawing
	if source.Small() {
		gate = s.Sketching
	}
	err = gate.Through(ctx, account, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, drawTime, doc.NewInvalid(field, picture.Damaged))
		defer cancel()
		made, err = source.Make(ctx, kind, field)
		made = made.Owned(account)
		if !source.Small() {
			debug.FreeOSMemory() // or the next collection comes when there is more
		}
		return err
	})
	return made, err
}

// NewFiles are the files that a campaign needs for the picture at an address, where it does not have them: those that
// were uploaded with the change, or a copy of another picture, which has an address of its own.
func NewFiles(c db.Conn, account, campaign int64, field string, address *string,
	uploaded []picture.Picture,
) ([]picture.File, error) {
	for _, p := range uploaded {
		if p.Address == *address {
			return p.Files, nil
		}
	}
	names := picture.Names(*address)
	own, err := db.List(c, func(r db.Row) string { return r.Text(0) }, sqlOwnPictures, account, campaign, names)
	if err != nil || len(own) == len(names) {
		return nil, err
	}
	bodies := make(map[string][]byte)
	owner, err := pictureOwner(c, names[0])
	if err != nil {
		return nil, err
	}
	err = c.Each(func(r db.Row) error {
		bodies[r.Text(0)] = slices.Clone(r.Bytes(1))
		return IntactPicture(r.Text(0), Checksum(r.Bytes(1)), r.Int(2))
	}, sqlPictures, owner, names)
	if err == nil && len(bodies) < len(names) {
		err = Fault(field, picture.Gone)
	}
	if err != nil {
		return nil, err
	}
	*address = picture.Renamed(*address, account)
	files := make([]picture.File, len(names))
	for i, name := range picture.Names(*address) {
		files[i] = picture.File{Name: name, Body: bodies[names[i]]}
	}
	return files, nil
}

// IntactPicture compares the checksum of a file with the one that it was written with.
func IntactPicture(name string, is, should int64) error {
	if is == should {
		return nil
	}
	return &Damaged{Table: PictureTable.Name, Name: name}
}

// SavePictures writes new files of a campaign, and removes those of the pictures that it had at some addresses and has
// no longer.
func SavePictures(t *Tx, account, campaign int64, files []picture.File, was, is []string) {
	kept := picture.Names(is...)
	for _, name := range picture.Names(was...) {
		if !slices.Contains(kept, name) {
			t.Delete(PictureTable, account, name)
		}
	}
	for _, f := range files {
		t.Insert(PictureTable, account, f.Name, campaign, f.Body, Checksum(f.Body))
	}
}

// Picture is a file of a picture, for anyone who knows its name.
type Picture struct {
	Account int64
	Size    int64
	store   *Store
	name    string
	sum     int64
}

// Picture finds a file of a picture by its name.
func (s *Store) Picture(ctx context.Context, name string) (Picture, error) {
	start := func(account int64) (Picture, error) {
		return Find(ctx, s, crm.ErrNotFound, func(r db.Row) Picture {
			return Picture{Account: r.Int(0), Size: r.Int(1), sum: r.Int(2), store: s, name: name}
		}, sqlPictureStart, account, name)
	}
	if account := picture.Owner(name); account != 0 {
		if found, err := start(account); !errors.Is(err, crm.ErrNotFound) {
			return found, err
		}
	}
	account, err := Find(ctx, s, crm.ErrNotFound, Number, sqlPictureOwner, name)
	if err != nil {
		return Picture{}, err
	}
	return start(account)
}

// pictureOwner is the account that has a file, 0 where no one has it.
func pictureOwner(c db.Conn, name string) (int64, error) {
	if account := picture.Owner(name); account != 0 {
		if has, err := c.Exists(sqlPictureStart, account, name); has || err != nil {
			return account, err
		}
	}
	return c.Int(sqlPictureOwner, name)
}

// picturePart is how much of a picture is in memory while a client takes its time to read it.
const picturePart = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteTo writes the picture, a part at a time. The last part is held back where the picture is damaged.
func (p Picture) WriteTo(ctx context.Context, w io.Writer) error {
	sum := uint32(0)
	for from := int64(0); from < p.Size; from += picturePart {
		part, err := Find(ctx, p.store, crm.ErrNotFound, func(r db.Row) []byte { return slices.Clone(r.Bytes(0)) },
			sqlPicturePart, p.Account, p.name, from+1, int64(picturePart))
		if err != nil {
			return err
		}
		if sum = crc32.Update(sum, castagnoli, part); from+int64(len(part)) >= p.Size {
			if err := IntactPicture(p.name, int64(sum), p.sum); err != nil {
				return err
			}
		}
		if len(part) == 0 {
			return errors.New("the picture became shorter while it was read")
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
