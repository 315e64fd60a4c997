package move

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

type (
	campaignKept struct {
		Status        string    `json:"status"`
		PaymentLink   string    `json:"payment_link"`
		ListedAt      int64     `json:"listed_at"`
		OpeningRaised int64     `json:"opening_raised"` // in cents
		OpeningDonors int64     `json:"opening_donors"`
		Revision      int64     `json:"revision"`
		OldSlugs      []oldSlug `json:"old_slugs"`
	}
	oldSlug struct {
		Slug   string `json:"slug"`
		LeftAt int64  `json:"left_at"`
	}
)

const (
	sqlSlugsLeft  = `SELECT slug, left_at FROM campaign_slug WHERE campaign_id = $1 ORDER BY left_at, slug`
	sqlRevisionOf = `SELECT revision FROM campaign WHERE id = $1`
	sqlSlugTaken  = `SELECT 1 FROM campaign WHERE slug = $1`
	sqlSlugLeft   = `SELECT 1 FROM campaign_slug WHERE slug = $1`
)

// campaigns are those of the account itself: an account has few.
func exportCampaigns(x *accountExport, w *LineWriter) error {
	readable, err := store.ReadableCampaigns(x.conn, x.account.Number)
	for _, one := range readable {
		if err != nil {
			return err
		}
		if one.Owner == x.account.Number {
			err = x.campaign(w, one.ID)
		}
	}
	return err
}

func (x *accountExport) campaign(w *LineWriter, id int64) error {
	campaign, err := store.ParseFound(store.FindCampaign(x.conn, store.SQLCampaignRow, id))
	if err != nil {
		return err
	}
	kept := campaignKept{Status: campaign.Status, PaymentLink: campaign.PaymentLink, ListedAt: campaign.ListedAt,
		OpeningRaised: campaign.OpeningRaised, OpeningDonors: campaign.OpeningDonors}
	if kept.Revision, err = x.conn.Int(sqlRevisionOf, id); err != nil {
		return err
	}
	if kept.OldSlugs, err = db.List(x.conn, func(r db.Row) oldSlug { return oldSlug{r.Text(0), r.Int(1)} },
		sqlSlugsLeft, id); err != nil {
		return err
	}
	return w.document(store.MadeCampaign{Campaign: campaign}.Append(nil), kept)
}

// campaign reads a campaign, whose HTML is cleaned as that of any other.
func readCampaign(r *accountReader, h *head[int64, campaignKept], body []byte) (importLine, error) {
	c, err := campaign.Parse(h.ID, body)
	if err != nil {
		return nil, err
	}
	k := h.Kept
	c.OpeningRaised, c.OpeningDonors, c.Status, c.PaymentLink, c.ListedAt = k.OpeningRaised, k.OpeningDonors, k.Status,
		k.PaymentLink, k.ListedAt
	err = cmp.Or(c.CheckImported(), r.known(k.Revision), campaign.Limit.Check(int64(len(r.campaigns)), 1))
	switch {
	case err != nil:
	case h.ID <= 0 || r.campaigns[h.ID]:
		err = problem("has no id, or the id of an earlier campaign")
	case len(k.OldSlugs) > campaign.OldSlugs:
		err = problem("has more old web addresses than are kept")
	case slices.ContainsFunc(k.OldSlugs, func(old oldSlug) bool { return !campaign.IsSlug(old.Slug) }):
		err = problem("has an old web address that is not valid")
	}
	r.campaigns[h.ID] = true
	r.lack(h.ID, c.Pictures()...)
	return func(w *accountWriter) error { return w.placeCampaign(h.ID, c, k) }, err
}

// placeCampaign brings a campaign back, as the account's own and as one that the accounts above may list.
func (w *accountWriter) placeCampaign(was int64, c campaign.Campaign, k campaignKept) (err error) {
	c.AccountID = w.spec.Account.ID
	if c.ID, err = w.campaignID(was); err != nil {
		return err
	}
	if err := w.freeSlug(&c); err != nil {
		return err
	}
	w.moved[was] = c.ID
	w.done.Campaigns++
	stored, urlAt := c.AppendBody(nil)
	w.Insert(store.CampaignTable, c.ID, w.Number, c.Slug, int64(urlAt), stored, store.Checksum(stored),
		giving.CampaignCell(c.ID, c.Currency), c.Status, c.PaymentLink, c.ListedAt, w.revision(k.Revision))
	return errors.Join(w.oldSlugs(c.ID, k.OldSlugs), w.listCampaign(c.ID))
}

// campaignID is the id under which a campaign is found from now on. An older one, whose id is a time, keeps it where it
// is free.
func (w *accountWriter) campaignID(id int64) (int64, error) {
	if doc.IDAccount(id) == w.was {
		id = doc.MakeID(w.Number, doc.IDSeq(id))
	}
	for {
		taken, err := w.Exists(store.SQLCampaignByID, id)
		if err != nil {
			return 0, err
		}
		if doc.IDAccount(id) == w.Number {
			w.CampaignSeq = max(w.CampaignSeq, doc.IDSeq(id))
		}
		if !taken {
			return id, nil
		}
		w.CampaignSeq = max(w.CampaignSeq, w.line.Sequences.Campaigns) + 1
		id = doc.MakeID(w.Number, w.CampaignSeq)
	}
}

// freeSlug gives a campaign another address where its own is that of another one.
func (w *accountWriter) freeSlug(c *campaign.Campaign) error {
	taken, err := w.Exists(sqlSlugTaken, c.Slug)
	if err != nil || !taken {
		return err
	}
	for slug := range campaign.SlugCandidates(campaign.Input{Title: &c.Slug}, nil) {
		if taken, err = w.Exists(sqlSlugTaken, slug); err != nil || !taken {
			c.Slug = slug
			w.done.Slugs = append(w.done.Slugs, slug)
			break
		}
	}
	return err
}

// oldSlugs lead to the campaign again, unless they lead elsewhere by now.
func (w *accountWriter) oldSlugs(id int64, slugs []oldSlug) error {
	for _, old := range slugs {
		taken, err := w.Exists(sqlSlugLeft, old.Slug)
		if err != nil {
			return err
		}
		if !taken {
			w.Insert(store.SlugTable, old.Slug, id, old.LeftAt)
		}
	}
	return nil
}

func (w *accountWriter) listCampaign(id int64) error {
	readers := map[int64]campaign.Relation{w.Number: campaign.Own}
	for _, account := range w.above {
		readers[account] = campaign.Chapter
	}
	return store.MoveReaders(w.Tx, id, store.Differences(nil, readers), readers)
}

const campaignsAtOnce = 50 // each may have a long description

// ExportCampaigns prepares a file of the campaigns that an account may list for a reason, oldest first. An account has
// few.
func (s *MoveStore) ExportCampaigns(ctx context.Context, account int64, scope campaign.Scope, baseURL string,
	how ExportOptions,
) (*Export, error) {
	totals, err := s.CampaignTotals(ctx, account)
	if err != nil {
		return nil, err
	}
	return s.Prepared(ctx, account, "campaigns", &Export{Rows: totals[scope], How: how,
		head: sheet.CampaignRow(new(campaign.Campaign), "").Header,
		write: func(ctx context.Context, to *records, done func(int) error) error {
			page := crm.PageRequest{PerPage: campaignsAtOnce}
			for page.Page = page.LastPage(totals[scope]); page.Page > 0; page.Page-- { // pages have the newest first
				found, _, err := s.CampaignPage(ctx, account, scope, page)
				if err != nil {
					return err
				}
				for _, c := range slices.Backward(found) {
					err := to.add(func() ([]byte, error) {
						return store.MadeCampaign{Campaign: c,
							BaseURL: baseURL}.Append(nil), nil
					}, func() ([]any, error) { return sheet.CampaignRow(&c, baseURL).Cells(), nil })
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
