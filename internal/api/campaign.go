package api

import (
	"net/http"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
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

func (a *API) createCampaign(w http.ResponseWriter, r *http.Request, c call) (made store.MadeCampaign, err error) {
	in, owner, err := a.campaignInput(w, r, c, true)
	if err != nil {
		return made, err
	}
	made = store.MadeCampaign{BaseURL: a.options.Proxies.BaseURL(r), Created: true}
	made.Campaign, err = a.store.CreateCampaign(c.by(r), owner, in)
	return made, err
}

func (a *API) updateCampaign(w http.ResponseWriter, r *http.Request, c call) (made store.MadeCampaign, err error) {
	in, owner, err := a.campaignInput(w, r, c, false)
	if err != nil {
		return made, err
	}
	made = store.MadeCampaign{BaseURL: a.options.Proxies.BaseURL(r)}
	made.Campaign, err = a.store.UpdateCampaign(c.by(r), owner, c.id, in)
	return made, err
}

func (a *API) deleteCampaign(w http.ResponseWriter, r *http.Request, c call) error {
	owner, err := a.store.AccountByNumber(r.Context(), c.who.Account)
	if err == nil {
		err = a.store.DeleteCampaign(c.by(r), owner, c.id, "")
	}
	return writeDeleted(w, err)
}

// campaignInput reads and checks the body of a create or an update, and finds whose campaign it is about.
func (a *API) campaignInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (in campaign.Input, owner access.Account, err error) {
	in, err = decode(a, w, r, c, checked(campaign.Decode, func(in *campaign.Input, faults *doc.Invalid) error {
		in.CutBase(a.options.Proxies.BaseURL(r))
		return in.Validate(faults, isNew)
	}))
	if err == nil {
		owner, err = a.store.AccountByNumber(r.Context(), c.who.Account)
	}
	return in, owner, err
}
