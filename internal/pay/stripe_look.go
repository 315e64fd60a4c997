package pay

import (
	"cmp"
	"context"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
)

// Look asks for the object, and from there for the payment and the plan that it belongs to.
func (p *stripeProvider) Look(ctx context.Context, ref donate.Ref) (s donate.Snapshot, err error) {
	s = donate.Snapshot{Provider: StripeName, At: time.Now().UTC()}
	if !objectID.MatchString(ref.ID) {
		return s, refused(donate.Gone, "Stripe has nothing of this name.", nil)
	}
	switch ref.Kind {
	case donate.SessionRef:
		err = p.session(ctx, &s, ref.ID)
	case donate.PaymentRef:
		err = p.payment(ctx, &s, ref.ID)
	case donate.ChargeRef:
		err = p.paymentOf(ctx, &s, "charges/"+ref.ID)
	case donate.RefundRef:
		err = p.paymentOf(ctx, &s, "refunds/"+ref.ID)
	case donate.DisputeRef:
		err = p.paymentOf(ctx, &s, "disputes/"+ref.ID)
	case donate.InvoiceRef:
		err = p.invoice(ctx, &s, ref.ID)
	case donate.PlanRef:
		subscription, failed := p.subscription(ctx, ref.ID)
		if err = failed; err == nil {
			plan(&s, subscription)
			if invoice := subscription.text("latest_invoice"); invoice != "" {
				err = p.invoice(ctx, &s, invoice)
			}
		}
	default:
		err = refused(donate.Gone, "Stripe has nothing of this kind.", nil)
	}
	return s, err
}

func (p *stripeProvider) paymentOf(ctx context.Context, s *donate.Snapshot, path string) error {
	o, err := p.get(ctx, path, nil)
	if err != nil {
		return err
	}
	if o.text("payment_intent") == "" {
		return refused(donate.Gone, "The charge belongs to no payment.", nil)
	}
	return p.payment(ctx, s, o.text("payment_intent"))
}

func (p *stripeProvider) subscription(ctx context.Context, id string) (object, error) {
	return p.get(ctx, "subscriptions/"+url.PathEscape(id), expand("default_payment_method"))
}

func (p *stripeProvider) session(ctx context.Context, s *donate.Snapshot, id string) error {
	o, err := p.get(ctx, "checkout/sessions/"+id, expand("setup_intent"))
	if err != nil {
		return err
	}
	ours(s, o)
	s.Session = donate.Session{ID: o.text("id"), Expires: o.time("expires_at"), URL: o.text("url"), Plan: o.text("metadata." + keptPlan)}
	isDone := false
	switch {
	case o.text("status") == "expired":
		s.Session.State = donate.Expired
	case o.text("status") == "open":
		s.Session.State = donate.Open
	case o.text("payment_status") == "unpaid":
		s.Session.State, isDone = donate.Processing, true
	default:
		s.Session.State, isDone = donate.Paid, true
	}
	switch {
	case o.text("mode") == "setup":
		if s.Session.State = ""; isDone && o.text("setup_intent.status") == "succeeded" {
			s.Session.Card = o.text("setup_intent.payment_method")
		}
		return nil
	case o.text("payment_intent") != "":
		err = p.payment(ctx, s, o.text("payment_intent"))
	case o.text("invoice") != "":
		err = p.invoice(ctx, s, o.text("invoice"))
	}
	if s.Payment != nil && s.Payment.State == donate.Open && s.Payment.Fault != "" && isDone { // a debit came back, and no one is on the page to try another account
		s.Payment.State = donate.Failed
	}
	return err
}

// payment asks for a payment with everything about its money. What a plan was charged has nothing of ours on itself, but on the plan.
func (p *stripeProvider) payment(ctx context.Context, s *donate.Snapshot, id string) error {
	o, err := p.get(ctx, "payment_intents/"+url.PathEscape(id), expand("latest_charge.balance_transaction", "latest_charge.refunds.data.failure_balance_transaction"))
	if err != nil {
		return err
	}
	ours(s, o)
	s.Payment = &donate.Payment{ID: o.text("id"), State: donate.Open, Amount: o.money("amount"), Currency: o.currency(), At: o.time("created"), Method: "other"}
	switch o.text("status") {
	case "succeeded":
		s.Payment.State, s.Payment.Amount = donate.Paid, o.money("amount_received")
	case "processing":
		s.Payment.State = donate.Processing
	case "canceled":
		s.Payment.State = donate.Failed
	}
	if e := o.object("last_payment_error"); e != nil {
		s.Payment.Fault = clean(cmp.Or(e.text("message"), e.text("code"), "failed"))
	}
	if charge := o.object("latest_charge"); charge != nil {
		if err := p.charge(ctx, s.Payment, charge); err != nil {
			return err
		}
	}
	if s.Donation != "" || s.Plan != nil {
		return nil
	}
	paid, err := p.get(ctx, "invoice_payments", url.Values{"limit": {"1"}, "payment[type]": {"payment_intent"}, "payment[payment_intent]": {id}})
	for _, of := range paid.list("data") {
		err = p.invoice(ctx, s, of.text("invoice"))
	}
	return err
}

// charge reads the money of a payment.
func (p *stripeProvider) charge(ctx context.Context, to *donate.Payment, o object) error {
	to.At, to.Name, to.Email = o.time("created"), o.text("billing_details.name"), o.text("billing_details.email")
	if d := o.object("payment_method_details"); d != nil {
		to.Method, to.MethodName = method(d.text("type")), methodName(d)
	}
	if b := o.object("balance_transaction"); b.number("amount") != 0 {
		to.Fee, to.FeeKnown = feeOf(b, o), true
	}
	refunds := o.list("refunds.data")
	if of := expand("data.failure_balance_transaction"); o.is("refunds.has_more") {
		of.Set("charge", o.text("id"))
		refunds = nil
		if err := p.every(ctx, "refunds", of, func(r object) error { refunds = append(refunds, r); return nil }); err != nil {
			return err
		}
	}
	for _, r := range refunds {
		refund := donate.Refund{ID: r.text("id"), Amount: r.money("amount"), State: donate.Processing, At: r.time("created")}
		switch r.text("status") {
		case "succeeded":
			refund.State = donate.Paid
		case "failed", "canceled":
			refund.State, refund.FailedAt = donate.Failed, unix(cmp.Or(r.number("failure_balance_transaction.created"), r.number("created")))
		}
		to.Refunds = append(to.Refunds, refund)
	}
	if !o.is("disputed") {
		return nil
	}
	return p.every(ctx, "disputes", url.Values{"charge": {o.text("id")}}, func(d object) error {
		to.Disputes = append(to.Disputes, dispute(d))
		return nil
	})
}

// dispute reads what a dispute has moved: one balance transaction takes the money, another one brings it back.
func dispute(o object) donate.Dispute {
	is := donate.Dispute{ID: o.text("id"), Amount: o.money("amount"), State: donate.UnderWay, At: o.time("created")}
	switch o.text("status") {
	case "won", "warning_closed", "prevented":
		is.State = donate.Won
	case "lost":
		is.State = donate.Lost
	}
	for _, b := range o.list("balance_transactions") {
		if amount, fee := b.number("amount"), feeOf(b, o); amount < 0 {
			is.Withdrawn, is.Fee, is.At = true, fee, b.time("created")
		} else if amount > 0 {
			is.Returned, is.FeeBack, is.BackAt = true, -fee, b.time("created")
		}
	}
	return is
}

// invoice asks for what was due of a plan: the plan itself, and the payment.
func (p *stripeProvider) invoice(ctx context.Context, s *donate.Snapshot, id string) error {
	o, err := p.get(ctx, "invoices/"+url.PathEscape(id), expand("payments", "parent.subscription_details.subscription.default_payment_method"))
	if err != nil {
		return err
	}
	s.Live = o.is("livemode")
	if of := o.object("parent.subscription_details.subscription"); s.Plan == nil && of != nil {
		plan(s, of)
	}
	if s.Payment == nil {
		for _, paid := range o.list("payments.data") {
			if payment := paid.text("payment.payment_intent"); payment != "" && (paid.is("is_default") || s.Payment == nil) {
				if err := p.payment(ctx, s, payment); err != nil {
					return err
				}
			}
		}
	}
	if s.Payment != nil {
		s.Payment.Invoice = o.text("id")
	}
	return nil
}

// plan reads a subscription. One that is incomplete waits for its first payment.
func plan(s *donate.Snapshot, o object) {
	ours(s, o)
	is := &donate.Plan{ID: o.text("id"), Currency: o.currency(), StartAt: o.time("start_date")}
	is.Covered = coveredIn(o)
	switch o.text("status") {
	case "active", "trialing":
		is.Status = giving.ActivePlan
	case "past_due", "unpaid":
		is.Status = giving.PastDue
	case "paused":
		is.Status = giving.Paused
	case "canceled":
		is.Status, is.CanceledAt = giving.Ended, unix(cmp.Or(o.number("ended_at"), o.number("canceled_at")))
	}
	if o.object("pause_collection") != nil && is.Status != giving.Ended {
		is.Status = giving.Paused
	}
	if kind := o.text("default_payment_method.type"); kind != "" {
		is.Method = method(kind)
	}
	for _, item := range o.list("items.data") {
		is.Amount += fromStripe(item.number("price.unit_amount")*item.number("quantity"), is.Currency)
		if is.Status != giving.Ended {
			is.Next = item.time("current_period_end")
		}
		for frequency, every := range intervals {
			if item.text("price.recurring.interval") == every.unit && item.number("price.recurring.interval_count") == every.count {
				is.Frequency = frequency
			}
		}
	}
	s.Plan = is
}

// ours reads what Stripe keeps for us, and the mode.
func ours(s *donate.Snapshot, o object) {
	s.Live = o.is("livemode")
	s.Donation, s.Account = cmp.Or(s.Donation, o.text("metadata."+keptDonation)), cmp.Or(s.Account, o.text("metadata."+keptAccount))
}

// methods are what Stripe’s kinds of payment are here; a wallet is the card in it.
var methods = map[string]string{
	"card": "card", "card_present": "card", "link": "card", "us_bank_account": "ach", "ach_debit": "ach", "paypal": "paypal",
	"acss_debit": "direct_debit", "au_becs_debit": "direct_debit", "bacs_debit": "direct_debit", "sepa_debit": "direct_debit", "nz_bank_account": "direct_debit",
	"customer_balance": "bank_transfer", "ideal": "bank_transfer", "bancontact": "bank_transfer", "eps": "bank_transfer", "giropay": "bank_transfer", "p24": "bank_transfer", "sofort": "bank_transfer",
	"fpx": "bank_transfer", "pay_by_bank": "bank_transfer", "multibanco": "bank_transfer", "ach_credit_transfer": "bank_transfer", "sepa_credit_transfer": "bank_transfer",
}

func method(kind string) string { return cmp.Or(methods[kind], "other") }

// methodName is how a payment was made, in words: Visa ending in 4242 (Apple Pay).
func methodName(o object) string {
	words := func(code string) string {
		name := strings.ReplaceAll(code, "_", " ")
		return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
	}
	kind := o.text("type")
	name := words(kind)
	switch kind {
	case "card":
		name = words(o.text("card.brand"))
	case "us_bank_account":
		name = cmp.Or(o.text("us_bank_account.bank_name"), "US bank account")
	case "sepa_debit":
		name = "SEPA debit"
	}
	if last := o.text(kind + ".last4"); last != "" {
		name += " ending in " + last
	}
	if wallet := o.text("card.wallet.type"); wallet != "" {
		name += " (" + words(wallet) + ")"
	}
	return name
}

func unix(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func code(currency string) string { return strings.ToUpper(currency) }

func (o object) currency() string { return code(o.text("currency")) }

func (o object) money(path string) int64 { return fromStripe(o.number(path), o.currency()) }

// feeOf is the fee of a balance transaction in the currency of what it is about: the balance may be in another one.
func feeOf(balance, of object) int64 {
	fee, amount := balance.number("fee"), balance.number("amount")
	if balance.currency() != of.currency() && amount != 0 {
		fee = int64(math.Round(float64(fee) * float64(of.number("amount")) / math.Abs(float64(amount)))) // an exchange rate makes it inexact anyway
	}
	return fromStripe(fee, of.currency())
}

// Stripe counts some currencies in another unit than ISO 4217 does.
const (
	hundredfold = "ISK UGX" // in hundredths, which must be 0
	hundredth   = "MGA"     // without decimals
)

// toStripe is an amount in Stripe's unit; ok is false where it has none for it. Of thousandths, the last digit must be 0.
func toStripe(amount int64, currency string) (units int64, ok bool) {
	switch {
	case strings.Contains(hundredfold, currency):
		return amount * 100, amount > 0
	case currency == hundredth:
		return amount / 100, amount > 0 && amount%100 == 0
	}
	return amount, amount > 0 && amount == donate.Chargeable(amount, currency)
}

func fromStripe(units int64, currency string) int64 {
	switch {
	case strings.Contains(hundredfold, currency):
		return (units + 50) / 100
	case currency == hundredth:
		return units * 100
	}
	return units
}

// coveredIn is the part of a subscription's amount that covers the fee.
func coveredIn(o object) int64 {
	covered, _ := strconv.ParseInt(o.text("metadata."+keptCovered), 10, 64) // none where it is not ours
	return covered
}
