package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Plan is a gift that comes again.
type Plan struct {
	ID           string    `json:"id"`
	ContactID    int64     `json:"contact_id"`
	FirstName    string    `json:"first_name"`
	LastName     string    `json:"last_name"`
	Email        string    `json:"email"`
	Phone        string    `json:"phone"`
	CampaignID   int64     `json:"campaign_id"`
	Frequency    string    `json:"frequency"` // weekly, monthly, quarterly or yearly
	Status       string    `json:"status"`    // active, paused, past_due or ended
	Method       string    `json:"method"`    // as of a transaction
	Amount       Money     `json:"amount"`
	Currency     string    `json:"currency"`
	StartAt      time.Time `json:"start_at"`
	NextBillDate time.Time `json:"next_bill_date"`
	CreatedAt    time.Time `json:"created_at"`
	CanceledAt   time.Time `json:"canceled_at"`
	ExternalID   string    `json:"external_id"`
}

// PlanInput is a plan to create. Amount, frequency and method are required, and a donor: the id of a contact, or a first and a last name.
// A time is a date, 2026-01-31, or has the form of time.RFC3339.
type PlanInput struct {
	Amount       Money  `json:"amount"`
	Frequency    string `json:"frequency"`
	Method       string `json:"method"`
	ContactID    int64  `json:"contact_id,omitzero"`
	FirstName    string `json:"first_name,omitzero"`
	LastName     string `json:"last_name,omitzero"`
	Email        string `json:"email,omitzero"`
	Phone        string `json:"phone,omitzero"`
	CampaignID   int64  `json:"campaign_id,omitzero"`
	Currency     string `json:"currency,omitzero"`
	Status       string `json:"status,omitzero"`
	StartAt      string `json:"start_at,omitzero"`
	NextBillDate string `json:"next_bill_date,omitzero"`
	ExternalID   string `json:"external_id,omitzero"`
}

// PlanChange is what to change about a plan.
type PlanChange struct {
	Amount       Optional[Money]  `json:"amount,omitzero"`
	Frequency    Optional[string] `json:"frequency,omitzero"`
	Method       Optional[string] `json:"method,omitzero"`
	CampaignID   Optional[int64]  `json:"campaign_id,omitzero"`
	Status       Optional[string] `json:"status,omitzero"`
	StartAt      Optional[string] `json:"start_at,omitzero"`
	NextBillDate Optional[string] `json:"next_bill_date,omitzero"`
	ExternalID   Optional[string] `json:"external_id,omitzero"`
}

// Plans are the calls about plans.
type Plans struct{ c *Client }

const plansPath = "/v1/plans"

func planPath(id string) string { return plansPath + "/" + url.PathEscape(id) }

// List walks through all plans, in the order in which they were recorded.
func (s Plans) List(ctx context.Context) iter.Seq2[Plan, error] {
	return all[Plan](ctx, s.c, plansPath, query{})
}

// Page reads one page of the plans, with their total.
func (s Plans) Page(ctx context.Context, number int) (Page[Plan], error) {
	return page[Plan](ctx, s.c, plansPath, query{}, number)
}

// Get reads a plan.
func (s Plans) Get(ctx context.Context, id string) (Plan, error) {
	return call[Plan](ctx, s.c, http.MethodGet, planPath(id), nil)
}

// Create creates a plan.
func (s Plans) Create(ctx context.Context, in PlanInput) (Plan, error) {
	return call[Plan](ctx, s.c, http.MethodPost, plansPath, in)
}

// Update changes a plan.
func (s Plans) Update(ctx context.Context, id string, change PlanChange) (Plan, error) {
	return call[Plan](ctx, s.c, http.MethodPatch, planPath(id), change)
}
