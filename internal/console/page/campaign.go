package page

import (
	"html/template"
	"net/url"
	"time"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/picture"
	"donorbook/internal/crm/text"
)

// CampaignRow is a campaign in a list.
type CampaignRow struct {
	campaign.Campaign
	Address  string
	Chapter  string // whose it is, where it is not ours
	Progress progress
	Ended    bool
}

func (r *Request) CampaignRow(campaign campaign.Campaign) CampaignRow {
	return CampaignRow{Campaign: campaign, Address: r.Path(CampaignPath(campaign.ID)), Progress: newProgress(campaign), Ended: ended(campaign, r.Now())}
}

func ended(campaign campaign.Campaign, now time.Time) bool {
	return !campaign.EndAt.IsZero() && campaign.EndAt.Before(now)
}

// progress is how far a campaign has come, in words and as a bar.
type progress struct {
	Raised, Goal string // Goal is "" where none was set
	Percent      int64
	Width        string // of the bar
	Reached      bool
}

func newProgress(c campaign.Campaign) progress {
	p := progress{Raised: text.MoneyText(c.Raised(), c.Currency)}
	reached, ok := c.Progress()
	if ok {
		p.Goal, p.Percent, p.Reached = text.MoneyText(c.Goal, c.Currency), reached, reached >= 100
	}
	p.Width = percent(float64(min(reached, 100)))
	return p
}

// ShownCampaign is what the pages of a campaign show of it.
type ShownCampaign struct {
	Campaign campaign.Campaign
	Progress progress
	Ended    bool
	// These are the only texts that pages show as HTML. crm sanitized them before they were stored.
	Description, Details template.HTML
	Cover, Logo          shownImage
	Video                string
}

func NewShownCampaign(c campaign.Campaign, now time.Time) ShownCampaign {
	shown := ShownCampaign{
		Campaign: c, Progress: newProgress(c), Ended: ended(c, now),
		Description: template.HTML(campaign.Shown(c.Description)), Logo: NewShownImage(c.Logo),
	}
	if c.Event != nil {
		shown.Details = template.HTML(campaign.Shown(c.Event.Details))
	}
	switch {
	case c.Cover == nil:
	case c.Cover.Type == "image":
		shown.Cover = NewShownImage(c.Cover.URL)
	default:
		shown.Video = c.Cover.URL
	}
	return shown
}

// shownImage is the address of an image that was uploaded, or of one of another site. A page may only load that over https.
type shownImage string

func NewShownImage(address string) shownImage {
	if u, err := url.Parse(address); !picture.IsAddress(address) && (err != nil || u.Scheme != "https") {
		return ""
	}
	return shownImage(address)
}

// Small tells whether an image that was uploaded would be blurred across a whole page.
func (i shownImage) Small() bool {
	for _, widest := range picture.Sizes(string(i)) {
		return widest < 800
	}
	return false
}
