package campaigns

import (
	"context"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/store/move"
)

func Export(r *page.Request) error {
	scope, err := campaign.ParseScope(r.URL.Query().Get("scope"))
	return page.Export(r, "campaigns", scope, err, func(ctx context.Context, account int64, scope campaign.Scope, how move.ExportOptions) (*move.Export, error) {
		return r.Store.ExportCampaigns(ctx, account, scope, r.Options.Proxies.BaseURL(r.Request), how)
	})
}
