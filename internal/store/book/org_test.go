package book

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

// expect fails unless values, written one after the other, are what is wanted.
func expect(t testing.TB, what, want string, values ...any) {
	t.Helper()
	equal(t, strings.TrimSuffix(fmt.Sprintln(values...), "\n"), want, "%s", what)
}

// refuses, rejects and says are for calls that must fail: with an error, because of what was sent, and with some
// words.

func refuses(t testing.TB, what string, want error) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}

// notFound, nobody and changedSince are for calls that fail for the usual reasons.

func notFound(t testing.TB) func(result ...any) { return refuses(t, "it", crm.ErrNotFound) }

func nobody(t testing.TB) func(result ...any) { return refuses(t, "it", crm.ErrUnauthenticated) }

func changedSince(t testing.TB) func(result ...any) { return refuses(t, "it", crm.ErrChanged) }

func rejects(t testing.TB, what string) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); !errors.As(err, new(*doc.Invalid)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func says(t testing.TB, what, words string) func(result ...any) {
	return func(result ...any) {
		t.Helper()
		if err, _ := result[len(result)-1].(error); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want %q", what, err, words)
		}
	}
}

func newOrg(t *testing.T, s *Book) *org {
	t.Helper()
	s.Now = func() time.Time { return donorsNow }
	return &org{T: t, Book: s, Account: newAccount(t, s), office: new(postOffice)}
}

// Name is that of the test: an org can stand for it.
func (s *org) Name() string { return s.T.Name() }

// person makes a contact.
func (s *org) person(body string) int64 {
	s.Helper()
	return createAs(s, s.Book, s.Number, body, crm.Force).ID
}

// given records a gift of today.
func (s *org) given(more string) store.GiftDocument {
	s.Helper()
	return giveNow(s.T, s.Book, s.Number, more)
}

// gave records a gift of $5 that a contact gave on a day or at a time.
func (s *org) gave(contact int64, at, more string) giving.Gift {
	s.Helper()
	body := fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d%s}`, at, contact, more)
	return must(s.CreateGift(s.Context(), s.Number, giftInput(s, body, true, s.Now().Add(14*time.Hour))))(s).Gift
}

func (s *org) edit(code, body string) store.GiftDocument {
	s.Helper()
	return must(s.UpdateGift(s.Context(), s.Number, code, giftInput(s, body, false, s.Now())))(s)
}

// refund gives a gift back, or some dollars of it.
func (s *org) refund(code string, dollars ...int64) store.GiftDocument {
	s.Helper()
	return must(s.RefundGift(s.Context(), s.Number, code, inAll(dollars), ""))(s)
}

// inAll is nil for a whole gift.
func inAll(dollars []int64) *int64 {
	if len(dollars) == 0 {
		return nil
	}
	return ptr(dollars[0] * 1_0000)
}

func (s *org) gift(code string) giving.Gift {
	s.Helper()
	return must(s.GiftRecord(s.Context(), s.Number, code))(s).Gift
}

func (s *org) waiting() int64 {
	s.Helper()
	return waiting(s.T, s.Book, s.Number)
}

func (s *org) receipts() []thanks.Receipt {
	s.Helper()
	return receiptsOf(s.T, s.Book, s.Number)
}

// thank thanks for a gift.
func (s *org) thank(code string, how store.Thank) (store.GiftDocument, error) {
	return s.ThankFor(s.Context(), s.Number, code, how)
}

// sent sends what is due, and returns how many emails have left since the beginning.
func (s *org) sent() int {
	s.Helper()
	s.office.sendAll(s.T, s.Book)
	return len(s.office.taken)
}

// mailAbout is the last email about something, nil where there is none.
func (s *org) mailAbout(what string) *mail.Mail {
	s.Helper()
	return must(s.MailAbout(s.Context(), s.Number, what))(s)
}

// own is everything that is known about a person.
func (s *org) own(contact int64) string {
	s.Helper()
	var file strings.Builder
	succeed(s, must(s.ContactData(s.Context(), s.Number, contact))(s).Write(s.Context(), &file))
	return file.String()
}

func (s *org) settings(in access.AccountSettingsInput) {
	s.Helper()
	succeed(s, s.SetAccountSettings(s.Context(), s.Number, in))
}

func (s *org) erase(contact int64) {
	s.Helper()
	erase(s.T, s.Book, s.Context(), s.Number, contact)
}

func (s *org) campaignOf(title string) campaign.Campaign {
	s.Helper()
	return must(s.CreateCampaign(s.Context(), s.Account, campaign.Input{Title: &title}))(s)
}

// inUse is what the program holds, without garbage.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// clients lets 64 clients do something as often as a benchmark asks.
func clients(b *testing.B, do func(n int64) error) {
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
