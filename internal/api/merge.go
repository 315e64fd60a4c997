package api

import (
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/duplicates"
	"donorbook/internal/store/merges"
)

// mergeContact merges another contact into the one of the path.
func (a *API) mergeContact(w http.ResponseWriter, r *http.Request, c call) error {
	var in crm.MergeInput
	err := a.decode(w, r, c, func(body *doc.Reader) (err error) {
		in, err = crm.DecodeMerge(body)
		return err
	})
	if err != nil {
		return err
	}
	made, err := a.store.Merge(c.by(r), c.who.Account, c.id, in, a.options.Region)
	return writeMade(w, made, err)
}

func (a *API) undoMerge(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.UndoMerge(c.by(r), c.who.Account, c.id, a.options.Region)
	return writeMade(w, made, err)
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
