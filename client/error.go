package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error is an answer of the server that is not a success. Find it with errors.As.
type Error struct {
	Status     int
	Message    string              // a plain sentence
	Fields     map[string][]string // what is wrong with each field (status 422), by its path, such as emails.0.value
	RequestID  string              // of the server's log line
	RetryAfter time.Duration       // how long the server asks to wait, 0 if it does not
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%d %s", e.Status, e.Message)
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

func newError(response *http.Response, body []byte) *Error {
	e := &Error{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id"), RetryAfter: retryAfter(response.Header.Get("Retry-After"))}
	var said struct {
		Message string
		Errors  map[string][]string
	}
	_ = json.Unmarshal(body, &said) // a proxy in between may answer with a page
	e.Message, e.Fields = said.Message, said.Errors
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	return e
}

// retryAfter reads the header, which is a number of seconds or a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
