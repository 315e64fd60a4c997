package db_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// flushDelay is how much longer a commit takes on the disk of the benchmark.
const flushDelay = 2 * time.Millisecond

// The cost of a create on a slow disk, with 64 clients: as the store does it, and with one transaction for each. The program in
// bench/ compares the two.
func BenchmarkCreateOnASlowDisk(b *testing.B) {
	b.Run("Grouped", func(b *testing.B) {
		createOnASlowDisk(b, func(create func()) { create() })
	})
	b.Run("Alone", func(b *testing.B) {
		var alone sync.Mutex // no other change is queued, so every batch has one change
		createOnASlowDisk(b, func(create func()) {
			alone.Lock()
			defer alone.Unlock()
			create()
		})
	})
}

func createOnASlowDisk(b *testing.B, around func(create func())) {
	s, err := book.Open(b.Context(), store.Options{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // other tests check that
	account, err := s.CreateAccount(b.Context(), "Slow disk", "")
	if err != nil {
		b.Fatal(err)
	}
	s.DB().Observe(&db.Observer{Committing: func() error {
		time.Sleep(flushDelay)
		return nil
	}})
	var next atomic.Int64
	b.ResetTimer()
	atOnce(64, func(int) {
		for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
			in := benchInput(b, n)
			around(func() {
				if _, err := s.CreateContact(b.Context(), account.Number, in, crm.Dedupe); err != nil {
					b.Error(err)
				}
			})
		}
	})
}

// benchInput is a new contact.
func benchInput(b *testing.B, n int64) crm.ContactInput {
	in, faults, err := crm.DecodeContact(fmt.Appendf(nil, `{"first_name":"Ana","last_name":"Okafor","company":"Blue Heron Books",
		"emails":[{"type":"personal","value":"p%d@example.org"},{"type":"work","value":"w%d@example.com"}],
		"addresses":[{"address_1":"12 Harbor Street","city":"Boston","state":"MA","zipcode":"02110","country":"USA"}],
		"tags":["newsletter","gala 2026","volunteer"]}`, n, n))
	if err == nil {
		err = in.Validate(faults, true, "US", time.Now())
	}
	if err != nil {
		b.Error(err)
	}
	return in
}
