package pay

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
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
}

var stripeKey = regexp.MustCompile(`^(sk|rk)_(live|test)_[A-Za-z0-9]{8,}$`)

func openStripe(c donate.Connection) (donate.Provider, error) {
	switch kind := stripeKey.FindStringSubmatch(c.Key); {
	case strings.HasPrefix(c.Key, "pk_"):
		return nil, refused(donate.NoKey, "This is the publishable key. Create a restricted key, which begins with rk_.", nil)
	case kind == nil:
		return nil, refused(donate.NoKey, "This is not a Stripe key. It begins with rk_live_, or with rk_test_ for test mode.", nil)
	case (kind[2] == "live") != c.Live:
		return nil, refused(donate.NoKey, "This key is of the other mode: rk_live_ takes real money, rk_test_ takes none.", nil)
	}
	if u, err := url.Parse(c.Address); err != nil || c.Address != "" && u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return nil, refused(donate.Definite, "The address of the payment provider must begin with https.", nil)
	}
	return &stripeProvider{c}, nil
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
	name := short(cmp.Or(o.For, "Donation"))
	form := url.Values{
		"mode": {"payment"}, "ui_mode": {"hosted_page"}, "success_url": {o.Success}, "cancel_url": {o.Cancel}, "client_reference_id": {o.Donation},
		"expires_at": {strconv.FormatInt(o.At.Add(sessionTime).Unix(), 10)}, "adaptive_pricing[enabled]": {"false"}, "line_items[0][quantity]": {"1"},
	}
	put(form, "line_items[0][price_data]", map[string]string{"currency": strings.ToLower(o.Currency), "unit_amount": strconv.FormatInt(amount, 10), "product_data][name": name})
	put(form, "metadata", kept)
	if o.Email != "" {
		form.Set("customer_email", o.Email)
	}
	if every, repeats := intervals[o.Frequency]; repeats {
		form.Set("mode", "subscription")
		put(form, "line_items[0][price_data][recurring]", map[string]string{"interval": every.unit, "interval_count": strconv.FormatInt(every.count, 10)})
		put(form, "subscription_data[metadata]", kept)
	} else {
		form.Set("submit_type", "donate")
		form.Set("payment_intent_data[description]", name)
		put(form, "payment_intent_data[metadata]", kept)
	}
	return p.page(ctx, form, o.Key)
}

// put writes what belongs together into a form, as Stripe wants it: metadata[key]=value.
func put(form url.Values, in string, values map[string]string) {
	for key, value := range values {
		form.Set(in+"["+key+"]", value)
	}
}

func short(text string) string {
	if letters := []rune(text); len(letters) > 250 {
		return string(letters[:249]) + "…"
	}
	return text
}

func (p *stripeProvider) page(ctx context.Context, form url.Values, key string) (h donate.Handover, err error) {
	o, err := p.ask(ctx, http.MethodPost, "checkout/sessions", form, key)
	if err != nil {
		return h, err
	}
	return handover(o.text("url"), donate.Ref{Kind: donate.SessionRef, ID: o.text("id")}, o.time("expires_at"), p.isPage)
}

// clockSkew is by how much the provider's clock may differ from ours.
const clockSkew = 5 * time.Minute

// objectID is what Stripe calls things; it becomes a part of an address.
var objectID = regexp.MustCompile(`^[A-Za-z0-9_]{4,255}$`)

func (p *stripeProvider) Verify(header func(string) string, body []byte, now time.Time) (h donate.Hint, err error) {
	stamp, signatures := signed(header("Stripe-Signature"))
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return h, refused(donate.Forged, "The event is not signed.", err)
	}
	if !slices.ContainsFunc(p.Hooks, func(secret string) bool {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%s", stamp, body)
		right := mac.Sum(nil)
		return secret != "" && slices.ContainsFunc(signatures, func(s []byte) bool { return hmac.Equal(s, right) }) // an empty secret would fit whatever is signed with none
	}) {
		return h, refused(donate.Forged, "The event’s signature is wrong.", nil)
	}
	at := unix(seconds)
	if at.Sub(now).Abs() > clockSkew {
		return donate.Hint{At: at}, refused(donate.Forged, "The event was not signed within the last five minutes.", nil)
	}
	var event object
	if err := json.Unmarshal(body, &event); err != nil || !objectID.MatchString(event.text("id")) {
		return h, refused(donate.Forged, "This is no event.", err)
	}
	if event.is("livemode") != p.Live {
		return h, refused(donate.Forged, "The event is of the other mode.", nil)
	}
	kind := event.text("type")
	return donate.Hint{Event: event.text("id"), Kind: kind, Ref: refOf(event), Declined: kind == "payment_intent.payment_failed", Live: p.Live, At: at}, nil
}

// signed reads the header t=1495999758,v1=..,v1=..: the time of the signatures, which are about it and the body. There are two while one secret replaces the other.
func signed(header string) (stamp string, signatures [][]byte) {
	for pair := range strings.SplitSeq(header, ",") {
		switch key, value, _ := strings.Cut(pair, "="); key {
		case "t":
			stamp = value
		case "v1":
			signature, _ := hex.DecodeString(value) // what is none fits nothing
			signatures = append(signatures, signature)
		}
	}
	return stamp, signatures
}

// refOf is what an event is about: nothing where it is none of those that we ask for.
func refOf(o object) donate.Ref {
	event, id := o.text("type"), o.text("data.object.id")
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
	_, err := p.ask(ctx, http.MethodPost, "refunds", url.Values{"payment_intent": {payment}, "amount": {strconv.FormatInt(units, 10)}}, key)
	return err
}

func (p *stripeProvider) Plan(ctx context.Context, plan string, change donate.Change) error {
	method, form := http.MethodPost, url.Values{}
	switch change.Kind {
	case donate.CancelPlan:
		method = http.MethodDelete
	case donate.PausePlan:
		form.Set("pause_collection[behavior]", "void")
	case donate.ResumePlan:
		form.Set("pause_collection", "")
	case donate.UseCard:
		form.Set("default_payment_method", change.Card)
	case donate.NewAmount:
		s, err := p.subscription(ctx, plan)
		if err != nil {
			return err
		}
		currency, items := s.text("currency"), s.list("items.data")
		amount, ok := toStripe(change.Amount, code(currency))
		if !ok || len(items) != 1 {
			return refused(donate.Definite, "This amount cannot be given in this currency.", nil)
		}
		form = url.Values{"proration_behavior": {"none"}, "metadata[" + keptCovered + "]": {strconv.FormatInt(change.CoveredBy(coveredIn(s)), 10)}, "items[0][id]": {items[0].text("id")}}
		put(form, "items[0][price_data]", map[string]string{"currency": currency, "product": items[0].text("price.product"), "unit_amount": strconv.FormatInt(amount, 10)})
		every := items[0].object("price.recurring")
		put(form, "items[0][price_data][recurring]", map[string]string{"interval": every.text("interval"), "interval_count": strconv.FormatInt(every.number("interval_count"), 10)})
	}
	_, err := p.ask(ctx, method, "subscriptions/"+url.PathEscape(plan), form, change.Key)
	return err
}

// NewCard is a session that only asks for a card. Stripe's portal would change the card of the customer, and a plan that was made by a session has its own.
func (p *stripeProvider) NewCard(ctx context.Context, plan, back, key string) (h donate.Handover, err error) {
	s, err := p.subscription(ctx, plan)
	if err != nil {
		return h, err
	}
	form := url.Values{"mode": {"setup"}, "ui_mode": {"hosted_page"}, "customer": {s.text("customer")}, "currency": {s.text("currency")}, "success_url": {back}, "cancel_url": {back}}
	put(form, "metadata", map[string]string{keptPlan: plan, keptAccount: p.Account, keptDonation: s.text("metadata." + keptDonation)})
	return p.page(ctx, form, key)
}

// Since lists what was made, which proves that nothing is missing, and the events, which tell what changed later. Stripe keeps events for 30 days.
func (p *stripeProvider) Since(ctx context.Context, since time.Time, each func(donate.Ref) error) error {
	payment := func(path string) func(object) donate.Ref {
		return func(o object) donate.Ref { return donate.Ref{Kind: donate.PaymentRef, ID: o.text(path)} }
	}
	seen := map[donate.Ref]bool{}
	for _, made := range [...]struct {
		path string
		ref  func(object) donate.Ref
	}{{"payment_intents", payment("id")}, {"refunds", payment("payment_intent")}, {"disputes", payment("payment_intent")}, {"events", refOf}} {
		form := url.Values{"created[gte]": {strconv.FormatInt(since.Unix(), 10)}, "limit": {"100"}}
		if made.path == "events" {
			list(form, "types", donate.StripeEvents)
		}
		if err := p.every(ctx, made.path, form, func(o object) error {
			ref := made.ref(o)
			if ref.ID == "" || seen[ref] { // an event may be about nothing of ours, and a charge have no payment
				return nil
			}
			seen[ref] = true
			return each(ref)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Check does a little of all that we need: a key that may not do so is refused with the name of the permission.
func (p *stripeProvider) Check(ctx context.Context, currency string) error {
	for _, needed := range permissions {
		if _, err := p.get(ctx, needed.path, url.Values{"limit": {"1"}}); err != nil {
			return err
		}
	}
	for _, frequency := range []string{donate.Once, "monthly"} {
		if err := p.tryPage(ctx, currency, frequency); err != nil {
			return err
		}
	}
	for path, form := range map[string]url.Values{"refunds": {"payment_intent": {"pi_none"}}, "subscriptions/sub_none": {}} {
		_, err := p.ask(ctx, http.MethodPost, path, form, "")
		if errors.Is(err, donate.ErrNoKey) || errors.Is(err, donate.ErrTemporary) { // there is none, which a key must be allowed to hear
			return err
		}
	}
	return nil
}

// tryPage makes the page of a small gift, and closes it before anybody sees it.
func (p *stripeProvider) tryPage(ctx context.Context, currency, frequency string) error {
	amount := 10 * text.ScaleOf(text.Decimals(currency))
	page, err := p.Start(ctx, &donate.Order{Donation: donate.NewID(), At: time.Now(), Account: p.Account, Amount: amount, Currency: currency,
		Frequency: frequency, For: "Test of the connection", Live: p.Live, Success: "https://stripe.com", Cancel: "https://stripe.com"})
	if err != nil && strings.Contains(err.Error(), "amount_too_small") { // in this currency, but the key may ask
		return nil
	}
	if err == nil {
		_, err = p.ask(ctx, http.MethodPost, "checkout/sessions/"+url.PathEscape(page.Session.ID)+"/expire", nil, "")
	}
	return err
}

// Register replaces what was registered for the address before: its secret is not told again.
func (p *stripeProvider) Register(ctx context.Context, address string) (secret string, err error) {
	form := url.Values{"url": {address}, "description": {"Donorbook"}, "api_version": {StripeVersion}}
	list(form, "enabled_events", donate.StripeEvents)
	made, err := p.ask(ctx, http.MethodPost, "webhook_endpoints", form, "")
	if err != nil {
		return "", err
	}
	return made.text("secret"), p.every(ctx, "webhook_endpoints", url.Values{}, func(old object) error {
		if old.text("url") != address || old.text("id") == made.text("id") {
			return nil
		}
		_, err := p.ask(ctx, http.MethodDelete, "webhook_endpoints/"+url.PathEscape(old.text("id")), nil, "")
		return err
	})
}
