package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

// Error is a failure that HTTP itself knows about. Message is for the client; Err is for the log alone.
type Error struct {
	Status  int
	Message string
	Header  http.Header // added to the answer; may be nil
	Err     error       // the private cause; may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + " (" + e.Err.Error() + ")"
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// StatusClientClosed is the status in the log for a request whose client left before the answer.
const StatusClientClosed = 499

const (
	messageInternal    = "Something went wrong on our side. Please try again later."
	messageUnavailable = "The service is temporarily unavailable. Please try again."
)

// StatusOf is the one table from a failure to what the client is told.
func StatusOf(err error) (status int, message string) {
	var malformed *doc.Malformed
	var invalid *doc.Invalid
	var own *Error
	switch {
	case errors.As(err, &own):
		return own.Status, own.Message
	case errors.Is(err, crm.ErrUnauthenticated):
		return http.StatusUnauthorized, "Unauthenticated."
	case errors.Is(err, crm.ErrForbidden), errors.Is(err, crm.ErrArchived):
		return http.StatusForbidden, "This action is unauthorized."
	case errors.Is(err, crm.ErrNotFound):
		return http.StatusNotFound, "Not found."
	case errors.Is(err, crm.ErrChanged):
		return http.StatusConflict, "Someone else changed this in the meantime, so nothing was saved. Look at it again, then repeat your change."
	case errors.Is(err, crm.ErrNotMatched):
		return http.StatusPreconditionFailed, "This has changed since the state that If-Match names, so nothing was saved. Read it again, then repeat your change."
	case errors.As(err, &malformed):
		return http.StatusBadRequest, malformed.Message
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity, invalid.Error()
	case errors.Is(err, crm.ErrImporting):
		return http.StatusServiceUnavailable, "This organization is being imported. It can be changed once that is done."
	case errors.Is(err, crm.ErrTooMany):
		return http.StatusTooManyRequests, "Too many large requests at once. Wait until some of them are complete, then try again."
	case errors.Is(err, crm.ErrCrowded):
		return http.StatusServiceUnavailable, "Too many large lists and files are being read at once. Please try again in a few seconds."
	case errors.Is(err, crm.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), outOfFiles(err):
		return http.StatusServiceUnavailable, messageUnavailable
	case errors.Is(err, context.Canceled):
		return StatusClientClosed, messageUnavailable
	default:
		return http.StatusInternalServerError, messageInternal
	}
}

// outOfFiles tells that the process or the machine has no file descriptor left. That passes once others are closed.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// cause is what the log says about an error beyond its status; nil if the status says it all. The text of refused input is left
// out: it may repeat what a person typed.
func cause(err error, status int) error {
	var own *Error
	switch {
	case status >= http.StatusInternalServerError:
		return err
	case errors.As(err, &own):
		return own.Err
	default:
		return nil
	}
}

// NotFound is a path without a route.
func NotFound() error {
	return &Error{Status: http.StatusNotFound, Message: "Not found."}
}

// MethodNotAllowed is a path that exists for other methods, which allow lists.
func MethodNotAllowed(allow string) error {
	return &Error{
		Status:  http.StatusMethodNotAllowed,
		Message: "This method is not allowed here.",
		Header:  http.Header{"Allow": {allow}},
	}
}

// TooManyRequests tells a caller to wait.
func TooManyRequests(retryAfter time.Duration) error {
	return &Error{
		Status:  http.StatusTooManyRequests,
		Message: "Too many requests.",
		Header:  http.Header{"Retry-After": {retrySeconds(retryAfter)}},
	}
}

// retrySeconds rounds up, so that a client that waits exactly that long is allowed in.
func retrySeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

func bodyTooLarge(limit int64) error {
	return &Error{
		Status:  http.StatusRequestEntityTooLarge,
		Message: "The request body must not be larger than " + Size(limit) + ".",
	}
}

// Size is a number of bytes in words.
func Size(bytes int64) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return strconv.FormatInt(bytes>>10, 10) + " KiB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}

func notJSON() error {
	return notReadable("The request body must be JSON: send Content-Type: application/json.")
}

func notReadable(message string) error {
	return &Error{Status: http.StatusUnsupportedMediaType, Message: message}
}

const messageHTTPSOnly = "This service only answers over HTTPS."

func httpsOnly() error {
	return &Error{Status: http.StatusBadRequest, Message: messageHTTPSOnly}
}

// ErrorRenderer writes the answer for an error that a handler returned. Headers that describe another body were
// removed before.
type ErrorRenderer func(w http.ResponseWriter, r *http.Request, err error)

// WriteJSONError answers with the status and the public message of an error.
func WriteJSONError(w http.ResponseWriter, err error) {
	status, message := ErrorHeaders(w.Header(), err)
	body := errorBody(err, message)
	w.Header()["Content-Type"] = jsonType
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))} // the answer is sent before the handler returns: see drain
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}

// ErrorHeaders sets the headers that belong to an error (Allow, Retry-After and the like) and returns the status to send and the
// message to show, for renderers of other formats than JSON.
func ErrorHeaders(h http.Header, err error) (status int, message string) {
	var own *Error
	status, message = StatusOf(err)
	if status == StatusClientClosed {
		status = http.StatusServiceUnavailable // 499 is for the log; HTTP does not know it
	}
	switch {
	case errors.As(err, &own):
		maps.Copy(h, own.Header)
	case errors.Is(err, crm.ErrTooMany), errors.Is(err, crm.ErrCrowded):
		h.Set("Retry-After", "5")
	case status == http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	case status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	}
	return status, message
}

// ErrorBody is the body of what WriteJSONError answers.
func ErrorBody(err error) []byte {
	_, message := StatusOf(err)
	return errorBody(err, message)
}

func errorBody(err error, message string) []byte {
	var invalid *doc.Invalid
	b := new(bytes.Buffer)
	b.WriteString(`{"message":`)
	writeJSON(b, strings.ToValidUTF8(message, "\uFFFD"))
	if errors.As(err, &invalid) && len(invalid.Faults) > 0 {
		b.WriteString(`,"errors":`)
		writeFaults(b, invalid.Faults)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// maxFaults is how many faults an answer lists; its message says how many there are. Without it, an answer could be larger than
// the body that it is about.
const maxFaults = 1000

// writeFaults writes one key per field, in the order in which the fields were found wrong.
func writeFaults(b *bytes.Buffer, faults []doc.Fault) {
	faults = faults[:min(len(faults), maxFaults)]
	var fields []string
	messages := make(map[string][]string)
	for _, f := range faults {
		if _, seen := messages[f.Field]; !seen {
			fields = append(fields, f.Field)
		}
		messages[f.Field] = append(messages[f.Field], f.String())
	}
	b.WriteByte('{')
	for i, field := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		writeJSON(b, field)
		b.WriteByte(':')
		writeJSON(b, messages[field])
	}
	b.WriteByte('}')
}

// writeJSON writes a text or a list of texts without the escapes that only matter inside HTML.
func writeJSON(b *bytes.Buffer, value any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value)   // texts always encode
	b.Truncate(b.Len() - 1) // the encoder ends with a line feed
}
