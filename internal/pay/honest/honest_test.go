// Package honest keeps our Stripe for tests honest: what it sends is valid by the schema that Stripe publishes, and
// Stripe's own stub accepts what we ask for. It is a module of its own, because the schema is in the module of that
// stub.
package honest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stripe/stripe-mock/embedded"
	"github.com/stripe/stripe-mock/server"
	"github.com/stripe/stripe-mock/spec"

	"donorbook/internal/crm/donate"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
)

func open(t *testing.T, address, key string) donate.Provider {
	p, err := pay.NewDesk("").Open(donate.Connection{Provider: "stripe", Account: "a1", Key: key, Address: address})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func order(n, frequency string) *donate.Order {
	return &donate.Order{
		Donation: "d" + n, Account: "a1", Key: "k" + n, At: time.Now(), Amount: 51_80, Covered: 1_80, Currency: "USD",
		Frequency: frequency, For: "Donation: Clean Water", Email: "ann@example.org",
		Success: "https://example.org/thanks", Cancel: "https://example.org/give",
	}
}

// Everything that our Stripe sends, in answers and in events, is valid by the published schema.
func TestObjectsAreValid(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(embedded.OpenAPISpec)
	if err != nil {
		t.Fatal(err)
	}
	s := stripetest.New(false)
	defer s.Close()
	seen := map[string]int{}
	var check func(o stripetest.Object)
	check = func(o stripetest.Object) {
		kind, _ := o["object"].(string)
		if data, isList := o["data"].([]any); isList && kind == "list" {
			for _, element := range data {
				check(element.(stripetest.Object))
			}
			return
		}
		if o["deleted"] == true {
			kind = "deleted_" + kind
		}
		schema := document.Components.Schemas[kind]
		if schema == nil {
			t.Errorf("there is no schema of %q", kind)
			return
		}
		var plain any
		body, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(body, &plain)
		}
		if err == nil {
			err = schema.Value.VisitJSON(plain)
		}
		if err != nil && seen["invalid "+kind] == 0 {
			seen["invalid "+kind]++
			t.Errorf("%s: %.600s", kind, err)
		}
		if kind == "event" {
			check(o["data"].(stripetest.Object)["object"].(stripetest.Object))
		}
		seen[kind]++
	}
	s.Sent = check

	p := open(t, s.URL, s.Key)
	ctx := t.Context()
	start := func(o *donate.Order) string {
		h, err := p.Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		return h.Session.ID
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	once, debit, failing, monthly := start(order("1", donate.Once)), start(order("2", donate.Once)),
		start(order("3", donate.Once)), start(order("4", "monthly"))
	start(order("5", donate.Once)) // expires
	s.Pay(once, stripetest.Decline)
	s.Pay(once, stripetest.Card)
	s.Pay(debit, stripetest.Debit)
	s.Pay(failing, stripetest.Debit)
	s.Pay(monthly, stripetest.Card)
	payments := s.Payments()
	s.EndDebit(payments[1], true)
	s.EndDebit(payments[2], false)
	must(p.Refund(ctx, payments[0], 10_00, "USD", "r1"))
	s.FailRefund("re_00000001")
	s.CloseDispute(s.Dispute(payments[0]), true)
	s.CloseDispute(s.Dispute(payments[1]), false)
	h, err := p.NewCard(ctx, "sub_00000001", "https://example.org/manage", "c1")
	must(err)
	s.Pay(h.Session.ID, stripetest.Card)
	for _, change := range []donate.Change{{Kind: donate.NewAmount, Amount: 30_00}, {Kind: donate.PausePlan},
		{Kind: donate.ResumePlan}} {
		change.Key = string(change.Kind)
		must(p.Plan(ctx, "sub_00000001", change))
	}
	s.Advance(40 * 24 * time.Hour)
	s.Break("sub_00000001", true)
	s.Advance(60 * 24 * time.Hour)
	_, err = p.Register(ctx, "https://example.org/hooks")
	must(err)
	_, err = p.Register(ctx, "https://example.org/hooks")
	must(err)
	must(p.Check(ctx, "USD"))
	must(p.Since(ctx, time.Now().Add(-time.Hour), func(ref donate.Ref) error {
		_, err := p.Look(ctx, ref)
		return err
	}))
	for _, kind := range []string{"event", "checkout.session", "payment_intent", "charge", "refund", "dispute",
		"subscription", "invoice", "invoice_payment", "webhook_endpoint", "deleted_webhook_endpoint"} {
		if seen[kind] == 0 {
			t.Errorf("no %s was seen", kind)
		}
	}

	made := stripetest.Object{"object": "refund", "id": "re_1", "amount": "ten", "created": 1, "currency": "usd"}
	if schema := document.Components.Schemas["refund"]; schema.Value.VisitJSON(map[string]any(made)) == nil {
		t.Error("a value that is none was accepted: nothing is checked")
	}
}

// Every name by which we read what Stripe sends is one that Stripe has: one that is misspelled, or that another version
// no longer has, would read as nothing.
func TestNamesAreThoseOfStripe(t *testing.T) {
	var names map[string]any
	if err := json.Unmarshal(embedded.OpenAPISpec, &names); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	var collect func(schema any)
	collect = func(schema any) {
		switch s := schema.(type) {
		case map[string]any:
			properties, _ := s["properties"].(map[string]any)
			for name := range properties {
				known[name] = true
			}
			for _, inner := range s {
				collect(inner)
			}
		case []any:
			for _, inner := range s {
				collect(inner)
			}
		}
	}
	collect(names["components"])
	read := regexp.MustCompile(`\.(?:text|number|time|is|object|list|money)\("([^"]+)"`)
	checked := 0
	for _, file := range []string{"stripe.go", "stripe_look.go", "stripe_ask.go"} {
		source, err := os.ReadFile("../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range read.FindAllStringSubmatch(string(source), -1) {
			for name := range strings.SplitSeq(strings.TrimSuffix(path[1], "."), ".") {
				// an error is no object of the schema, and what an event is about may be any
				if checked++; !known[name] && name != "error" && name != "object" {
					t.Errorf("%s reads %s: Stripe has no %s", file, path[1], name)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were found in the sources", checked)
	}
}

// Stripe's stub, which refuses parameters that do not exist and values outside of their lists, accepts everything that
// we ask for.
func TestRequestsAreAccepted(t *testing.T) {
	var fixtures spec.Fixtures
	var document spec.Spec
	if err := errors.Join(json.Unmarshal(embedded.OpenAPIFixtures, &fixtures),
		json.Unmarshal(embedded.OpenAPISpec, &document)); err != nil {
		t.Fatal(err)
	}
	stub, err := server.NewStubServer(&fixtures, &document, false, false)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	mock := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		answer := httptest.NewRecorder()
		stub.HandleRequest(answer, r)
		path := strings.Split(r.URL.Path, "/")
		asked[r.Method+" "+path[2]] = true
		if is := r.Header.Get("Stripe-Version"); is != document.Info.Version {
			t.Errorf("%s asks for version %s, and the schema is that of %s", r.URL.Path, is, document.Info.Version)
		}
		if answer.Code >= 400 {
			form, _ := url.QueryUnescape(r.URL.RawQuery + " " + string(body))
			t.Errorf("%s %s %s: %s", r.Method, r.URL.Path, form, answer.Body)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	defer mock.Close()

	p := open(t, mock.URL, "rk_test_0123456789abcdef")
	ctx := context.Background()
	for i, frequency := range []string{donate.Once, "weekly", "monthly", "quarterly", "yearly"} {
		_, _ = p.Start(ctx, order(string(rune('0'+i)), frequency)) // its page is refused: the stub has one of its own
	}
	for _, kind := range []donate.RefKind{donate.SessionRef, donate.PaymentRef, donate.ChargeRef, donate.RefundRef,
		donate.DisputeRef, donate.InvoiceRef, donate.PlanRef} {
		_, _ = p.Look(ctx, donate.Ref{Kind: kind, ID: "any_1"}) // what it finds has no sense
	}
	_ = p.Refund(ctx, "pi_1", 10_00, "USD", "r1")
	for _, kind := range []donate.ChangeKind{donate.CancelPlan, donate.PausePlan, donate.ResumePlan, donate.NewAmount,
		donate.UseCard} {
		_ = p.Plan(ctx, "sub_1", donate.Change{Kind: kind, Amount: 30_00, Card: "pm_1", Key: string(kind)})
	}
	_, _ = p.NewCard(ctx, "sub_1", "https://example.org/manage", "c1")
	_, _ = p.Register(ctx, "https://example.org/hooks")
	_ = p.Check(ctx, "USD")
	_ = p.Since(ctx, time.Now().Add(-time.Hour), func(donate.Ref) error { return nil })
	for _, want := range []string{
		"POST checkout", "GET checkout", "GET payment_intents", "GET charges", "POST refunds", "GET refunds",
		"GET disputes", "GET invoices", "GET invoice_payments", "GET subscriptions", "POST subscriptions",
		"DELETE subscriptions", "GET events", "POST webhook_endpoints", "GET webhook_endpoints",
	} {
		if !asked[want] {
			t.Errorf("%s was not asked", want)
		}
	}
}
