package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"donorbook/internal/db"
)

// A page may be far larger than an ordinary one: a hundred contacts of 128 KiB. So it is read in pieces, each is handed on
// before the next is read, and a client that reads slowly holds no connection to the database. Which elements are on a page is
// decided with its first piece. An element of a later piece is shown as it is when its turn comes, or left out where it was deleted.

// PieceSize is how long a piece gets before it is handed on. The element that fills it is still in it, so that a piece may be
// longer by one element. Ordinary pages are one piece.
const PieceSize = 256 << 10

// Flush takes over what was appended so far, and returns where to append what follows. found is known before anything is sent.
type Flush func(dst []byte, found ListResult) ([]byte, error)

// element appends one row of a list.
type element func(dst []byte, r db.Row) ([]byte, error)

// errFull ends the reading of a piece.
var errFull = errors.New("the piece is full")

// pieces appends the elements of a list to an answer, separated by commas.
type pieces struct {
	dst    []byte
	flush  Flush // nil keeps everything in dst
	begin  int   // of the piece in dst
	start  int   // of what the last statement has read
	before int   // elements of the statements before
	n      int   // elements of the last statement
	last   int64 // the id of the last element
	lossy  bool  // elements may be deleted before their turn comes
	found  ListResult

	fields fieldReader // of contacts
}

func newPieces(dst []byte, flush Flush) *pieces {
	return &pieces{dst: dst, flush: flush, begin: len(dst), start: len(dst)}
}

// read appends the rows of a statement, as far as the piece goes.
func (p *pieces) read(c db.Conn, element element, sql string, args ...any) (err error) {
	row := func(r db.Row) error { return p.add(element, r) }
	for range fieldReads {
		p.again()
		if err = c.UpTo(2*PieceSize).Each(row, sql, args...); errors.Is(err, errFull) {
			return nil
		}
		if !p.fields.missed(c, &err) {
			break
		}
	}
	return err
}

// again drops what an earlier attempt has appended.
func (p *pieces) again() { p.dst, p.n = p.dst[:p.start], 0 }

func (p *pieces) add(element element, r db.Row) (err error) {
	if p.before+p.n > 0 {
		p.dst = append(p.dst, ',')
	}
	if p.dst, err = element(p.dst, r); err != nil {
		return err
	}
	p.n++
	p.last = r.Int(0)
	if p.full() {
		return errFull
	}
	return nil
}

func (p *pieces) full() bool { return p.flush != nil && len(p.dst)-p.begin >= PieceSize }

// rest reads the elements that the first statement has left. ask reads those with the given ids, in their order. It is asked for about as
// many as will fit: a database elsewhere would send all the others in vain.
func (p *pieces) rest(ctx context.Context, s *Store, ids []int64, ask func(c db.Conn, ids []int64) error) (err error) {
	for ids = ids[p.n:]; len(ids) > 0; {
		n := p.n
		if err := p.next(); err != nil {
			return err
		}
		some := ids[:min(len(ids), max(1, 2*n))]
		if err := s.read(ctx, func(c db.Conn) error { return ask(c, some) }); err != nil {
			return err
		}
		if p.full() {
			some = some[:slices.Index(some, p.last)+1]
		}
		if p.n < len(some) && !p.lossy {
			return missingElements(len(some)-p.n, len(some), some[0])
		}
		ids = ids[len(some):]
	}
	return nil
}

// next hands on a piece that is full, and begins another statement.
func (p *pieces) next() (err error) {
	if p.full() {
		if p.dst, err = p.flush(p.dst, p.found); err != nil {
			return err
		}
		p.begin = len(p.dst)
	}
	p.start, p.before = len(p.dst), p.before+p.n
	return nil
}

func missingElements(n, of int, from int64) error {
	return fmt.Errorf("%d of %d elements of a list cannot be found, from %d on", n, of, from)
}

// first are those of a page to ask for at first: fewer than all of them where they are known to be large.
func (p *pieces) first(index *db.Positions, seqs []int64) []int64 {
	if n := int(index.Fits.Load()); n > 0 && n < len(seqs) && p.flush != nil {
		return seqs[:n]
	}
	return seqs
}

// learn looks at what the first statement has read of a page.
func (p *pieces) learn(index *db.Positions, seqs []int64) {
	if p.full() {
		index.Fits.Store(2 * int64(p.n))
	} else if index.Fits.Load() != 0 && (len(p.dst)-p.begin)*len(seqs) < PieceSize*p.n { // a page like this fits
		index.Fits.Store(0)
	}
}
