package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// ReadBody returns the whole body of a request of at most limit bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	switch {
	case r.ContentLength > limit:
		return nil, bodyTooLarge(limit)
	case r.ContentLength == 0 || r.Body == nil:
		return nil, nil
	case r.ContentLength < 0:
		return readChunks(w, r, limit)
	}
	if err := Hold(w, bodyCopies*int(r.ContentLength)); err != nil {
		return nil, err
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, brokenBody(err)
	}
	return body, nil
}

// readChunks reads a body that does not tell its length.
func readChunks(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, min(limit, smallBody)+1))
	if err == nil && len(body) > smallBody {
		if err := Hold(w, bodyCopies*int(limit)); err != nil {
			return nil, err
		}
		var rest []byte
		rest, err = io.ReadAll(io.LimitReader(r.Body, limit+1-int64(len(body))))
		body = append(body, rest...)
	}
	if err != nil {
		return nil, brokenBody(err)
	}
	if int64(len(body)) > limit {
		return nil, bodyTooLarge(limit)
	}
	return body, nil
}

// What a body takes for each of its bytes: itself, and the copy that the texts in it are parts of.
const bodyCopies = 2

// smallBody is what is read of a body of unknown length before it counts as a large one.
const smallBody = budgetFree / bodyCopies

func brokenBody(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Status: http.StatusRequestTimeout, Message: "The request body did not arrive in time.", Err: err}
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read to its end.", Err: err}
}

// maxDrain is how much of a refused body is read and thrown away.
const maxDrain = 16 << 20

// drain reads what a refused request still sends. Simple clients send everything before they read the answer: if the
// connection were closed at once, they would see it break and never learn why. net/http does this itself for 256 KiB.
// The answer is sent first, for clients that do look. The read timeout of the request ends it in any case.
func drain(x *exchange, r *http.Request) {
	switch {
	case r.ContentLength == 0 || x.status < http.StatusBadRequest || x.writeFailed:
		return
	case r.ProtoMajor != 1 || r.Header["Expect"] != nil:
		return // HTTP/2 ends the one stream and says so; a client that asked first sends nothing once it is refused
	}
	if x.FlushError() == nil {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain) // how it ends is all the same: the answer is given
	}
}

// RequireJSON refuses a body that calls itself anything but JSON in UTF-8. A body without a type is taken for JSON.
func RequireJSON(r *http.Request) error {
	value := r.Header.Get("Content-Type")
	if value == "" || value == "application/json" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(value)
	if err != nil {
		return notJSON()
	}
	sub, isApplication := strings.CutPrefix(kind, "application/")
	if !isApplication || sub != "json" && !strings.HasSuffix(sub, "+json") {
		return notJSON()
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return notJSON()
	}
	return nil
}

// net/http counts a short answer by itself; a longer one it would send in chunks.
const countedByServer = 2048

// BeginJSON begins an answer whose length is not known yet.
func BeginJSON(w http.ResponseWriter, status int) {
	w.Header()["Content-Type"] = jsonType
	w.WriteHeader(status)
}

// WriteJSON answers with bytes that are JSON already.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h["Content-Type"] = jsonType
	if len(body) > countedByServer {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}
