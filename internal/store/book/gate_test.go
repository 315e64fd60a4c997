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
	"testing/synctest"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
)

// waitFor waits until so many requests wait at a gate.
func waitFor(t testing.TB, g *store.Gate, n int) {
	t.Helper()
	await(t, fmt.Sprint(n, " requests wait"), func() bool {
		g.Mu.Lock()
		defer g.Mu.Unlock()
		return g.Waiting == n
	})
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
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGate(1)
		letGo := occupied(t, g, 1)
		var order []int64
		for _, account := range []int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3} {
			//nolint:errcheck // it is none
			go g.Through(t.Context(), account, func() error { order = append(order, account); return nil })
			synctest.Wait()
		}
		letGo()
		synctest.Wait()
		if want := []int64{1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1}; !slices.Equal(order, want) {
			t.Errorf("the turns are %v, want %v", order, want)
		}
	})
}

// One account takes one place, however many are free.
func TestConcurrentAccountHasOneHeavyReadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGate(2)
		letGo, done := occupied(t, g, 1), make(chan bool)
		go g.Through(t.Context(), 1, func() error { close(done); return nil }) //nolint:errcheck // it is none
		synctest.Wait()
		succeed(t, g.Through(t.Context(), 2, func() error { return nil }))
		equal(t, g.Waiting, 1, "wait")
		letGo()
		<-done
	})
}

func TestConcurrentNoMoreThanSomeWaitForAHeavyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGate(1)
		letGo, done := occupied(t, g, 1), make(chan error, 1000)
		ctx, leave := context.WithCancel(t.Context())
		for n := range store.AllWait {
			go func() { done <- g.Through(ctx, int64(1+n/store.AccountWaits), func() error { return nil }) }()
		}
		synctest.Wait()
		for account, want := range map[int64]error{1: crm.ErrTooMany, 1000: crm.ErrCrowded} {
			wantError(t, fmt.Sprint("one more of account ", account), g.Through(t.Context(), account, nil), want)
		}
		go func() { done <- g.Again(t.Context(), 1, func() error { return nil }) }() // what was let in goes on
		synctest.Wait()
		leave() // those whose clients leave make room at once
		for range store.AllWait {
			wantError(t, "a client that left", <-done, context.Canceled)
		}
		equal(t, g.Waiting, 1, "wait")
		letGo()
		succeed(t, <-done)
		succeed(t, g.Through(t.Context(), 7, func() error { return nil }))
		if g.Free != 1 || len(g.Lines)+len(g.Turns)+len(g.Working) != 0 {
			t.Errorf("and what is left is %+v", g)
		}
	})
}

// Two files are written by turns, a piece of each.
func TestConcurrentWorkInPiecesGoesOnByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := store.NewGate(1)
		letGo := occupied(t, g, 9)
		var order []int64
		var writers sync.WaitGroup
		for _, account := range []int64{1, 2} {
			writers.Go(func() {
				for range 5 {
					_ = g.Again(t.Context(), account, func() error {
						order = append(order, account)
						time.Sleep(time.Second) // meanwhile, the other one waits
						return nil
					})
				}
			})
			synctest.Wait()
		}
		letGo()
		writers.Wait()
		if want := []int64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
	})
}

// heavyReads are requests that may be expensive, each with a text that is in one of its statements.
func heavyReads(t *testing.T, s *Book, account, contact int64) map[string]func() error {
	ctx := t.Context()
	page := crm.PageRequest{Page: 1, PerPage: 20}
	filter := giving.GiftFilter{Method: "cash", From: time.Unix(0, 0)}
	return map[string]func() error{
		"SELECT g.id FROM gift g": func() error {
			return errOf2(s.Gifts(ctx, account, campaign.OwnCampaigns, filter, page, nil, nil))
		},
		"SELECT g.id, g.body": func() error {
			return errOf2(s.Gifts(ctx, account, campaign.OwnCampaigns,
				giving.GiftFilter{Sort: giving.Sort{By: giving.ByAmount}}, page, nil, nil))
		},
		"SELECT COUNT(*), COALESCE": func() error {
			return errOf2(s.GiftPage(ctx, account, filter, page))
		},
		store.SQLUndosSince[:40]: func() error {
			return errOf2(s.Activities(ctx, account, contact, page, false, nil, nil))
		},
		"sort_name >= $2": func() error {
			return errOf(s.SelectionSize(ctx, account, jobs.Selection{All: true, Scope: crm.Active,
				Filter: filterOf(t, "last_name=L")}))
		},
	}
}

// 40 expensive requests of one account leave every other request of another account alone: one of them is in work,
// some wait, and the others are refused at once.
func TestConcurrentManyHeavyReadsOfOneAccountHoldUpNoOther(t *testing.T) {
	ctx := t.Context()
	s := newFolk(t)
	account := s.Number
	other := s.another()
	contact := s.giver()
	small := other.giver()
	s.Light, s.Costs.Few = 0, 0
	spy, release, busy, most := spyOn(t, s.Book), make(chan bool), atomic.Int64{}, atomic.Int64{}
	reads := heavyReads(t, s.Book, account, contact)
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
			wantError(t, "a request that may not wait", err, crm.ErrTooMany)
		case <-time.After(rig.Patience):
			t.Fatalf("of 40 requests, %d are in work at once", busy.Load())
		}
	}
	waitFor(t, s.Heavy, store.AccountWaits)
	_, err := s.Contact(ctx, other.Number, small, nil)
	_, found, listErr := s.Contacts(ctx, other.Number, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil)
	succeed(t, errors.Join(err, listErr, s.Ready(ctx)))
	equal(t, found.Total, 1, "another account meanwhile (%v)", found)
	_, found = must2(s.Contacts(ctx, account, crm.Active, crm.PageRequest{Page: 1, PerPage: 20}, nil, nil))(t)
	equal(t, found.Total, 1, "a plain page of the same account")
	letGo()
	for range 40 - refused {
		succeed(t, <-answers)
	}
	equal(t, most.Load(), 1, "heavy reads were in work at once")
}

// giverOf makes a contact with some gifts.
func (s *folk) giver() int64 {
	s.Helper()
	contact := s.create(`{"first_name":"F","last_name":"L"}`).ID
	for i := range 3 {
		in := giftInput(s, fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2025-03-0%d"}`,
			contact, i+1), true, time.Now())
		must(s.CreateGift(s.Context(), s.Number, in))(s)
	}
	return contact
}

// A light read does not wait, not even where its own account has a heavy one in work.
func TestConcurrentLightReadDoesNotWaitForItsTurn(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	contact := s.giver()
	letGo := occupied(t, s.Heavy, account)
	defer letGo()
	for text, read := range heavyReads(t, s.Book, account, contact) {
		if err := read(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	equal(t, s.Heavy.Waiting, 0, "reads wait")
}

// A search among a few archived contacts costs as much as these few, however many active ones it would find: it does
// not wait.
func TestConcurrentSearchInASmallArchiveDoesNotWaitForItsTurn(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	s.fillNamed(40, func(i int) string { return fmt.Sprintf(`{"first_name":"Ana","last_name":"L%d"}`, i) })
	s.archive(doc.MakeID(account, 7))
	s.archive(doc.MakeID(account, 9))
	s.Light = 0
	letGo := occupied(t, s.Heavy, account)
	defer letGo()
	_, found := must2(s.MatchingContacts(t.Context(), account, crm.Archived, find.Filter{Search: typed("an")},
		crm.PageRequest{Page: 1, PerPage: 20}))(t)
	equal(t, found.Total, 2, "found")
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

// Files of several accounts are written at once, all of them whole, and a client that reads slowly keeps no other
// account from its turn.
func TestConcurrentFilesOfSeveralAccountsAreWrittenAtOnce(t *testing.T) {
	s := newBook(t)
	s.Light, s.Heavy = 0, store.NewGate(1)
	const n = move.PieceRows + 100
	var accounts []int64
	for range 3 {
		account := newAccount(t, s).Number
		fillNamed(t, s, account, n, func(i int) string {
			return fmt.Sprintf(`{"first_name":"F%d","last_name":"L"}`,
				i)
		})
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
	succeed(t, <-ended)
}

// One organization has many emails to a server that does not answer. The emails of another one, and the link for a new
// password, leave all the same.
func TestConcurrentEmailsThatHangHoldUpNobodyElse(t *testing.T) {
	s := newFolk(t)
	other := newAccount(t, s.Book)
	newUser(t, s.Book, other, access.Owner, "Ada")
	hanging, answer, sent := make(chan string, 100), make(chan struct{}), make(chan string, 100)
	s.UseRelay(relayFunc(func(_ context.Context, l *mail.Letter) error {
		if strings.HasPrefix(l.To.String(), "hang") {
			hanging <- l.To.String()
			<-answer
		}
		sent <- l.To.String()
		return nil
	}))
	queue := func(account int64, to string) {
		succeed(t, s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
			return s.Queue(tx, account, mail.Arrived, "", to, &mail.Message{Subject: mail.Say("New gift")})
		}))
	}
	next := func(from chan string, want string) {
		t.Helper()
		select {
		case got := <-from:
			if !strings.HasPrefix(got, want) {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(rig.Patience): // a test that fails must end
			close(answer)
			t.Fatalf("no email to %s", want)
		}
	}
	for i := range 40 {
		queue(s.Number, fmt.Sprintf("hang%d@example.org", i))
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.SendMails(ctx, "https://donors.example", func(err error) { t.Error(err) })
	}()
	for range 3 {
		next(hanging, "hang")
	}
	queue(other.Number, "treasurer@example.org")
	next(sent, "treasurer@example.org")
	succeed(t, s.AskForReset(t.Context(), "ada@example.org"))
	next(sent, "ada@example.org")
	close(answer)
	for range 40 {
		next(sent, "hang")
	}
	stop()
	<-ended
}

// A thank-you that is asked for with its gift leaves as soon as the gift is on disk: a sender that is woken before
// finds nothing, and looks again ten seconds later.
func TestConcurrentThanksLeaveAtOnce(t *testing.T) {
	t.Parallel()
	o := emptySQLite(t)
	synctest.Test(t, func(t *testing.T) { // where time goes by only when everyone waits
		s := open(t, o)
		s.Now = func() time.Time { return time.Now().AddDate(26, 0, 30) }
		account, sent := newAccount(t, s).Number, make(chan time.Time, 1)
		s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error {
			sent <- time.Now()
			return nil
		}))
		var queued atomic.Bool
		s.Db.Observe(recorded(s, db.Observer{
			Wrote: func(sql string) {
				if strings.Contains(sql, "INTO mail ") {
					queued.Store(true)
				}
			},
			Committing: func() error {
				if queued.Swap(false) {
					time.Sleep(300 * time.Millisecond) // so that it has looked by then
				}
				return nil
			},
		}))
		ctx, stop := context.WithCancel(t.Context())
		go s.SendMails(ctx, "https://donors.example", func(err error) { t.Error(err) })
		giveNow(t, s, account, ofAda+`,"send_receipt":true`)
		given := time.Now()
		if late := (<-sent).Sub(given); late > time.Second {
			t.Errorf("the email has left %v after the gift", late)
		}
		stop()
		synctest.Wait()
	})
}

// The giver is erased while their thank-you is on its way: when it is refused, nobody has to thank them.
func TestARefusedEmailToSomebodyErasedAsksNobodyToThank(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	s.UseRelay(new(postOffice))
	gift := s.given(ofAda + `,"send_receipt":true`)
	s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error {
		erase(t, s.Book, context.Background(), account, gift.Contact)
		return &mail.Refused{Final: true, Err: errors.New("550")}
	}))
	succeed(t, s.SendDue(t.Context(), "", func(err error) { t.Error(err) }))
	if is, err := s.GiftRecord(t.Context(), account, gift.Code); err != nil || is.Awaits() ||
		is.Thanks.How != giving.ThankedMail || waiting(t, s.Book, account) != 0 {
		t.Errorf("%v %+v", err, is.Thanks)
	}
}

// However many contacts share an email: each says that it bounced.
func TestABouncedEmailIsNotedWithEverybodyWhoHasIt(t *testing.T) {
	const sharing = 130
	s := folkOf(t, open(t, testEngines[0].empty(t)))
	account := s.Number

	for i := range sharing {
		in := input(t,
			fmt.Sprintf(`{"first_name":"Pat","last_name":"Smith%d","emails":[{"value":"office@example.org"}]}`, i))
		must(s.CreateContact(t.Context(), account, in, crm.Force))(t)
	}
	succeed(t, s.MarkBounced(t.Context(), account, "office@example.org"))
	for _, c := range everyContact(t, s.Book, s.Number) {
		equal(t, c.BouncedEmail, "office@example.org", "%s %s", c.FirstName, c.LastName)
	}
}

// What follows a change finds what it wrote, and follows nothing that was refused.
func TestWhatFollowsAChangeFindsWhatItWrote(t *testing.T) {
	s := newFolk(t)
	account := s.Number
	s.UseRelay(new(postOffice))
	refusal, found := errors.New("refused"), []int{}
	for _, refused := range []error{nil, refusal} {
		err := s.UpdateAccount(t.Context(), account, func(tx *store.Tx) error {
			tx.Then(func() {
				queued, err := s.RecentMails(t.Context(), account, 10)
				if found = append(found, len(queued)); err != nil {
					t.Error(err)
				}
			})
			if refused == nil {
				return s.Queue(tx, account, mail.Test, "", "ada@example.org", nil)
			}
			return refused
		})
		if !errors.Is(err, refused) {
			t.Error(err)
		}
	}
	if len(found) != 1 || found[0] != 1 {
		t.Errorf("%v", found)
	}
}
