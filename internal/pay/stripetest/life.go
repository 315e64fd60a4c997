package stripetest

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How is a way to pay.
type How string

const (
	Card    How = "card"
	Debit   How = "debit"   // from a bank account: under way until EndDebit
	Decline How = "decline" // a card that is declined
)

func (s *Server) now() time.Time { return time.Now().Add(s.skip) }

// name lets an object be found by what it names, or a part of it.
func (s *Server) name(o, part Object) {
	for _, key := range named {
		if value := text(part, key); value != "" {
			at := text(o, "object") + " " + key + " " + value
			s.found[at] = append(s.found[at], text(o, "id"))
		}
	}
}

// first is the object of a kind that names another one, nil where there is none.
func (s *Server) first(kind, key string, value any) Object {
	for _, id := range s.found[fmt.Sprint(kind, " ", key, " ", value)] {
		return s.objects[id]
	}
	return nil
}

// event tells that something happened to an object.
func (s *Server) event(kind string, o Object) {
	e := s.add("event", "evt", Object{"type": kind, "data": Object{"object": copied(o)}})
	if s.Sent != nil {
		s.Sent(e)
	}
	s.outbox = append(s.outbox, Delivery{text(e, "id"), kind, encode(e)})
}

// create makes what a request wants.
func (s *Server) create(kind string, form url.Values) (Object, error) {
	switch kind {
	case "checkout.session":
		return s.newSession(form)
	case "refund":
		intent := s.objects[form.Get("payment_intent")]
		if intent == nil {
			return nil, invalid("resource_missing", "No such payment_intent")
		}
		amount, _ := strconv.ParseInt(form.Get("amount"), 10, 64)
		return s.refund(s.objects[text(intent, "latest_charge")], amount)
	case "webhook_endpoint":
		return s.add(kind, "we", Object{
			"url": form.Get("url"), "enabled_events": values(form, "enabled_events["), "secret": s.Secret,
		}), nil
	}
	return nil, invalid("", "This cannot be created.")
}

// values are all of a form under names that begin alike.
func values(form url.Values, prefix string) (all []string) {
	for key, found := range form {
		if strings.HasPrefix(key, prefix) {
			all = append(all, found...)
		}
	}
	return all
}

// kept are the metadata of a form under a name.
func kept(form url.Values, name string) Object {
	o := Object{}
	for key := range form {
		if inner, found := strings.CutPrefix(key, name+"["); found {
			o[strings.TrimSuffix(inner, "]")] = form.Get(key)
		}
	}
	return o
}

func (s *Server) newSession(form url.Values) (Object, error) {
	amount, _ := strconv.ParseInt(form.Get("line_items[0][price_data][unit_amount]"), 10, 64)
	expires, mode := s.now().Add(24*time.Hour).Unix(), form.Get("mode")
	currency := form.Get("line_items[0][price_data][currency]")
	if at := form.Get("expires_at"); at != "" {
		expires, _ = strconv.ParseInt(at, 10, 64)
		if in := expires - time.Now().Unix(); in < 30*60 || in > 24*60*60 { // who asks does not know that time was skipped
			return nil, invalid("", "The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.")
		}
		expires += int64(s.skip / time.Second)
	}
	switch {
	case mode == "setup" && (s.objects[form.Get("customer")] == nil || form.Get("currency") == ""):
		return nil, invalid("parameter_missing", "No such customer, or no currency.")
	case mode == "setup":
		currency = form.Get("currency")
	case amount < 50:
		return nil, invalid("amount_too_small", "The Checkout Session's total amount due must add up to at least $0.50 usd")
	case amount > 99_999_999:
		return nil, invalid("amount_too_large", "The Checkout Session's total amount must be no more than $999,999.99 usd")
	case form.Get("customer_email") != "" && !strings.Contains(form.Get("customer_email"), "@"):
		return nil, invalid("email_invalid", "Invalid email address: "+form.Get("customer_email"))
	}
	o := s.add("checkout.session", map[bool]string{true: "cs_live", false: "cs_test"}[s.live], Object{
		"mode": mode, "amount_total": amount, "amount_subtotal": amount, "currency": currency, "expires_at": expires,
		"success_url": form.Get("success_url"), "cancel_url": form.Get("cancel_url"),
		"client_reference_id": orNull(form.Get("client_reference_id")), "customer": orNull(form.Get("customer")),
		"customer_email": orNull(form.Get("customer_email")), "metadata": kept(form, "metadata"),
	})
	o["url"] = s.http.URL + "/c/pay/" + text(o, "id")
	s.wants[text(o, "id")] = form
	return o, nil
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Pay lets a giver do something on the page of a session.
func (s *Server) Pay(session string, how How) {
	defer s.lock()()
	s.pay(s.objects[session], how)
}

func (s *Server) pay(session Object, how How) {
	if session == nil || session["status"] != "open" {
		return
	}
	form := s.wants[text(session, "id")]
	if session["mode"] == "setup" {
		card := s.add("payment_method", "pm", Object{"card": bases["another card"]})
		intent := s.add("setup_intent", "seti", Object{"payment_method": card["id"]})
		session["status"], session["payment_status"], session["setup_intent"], session["url"] = "complete", "no_payment_required", intent["id"], nil
		s.event("checkout.session.completed", session)
		return
	}
	intent := s.objects[text(session, "payment_intent")]
	switch {
	case session["mode"] == "subscription":
		if session["subscription"] == nil {
			s.subscribe(session, form)
			s.name(session, session)
		}
		intent = s.intentOf(s.objects[text(session, "invoice")])
	case intent == nil:
		intent = s.newIntent(number(session, "amount_total"), text(session, "currency"), kept(form, "payment_intent_data[metadata]"))
		session["payment_intent"] = intent["id"]
		s.name(session, session)
	}
	if s.attempt(intent, how); how == Decline {
		return
	}
	if session["status"], session["url"] = "complete", nil; how == Card {
		session["payment_status"] = "paid"
	}
	s.event("checkout.session.completed", session)
}

func (s *Server) newIntent(amount int64, currency string, metadata Object) Object {
	return s.add("payment_intent", "pi", Object{"amount": amount, "currency": currency, "metadata": metadata})
}

// attempt charges a payment.
func (s *Server) attempt(intent Object, how How) {
	details := bases["a card"]
	if how == Debit {
		details = bases["a bank account"]
	}
	charge := s.add("charge", "ch", Object{
		"amount": number(intent, "amount"), "currency": intent["currency"], "metadata": intent["metadata"],
		"payment_intent":         intent["id"],
		"payment_method_details": details,
	})
	intent["latest_charge"], intent["last_payment_error"] = charge["id"], nil
	switch how {
	case Card:
		s.succeed(intent)
	case Debit:
		intent["status"] = "processing"
		s.event("payment_intent.processing", intent)
	default:
		s.fail(intent, "card_declined", "Your card was declined.")
	}
}

func (s *Server) fail(intent Object, code, message string) {
	charge := s.objects[text(intent, "latest_charge")]
	charge["status"] = "failed"
	intent["status"], intent["last_payment_error"] = "requires_payment_method", Object{"type": "card_error", "code": code, "message": message}
	s.event("charge.failed", charge)
	s.event("payment_intent.payment_failed", intent)
	if invoice := s.invoiceOf(intent); invoice != nil {
		invoice["attempted"], invoice["attempt_count"] = true, number(invoice, "attempt_count")+1
		s.event("invoice.payment_failed", invoice)
	}
}

func (s *Server) succeed(intent Object) {
	charge := s.objects[text(intent, "latest_charge")]
	charge["status"], charge["paid"], charge["amount_captured"] = "succeeded", true, charge["amount"]
	intent["status"], intent["amount_received"] = "succeeded", intent["amount"]
	if !s.LateFees {
		s.fee(charge)
	}
	s.event("charge.succeeded", charge)
	s.event("payment_intent.succeeded", intent)
	if invoice := s.invoiceOf(intent); invoice != nil {
		invoice["status"], invoice["amount_paid"], invoice["amount_remaining"], invoice["attempted"] = "paid", invoice["amount_due"], int64(0), true
		payment := s.paymentOf(invoice)
		payment["status"], payment["amount_paid"] = "paid", invoice["amount_due"]
		subscription := s.objects[text(invoice["parent"].(Object)["subscription_details"].(Object), "subscription")]
		subscription["status"] = "active"
		s.event("invoice.paid", invoice)
		s.event("customer.subscription.updated", subscription)
	}
}

func (s *Server) balance(amount, fee int64, currency any, kind string) Object {
	return s.add("balance_transaction", "txn", Object{
		"amount": amount, "fee": fee, "net": amount - fee, "currency": currency, "type": kind,
		"reporting_category": kind,
		"available_on":       s.now().Unix(),
	})
}

func (s *Server) fee(charge Object) {
	amount := number(charge, "amount")
	charge["balance_transaction"] = s.balance(amount, amount*29/1000+30, charge["currency"], "charge")["id"]
}

// Fees lets the fees of all payments become known.
func (s *Server) Fees() {
	defer s.lock()()
	for _, id := range s.ids["charge"] {
		if charge := s.objects[id]; charge["status"] == "succeeded" && charge["balance_transaction"] == nil {
			s.fee(charge)
			s.event("charge.updated", charge)
		}
	}
}

// EndDebit ends a debit that is under way.
func (s *Server) EndDebit(payment string, arrives bool) {
	defer s.lock()()
	intent, outcome := s.objects[payment], "failed"
	if intent == nil || intent["status"] != "processing" {
		return
	}
	if arrives {
		outcome = "succeeded"
		s.succeed(intent)
	} else {
		s.fail(intent, "debit_not_authorized", "The bank account has been closed.")
	}
	session := s.first("checkout.session", "payment_intent", payment)
	if invoice := s.invoiceOf(intent); invoice != nil {
		session = s.first("checkout.session", "invoice", invoice["id"])
	}
	if session == nil { // a later payment of a plan
		return
	}
	if arrives {
		session["payment_status"] = "paid"
	}
	s.event("checkout.session.async_payment_"+outcome, session)
}

// Refund gives back an amount of a payment, as someone does in the dashboard.
func (s *Server) Refund(payment string, amount int64) (id string, err error) {
	defer s.lock()()
	o, err := s.refund(s.objects[text(s.objects[payment], "latest_charge")], amount)
	return text(o, "id"), err
}

func (s *Server) refund(charge Object, amount int64) (Object, error) {
	left := number(charge, "amount") - number(charge, "amount_refunded")
	if amount == 0 {
		amount = left
	}
	switch {
	case charge == nil || charge["status"] != "succeeded":
		return nil, invalid("charge_not_refundable", "This charge cannot be refunded.")
	case charge["disputed"] == true:
		return nil, invalid("charge_disputed", "This charge has been charged back.")
	case left == 0:
		return nil, invalid("charge_already_refunded", "Charge "+text(charge, "id")+" has already been refunded.")
	case amount < 0 || amount > left:
		return nil, invalid("", "Refund amount is greater than unrefunded amount on charge.")
	}
	o := s.add("refund", "re", Object{
		"amount": amount, "currency": charge["currency"], "charge": charge["id"],
		"payment_intent":      charge["payment_intent"],
		"balance_transaction": s.balance(-amount, 0, charge["currency"], "refund")["id"],
	})
	charge["amount_refunded"] = number(charge, "amount_refunded") + amount
	charge["refunded"] = charge["amount_refunded"] == charge["amount"]
	s.event("refund.created", o)
	s.event("charge.refunded", charge)
	return o, nil
}

// FailRefund lets a refund come back from the giver's bank.
func (s *Server) FailRefund(id string) {
	defer s.lock()()
	o := s.objects[id]
	charge := s.objects[text(o, "charge")]
	o["status"], o["failure_reason"], o["failure_balance_transaction"] = "failed", "lost_or_stolen_card", s.balance(number(o, "amount"), 0, o["currency"], "refund_failure")["id"]
	charge["amount_refunded"], charge["refunded"] = number(charge, "amount_refunded")-number(o, "amount"), false
	s.event("refund.failed", o)
	s.event("refund.updated", o)
}

// Dispute lets the giver's bank take a payment back.
func (s *Server) Dispute(payment string) (id string) {
	defer s.lock()()
	charge := s.objects[text(s.objects[payment], "latest_charge")]
	charge["disputed"] = true
	amount := number(charge, "amount")
	o := s.add("dispute", "du", Object{
		"amount": amount, "currency": charge["currency"], "charge": charge["id"], "payment_intent": payment,
		"balance_transactions": []any{copied(s.balance(-amount, 1500, charge["currency"], "adjustment"))},
	})
	o["evidence_details"].(Object)["due_by"] = s.now().AddDate(0, 0, 7).Unix()
	s.event("charge.dispute.created", o)
	s.event("charge.dispute.funds_withdrawn", o)
	return text(o, "id")
}

// CloseDispute ends a dispute.
func (s *Server) CloseDispute(id string, won bool) {
	defer s.lock()()
	o := s.objects[id]
	if o["status"] = "lost"; won {
		o["status"] = "won"
		o["balance_transactions"] = append(o["balance_transactions"].([]any), copied(s.balance(number(o, "amount"), -1500, o["currency"], "adjustment")))
		s.event("charge.dispute.funds_reinstated", o)
	}
	s.event("charge.dispute.closed", o)
}

// Happen lets something happen to some payments: debits arrive or fail, money is refunded or disputed. later lets some of the refunds fail, and ends the disputes.
func (s *Server) Happen(r *rand.Rand, payments []string) (later func()) {
	var refunds, disputes []string
	for _, p := range payments {
		switch r.IntN(8) {
		case 0:
			s.EndDebit(p, r.IntN(3) > 0)
		case 1:
			if id, err := s.Refund(p, 1_00+r.Int64N(4_00)); err == nil {
				refunds = append(refunds, id)
			}
		case 2:
			disputes = append(disputes, s.Dispute(p))
		}
	}
	return func() {
		for _, id := range refunds {
			if r.IntN(3) == 0 {
				s.FailRefund(id)
			}
		}
		for _, id := range disputes {
			s.CloseDispute(id, r.IntN(2) == 0)
		}
	}
}

// Book is what became of a payment.
type Book struct {
	Payment, Donation string
	Amount, Fee, Left int64 // Left is without what was refunded or disputed, and stayed so
}

// Books are all payments that were made.
func (s *Server) Books() (all []Book) {
	defer s.lock()()
	for _, id := range s.ids["payment_intent"] {
		intent := s.objects[id]
		if intent["status"] != "succeeded" {
			continue
		}
		charge := s.objects[text(intent, "latest_charge")]
		b := Book{Payment: id, Amount: number(intent, "amount"), Left: number(intent, "amount") - number(charge, "amount_refunded"), Fee: number(s.objects[text(charge, "balance_transaction")], "fee")}
		b.Donation, _ = intent["metadata"].(Object)["donorbook-donation"].(string)
		if d := s.first("dispute", "charge", charge["id"]); d != nil && d["status"] != "won" {
			b.Left -= number(d, "amount")
		}
		all = append(all, b)
	}
	return all
}

// Payments are the ids of all payments that were tried, in order.
func (s *Server) Payments() []string {
	defer s.lock()()
	return slices.Clone(s.ids["payment_intent"])
}
