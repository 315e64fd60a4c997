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
	err := c.decode(w, r, true, func(body *doc.Reader) (err error) {
		tags, err = crm.DecodeTags(body)
		return err
	})
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := change(c.by(r), c.who.Account, c.id, tags)
	return writeChanged(w, made, err)
}

func (a *API) listTags(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	prefix := l.text("q")
	if err := l.check(); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, _ store.Flush) ([]byte, store.ListResult, error) {
		tags, found, err := a.store.Tags(r.Context(), c.who.Account, prefix, l.page)
		for i := range tags {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = tags[i].Append(dst)
		}
		return dst, found, err
	})
}

func (a *API) renameTag(w http.ResponseWriter, r *http.Request, c call) error {
	name := r.PathValue("tag")
	var becomes string // "" is no new name
	err := c.decode(w, r, false, func(body *doc.Reader) (err error) {
		becomes, err = crm.DecodeTagName(body)
		return err
	})
	if err != nil {
		return tagRefusal(cmp.Or(a.store.CheckTag(r.Context(), c.who.Account, name), err)) // errors of the resource come first
	}
	made, err := a.store.RenameTag(c.by(r), c.who.Account, name, cmp.Or(becomes, name))
	return writeMade(w, made, tagRefusal(err))
}

// putTag is PATCH by another name: some clients know no other.
func (a *API) putTag(w http.ResponseWriter, r *http.Request, c call) error {
	return a.renameTag(w, r, c)
}

func (a *API) deleteTag(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.DeleteTag(c.by(r), c.who.Account, r.PathValue("tag"))
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
