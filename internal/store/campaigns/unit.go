package campaigns

import (
	"slices"

	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/mails"
)

// campaignUnit is what a batch knows of the campaigns of an account.
type campaignUnit struct {
	Campaigns store.Lookup[int64, *OwnCampaign]
}

const partName = "campaigns"

// Part is what a unit of work does with campaigns.
func Part() *store.Part {
	return &store.Part{
		Name: partName,
		Begin: func() any {
			return &campaignUnit{Campaigns: store.NewLookup(SQLOwnCampaigns, scanOwnCampaign)}
		},
		Readers: map[string]store.Reader{campaignResource: rereadCampaign},
	}
}

func Of(a *store.Account) *campaignUnit { return a.Known(partName).(*campaignUnit) }

const campaignResource = "campaign"

// Resource names the campaign for an answer that shows it.
func (m MadeCampaign) Resource() store.Resource {
	return store.Resource{Kind: campaignResource, ID: m.ID}
}

func rereadCampaign(t *store.Tx, a *store.Account, id int64, baseURL string) (store.Result, error) {
	campaign, err := ParseFound(FindCampaign(t.Conn, sqlCampaign, a.Account, id))
	return MadeCampaign{Campaign: campaign, BaseURL: baseURL}, err
}

// OwnCampaign is what a gift has to know of a campaign of its account.
type OwnCampaign struct{ Slug, Currency string }

func scanOwnCampaign(r db.Row) (int64, *OwnCampaign) {
	row := CampaignRow{ID: r.Int(0), Body: slices.Clone(r.Bytes(2)), Checksum: r.Int(3)}
	campaign, err := row.Parse()
	if err != nil { // a damaged one takes no gifts
		return row.ID, nil
	}
	return row.ID, &OwnCampaign{r.Text(1), campaign.Currency}
}

const SQLOwnCampaigns = `SELECT id, slug, body, checksum FROM campaign WHERE account_id = $1 AND id = ANY($2)`

// CampaignStore has the campaigns of a database.
type CampaignStore struct {
	*store.Base
	*mails.MailStore
	Cache campaignCache
}

func New(m *mails.MailStore) *CampaignStore { return &CampaignStore{Base: m.Base, MailStore: m} }
