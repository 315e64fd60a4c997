package campaign

import "donorbook/internal/crm/doc"

// CheckImported refuses a campaign that no one could have made, and cleans its HTML as that of any other.
func (c *Campaign) CheckImported() error {
	cover, event := c.Cover, c.Event
	if event != nil {
		own := *event
		event = &own
	}
	in := Input{
		Type: &c.Type, Title: &c.Title, Subtitle: &c.Subtitle, Description: &c.Description, Slug: &c.Slug,
		Goal: &c.Goal, Raised: &c.OpeningRaised, Donors: &c.OpeningDonors,
		Currency: &c.Currency, Logo: &c.Logo, Cover: &cover, EndAt: &c.EndAt, CreatedAt: &c.CreatedAt,
		UpdatedAt: &c.UpdatedAt, Event: &event, Status: &c.Status, PaymentLink: &c.PaymentLink,
		Benefit: &c.Benefit, BenefitValue: &c.BenefitValue,
	}
	check := doc.NewChecker(nil, true)
	Table.Check(check, doc.Place{}, &in)
	doc.CheckKept(check, map[string]string{"type": c.Type, "slug": c.Slug, "currency": c.Currency, "status": c.Status})
	if c.ListedAt < 0 || c.CreatedAt.IsZero() || c.UpdatedAt.IsZero() {
		check.Add("created_at", doc.Required)
	}
	c.Event = event
	doc.SortFaults(&check.Invalid, campaignFields)
	return check.Err()
}
