package api

import (
	"net/http"

	"donorbook/internal/crm/custom"
	"donorbook/internal/store"
)

func (a *API) listCustomFields(r *http.Request, c call, l *list) fetch {
	return each(func() ([]*custom.Field, store.ListResult, error) {
		fields, err := a.store.CustomFields(r.Context(), c.who.Account)
		if err != nil {
			return nil, store.ListResult{}, err
		}
		active := fields.Active()
		total := int64(len(active))
		shown := active[min(l.page.Skip(), total):min(l.page.Skip()+l.page.PerPage, total)]
		return shown, store.ListResult{Total: total, Count: int64(len(shown))}, nil
	}, func(f **custom.Field, dst []byte) []byte { return (*f).Append(dst) })
}
