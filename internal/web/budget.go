package web

import (
	"errors"
	"net/http"
	"sync"
)

// Budget bounds the memory of large bodies and answers while it is their clients who set the pace. Small ones are free: they
// are bounded by the number of connections. One account cannot use up what others need.
type Budget struct {
	total, share int

	mu       sync.Mutex
	used     int
	accounts map[int64]int
}

const (
	budgetTotal = 32 << 20 // for all accounts together
	budgetShare = 8 << 20  // for one account
	budgetFree  = 64 << 10 // a body or an answer of this size is not counted
)

// NoAccount is whose share strangers use.
const NoAccount = -1

// NewBudget is a budget of which nothing is used.
func NewBudget() *Budget {
	return &Budget{total: budgetTotal, share: budgetShare, accounts: make(map[int64]int)}
}

// Take reserves memory on behalf of an account, until release is called. Where there is not enough left, the error is a 503.
func (b *Budget) Take(account int64, bytes int) (release func(), err error) {
	if bytes <= budgetFree {
		return func() {}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+bytes > b.total || b.accounts[account]+bytes > b.share {
		return nil, errBudget
	}
	b.add(account, bytes)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.add(account, -bytes)
	}, nil
}

func (b *Budget) add(account int64, bytes int) {
	b.used += bytes
	if b.accounts[account] += bytes; b.accounts[account] == 0 {
		delete(b.accounts, account)
	}
}

var errBudget = &Error{
	Status: http.StatusServiceUnavailable, Message: messageUnavailable, Header: http.Header{"Retry-After": {"1"}},
	Err: errors.New("too many large bodies and answers are in flight"),
}
