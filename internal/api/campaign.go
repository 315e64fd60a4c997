package api

import (
	"net/http"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/campaigns"
)

func (a *API) listCampaigns(r *http.Request, c call, l *list) fetch {
	scope, err := campaign.ParseScope(l.text("scope"))
	l.note(err)
	base := a.options.Proxies.BaseURL(r)
	return func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Campaigns(r.Context(), c.who.Account, scope, l.page, base, dst, flush)
	}
}

func (a *API) getCampaign(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		return a.store.CampaignWire(r.Context(), c.who.Account, c.id, a.options.Proxies.BaseURL(r), dst)
	})
}

func (a *API) createCampaign(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := a.campaignInput(w, r, c, true)
	if err != nil {
		return err
	}
	owner, err := a.store.AccountByNumber(r.Context(), c.who.Account)
	if err != nil {
		return err
	}
	made, err := a.store.CreateCampaign(c.by(r), owner, in)
	return a.writeCampaign(w, r, made, true, err)
}

func (a *API) updateCampaign(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := a.campaignInput(w, r, c, false)
	if err != nil {
		return err
	}
	owner, err := a.store.AccountByNumber(r.Context(), c.who.Account)
	if err != nil {
		return err
	}
	made, err := a.store.UpdateCampaign(c.by(r), owner, c.id, in)
	return a.writeCampaign(w, r, made, false, err)
}

func (a *API) deleteCampaign(w http.ResponseWriter, r *http.Request, c call) error {
	owner, err := a.store.AccountByNumber(r.Context(), c.who.Account)
	if err == nil {
		err = a.store.DeleteCampaign(c.by(r), owner, c.id, "")
	}
	return writeDeleted(w, err)
}

// campaignInput reads and checks the body of a create or an update.
func (a *API) campaignInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (in campaign.Input, err error) {
	err = a.decode(w, r, c, func(body *doc.Reader) error {
		var faults *doc.Invalid
		if in, faults, err = campaign.Decode(body); err == nil {
			in.CutBase(a.options.Proxies.BaseURL(r))
			err = in.Validate(faults, isNew)
		}
		return err
	})
	return in, err
}

func (a *API) writeCampaign(w http.ResponseWriter, r *http.Request, made campaign.Campaign, isNew bool, err error) error {
	return writeMade(w, campaigns.MadeCampaign{Campaign: made, BaseURL: a.options.Proxies.BaseURL(r), Created: isNew}, err)
}
