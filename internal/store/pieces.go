package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"donorbook/internal/crm"
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
	more   bool  // the last statement has left elements, because the piece is full
	lossy  bool  // elements may be deleted before their turn comes
	found  ListResult

	missing learner // nil where an element needs nothing but its row
}

// learner reads what elements must know beside their rows.
type learner interface {
	// learn tells whether a statement has failed because something was not known, and must run again: it is known now.
	learn(c db.Conn, failed error) (again bool, err error)
}

// learns is how often something may change in a row while one statement reads elements.
const learns = 20

func newPieces(dst []byte, flush Flush) *pieces {
	return &pieces{dst: dst, flush: flush, begin: len(dst), start: len(dst)}
}

// read appends the rows of a statement, as far as the piece goes.
func (p *pieces) read(c db.Conn, element element, sql string, args ...any) (err error) {
	row := func(r db.Row) error { return p.add(element, r) }
	for range learns {
		p.again()
		if err = c.UpTo(2*PieceSize).Each(row, sql, args...); errors.Is(err, errFull) {
			p.more = true
			return nil
		}
		if !p.mustRepeat(c, &err) {
			break
		}
	}
	return err
}

// again drops what an earlier attempt has appended.
func (p *pieces) again() { p.dst, p.n, p.more = p.dst[:p.start], 0, false }

func (p *pieces) add(element element, r db.Row) (err error) {
	p.separate()
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

// append appends an element that was read before.
func (p *pieces) append(id int64, text []byte) {
	p.separate()
	p.dst = append(p.dst, text...)
	p.n++
	p.last = id
}

func (p *pieces) separate() {
	if p.before+p.n > 0 {
		p.dst = append(p.dst, ',')
	}
}

func (p *pieces) full() bool { return p.flush != nil && len(p.dst)-p.begin >= PieceSize }

// readInOrder is read for elements in another order than that of the statement, whose last argument is their ids. Those of the beginning that
// have come before the piece was full are appended. Where there is none, fewer are asked for.
func (p *pieces) readInOrder(c db.Conn, element element, ids []int64, sql string, args ...any) error {
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
		if p.n > 0 || len(ids) == 1 {
			p.more = 0 < p.n && p.n < len(all)
			return nil
		}
	}
}

// collect reads the rows of a statement, as far as the piece goes.
func (p *pieces) collect(c db.Conn, element element, sql string, args ...any) (found map[int64][]byte, err error) {
	for range learns {
		p.again()
		found = make(map[int64][]byte)
		size := len(p.dst) - p.begin
		err = c.UpTo(2*PieceSize).Each(func(r db.Row) error {
			text, err := element(nil, r)
			if err != nil {
				return err
			}
			found[r.Int(0)] = text
			if size += len(text); p.flush != nil && size >= PieceSize {
				return errFull
			}
			return nil
		}, sql, args...)
		if errors.Is(err, errFull) {
			return found, nil
		}
		if !p.mustRepeat(c, &err) {
			break
		}
	}
	return found, err
}

// mustRepeat tells whether a statement has to run again, because an element had to know something that is known now.
func (p *pieces) mustRepeat(c db.Conn, err *error) (again bool) {
	if *err != nil && p.missing != nil {
		again, *err = p.missing.learn(c, *err)
	}
	return again
}

// rest reads the elements that the first statement has left. ask reads those with the given ids, in their order. It is asked for about as
// many as will fit: a database elsewhere would send all the others in vain.
func (p *pieces) rest(ctx context.Context, s *Base, ids []int64, ask func(c db.Conn, ids []int64) error) (err error) {
	for ids = ids[slices.Index(ids, p.last)+1:]; len(ids) > 0; {
		some := ids[:min(len(ids), max(1, 2*p.n))]
		if err := p.next(); err != nil {
			return err
		}
		if err := s.read(ctx, func(c db.Conn) error { return ask(c, some) }); err != nil {
			return err
		}
		if p.more {
			some = some[:slices.Index(some, p.last)+1]
		}
		if p.n < len(some) && !p.lossy {
			return fmt.Errorf("%d of %d elements of a list cannot be found, from %d on", len(some)-p.n, len(some), some[0])
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

// ListResult says how much of a list was found.
type ListResult struct {
	Total int64 // elements of the whole list
	Count int64 // elements on this page
}

// pageOrder says where a page lies in a list that is kept oldest first.
type pageOrder func(page crm.PageRequest) span

func oldestFirst(page crm.PageRequest) span {
	return func(total int64) (from, to int64) { return page.Skip(), min(page.Skip()+page.PerPage, total) }
}

func newestFirst(page crm.PageRequest) span {
	return func(total int64) (int64, int64) {
		from, to := oldestFirst(page)(total)
		return total - to, total - from
	}
}

// span says where a page lies in a list of so many elements.
type span func(total int64) (from, to int64)
