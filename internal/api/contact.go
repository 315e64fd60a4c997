package api

import (
	"context"
	"net/http"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
)

func (a *API) getContact(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		return a.store.TaggedContact(r.Context(), c.who.Account, c.id, dst)
	})
}

func (a *API) listContacts(r *http.Request, c call, l *list) fetch {
	scope, err := crm.ParseContactScope(l.text("scope"))
	l.note(err)
	for i := range l.query {
		if _, ok := find.Parameter(l.query[i].name); ok {
			return a.filterContacts(r, c, l, scope)
		}
	}
	return func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Contacts(r.Context(), c.who.Account, scope, l.page, dst, flush)
	}
}

// filterContacts is listContacts with a filter or an order, which a plain list does not have to carry along.
func (a *API) filterContacts(r *http.Request, c call, l *list, scope crm.ContactScope) fetch {
	filter, err := find.ParseFilter(l.query.all, a.options.Region)
	l.note(err)
	return func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.FilteredContacts(r.Context(), c.who.Account, scope, filter, l.page, dst, flush)
	}
}

func (a *API) createContact(w http.ResponseWriter, r *http.Request, c call) (made store.ContactDocument, err error) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return made, err
	}
	var mode crm.CreateMode
	in, err := decode(a, w, r, c, checked(crm.DecodeContact, func(in *crm.ContactInput, faults *doc.Invalid) error {
		mode = crm.ParseForceCreate(faults, q.text("force_create", faults), in.ForceCreate)
		return a.validate(r.Context(), c, in, faults, true)
	}))
	if err != nil {
		return made, err
	}
	if made, err = a.store.CreateContact(c.by(r), c.who.Account, in, mode); err == nil && a.options.Created != nil {
		a.options.Created(made.Merged)
	}
	return made, err
}

func (a *API) updateContact(w http.ResponseWriter, r *http.Request, c call) (made store.ContactDocument, err error) {
	in, err := decode(a, w, r, c, checked(crm.DecodeContactChange, func(in *crm.ContactInput, faults *doc.Invalid) error {
		return a.validate(r.Context(), c, in, faults, false)
	}))
	if err != nil {
		return made, err
	}
	return a.store.UpdateContact(c.by(r), c.who.Account, c.id, in)
}

// validate finds everything that is wrong with an input, also with what it says about custom fields.
func (a *API) validate(ctx context.Context, c call, in *crm.ContactInput, faults *doc.Invalid, isNew bool) (err error) {
	if err := ctx.Err(); err != nil {
		return err // the client has left, so do nothing
	}
	if len(in.Custom) > 0 {
		if in.Fields, err = a.store.CustomFields(ctx, c.who.Account); err != nil {
			return err
		}
	}
	return in.Validate(faults, isNew, a.options.Region, a.store.Now())
}

func (a *API) archiveContact(w http.ResponseWriter, r *http.Request, c call) error {
	return writeArchived(w, a.store.ArchiveContact(c.by(r), c.who.Account, c.id))
}

func (a *API) restoreContact(_ http.ResponseWriter, r *http.Request, c call) (store.ContactDocument, error) {
	return a.store.RestoreContact(c.by(r), c.who.Account, c.id)
}
