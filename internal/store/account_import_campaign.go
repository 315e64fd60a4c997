package store

import (
	"errors"

	"donorbook/internal/crm"
)

const sqlSlugTaken = `SELECT 1 FROM campaign WHERE slug = $1`

// campaign brings a campaign back, as the account's own and as one that the accounts above may list.
func (m *accountImport) campaign(line []byte) error {
	var known struct {
		ID   int64        `json:"id"`
		Kept campaignKept `json:"kept"`
	}
	err := parseLine(line, &known)
	if err != nil {
		return err
	}
	body, err := asStored(line)
	if err != nil {
		return err
	}
	c, err := crm.ParseCampaign(known.ID, body)
	if err != nil {
		return &FileProblem{Reason: err.Error()}
	}
	k := known.Kept
	c.AccountID, c.OpeningRaised, c.OpeningDonors = m.made.Account.ID, k.OpeningRaised, k.OpeningDonors
	c.Status, c.PaymentLink, c.ListedAt = k.Status, k.PaymentLink, k.ListedAt
	if c.ID, err = m.campaignID(known.ID); err != nil {
		return err
	}
	if err := m.freeSlug(&c); err != nil {
		return err
	}
	m.campaigns[known.ID] = c.ID
	m.made.Campaigns++
	stored, urlAt := c.AppendBody(nil)
	m.Insert(campaignTable, c.ID, m.a.account, c.Slug, int64(urlAt), stored, checksum(stored), c.Cell(), c.Status, c.PaymentLink, c.ListedAt, m.revision(k.Revision))
	return errors.Join(m.oldSlugs(c.ID, k.OldSlugs), m.listCampaign(c.ID))
}

// campaignID is the id under which a campaign is found from now on. An older one, whose id is a time, keeps it where it is free.
func (m *accountImport) campaignID(id int64) (int64, error) {
	if crm.IDAccount(id) == m.manifest.Account.Number {
		id = crm.MakeID(m.a.account, crm.IDSeq(id))
	}
	for {
		taken, err := m.Exists(sqlCampaignByID, id)
		if err != nil {
			return 0, err
		}
		if crm.IDAccount(id) == m.a.account {
			m.a.campaignSeq = max(m.a.campaignSeq, crm.IDSeq(id))
		}
		if !taken {
			return id, nil
		}
		m.a.campaignSeq = max(m.a.campaignSeq, m.line.Sequences.Campaigns) + 1
		id = crm.MakeID(m.a.account, m.a.campaignSeq)
	}
}

// freeSlug gives a campaign another address where its own is that of another one.
func (m *accountImport) freeSlug(c *crm.Campaign) error {
	taken, err := m.Exists(sqlSlugTaken, c.Slug)
	if err != nil || !taken {
		return err
	}
	for slug := range crm.SlugCandidates(crm.CampaignInput{Title: &c.Slug}, nil) {
		if taken, err = m.Exists(sqlSlugTaken, slug); err != nil || !taken {
			c.Slug = slug
			m.made.Slugs = append(m.made.Slugs, slug)
			break
		}
	}
	return err
}

// oldSlugs lead to the campaign again, unless they lead elsewhere by now.
func (m *accountImport) oldSlugs(id int64, slugs []oldSlug) error {
	for _, old := range slugs {
		taken, err := m.Exists(sqlSlugLeft, old.Slug)
		if err != nil {
			return err
		}
		if !taken {
			m.Insert(slugTable, old.Slug, id, old.LeftAt)
		}
	}
	return nil
}

const sqlSlugLeft = `SELECT 1 FROM campaign_slug WHERE slug = $1`

func (m *accountImport) listCampaign(id int64) error {
	above, err := accountsAbove(m.Conn, m.made.Account)
	readers := map[int64]crm.Relation{m.a.account: crm.Own}
	for _, account := range above {
		readers[account] = crm.Chapter
	}
	if err != nil {
		return err
	}
	return m.moveReaders(id, differences(nil, readers), readers)
}
