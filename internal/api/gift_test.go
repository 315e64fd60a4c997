package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
)

// wireGift is a transaction as a strict client declares it: every key, in its order, with its type.
type wireGift struct {
	ID                 string          `json:"id"`
	Number             string          `json:"number"`
	CampaignID         *int64          `json:"campaign_id"`
	CampaignCode       *string         `json:"campaign_code"`
	PlanID             *string         `json:"plan_id"`
	TeamID             null            `json:"team_id"`
	MemberID           null            `json:"member_id"`
	FundID             null            `json:"fund_id"`
	FundCode           null            `json:"fund_code"`
	GivingSpace        null            `json:"giving_space"`
	ContactID          int64           `json:"contact_id"`
	FirstName          *string         `json:"first_name"`
	LastName           *string         `json:"last_name"`
	Company            *string         `json:"company"`
	Email              *string         `json:"email"`
	Phone              *string         `json:"phone"`
	Address            *wireAddress    `json:"address"`
	Status             string          `json:"status"`
	Method             string          `json:"method"`
	PaymentMethod      string          `json:"payment_method"`
	Amount             json.Number     `json:"amount"`
	Fee                json.Number     `json:"fee"`
	FeeCovered         json.Number     `json:"fee_covered"`
	Donated            json.Number     `json:"donated"`
	Payout             json.Number     `json:"payout"`
	Currency           string          `json:"currency"`
	TransactedAt       wireTime        `json:"transacted_at"`
	CreatedAt          wireTime        `json:"created_at"`
	Dedication         *wireDedication `json:"dedication"`
	Transactions       []wireEntry     `json:"transactions"`
	LineItems          []wireItem      `json:"line_items"`
	CustomFields       []null          `json:"custom_fields"`
	UTMParameters      null            `json:"utm_parameters"`
	AttributionData    null            `json:"attribution_data"`
	SessionID          null            `json:"session_id"`
	CommunicationOptIn bool            `json:"communication_opt_in"`
	ExternalID         *string         `json:"external_id"`
	CheckNumber        *string         `json:"check_number"`
	CheckDepositedAt   *wireTime       `json:"check_deposited_at"`
	Note               *string         `json:"note"`
	Livemode           bool            `json:"livemode"`
	IsRecurring        bool            `json:"is_recurring"`
	RefundedAt         *wireTime       `json:"refunded_at"`
}

type wireAddress struct {
	Address1 *string `json:"address_1"`
	Address2 *string `json:"address_2"`
	City     *string `json:"city"`
	State    *string `json:"state"`
	Zipcode  *string `json:"zipcode"`
	Country  *string `json:"country"`
}

type wireDedication struct {
	Type           string  `json:"type"`
	Name           *string `json:"name"`
	RecipientName  *string `json:"recipient_name"`
	RecipientEmail *string `json:"recipient_email"`
}

type wireEntry struct {
	ID         string      `json:"id"`
	PlanID     *string     `json:"plan_id"`
	Amount     json.Number `json:"amount"`
	Fee        json.Number `json:"fee"`
	FeeCovered json.Number `json:"fee_covered"`
	Donated    json.Number `json:"donated"`
	Payout     json.Number `json:"payout"`
	Captured   bool        `json:"captured"`
	CapturedAt *wireTime   `json:"captured_at"`
	Refunded   bool        `json:"refunded"`
	RefundedAt *wireTime   `json:"refunded_at"`
	LineItems  []wireItem  `json:"line_items"`
}

type wireItem struct {
	Type        string      `json:"type"`
	Subtype     string      `json:"subtype"`
	Description string      `json:"description"`
	Quantity    int64       `json:"quantity"`
	Price       json.Number `json:"price"`
	Discount    json.Number `json:"discount"`
	Total       json.Number `json:"total"`
}

// null is a key that exists but is not used.
type null struct{}

func (null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

func (*null) UnmarshalJSON(text []byte) error {
	if string(text) != "null" {
		return errors.New("only null belongs here")
	}
	return nil
}

// wireTime is a time as the wire form writes it.
type wireTime struct{ time.Time }

const wireTimeForm = `"2006-01-02T15:04:05+00:00"`

func (w wireTime) MarshalJSON() ([]byte, error) { return []byte(w.Format(wireTimeForm)), nil }

func (w *wireTime) UnmarshalJSON(text []byte) (err error) {
	if string(text) != "null" {
		w.Time, err = time.Parse(wireTimeForm, string(text))
	}
	return err
}

// readGift decodes a transaction and encodes it again: a strict client holds exactly what was sent, byte for byte.
func readGift(body []byte) (g wireGift, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&g); err != nil {
		return g, err
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(g); err != nil {
		return g, err
	}
	if written := bytes.TrimSuffix(again.Bytes(), []byte("\n")); !bytes.Equal(written, body) {
		return g, fmt.Errorf("it is\n%s\nand decodes as\n%s", body, written)
	}
	return g, nil
}

var currencyDecimals = map[string]int64{"USD": 100, "EUR": 100, "JPY": 1, "KWD": 1000}

// check finds numbers that do not add up.
func (g *wireGift) check() error {
	scale := currencyDecimals[g.Currency]
	var broken []error
	units := func(n json.Number) int64 { // in the smallest unit of the currency
		r, ok := new(big.Rat).SetString(n.String())
		if !ok || strings.ContainsAny(n.String(), "eE+") || !r.Mul(r, new(big.Rat).SetInt64(scale)).IsInt() {
			broken = append(broken, fmt.Errorf("%s is no amount in %s", n, g.Currency))
			return 0
		}
		return r.Num().Int64()
	}
	must := func(ok bool, rule string) {
		if !ok {
			broken = append(broken, errors.New(rule))
		}
	}
	adds := func(amount, fee, covered, donated, payout json.Number, items []wireItem) {
		must(units(donated) == units(amount)-units(covered), "donated = amount - fee_covered")
		must(units(payout) == units(amount)-units(fee), "payout = amount - fee")
		sum := int64(0)
		for _, item := range items {
			sum += units(item.Total)
			must(item.Quantity == 1 && item.Price == item.Total && item.Discount == "0" && item.Type == "donation", "an item is one donation or fee")
		}
		must(sum == units(amount) && units(items[0].Total) == units(donated) && items[0].Subtype == "donation", "the items are the amount")
		must((len(items) == 2) == (units(covered) != 0), "a covered fee is an item")
	}
	payment, amount, donated, covered, reversed := g.Transactions[0], int64(0), int64(0), int64(0), false
	adds(g.Amount, g.Fee, g.FeeCovered, g.Donated, g.Payout, g.LineItems)
	for i, e := range g.Transactions {
		adds(e.Amount, e.Fee, e.FeeCovered, e.Donated, e.Payout, e.LineItems)
		amount, donated, covered = amount+units(e.Amount), donated+units(e.Donated), covered+units(e.FeeCovered)
		must(e.Captured == (e.CapturedAt != nil) && e.Refunded == (e.RefundedAt != nil), "a time says since when")
		switch {
		case i == 0 || reversed:
			payment = e
		case e.Refunded:
			must(!e.Captured && units(e.Amount) < 0 && units(e.Donated) <= 0 && units(e.FeeCovered) <= 0, "a refund is negative")
		case units(e.Amount) < 0:
			must(amount == 0 && donated == 0 && covered == 0 && i+1 < len(g.Transactions), "a correction takes all back, and the right payment follows")
		default:
			must(e.Captured && units(e.Donated) >= 0 && units(e.FeeCovered) >= 0, "the undoing of a refund is positive")
		}
		reversed = i > 0 && !reversed && !e.Refunded && units(e.Amount) < 0
	}
	must(payment.Amount == g.Amount && payment.Fee == g.Fee && payment.FeeCovered == g.FeeCovered && units(g.Amount) > 0 && units(g.Donated) > 0, "the first entry is the payment, or the one after the last correction")
	must(payment.Captured == (g.Status == "succeeded"), "what succeeded was captured")
	must(payment.Refunded == (amount == 0), "a payment is refunded while all of it is gone")
	must(amount >= 0 && covered >= 0 && (donated > 0) == (amount > 0), "something is donated while something is left")
	must(g.PaymentMethod == g.Method && (g.CampaignID == nil) == (g.CampaignCode == nil), "what is said twice is the same")
	return errors.Join(broken...)
}

// net is what the gift adds to a sum, in the smallest unit.
func (g *wireGift) net() (n int64) {
	if g.Status != "succeeded" || !g.Livemode {
		return 0
	}
	for _, e := range g.Transactions {
		r, _ := new(big.Rat).SetString(e.Donated.String())
		n += r.Mul(r, new(big.Rat).SetInt64(currencyDecimals[g.Currency])).Num().Int64()
	}
	return n
}

// donations is an account with random gifts.
type donations struct {
	*server
	key       string
	contacts  []string
	plans     []string // of the contact with the same index
	campaigns []int64
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
		`"amount":` + decimal(amount, scale), `"currency":"` + currency + `"`, fmt.Sprintf(`"external_id":"random-%d"`, n),
		`"` + one("method", "payment_method") + `":"` + one("card", "ach", "check", "cash", "venmo", "stock", "in_kind", "other") + `"`,
		fmt.Sprintf(`"transacted_at":"20%02d-%02d-%02d%s"`, random.IntN(26), 1+random.IntN(12), 1+random.IntN(28), one("", "T23:59:59Z", "T00:30:00+05:30")),
	}
	add := func(share int, part func() string) {
		if random.IntN(100) < share {
			parts = append(parts, part())
		}
	}
	add(40, func() string { return `"fee":` + decimal(random.Int64N(amount+1), scale) })
	add(40, func() string { return `"fee_covered":` + decimal(random.Int64N(amount), scale) })
	add(20, func() string { return `"status":"` + one("pending", "failed", "cancelled", "succeeded") + `"` })
	add(50, func() string { return fmt.Sprintf(`"campaign_id":%d`, d.campaigns[random.IntN(len(d.campaigns))]) })
	add(30, func() string {
		return `"dedication":{"type":"` + one("in_honor_of", "in_memory_of") + `","name":` + one(`null`, `"Zoë \"Z\" <b>&"`) + `,"recipient_email":` + one(`null`, `"z@example.org"`) + `}`
	})
	add(30, func() string {
		return `"note":` + one(`"a\nb\t\\"`, `"ünï 🎁"`, `"<script>&amp;"`) + `,"check_number":"007","check_deposited_at":"2026-02-03"`
	})
	add(20, func() string { return `"communication_opt_in":true,"livemode":` + one("true", "false") })
	if random.IntN(3) == 0 {
		parts = append(parts, fmt.Sprintf(`"first_name":"Guest","last_name":"N°%d","email":"guest%[1]d@example.org","phone":"+1 415 555 01%02[1]d"`, random.IntN(30)))
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

// give makes one random gift, refunds some of it, undoes that, corrects it, and returns its final state.
func (d *donations) give(t *testing.T, n int) (wireGift, string) {
	random := rand.New(rand.NewPCG(15, uint64(n)))
	body, currency, amount := d.body(random, n)
	r := d.request(t, "POST", "/v1/transactions", d.key, body)
	a := d.send(t, r)
	if a.status != http.StatusCreated {
		t.Errorf("%s: %d %s", body, a.status, clip(a.body))
		return wireGift{}, ""
	}
	if n%50 == 0 {
		checkContract(t, r, a)
	}
	gift, err := readGift([]byte(a.body))
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
		if b := d.ask(t, method, "/v1/transactions/"+gift.ID+path, d.key, change); b.status == http.StatusOK {
			a = b
			gift, err = readGift([]byte(a.body))
		}
		if err == nil {
			err = gift.check()
		}
	}
	if err == nil {
		err = gift.check()
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", body, err, a.body)
	}
	if n%10 == 0 { // the lists show all of them
		equal(t, d.ask(t, "GET", "/v1/transactions/"+gift.ID, d.key, "").body, a.body, "GET says")
	}
	return gift, a.body
}

func newDonations(t *testing.T, s *server) *donations {
	account := newAccount(t, s.store, "strict", "")
	d := &donations{server: s, key: newKey(t, s.store, account)}
	importCampaigns(t, s.store, account, fmt.Sprintf(`[{"title":"One","slug":"strict-one-%s"},{"title":"Two","slug":"strict-two-%[1]s","currency":"JPY"}]`, s.engine))
	var campaigns struct{ Data []struct{ ID int64 } }
	succeed(t, json.Unmarshal([]byte(s.ask(t, "GET", "/v1/campaigns", d.key, "").body), &campaigns))
	for _, campaign := range campaigns.Data {
		d.campaigns = append(d.campaigns, campaign.ID)
	}
	for i := range 10 {
		contact := idOf(t, s.ask(t, "POST", "/v1/contacts", d.key, fmt.Sprintf(`{"first_name":"Ann %d","last_name":"Lee","addresses":[{"city":"Oakland"}]}`, i)).body)
		plan := idOf(t, s.ask(t, "POST", "/v1/plans", d.key, `{"amount":5,"frequency":"weekly","method":"card","contact_id":`+contact+`}`).body)
		d.contacts, d.plans = append(d.contacts, contact), append(d.plans, plan)
	}
	return d
}

// A client that knows every key and every type, and nothing else, reads 1,000 random gifts. All their numbers add up, the list
// shows the same bytes, and a contact's numbers are the totals of its gifts.
func TestAStrictClientReads1000RandomGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		const total, workers = 1000, 16
		d := newDonations(t, s)
		gifts, bodies := make([]wireGift, total), make([]string, total)
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				for n := worker; n < total; n += workers {
					gifts[n], bodies[n] = d.give(t, n)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		byNumber, cents, recurring := map[string]string{}, map[int64]int64{}, map[int64]int64{}
		for n, gift := range gifts {
			byNumber[gift.Number] = bodies[n]
			if gift.Currency == "USD" {
				cents[gift.ContactID] += gift.net()
				if gift.PlanID != nil {
					recurring[gift.ContactID] += gift.net()
				}
			}
		}
		for page := range total / 100 {
			var listed struct{ Data []json.RawMessage }
			succeed(t, json.Unmarshal([]byte(d.ask(t, "GET", fmt.Sprintf("/v1/transactions?per_page=100&page=%d", page+1), d.key, "").body), &listed))
			for i, shown := range listed.Data {
				equal(t, string(shown), byNumber[fmt.Sprintf("%010d", page*100+i+1)],
					"page %d shows\n%s", page+1, shown)
			}
		}
		for contact, sum := range cents {
			want := fmt.Sprintf(`"stats":{"recurring_contributions":%d,"total_contributions":%d}`, recurring[contact]/100, sum/100)
			contains(t, d.ask(t, "GET", fmt.Sprint("/v1/contacts/", contact), d.key, "").body, want,
				"contact %d", contact)
		}
	})
}

// Of many refunds at once, only as many succeed as there is money, and each of the others is told what is left.
func TestConcurrentRefundsAtOnceGiveBackNoMoreThanThereIs(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
		gift := idOf(t, s.ask(t, "POST", "/v1/transactions", key, `{"amount":50,"method":"cash","transacted_at":"2026-01-31","first_name":"Ann","last_name":"Lee"}`).body)
		many := func(path, body string) (statuses map[int]int, refused []string) {
			var requests []*http.Request
			for range 16 {
				requests = append(requests, s.request(t, "POST", "/v1/transactions/"+gift+path, key, body))
			}
			statuses = map[int]int{}
			for _, a := range storm(t, s, requests) {
				if statuses[a.status]++; a.status != http.StatusOK {
					refused = append(refused, a.body)
				}
			}
			return statuses, refused
		}
		read := func() wireGift {
			g := must(readGift([]byte(s.ask(t, "GET", "/v1/transactions/"+gift, key, "").body)))(t)
			succeed(t, g.check())
			return g
		}
		statuses, refused := many("/refund", `{"amount":20}`)
		for _, told := range refused {
			contains(t, told, "The amount field must not be more than what is left of the gift: 10.")
		}
		if g := read(); len(g.Transactions) != 3 || statuses[200] != 2 || statuses[422] != 14 {
			t.Errorf("%v, %+v", statuses, g.Transactions)
		}
		statuses, _ = many("/refund/undo", "") // two at once that take all back have one effect
		if g := read(); len(g.Transactions) != 4 || g.net() != 5000 || statuses[200] != 1 || statuses[422] != 15 {
			t.Errorf("%v, %+v", statuses, g.Transactions)
		}
	})
}

// The history of a gift names the key that changed it.
func TestTheHistoryOfAGiftNamesTheKey(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		gift := idOf(t, s.ask(t, "POST", "/v1/transactions", key, `{"amount":50,"method":"cash","transacted_at":"2026-01-31","first_name":"Ann","last_name":"Lee"}`).body)
		s.ask(t, "PATCH", "/v1/transactions/"+gift, key, `{"note":"Thanks"}`)
		s.ask(t, "POST", "/v1/transactions/"+gift+"/refund", key, "")
		record := must(s.store.GiftRecord(t.Context(), account.Number, gift))(t)
		changes, _, err := s.store.Timeline(t.Context(), account.Number, history.GiftNoun, record.ID, crm.PageRequest{Page: 1, PerPage: 9})
		if err != nil || len(changes) != 3 || changes[0].Who != "API key test" || changes[1].Who != "API key test" {
			t.Errorf("%v: %+v", err, changes)
		}
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
				a := s.ask(t, "POST", "/v1/transactions", account, fmt.Sprintf(`{"amount":%d,"method":"cash","transacted_at":"2026-01-31","first_name":"Ann","last_name":"Lee","email":"ann@lee.example","note":"%s"}`, n+1, note))
				want = append(want, a.body)
			}
		}
		key := newKey(t, s.store, parent)
		for _, query := range []string{"scope=all&per_page=100", "scope=all&per_page=100&method=cash"} {
			got := s.ask(t, "GET", "/v1/transactions?"+query, key, "").body
			if data := `{"data":[` + strings.Join(want, ",") + `],"links"`; !strings.HasPrefix(got, data) || !strings.Contains(got, `"total":40}}`) {
				t.Errorf("%s: %d bytes, want %d and what follows", query, len(got), len(data))
			}
		}
	})
}
