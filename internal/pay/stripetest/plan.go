package stripetest

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// encode never fails: there are maps, lists, texts and numbers.
func encode(o Object) []byte {
	body, _ := json.Marshal(o)
	return body
}

// subscribe makes the plan of a session, with its first invoice.
func (s *Server) subscribe(session Object, form url.Values) {
	count, _ := strconv.ParseInt(form.Get("line_items[0][price_data][recurring][interval_count]"), 10, 64)
	customer := s.add("customer", "cus", Object{"email": session["customer_email"]})
	card := s.add("payment_method", "pm", Object{"customer": customer["id"]})
	product := s.add("product", "prod", Object{
		"name": form.Get("line_items[0][price_data][product_data][name]"), "updated": s.now().Unix(),
	})
	price := s.price(product["id"], number(session, "amount_total"), session["currency"], form.Get("line_items[0][price_data][recurring][interval]"), count)
	now := s.now().Unix()
	o := s.add("subscription", "sub", Object{
		"currency": session["currency"], "customer": customer["id"], "default_payment_method": card["id"],
		"start_date": now,
		"metadata":   kept(form, "subscription_data[metadata]"), "billing_cycle_anchor": now,
	})
	item := s.add("subscription_item", "si",
		Object{"current_period_start": now, "current_period_end": s.after(s.now(), price), "price": price,
			"subscription": o["id"]})
	o["items"] = Object{"object": "list", "data": []any{item}, "has_more": false, "url": "/v1/subscription_items"}
	session["subscription"], session["customer"], session["invoice"] = o["id"], customer["id"], s.invoice(o)["id"]
}

func (s *Server) price(product any, amount int64, currency any, interval string, count int64) Object {
	return s.add("price", "price", Object{
		"currency": currency, "product": product, "unit_amount": amount,
		"unit_amount_decimal": strconv.FormatInt(amount, 10),
		"recurring": Object{"interval": interval, "interval_count": max(1, count), "usage_type": "licensed",
			"meter": nil},
	})
}

// after is when the period that begins at a time ends.
func (s *Server) after(from time.Time, price Object) int64 {
	r := price["recurring"].(Object)
	n := int(number(r, "interval_count"))
	switch r["interval"] {
	case "week":
		return from.AddDate(0, 0, 7*n).Unix()
	case "year":
		return from.AddDate(n, 0, 0).Unix()
	}
	return from.AddDate(0, n, 0).Unix()
}

// Period is when a plan was paid for the last time, and when it will be next.
func (s *Server) Period(subscription string) (from, to time.Time) {
	defer s.lock()()
	item := itemOf(s.objects[subscription])
	return time.Unix(number(item, "current_period_start"), 0), time.Unix(number(item, "current_period_end"), 0)
}

func itemOf(subscription Object) Object {
	return subscription["items"].(Object)["data"].([]any)[0].(Object)
}

// invoice makes what is due of a plan, with the payment that is to be tried.
func (s *Server) invoice(subscription Object) Object {
	amount, currency := number(itemOf(subscription)["price"].(Object), "unit_amount"), subscription["currency"]
	now := s.now().Unix()
	o := s.add("invoice", "in", Object{
		"amount_due": amount, "amount_remaining": amount, "subtotal": amount, "total": amount, "currency": currency,
		"customer": subscription["customer"], "period_start": now, "period_end": now,
		"parent": Object{"type": "subscription_details", "quote_details": nil, "subscription_details": Object{
			"subscription": subscription["id"], "metadata": subscription["metadata"],
		}},
	})
	intent := s.newIntent(amount, text(subscription, "currency"), Object{})
	s.add("invoice_payment", "inpay", Object{
		"amount_requested": amount, "currency": currency, "invoice": o["id"],
		"payment": Object{"type": "payment_intent", "payment_intent": intent["id"]},
	})
	subscription["latest_invoice"] = o["id"]
	return o
}

func (s *Server) paymentOf(invoice Object) Object {
	return s.first("invoice_payment", "invoice", invoice["id"])
}

func (s *Server) intentOf(invoice Object) Object {
	return s.objects[text(s.paymentOf(invoice)["payment"].(Object), "payment_intent")]
}

func (s *Server) invoiceOf(intent Object) Object {
	return s.objects[text(s.first("invoice_payment", "payment_intent", intent["id"]), "invoice")]
}

// Break lets the card of a plan be declined from now on, or not any more.
func (s *Server) Break(subscription string, broken bool) {
	defer s.lock()()
	s.broke[subscription] = broken
}

// A card that was declined is tried again after some days, and the plan ends after so many attempts.
const (
	maxAttempts = 4
	retryTime   = 5 * 24 * time.Hour
)

// expire closes the page of a session.
func (s *Server) expire(o Object) error {
	if o["status"] != "open" {
		return invalid("", "Only open Checkout Sessions can be expired.")
	}
	o["status"], o["url"] = "expired", nil
	s.event("checkout.session.expired", o)
	return nil
}

// Advance lets time pass: pages expire, plans are charged, and cards that were declined are tried again.
func (s *Server) Advance(by time.Duration) {
	defer s.lock()()
	end := s.skip + by
	for s.skip < end {
		s.skip = min(end, s.skip+24*time.Hour)
		for _, id := range s.ids["checkout.session"] {
			if o := s.objects[id]; number(o, "expires_at") <= s.now().Unix() {
				_ = s.expire(o)
			}
		}
		for _, id := range slices.Clone(s.ids["subscription"]) {
			s.bill(s.objects[id])
		}
	}
}

// bill does what is due of a plan today.
func (s *Server) bill(o Object) {
	item := itemOf(o)
	switch {
	case o["status"] == "past_due" && s.now().Unix() < number(s.objects[text(s.intentOf(s.objects[text(o, "latest_invoice")]), "latest_charge")], "created")+int64(retryTime/time.Second):
	case o["status"] == "past_due":
		intent := s.intentOf(s.objects[text(o, "latest_invoice")])
		if !s.broke[text(o, "id")] {
			s.attempt(intent, Card)
		} else if s.attempt(intent, Decline); number(s.objects[text(o, "latest_invoice")], "attempt_count") >= maxAttempts {
			s.cancel(o)
		}
	case o["status"] != "active" || number(item, "current_period_end") > s.now().Unix():
	default:
		from := time.Unix(number(item, "current_period_end"), 0)
		item["current_period_start"], item["current_period_end"] = from.Unix(), s.after(from, item["price"].(Object))
		invoice := s.invoice(o)
		if o["pause_collection"] != nil {
			invoice["status"] = "void"
			s.event("invoice.voided", invoice)
		} else if s.broke[text(o, "id")] {
			o["status"] = "past_due"
			s.attempt(s.intentOf(invoice), Decline)
			s.event("customer.subscription.updated", o)
		} else {
			s.attempt(s.intentOf(invoice), Card)
		}
	}
}

func (s *Server) cancel(o Object) {
	o["status"], o["canceled_at"], o["ended_at"] = "canceled", s.now().Unix(), s.now().Unix()
	s.event("customer.subscription.deleted", o)
}

// change does what a request wants with an object.
func (s *Server) change(o Object, isDelete bool, form url.Values) (Object, error) {
	switch {
	case o["object"] == "webhook_endpoint" && isDelete:
		delete(s.objects, text(o, "id"))
		return Object{"id": o["id"], "object": "webhook_endpoint", "deleted": true}, nil
	case o["object"] == "checkout.session": // the only thing that can be done to one
		return o, s.expire(o)
	case o["object"] != "subscription":
		return nil, invalid("", "This cannot be changed.")
	case o["status"] == "canceled":
		return nil, invalid("resource_missing", "No such subscription: '"+text(o, "id")+"'")
	case isDelete:
		s.cancel(o)
		return o, nil
	}
	for key := range form {
		switch value := form.Get(key); {
		case key == "pause_collection[behavior]":
			o["pause_collection"] = Object{"behavior": value, "resumes_at": nil}
		case key == "pause_collection" && value == "":
			o["pause_collection"] = nil
		case key == "default_payment_method":
			o[key] = value
			s.broke[text(o, "id")] = false
		case strings.HasPrefix(key, "metadata["):
			o["metadata"].(Object)[strings.TrimSuffix(strings.TrimPrefix(key, "metadata["), "]")] = value
		case key == "items[0][price_data][unit_amount]":
			item, r := itemOf(o), itemOf(o)["price"].(Object)["recurring"].(Object)
			if form.Get("items[0][id]") != item["id"] || form.Get("proration_behavior") != "none" {
				return nil, invalid("", "This would charge the giver for a part of a period.")
			}
			amount, _ := strconv.ParseInt(value, 10, 64)
			count, _ := strconv.ParseInt(form.Get("items[0][price_data][recurring][interval_count]"), 10, 64)
			product, interval := form.Get("items[0][price_data][product]"), form.Get("items[0][price_data][recurring][interval]")
			if s.objects[product] == nil || form.Get("items[0][price_data][currency]") != o["currency"] || interval != r["interval"] || count != number(r, "interval_count") {
				return nil, invalid("", "This is a price of something else.")
			}
			item["price"] = s.price(product, amount, o["currency"], interval, count)
		}
	}
	s.event("customer.subscription.updated", o)
	return o, nil
}
