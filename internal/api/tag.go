package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/web"
)

// changesTags handles a change of the tags of a contact.
func changesTags(change func(s *book.Book, ctx context.Context, account, id int64, tags []string) (store.ContactDocument, error)) handler {
	return changes(func(a *API, w http.ResponseWriter, r *http.Request, c call) (made store.ContactDocument, err error) {
		tags, err := decode(a, w, r, c, crm.DecodeTags)
		if err != nil {
			return made, err
		}
		return change(a.store, c.by(r), c.who.Account, c.id, tags)
	})
}

func (a *API) listTags(r *http.Request, c call, l *list) fetch {
	prefix := l.text("q")
	return each(func() ([]store.TagCount, store.ListResult, error) {
		return a.store.Tags(r.Context(), c.who.Account, prefix, l.page)
	}, (*store.TagCount).Append)
}

func (a *API) renameTag(w http.ResponseWriter, r *http.Request, c call) (made store.Result, err error) {
	becomes, err := decode(a, w, r, c, crm.DecodeTagName) // "" is no new name
	if err != nil {
		return made, err
	}
	made, err = a.store.RenameTags(c.by(r), c.who.Account, cmp.Or(becomes, c.code), c.code)
	return made, tagRefusal(err)
}

func (a *API) deleteTag(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.RenameTags(c.by(r), c.who.Account, "", c.code)
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
