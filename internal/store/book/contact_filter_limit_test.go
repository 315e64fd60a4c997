package book

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/check"
)

// A client that reads a page slowly holds up no list of another account.
func TestConcurrentSlowReaderHoldsUpNoOtherList(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		s.Light, s.Heavy = 0, store.NewGate(1)
		slow, other := newAccount(t, s).Number, newAccount(t, s).Number
		note := strings.Repeat("x", 9000)
		fillNamed(t, s, slow, 100, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","note":%q}`, i, note) })
		create(t, s, other, `{"first_name":"Ann","last_name":"Lee"}`)
		list := func(account int64, flush store.Flush) (store.ListResult, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, found, err := s.FilteredContacts(ctx, account, crm.Active, filterOf(t, "sort=-id"), crm.PageRequest{Page: 1, PerPage: 100}, nil, flush)
			return found, err
		}
		stuck, release, ended := make(chan bool, 1), make(chan bool), make(chan error, 1)
		go func() {
			_, err := list(slow, func(dst []byte, _ store.ListResult) ([]byte, error) {
				select {
				case stuck <- true:
				default:
				}
				<-release
				return dst[:0], nil
			})
			ended <- err
		}()
		<-stuck
		if found, err := list(other, nil); err != nil || found.Total != 1 {
			t.Errorf("the list of another account: %+v, %v", found, err)
		}
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A node that holds a set reads it again after a repair.
func TestARepairedSetIsReadAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, 10, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","tags":["x"]}`, i) })
		damage(t, s, `UPDATE contact_set SET size = 1, bits = $1 WHERE name = 't:x'`, []byte{1, 0})
		if _, n := filtered(t, s, account, crm.Active, filterOf(t, "tag=x"), 1, 20); n != 1 {
			t.Fatalf("the damaged set finds %d contacts", n)
		}
		must(s.Check(t.Context(), check.CheckOptions{Repair: true, Found: func(check.Problem) {}}))(t)
		if _, n := filtered(t, s, account, crm.Active, filterOf(t, "tag=x"), 1, 20); n != 10 {
			t.Errorf("the repaired set finds %d contacts, want 10", n)
		}
	})
}

// The last character of Unicode may be in a name.
func TestNamesAfterAllOthersAreListed(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, name := range []string{"A", "B", "\U0010FFFFz"} {
			create(t, s, account, `{"first_name":"F","last_name":"`+name+`"}`)
		}
		create(t, s, account, `{"first_name":"`+"\U0010FFFFq"+`","last_name":"B"}`)
		s.Costs.Few, s.Costs.Sorted = 0, 0
		if ids, _ := filtered(t, s, account, crm.Active, filterOf(t, "sort=-last_name"), 1, 2); !slices.Equal(ids, []int64{doc.MakeID(account, 3), doc.MakeID(account, 4)}) {
			t.Errorf("in descending order, %v come first", ids)
		}
		if ids, n := filtered(t, s, account, crm.Active, filterOf(t, "last_name=B"), 1, 20); n != 2 {
			t.Errorf("the last name B is that of %v", ids)
		}
	})
}

// A contact that was lost does not make another one appear twice.
func TestALostContactDoublesNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, 6, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L","tags":["x"]}`, i) })
		const move = `UPDATE contact SET id = $3 WHERE account_id = $1 AND id = $2`
		damage(t, s, move, account, doc.MakeID(account, 3), doc.MakeID(account, 999))
		dst, _, err := s.FilteredContacts(t.Context(), account, crm.Active, filterOf(t, "tag=x"), crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
		if n := strings.Count(string(dst), `{"id":`); err != nil || n != 5 {
			t.Errorf("%d contacts are listed, %v", n, err)
		}
		damage(t, s, move, account, doc.MakeID(account, 999), doc.MakeID(account, 3))
	})
}
