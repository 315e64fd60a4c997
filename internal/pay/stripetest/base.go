package stripetest

import (
	"encoding/json"
	"fmt"
	"maps"
)

// bases are the objects of each kind before anything is known of them: what the schema asks for, and what all have.
var bases = func() (all map[string]Object) {
	if err := json.Unmarshal([]byte(`{
		"balance_transaction": {"status": "pending", "balance_type": "payments", "fee_details": [],
			"exchange_rate": null,
			"description": null, "source": null},
		"charge": {"livemode": true, "amount_captured": 0, "amount_refunded": 0, "captured": true, "disputed": false,
			"paid": false,
			"refunded": false, "status": "pending", "balance_transaction": null,
			"billing_details": {"address": null, "email": "ann@example.org", "name": "Ann Lee", "phone": null,
			"tax_id": null}},
		"checkout.session": {"livemode": true, "status": "open", "payment_status": "unpaid", "custom_fields": [],
			"custom_text": {},
			"automatic_tax": {"enabled": false, "liability": null, "provider": null, "status": null},
			"payment_method_types": ["card"],
			"shipping_options": [], "payment_intent": null, "subscription": null, "invoice": null, "setup_intent": null,
			"ui_mode": "hosted_page"},
		"customer": {"livemode": true},
		"dispute": {"livemode": true, "status": "needs_response", "reason": "fraudulent", "metadata": {},
			"enhanced_eligibility_types": [], "is_charge_refundable": false, "evidence": {"enhanced_evidence": {}},
			"evidence_details": {"has_evidence": false, "past_due": false, "submission_count": 0,
			"enhanced_eligibility": {}}},
		"event": {"livemode": true, "pending_webhooks": 1, "api_version": "2026-08-26.dahlia", "request": null},
		"invoice": {"livemode": true, "amount_overpaid": 0, "amount_paid": 0, "amount_paid_off_stripe": 0,
			"amount_shipping": 0,
			"attempt_count": 0, "attempted": false, "auto_advance": true, "collection_method": "charge_automatically",
			"automatic_tax": {"enabled": false, "disabled_reason": null, "liability": null, "provider": null,
			"status": null},
			"default_tax_rates": [], "discounts": [], "issuer": {"type": "self"}, "payment_settings": {},
			"lines": {"object": "list", "data": [], "has_more": false, "url": "/v1/invoices/lines"},
			"status_transitions": {},
			"post_payment_credit_notes_amount": 0, "pre_payment_credit_notes_amount": 0, "starting_balance": 0,
			"status": "open"},
		"invoice_payment": {"livemode": true, "amount_paid": null, "is_default": true, "status": "open",
			"status_transitions": {}},
		"payment_intent": {"livemode": true, "amount_received": 0, "status": "requires_payment_method",
			"latest_charge": null,
			"last_payment_error": null, "capture_method": "automatic_async", "confirmation_method": "automatic",
			"payment_method_types": ["card"]},
		"payment_method": {"livemode": true, "type": "card", "billing_details": {}},
		"price": {"livemode": true, "active": false, "billing_scheme": "per_unit", "metadata": {}, "type": "recurring"},
		"product": {"livemode": true, "active": true, "images": [], "marketing_features": [], "metadata": {}},
		"refund": {"status": "succeeded", "metadata": {}, "reason": null},
		"setup_intent": {"livemode": true, "status": "succeeded", "payment_method_types": ["card"],
			"usage": "off_session"},
		"subscription": {"livemode": true, "status": "incomplete",
			"automatic_tax": {"enabled": false, "disabled_reason": null, "liability": null}, "billing_schedules": [],
			"billing_mode": {"type": "flexible", "flexible": null}, "cancel_at_period_end": false, "discounts": [],
			"collection_method": "charge_automatically", "invoice_settings": {"issuer": {"type": "self"}},
			"pause_collection": null,
			"canceled_at": null, "ended_at": null, "latest_invoice": null},
		"subscription_item": {"discounts": [], "metadata": {}, "quantity": 1},
		"webhook_endpoint": {"livemode": true, "status": "enabled", "metadata": {}},

		"a bank account": {"type": "us_bank_account", "us_bank_account": {"bank_name": "STRIPE TEST BANK",
			"last4": "6789",
			"account_type": "checking", "account_holder_type": "individual", "routing_number": "110000000",
			"fingerprint": null}},
		"a card": {"type": "card", "card": {"brand": "visa", "last4": "4242", "exp_month": 12, "exp_year": 2030,
			"country": "US",
			"funding": "credit", "wallet": null}},
		"another card": {"brand": "mastercard", "last4": "4444", "country": "US", "exp_month": 1, "exp_year": 2031,
			"funding": "credit",
			"checks": null, "generated_from": null, "networks": null, "three_d_secure_usage": null, "wallet": null,
			"fingerprint": null}
	}`), &all); err != nil {
		panic(err)
	}
	return all
}()

// add makes an object of a kind.
func (s *Server) add(kind, prefix string, with Object) Object {
	o := copied(bases[kind])
	maps.Copy(o, with)
	id := fmt.Sprintf("%s_%08d", prefix, len(s.ids[kind])+1)
	if o["id"], o["object"], o["created"] = id, kind, s.now().Unix(); o["livemode"] != nil {
		o["livemode"] = s.live
	}
	s.objects[id] = o
	s.ids[kind] = append(s.ids[kind], id)
	s.name(o, o)
	if payment, isInvoices := o["payment"].(Object); isInvoices {
		s.name(o, payment)
	}
	return o
}
