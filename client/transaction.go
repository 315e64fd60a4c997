package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Transaction is one gift. What it says about the donor is as it was when the gift was made.
type Transaction struct {
	ID                 string        `json:"id"`
	Number             string        `json:"number"`
	CampaignID         int64         `json:"campaign_id"`
	CampaignCode       string        `json:"campaign_code"` // the campaign's slug
	PlanID             string        `json:"plan_id"`
	ContactID          int64         `json:"contact_id"`
	FirstName          string        `json:"first_name"`
	LastName           string        `json:"last_name"`
	Company            string        `json:"company"`
	Email              string        `json:"email"`
	Phone              string        `json:"phone"`
	Address            *Address      `json:"address"`
	Status             string        `json:"status"`      // succeeded, pending, failed or cancelled
	Method             string        `json:"method"`      // card, ach, direct_debit, bank_transfer, check, cash, paypal, venmo, donor_advised_fund, stock, in_kind or other
	Amount             Money         `json:"amount"`      // what was paid
	Fee                Money         `json:"fee"`         // what a processor kept of it
	FeeCovered         Money         `json:"fee_covered"` // the part of the fee that the donor added
	Donated            Money         `json:"donated"`     // amount less fee covered
	Payout             Money         `json:"payout"`      // amount less fee
	Currency           string        `json:"currency"`
	TransactedAt       time.Time     `json:"transacted_at"`
	CreatedAt          time.Time     `json:"created_at"`
	Dedication         *Dedication   `json:"dedication"`
	Transactions       []LedgerEntry `json:"transactions"` // the payment, then each refund and correction
	LineItems          []LineItem    `json:"line_items"`
	CommunicationOptIn bool          `json:"communication_opt_in"`
	ExternalID         string        `json:"external_id"`
	ExternalIDs        []ExternalID  `json:"external_ids"` // of files with several; nil otherwise
	CheckNumber        string        `json:"check_number"`
	CheckDepositedAt   time.Time     `json:"check_deposited_at"`
	Note               string        `json:"note"`
	Livemode           bool          `json:"livemode"` // false for a gift of a payment provider's test mode
	Thanks             string        `json:"thanks"`   // waiting, or how someone has thanked; "" for older gifts
	ThankedAt          time.Time     `json:"thanked_at"`
	ThankedBy          string        `json:"thanked_by"`
}

// Dedication is whom a gift honors.
type Dedication struct {
	Type           string `json:"type"` // in_honor_of or in_memory_of
	Name           string `json:"name,omitzero"`
	RecipientName  string `json:"recipient_name,omitzero"`
	RecipientEmail string `json:"recipient_email,omitzero"`
}

// LedgerEntry is one movement of money. The numbers of a refund are negative, and so are those of an entry that takes a wrong payment back, which is
// not refunded.
type LedgerEntry struct {
	ID         string     `json:"id"`
	PlanID     string     `json:"plan_id"`
	Amount     Money      `json:"amount"`
	Fee        Money      `json:"fee"`
	FeeCovered Money      `json:"fee_covered"`
	Donated    Money      `json:"donated"`
	Payout     Money      `json:"payout"`
	Captured   bool       `json:"captured"`
	CapturedAt time.Time  `json:"captured_at"`
	Refunded   bool       `json:"refunded"`
	RefundedAt time.Time  `json:"refunded_at"`
	LineItems  []LineItem `json:"line_items"`
}

// LineItem is a part of an amount.
type LineItem struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"` // donation, or the fee that the donor covered
	Description string `json:"description"`
	Quantity    int64  `json:"quantity"`
	Price       Money  `json:"price"`
	Discount    Money  `json:"discount"`
	Total       Money  `json:"total"`
}

// TransactionInput is a gift to record. Amount, method and time are required, and a donor: the id of a contact, a first and a last name, or the email or phone of a
// contact.
// A time is a date, 2026-01-31, or has the form of time.RFC3339.
type TransactionInput struct {
	Amount             Money       `json:"amount"`
	Method             string      `json:"method"`
	TransactedAt       string      `json:"transacted_at"`
	ContactID          int64       `json:"contact_id,omitzero"`
	Anonymous          bool        `json:"anonymous,omitzero"` // no one knows who gave
	FirstName          string      `json:"first_name,omitzero"`
	LastName           string      `json:"last_name,omitzero"`
	Email              string      `json:"email,omitzero"`
	Phone              string      `json:"phone,omitzero"`
	Company            string      `json:"company,omitzero"`
	Address            *Address    `json:"address,omitzero"`
	CampaignID         int64       `json:"campaign_id,omitzero"`
	CampaignCode       string      `json:"campaign_code,omitzero"` // in place of the id
	PlanID             string      `json:"plan_id,omitzero"`
	Currency           string      `json:"currency,omitzero"`
	Fee                Money       `json:"fee,omitzero"`
	FeeCovered         Money       `json:"fee_covered,omitzero"`
	Status             string      `json:"status,omitzero"`
	CheckNumber        string      `json:"check_number,omitzero"`
	CheckDepositedAt   string      `json:"check_deposited_at,omitzero"`
	Dedication         *Dedication `json:"dedication,omitzero"`
	CommunicationOptIn bool        `json:"communication_opt_in,omitzero"`
	ExternalID         string      `json:"external_id,omitzero"` // recording the same one again gives the first gift
	Note               string      `json:"note,omitzero"`
	Livemode           *bool       `json:"livemode,omitzero"`     // true by default
	SendReceipt        bool        `json:"send_receipt,omitzero"` // thank by mail at once
	Thanks             string      `json:"thanks,omitzero"`       // how the donor was thanked elsewhere
}

// TransactionChange is what to change about a gift. Money that was entered wrong is corrected: set Correction, and Amount, Fee, FeeCovered or Method.
type TransactionChange struct {
	ContactID          Optional[int64]      `json:"contact_id,omitzero"`
	CampaignID         Optional[int64]      `json:"campaign_id,omitzero"`
	PlanID             Optional[string]     `json:"plan_id,omitzero"`
	Status             Optional[string]     `json:"status,omitzero"` // while it is pending
	Correction         bool                 `json:"correction,omitzero"`
	Amount             Optional[Money]      `json:"amount,omitzero"`
	Fee                Optional[Money]      `json:"fee,omitzero"` // without Correction once, while it is 0
	FeeCovered         Optional[Money]      `json:"fee_covered,omitzero"`
	Method             Optional[string]     `json:"method,omitzero"`
	TransactedAt       Optional[string]     `json:"transacted_at,omitzero"`
	CheckNumber        Optional[string]     `json:"check_number,omitzero"`
	CheckDepositedAt   Optional[string]     `json:"check_deposited_at,omitzero"`
	Dedication         Optional[Dedication] `json:"dedication,omitzero"`
	CommunicationOptIn Optional[bool]       `json:"communication_opt_in,omitzero"`
	ExternalID         Optional[string]     `json:"external_id,omitzero"`
	Note               Optional[string]     `json:"note,omitzero"`
}

// TransactionFilter says which gifts to list. Filters combine; a nil filter is none.
type TransactionFilter struct {
	Scope                  string // the account's own by default; benefiting, chapters or all
	ContactID, CampaignID  *int64
	PlanID, Status, Method *string
	ExternalID             *string
	CampaignCode           *string
	TransactedAfter        *time.Time // this moment or later
	TransactedBefore       *time.Time
	Sort                   string // id, which is the default, transacted_at, created_at or amount; -id and so on for descending
}

func (f TransactionFilter) query() (q query) {
	q.choice("scope", f.Scope)
	filter(&q, "contact_id", f.ContactID)
	filter(&q, "campaign_id", f.CampaignID)
	filter(&q, "plan_id", f.PlanID)
	filter(&q, "status", f.Status)
	filter(&q, "method", f.Method)
	filter(&q, "external_id", f.ExternalID)
	filter(&q, "transacted_after", f.TransactedAfter)
	filter(&q, "campaign_code", f.CampaignCode)
	filter(&q, "transacted_before", f.TransactedBefore)
	q.choice("sort", f.Sort)
	return q
}

// Transactions are the calls about gifts.
type Transactions struct{ c *Client }

const transactionsPath = "/v1/transactions"

func transactionPath(id string) string { return transactionsPath + "/" + url.PathEscape(id) }

// List walks through all gifts that a filter finds, in the order in which they were recorded unless the filter has another one.
func (s Transactions) List(ctx context.Context, f TransactionFilter) iter.Seq2[Transaction, error] {
	return all[Transaction](ctx, s.c, transactionsPath, f.query())
}

// Page reads one page of the gifts that a filter finds, with their total.
func (s Transactions) Page(ctx context.Context, f TransactionFilter, number int) (Page[Transaction], error) {
	return page[Transaction](ctx, s.c, transactionsPath, f.query(), number)
}

// Get reads a gift.
func (s Transactions) Get(ctx context.Context, id string) (Transaction, error) {
	return call[Transaction](ctx, s.c, http.MethodGet, transactionPath(id), nil)
}

// Create records a gift.
func (s Transactions) Create(ctx context.Context, in TransactionInput) (Transaction, error) {
	return call[Transaction](ctx, s.c, http.MethodPost, transactionsPath, in)
}

// Update changes a gift.
func (s Transactions) Update(ctx context.Context, id string, change TransactionChange) (Transaction, error) {
	return call[Transaction](ctx, s.c, http.MethodPatch, transactionPath(id), change)
}

// Refund records that an amount was refunded, or all that is left of the gift if the amount is "". It moves no money.
func (s Transactions) Refund(ctx context.Context, id string, amount Money) (Transaction, error) {
	return call[Transaction](ctx, s.c, http.MethodPost, transactionPath(id)+"/refund", struct {
		Amount Money `json:"amount,omitzero"`
	}{amount})
}

// UndoRefund takes back an amount that was refunded, or all of it if the amount is "".
func (s Transactions) UndoRefund(ctx context.Context, id string, amount Money) (Transaction, error) {
	return call[Transaction](ctx, s.c, http.MethodPost, transactionPath(id)+"/refund/undo", struct {
		Amount Money `json:"amount,omitzero"`
	}{amount})
}
