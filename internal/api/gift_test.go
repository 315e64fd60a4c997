package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"donorbook/internal/rig"
)

// wireMoney are the numbers of a transaction, and of each of its entries.
type wireMoney struct {
	Amount, Fee, Donated, Payout json.Number
	Covered                      json.Number `json:"fee_covered"`
	Items                        []struct {
		Type, Subtype          string
		Quantity               int64
		Price, Discount, Total json.Number
	} `json:"line_items"`
}

// wireGift is what the numbers of a transaction depend on.
type wireGift struct {
	wireMoney
	ID, Status, Method, Currency string
	PaymentMethod                string  `json:"payment_method"`
	CampaignID                   *int64  `json:"campaign_id"`
	CampaignCode                 *string `json:"campaign_code"`
	Transactions                 []struct {
		wireMoney
		Captured, Refunded bool
		CapturedAt         *string `json:"captured_at"`
		RefundedAt         *string `json:"refunded_at"`
	}
}

func readGift(body string) (g wireGift, err error) { return g, json.Unmarshal([]byte(body), &g) }

var currencyDecimals = map[string]int64{"USD": 100, "EUR": 100, "JPY": 1, "KWD": 1000}

// check finds numbers that do not add up.
func (g *wireGift) check() error {
	scale := currencyDecimals[g.Currency]
	var broken []error
	must := func(ok bool, rule string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Errorf(rule, args...))
		}
	}
	units := func(n json.Number) int64 { // in the smallest unit of the currency
		r, ok := new(big.Rat).SetString(n.String())
		ok = ok && !strings.ContainsAny(n.String(), "eE+") && r.Mul(r, new(big.Rat).SetInt64(scale)).IsInt()
		if must(ok, "%s is no amount in %s", n, g.Currency); !ok {
			return 0
		}
		return r.Num().Int64()
	}
	adds := func(m wireMoney) {
		must(units(m.Donated) == units(m.Amount)-units(m.Covered), "donated = amount - fee_covered")
		must(units(m.Payout) == units(m.Amount)-units(m.Fee), "payout = amount - fee")
		sum := int64(0)
		for _, item := range m.Items {
			sum += units(item.Total)
			must(item.Quantity == 1 && item.Price == item.Total && item.Discount == "0", "an item is one of its kind")
			must(item.Type == "donation", "an item is a donation or its fee")
		}
		must(sum == units(m.Amount), "the items are the amount")
		must(units(m.Items[0].Total) == units(m.Donated) && m.Items[0].Subtype == "donation", "the gift comes first")
		must((len(m.Items) == 2) == (units(m.Covered) != 0), "a covered fee is an item")
	}
	payment, amount, donated, covered, reversed := g.Transactions[0], int64(0), int64(0), int64(0), false
	adds(g.wireMoney)
	for i, e := range g.Transactions {
		adds(e.wireMoney)
		of, given, fee := units(e.Amount), units(e.Donated), units(e.Covered)
		amount, donated, covered = amount+of, donated+given, covered+fee
		must(e.Captured == (e.CapturedAt != nil) && e.Refunded == (e.RefundedAt != nil), "a time says since when")
		switch {
		case i == 0 || reversed:
			payment = e
		case e.Refunded:
			must(!e.Captured && of < 0 && given <= 0 && fee <= 0, "a refund is negative")
		case of < 0:
			must(amount == 0 && donated == 0 && covered == 0, "a correction takes all back")
			must(i+1 < len(g.Transactions), "the right payment follows a correction")
		default:
			must(e.Captured && given >= 0 && fee >= 0, "the undoing of a refund is positive")
		}
		reversed = i > 0 && !reversed && !e.Refunded && of < 0
	}
	isPayment := payment.Amount == g.Amount && payment.Fee == g.Fee && payment.Covered == g.Covered
	must(isPayment, "the gift has the numbers of its first payment, or of the one after the last correction")
	must(units(g.Amount) > 0 && units(g.Donated) > 0, "something is given")
	must(payment.Captured == (g.Status == "succeeded"), "what succeeded was captured")
	must(payment.Refunded == (amount == 0), "a payment is refunded while all of it is gone")
	must(amount >= 0 && covered >= 0 && (donated > 0) == (amount > 0), "something is donated while something is left")
	must(g.PaymentMethod == g.Method, "the method is said twice")
	must((g.CampaignID == nil) == (g.CampaignCode == nil), "the campaign is said twice")
	return errors.Join(broken...)
}

// donations is an account with random gifts.
type donations struct {
	*server
	key       string
	contacts  []string
	plans     []string // of the contact with the same index
	campaigns []string
}

func decimal(units, scale int64) string {
	return new(big.Rat).SetFrac64(units, scale).FloatString(len(fmt.Sprint(scale)) - 1)
}

// body is a random transaction.
func (d *donations) body(random *rand.Rand, n int) (body, currency string, amount int64) {
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	currency = one("USD", "USD", "EUR", "JPY", "KWD")
	scale := currencyDecimals[currency]
	if amount = 1 + random.Int64N(100_000); random.IntN(4) == 0 {
		amount = 1 + amount%20 // so small that every rounding is visible
	}
	who := random.IntN(len(d.contacts))
	parts := []string{
		`"amount":` + decimal(amount, scale), `"currency":"` + currency + `"`,
		fmt.Sprintf(`"external_id":"random-%d"`, n),
		`"` + one("method", "payment_method") + `":"` + one("card", "ach", "check", "cash", "venmo", "stock", "in_kind",
			"other") + `"`,
		fmt.Sprintf(`"transacted_at":"20%02d-%02d-%02d%s"`, random.IntN(26), 1+random.IntN(12), 1+random.IntN(28),
			one("", "T23:59:59Z", "T00:30:00+05:30")),
	}
	add := func(share int, part func() string) {
		if random.IntN(100) < share {
			parts = append(parts, part())
		}
	}
	add(40, func() string { return `"fee":` + decimal(random.Int64N(amount+1), scale) })
	add(40, func() string { return `"fee_covered":` + decimal(random.Int64N(amount), scale) })
	add(20, func() string { return `"status":"` + one("pending", "failed", "cancelled", "succeeded") + `"` })
	add(50, func() string { return fmt.Sprintf(`"campaign_id":%s`, d.campaigns[random.IntN(len(d.campaigns))]) })
	add(30, func() string {
		return `"dedication":{"type":"` + one("in_honor_of", "in_memory_of") + `","name":` + one(`null`,
			`"Zoë \"Z\" <b>&"`) + `,"recipient_email":` + one(`null`, `"z@example.org"`) + `}`
	})
	add(30, func() string {
		return `"note":` + one(`"a\nb\t\\"`, `"ünï 🎁"`, `"<script>&amp;"`) +
			`,"check_number":"007","check_deposited_at":"2026-02-03"`
	})
	add(20, func() string { return `"communication_opt_in":true,"livemode":` + one("true", "false") })
	if random.IntN(3) == 0 {
		parts = append(parts,
			fmt.Sprintf(`"first_name":"Guest","last_name":"N°%d","email":"guest%[1]d@example.org","phone":"+1 415 555 01%02[1]d"`, random.IntN(30)))
		add(50, func() string {
			return `"company":"Guests & Co","address":{"city":"` + one("Oakland", "Köln") + `","country":"DEU"}`
		})
	} else {
		parts = append(parts, `"contact_id":`+d.contacts[who])
		add(40, func() string { return `"plan_id":"` + d.plans[who] + `"` })
	}
	random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, ",") + "}", currency, amount
}

// give makes one random gift, refunds some of it, undoes that and corrects it.
func (d *donations) give(t *testing.T, n int) {
	random := rand.New(rand.NewPCG(15, uint64(n)))
	body, currency, amount := d.body(random, n)
	r := d.request(t, "POST", "/v1/transactions", d.key, body)
	a := d.send(t, r)
	if equal(t, a.status, 201, "%s: %s", body, clip(a.body)); a.status != 201 {
		return
	}
	if n%50 == 0 {
		checkContract(t, r, a)
	}
	gift, err := readGift(a.body)
	for range random.IntN(6) {
		if err != nil || gift.Status != "succeeded" {
			break
		}
		part := `"amount":` + decimal(1+random.Int64N(amount), currencyDecimals[currency])
		change, method, path := `{`+part+`}`, "POST", []string{"/refund", "/refund", "/refund/undo", ""}[random.IntN(4)]
		switch {
		case path == "":
			change, method = `{"correction":true,`+part+`}`, "PATCH"
		case random.IntN(4) == 0:
			change = ""
		}
		if b := d.ask(t, method, "/v1/transactions/"+gift.ID+path, d.key, change); b.status == 200 {
			a = b
			gift, err = readGift(a.body)
		}
		err = errors.Join(err, gift.check())
	}
	if err = errors.Join(err, gift.check()); err != nil {
		t.Errorf("%s: %v\n%s", body, err, a.body)
	}
}

func newDonations(t *testing.T, s *server) *donations {
	d := &donations{server: s, key: s.anyKey(t)}
	for _, body := range []string{`{"title":"One"}`, `{"title":"Two","currency":"JPY"}`} {
		d.campaigns = append(d.campaigns, s.make(t, d.key, "/v1/campaigns", body))
	}
	for i := range 10 {
		contact := s.make(t, d.key, "/v1/contacts", fmt.Sprintf(`{"first_name":"Ann %d","last_name":"Lee"}`, i))
		plan := s.make(t, d.key, "/v1/plans", `{"amount":5,"frequency":"weekly","method":"card","contact_id":`+contact+
			`}`)
		d.contacts, d.plans = append(d.contacts, contact), append(d.plans, plan)
	}
	return d
}

// All numbers of 1,000 random gifts add up, whatever is refunded, undone and corrected.
func TestTheNumbersOf1000RandomGiftsAddUp(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		const total, workers = 1000, 16
		d := newDonations(t, s)
		rig.AtOnce(workers, func(worker int) {
			for n := worker; n < total; n += workers {
				d.give(t, n)
			}
		})
	})
}

// Of many refunds at once, only as many succeed as there is money, and each of the others is told what is left.
func TestConcurrentRefundsAtOnceGiveBackNoMoreThanThereIs(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		gift := s.make(t, key, "/v1/transactions",
			`{"amount":50,"method":"cash","transacted_at":"2026-01-31","first_name":"Ann","last_name":"Lee"}`)
		many := func(path, body string) []answer {
			var requests []*http.Request
			for range 16 {
				requests = append(requests, s.request(t, "POST", "/v1/transactions/"+gift+path, key, body))
			}
			return storm(t, s, requests)
		}
		read := func() wireGift {
			g := must(readGift(s.ask(t, "GET", "/v1/transactions/"+gift, key, "").body))(t)
			succeed(t, g.check())
			return g
		}
		refunds := many("/refund", `{"amount":20}`)
		equal(t, statuses(refunds), map[int]int{200: 2, 422: 14})
		for _, a := range refunds {
			if a.status == 422 {
				contains(t, a.body, "The amount field must not be more than what is left of the gift: 10.")
			}
		}
		equal(t, len(read().Transactions), 3)
		// two that take all back have one effect
		equal(t, statuses(many("/refund/undo", "")), map[int]int{200: 1, 422: 15})
		g := read()
		equal(t, len(g.Transactions), 4)
		equal(t, g.Transactions[0].Refunded, false)
	})
}

// A page of gifts that is sent in pieces arrives complete, even if it combines several accounts.
func TestALargePageOfGiftsArrivesWhole(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		parent := newAccount(t, s.store, "parent", "")
		chapter := newAccount(t, s.store, "chapter", parent.ID)
		note := strings.Repeat("ü", 10_000)
		var want []string
		for _, account := range []string{newKey(t, s.store, parent), newKey(t, s.store, chapter)} {
			for n := range 20 {
				a := s.ask(t, "POST", "/v1/transactions", account,
					fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"2026-01-31","first_name":"Ann","last_name":"Lee","email":"ann@lee.example","note":"%s"}`, n+1, note))
				want = append(want, a.body)
			}
		}
		key := newKey(t, s.store, parent)
		for _, query := range []string{"scope=all&per_page=100", "scope=all&per_page=100&method=cash"} {
			got := s.ask(t, "GET", "/v1/transactions?"+query, key, "").body
			if data := `{"data":[` + strings.Join(want, ",") + `],"links"`; !strings.HasPrefix(got, data) ||
				!strings.Contains(got, `"total":40}}`) {
				t.Errorf("%s: %d bytes, want %d and what follows", query, len(got), len(data))
			}
		}
	})
}
