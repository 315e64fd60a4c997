package rig

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
)

// Input is a valid input from a JSON body, all of whose fields a contact has: a misspelled one would test nothing.
func Input(t testing.TB, body string) crm.ContactInput {
	t.Helper()
	in, faults, err := crm.DecodeContact(doc.NewBody([]byte(body)))
	if err == nil {
		err = in.Validate(faults, false, "US", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if name := unknownField(t, body, in); name != "" {
		t.Fatalf("a contact has no field %s: %s", name, body)
	}
	return in
}

// unknownField is the name of a field that was sent and is not in the document of the contact.
func unknownField(t testing.TB, body string, in crm.ContactInput) string {
	t.Helper()
	contact, err := crm.NewContact(in, time.Now())
	if err != nil {
		return "" // the test wants to see that
	}
	var sent, stored any
	if err := errors.Join(json.Unmarshal([]byte(body), &sent), json.Unmarshal(crm.AppendContact(nil, 1, contact.AppendBody(nil)), &stored)); err != nil {
		t.Fatal(err)
	}
	return missing(sent, stored)
}

// missing is the first name in one value that the other one lacks. Lists are of one kind of thing each.
func missing(sent, stored any) string {
	switch sent := sent.(type) {
	case map[string]any:
		has, _ := stored.(map[string]any)
		for name, value := range sent {
			other, found := has[name]
			if !found {
				return name
			}
			if name == "custom_fields" { // whose names are the account's
				continue
			}
			if name := missing(value, other); name != "" {
				return name
			}
		}
	case []any:
		has, _ := stored.([]any)
		for _, value := range sent {
			if len(has) > 0 {
				if name := missing(value, has[0]); name != "" {
					return name
				}
			}
		}
	}
	return ""
}

// Person is what a test looks at in a contact.
type Person struct {
	ID        int64
	FirstName string  `json:"first_name"`
	Title     *string `json:"title"`
	Emails    []struct{ Value string }
	Phones    []struct{ Value string }
	Tags      []string
	Archived  *string `json:"archived_at"`
	Updated   string  `json:"updated_at"`
}

// Parse reads a document.
func Parse(t testing.TB, document []byte) (p Person) {
	t.Helper()
	if err := json.Unmarshal(document, &p); err != nil {
		t.Fatalf("%v: %s", err, document)
	}
	return p
}

// IDs are those of documents with commas between them.
func IDs(t testing.TB, documents string) (ids []int64) {
	t.Helper()
	var people []Person
	if err := json.Unmarshal([]byte("["+documents+"]"), &people); err != nil {
		t.Fatalf("%v: %s", err, documents)
	}
	for _, p := range people {
		ids = append(ids, p.ID)
	}
	return ids
}

// Store is what a test does with contacts; D is what a store answers to a change.
type Store[D any] interface {
	CreateAccount(ctx context.Context, name, parent string) (access.Account, error)
	CreateContact(ctx context.Context, account int64, in crm.ContactInput, mode crm.CreateMode) (D, error)
	Contact(ctx context.Context, account, id int64, dst []byte) ([]byte, error)
	ArchiveContact(ctx context.Context, account, id int64) error
	RestoreContact(ctx context.Context, account, id int64) (D, error)
}

// NewAccount makes an account.
func NewAccount[D any](t testing.TB, s Store[D]) access.Account {
	t.Helper()
	a, err := s.CreateAccount(t.Context(), "Test", "")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Create makes a contact from a JSON body.
func Create[D any](t testing.TB, s Store[D], account int64, body string, mode crm.CreateMode) D {
	t.Helper()
	made, err := s.CreateContact(t.Context(), account, Input(t, body), mode)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Get reads a contact.
func Get[D any](t testing.TB, s Store[D], account, id int64) Person {
	t.Helper()
	document, err := s.Contact(t.Context(), account, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(t, document)
}

// Archive archives a contact.
func Archive[D any](t testing.TB, s Store[D], account, id int64) {
	t.Helper()
	if err := s.ArchiveContact(t.Context(), account, id); err != nil {
		t.Fatal(err)
	}
}

// Restore restores a contact.
func Restore[D any](t testing.TB, s Store[D], account, id int64) D {
	t.Helper()
	made, err := s.RestoreContact(t.Context(), account, id)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// WantLists checks every scope by the first 100 contacts of a list: the sequence numbers of those that are active and archived.
func WantLists(t testing.TB, list func(scope crm.ContactScope) (ids []int64, total int64), active, archived []int64) {
	t.Helper()
	all := slices.Concat(active, archived)
	slices.Sort(all)
	for scope, want := range map[crm.ContactScope][]int64{crm.Active: active, crm.Archived: archived, crm.All: all} {
		ids, total := list(scope)
		var got []int64
		for _, id := range ids {
			got = append(got, doc.IDSeq(id))
		}
		if !slices.Equal(got, want) || total != int64(len(want)) {
			t.Errorf("%s: got %v, %d in all, want %v", scope, got, total, want)
		}
	}
}

// WantError fails where an error is not the one wanted.
func WantError(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got the error %v, want %v", what, got, want)
	}
}

// AtOnce runs n things at the same time.
func AtOnce(n int, do func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	group.Wait()
}
