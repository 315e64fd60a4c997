package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// A page may be far larger than an ordinary one: a hundred contacts of 128 KiB. So it is read in pieces, each is handed
// on before the next is read, and a client that reads slowly holds no connection to the database. Which elements are on
// a page is decided with its first piece. An element of a later piece is shown as it is when its turn comes, or left
// out where it was deleted.

// PieceSize is how long a piece gets before it is handed on. The element that fills it is still in it, so that a piece
// may be longer by one element. Ordinary pages are one piece.
const PieceSize = 256 << 10

// Flush takes over what was appended so far, and returns where to append what follows. found is known before anything
// is sent.
type Flush func(dst []byte, found ListResult) ([]byte, error)

// element appends one row of a list.
type element func(dst []byte, r db.Row) ([]byte, error)

// ErrFull ends the reading of a piece.
var ErrFull = errors.New("the piece is full")

// Pieces appends the elements of a list to an answer, separated by commas.
type Pieces struct {
	Dst    []byte
	flush  Flush // nil keeps everything in dst
	begin  int   // of the piece in dst
	Start  int   // of what the last statement has read
	Before int   // elements of the statements before
	N      int   // elements of the last statement
	last   int64 // the id of the last element
	More   bool  // the last statement has left elements, because the piece is full
	Lossy  bool  // elements may be deleted before their turn comes
	Found  ListResult

	Missing learner // nil where an element needs nothing but its row
}

// learner reads what elements must know beside their rows.
type learner interface {
	// learn tells whether a statement has failed because something was not known, and must run again: it is known now.
	Learn(c db.Conn, failed error) (again bool, err error)
}

// learns is how often something may change in a row while one statement reads elements.
const learns = 20

func NewPieces(dst []byte, flush Flush) *Pieces {
	return &Pieces{Dst: dst, flush: flush, begin: len(dst), Start: len(dst)}
}

// Read appends the rows of a statement, as far as the piece goes.
func (p *Pieces) Read(c db.Conn, element element, sql string, args ...any) (err error) {
	row := func(r db.Row) error { return p.add(element, r) }
	for range learns {
		p.Again()
		if err = c.UpTo(2*PieceSize).Each(row, sql, args...); errors.Is(err, ErrFull) {
			p.More = true
			return nil
		}
		if !p.mustRepeat(c, &err) {
			break
		}
	}
	return err
}

// Again drops what an earlier attempt has appended.
func (p *Pieces) Again() { p.Dst, p.N, p.More = p.Dst[:p.Start], 0, false }

func (p *Pieces) add(element element, r db.Row) (err error) {
	p.separate()
	if p.Dst, err = element(p.Dst, r); err != nil {
		return err
	}
	p.N++
	p.last = r.Int(0)
	if p.Full() {
		return ErrFull
	}
	return nil
}

// append appends an element that was read before.
func (p *Pieces) append(id int64, text []byte) {
	p.separate()
	p.Dst = append(p.Dst, text...)
	p.N++
	p.last = id
}

func (p *Pieces) separate() {
	if p.Before+p.N > 0 {
		p.Dst = append(p.Dst, ',')
	}
}

func (p *Pieces) Full() bool { return p.flush != nil && len(p.Dst)-p.begin >= PieceSize }

// ReadInOrder is read for elements in another order than that of the statement, whose last argument is their ids. Those
// of the beginning that have come before the piece was full are appended. Where there is none, fewer are asked for.
func (p *Pieces) ReadInOrder(c db.Conn, element element, ids []int64, sql string, args ...any) error {
	for all := ids; ; ids = ids[:(len(ids)+1)/2] {
		found, err := p.collect(c, element, sql, append(slices.Clone(args), ids)...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if found[id] == nil {
				break
			}
			p.append(id, found[id])
		}
		if p.N > 0 || len(ids) == 1 {
			p.More = 0 < p.N && p.N < len(all)
			return nil
		}
	}
}

// collect reads the rows of a statement, as far as the piece goes.
func (p *Pieces) collect(c db.Conn, element element, sql string, args ...any) (found map[int64][]byte, err error) {
	for range learns {
		p.Again()
		found = make(map[int64][]byte)
		size := len(p.Dst) - p.begin
		err = c.UpTo(2*PieceSize).Each(func(r db.Row) error {
			text, err := element(nil, r)
			if err != nil {
				return err
			}
			found[r.Int(0)] = text
			if size += len(text); p.flush != nil && size >= PieceSize {
				return ErrFull
			}
			return nil
		}, sql, args...)
		if errors.Is(err, ErrFull) {
			return found, nil
		}
		if !p.mustRepeat(c, &err) {
			break
		}
	}
	return found, err
}

// mustRepeat tells whether a statement has to run again, because an element had to know something that is known now.
func (p *Pieces) mustRepeat(c db.Conn, err *error) (again bool) {
	if *err != nil && p.Missing != nil {
		again, *err = p.Missing.Learn(c, *err)
	}
	return again
}

// Rest reads the elements that the first statement has left. ask reads those with the given ids, in their order. It is
// asked for about as many as will fit: a database elsewhere would send all the others in vain. Each piece waits for its
// turn.
func (p *Pieces) Rest(ctx context.Context, s *Store, account int64, ids []int64,
	ask func(c db.Conn, ids []int64) error,
) (err error) {
	for ids = ids[slices.Index(ids, p.last)+1:]; len(ids) > 0; {
		some := ids[:min(len(ids), max(1, 2*p.N))]
		if err := p.next(); err != nil {
			return err
		}
		err := s.Heavy.Again(ctx, account, func() error {
			return s.Read(ctx, func(c db.Conn) error { return ask(c, some) })
		})
		if err != nil {
			return err
		}
		if p.More {
			some = some[:slices.Index(some, p.last)+1]
		}
		if p.N < len(some) && !p.Lossy {
			return fmt.Errorf("%d of %d elements of a list cannot be found, from %d on", len(some)-p.N, len(some),
				some[0])
		}
		ids = ids[len(some):]
	}
	return nil
}

// next hands on a piece that is full, and begins another statement.
func (p *Pieces) next() (err error) {
	if p.Full() {
		if p.Dst, err = p.flush(p.Dst, p.Found); err != nil {
			return err
		}
		p.begin = len(p.Dst)
	}
	p.Start, p.Before = len(p.Dst), p.Before+p.N
	return nil
}

// ListResult says how much of a list was found.
type ListResult struct {
	Total int64 // elements of the whole list
	Count int64 // elements on this page
}

// PageOrder says where a page lies in a list that is kept oldest first.
type PageOrder func(page crm.PageRequest) span

func OldestFirst(page crm.PageRequest) span {
	return func(total int64) (from, to int64) { return page.Skip(), min(page.Skip()+page.PerPage, total) }
}

func NewestFirst(page crm.PageRequest) span {
	return func(total int64) (int64, int64) {
		from, to := OldestFirst(page)(total)
		return total - to, total - from
	}
}

// span says where a page lies in a list of so many elements.
type span func(total int64) (from, to int64)

// Contents is what is in a database, for a person to recognize it by.
type Contents struct {
	Schema   int   // version
	Accounts int64 // organizations and chapters
	Contacts int64 // archived ones too
}

// ContentsOf reads all of a database file that is not in use, and tells what is in it. It refuses a schema that is not
// ours before anything in it can run. It changes nothing.
func ContentsOf(ctx context.Context, file string) (found Contents, err error) {
	found.Schema, err = db.CheckFile(ctx, file, &Schema,
		func(r db.Row) { found.Accounts, found.Contacts = r.Int(0), r.Int(1) },
		`SELECT COUNT(*), COALESCE(SUM(contact_seq), 0) FROM account_tally`)
	return found, Translate(err)
}
