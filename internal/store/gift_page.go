package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// LatestGifts are the latest gifts that a filter finds. The others are not counted, so that an index answers it.
func (s *Store) LatestGifts(ctx context.Context, account int64, filter crm.GiftFilter, limit int64) ([]GiftRecord, error) {
	condition, args := giftCondition(account, filter)
	sql := fmt.Sprintf(`%s%s ORDER BY g.given_at DESC, g.id DESC LIMIT $%d`, shownGift, condition, len(args)+1)
	return snapshot(ctx, s, func(c db.Conn) ([]GiftRecord, error) { return giftRecords(c, sql, append(args, limit)...) })
}

// CampaignName is what a list of gifts shows of a campaign.
type CampaignName struct {
	ID              int64
	Title, Currency string
}

// CampaignNames are the account's own campaigns with these ids. One that is damaged has no title.
func (s *Store) CampaignNames(ctx context.Context, account int64, ids []int64) (map[int64]CampaignName, error) {
	names := map[int64]CampaignName{}
	if len(ids) == 0 {
		return names, nil
	}
	all, err := list(ctx, s, scanCampaignName, sqlOwnCampaigns, account, ids)
	for _, name := range all {
		names[name.ID] = name
	}
	return names, err
}

// scanCampaignName keeps nothing of the document but the two texts.
func scanCampaignName(r db.Row) CampaignName {
	row := campaignRow{id: r.Int(0), body: slices.Clone(r.Bytes(2)), checksum: r.Int(3)}
	campaign, err := row.parse()
	if err != nil {
		return CampaignName{ID: row.id}
	}
	return CampaignName{row.id, strings.Clone(campaign.Title), strings.Clone(campaign.Currency)}
}

// NewestCampaigns are the account's own campaigns that a form offers, the newest first.
func (s *Store) NewestCampaigns(ctx context.Context, account, limit int64) ([]CampaignName, error) {
	return snapshot(ctx, s, func(c db.Conn) ([]CampaignName, error) {
		_, ids, err := s.campaigns.page(c, account, crm.OwnCampaigns, crm.PageRequest{Page: 1, PerPage: limit}, newestFirst)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		names, err := db.List(c, scanCampaignName, sqlOwnCampaigns, account, ids)
		slices.SortFunc(names, func(a, b CampaignName) int { return cmp.Compare(b.ID, a.ID) })
		return names, err
	})
}
