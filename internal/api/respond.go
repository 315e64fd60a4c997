package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"

	"donorbook/internal/store"
	"donorbook/internal/web"
)

// buffers hold answers while they are put together.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keep lets a buffer be used again with the memory that it has got, unless that is a rare giant's.
func keep(buffer *[]byte, body []byte) {
	if cap(body) <= store.PieceSize {
		*buffer = body[:0]
	}
}

// respond lets build append a body to a buffer that is used again, and sends it. Memory that waits for the client is taken from
// the budget.
func (a *API) respond(w http.ResponseWriter, c call, build func(dst []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	body, err := build((*buffer)[:0])
	keep(buffer, body)
	if err != nil {
		return err
	}
	out := delivery{w: w, budget: a.options.Budget, account: c.who.Account}
	defer out.release()
	return out.end(body)
}

// respondList is respond for a body that may be large: build flushes it piece by piece.
func (a *API) respondList(w http.ResponseWriter, c call, build func(dst []byte, flush store.Flush) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	out := delivery{w: w, budget: a.options.Budget, account: c.who.Account}
	defer out.release()
	body, err := build((*buffer)[:0], out.flush)
	keep(buffer, body)
	if err != nil {
		return err
	}
	return out.end(body)
}

// delivery is an answer on its way to the client.
type delivery struct {
	w       http.ResponseWriter
	budget  *web.Budget
	account int64
	begun   bool      // the first piece was sent, and with it the status
	held    [2]func() // of the budget: for the pieces, and for an end that is larger than they
}

func (d *delivery) release() {
	for _, release := range d.held {
		if release != nil {
			release()
		}
	}
}

// flush sends a piece. All pieces of an answer need the memory of one; a piece is longer than PieceSize by one element.
func (d *delivery) flush(piece []byte) ([]byte, error) {
	if !d.begun {
		release, err := d.budget.Take(d.account, 2*store.PieceSize)
		if err != nil {
			return piece, err
		}
		d.held[0] = release
		web.BeginJSON(d.w, http.StatusOK)
		d.begun = true
	}
	_, err := d.w.Write(piece)
	return piece[:0], err
}

// end sends what is left.
func (d *delivery) end(body []byte) error {
	if !d.begun || len(body) > 2*store.PieceSize {
		release, err := d.budget.Take(d.account, len(body))
		if err != nil {
			return err
		}
		d.held[1] = release
	}
	if d.begun {
		_, err := d.w.Write(body)
		return err
	}
	return web.WriteJSON(d.w, http.StatusOK, body)
}

// readJSON reads a body that must be JSON by its type; no body at all has no type. A large one is taken from the budget until
// the request is answered: the client may send it as slowly as it likes.
func (a *API) readJSON(r *http.Request, c call) ([]byte, error) {
	if err := a.reserveBody(r, c); err != nil {
		return nil, err
	}
	body, err := web.ReadBody(r, web.MaxBody)
	if err == nil && len(body) > 0 {
		err = web.RequireJSON(r)
	}
	if err == nil {
		err = r.Context().Err() // nobody waits for what would be done
	}
	return body, err
}

// What a body takes for each of its bytes: itself, and the copy that the texts in it are parts of.
const bodyCopies = 2

// smallBody is what is read of a body of unknown length before it counts as a large one.
const smallBody = 32 << 10

func (a *API) reserveBody(r *http.Request, c call) error {
	size := r.ContentLength
	if size > web.MaxBody {
		return nil // it will not be read
	}
	if size < 0 {
		head, err := io.ReadAll(io.LimitReader(r.Body, smallBody+1))
		r.Body = rejoined{io.MultiReader(bytes.NewReader(head), r.Body), r.Body}
		if err != nil || len(head) <= smallBody {
			return nil // an error comes again when the body is read
		}
		size = web.MaxBody
	}
	release, err := a.options.Budget.Take(c.who.Account, bodyCopies*int(size))
	if err == nil {
		context.AfterFunc(r.Context(), release)
	}
	return err
}

// rejoined is a body whose beginning was read already.
type rejoined struct {
	io.Reader
	io.Closer
}
