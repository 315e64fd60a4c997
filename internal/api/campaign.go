package api

import (
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

func (a *API) listCampaigns(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	scope, err := crm.ParseCampaignScope(l.query.text("scope"))
	if err := l.check(err); err != nil {
		return err
	}
	base := a.options.Proxies.BaseURL(r)
	return l.respond(w, func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Campaigns(r.Context(), c.who.Account, scope, l.page, base, dst, flush)
	})
}
