package console

import (
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/campaigns"
)

// stateNotice says what state a campaign is in now.
func stateNotice(c campaign.Campaign) notice {
	text := map[string]string{
		campaign.Draft:     "” is a draft. Only members of your organization can see its page.",
		campaign.Published: "” is live.",
		campaign.Closed:    "” is closed. Its page no longer asks for donations.",
	}[c.Status]
	return notice{Text: "“" + c.Title + text, View: "/" + c.Slug}
}

// setCampaignStatus publishes, closes or reopens a campaign, or makes it a draft again. The next page offers to undo it.
func (c *Console) setCampaignStatus(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	record, err := c.ownCampaign(r, v)
	if err != nil {
		return err
	}
	status := r.PathValue("status")
	in := campaign.Input{Status: &status}
	if in.Validate(&doc.Invalid{}, false) != nil {
		return crm.ErrNotFound // no page of ours leads there
	}
	saved, err := c.store.UpdateCampaign(r.Context(), v.membership.Account, v.id, in)
	if err != nil {
		return err
	}
	said, path := stateNotice(saved), v.path(campaignPath(v.id))
	if before := record.Campaign.Status; before != saved.Status {
		said.Undo = path + "/status/" + before
	}
	return redirect(w, r, path, said)
}

// deletionView asks whether to delete a campaign, or says why that cannot be done.
type deletionView struct {
	campaigns.CampaignRecord
	Blocked bool
}

func (c *Console) deleteCampaignPage(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	view := deletionView{}
	var err error
	if view.CampaignRecord, err = c.ownCampaign(r, v); err != nil {
		return err
	}
	var blocked *doc.Invalid
	if err := c.store.CheckDeletable(r.Context(), v.account(), v.id); errors.As(err, &blocked) {
		view.Blocked = true
	} else if err != nil {
		return err
	}
	return c.render(w, r, v, "campaign_delete", page{Title: "Delete " + view.Campaign.Title, Section: "campaigns", Form: f, Data: view})
}

func (c *Console) deleteCampaign(w http.ResponseWriter, r *http.Request, v visit, f *form) error {
	record, err := c.ownCampaign(r, v)
	if err != nil {
		return err
	}
	if err := c.store.DeleteCampaign(r.Context(), v.membership.Account, v.id, f.Value(seenField)); err != nil {
		return err
	}
	return redirect(w, r, v.path("/campaigns"), notice{Text: "“" + record.Campaign.Title + "” was deleted."})
}
