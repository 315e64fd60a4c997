package api

import (
	"context"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

func (a *API) addTags(w http.ResponseWriter, r *http.Request, c call) error {
	return a.changeTags(w, r, c, a.store.AddTags)
}

func (a *API) syncTags(w http.ResponseWriter, r *http.Request, c call) error {
	return a.changeTags(w, r, c, a.store.SyncTags)
}

func (a *API) removeTags(w http.ResponseWriter, r *http.Request, c call) error {
	return a.changeTags(w, r, c, a.store.RemoveTags)
}

type tagChange func(ctx context.Context, account, id int64, tags []string) (store.Document, error)

func (a *API) changeTags(w http.ResponseWriter, r *http.Request, c call, change tagChange) error {
	tags, err := readTags(w, r)
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := change(r.Context(), c.who.Account, c.id, tags)
	return writeChanged(w, made, err)
}

func readTags(w http.ResponseWriter, r *http.Request) ([]string, error) {
	body, err := readJSON(w, r)
	if err != nil {
		return nil, err
	}
	return crm.DecodeTags(body)
}
