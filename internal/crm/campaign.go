package crm

import (
	"bytes"
	"time"
)

// Campaign is something that an account asks money for. It is public: anyone who knows its URL may see it.
type Campaign struct {
	ID          int64  // the microsecond of its creation: oldest first across accounts, and no count of anything
	AccountID   string // public id of the owner
	Type        string // general, collect, fundraise or event
	Title       string
	Subtitle    string // "" is unset here and in every text below
	Description string // sanitized HTML
	Slug        string // unique in the service
	Goal        int64  // in cents
	Raised      int64  // in cents
	Donors      int64
	Currency    string // ISO 4217
	Logo        string
	Cover       *Cover    // nil where there is none
	EndAt       time.Time // zero where it has no end
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Event       *Event // nil where there is none
}

// Public is what anyone may see of a campaign. Of a private event that is its title. If the campaign is the event, the rest of the
// campaign stays private too: its texts, pictures and dates tell where and when.
func (c Campaign) Public() Campaign {
	if c.Event == nil || !c.Event.Private {
		return c
	}
	c.Event = &Event{Title: c.Event.Title, Private: true}
	if c.Type == "event" {
		return Campaign{Type: c.Type, Title: c.Title, Event: c.Event}
	}
	return c
}

// Cover is the picture or film at the head of a campaign.
type Cover struct {
	Type   string // image or video
	URL    string
	Source string // upload, youtube, vimeo, twitch or facebook
}

// Event is where and when the people of a campaign meet. Its times are UTC; the time zone is the one to show them in.
type Event struct {
	Title             string
	Type              string
	LocationName      string
	AddressFormatted  string
	GooglePlaceID     string
	StartAt, EndAt    time.Time
	Timezone          string // IANA name
	Details           string // sanitized HTML
	Private           bool
	TicketsRequired   bool
	Livestream        *Livestream
	LivestreamStartAt time.Time
	LivestreamEndAt   time.Time
}

// Livestream is how an event is watched from afar.
type Livestream struct {
	URL, Type, Location, Platform, EmbedURL string
	Scheduled                               bool
}

// What an unset field stands for.
const (
	defaultCampaignType = "collect"
	defaultCurrency     = "USD"
	defaultCoverType    = "image"
	defaultCoverSource  = "upload"
	defaultEventType    = "in_person"
)

// NewCampaign makes a campaign of an input that was validated as a new one. The store finds the id and the slug:
// it starts at in.ID and SlugCandidates and goes on while they are taken.
func NewCampaign(in CampaignInput, account Account, id int64, slug string, now time.Time) Campaign {
	now = now.UTC().Truncate(time.Second)
	c := Campaign{
		ID: id, AccountID: account.ID, Type: defaultCampaignType, Currency: defaultCurrency,
		CreatedAt: now, UpdatedAt: now,
	}
	c.apply(&in)
	c.Slug = slug
	c.UpdatedAt = changeTime(c.UpdatedAt, c.CreatedAt) // a creation in the future may have been sent
	return c
}

// Update is the campaign with what was sent: present keys overwrite, missing ones stay, null goes back to the
// default. A cover and an event are replaced whole. Where nothing changes, updated_at stays as well.
func (c Campaign) Update(in CampaignInput, now time.Time) Campaign {
	next := c
	next.apply(&in)
	if valueOf(in.UpdatedAt).IsZero() && !c.same(&next) {
		next.UpdatedAt = changeTime(now, c.UpdatedAt)
	}
	next.UpdatedAt = changeTime(next.UpdatedAt, next.CreatedAt)
	return next
}

// same compares what two campaigns show.
func (c *Campaign) same(other *Campaign) bool {
	mine, _ := c.AppendBody(nil)
	its, _ := other.AppendBody(nil)
	return bytes.Equal(mine, its)
}

func (c *Campaign) apply(in *CampaignInput) {
	assign(&c.Type, in.Type, defaultCampaignType)
	assign(&c.Title, in.Title, c.Title)
	assign(&c.Subtitle, in.Subtitle, "")
	assign(&c.Description, in.Description, "")
	assign(&c.Slug, in.Slug, c.Slug)
	assign(&c.Goal, in.Goal, 0)
	assign(&c.Raised, in.Raised, 0)
	assign(&c.Donors, in.Donors, 0)
	assign(&c.Currency, in.Currency, defaultCurrency)
	assign(&c.Logo, in.Logo, "")
	assign(&c.Cover, in.Cover, nil)
	assign(&c.EndAt, in.EndAt, time.Time{})
	assign(&c.CreatedAt, in.CreatedAt, c.CreatedAt)
	assign(&c.UpdatedAt, in.UpdatedAt, c.UpdatedAt)
	assign(&c.Event, in.Event, nil)
	if c.Event != nil && c.Event.Title == "" {
		event := *c.Event
		event.Title = c.Title
		c.Event = &event
	}
}

// assign sets a field to what was sent, or to what it is when unset.
func assign[T comparable](field, sent *T, unset T) {
	var zero T
	switch {
	case sent == nil:
	case *sent == zero:
		*field = unset
	default:
		*field = *sent
	}
}

// Relation is why an account may list a campaign, as a set of bits.
type Relation int64

const (
	Own        Relation = 1 << iota // the account owns it
	Benefiting                      // the account is a beneficiary
	Chapter                         // an account below owns it, at any depth
)

// CampaignScope is which campaigns a list shows.
type CampaignScope string

const (
	OwnCampaigns        CampaignScope = ""
	BenefitingCampaigns CampaignScope = "benefiting"
	ChapterCampaigns    CampaignScope = "chapters"
	AllCampaigns        CampaignScope = "all"
)

// CampaignScopes are all scopes.
var CampaignScopes = []CampaignScope{OwnCampaigns, BenefitingCampaigns, ChapterCampaigns, AllCampaigns}

// ParseCampaignScope reads the query parameter scope of the campaign list; "" is the default.
func ParseCampaignScope(s string) (CampaignScope, error) {
	switch scope := CampaignScope(s); scope {
	case OwnCampaigns, BenefitingCampaigns, ChapterCampaigns, AllCampaigns:
		return scope, nil
	}
	return OwnCampaigns, invalid("scope", OneOf, "benefiting, chapters, all")
}

// Mask is the relations of which a campaign must have one to be listed.
func (s CampaignScope) Mask() Relation {
	switch s {
	case BenefitingCampaigns:
		return Benefiting
	case ChapterCampaigns:
		return Chapter
	case AllCampaigns:
		return Own | Benefiting | Chapter
	default:
		return Own
	}
}
