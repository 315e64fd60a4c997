package api

import (
	"net/http"

	"donorbook/internal/store"
)

func (a *API) listCustomFields(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	if err := l.check(); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		fields, err := a.store.CustomFields(r.Context(), c.who.Account)
		if err != nil {
			return dst, store.ListResult{}, err
		}
		active := fields.Active()
		total := int64(len(active))
		shown := active[min(l.page.Skip(), total):min(l.page.Skip()+l.page.PerPage, total)]
		for i, f := range shown {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.Append(dst)
		}
		return dst, store.ListResult{Total: total, Count: int64(len(shown))}, nil
	})
}
