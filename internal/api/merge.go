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
	err := c.decode(w, r, true, func(body *doc.Reader) (err error) {
		in, err = crm.DecodeMerge(body)
		return err
	})
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := a.store.Merge(c.by(r), c.who.Account, c.id, in, a.options.Region)
	return writeMade(w, made, err)
}

func (a *API) undoMerge(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.UndoMerge(c.by(r), c.who.Account, c.id, a.options.Region)
	return writeMade(w, made, err)
}

func (a *API) listMerges(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	filter, err := merges.ParseFilter(l.text)
	if err := l.check(err); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		found, result, err := a.store.Merges(r.Context(), c.who.Account, filter, l.page)
		for i := range found {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = merges.Append(dst, &found[i])
		}
		return dst, result, err
	})
}

// listDuplicates lists pairs of contacts that may be the same person.
func (a *API) listDuplicates(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	filter, err := duplicates.ParseFilter(l.text)
	if err := l.check(err); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		found, result, err := a.store.Pairs(r.Context(), c.who.Account, filter, l.page)
		for i := range found {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = found[i].Append(dst)
		}
		return dst, result, err
	})
}
