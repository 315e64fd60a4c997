package api

import (
	"net/http"

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

func (a *API) addNote(w http.ResponseWriter, r *http.Request, c call) (made store.NoteDocument, err error) {
	in, err := decode(a, w, r, c, checked(history.DecodeNote, func(in *history.NoteInput, faults *doc.Invalid) error {
		return in.Validate(faults, giving.AnywhereToday(a.store.Now()))
	}))
	if err != nil {
		return made, err
	}
	return a.store.AddNote(c.by(r), c.who.Account, c.id, in)
}
