package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"
)

// Campaign is something that an account raises money for.
type Campaign struct {
	ID          int64        `json:"id"`
	AccountID   string       `json:"account_id"`
	Type        string       `json:"type"` // general, collect, fundraise or event
	Title       string       `json:"title"`
	Subtitle    string       `json:"subtitle"`
	Description string       `json:"description"` // HTML
	Slug        string       `json:"slug"`
	URL         string       `json:"url"`
	Goal        Money        `json:"goal"`
	Raised      Money        `json:"raised"`
	Donors      int64        `json:"donors"`
	Currency    string       `json:"currency"`
	Logo        string       `json:"logo"`
	Cover       *Cover       `json:"cover"`
	EndAt       CampaignTime `json:"end_at"`
	CreatedAt   CampaignTime `json:"created_at"`
	UpdatedAt   CampaignTime `json:"updated_at"`
	Event       *Event       `json:"event"`
	Code        string       `json:"code"`   // the same as the slug
	Status      string       `json:"status"` // draft, published or closed
}

// Cover is the image or video at the top of a campaign.
type Cover struct {
	Type   string `json:"type,omitzero"` // image or video
	URL    string `json:"url"`
	Source string `json:"source,omitzero"` // upload, youtube, vimeo, twitch or facebook
}

// Event is where and when the people of a campaign meet.
type Event struct {
	Title             string       `json:"title,omitzero"`
	Type              string       `json:"type,omitzero"`
	LocationName      string       `json:"location_name,omitzero"`
	AddressFormatted  string       `json:"address_formatted,omitzero"`
	GooglePlaceID     string       `json:"google_place_id,omitzero"`
	StartAt           CampaignTime `json:"start_at,omitzero"`
	EndAt             CampaignTime `json:"end_at,omitzero"`
	Timezone          string       `json:"timezone,omitzero"` // IANA name
	Details           string       `json:"details,omitzero"`  // HTML
	Private           bool         `json:"private"`
	TicketsRequired   bool         `json:"tickets_required"`
	Livestream        *Livestream  `json:"livestream,omitzero"`
	LivestreamStartAt CampaignTime `json:"livestream_start_at,omitzero"`
	LivestreamEndAt   CampaignTime `json:"livestream_end_at,omitzero"`
}

// Livestream is the broadcast of an event.
type Livestream struct {
	URL       string `json:"url,omitzero"`
	Type      string `json:"type,omitzero"`
	Location  string `json:"location,omitzero"`
	Platform  string `json:"platform,omitzero"`
	EmbedURL  string `json:"embed_url,omitzero"`
	Scheduled bool   `json:"scheduled"`
}

// CampaignInput is a campaign to create. The title is required.
type CampaignInput struct {
	Type        string       `json:"type,omitzero"` // collect by default
	Title       string       `json:"title"`
	Subtitle    string       `json:"subtitle,omitzero"`
	Description string       `json:"description,omitzero"` // HTML
	Slug        string       `json:"slug,omitzero"`        // made from the title by default
	Goal        Money        `json:"goal,omitzero"`
	Currency    string       `json:"currency,omitzero"`
	Logo        string       `json:"logo,omitzero"`
	Cover       *Cover       `json:"cover,omitzero"`
	EndAt       CampaignTime `json:"end_at,omitzero"`
	Event       *Event       `json:"event,omitzero"`
	Status      string       `json:"status,omitzero"` // draft, published, which is the default, or closed
	PaymentLink string       `json:"payment_link,omitzero"`

	Beneficiaries []string `json:"beneficiaries,omitzero"` // ids of the accounts that it is for
}

// CampaignChange is what to change about a campaign.
type CampaignChange struct {
	Type        Optional[string]       `json:"type,omitzero"`
	Title       Optional[string]       `json:"title,omitzero"`
	Subtitle    Optional[string]       `json:"subtitle,omitzero"`
	Description Optional[string]       `json:"description,omitzero"`
	Slug        Optional[string]       `json:"slug,omitzero"`
	Goal        Optional[Money]        `json:"goal,omitzero"`
	Currency    Optional[string]       `json:"currency,omitzero"`
	Logo        Optional[string]       `json:"logo,omitzero"`
	Cover       Optional[Cover]        `json:"cover,omitzero"`
	EndAt       Optional[CampaignTime] `json:"end_at,omitzero"`
	Event       Optional[Event]        `json:"event,omitzero"`
	Status      Optional[string]       `json:"status,omitzero"`
	PaymentLink Optional[string]       `json:"payment_link,omitzero"`

	Beneficiaries []string `json:"beneficiaries,omitzero"` // nil leaves them alone, an empty list clears them
}

// CampaignFilter says whose campaigns to list.
type CampaignFilter struct {
	Scope string // the account's own by default; benefiting, chapters or all
}

func (f CampaignFilter) query() (q query) {
	q.choice("scope", f.Scope)
	return q
}

// Campaigns are the calls about campaigns.
type Campaigns struct{ c *Client }

const campaignsPath = "/v1/campaigns"

func campaignPath(id int64) string { return campaignsPath + "/" + strconv.FormatInt(id, 10) }

// List walks through all campaigns of a scope.
func (s Campaigns) List(ctx context.Context, f CampaignFilter) iter.Seq2[Campaign, error] {
	return all[Campaign](ctx, s.c, campaignsPath, f.query())
}

// Page reads one page of the campaigns of a scope, with their total.
func (s Campaigns) Page(ctx context.Context, f CampaignFilter, number int) (Page[Campaign], error) {
	return page[Campaign](ctx, s.c, campaignsPath, f.query(), number)
}

// Get reads a campaign.
func (s Campaigns) Get(ctx context.Context, id int64) (Campaign, error) {
	return call[Campaign](ctx, s.c, http.MethodGet, campaignPath(id), nil)
}

// Create creates a campaign.
func (s Campaigns) Create(ctx context.Context, in CampaignInput) (Campaign, error) {
	return call[Campaign](ctx, s.c, http.MethodPost, campaignsPath, in)
}

// Update changes a campaign of the account's own.
func (s Campaigns) Update(ctx context.Context, id int64, change CampaignChange) (Campaign, error) {
	return call[Campaign](ctx, s.c, http.MethodPatch, campaignPath(id), change)
}

// Delete deletes a campaign of the account's own that has no gifts and no plans. One that has some is refused with status 409.
func (s Campaigns) Delete(ctx context.Context, id int64) error {
	_, err := s.c.send(ctx, http.MethodDelete, campaignPath(id), nil, nil, nil)
	return err
}
