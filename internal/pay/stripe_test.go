package pay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/rig/assert"
)

// open is a Stripe, and a connection to it.
func open(t *testing.T) (*stripetest.Server, donate.Provider) {
	s := stripetest.New(false)
	t.Cleanup(s.Close)
	return s, connect(t, s)
}

func connect(t *testing.T, s *stripetest.Server) donate.Provider {
	p := must(pay.NewDesk("https://example.org").Open(donate.Connection{
		Provider: "stripe", Account: "a1", Key: s.Key, Hooks: []string{s.Secret}, Address: s.URL,
	}))(t)
	return p
}

func order(n int, frequency string) *donate.Order {
	return &donate.Order{
		Donation: fmt.Sprint("d", n), Account: "a1", Key: fmt.Sprint("k", n), At: time.Now(), Amount: 51_80, Covered: 1_80, Currency: "USD", Frequency: frequency, For: "Donation: Clean Water",
		Email: "ann@example.org", Success: "https://example.org/thanks", Cancel: "https://example.org/give",
	}
}

func start(t *testing.T, p donate.Provider, o *donate.Order) donate.Ref {
	t.Helper()
	h := must(p.Start(t.Context(), o))(t)
	return h.Session
}

func look(t *testing.T, p donate.Provider, ref donate.Ref) donate.Snapshot {
	t.Helper()
	s := must(p.Look(t.Context(), ref))(t)
	return s
}

// check compares a snapshot, but for its times and addresses.
func check(t *testing.T, got, want donate.Snapshot) {
	t.Helper()
	want.Provider = "stripe"
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{}), cmpopts.IgnoreFields(donate.Session{}, "URL")); d != "" {
		t.Error(d)
	}
}

func TestGiftOnce(t *testing.T) {
	s, p := open(t)
	s.LateFees = true
	session := start(t, p, order(1, donate.Once))
	is := donate.Snapshot{Donation: "d1", Account: "a1", Session: donate.Session{ID: session.ID, State: donate.Open}}
	check(t, look(t, p, session), is)

	s.Pay(session.ID, stripetest.Decline)
	is.Payment = &donate.Payment{ID: "pi_00000001", State: donate.Open, Amount: 51_80, Currency: "USD", Method: "card", MethodName: "Visa ending in 4242", Name: "Ann Lee", Email: "ann@example.org", Fault: "Your card was declined."}
	check(t, look(t, p, session), is)

	s.Pay(session.ID, stripetest.Card)
	is.Session.State, is.Payment.State, is.Payment.Fault = donate.Paid, donate.Paid, ""
	check(t, look(t, p, session), is)

	s.Fees()
	is.Payment.Fee, is.Payment.FeeKnown = 1_80, true
	check(t, look(t, p, session), is)

	succeed(t, p.Refund(t.Context(), "pi_00000001", 20_00, "USD", "r1"))
	if err := p.Refund(t.Context(), "pi_00000001", 20_00, "USD", "r1"); err != nil { // the same refund
		t.Fatal(err)
	}
	is.Session = donate.Session{}
	is.Payment.Refunds = []donate.Refund{{ID: "re_00000001", Amount: 20_00, State: donate.Paid}}
	check(t, look(t, p, donate.Ref{Kind: donate.RefundRef, ID: "re_00000001"}), is)

	s.FailRefund("re_00000001")
	is.Payment.Refunds[0].State = donate.Failed
	check(t, look(t, p, donate.Ref{Kind: donate.ChargeRef, ID: "ch_00000002"}), is)

	dispute := donate.Ref{Kind: donate.DisputeRef, ID: s.Dispute("pi_00000001")}
	is.Payment.Disputes = []donate.Dispute{{ID: dispute.ID, Amount: 51_80, State: donate.UnderWay, Withdrawn: true, Fee: 15_00}}
	check(t, look(t, p, dispute), is)
	if err := p.Refund(t.Context(), "pi_00000001", 1_00, "USD", "r2"); !errors.Is(err, donate.ErrDefinite) {
		t.Errorf("a refund of a disputed payment is %v", err)
	}
	s.CloseDispute(dispute.ID, true)
	d := &is.Payment.Disputes[0]
	d.State, d.Returned, d.FeeBack = donate.Won, true, 15_00
	check(t, look(t, p, dispute), is)
}

// A bank debit is under way for days, and may come back when no one is on the page any more.
func TestDebit(t *testing.T) {
	s, p := open(t)
	for i, arrives := range []bool{true, false} {
		session := start(t, p, order(i, donate.Once))
		s.Pay(session.ID, stripetest.Debit)
		is := look(t, p, session)
		if is.Session.State != donate.Processing || is.Payment.State != donate.Processing || is.Payment.Method != "ach" || is.Payment.MethodName != "STRIPE TEST BANK ending in 6789" {
			t.Errorf("a debit under way is %+v of %+v", is.Payment, is.Session)
		}
		s.EndDebit(is.Payment.ID, arrives)
		is = look(t, p, session)
		equal(t, is.Payment.State, map[bool]donate.State{true: donate.Paid, false: donate.Failed}[arrives],
			"the debit ends")
	}
}

func TestMonthlyGift(t *testing.T) {
	s, p := open(t)
	session := start(t, p, order(1, "monthly"))
	if is := look(t, p, session); is.Plan != nil || is.Payment != nil || is.Session.State != donate.Open {
		t.Errorf("before it is paid, a monthly gift is %+v", is)
	}
	s.Pay(session.ID, stripetest.Card)
	first := look(t, p, session)
	is := donate.Snapshot{
		Donation: "d1", Account: "a1", Session: donate.Session{ID: session.ID, State: donate.Paid},
		Payment: &donate.Payment{ID: "pi_00000001", State: donate.Paid, Amount: 51_80, Currency: "USD", Fee: 1_80, FeeKnown: true, Method: "card", MethodName: "Visa ending in 4242", Name: "Ann Lee", Email: "ann@example.org", Invoice: "in_00000001"},
		Plan:    &donate.Plan{ID: "sub_00000001", Status: giving.ActivePlan, Amount: 51_80, Covered: 1_80, Currency: "USD", Frequency: "monthly", Method: "card"},
	}
	check(t, first, is)
	plan := donate.Ref{Kind: donate.PlanRef, ID: "sub_00000001"}

	s.Advance(32 * 24 * time.Hour)
	is.Session, is.Payment.ID, is.Payment.Invoice = donate.Session{}, "pi_00000002", "in_00000002"
	check(t, look(t, p, donate.Ref{Kind: donate.PaymentRef, ID: "pi_00000002"}), is) // by way of its invoice
	check(t, look(t, p, donate.Ref{Kind: donate.InvoiceRef, ID: "in_00000002"}), is)
	check(t, look(t, p, plan), is)
	if next := look(t, p, plan).Plan.Next; next.Sub(first.Plan.Next) < 27*24*time.Hour {
		t.Errorf("the next gift is due at %v, after %v", next, first.Plan.Next)
	}

	change := func(c donate.Change) donate.Plan {
		t.Helper()
		c.Key = fmt.Sprint(c)
		succeed(t, p.Plan(t.Context(), plan.ID, c))
		return *look(t, p, plan).Plan
	}
	if is := change(donate.Change{Kind: donate.NewAmount, Amount: 30_00, Covered: 1_00}); is.Amount != 30_00 || is.Covered != 1_00 || is.Frequency != "monthly" {
		t.Errorf("another amount makes %+v", is)
	}
	if is := change(donate.Change{Kind: donate.NewAmount, Amount: 40_00, Covered: donate.KeepCovered}); is.Amount != 40_00 || is.Covered != 1_00 {
		t.Errorf("an amount that staff have changed makes %+v", is)
	}
	change(donate.Change{Kind: donate.NewAmount, Amount: 30_00, Covered: donate.KeepCovered})
	equal(t, change(donate.Change{Kind: donate.PausePlan}).Status, giving.Paused, "a pause makes")
	s.Advance(62 * 24 * time.Hour)
	equal(t, len(s.Books()), 2, "a paused plan was charged")
	equal(t, change(donate.Change{Kind: donate.ResumePlan}).Status, giving.ActivePlan, "the end of a pause makes")

	s.Break(plan.ID, true)
	for range 31 {
		if s.Advance(24 * time.Hour); look(t, p, plan).Plan.Status == giving.PastDue {
			break
		}
	}
	if is := look(t, p, plan); is.Plan.Status != giving.PastDue || is.Payment.State != donate.Open || is.Payment.Fault == "" {
		t.Errorf("a card that is declined makes %+v of %+v", is.Plan, is.Payment)
	}
	h := must(p.NewCard(t.Context(), plan.ID, "https://example.org/manage", "c1"))(t)
	if is := look(t, p, h.Session); is.Session.Card != "" || is.Session.Plan != plan.ID || is.Session.State != "" || is.Donation != "d1" {
		t.Errorf("before a card was entered, the session is %+v", is)
	}
	s.Pay(h.Session.ID, stripetest.Card)
	entered := look(t, p, h.Session).Session
	if entered.Card == "" || entered.Plan != plan.ID {
		t.Fatalf("after a card was entered, the session is %+v", entered)
	}
	change(donate.Change{Kind: donate.UseCard, Card: entered.Card})
	s.Advance(6 * 24 * time.Hour)
	if is := look(t, p, plan); is.Plan.Status != giving.ActivePlan || is.Payment.State != donate.Paid || is.Payment.Amount != 30_00 {
		t.Errorf("after another card was entered, the plan is %+v, and the payment %+v", is.Plan, is.Payment)
	}

	if is := change(donate.Change{Kind: donate.CancelPlan}); is.Status != giving.Ended || is.CanceledAt.IsZero() || !is.Next.IsZero() {
		t.Errorf("the end makes %+v", is)
	}
	if err := p.Plan(t.Context(), plan.ID, donate.Change{Kind: donate.CancelPlan}); !errors.Is(err, donate.ErrGone) {
		t.Errorf("a second end is %v", err)
	}
}

// Money that moved has the day on which it moved, and none of it is left out, even if it is more than Stripe tells at once.
func TestEveryMovementHasItsDay(t *testing.T) {
	s, p := open(t)
	session := start(t, p, order(1, donate.Once))
	if is := look(t, p, session).Session; is.Expires.IsZero() || !strings.HasPrefix(is.URL, s.URL) {
		t.Errorf("a session is %+v", is)
	}
	s.Pay(session.ID, stripetest.Card)
	var refunds []string
	for range 12 {
		id := must(s.Refund("pi_00000001", 1_00))(t)
		refunds = append(refunds, id)
	}
	s.FailRefund(refunds[3])
	payment := look(t, p, session).Payment
	equal(t, len(payment.Refunds), len(refunds))
	for _, r := range payment.Refunds {
		if failed := r.ID == refunds[3]; r.At.IsZero() || r.FailedAt.IsZero() == failed || (r.State == donate.Failed) != failed {
			t.Errorf("a refund is %+v", r)
		}
	}

	s.Pay(start(t, p, order(2, donate.Once)).ID, stripetest.Card)
	disputed := donate.Ref{Kind: donate.DisputeRef, ID: s.Dispute("pi_00000002")}
	s.CloseDispute(disputed.ID, true)
	if d := look(t, p, disputed).Payment.Disputes; len(d) != 1 || d[0].At.IsZero() || d[0].BackAt.IsZero() || d[0].Fee != 15_00 || d[0].FeeBack != 15_00 {
		t.Errorf("a dispute that was won is %+v", d)
	}

	s.Pay(start(t, p, order(3, "quarterly")).ID, stripetest.Card)
	plan := donate.Ref{Kind: donate.PlanRef, ID: "sub_00000001"}
	began := look(t, p, plan).Plan
	succeed(t, p.Plan(t.Context(), plan.ID, donate.Change{Kind: donate.CancelPlan}))
	if ended := look(t, p, plan).Plan; began.StartAt.IsZero() || began.Next.Sub(began.StartAt) < 89*24*time.Hour || ended.CanceledAt.IsZero() || began.Frequency != "quarterly" {
		t.Errorf("a plan is %+v, and then %+v", began, ended)
	}
}

// Whatever happens, in whatever order events come, and whichever are lost: once everything that happened was looked at, the books are those of Stripe.
func TestBooksAreThoseOfStripe(t *testing.T) {
	s, p := open(t)
	s.LateFees = true
	r := rand.New(rand.NewPCG(45, 2))
	orders, gifts := map[string]*donate.Order{}, map[string]*giving.Gift{}
	began := time.Now()
	settle := func(ref donate.Ref) error {
		is, err := p.Look(t.Context(), ref)
		if err != nil || is.Payment == nil {
			return err
		}
		g := gifts[is.Payment.ID]
		o := donate.Settle(donate.Known{Order: *orders[is.Donation], Gift: g}, &is)
		if o.New != nil {
			g = &giving.Gift{Status: o.New.Status, Currency: o.New.Currency, At: o.New.At, Entries: []giving.Entry{{Amount: o.New.Amount, FeeCovered: o.New.Covered}}}
		}
		if g != nil {
			gifts[is.Payment.ID] = new(o.Apply(*g))
		}
		if o.Doubt != "" && o.Doubt != donate.Disputed {
			t.Errorf("%s is in doubt: %s", is.Payment.ID, o.Doubt)
		}
		return nil
	}
	deliver := func() {
		for _, d := range stripetest.Shuffle(r, s.Deliveries(), 0.05, 0.3) {
			signature := stripetest.Sign(d.Body, s.Secret, time.Now())
			h, err := p.Verify(func(string) string { return signature }, d.Body, time.Now())
			if err == nil && h.Ref.ID != "" {
				err = settle(h.Ref)
			}
			if err != nil {
				t.Fatal(d.Type, err)
			}
		}
	}
	var refunds, disputes []string
	for i := range 60 {
		o := order(i, []string{donate.Once, donate.Once, "monthly"}[r.IntN(3)])
		orders[o.Donation] = o
		s.Pay(start(t, p, o).ID, []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Debit, stripetest.Decline}[r.IntN(4)])
		payments := s.Payments()
		payment := payments[r.IntN(len(payments))]
		switch r.IntN(7) {
		case 0:
			if id, err := s.Refund(payment, 1+r.Int64N(20_00)); err == nil {
				refunds = append(refunds, id)
			}
		case 1:
			if len(refunds) > 0 {
				s.FailRefund(refunds[0])
				refunds = refunds[1:]
			}
		case 2:
			for _, b := range s.Books() {
				if b.Payment == payment && b.Left == b.Amount {
					disputes = append(disputes, s.Dispute(payment))
				}
			}
		case 3:
			if len(disputes) > 0 {
				s.CloseDispute(disputes[0], r.IntN(2) == 0)
				disputes = disputes[1:]
			}
		case 4:
			s.EndDebit(payment, r.IntN(3) > 0)
		case 5:
			s.Advance(20 * 24 * time.Hour)
		case 6:
			s.Fees()
		}
		if r.IntN(4) == 0 {
			deliver()
		}
	}
	s.Fees()
	deliver()
	succeed(t, p.Since(t.Context(), began.Add(-time.Hour), settle))
	counted := 0
	for _, g := range gifts {
		if g.Status == giving.Succeeded {
			counted++
		}
	}
	books := s.Books()
	if counted != len(books) || counted < 40 {
		t.Errorf("%d gifts count, and Stripe has %d", counted, len(books))
	}
	for _, b := range books {
		if g := gifts[b.Payment]; g == nil || g.Left() != b.Left || g.Payment().Fee != b.Fee || g.Payment().Amount != b.Amount {
			t.Errorf("the gift is %+v, and Stripe has %+v", g, b)
		}
	}
}

// Nothing is believed but what Stripe has signed, for us, now.
func TestEventsThatAreRefused(t *testing.T) {
	s, p := open(t)
	s.Pay(start(t, p, order(1, donate.Once)).ID, stripetest.Card)
	var event stripetest.Delivery
	for _, d := range s.Deliveries() {
		if d.Type == "checkout.session.completed" {
			event = d
		}
	}
	now := time.Now()
	good := stripetest.Sign(event.Body, s.Secret, now)
	live := []byte(strings.ReplaceAll(string(event.Body), `"livemode":false`, `"livemode":true`))
	for name, c := range map[string]struct {
		signature string
		body      []byte
		ok        bool
	}{
		"good":                      {good, event.Body, true},
		"good beside a bad one":     {good + ",v1=00", event.Body, true},
		"unsigned":                  {"", event.Body, false},
		"no time":                   {good[strings.Index(good, "v1"):], event.Body, false},
		"nonsense":                  {"t=x,v1=y", event.Body, false},
		"another secret":            {stripetest.Sign(event.Body, "whsec_other", now), event.Body, false},
		"no secret":                 {stripetest.Sign(event.Body, "", now), event.Body, false},
		"another body":              {good, []byte(strings.Replace(string(event.Body), "cs_test", "cs_tess", 1)), false},
		"old":                       {stripetest.Sign(event.Body, s.Secret, now.Add(-6*time.Minute)), event.Body, false},
		"from the future":           {stripetest.Sign(event.Body, s.Secret, now.Add(6*time.Minute)), event.Body, false},
		"a second time in front":    {"t=1," + good, event.Body, true},
		"a second time behind":      {good + fmt.Sprintf(",t=%d", now.Add(-time.Hour).Unix()), event.Body, false},
		"live":                      {stripetest.Sign(live, s.Secret, now), live, false},
		"no event":                  {stripetest.Sign([]byte("{}"), s.Secret, now), []byte("{}"), false},
		"no JSON":                   {stripetest.Sign([]byte("hello"), s.Secret, now), []byte("hello"), false},
		"an id that is an address":  {stripetest.Sign([]byte(`{"id":"../x"}`), s.Secret, now), []byte(`{"id":"../x"}`), false},
		"signed by another version": {strings.Replace(good, "v1=", "v0=", 1), event.Body, false},
	} {
		h, err := p.Verify(http.Header{"Stripe-Signature": {c.signature}}.Get, c.body, now)
		if errors.Is(err, donate.ErrForged) == c.ok || (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if isLate := name == "old" || name == "from the future"; !c.ok && h.At.IsZero() == isLate {
			t.Errorf("%s: the time is %v", name, h.At)
		}
		if c.ok && (h.Event != event.Event || h.Ref != donate.Ref{Kind: donate.SessionRef, ID: "cs_test_00000001"} || h.Declined) {
			t.Errorf("%s: %+v", name, h)
		}
	}
	for name, c := range map[string]struct {
		hooks []string
		ok    bool
	}{"no secret": {nil, false}, "an empty one": {[]string{""}, false}, "two": {[]string{"whsec_old", s.Secret}, true}} {
		with := donate.Connection{Provider: "stripe", Key: s.Key, Hooks: c.hooks, Address: s.URL}
		p := must(pay.NewDesk("").Open(with))(t)
		for _, signature := range []string{good, stripetest.Sign(event.Body, "", now)} {
			if _, err := p.Verify(func(string) string { return signature }, event.Body, now); (err == nil) != (c.ok && signature == good) {
				t.Errorf("with %s: %v", name, err)
			}
		}
	}
	unknown := []byte(`{"id":"evt_1","type":"payout.paid","livemode":false,"data":{"object":{"id":"po_1"}}}`)
	signature := stripetest.Sign(unknown, s.Secret, now)
	equal(t, must(p.Verify(func(string) string { return signature }, unknown, now))(t).Ref, (donate.Ref{}),
		"an event that we did not ask for")
}

func TestErrorsSayWhatCanBeDone(t *testing.T) {
	s, p := open(t)
	ctx := t.Context()
	is := func(name string, err, want error, said string) {
		t.Helper()
		var r *donate.Refused
		if !errors.Is(err, want) || !errors.As(err, &r) || !strings.Contains(r.Text, said) || strings.Contains(err.Error(), s.Key) || strings.Contains(err.Error(), "rk_") {
			t.Errorf("%s: %v, want %v with %q", name, err, want, said)
		}
	}
	_, err := p.Look(ctx, donate.Ref{Kind: donate.PaymentRef, ID: "pi_unknown"})
	is("unknown", err, donate.ErrGone, "No such payment_intent")
	_, err = p.Look(ctx, donate.Ref{Kind: donate.PaymentRef, ID: "../charges"})
	is("an address", err, donate.ErrGone, "")

	small := order(1, donate.Once)
	small.Amount = 10
	_, err = p.Start(ctx, small)
	is("too small", err, donate.ErrDefinite, "at least $0.50")
	bad := order(2, donate.Once)
	bad.Email = "ann"
	_, err = p.Start(ctx, bad)
	is("email", err, donate.ErrDefinite, "Invalid email")
	old := order(3, donate.Once)
	old.At = time.Now().Add(-40 * time.Minute)
	_, err = p.Start(ctx, old)
	is("old", err, donate.ErrDefinite, "Start again")
	live := order(4, donate.Once)
	live.Live = true
	_, err = p.Start(ctx, live)
	is("live", err, donate.ErrDefinite, "")

	o := order(5, donate.Once)
	first, again := start(t, p, o), start(t, p, o)
	equal(t, first, again, "the same order started")
	o.Amount++
	_, err = p.Start(ctx, o)
	is("another order with the key", err, donate.ErrDefinite, "same parameters")

	s.Fail(500)
	_, err = p.Start(ctx, order(6, donate.Once))
	is("broken", err, donate.ErrTemporary, "")
	s.Fail(429)
	_, err = p.Start(ctx, order(6, donate.Once))
	is("busy", err, donate.ErrTemporary, "")
	start(t, p, order(6, donate.Once))

	succeed(t, p.Check(ctx, "USD"))
	for request, permission := range map[string]string{
		"disputes": "Disputes", "POST /v1/checkout/sessions": "Checkout Sessions", "/expire": "Checkout Sessions",
		"POST /v1/refunds": "Charges and Refunds", "POST /v1/subscriptions": "Subscriptions",
	} {
		s.Forbid(request)
		is("forbidden "+request, p.Check(ctx, "USD"), donate.ErrNoKey, "The key may not use "+permission)
	}
	s.Forbid("")
	s.Revoke()
	is("revoked", p.Check(ctx, "USD"), donate.ErrNoKey, "no longer accepts")
	s.Close()
	_, err = p.Start(ctx, order(7, donate.Once))
	is("away", err, donate.ErrTemporary, "cannot be reached")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = p.Look(ended, donate.Ref{Kind: donate.PaymentRef, ID: "pi_00000001"})
	is("stopped", err, donate.ErrTemporary, "")
}

func TestConnectionsThatAreRefused(t *testing.T) {
	desk := pay.NewDesk("https://example.org")
	for name, c := range map[string]donate.Connection{
		"publishable": {Provider: "stripe", Key: "pk_live_0123456789abcdef", Live: true},
		"nonsense":    {Provider: "stripe", Key: "hunter2"},
		"none":        {Provider: "stripe"},
		"test":        {Provider: "stripe", Key: "rk_test_0123456789abcdef", Live: true},
		"live":        {Provider: "stripe", Key: "rk_live_0123456789abcdef"},
		"address":     {Provider: "stripe", Key: "rk_test_0123456789abcdef", Address: "http://example.com"},
		"provider":    {Provider: "bank"},
	} {
		var r *donate.Refused
		if _, err := desk.Open(c); !errors.As(err, &r) || r.Text == "" || c.Key != "" && strings.Contains(err.Error(), c.Key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Givers are sent to the provider's page alone, whatever is answered.
func TestPagesOfOthersAreRefused(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://checkout.stripe.com/c/pay/cs_1": true, "https://give.example.org/c/pay/cs_1": true,
		"http://checkout.stripe.com/c/pay/cs_1": false, "https://checkout.stripe.com.example.net/": false, "https://a@checkout.stripe.com/": false, "javascript:alert(1)": false, "": false,
	} {
		s := httptestJSON(t, fmt.Sprintf(`{"id":"cs_1","object":"checkout.session","url":%q,"expires_at":1}`, address))
		p := must(pay.NewDesk("").Open(donate.Connection{
			Provider: "stripe", Key: "rk_test_0123456789abcdef", Address: s, Host: "give.example.org",
		}))(t)
		if h, err := p.Start(t.Context(), order(1, donate.Once)); (err == nil) != ok || err != nil && h.URL != "" {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// No redirect is followed, even where someone stands between a provider and us: the key would go with it.
func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(elsewhere.Close)
	between := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(between.Close)
	p := must(pay.NewDesk("").Open(donate.Connection{
		Provider: "stripe", Key: "rk_test_0123456789abcdef", Address: between.URL,
	}))(t)
	if _, err := p.Look(t.Context(), donate.Ref{Kind: donate.PaymentRef, ID: "pi_00000001"}); !errors.Is(err, donate.ErrTemporary) || asked != 0 {
		t.Errorf("someone else was asked %d times: %v", asked, err)
	}
}

// Stripe counts some currencies in other units than banks do.
func TestUnitsOfStripe(t *testing.T) {
	s, p := open(t)
	for i, c := range []struct {
		currency      string
		amount, units int64
	}{{"JPY", 500, 500}, {"ISK", 700, 700_00}, {"UGX", 20_000, 2_000_000}, {"MGA", 20_000_00, 20_000}, {"KWD", 5_120, 5_120}, {"EUR", 51_80, 51_80}} {
		var asked string
		s.Asked = func(r *http.Request) { asked = r.PostForm.Get("line_items[0][price_data][unit_amount]") }
		o := order(i, donate.Once)
		o.Currency, o.Amount = c.currency, c.amount
		session := start(t, p, o)
		equal(t, asked, fmt.Sprint(c.units), "%d %s is asked for (%v)", c.amount, c.currency, c.units)
		s.Asked = nil
		s.Pay(session.ID, stripetest.Card)
		is := look(t, p, session)
		equal(t, is.Payment.Amount, c.amount)
		equal(t, is.Payment.Currency, c.currency)
	}
	for i, c := range []struct {
		currency string
		amount   int64
	}{{"KWD", 5_121}, {"MGA", 20_000_50}} {
		o := order(100+i, donate.Once)
		o.Currency, o.Amount = c.currency, c.amount
		if _, err := p.Start(t.Context(), o); !errors.Is(err, donate.ErrDefinite) {
			t.Errorf("%d %s: %v", c.amount, c.currency, err)
		}
		if o.Amount = donate.Chargeable(c.amount, c.currency); o.Amount <= c.amount {
			t.Errorf("%d %s can be charged as %d", c.amount, c.currency, o.Amount)
		}
		start(t, p, o)
	}
}

func TestRegister(t *testing.T) {
	s, p := open(t)
	ctx := t.Context()
	for range 2 { // the second one replaces the first
		equal(t, must(p.Register(ctx, "https://example.org/hooks/stripe/a1"))(t), s.Secret)
	}
	equal(t, s.Endpoints(), 1)
}

// must and succeed are for calls that must succeed.

func must[T any](v T, err error) func(assert.Failer) T { return assert.Must(v, err) }

func succeed(t assert.Failer, err error) {
	t.Helper()
	assert.Succeed(t, err)
}

func equal[T any](t assert.Failer, got, want T, what ...any) {
	t.Helper()
	assert.Equal(t, got, want, what...)
}
