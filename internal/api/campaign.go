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
	return respondList(w, func(dst []byte, flush store.Flush) ([]byte, error) {
		dst, found, err := a.store.Campaigns(r.Context(), c.who.Account, scope, l.page, base, l.begin(dst), flush)
		if err != nil {
			return dst, err
		}
		return l.end(dst, found), nil
	})
}
