package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/web"
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

type tagChange func(ctx context.Context, account, id int64, tags []string) (contacts.Document, error)

func (a *API) changeTags(w http.ResponseWriter, r *http.Request, c call, change tagChange) error {
	var tags []string
	err := a.decode(w, r, c, func(body *doc.Reader) (err error) {
		tags, err = crm.DecodeTags(body)
		return err
	})
	if err != nil {
		return err
	}
	made, err := change(c.by(r), c.who.Account, c.id, tags)
	return writeMade(w, made, err)
}

func (a *API) listTags(r *http.Request, c call, l *list) fetch {
	prefix := l.text("q")
	return each(func() ([]contacts.TagCount, store.ListResult, error) {
		return a.store.Tags(r.Context(), c.who.Account, prefix, l.page)
	}, (*contacts.TagCount).Append)
}

func (a *API) renameTag(w http.ResponseWriter, r *http.Request, c call) error {
	var becomes string // "" is no new name
	err := a.decode(w, r, c, func(body *doc.Reader) (err error) {
		becomes, err = crm.DecodeTagName(body)
		return err
	})
	if err != nil {
		return err
	}
	made, err := a.store.RenameTag(c.by(r), c.who.Account, c.code, cmp.Or(becomes, c.code))
	return writeMade(w, made, tagRefusal(err))
}

func (a *API) deleteTag(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.DeleteTag(c.by(r), c.who.Account, c.code)
	if err == nil && made.Unfinished() {
		return writeDocument(w, made)
	}
	return writeDeleted(w, tagRefusal(err))
}

// tagRefusal says that there is no such tag. That tells nothing about other accounts: a name is looked for in the caller's own.
func tagRefusal(err error) error {
	if errors.Is(err, crm.ErrNotFound) {
		return &web.Error{Status: http.StatusNotFound, Message: "None of your contacts has this tag."}
	}
	return err
}
