package api

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

// buffers hold answers while they are built.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// keep returns the memory of an answer to its buffer, unless the answer was unusually large.
func keep(buffer *[]byte, body []byte) {
	if cap(body) <= store.PieceSize {
		*buffer = body[:0]
	}
}

// respond lets build append a body to a pooled buffer and sends it. The memory counts against the budget until the client has read it.
func respond(w http.ResponseWriter, build func(dst []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	body, err := build((*buffer)[:0])
	keep(buffer, body)
	if err != nil {
		return err
	}
	out := delivery{w: w}
	return out.end(body)
}

// respondTagged answers with one document and the tag of the state that it is in, unless the client has it as it is, or wants another state.
func respondTagged(w http.ResponseWriter, r *http.Request, read func(dst []byte) ([]byte, doc.ETag, error)) error {
	err := respond(w, func(dst []byte) ([]byte, error) {
		dst, tag, err := read(dst)
		if err != nil {
			return dst, err
		}
		w.Header()["Etag"] = []string{string(tag.Append(nil))}
		if wanted := r.Header["If-Match"]; wanted != nil && !tag.Matches(wanted) {
			return dst, crm.ErrNotMatched
		}
		if known := r.Header["If-None-Match"]; known != nil && tag.Matches(known) {
			return dst, errNotModified
		}
		return dst, nil
	})
	if errors.Is(err, errNotModified) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return err
}

// errNotModified: the client has the document as it is.
var errNotModified = errors.New("not modified")

// respond answers with one page of the list. build appends its elements, and may flush them in pieces.
func (l *list) respond(w http.ResponseWriter, build fetch) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	l.out.w = w
	body, found, err := build(l.begin((*buffer)[:0]), l.flush)
	if err == nil {
		body = l.end(body, found)
	}
	keep(buffer, body)
	if err != nil {
		return err
	}
	l.setLinks(found)
	return l.out.end(body)
}

// flush sends a piece of the list.
func (l *list) flush(piece []byte, found store.ListResult) ([]byte, error) {
	l.setLinks(found)
	return l.out.flush(piece)
}

// delivery is an answer that is being sent.
type delivery struct {
	w     http.ResponseWriter
	begun bool // the first piece was sent, and with it the status
}

// flush sends a piece. All pieces of an answer share the memory of one, which is at most one element longer than PieceSize.
func (d *delivery) flush(piece []byte) ([]byte, error) {
	if !d.begun {
		if err := web.Hold(d.w, 2*store.PieceSize); err != nil {
			return piece, err
		}
		web.BeginJSON(d.w, http.StatusOK)
		d.begun = true
	}
	_, err := d.w.Write(piece)
	return piece[:0], err
}

// end sends the rest.
func (d *delivery) end(body []byte) error {
	if !d.begun || len(body) > 2*store.PieceSize {
		if err := web.Hold(d.w, len(body)); err != nil {
			return err
		}
	}
	if d.begun {
		_, err := d.w.Write(body)
		return err
	}
	return web.WriteJSON(d.w, http.StatusOK, body)
}

// answerOf is how every change is answered; the body is appended to dst.
func answerOf(dst []byte, made store.Result) (a store.Answer) {
	a.Status = http.StatusOK
	of := made.Outcome()
	switch {
	case of.Created || of.Merged:
		a.Status = http.StatusCreated
	case of.Unfinished:
		a.Status = http.StatusAccepted
	}
	if of.Tag != (doc.ETag{}) {
		a.Header = string(of.Tag.Append([]byte("ETag: ")))
	}
	if of.Merged {
		a.Header += "\nX-Contact-Merged: true"
	}
	switch {
	case of.Merge == 0:
	case !of.Merged: // by which the change can be undone
		a.Header += "\nX-Merge-Id: " + strconv.FormatInt(of.Merge, 10)
	case of.Review:
		a.Header += "\nX-Contact-Merge-Id: " + strconv.FormatInt(of.Merge, 10) + "\nX-Contact-Merge-Review: true"
	default:
		a.Header += "\nX-Contact-Merge-Id: " + strconv.FormatInt(of.Merge, 10)
	}
	a.Body = made.Append(dst)
	return a
}

// changes handles a change, and answers with what it has made.
func changes[M store.Result](change func(a *API, w http.ResponseWriter, r *http.Request, c call) (M, error)) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request, c call) error {
		made, err := change(a, w, r, c)
		if err != nil {
			return err
		}
		return writeDocument(w, made)
	}
}

// writeDocument answers with what was written. It needs no place in the memory budget: the change is made already, so the answer must
// not be refused.
func writeDocument(w http.ResponseWriter, made store.Result) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	answer := answerOf((*buffer)[:0], made)
	keep(buffer, answer.Body)
	return writeAnswer(w, answer)
}

// writeDeleted answers that something is gone.
func writeDeleted(w http.ResponseWriter, err error) error {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// writeArchived answers that a contact is archived, as clients know it: with an empty text.
func writeArchived(w http.ResponseWriter, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return nil
}

func writeAnswer(w http.ResponseWriter, a store.Answer) error {
	for line := range strings.Lines(a.Header) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		w.Header().Set(name, value)
	}
	return web.WriteJSON(w, a.Status, a.Body)
}

// readJSON reads a body whose type must be JSON; an empty body needs no type.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := web.ReadBody(w, r, web.MaxBody)
	if err == nil && len(body) > 0 {
		err = web.RequireJSON(r)
	}
	if err == nil {
		err = r.Context().Err() // the client has left, so do nothing
	}
	return bytes.TrimPrefix(body, byteOrderMark), err
}

// byteOrderMark is what some programs of Windows write before UTF-8.
var byteOrderMark = []byte("\ufeff")

// decode lets read take the body of a request, and names the keys that it has ignored. A body that is not needed and says nothing is not read.
func decode[I any](a *API, w http.ResponseWriter, r *http.Request, c call, read func(*doc.Reader) (I, error)) (in I, err error) {
	body, err := readJSON(w, r)
	if err == nil && (c.op.body == neededBody || !changesNothing(body)) {
		reader := doc.NewBody(body)
		reader.Strict = c.strict
		in, err = read(reader)
		nameIgnored(w, "X-Ignored-Body", reader.Ignored)
	}
	return in, a.resourceFirst(r, c, err)
}

// checked reads a body, and checks it together with what was wrong with reading it.
func checked[I any](read func(*doc.Reader) (I, *doc.Invalid, error), check func(in *I, faults *doc.Invalid) error) func(*doc.Reader) (I, error) {
	return func(body *doc.Reader) (I, error) {
		in, faults, err := read(body)
		if err == nil {
			err = check(&in, faults)
		}
		return in, err
	}
}

// resourceFirst reports an error of what was sent only to a client that may see what the path names: errors of the resource come first.
func (a *API) resourceFirst(r *http.Request, c call, err error) error {
	if err == nil || c.op.id == nil || c.op.id.check == nil {
		return err
	}
	return cmp.Or(c.op.id.check(a, r.Context(), c), err)
}

// changesNothing tells whether the body of a change is empty, or [], which is how PHP writes an object without keys.
func changesNothing(body []byte) bool {
	const space = " \t\r\n"
	inside, begins := bytes.CutPrefix(bytes.TrimLeft(body, space), []byte("["))
	return len(body) == 0 || begins && string(bytes.Trim(inside, space)) == "]"
}
