package crm

import "strings"

// CampaignHeader is the columns of a file of campaigns.
func CampaignHeader() []string {
	return []string{"id", "title", "subtitle", "slug", "url", "type", "status", "goal", "raised", "donors", "currency", "payment_link", "end_at", "description",
		"logo", "cover_type", "cover_url", "event_title", "event_location", "event_address", "event_start_at", "event_end_at", "event_timezone", "created_at", "updated_at"}
}

// CampaignCells is the row of a campaign.
func CampaignCells(c *Campaign, baseURL string) []any {
	cents := func(n int64) Decimal { return Decimal(appendCents(nil, n)) }
	cover, event := c.Cover, c.Event
	if cover == nil {
		cover = new(Cover)
	}
	if event == nil {
		event = new(Event)
	}
	return []any{c.ID, c.Title, c.Subtitle, c.Slug, strings.TrimSuffix(baseURL, "/") + "/" + c.Slug, c.Type, c.Status, cents(c.Goal), cents(c.Raised()), c.Donors(), c.Currency,
		c.PaymentLink, momentCell(c.EndAt), c.Description, c.Logo, cover.Type, cover.URL, event.Title, event.LocationName, event.AddressFormatted,
		momentCell(event.StartAt), momentCell(event.EndAt), event.Timezone, momentCell(c.CreatedAt), momentCell(c.UpdatedAt)}
}
