package console

import (
	"errors"

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
func (r *request) setCampaignStatus(record campaigns.CampaignRecord) (err error) {
	status := r.PathValue("status")
	in := campaign.Input{Status: &status}
	if in.Validate(&doc.Invalid{}, false) != nil {
		return crm.ErrNotFound // no page of ours leads there
	}
	saved, err := r.store.UpdateCampaign(r.Context(), r.membership.Account, r.id, in)
	if err != nil {
		return err
	}
	said, path := stateNotice(saved), r.path(campaignPath(r.id))
	if before := record.Campaign.Status; before != saved.Status {
		said.Undo = path + "/status/" + before
	}
	return r.redirect(path, said)
}

// deletionView asks whether to delete a campaign, or says why that cannot be done.
type deletionView struct {
	campaigns.CampaignRecord
	Blocked bool
}

func (r *request) deleteCampaignPage() error {
	view := deletionView{}
	var err error
	if view.CampaignRecord, err = r.ownCampaign(); err != nil {
		return err
	}
	var blocked *doc.Invalid
	if err := r.store.CheckDeletable(r.Context(), r.account(), r.id); errors.As(err, &blocked) {
		view.Blocked = true
	} else if err != nil {
		return err
	}
	return r.render("campaign_delete", page{Title: "Delete " + view.Campaign.Title, Section: "campaigns", Form: r.form, Data: view})
}

func (r *request) deleteCampaign(record campaigns.CampaignRecord) error {
	if err := r.store.DeleteCampaign(r.Context(), r.membership.Account, r.id, r.form.Value(seenField)); err != nil {
		return err
	}
	return r.redirect(r.path("/campaigns"), notice{Text: "“" + record.Campaign.Title + "” was deleted."})
}
