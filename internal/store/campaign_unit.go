package store

import (
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

// campaignUnit is what a batch knows of the campaigns of an account, and of what was given to them and by its contacts.
type campaignUnit struct {
	campaigns lookup[int64, *ownCampaign]
	giving    lookup[string, *crm.Giving]
}

var campaignsPart = &part{}

func init() {
	*campaignsPart = part{
		begin: func() any {
			return &campaignUnit{campaigns: newLookup(sqlOwnCampaigns, scanOwnCampaign), giving: newLookup(sqlGiving, scanGiving)}
		},
	}
	register(campaignsPart)
}

func campaignsOf(a *accountUnit) *campaignUnit { return a.known[campaignsPart.number].(*campaignUnit) }

const campaignShown = "campaign"

// Shown names the campaign for an answer that shows it.
func (m MadeCampaign) Shown() Shown { return Shown{campaignShown, m.ID} }

func init() {
	readers[campaignShown] = func(t *tx, a *accountUnit, id int64, baseURL string) (Made, error) {
		campaign, err := parseFound(findIn(t.Conn, crm.ErrNotFound, scanCampaign, sqlCampaign, a.account, id))
		return MadeCampaign{Campaign: campaign, BaseURL: baseURL}, err
	}
}

// ownCampaign is what a gift has to know of a campaign of its account.
type ownCampaign struct{ slug, currency string }

func scanOwnCampaign(r db.Row) (int64, *ownCampaign) {
	row := campaignRow{id: r.Int(0), body: slices.Clone(r.Bytes(2)), checksum: r.Int(3)}
	campaign, err := row.parse()
	if err != nil { // a damaged one takes no gifts
		return row.id, nil
	}
	return row.id, &ownCampaign{r.Text(1), campaign.Currency}
}

const sqlOwnCampaigns = `SELECT id, slug, body, checksum FROM campaign WHERE account_id = $1 AND id = ANY($2)`

// CampaignStore has the campaigns of a database.
type CampaignStore struct {
	*Base
	*PeopleStore
	campaigns campaignCache
}

func newCampaignStore(p *PeopleStore) *CampaignStore { return &CampaignStore{Base: p.Base, PeopleStore: p} }
