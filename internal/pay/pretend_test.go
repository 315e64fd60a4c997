package pay_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
)

func httptestJSON(t *testing.T, body string) (address string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestPretendedPayments(t *testing.T) {
	desk := pay.NewDesk("http://127.0.0.1:8080/")
	open := func(desk *pay.Desk) donate.Provider {
		p := must(desk.Open(donate.Connection{Provider: pay.PretendName, Account: "a1"}))(t)
		return p
	}
	p := open(desk)
	choose := func(session donate.Ref, choice pay.Choice) string {
		next := must(desk.Choose(session.ID, choice))(t)
		return next
	}

	o := order(1, "monthly")
	h, err := p.Start(t.Context(), o)
	succeed(t, err)
	equal(t, h.URL, "http://127.0.0.1:8080/test-payment/"+h.Session.ID)
	equal(t, start(t, p, o), h.Session, "the same order is another session")
	equal(t, must(desk.PretendedOrder(h.Session.ID))(t).For, o.For, "the page is about")
	equal(t, choose(h.Session, pay.ChooseBack), o.Cancel, "who goes back comes")
	equal(t, look(t, p, h.Session).Session.State, donate.Open, "who goes back comes")
	if next := choose(h.Session, pay.ChooseDecline); next != "" || look(t, p, h.Session).Payment.Fault == "" {
		t.Errorf("a card that was declined leads to %s", next)
	}
	equal(t, choose(h.Session, pay.ChoosePay), o.Success, "a payment leads")
	choose(h.Session, pay.ChooseDecline) // after it was paid, nothing changes it
	is := look(t, p, h.Session)
	if is.Live || is.Session.State != donate.Paid || is.Payment.State != donate.Paid || is.Payment.Amount != o.Amount ||
		is.Plan.Status != giving.ActivePlan || is.Plan.Frequency != "monthly" {
		t.Errorf("a payment is %+v of %+v", is.Payment, is.Plan)
	}
	for range 2 {
		succeed(t, p.Refund(t.Context(), is.Payment.ID, 10_00, "USD", "r1"))
	}
	if err := p.Refund(t.Context(), is.Payment.ID, o.Amount, "USD", "r2"); !errors.Is(err, donate.ErrDefinite) {
		t.Errorf("too much was refunded: %v", err)
	}
	succeed(t, p.Plan(t.Context(), is.Plan.ID, donate.Change{Kind: donate.CancelPlan}))
	if is := look(t, p, h.Session); len(is.Payment.Refunds) != 1 || is.Plan.Status != giving.Ended {
		t.Errorf("after a refund and the end, the payment is %+v of %+v", is.Payment, is.Plan)
	}

	debit := start(t, p, order(2, donate.Once))
	if choose(debit, pay.ChooseDebit); look(t, p, debit).Payment.State != donate.Processing {
		t.Error("a debit arrived at once")
	}
	old := order(3, donate.Once)
	old.At = time.Now().Add(-2 * time.Hour)
	equal(t, look(t, p, start(t, p, old)).Session.State, donate.Expired, "an old order")
	var since []donate.Ref
	succeed(t, p.Since(t.Context(), time.Now().Add(-time.Hour),
		func(ref donate.Ref) error { since = append(since, ref); return nil }))
	equal(t, len(since), 2, "since an hour ago: %v", since)
	live := order(4, donate.Once)
	live.Live = true
	if _, err := p.Start(t.Context(), live); err == nil {
		t.Error("the demo took real money")
	}

	// After a restart, or on another node, nothing is known, and nothing is made up.
	desk = pay.NewDesk("http://127.0.0.1:8080")
	_, err = open(desk).Look(t.Context(), h.Session)
	_, chosen := desk.Choose(h.Session.ID, pay.ChoosePay)
	if !errors.Is(err, donate.ErrGone) || !errors.Is(chosen, donate.ErrGone) {
		t.Errorf("after a restart: %v, %v", err, chosen)
	}
}
