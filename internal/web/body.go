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
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	switch {
	case r.ContentLength > limit:
		return nil, bodyTooLarge(limit)
	case r.ContentLength == 0 || r.Body == nil:
		return nil, nil
	case r.ContentLength > 0:
		body := make([]byte, r.ContentLength)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return nil, brokenBody(err)
		}
		return body, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, brokenBody(err)
	}
	if int64(len(body)) > limit {
		return nil, bodyTooLarge(limit)
	}
	return body, nil
}

func brokenBody(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Error{Status: http.StatusRequestTimeout, Message: "The request body did not arrive in time.", Err: err}
	}
	return &Error{Status: http.StatusBadRequest, Message: "The request body could not be read to its end.", Err: err}
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
