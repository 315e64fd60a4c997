package page

import (
	"net/http"
	"sync"

	"donorbook/internal/web"
)

// Uploads bounds how many files arrive at once. One that is slow holds little: a part of it, which is kept in the database when it is complete.
type Uploads struct {
	mu       sync.Mutex
	accounts map[int64]bool
}

// maxUploads is how many files arrive at once, one of each organization: parts of them take 25 MB of memory together.
const maxUploads = 100

var errUploads = &web.Error{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"10"}},
	Message: "Another file is being uploaded. Nothing was imported. Wait until the other file has arrived, then try again."}

// Begin takes a place for an upload; end gives it back.
func (u *Uploads) Begin(account int64) (end func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.accounts[account] || len(u.accounts) >= maxUploads {
		return nil, errUploads
	}
	if u.accounts == nil {
		u.accounts = make(map[int64]bool)
	}
	u.accounts[account] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.accounts, account)
	}, nil
}
