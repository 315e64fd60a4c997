package book

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// waitFor waits until so many requests wait at a gate.
func waitFor(t testing.TB, g *store.Gate, n int) {
	t.Helper()
	for range 20_000 {
		g.Mu.Lock()
		waiting := g.Waiting
		g.Mu.Unlock()
		if waiting == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("there are never %d requests that wait", n)
}

// occupied takes the place of an account until it is let go.
func occupied(t testing.TB, g *store.Gate, account int64) (letGo func()) {
	t.Helper()
	inside, release := make(chan bool), make(chan bool)
	go func() { _ = g.Through(t.Context(), account, func() error { close(inside); <-release; return nil }) }()
	<-inside
	return func() { close(release) }
}

// However many reads of an account wait, the next one of another account waits for one of them at most.
func TestConcurrentHeavyReadsTakeTurnsByAccount(t *testing.T) {
	t.Parallel()
	g := store.NewGate(1)
	letGo, order := occupied(t, g, 1), make(chan int64, 20)
	enter := func(account int64) {
		_ = g.Through(t.Context(), account, func() error { order <- account; return nil })
	}
	for i := range 9 {
		go enter(1)
		waitFor(t, g, i+1)
	}
	for i, account := range []int64{2, 3} {
		go enter(account)
		waitFor(t, g, 10+i)
	}
	letGo()
	var turns []int64
	for range 11 {
		turns = append(turns, <-order)
	}
	if want := []int64{1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1}; !slices.Equal(turns, want) {
		t.Errorf("the turns are %v, want %v", turns, want)
	}
}

// One account takes one place, however many are free.
func TestConcurrentAccountHasOneHeavyReadAtATime(t *testing.T) {
	t.Parallel()
	g := store.NewGate(2)
	letGo, done := occupied(t, g, 1), make(chan bool)
	go func() { _ = g.Through(t.Context(), 1, func() error { close(done); return nil }) }()
	waitFor(t, g, 1)
	if err := g.Through(t.Context(), 2, func() error { return nil }); err != nil {
		t.Error(err)
	}
	waitFor(t, g, 1)
	letGo()
	<-done
}

func TestConcurrentNoMoreThanSomeWaitForAHeavyRead(t *testing.T) {
	t.Parallel()
	g := store.NewGate(1)
	letGo, done := occupied(t, g, 1), make(chan error, 1000)
	ctx, leave := context.WithCancel(t.Context())
	enter := func(account int64) { done <- g.Through(ctx, account, func() error { return nil }) }
	n := 0
	for account := int64(1); n < store.AllWait; account++ {
		for i := 0; i < store.AccountWaits && n < store.AllWait; i++ {
			n++
			go enter(account)
		}
		waitFor(t, g, n)
	}
	for account, want := range map[int64]error{1: crm.ErrTooMany, 1000: crm.ErrCrowded} {
		if err := g.Through(t.Context(), account, nil); !errors.Is(err, want) {
			t.Errorf("one more of account %d: %v, want %v", account, err, want)
		}
	}
	go func() { done <- g.Again(t.Context(), 1, func() error { return nil }) }() // what was let in goes on
	waitFor(t, g, n+1)
	leave() // those whose clients leave make room at once
	for range n {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatalf("a client that left: %v", err)
		}
	}
	waitFor(t, g, 1)
	letGo()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := g.Through(t.Context(), 7, func() error { return nil }); err != nil || g.Free != 1 || len(g.Lines)+len(g.Turns)+len(g.Working) != 0 {
		t.Errorf("%v, and what is left is %+v", err, g)
	}
}

// Two files are written by turns, a piece of each.
func TestConcurrentWorkInPiecesGoesOnByTurns(t *testing.T) {
	t.Parallel()
	g := store.NewGate(1)
	letGo := occupied(t, g, 9)
	var order []int64
	var files sync.WaitGroup
	for _, account := range []int64{1, 2} {
		files.Go(func() {
			for i := range 5 {
				_ = g.Again(t.Context(), account, func() error {
					if order = append(order, account); account == 1 || i < 4 { // the last one is alone
						waitFor(t, g, 1)
					}
					return nil
				})
			}
		})
		waitFor(t, g, int(account))
	}
	letGo()
	files.Wait()
	if want := []int64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("the order is %v, want %v", order, want)
	}
}

// heavyReads are requests that may be expensive, each with a text that is in one of its statements.
func heavyReads(t *testing.T, s *Book, account, contact int64) map[string]func() error {
	page := crm.PageRequest{Page: 1, PerPage: 20}
	filter := giving.GiftFilter{Method: "cash", From: time.Unix(0, 0)}
	return map[string]func() error{
		"SELECT g.id FROM gift g": func() error {
			_, _, err := s.Gifts(t.Context(), account, campaign.OwnCampaigns, filter, page, nil, nil)
			return err
		},
		"SELECT g.id, g.body": func() error {
			_, _, err := s.Gifts(t.Context(), account, campaign.OwnCampaigns, giving.GiftFilter{Sort: giving.Sort{By: giving.ByAmount}}, page, nil, nil)
			return err
		},
		"SELECT COUNT(*), COALESCE": func() error {
			_, _, err := s.GiftPage(t.Context(), account, filter, page)
			return err
		},
		store.SQLUndosSince[:40]: func() error {
			_, _, err := s.Activities(t.Context(), account, contact, page, false, nil, nil)
			return err
		},
		"sort_name >= $2": func() error {
			_, err := s.SelectionSize(t.Context(), account, jobs.Selection{All: true, Scope: crm.Active, Filter: filterOf(t, "last_name=L")})
			return err
		},
	}
}

// 40 expensive requests of one account leave every other request of another account alone: one of them is in work, some wait, and the others are
// refused at once.
func TestConcurrentManyHeavyReadsOfOneAccountHoldUpNoOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, other := newAccount(t, s).Number, newAccount(t, s).Number
		contact := giverOf(t, s, account)
		small := giverOf(t, s, other)
		s.Light, s.Costs.Few = 0, 0
		spy, release, busy, most := spyOn(t, s), make(chan bool), atomic.Int64{}, atomic.Int64{}
		reads := heavyReads(t, s, account, contact)
		spy.read = func(sql string) {
			for text := range reads {
				if strings.Contains(sql, text) {
					most.Store(max(most.Load(), busy.Add(1)))
					<-release
					busy.Add(-1)
				}
			}
		}
		answers := make(chan error, 40)
		for range 40 / len(reads) {
			for _, read := range reads {
				go func() { answers <- read() }()
			}
		}
		letGo := sync.OnceFunc(func() { close(release) })
		defer letGo()
		refused := 40 - 1 - store.AccountWaits
		for range refused {
			select {
			case err := <-answers:
				if !errors.Is(err, crm.ErrTooMany) {
					t.Fatalf("a request that may not wait: %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("of 40 requests, %d are in work at once", busy.Load())
			}
		}
		waitFor(t, s.Heavy, store.AccountWaits)
		spyless, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := s.Contact(spyless, other, small, nil)
		_, found, listErr := s.Contacts(spyless, other, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
		if err := errors.Join(err, listErr, s.Ready(spyless)); err != nil || found.Total != 1 {
			t.Errorf("another account meanwhile: %v, %+v", err, found)
		}
		_, found, err = s.Contacts(spyless, account, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
		if err != nil || found.Total != 1 {
			t.Errorf("a plain page of the same account: %v, %+v", err, found)
		}
		letGo()
		for range 40 - refused {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		if most.Load() != 1 {
			t.Errorf("%d heavy reads were in work at once", most.Load())
		}
	})
}

// giverOf makes a contact with some gifts.
func giverOf(t *testing.T, s *Book, account int64) int64 {
	t.Helper()
	contact := create(t, s, account, `{"first_name":"F","last_name":"L"}`).ID
	for i := range 3 {
		in := giftInput(t, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-0%d"}`, contact, i+1), true, time.Now())
		must(s.CreateGift(t.Context(), account, in))(t)
	}
	return contact
}

// A light read does not wait, not even where its own account has a heavy one in work.
func TestConcurrentLightReadDoesNotWaitForItsTurn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		contact := giverOf(t, s, account)
		letGo := occupied(t, s.Heavy, account)
		defer letGo()
		for text, read := range heavyReads(t, s, account, contact) {
			if err := read(); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if s.Heavy.Waiting != 0 {
			t.Errorf("%d reads wait", s.Heavy.Waiting)
		}
	})
}

// A search among a few archived contacts costs as much as these few, however many active ones it would find: it does not wait.
func TestConcurrentSearchInASmallArchiveDoesNotWaitForItsTurn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, 40, func(i int) string { return fmt.Sprintf(`{"first_name":"Ana","last_name":"L%d"}`, i) })
		archive(t, s, account, doc.MakeID(account, 7))
		archive(t, s, account, doc.MakeID(account, 9))
		s.Light = 0
		letGo := occupied(t, s.Heavy, account)
		defer letGo()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, found, err := s.MatchingContacts(ctx, account, crm.Archived, find.Filter{Search: typed("an")}, crm.PageRequest{Page: 1, PerPage: 20})
		if err != nil || found.Total != 2 {
			t.Errorf("%d are found, %v", found.Total, err)
		}
	})
}

// stuckClient takes nothing of a file until it is let go.
type stuckClient struct {
	stuck, release chan bool
	once           sync.Once
}

func (c *stuckClient) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.stuck) })
	<-c.release
	return len(p), nil
}

// Files of several accounts are written at once, all of them whole, and a client that reads slowly keeps no other account from its turn.
func TestConcurrentFilesOfSeveralAccountsAreWrittenAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		s.Light, s.Heavy = 0, store.NewGate(1)
		const n = move.PieceRows + 100
		var accounts []int64
		for range 3 {
			account := newAccount(t, s).Number
			fillNamed(t, s, account, n, func(i int) string { return fmt.Sprintf(`{"first_name":"F%d","last_name":"L"}`, i) })
			accounts = append(accounts, account)
		}
		export := func(account int64, format string, to io.Writer) error {
			e, err := s.ExportContacts(t.Context(), account, jobs.Selection{All: true}, move.ExportOptions{Format: format})
			if err != nil {
				return err
			}
			return e.Write(t.Context(), to, func(int64, int64) {})
		}
		client, ended := &stuckClient{stuck: make(chan bool), release: make(chan bool)}, make(chan error, 1)
		go func() { ended <- export(accounts[0], "jsonl", client) }()
		<-client.stuck
		var files sync.WaitGroup
		for _, account := range accounts {
			files.Go(func() {
				var text bytes.Buffer
				if err := export(account, "csv", &text); err != nil || bytes.Count(text.Bytes(), []byte("\n")) != n+1 {
					t.Errorf("account %d: %v, %d lines", account, err, bytes.Count(text.Bytes(), []byte("\n")))
				}
			})
		}
		files.Wait()
		close(client.release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
