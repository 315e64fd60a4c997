package book

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// One organization has many emails to a server that does not answer. The emails of another one, and the link for a new
// password, leave all the same.
func TestConcurrentEmailsThatHangHoldUpNobodyElse(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		crowded, other := newAccount(t, s), newAccount(t, s)
		newUser(t, s, other, access.Owner, "Ada")
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
			case <-time.After(time.Minute): // a test that fails must end
				close(answer)
				t.Fatalf("no email to %s", want)
			}
		}
		for i := range 40 {
			queue(crowded.Number, fmt.Sprintf("hang%d@example.org", i))
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
	})
}

// A thank-you that is asked for with its gift leaves as soon as the gift is on disk: a sender that is woken before
// finds nothing, and looks again ten seconds later.
func TestConcurrentThanksLeaveAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
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
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.SendMails(ctx, "https://donors.example", func(err error) { t.Error(err) })
		}()
		giveNow(t, s, account, ofAda+`,"send_receipt":true`)
		given := time.Now()
		select {
		case at := <-sent:
			if late := at.Sub(given); late > 8*time.Second {
				t.Errorf("the email has left %v after the gift", late)
			}
		case <-time.After(time.Minute): // a test that fails must end
			t.Error("no email has left")
		}
		stop()
		<-ended
	})
}

// The giver is erased while their thank-you is on its way: when it is refused, nobody has to thank them.
func TestARefusedEmailToSomebodyErasedAsksNobodyToThank(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		s.UseRelay(new(postOffice))
		gift := giveNow(t, s, account, ofAda+`,"send_receipt":true`)
		s.UseRelay(relayFunc(func(context.Context, *mail.Letter) error {
			erase(t, s, context.Background(), account, gift.Contact)
			return &mail.Refused{Final: true, Err: errors.New("550")}
		}))
		succeed(t, s.SendDue(t.Context(), "", func(err error) { t.Error(err) }))
		if is, err := s.GiftRecord(t.Context(), account, gift.Code); err != nil || is.Awaits() || is.Thanks.How != giving.ThankedMail || waiting(t, s, account) != 0 {
			t.Errorf("%v %+v", err, is.Thanks)
		}
	})
}

// However many contacts share an email: each says that it bounced.
func TestABouncedEmailIsNotedWithEverybodyWhoHasIt(t *testing.T) {
	const sharing = 130
	s := open(t, testEngines[0].empty(t))
	account := newAccount(t, s).Number
	for i := range sharing {
		in := input(t, fmt.Sprintf(`{"first_name":"Pat","last_name":"Smith%d","emails":[{"value":"office@example.org"}]}`, i))
		must(s.CreateContact(t.Context(), account, in, crm.Force))(t)
	}
	succeed(t, s.MarkBounced(t.Context(), account, "office@example.org"))
	for _, c := range everyContact(t, s, account) {
		if c.BouncedEmail != "office@example.org" {
			t.Errorf("%s %s: %q", c.FirstName, c.LastName, c.BouncedEmail)
		}
	}
}

// What follows a change finds what it wrote, and follows nothing that was refused.
func TestWhatFollowsAChangeFindsWhatItWrote(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
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
	})
}
