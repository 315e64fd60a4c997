package crm

import (
	"testing"
	"time"
)

var (
	noonHistory      = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	hourLaterHistory = noonHistory.Add(time.Hour)
)

// madeHistory is the contact that a body describes.
func madeHistory(t testing.TB, body string) Contact {
	t.Helper()
	in, faults, err := DecodeContact([]byte(body))
	if err == nil {
		err = in.Validate(faults, false, "US", noonHistory)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewContact(in, noonHistory)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
