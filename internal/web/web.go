// Package web is the HTTP plumbing that the JSON API and the HTML console share. A handler says what happened
// by returning an error; one table turns it into a status, one wrapper gives every answer its request id,
// security headers, log line and metrics, and one server owns listeners, certificates and the orderly stop.
//
// The package knows the errors of crm and nothing else of the project: no store, no routes, no settings.
// The serve command fills in the fields that it needs.
package web

import (
	"net/http"
)

// HandlerFunc answers a request, or says why it cannot. A handler that returns an error has written nothing; the
// wrapper renders the error, logs it and counts it.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Header values that are the same on many answers. The slices are shared between requests: no code may change
// their elements, and http.Header never does.
var (
	jsonType = []string{"application/json"}
	nosniff  = []string{"nosniff"}
	noStore  = []string{"no-store"}
	hsts     = []string{"max-age=31536000"}
)

// MaxBody is the largest request body that the service reads.
const MaxBody = 1 << 20
