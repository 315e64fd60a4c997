package move

import (
	"context"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/store/campaigns"
)

const campaignsAtOnce = 50 // each may have a long description

// ExportCampaigns prepares a file of the campaigns that an account may list for a reason, oldest first. An account has few.
func (s *MoveStore) ExportCampaigns(ctx context.Context, account int64, scope campaign.Scope, baseURL string, how ExportOptions) (*Export, error) {
	totals, err := s.CampaignTotals(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.Prepared(ctx, account, "campaigns", &Export{Rows: totals[scope], How: how, head: sheet.CampaignRow(new(campaign.Campaign), "").Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			page := crm.PageRequest{PerPage: campaignsAtOnce}
			for page.Page = page.LastPage(totals[scope]); page.Page > 0; page.Page-- { // pages have the newest first
				found, _, err := s.CampaignPage(ctx, account, scope, page)
				if err != nil {
					return err
				}
				for _, c := range slices.Backward(found) {
					err := to.add(func() ([]byte, error) { return campaigns.MadeCampaign{Campaign: c, BaseURL: baseURL}.Append(nil), nil }, func() ([]any, error) { return sheet.CampaignRow(&c, baseURL).Cells(), nil })
					if err != nil {
						return err
					}
				}
				if err := done(len(found)); err != nil {
					return err
				}
			}
			return nil
		}})
}
