package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

func (a *API) getContact(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		return a.store.TaggedContact(r.Context(), c.who.Account, c.id, dst)
	})
}

func (a *API) listContacts(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	scope, scopeErr := crm.ParseContactScope(l.text("scope"))
	for i := range l.query {
		if _, ok := find.Parameter(l.query[i].name); ok {
			return a.filterContacts(w, r, c, l, scope, scopeErr)
		}
	}
	if err := l.check(scopeErr); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Contacts(r.Context(), c.who.Account, scope, l.page, dst, flush)
	})
}

// filterContacts is listContacts with a filter or an order, which a plain list does not have to carry along.
func (a *API) filterContacts(w http.ResponseWriter, r *http.Request, c call, l *list, scope crm.ContactScope, scopeErr error) error {
	filter, filterErr := find.ParseFilter(l.query.all, a.options.Region)
	if err := l.check(scopeErr, filterErr); err != nil {
		return err
	}
	return l.respond(w, func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.FilteredContacts(r.Context(), c.who.Account, scope, filter, l.page, dst, flush)
	})
}

func (a *API) createContact(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	in, faults, err := contactInput(w, r, c, true)
	if err != nil {
		return err
	}
	mode := crm.ParseForceCreate(faults, q.text("force_create", faults), in.ForceCreate)
	if err := a.validate(r.Context(), c, &in, faults, true); err != nil {
		return err
	}
	made, err := a.store.CreateContact(c.by(r), c.who.Account, in, mode)
	if err != nil {
		return err
	}
	if a.options.Created != nil {
		a.options.Created(made.Merged)
	}
	return writeDocument(w, made)
}

func (a *API) updateContact(w http.ResponseWriter, r *http.Request, c call) error {
	in, faults, err := contactInput(w, r, c, false)
	if err == nil {
		err = a.validate(r.Context(), c, &in, faults, false)
	}
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := a.store.UpdateContact(c.by(r), c.who.Account, c.id, in)
	return writeChanged(w, made, err)
}

// validate finds everything that is wrong with an input, also with what it says about custom fields.
func (a *API) validate(ctx context.Context, c call, in *crm.ContactInput, faults *doc.Invalid, isNew bool) (err error) {
	if len(in.Custom) > 0 {
		if in.Fields, err = a.store.CustomFields(ctx, c.who.Account); err != nil {
			return err
		}
	}
	return in.Validate(faults, isNew, a.options.Region, time.Now())
}

// putContact is PATCH by another name: some clients know no other.
func (a *API) putContact(w http.ResponseWriter, r *http.Request, c call) error {
	return a.updateContact(w, r, c)
}

func (a *API) archiveContact(w http.ResponseWriter, r *http.Request, c call) error {
	return writeArchived(w, a.store.ArchiveContact(c.by(r), c.who.Account, c.id))
}

func (a *API) restoreContact(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.RestoreContact(c.by(r), c.who.Account, c.id)
	return writeChanged(w, made, err)
}

// restoreContactByPost is PATCH by another name: some clients know no other.
func (a *API) restoreContactByPost(w http.ResponseWriter, r *http.Request, c call) error {
	return a.restoreContact(w, r, c)
}

// resourceFirst reports an error of the body only to a caller who may see the contact: errors of the resource come first.
func (a *API) resourceFirst(ctx context.Context, c call, bodyErr error) error {
	if err := a.store.CheckContact(ctx, c.who.Account, c.id); err != nil {
		return err
	}
	return bodyErr
}

// contactInput reads the body of a create or an update. It must be validated, with the faults that were found so far.
func contactInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (in crm.ContactInput, faults *doc.Invalid, err error) {
	err = c.decode(w, r, isNew, func(body *doc.Reader) error {
		in, faults, err = crm.DecodeContact(body)
		return cmp.Or(err, r.Context().Err()) // the client has left, so do nothing
	})
	return in, faults, err
}

// writeChanged answers with a changed contact.
func writeChanged(w http.ResponseWriter, d contacts.Document, err error) error {
	if err != nil {
		return err
	}
	return writeDocument(w, d)
}
