package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
)

func TestErrorAnswers(t *testing.T) {
	invalid := new(doc.Invalid)
	invalid.Add("tags", "The tags field must have at least one tag.")
	invalid.Add("emails.0.value", `The email "<a&b>" is not an address.`)
	invalid.Add("tags", "The tags field must be a list.")
	for _, test := range []struct {
		name   string
		err    error
		status int
		body   string
		header [2]string
	}{
		{"unauthenticated", crm.ErrUnauthenticated, 401, `{"message":"Unauthenticated."}`,
			[2]string{"WWW-Authenticate", "Bearer"}},
		{"forbidden", fmt.Errorf("contact 7: %w", crm.ErrForbidden), 403,
			`{"message":"This action is unauthorized."}`, [2]string{}},
		{"archived", fmt.Errorf("contact 7: %w", crm.ErrArchived), 403,
			`{"message":"This action is unauthorized."}`, [2]string{}},
		{"not found", crm.ErrNotFound, 404, `{"message":"Not found."}`, [2]string{}},
		{"changed", fmt.Errorf("contact 7: %w", crm.ErrChanged), 409,
			`{"message":"Someone else changed this in the meantime, so nothing was saved. Look at it again, then repeat your change."}`, [2]string{}},
		{"no route", NotFound(), 404, `{"message":"Not found."}`, [2]string{}},
		{"method", MethodNotAllowed("GET, HEAD"), 405,
			`{"message":"This method is not allowed here."}`, [2]string{"Allow", "GET, HEAD"}},
		{"malformed", &doc.Malformed{Message: "The body must be a JSON object."}, 400,
			`{"message":"The body must be a JSON object."}`, [2]string{}},
		{"invalid", invalid, 422,
			`{"message":"The tags field must have at least one tag. (and 2 more errors)","errors":{` +
				`"tags":["The tags field must have at least one tag.","The tags field must be a list."],` +
				`"emails.0.value":["The email \"<a&b>\" is not an address."]}}`, [2]string{}},
		{"no file descriptor left for a socket", fmt.Errorf("dial: %w",
			&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}), 503,
			`{"message":"The service is temporarily unavailable. Please try again."}`, [2]string{"Retry-After", "1"}},
		{"no file descriptor left on the machine", &os.PathError{Op: "open", Path: "cert.pem", Err: syscall.ENFILE},
			503,
			`{"message":"The service is temporarily unavailable. Please try again."}`, [2]string{"Retry-After", "1"}},
		{"too large", bodyTooLarge(MaxBody), 413,
			`{"message":"The request body must not be larger than 1 MiB."}`, [2]string{}},
		{"not JSON", notJSON(), 415,
			`{"message":"The request body must be JSON: send Content-Type: application/json."}`, [2]string{}},
		{"too many", TooManyRequests(1500 * time.Millisecond), 429,
			`{"message":"Too many requests."}`, [2]string{"Retry-After", "2"}},
		{"too many large lists of an account", crm.ErrTooMany, 429,
			`{"message":"Too many large requests at once. Wait until some of them are complete, then try again."}`,
			[2]string{"Retry-After", "5"}},
		{"too many large lists of all accounts", crm.ErrCrowded, 503,
			`{"message":"Too many large lists and files are being read at once. Please try again in a few seconds."}`,
			[2]string{"Retry-After", "5"}},
		{"unavailable", fmt.Errorf("commit: %w", crm.ErrUnavailable), 503,
			`{"message":"The service is temporarily unavailable. Please try again."}`, [2]string{"Retry-After", "1"}},
		{"importing", fmt.Errorf("contact 7: %w", crm.ErrImporting), 503,
			`{"message":"This organization is being imported. It can be changed once that is done."}`,
			[2]string{"Retry-After", "1"}},
		{"deadline", context.DeadlineExceeded, 503,
			`{"message":"The service is temporarily unavailable. Please try again."}`, [2]string{"Retry-After", "1"}},
		{"client left", context.Canceled, 503,
			`{"message":"The service is temporarily unavailable. Please try again."}`, [2]string{"Retry-After", "1"}},
		{"anything else", errors.New("secret: disk /dev/sda1"), 500,
			`{"message":"Something went wrong on our side. Please try again later."}`, [2]string{}},
		{"private cause", &Error{Status: 400, Message: "Bad.", Err: errors.New("secret")}, 400,
			`{"message":"Bad."}`, [2]string{}},
		{"not text", &doc.Malformed{Message: "a\xffb"}, 400, `{"message":"a` + "\uFFFD" + `b"}`, [2]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			WriteJSONError(rec, test.err)
			equal(t, rec.Code, test.status, "%v", rec.Body)
			equal(t, rec.Body.String(), test.body, "%v", rec.Body)
			equal(t, rec.Header().Get("Content-Type"), "application/json", "Content-Type")
			if key := test.header[0]; key != "" && rec.Header().Get(key) != test.header[1] {
				t.Errorf("%s is %q, want %q", key, rec.Header().Get(key), test.header[1])
			}
		})
	}
}

func TestClientThatLeftIsLoggedAs499(t *testing.T) {
	if status, _ := StatusOf(fmt.Errorf("read: %w", context.Canceled)); status != 499 {
		t.Errorf("status %d", status)
	}
}
