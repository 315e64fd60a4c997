package crm

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
)

var noonFind = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// madeFind is the contact that a body describes.
func madeFind(t rapid.TB, body string) Contact {
	t.Helper()
	in, faults, err := DecodeContact([]byte(body))
	if err == nil {
		err = in.Validate(faults, false, "US", noonFind)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewContact(in, noonFind)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// someContactFind is any contact, active or archived.
func someContactFind(t *rapid.T) Contact {
	c := madeFind(t, crmtest.SomeBody(t, rapid.Bool().Draw(t, "whole")))
	c.ID = MakeID(1_000_000, rapid.Int64Range(1, MaxSeq).Draw(t, "seq"))
	if rapid.Bool().Draw(t, "archived") {
		c = c.Archive(noonFind)
	}
	return c
}

func atFind(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

const raceDetectorFind = false
