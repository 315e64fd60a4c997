package api

import (
	"net/http"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

func (a *API) listActivities(w http.ResponseWriter, r *http.Request, c call) error {
	l, err := a.newList(r)
	if err != nil {
		return err
	}
	newest, sortErr := history.ParseSort(l.text)
	if err := l.check(sortErr); err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	return l.respond(w, func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Activities(r.Context(), c.who.Account, c.id, l.page, newest, dst, flush)
	})
}

func (a *API) addNote(w http.ResponseWriter, r *http.Request, c call) error {
	in, err := readNote(w, r, c)
	if err != nil {
		return a.resourceFirst(r.Context(), c, err)
	}
	made, err := a.store.AddNote(c.by(r), c.who.Account, c.id, in)
	return writeMade(w, made, err)
}

func readNote(w http.ResponseWriter, r *http.Request, c call) (in history.NoteInput, err error) {
	err = c.decode(w, r, true, func(body *doc.Reader) error {
		var faults *doc.Invalid
		if in, faults, err = history.DecodeNote(body); err == nil {
			err = in.Validate(faults, giving.AnywhereToday(time.Now()))
		}
		return err
	})
	return in, err
}
