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
	"donorbook/internal/rig/rows"
)

// open is a Stripe, and a connection to it.
func open(t *testing.T) (*stripetest.Server, donate.Provider) {
	s := stripetest.New(false)
	t.Cleanup(s.Close)
	return s, connect(t, donate.Connection{Account: "a1", Key: s.Key, Hooks: []string{s.Secret}, Address: s.URL})
}

func connect(t *testing.T, with donate.Connection) donate.Provider {
	with.Provider = "stripe"
	return must(pay.NewDesk("https://example.org").Open(with))(t)
}

func order(n int, frequency string) *donate.Order {
	return &donate.Order{
		Donation: fmt.Sprint("d", n), Account: "a1", Key: fmt.Sprint("k", n), At: time.Now(), Amount: 51_80,
		Covered:  1_80,
		Currency: "USD", Frequency: frequency, For: "Donation: Clean Water", Email: "ann@example.org",
		Success: "https://example.org/thanks", Cancel: "https://example.org/give",
	}
}

func start(t *testing.T, p donate.Provider, o *donate.Order) donate.Ref {
	t.Helper()
	return must(p.Start(t.Context(), o))(t).Session
}

func look(t *testing.T, p donate.Provider, ref donate.Ref) donate.Snapshot {
	t.Helper()
	return must(p.Look(t.Context(), ref))(t)
}

// check compares a snapshot, but for its times and addresses.
func check(t *testing.T, got, want donate.Snapshot) {
	t.Helper()
	want.Provider = "stripe"
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(time.Time{}),
		cmpopts.IgnoreFields(donate.Session{}, "URL")); d != "" {
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
	is.Payment = ann("pi_00000001")
	is.Payment.State, is.Payment.Fault = donate.Open, "Your card was declined."
	check(t, look(t, p, session), is)

	s.Pay(session.ID, stripetest.Card)
	is.Session.State, is.Payment.State, is.Payment.Fault = donate.Paid, donate.Paid, ""
	check(t, look(t, p, session), is)

	s.Fees()
	is.Payment.Fee, is.Payment.FeeKnown = 1_80, true
	check(t, look(t, p, session), is)

	for range 2 { // the same refund
		succeed(t, p.Refund(t.Context(), "pi_00000001", 20_00, "USD", "r1"))
	}
	is.Session = donate.Session{}
	is.Payment.Refunds = []donate.Refund{{ID: "re_00000001", Amount: 20_00, State: donate.Paid}}
	check(t, look(t, p, ref(donate.RefundRef, "re_00000001")), is)

	s.FailRefund("re_00000001")
	is.Payment.Refunds[0].State = donate.Failed
	check(t, look(t, p, ref(donate.ChargeRef, "ch_00000002")), is)

	dispute := ref(donate.DisputeRef, s.Dispute("pi_00000001"))
	d := donate.Dispute{ID: dispute.ID, Amount: 51_80, State: donate.UnderWay, Withdrawn: true, Fee: 15_00}
	is.Payment.Disputes = []donate.Dispute{d}
	check(t, look(t, p, dispute), is)
	err := p.Refund(t.Context(), "pi_00000001", 1_00, "USD", "r2")
	equal(t, errors.Is(err, donate.ErrDefinite), true, "a refund of a disputed payment is %v", err)
	s.CloseDispute(dispute.ID, true)
	d.State, d.Returned, d.FeeBack = donate.Won, true, 15_00
	is.Payment.Disputes[0] = d
	check(t, look(t, p, dispute), is)
}

// A bank debit is under way for days, and may come back when no one is on the page any more.
func TestDebit(t *testing.T) {
	s, p := open(t)
	for i, arrives := range []bool{true, false} {
		session := start(t, p, order(i, donate.Once))
		s.Pay(session.ID, stripetest.Debit)
		is := look(t, p, session)
		if is.Session.State != donate.Processing || is.Payment.State != donate.Processing ||
			is.Payment.Method != "ach" || is.Payment.MethodName != "STRIPE TEST BANK ending in 6789" {
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
	is := donate.Snapshot{Donation: "d1", Account: "a1", Session: donate.Session{ID: session.ID, State: donate.Open}}
	check(t, look(t, p, session), is)
	s.Pay(session.ID, stripetest.Card)
	first := look(t, p, session)
	is.Session.State, is.Payment = donate.Paid, ann("pi_00000001")
	is.Payment.State, is.Payment.Fee, is.Payment.FeeKnown, is.Payment.Invoice = donate.Paid, 1_80, true, "in_00000001"
	is.Plan = &donate.Plan{
		ID: "sub_00000001", Status: giving.ActivePlan, Amount: 51_80, Covered: 1_80, Currency: "USD",
		Frequency: "monthly", Method: "card",
	}
	check(t, first, is)
	plan := ref(donate.PlanRef, "sub_00000001")

	s.Advance(32 * 24 * time.Hour)
	is.Session, is.Payment.ID, is.Payment.Invoice = donate.Session{}, "pi_00000002", "in_00000002"
	check(t, look(t, p, ref(donate.PaymentRef, "pi_00000002")), is) // by way of its invoice
	check(t, look(t, p, ref(donate.InvoiceRef, "in_00000002")), is)
	check(t, look(t, p, plan), is)
	if next := look(t, p, plan).Plan.Next; next.Sub(first.Plan.Next) < 27*24*time.Hour {
		t.Errorf("the next gift is due at %v, after %v", next, first.Plan.Next)
	}

	change := func(c donate.Change) {
		t.Helper()
		c.Key = fmt.Sprint(c)
		succeed(t, p.Plan(t.Context(), plan.ID, c))
		check(t, look(t, p, plan), is)
	}
	for _, covered := range []int64{1_00, donate.KeepCovered} {
		is.Plan.Amount, is.Plan.Covered = is.Plan.Amount-10_00, 1_00
		change(donate.Change{Kind: donate.NewAmount, Amount: is.Plan.Amount, Covered: covered})
	}
	is.Plan.Status = giving.Paused
	change(donate.Change{Kind: donate.PausePlan})
	s.Advance(62 * 24 * time.Hour)
	equal(t, len(s.Books()), 2, "a paused plan was charged")
	is.Plan.Status, is.Payment = giving.ActivePlan, look(t, p, plan).Payment
	change(donate.Change{Kind: donate.ResumePlan})

	s.Break(plan.ID, true)
	for range 31 {
		if s.Advance(24 * time.Hour); look(t, p, plan).Plan.Status == giving.PastDue {
			break
		}
	}
	late := look(t, p, plan)
	if late.Plan.Status != giving.PastDue || late.Payment.State != donate.Open || late.Payment.Fault == "" {
		t.Errorf("a card that is declined makes %+v of %+v", late.Plan, late.Payment)
	}
	h := must(p.NewCard(t.Context(), plan.ID, "https://example.org/manage", "c1"))(t)
	page := donate.Snapshot{Donation: "d1", Account: "a1", Session: donate.Session{ID: h.Session.ID, Plan: plan.ID}}
	check(t, look(t, p, h.Session), page)
	s.Pay(h.Session.ID, stripetest.Card)
	card := look(t, p, h.Session).Session.Card
	equal(t, card != "", true, "a card was entered: %q", card)
	is.Plan.Status, is.Payment = giving.PastDue, late.Payment
	change(donate.Change{Kind: donate.UseCard, Card: card})
	s.Advance(6 * 24 * time.Hour)
	paid := look(t, p, plan)
	if paid.Plan.Status != giving.ActivePlan || paid.Payment.State != donate.Paid ||
		paid.Payment.Amount != is.Plan.Amount {
		t.Errorf("after another card was entered, the plan is %+v, and the payment %+v", paid.Plan, paid.Payment)
	}

	is.Plan.Status, is.Payment = giving.Ended, paid.Payment
	change(donate.Change{Kind: donate.CancelPlan})
	if ended := look(t, p, plan).Plan; ended.CanceledAt.IsZero() || !ended.Next.IsZero() {
		t.Errorf("the end makes %+v", ended)
	}
	err := p.Plan(t.Context(), plan.ID, donate.Change{Kind: donate.CancelPlan})
	equal(t, errors.Is(err, donate.ErrGone), true, "a second end is %v", err)
}

// Money that moved has the day on which it moved, and none of it is left out, even if it is more than Stripe tells at
// once.
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
		if failed := r.ID == refunds[3]; r.At.IsZero() || r.FailedAt.IsZero() == failed ||
			(r.State == donate.Failed) != failed {
			t.Errorf("a refund is %+v", r)
		}
	}

	s.Pay(start(t, p, order(2, donate.Once)).ID, stripetest.Card)
	disputed := ref(donate.DisputeRef, s.Dispute("pi_00000002"))
	s.CloseDispute(disputed.ID, true)
	if d := look(t, p, disputed).Payment.Disputes; len(d) != 1 || d[0].At.IsZero() || d[0].BackAt.IsZero() ||
		d[0].Fee != 15_00 || d[0].FeeBack != 15_00 {
		t.Errorf("a dispute that was won is %+v", d)
	}

	s.Pay(start(t, p, order(3, "quarterly")).ID, stripetest.Card)
	plan := ref(donate.PlanRef, "sub_00000001")
	began := look(t, p, plan).Plan
	succeed(t, p.Plan(t.Context(), plan.ID, donate.Change{Kind: donate.CancelPlan}))
	if ended := look(t, p, plan).Plan; began.StartAt.IsZero() || began.Next.Sub(began.StartAt) < 89*24*time.Hour ||
		ended.CanceledAt.IsZero() || began.Frequency != "quarterly" {
		t.Errorf("a plan is %+v, and then %+v", began, ended)
	}
}

// Whatever happens, in whatever order events come, and whichever are lost: once everything that happened was looked at,
// the books are those of Stripe.
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
			g = &giving.Gift{Status: o.New.Status, Currency: o.New.Currency, At: o.New.At,
				Entries: []giving.Entry{{Amount: o.New.Amount, FeeCovered: o.New.Covered}}}
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
		s.Pay(start(t, p, o).ID, []stripetest.How{stripetest.Card, stripetest.Card, stripetest.Debit,
			stripetest.Decline}[r.IntN(4)])
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
		if g := gifts[b.Payment]; g == nil || g.Left() != b.Left || g.Payment().Fee != b.Fee ||
			g.Payment().Amount != b.Amount {
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
	verify := func(p donate.Provider, signature, body string) (donate.Hint, error) {
		return p.Verify(http.Header{"Stripe-Signature": {signature}}.Get, []byte(body), now)
	}
	for _, c := range rows.Of[struct {
		What, Signature, Secret string
		Minutes                 int
		Body                    string
		OK                      bool
	}](`
		good                       SIGNED         OURS   0   EVENT                  true
		good beside a bad one      SIGNED,v1=00   OURS   0   EVENT                  true
		unsigned                   ""             OURS   0   EVENT                  false
		no time                    v1=MAC         OURS   0   EVENT                  false
		nonsense                   t=x,v1=y       OURS   0   EVENT                  false
		another secret             SIGNED         other  0   EVENT                  false
		no secret                  SIGNED         ""     0   EVENT                  false
		another body               SIGNED         OURS   0   EVENT|cs_test=cs_tess  false
		old                        SIGNED         OURS   -6  EVENT                  false
		from the future            SIGNED         OURS   6   EVENT                  false
		a second time in front     t=1,SIGNED     OURS   0   EVENT                  true
		a second time behind       SIGNED,t=1     OURS   0   EVENT                  false
		live                       SIGNED         OURS   0   LIVE                   false
		no event                   SIGNED         OURS   0   {}                     false
		no JSON                    SIGNED         OURS   0   hello                  false
		an id that is an address   SIGNED         OURS   0   {"id":"../x"}          false
		signed by another version  t=TIME,v0=MAC  OURS   0   EVENT                  false
	`) {
		live := strings.ReplaceAll(string(event.Body), `"livemode":false`, `"livemode":true`)
		body, changed, _ := strings.Cut(c.Body, "|")
		body = strings.NewReplacer("EVENT", string(event.Body), "LIVE", live).Replace(body)
		secret := strings.Replace(c.Secret, "OURS", s.Secret, 1)
		signed := stripetest.Sign([]byte(body), secret, now.Add(time.Duration(c.Minutes)*time.Minute))
		stamp, mac, _ := strings.Cut(strings.TrimPrefix(signed, "t="), ",v1=")
		signature := strings.NewReplacer("SIGNED", signed, "MAC", mac, "TIME", stamp).Replace(c.Signature)
		was, is, _ := strings.Cut(changed, "=")
		h, err := verify(p, signature, strings.Replace(body, was, is, 1))
		equal(t, errors.Is(err, donate.ErrForged), !c.OK, "%s: it is forged, %v", c.What, err)
		equal(t, err == nil, c.OK, "%s: %v", c.What, err)
		equal(t, h.At.IsZero(), !c.OK && c.Minutes == 0, "%s: it has no time", c.What)
		if want := ref(donate.SessionRef, "cs_test_00000001"); c.OK &&
			(h.Event != event.Event || h.Ref != want || h.Declined) {
			t.Errorf("%s: %+v", c.What, h)
		}
	}
	good := stripetest.Sign(event.Body, s.Secret, now)
	for secrets, ok := range map[string]bool{"none": false, "": false, "whsec_old " + s.Secret: true} {
		hooks := strings.Split(secrets, " ")
		if secrets == "none" {
			hooks = nil
		}
		p := connect(t, donate.Connection{Key: s.Key, Hooks: hooks, Address: s.URL})
		for _, signature := range []string{good, stripetest.Sign(event.Body, "", now)} {
			_, err := verify(p, signature, string(event.Body))
			equal(t, err == nil, ok && signature == good, "with %s: %v", secrets, err)
		}
	}
	const unknown = `{"id":"evt_1","type":"payout.paid","livemode":false,"data":{"object":{"id":"po_1"}}}`
	h := must(verify(p, stripetest.Sign([]byte(unknown), s.Secret, now), unknown))(t)
	equal(t, h.Ref, (donate.Ref{}), "an event that we did not ask for")
}

func TestErrorsSayWhatCanBeDone(t *testing.T) {
	s, p := open(t)
	ctx := t.Context()
	is := func(name string, err, want error, said string) {
		t.Helper()
		var r *donate.Refused
		if !errors.Is(err, want) || !errors.As(err, &r) {
			t.Fatalf("%s: %v, want %v", name, err, want)
		}
		assert.Contains(t, r.Text, said, name)
		if strings.Contains(err.Error(), s.Key) || strings.Contains(err.Error(), "rk_") {
			t.Errorf("%s: %v tells the key", name, err)
		}
	}
	looks := func(ctx context.Context, id string) error {
		_, err := p.Look(ctx, ref(donate.PaymentRef, id))
		return err
	}
	starts := func(n int, change func(*donate.Order)) error {
		o := order(n, donate.Once)
		change(o)
		_, err := p.Start(ctx, o)
		return err
	}
	as := func(*donate.Order) {}
	is("unknown", looks(ctx, "pi_unknown"), donate.ErrGone, "No such payment_intent")
	is("an address", looks(ctx, "../charges"), donate.ErrGone, "")
	is("too small", starts(1, func(o *donate.Order) { o.Amount = 10 }), donate.ErrDefinite, "at least $0.50")
	is("email", starts(2, func(o *donate.Order) { o.Email = "ann" }), donate.ErrDefinite, "Invalid email")
	is("old", starts(3, func(o *donate.Order) { o.At = o.At.Add(-40 * time.Minute) }), donate.ErrDefinite,
		"Start again")
	is("live", starts(4, func(o *donate.Order) { o.Live = true }), donate.ErrDefinite, "")

	o := order(5, donate.Once)
	equal(t, start(t, p, o), start(t, p, o), "the same order started")
	is("another order with the key", starts(5, func(next *donate.Order) {
		*next = *o
		next.Amount++
	}), donate.ErrDefinite, "same parameters")

	for _, status := range []int{500, 429} {
		s.Fail(status)
		is(fmt.Sprint(status), starts(6, as), donate.ErrTemporary, "")
	}
	succeed(t, starts(6, as))

	succeed(t, p.Check(ctx, "USD"))
	for request, permission := range rows.Pairs(`
		disputes                    Disputes
		POST /v1/checkout/sessions  Checkout Sessions
		/expire                     Checkout Sessions
		POST /v1/refunds            Charges and Refunds
		POST /v1/subscriptions      Subscriptions
	`) {
		s.Forbid(request)
		is("forbidden "+request, p.Check(ctx, "USD"), donate.ErrNoKey, "The key may not use "+permission)
	}
	s.Forbid("")
	s.Revoke()
	is("revoked", p.Check(ctx, "USD"), donate.ErrNoKey, "no longer accepts")
	s.Close()
	is("away", starts(7, as), donate.ErrTemporary, "cannot be reached")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	is("stopped", looks(ended, "pi_00000001"), donate.ErrTemporary, "")
}

func TestConnectionsThatAreRefused(t *testing.T) {
	for _, c := range rows.Of[struct {
		Provider, Key, Address string
		Live                   bool
	}](`
		stripe  pk_live_0123456789abcdef  ""                  true   // publishable
		stripe  hunter2                   ""                  false
		stripe  ""                        ""                  false
		stripe  rk_test_0123456789abcdef  ""                  true
		stripe  rk_live_0123456789abcdef  ""                  false
		stripe  rk_test_0123456789abcdef  http://example.com  false
		bank    ""                        ""                  false
	`) {
		with := donate.Connection{Provider: c.Provider, Key: c.Key, Address: c.Address, Live: c.Live}
		var r *donate.Refused
		_, err := pay.NewDesk("https://example.org").Open(with)
		if !errors.As(err, &r) || r.Text == "" || c.Key != "" && strings.Contains(err.Error(), c.Key) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Givers are sent to the provider's page alone, whatever is answered.
func TestPagesOfOthersAreRefused(t *testing.T) {
	for _, c := range rows.Of[struct {
		Address string
		OK      bool
	}](`
		https://checkout.stripe.com/c/pay/cs_1    true
		https://give.example.org/c/pay/cs_1       true
		http://checkout.stripe.com/c/pay/cs_1     false
		https://checkout.stripe.com.example.net/  false
		https://a@checkout.stripe.com/            false
		javascript:alert(1)                       false
		""                                        false
	`) {
		body := fmt.Sprintf(`{"id":"cs_1","object":"checkout.session","url":%q,"expires_at":1}`, c.Address)
		p := connect(t, donate.Connection{Key: testKey, Address: httptestJSON(t, body), Host: "give.example.org"})
		h, err := p.Start(t.Context(), order(1, donate.Once))
		equal(t, err == nil, c.OK, "%q: %v", c.Address, err)
		equal(t, h.URL != "", c.OK, "%q: a page", c.Address)
	}
}

// No redirect is followed, even where someone stands between a provider and us: the key would go with it.
func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(elsewhere.Close)
	between := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(between.Close)
	p := connect(t, donate.Connection{Key: testKey, Address: between.URL})
	_, err := p.Look(t.Context(), ref(donate.PaymentRef, "pi_00000001"))
	equal(t, errors.Is(err, donate.ErrTemporary), true, "%v", err)
	equal(t, asked, 0, "someone else was asked")
}

// Stripe counts some currencies in other units than banks do.
func TestUnitsOfStripe(t *testing.T) {
	s, p := open(t)
	for i, c := range rows.Of[struct {
		Currency      string
		Amount, Units int64 // 0: refused
	}](`
		JPY  500      500
		ISK  700      70000
		UGX  20000    2000000
		MGA  2000000  20000
		KWD  5120     5120
		EUR  5180     5180
		KWD  5121     0
		MGA  2000050  0
	`) {
		o := order(i, donate.Once)
		o.Currency, o.Amount = c.Currency, c.Amount
		if c.Units == 0 {
			_, err := p.Start(t.Context(), o)
			equal(t, errors.Is(err, donate.ErrDefinite), true, "%+v: %v", c, err)
			if o.Amount = donate.Chargeable(c.Amount, c.Currency); o.Amount <= c.Amount {
				t.Errorf("%+v can be charged as %d", c, o.Amount)
			}
			start(t, p, o)
			continue
		}
		var asked string
		s.Asked = func(r *http.Request) { asked = r.PostForm.Get("line_items[0][price_data][unit_amount]") }
		session := start(t, p, o)
		equal(t, asked, fmt.Sprint(c.Units), "%+v is asked for", c)
		s.Asked = nil
		s.Pay(session.ID, stripetest.Card)
		is := look(t, p, session)
		equal(t, is.Payment.Amount, c.Amount)
		equal(t, is.Payment.Currency, c.Currency)
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

func ref(kind donate.RefKind, id string) donate.Ref { return donate.Ref{Kind: kind, ID: id} }

// ann is a payment by card, without its state.
func ann(id string) *donate.Payment {
	return &donate.Payment{
		ID: id, Amount: 51_80, Currency: "USD", Method: "card", MethodName: "Visa ending in 4242", Name: "Ann Lee",
		Email: "ann@example.org",
	}
}

const testKey = "rk_test_0123456789abcdef"
