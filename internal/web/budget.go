package web

import (
	"errors"
	"net/http"
	"sync"
)

// budget limits the memory of large bodies and answers while slow clients send or read them. Small ones are free: the number of
// connections limits them. One account cannot use up what others need.
type budget struct {
	mu     sync.Mutex
	used   int
	owners map[owner]int
}

// owner is who the memory is held for: an account, or a user, or all strangers together.
type owner struct{ account, user int64 }

const (
	budgetTotal = 32 << 20 // for all together
	budgetShare = 8 << 20  // for one owner
	budgetFree  = 64 << 10 // a body or an answer of this size is not counted
)

func newBudget() *budget { return &budget{owners: make(map[owner]int)} }

func (b *budget) take(o owner, bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+bytes > budgetTotal || b.owners[o]+bytes > budgetShare {
		return false
	}
	b.used += bytes
	b.owners[o] += bytes
	return true
}

func (b *budget) give(o owner, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	if b.owners[o] -= bytes; b.owners[o] == 0 {
		delete(b.owners, o)
	}
}

// hold is a part of the budget that a request has taken.
type hold struct {
	owner owner
	bytes int
}

// Hold reserves memory for a large body or answer until the request is answered. If too much is held already, the error is a 503.
func Hold(w http.ResponseWriter, bytes int) error {
	x := exchangeOf(w)
	if bytes <= budgetFree || x.budget == nil {
		return nil
	}
	o := owner{account: x.account}
	if x.account == 0 {
		o.user = x.user
	}
	if !x.budget.take(o, bytes) {
		return errBudget
	}
	x.holds = append(x.holds, hold{o, bytes})
	return nil
}

// letGo gives back what the request holds.
func (x *exchange) letGo() {
	for _, h := range x.holds {
		x.budget.give(h.owner, h.bytes)
	}
	x.holds = nil
}

var errBudget = &Error{
	Status: http.StatusServiceUnavailable, Message: "Too many large requests are being answered. Please try again in a moment.",
	Header: http.Header{"Retry-After": {"1"}}, Err: errors.New("too many large bodies and answers are in flight"),
}
