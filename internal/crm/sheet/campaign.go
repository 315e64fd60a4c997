package sheet

import (
	"cmp"
	"strings"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/text"
)

// campaignColumns is the row of a campaign with its headings. Files of campaigns are written and not read.
func campaignColumns(shown *campaign.Campaign, baseURL string) []headedCell {
	c := shown.WithBase(baseURL)
	cents := func(n int64) Decimal { return Decimal(text.MoneyInput(n, text.DefaultCurrency)) }
	cover, event := cmp.Or(c.Cover, new(campaign.Cover)), cmp.Or(c.Event, new(campaign.Event))
	return []headedCell{
		{"id", c.ID}, {"title", c.Title}, {"subtitle", c.Subtitle}, {"slug", c.Slug}, {"url", strings.TrimSuffix(baseURL, "/") + "/" + c.Slug},
		{"type", c.Type}, {"status", c.Status}, {"goal", cents(c.Goal)}, {"raised", cents(c.Raised())}, {"donors", c.Donors()}, {"currency", c.Currency},
		{"payment_link", c.PaymentLink}, {"end_at", moment(c.EndAt)}, {"description", c.Description}, {"logo", c.Logo},
		{"cover_type", cover.Type}, {"cover_url", cover.URL},
		{"event_title", event.Title}, {"event_location", event.LocationName}, {"event_address", event.AddressFormatted},
		{"event_start_at", moment(event.StartAt)}, {"event_end_at", moment(event.EndAt)}, {"event_timezone", event.Timezone},
		{"created_at", moment(c.CreatedAt)}, {"updated_at", moment(c.UpdatedAt)},
	}
}

type headedCell struct {
	heading string
	cell    any
}

// CampaignHeader is the columns of a file of campaigns.
func CampaignHeader() (names []string) {
	for _, c := range campaignColumns(new(campaign.Campaign), "") {
		names = append(names, c.heading)
	}
	return names
}

// CampaignCells is the row of a campaign, whose page is below baseURL.
func CampaignCells(c *campaign.Campaign, baseURL string) (cells []any) {
	for _, c := range campaignColumns(c, baseURL) {
		cells = append(cells, c.cell)
	}
	return cells
}
