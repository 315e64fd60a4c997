package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store"
)

func (a *API) getContact(w http.ResponseWriter, r *http.Request, c call) error {
	return respond(w, func(dst []byte) ([]byte, error) {
		return a.store.Contact(r.Context(), c.who.Account, c.id, dst)
	})
}

func (a *API) listContacts(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	scope, scopeErr := crm.ParseContactScope(l.query.text("scope"))
	filter, filterErr := crm.ParseContactFilter(l.query.all, a.options.Region)
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
	mode, modeErr := crm.ParseForceCreate(q.text("force_create"), q.sent("force_create"))
	in, err := a.contactInput(w, r, true, modeErr)
	if err != nil {
		return err
	}
	made, err := a.store.CreateContact(r.Context(), c.who.Account, in, mode)
	if err != nil {
		return err
	}
	if a.options.Created != nil {
		a.options.Created(made.Merged)
	}
	return writeDocument(w, made)
}

func (a *API) updateContact(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := a.contactInput(w, r, false, nil)
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := a.store.UpdateContact(r.Context(), c.who.Account, c.id, in)
	return writeChanged(w, made, err)
}

func (a *API) archiveContact(w http.ResponseWriter, r *http.Request, c call) error {
	if err := a.store.ArchiveContact(r.Context(), c.who.Account, c.id); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	return nil
}

func (a *API) restoreContact(w http.ResponseWriter, r *http.Request, c call) error {
	made, err := a.store.RestoreContact(r.Context(), c.who.Account, c.id)
	return writeChanged(w, made, err)
}

// resourceFirst reports an error of the body only to a caller who may see the contact: errors of the resource come first.
func (a *API) resourceFirst(ctx context.Context, c call, bodyErr error) error {
	if err := a.store.CheckContact(ctx, c.who.Account, c.id); err != nil {
		return err
	}
	return bodyErr
}

// contactInput reads and checks the body of a create or an update. queryErr is what is wrong with the query; it is reported
// together with what is wrong with the body.
func (a *API) contactInput(w http.ResponseWriter, r *http.Request, isNew bool, queryErr error) (crm.ContactInput, error) {
	body, err := readJSON(w, r)
	if err != nil {
		return crm.ContactInput{}, err
	}
	if len(body) == 0 && !isNew {
		return crm.ContactInput{}, nil // an empty body changes nothing
	}
	in, faults, err := crm.DecodeContact(body)
	if err != nil {
		return in, err
	}
	var query *crm.Invalid
	if errors.As(queryErr, &query) {
		faults.Faults = append(query.Faults, faults.Faults...)
	}
	if err := r.Context().Err(); err != nil {
		return in, err
	}
	return in, in.Validate(faults, isNew, a.options.Region, time.Now())
}

// writeChanged answers with a changed contact.
func writeChanged(w http.ResponseWriter, d store.Document, err error) error {
	if err != nil {
		return err
	}
	return writeDocument(w, d)
}
