package pay

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"

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
		charge, failed := p.api.V1Charges.Retrieve(ctx, ref.ID, nil)
		err = p.paymentOf(ctx, &s, charge.PaymentIntent, failed)
	case donate.RefundRef:
		refund, failed := p.api.V1Refunds.Retrieve(ctx, ref.ID, nil)
		err = p.paymentOf(ctx, &s, refund.PaymentIntent, failed)
	case donate.DisputeRef:
		dispute, failed := p.api.V1Disputes.Retrieve(ctx, ref.ID, nil)
		err = p.paymentOf(ctx, &s, dispute.PaymentIntent, failed)
	case donate.InvoiceRef:
		err = p.invoice(ctx, &s, ref.ID)
	case donate.PlanRef:
		subscription, failed := p.api.V1Subscriptions.Retrieve(ctx, ref.ID, &stripe.SubscriptionRetrieveParams{Expand: pointers([]string{"default_payment_method"})})
		if err = refusal(failed); err == nil {
			plan(&s, subscription)
			if subscription.LatestInvoice != nil {
				err = p.invoice(ctx, &s, subscription.LatestInvoice.ID)
			}
		}
	default:
		err = refused(donate.Gone, "Stripe has nothing of this kind.", nil)
	}
	return s, err
}

func (p *stripeProvider) paymentOf(ctx context.Context, s *donate.Snapshot, intent *stripe.PaymentIntent, err error) error {
	switch {
	case err != nil:
		return refusal(err)
	case intent == nil:
		return refused(donate.Gone, "The charge belongs to no payment.", nil)
	}
	return p.payment(ctx, s, intent.ID)
}

func (p *stripeProvider) session(ctx context.Context, s *donate.Snapshot, id string) error {
	session, err := p.api.V1CheckoutSessions.Retrieve(ctx, id, &stripe.CheckoutSessionRetrieveParams{Expand: pointers([]string{"setup_intent"})})
	if err != nil {
		return refusal(err)
	}
	s.Live = session.Livemode
	ours(s, session.Metadata)
	s.Session = donate.Session{ID: session.ID, Expires: unix(session.ExpiresAt), URL: session.URL, Plan: session.Metadata[keptPlan]}
	isDone := false
	switch {
	case session.Status == stripe.CheckoutSessionStatusExpired:
		s.Session.State = donate.Expired
	case session.Status == stripe.CheckoutSessionStatusOpen:
		s.Session.State = donate.Open
	case session.PaymentStatus == stripe.CheckoutSessionPaymentStatusUnpaid:
		s.Session.State, isDone = donate.Processing, true
	default:
		s.Session.State, isDone = donate.Paid, true
	}
	switch {
	case session.Mode == stripe.CheckoutSessionModeSetup:
		if s.Session.State = ""; isDone && session.SetupIntent != nil && session.SetupIntent.Status == stripe.SetupIntentStatusSucceeded && session.SetupIntent.PaymentMethod != nil {
			s.Session.Card = session.SetupIntent.PaymentMethod.ID
		}
		return nil
	case session.PaymentIntent != nil:
		err = p.payment(ctx, s, session.PaymentIntent.ID)
	case session.Invoice != nil:
		err = p.invoice(ctx, s, session.Invoice.ID)
	}
	if s.Payment != nil && s.Payment.State == donate.Open && s.Payment.Fault != "" && isDone { // a debit came back, and no one is on the page to try another account
		s.Payment.State = donate.Failed
	}
	return err
}

// payment asks for a payment with everything about its money. What a plan was charged has nothing of ours on itself, but on the plan.
func (p *stripeProvider) payment(ctx context.Context, s *donate.Snapshot, id string) error {
	intent, err := p.api.V1PaymentIntents.Retrieve(ctx, id, &stripe.PaymentIntentRetrieveParams{Expand: pointers([]string{"latest_charge.balance_transaction", "latest_charge.refunds.data.failure_balance_transaction"})})
	if err != nil {
		return refusal(err)
	}
	s.Live = intent.Livemode
	ours(s, intent.Metadata)
	s.Payment = &donate.Payment{ID: intent.ID, State: donate.Open, Amount: fromStripe(intent.Amount, intent.Currency), Currency: code(intent.Currency), At: unix(intent.Created), Method: "other"}
	switch intent.Status {
	case stripe.PaymentIntentStatusSucceeded:
		s.Payment.State, s.Payment.Amount = donate.Paid, fromStripe(intent.AmountReceived, intent.Currency)
	case stripe.PaymentIntentStatusProcessing:
		s.Payment.State = donate.Processing
	case stripe.PaymentIntentStatusCanceled:
		s.Payment.State = donate.Failed
	}
	if e := intent.LastPaymentError; e != nil {
		s.Payment.Fault = clean(cmp.Or(e.Msg, string(e.Code), "failed"))
	}
	if intent.LatestCharge != nil {
		if err := p.charge(ctx, s.Payment, intent.LatestCharge); err != nil {
			return err
		}
	}
	if s.Donation != "" || s.Plan != nil {
		return nil
	}
	of := &stripe.InvoicePaymentListPaymentParams{Type: new("payment_intent"), PaymentIntent: &intent.ID}
	list := p.api.V1InvoicePayments.List(ctx, &stripe.InvoicePaymentListParams{ListParams: stripe.ListParams{Limit: new(int64(1)), Single: true}, Payment: of})
	if list.Err() != nil || len(list.Data()) == 0 || list.Data()[0].Invoice == nil {
		return refusal(list.Err())
	}
	return p.invoice(ctx, s, list.Data()[0].Invoice.ID)
}

// charge reads the money of a payment.
func (p *stripeProvider) charge(ctx context.Context, to *donate.Payment, c *stripe.Charge) error {
	to.At = unix(c.Created)
	if d := c.BillingDetails; d != nil {
		to.Name, to.Email = d.Name, d.Email
	}
	if d := c.PaymentMethodDetails; d != nil {
		to.Method, to.MethodName = method(string(d.Type)), methodName(d)
	}
	if b := c.BalanceTransaction; b != nil && b.Amount != 0 {
		to.Fee, to.FeeKnown = feeOf(b, c.Amount, c.Currency), true
	}
	if c.Refunds != nil {
		add := func(r *stripe.Refund) error {
			refund := donate.Refund{ID: r.ID, Amount: fromStripe(r.Amount, r.Currency), State: donate.Processing, At: unix(r.Created)}
			switch r.Status {
			case stripe.RefundStatusSucceeded:
				refund.State = donate.Paid
			case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
				refund.State, refund.FailedAt = donate.Failed, unix(r.Created)
				if r.FailureBalanceTransaction != nil {
					refund.FailedAt = unix(r.FailureBalanceTransaction.Created)
				}
			}
			to.Refunds = append(to.Refunds, refund)
			return nil
		}
		if !c.Refunds.HasMore {
			for _, r := range c.Refunds.Data {
				_ = add(r) // never fails
			}
		} else if err := every(ctx, p.api.V1Refunds.List(ctx, &stripe.RefundListParams{Charge: &c.ID, Expand: pointers([]string{"data.failure_balance_transaction"})}), add); err != nil {
			return err
		}
	}
	if !c.Disputed {
		return nil
	}
	return every(ctx, p.api.V1Disputes.List(ctx, &stripe.DisputeListParams{Charge: &c.ID}), func(d *stripe.Dispute) error {
		to.Disputes = append(to.Disputes, dispute(d))
		return nil
	})
}

// dispute reads what a dispute has moved: one balance transaction takes the money, another one brings it back.
func dispute(d *stripe.Dispute) donate.Dispute {
	is := donate.Dispute{ID: d.ID, Amount: fromStripe(d.Amount, d.Currency), State: donate.UnderWay, At: unix(d.Created)}
	switch d.Status {
	case stripe.DisputeStatusWon, stripe.DisputeStatusWarningClosed, stripe.DisputeStatusPrevented:
		is.State = donate.Won
	case stripe.DisputeStatusLost:
		is.State = donate.Lost
	}
	for _, b := range d.BalanceTransactions {
		if fee := feeOf(b, d.Amount, d.Currency); b.Amount < 0 {
			is.Withdrawn, is.Fee, is.At = true, fee, unix(b.Created)
		} else if b.Amount > 0 {
			is.Returned, is.FeeBack, is.BackAt = true, -fee, unix(b.Created)
		}
	}
	return is
}

// invoice asks for what was due of a plan: the plan itself, and the payment.
func (p *stripeProvider) invoice(ctx context.Context, s *donate.Snapshot, id string) error {
	invoice, err := p.api.V1Invoices.Retrieve(ctx, id, &stripe.InvoiceRetrieveParams{Expand: pointers([]string{"payments", "parent.subscription_details.subscription.default_payment_method"})})
	if err != nil {
		return refusal(err)
	}
	s.Live = invoice.Livemode
	if s.Plan == nil && invoice.Parent != nil && invoice.Parent.SubscriptionDetails != nil && invoice.Parent.SubscriptionDetails.Subscription != nil {
		plan(s, invoice.Parent.SubscriptionDetails.Subscription)
	}
	if s.Payment == nil && invoice.Payments != nil {
		for _, paid := range invoice.Payments.Data {
			if paid.Payment != nil && paid.Payment.PaymentIntent != nil && (paid.IsDefault || s.Payment == nil) {
				if err := p.payment(ctx, s, paid.Payment.PaymentIntent.ID); err != nil {
					return err
				}
			}
		}
	}
	if s.Payment != nil {
		s.Payment.Invoice = invoice.ID
	}
	return nil
}

// plan reads a subscription. One that is incomplete waits for its first payment.
func plan(s *donate.Snapshot, from *stripe.Subscription) {
	s.Live = from.Livemode
	ours(s, from.Metadata)
	is := &donate.Plan{ID: from.ID, Currency: code(from.Currency), StartAt: unix(from.StartDate)}
	is.Covered = coveredIn(from)
	switch from.Status {
	case stripe.SubscriptionStatusActive, stripe.SubscriptionStatusTrialing:
		is.Status = giving.ActivePlan
	case stripe.SubscriptionStatusPastDue, stripe.SubscriptionStatusUnpaid:
		is.Status = giving.PastDue
	case stripe.SubscriptionStatusPaused:
		is.Status = giving.Paused
	case stripe.SubscriptionStatusCanceled:
		is.Status, is.CanceledAt = giving.Ended, unix(cmp.Or(from.EndedAt, from.CanceledAt))
	}
	if from.PauseCollection != nil && is.Status != giving.Ended {
		is.Status = giving.Paused
	}
	if m := from.DefaultPaymentMethod; m != nil && m.Type != "" {
		is.Method = method(string(m.Type))
	}
	for _, item := range from.Items.Data {
		is.Amount += fromStripe(item.Price.UnitAmount*item.Quantity, from.Currency)
		if is.Status != giving.Ended {
			is.Next = unix(item.CurrentPeriodEnd)
		}
		for frequency, every := range intervals {
			if r := item.Price.Recurring; r != nil && string(r.Interval) == every.unit && r.IntervalCount == every.count {
				is.Frequency = frequency
			}
		}
	}
	s.Plan = is
}

// ours reads what Stripe keeps for us.
func ours(s *donate.Snapshot, kept map[string]string) {
	s.Donation, s.Account = cmp.Or(s.Donation, kept[keptDonation]), cmp.Or(s.Account, kept[keptAccount])
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
func methodName(d *stripe.ChargePaymentMethodDetails) string {
	words := func(code string) string {
		name := strings.ReplaceAll(code, "_", " ")
		return strings.ToUpper(name[:min(1, len(name))]) + name[min(1, len(name)):]
	}
	name, last := words(string(d.Type)), ""
	switch {
	case d.Card != nil:
		name, last = words(string(d.Card.Brand)), d.Card.Last4
	case d.USBankAccount != nil:
		name, last = cmp.Or(d.USBankAccount.BankName, "US bank account"), d.USBankAccount.Last4
	case d.SEPADebit != nil:
		name, last = "SEPA debit", d.SEPADebit.Last4
	}
	if last != "" {
		name += " ending in " + last
	}
	if d.Card != nil && d.Card.Wallet != nil {
		name += " (" + words(string(d.Card.Wallet.Type)) + ")"
	}
	return name
}

func unix(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func code(c stripe.Currency) string { return strings.ToUpper(string(c)) }

// feeOf is the fee of a balance transaction in the currency of the amount that it is about: the balance may be in another one.
func feeOf(b *stripe.BalanceTransaction, amount int64, currency stripe.Currency) int64 {
	fee := b.Fee
	if b.Currency != currency && b.Amount != 0 {
		fee = int64(math.Round(float64(fee) * float64(amount) / math.Abs(float64(b.Amount)))) // an exchange rate makes it inexact anyway
	}
	return fromStripe(fee, currency)
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

func fromStripe(units int64, currency stripe.Currency) int64 {
	switch c := code(currency); {
	case strings.Contains(hundredfold, c):
		return (units + 50) / 100
	case c == hundredth:
		return units * 100
	}
	return units
}

// coveredIn is the part of a subscription's amount that covers the fee.
func coveredIn(from *stripe.Subscription) int64 {
	covered, _ := strconv.ParseInt(from.Metadata[keptCovered], 10, 64) // none where it is not ours
	return covered
}
