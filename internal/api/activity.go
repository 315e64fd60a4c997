package api

import (
	"net/http"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

func (a *API) listActivities(r *http.Request, c call, l *list) fetch {
	newest, err := history.ParseSort(l.text)
	l.note(err)
	return func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Activities(r.Context(), c.who.Account, c.id, l.page, newest, dst, flush)
	}
}

func (a *API) addNote(w http.ResponseWriter, r *http.Request, c call) error {
	var in history.NoteInput
	err := a.decode(w, r, c, func(body *doc.Reader) (err error) {
		var faults *doc.Invalid
		if in, faults, err = history.DecodeNote(body); err == nil {
			err = in.Validate(faults, giving.AnywhereToday(time.Now()))
		}
		return err
	})
	if err != nil {
		return err
	}
	made, err := a.store.AddNote(c.by(r), c.who.Account, c.id, in)
	return writeMade(w, made, err)
}
