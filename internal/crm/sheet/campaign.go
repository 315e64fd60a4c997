package sheet

import (
	"cmp"
	"strings"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/text"
)

// CampaignRow is the row of a campaign, whose page is below baseURL. Files of campaigns are written and not read.
func CampaignRow(shown *campaign.Campaign, baseURL string) Row {
	c := shown.WithBase(baseURL)
	cents := func(n int64) Decimal { return Decimal(text.MoneyInput(n, text.DefaultCurrency)) }
	cover, event := cmp.Or(c.Cover, new(campaign.Cover)), cmp.Or(c.Event, new(campaign.Event))
	return Row{
		{"id", c.ID}, {"title", c.Title}, {"subtitle", c.Subtitle}, {"slug", c.Slug}, {"url", strings.TrimSuffix(baseURL, "/") + "/" + c.Slug},
		{"type", c.Type}, {"status", c.Status}, {"goal", cents(c.Goal)}, {"raised", cents(c.Raised())}, {"donors", c.Donors()}, {"currency", c.Currency},
		{"payment_link", c.PaymentLink}, {"end_at", moment(c.EndAt)}, {"description", c.Description}, {"logo", c.Logo},
		{"cover_type", cover.Type}, {"cover_url", cover.URL},
		{"event_title", event.Title}, {"event_location", event.LocationName}, {"event_address", event.AddressFormatted},
		{"event_start_at", moment(event.StartAt)}, {"event_end_at", moment(event.EndAt)}, {"event_timezone", event.Timezone},
		{"created_at", moment(c.CreatedAt)}, {"updated_at", moment(c.UpdatedAt)},
	}
}
