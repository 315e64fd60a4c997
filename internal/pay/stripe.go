package pay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v86"
	"github.com/stripe/stripe-go/v86/webhook"

	"donorbook/internal/crm/donate"
)

// StripeName is what the provider is called in references.
const StripeName = "stripe"

// What Stripe keeps for us with each payment and plan. Only who has the key can write it: the client reference of a session is anyone's, because it can be set in the address of a
// payment link.
const (
	keptDonation = "donorbook-donation"
	keptAccount  = "donorbook-account"
	keptCovered  = "donorbook-covered"
	keptPlan     = "donorbook-plan"
)

type stripeProvider struct {
	donate.Connection
	api *stripe.Client
}

var stripeKey = regexp.MustCompile(`^(sk|rk)_(live|test)_[A-Za-z0-9]{8,}$`)

func openStripe(c donate.Connection) (donate.Provider, error) {
	switch kind := stripeKey.FindStringSubmatch(c.Key); {
	case strings.HasPrefix(c.Key, "pk_"):
		return nil, refused(donate.NoKey, "This is the publishable key. Create a restricted key, which begins with rk_.", nil)
	case kind == nil:
		return nil, refused(donate.NoKey, "This is no key of Stripe: it begins with rk_live_, or with rk_test_ for a test.", nil)
	case (kind[2] == "live") != c.Live:
		return nil, refused(donate.NoKey, "This key is of the other mode: rk_live_ takes real money, rk_test_ takes none.", nil)
	}
	config := &stripe.BackendConfig{HTTPClient: client, LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull}, MaxNetworkRetries: new(int64(0)), EnableTelemetry: new(false)}
	if c.Address != "" {
		if u, err := url.Parse(c.Address); err != nil || u.Scheme != "https" && !isLoopback(u.Hostname()) {
			return nil, refused(donate.Definite, "The address of the payment provider must begin with https.", nil)
		}
		config.URL = &c.Address
	}
	return &stripeProvider{c, stripe.NewClient(c.Key, stripe.WithBackends(stripe.NewBackendsWithConfig(config)))}, nil
}

// isPage tells whether givers may be sent to a host.
func (p *stripeProvider) isPage(host string) bool {
	address, _ := url.Parse(p.Address)
	return host == "checkout.stripe.com" || p.Host != "" && host == p.Host || p.Address != "" && host == address.Hostname()
}

// sessionTime is how long a page stays open. Stripe wants half an hour at least when it makes the page.
const sessionTime = time.Hour

var intervals = map[string]struct {
	unit  string
	count int64
}{"weekly": {"week", 1}, "monthly": {"month", 1}, "quarterly": {"month", 3}, "yearly": {"year", 1}}

func (p *stripeProvider) Start(ctx context.Context, o *donate.Order) (h donate.Handover, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	amount, ok := toStripe(o.Amount, o.Currency)
	switch {
	case !ok:
		return h, refused(donate.Definite, "This amount cannot be paid in this currency.", nil)
	case o.Live != p.Live:
		return h, refused(donate.Definite, "The connection to Stripe has changed. Start again.", nil)
	case time.Since(o.At) > sessionTime/2-time.Minute:
		return h, refused(donate.Definite, "The form was sent too long ago. Start again.", nil)
	}
	kept := map[string]string{keptDonation: o.Donation, keptAccount: o.Account, keptCovered: strconv.FormatInt(o.Covered, 10)}
	price := &stripe.CheckoutSessionCreateLineItemPriceDataParams{
		Currency: new(strings.ToLower(o.Currency)), UnitAmount: &amount,
		ProductData: &stripe.CheckoutSessionCreateLineItemPriceDataProductDataParams{Name: new(short(cmp.Or(o.For, "Donation")))},
	}
	params := &stripe.CheckoutSessionCreateParams{
		Mode: new("payment"), UIMode: new("hosted_page"), SuccessURL: &o.Success, CancelURL: &o.Cancel, ClientReferenceID: &o.Donation, Metadata: kept,
		ExpiresAt:       new(o.At.Add(sessionTime).Unix()),
		AdaptivePricing: &stripe.CheckoutSessionCreateAdaptivePricingParams{Enabled: new(false)},
		LineItems:       []*stripe.CheckoutSessionCreateLineItemParams{{PriceData: price, Quantity: new(int64(1))}},
	}
	if o.Email != "" {
		params.CustomerEmail = &o.Email
	}
	if every, repeats := intervals[o.Frequency]; repeats {
		params.Mode = new("subscription")
		price.Recurring = &stripe.CheckoutSessionCreateLineItemPriceDataRecurringParams{Interval: &every.unit, IntervalCount: &every.count}
		params.SubscriptionData = &stripe.CheckoutSessionCreateSubscriptionDataParams{Metadata: kept}
	} else {
		params.SubmitType = new("donate")
		params.PaymentIntentData = &stripe.CheckoutSessionCreatePaymentIntentDataParams{Metadata: kept, Description: price.ProductData.Name}
	}
	params.SetIdempotencyKey(o.Key)
	return p.page(p.api.V1CheckoutSessions.Create(ctx, params))
}

func short(text string) string {
	if letters := []rune(text); len(letters) > 250 {
		return string(letters[:249]) + "…"
	}
	return text
}

func (p *stripeProvider) page(s *stripe.CheckoutSession, err error) (donate.Handover, error) {
	if err != nil {
		return donate.Handover{}, refusal(err)
	}
	return handover(s.URL, donate.Ref{Kind: donate.SessionRef, ID: s.ID}, unix(s.ExpiresAt), p.isPage)
}

// clockSkew is by how much the provider's clock may differ from ours.
const clockSkew = 5 * time.Minute

// objectID is what Stripe calls things; it becomes a part of an address.
var objectID = regexp.MustCompile(`^[A-Za-z0-9_]{4,255}$`)

func (p *stripeProvider) Verify(header func(string) string, body []byte, now time.Time) (h donate.Hint, err error) {
	signature := header("Stripe-Signature")
	at, err := signedAt(signature)
	if err != nil || at.Sub(now).Abs() > clockSkew {
		return h, refused(donate.Forged, "The event was not signed within the last five minutes.", err)
	}
	if !slices.ContainsFunc(p.Hooks, func(secret string) bool {
		return secret != "" && webhook.ValidatePayloadIgnoringTolerance(body, signature, secret) == nil // an empty secret would fit whatever is signed with none
	}) {
		return h, refused(donate.Forged, "The event’s signature is wrong.", nil)
	}
	var event struct {
		ID, Type string
		Livemode bool
		Data     struct{ Object struct{ ID string } }
	}
	if err := json.Unmarshal(body, &event); err != nil || !objectID.MatchString(event.ID) {
		return h, refused(donate.Forged, "This is no event.", err)
	}
	if event.Livemode != p.Live {
		return h, refused(donate.Forged, "The event is of the other mode.", nil)
	}
	h = donate.Hint{Event: event.ID, Kind: event.Type, Ref: refOf(event.Type, event.Data.Object.ID), Declined: event.Type == "payment_intent.payment_failed", Live: event.Livemode, At: at}
	return h, nil
}

// signedAt is the time that a signature is about: the one that is checked.
func signedAt(signature string) (at time.Time, err error) {
	err = webhook.ErrNotSigned
	for pair := range strings.SplitSeq(signature, ",") {
		if value, found := strings.CutPrefix(pair, "t="); found {
			var seconds int64
			seconds, err = strconv.ParseInt(value, 10, 64)
			at = unix(seconds)
		}
	}
	return at, err
}

// refOf is what an event is about: nothing where it is none of those that we ask for.
func refOf(event, id string) donate.Ref {
	if !slices.Contains(donate.StripeEvents, event) || !objectID.MatchString(id) {
		return donate.Ref{}
	}
	for _, known := range [...]struct {
		prefix string
		kind   donate.RefKind
	}{
		{"checkout.", donate.SessionRef}, {"payment_intent.", donate.PaymentRef}, {"charge.dispute.", donate.DisputeRef}, {"charge.", donate.ChargeRef},
		{"refund.", donate.RefundRef}, {"invoice.", donate.InvoiceRef}, {"customer.subscription.", donate.PlanRef},
	} {
		if strings.HasPrefix(event, known.prefix) {
			return donate.Ref{Kind: known.kind, ID: id}
		}
	}
	return donate.Ref{}
}

func (p *stripeProvider) Refund(ctx context.Context, payment string, amount int64, currency, key string) error {
	units, ok := toStripe(amount, currency)
	if !ok {
		return refused(donate.Definite, "This amount cannot be refunded in this currency.", nil)
	}
	params := &stripe.RefundCreateParams{PaymentIntent: &payment, Amount: &units}
	params.SetIdempotencyKey(key)
	_, err := p.api.V1Refunds.Create(ctx, params)
	return refusal(err)
}

func (p *stripeProvider) Plan(ctx context.Context, plan string, change donate.Change) error {
	if change.Kind == donate.CancelPlan {
		_, err := p.api.V1Subscriptions.Cancel(ctx, plan, nil)
		return refusal(err)
	}
	params := &stripe.SubscriptionUpdateParams{}
	params.SetIdempotencyKey(change.Key)
	switch change.Kind {
	case donate.PausePlan:
		params.PauseCollection = &stripe.SubscriptionUpdatePauseCollectionParams{Behavior: new("void")}
	case donate.ResumePlan:
		params.AddExtra("pause_collection", "")
	case donate.UseCard:
		params.DefaultPaymentMethod = &change.Card
	case donate.NewAmount:
		s, err := p.api.V1Subscriptions.Retrieve(ctx, plan, nil)
		if err != nil {
			return refusal(err)
		}
		amount, ok := toStripe(change.Amount, code(s.Currency))
		if !ok || len(s.Items.Data) != 1 {
			return refused(donate.Definite, "This amount cannot be given in this currency.", nil)
		}
		item := s.Items.Data[0]
		params.ProrationBehavior = new("none")
		params.Metadata = map[string]string{keptCovered: strconv.FormatInt(change.CoveredBy(coveredIn(s)), 10)}
		params.Items = []*stripe.SubscriptionUpdateItemParams{{ID: &item.ID, PriceData: &stripe.SubscriptionUpdateItemPriceDataParams{
			Currency: (*string)(&s.Currency), Product: &item.Price.Product.ID, UnitAmount: &amount,
			Recurring: &stripe.SubscriptionUpdateItemPriceDataRecurringParams{Interval: (*string)(&item.Price.Recurring.Interval), IntervalCount: &item.Price.Recurring.IntervalCount},
		}}}
	}
	_, err := p.api.V1Subscriptions.Update(ctx, plan, params)
	return refusal(err)
}

// NewCard is a session that only asks for a card. Stripe's portal would change the card of the customer, and a plan that was made by a session has its own.
func (p *stripeProvider) NewCard(ctx context.Context, plan, back, key string) (h donate.Handover, err error) {
	s, err := p.api.V1Subscriptions.Retrieve(ctx, plan, nil)
	if err != nil {
		return h, refusal(err)
	}
	params := &stripe.CheckoutSessionCreateParams{
		Mode: new("setup"), UIMode: new("hosted_page"), Customer: &s.Customer.ID, Currency: (*string)(&s.Currency), SuccessURL: &back, CancelURL: &back,
		Metadata: map[string]string{keptPlan: plan, keptAccount: p.Account, keptDonation: s.Metadata[keptDonation]},
	}
	params.SetIdempotencyKey(key)
	return p.page(p.api.V1CheckoutSessions.Create(ctx, params))
}

// Since lists what was made, which proves that nothing is missing, and the events, which tell what changed later. Stripe keeps events for 30 days.
func (p *stripeProvider) Since(ctx context.Context, since time.Time, each func(donate.Ref) error) error {
	seen := map[donate.Ref]bool{}
	tell := func(ref donate.Ref) error {
		if ref.ID == "" || seen[ref] {
			return nil
		}
		seen[ref] = true
		return each(ref)
	}
	payment := func(intent *stripe.PaymentIntent) error {
		if intent == nil { // of a charge without one, which is none of ours
			return nil
		}
		return tell(donate.Ref{Kind: donate.PaymentRef, ID: intent.ID})
	}
	from := &stripe.RangeQueryParams{GreaterThanOrEqual: since.Unix()}
	page := stripe.ListParams{Limit: new(int64(100))}
	if err := every(ctx, p.api.V1PaymentIntents.List(ctx, &stripe.PaymentIntentListParams{ListParams: page, CreatedRange: from}), payment); err != nil {
		return err
	}
	if err := every(ctx, p.api.V1Refunds.List(ctx, &stripe.RefundListParams{ListParams: page, CreatedRange: from}), func(r *stripe.Refund) error { return payment(r.PaymentIntent) }); err != nil {
		return err
	}
	if err := every(ctx, p.api.V1Disputes.List(ctx, &stripe.DisputeListParams{ListParams: page, CreatedRange: from}), func(d *stripe.Dispute) error { return payment(d.PaymentIntent) }); err != nil {
		return err
	}
	return every(ctx, p.api.V1Events.List(ctx, &stripe.EventListParams{ListParams: page, CreatedRange: from, Types: pointers(donate.StripeEvents)}), func(e *stripe.Event) error {
		id, _ := e.Data.Object["id"].(string)
		return tell(refOf(string(e.Type), id))
	})
}

// every calls a function with each thing of a list, page by page.
func every[T any](ctx context.Context, list *stripe.V1List[T], each func(T) error) error {
	for item, err := range list.All(ctx) {
		if err != nil {
			return refusal(err)
		}
		if err := each(item); err != nil {
			return err
		}
	}
	return nil
}

func pointers(texts []string) (all []*string) {
	for i := range texts {
		all = append(all, &texts[i])
	}
	return all
}

// Check reads something of each kind that we need: a key that may not do so is refused with the name of the permission.
func (p *stripeProvider) Check(ctx context.Context) error {
	one := stripe.ListParams{Limit: new(int64(1)), Single: true}
	for _, needed := range []struct {
		name string
		read func() error
	}{
		{"Checkout Sessions", func() error {
			return p.api.V1CheckoutSessions.List(ctx, &stripe.CheckoutSessionListParams{ListParams: one}).Err()
		}},
		{"PaymentIntents", func() error {
			return p.api.V1PaymentIntents.List(ctx, &stripe.PaymentIntentListParams{ListParams: one}).Err()
		}},
		{"Charges and Refunds", func() error { return p.api.V1Refunds.List(ctx, &stripe.RefundListParams{ListParams: one}).Err() }},
		{"Disputes", func() error { return p.api.V1Disputes.List(ctx, &stripe.DisputeListParams{ListParams: one}).Err() }},
		{"Subscriptions", func() error {
			return p.api.V1Subscriptions.List(ctx, &stripe.SubscriptionListParams{ListParams: one}).Err()
		}},
		{"Invoices", func() error { return p.api.V1Invoices.List(ctx, &stripe.InvoiceListParams{ListParams: one}).Err() }},
		{"Events", func() error { return p.api.V1Events.List(ctx, &stripe.EventListParams{ListParams: one}).Err() }},
	} {
		err := needed.read()
		if r := (*donate.Refused)(nil); errors.As(refusal(err), &r) {
			if isForbidden(err) {
				r.Text = "The key may not use " + needed.name + ". Give it this permission at Stripe. " + r.Text
			}
			return r
		}
	}
	return nil
}

// Register replaces what was registered for the address before: its secret is not told again.
func (p *stripeProvider) Register(ctx context.Context, address string) (secret string, err error) {
	made, err := p.api.V1WebhookEndpoints.Create(ctx, &stripe.WebhookEndpointCreateParams{URL: &address, EnabledEvents: pointers(donate.StripeEvents), Description: new("Donorbook"), APIVersion: new(stripe.APIVersion)})
	if err != nil {
		return "", refusal(err)
	}
	return made.Secret, every(ctx, p.api.V1WebhookEndpoints.List(ctx, &stripe.WebhookEndpointListParams{}), func(old *stripe.WebhookEndpoint) error {
		if old.URL != address || old.ID == made.ID {
			return nil
		}
		_, err := p.api.V1WebhookEndpoints.Delete(ctx, old.ID, nil)
		return refusal(err)
	})
}

func isForbidden(err error) bool {
	var e *stripe.Error
	return errors.As(err, &e) && e.HTTPStatusCode == http.StatusForbidden
}

// refusal says what an error of Stripe means.
func refusal(err error) error {
	var e *stripe.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &e):
		return refused(donate.Temporary, "Stripe cannot be reached.", err)
	}
	said := "Stripe says: " + e.Msg
	switch status := e.HTTPStatusCode; {
	case status == http.StatusUnauthorized:
		return refused(donate.NoKey, "Stripe no longer accepts the key. "+said, err)
	case status == http.StatusForbidden:
		return refused(donate.NoKey, said, err)
	case e.Code == stripe.ErrorCodeResourceMissing || status == http.StatusNotFound:
		return refused(donate.Gone, said, err)
	case status == http.StatusConflict, status == http.StatusTooManyRequests, status >= 500, status < 400, e.Code == stripe.ErrorCodeLockTimeout:
		return refused(donate.Temporary, "Stripe cannot answer right now.", err)
	}
	return refused(donate.Definite, said, err)
}
