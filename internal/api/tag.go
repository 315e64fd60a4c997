package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"donorbook/internal/crm"
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
	tags, err := readTags(w, r)
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := change(c.by(r), c.who.Account, c.id, tags)
	return writeChanged(w, made, err)
}

func readTags(w http.ResponseWriter, r *http.Request) ([]string, error) {
	body, err := readJSON(w, r)
	if err != nil {
		return nil, err
	}
	return crm.DecodeTags(body)
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
	becomes, err := readTagName(w, r)
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
	return writeNothing(w, tagRefusal(err))
}

// readTagName reads the new name of a tag; "" is none.
func readTagName(w http.ResponseWriter, r *http.Request) (string, error) {
	body, err := readJSON(w, r)
	if err != nil || changesNothing(body) {
		return "", err
	}
	return crm.DecodeTagName(body)
}

// tagRefusal says that there is no such tag. That tells nothing about other accounts: a name is looked for in the caller's own.
func tagRefusal(err error) error {
	if errors.Is(err, crm.ErrNotFound) {
		return &web.Error{Status: http.StatusNotFound, Message: "None of your contacts has this tag."}
	}
	return err
}
