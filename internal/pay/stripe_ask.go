package pay

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/donate"
)

// StripeVersion is the version of Stripe's API that requests ask for and events come in. The tests of the module honest have the schema of this version.
const StripeVersion = "2026-08-26.dahlia"

// answerLimit is how many bytes an answer of Stripe may have: a page of a hundred events is the largest that we ask for.
const answerLimit = 16 << 20

func (p *stripeProvider) get(ctx context.Context, path string, form url.Values) (object, error) {
	return p.ask(ctx, http.MethodGet, path, form, "")
}

// ask sends a request and reads the answer. What is asked for twice with one key happens once.
func (p *stripeProvider) ask(ctx context.Context, method, path string, form url.Values, key string) (o object, err error) {
	address, body := cmp.Or(p.Address, "https://api.stripe.com")+"/v1/"+path, form.Encode()
	if method == http.MethodGet {
		address, body = address+"?"+body, ""
	}
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, refused(donate.Definite, "This cannot be asked of Stripe.", err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + p.Key}, "Stripe-Version": {StripeVersion}, "Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {"Donorbook"}}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, refused(donate.Temporary, "Stripe cannot be reached.", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerLimit))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	switch isRefused := answer.StatusCode != http.StatusOK; {
	case err != nil, isRefused && o.object("error") == nil: // of someone between Stripe and us
		return nil, refused(donate.Temporary, "Stripe cannot be reached.", err)
	case isRefused:
		return nil, refusal(path, answer.StatusCode, o.object("error"))
	}
	return o, nil
}

// permissions are what a key needs, as Stripe calls it where keys are made.
var permissions = [...]struct{ path, name string }{
	{"checkout/sessions", "Checkout Sessions"}, {"payment_intents", "PaymentIntents"}, {"refunds", "Charges and Refunds"}, {"disputes", "Disputes"},
	{"subscriptions", "Subscriptions"}, {"invoices", "Invoices"}, {"events", "Events"},
}

// refusal says what an error of Stripe means.
func refusal(path string, status int, e object) error {
	problem, said := e.text("code"), "Stripe says: "+e.text("message")
	err := errors.New(strings.TrimSpace(strconv.Itoa(status) + " " + problem))
	switch {
	case status == http.StatusUnauthorized:
		return refused(donate.NoKey, "Stripe no longer accepts the key. "+said, err)
	case status == http.StatusForbidden:
		for _, needed := range permissions {
			if strings.HasPrefix(path, needed.path) {
				said = "The key may not use " + needed.name + ". Give it this permission at Stripe. " + said
			}
		}
		return refused(donate.NoKey, said, err)
	case status == http.StatusNotFound, problem == "resource_missing":
		return refused(donate.Gone, said, err)
	case status == http.StatusConflict, status == http.StatusTooManyRequests, status >= 500, status < 400, problem == "lock_timeout":
		return refused(donate.Temporary, "Stripe cannot answer right now.", err)
	}
	return refused(donate.Definite, said, err)
}

// list adds a list to a form.
func list(form url.Values, name string, values []string) {
	for i, value := range values {
		form.Set(name+"["+strconv.Itoa(i)+"]", value)
	}
}

// expand asks for whole objects where an object names others by their ids.
func expand(paths ...string) url.Values {
	form := url.Values{}
	list(form, "expand", paths)
	return form
}

// every calls a function with each object of a list, page by page.
func (p *stripeProvider) every(ctx context.Context, path string, form url.Values, each func(object) error) error {
	for {
		page, err := p.get(ctx, path, form)
		if err != nil {
			return err
		}
		for _, o := range page.list("data") {
			if err := each(o); err != nil {
				return err
			}
			form.Set("starting_after", o.text("id"))
		}
		if !page.is("has_more") {
			return nil
		}
	}
}

// object is what Stripe sends. Where it names another object, there is the id of that, or all of it if we asked to expand it. What is not there is "", 0, false or nil.
type object map[string]any

// at finds what is at a path, such as billing_details.email.
func (o object) at(path string) (found any) {
	found = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		inside, _ := found.(map[string]any)
		found = inside[name]
	}
	return found
}

func (o object) text(path string) string {
	text, _ := o.at(path).(string)
	return text
}

func (o object) number(path string) int64 {
	n, _ := o.at(path).(float64) // exact: amounts have far fewer than 53 bits
	return int64(n)
}

func (o object) time(path string) time.Time { return unix(o.number(path)) }

func (o object) is(path string) bool { return o.at(path) == true }

func (o object) object(path string) object {
	inside, _ := o.at(path).(map[string]any)
	return inside
}

func (o object) list(path string) (all []object) {
	elements, _ := o.at(path).([]any)
	for _, element := range elements {
		if inside, isObject := element.(map[string]any); isObject {
			all = append(all, inside)
		}
	}
	return all
}
