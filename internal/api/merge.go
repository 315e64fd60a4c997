package api

import (
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

// mergeContact merges another contact into the one of the path.
func (a *API) mergeContact(w http.ResponseWriter, r *http.Request, c call) (made store.ContactDocument, err error) {
	in, err := decode(a, w, r, c, crm.DecodeMerge)
	if err != nil {
		return made, err
	}
	return a.store.Merge(c.by(r), c.who.Account, c.id, in, a.options.Region)
}

func (a *API) undoMerge(_ http.ResponseWriter, r *http.Request, c call) (store.Undone, error) {
	return a.store.UndoMerge(c.by(r), c.who.Account, c.id, a.options.Region)
}

func (a *API) listMerges(r *http.Request, c call, l *list) fetch {
	filter, err := merges.ParseFilter(l.text)
	l.note(err)
	return each(func() ([]store.Merge, store.ListResult, error) {
		return a.store.Merges(r.Context(), c.who.Account, filter, l.page)
	}, func(m *store.Merge, dst []byte) []byte { return merges.Append(dst, m) })
}

// listDuplicates lists pairs of contacts that may be the same person.
func (a *API) listDuplicates(r *http.Request, c call, l *list) fetch {
	filter, err := duplicates.ParseFilter(l.text)
	l.note(err)
	return each(func() ([]duplicates.Pair, store.ListResult, error) {
		return a.store.Pairs(r.Context(), c.who.Account, filter, l.page)
	}, (*duplicates.Pair).Append)
}
