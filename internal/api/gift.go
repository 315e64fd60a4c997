package api

import (
	"context"
	"net/http"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

// The API calls gifts transactions, as its clients do.

func (a *API) getTransaction(w http.ResponseWriter, r *http.Request, c call) error {
	return respondTagged(w, r, func(dst []byte) ([]byte, doc.ETag, error) {
		start := len(dst)
		dst, err := a.store.Gift(r.Context(), c.who.Account, c.code, dst)
		return dst, doc.TagOf(dst[start:]), err
	})
}

func (a *API) listTransactions(r *http.Request, c call, l *list) fetch {
	scope, err := campaign.ParseScope(l.text("scope"))
	l.note(err)
	filter, err := giving.ParseGiftFilter(l.text)
	l.note(err)
	return func(dst []byte, flush store.Flush) ([]byte, store.ListResult, error) {
		return a.store.Gifts(r.Context(), c.who.Account, scope, filter, l.page, dst, flush)
	}
}

func (a *API) createTransaction(w http.ResponseWriter, r *http.Request, c call) (made store.GiftDocument, err error) {
	in, err := a.giftInput(w, r, c, true)
	if err != nil {
		return made, err
	}
	if made, err = a.store.CreateGift(c.by(r), c.who.Account, in); err == nil && made.Created {
		a.countGiver(&in, made.NewGiver)
	}
	return made, err
}

// countGiver counts the contact that a gift or a plan has made, or was merged into.
func (a *API) countGiver(in *giving.GiftInput, isNew bool) {
	if in.Contact == nil && a.options.Created != nil {
		a.options.Created(!isNew)
	}
}

func (a *API) updateTransaction(w http.ResponseWriter, r *http.Request, c call) (made store.GiftDocument, err error) {
	in, err := a.giftInput(w, r, c, false)
	if err != nil {
		return made, err
	}
	return a.store.UpdateGift(c.by(r), c.who.Account, c.code, in)
}

// movesMoney handles a refund, or the undoing of one, of the amount that the body names, or of all without one.
func movesMoney(move func(s *book.Book, ctx context.Context, account int64, code string, amount *int64, seen string) (store.GiftDocument, error)) handler {
	return changes(func(a *API, w http.ResponseWriter, r *http.Request, c call) (made store.GiftDocument, err error) {
		amount, err := decode(a, w, r, c, giving.DecodeRefund)
		if err != nil {
			return made, err
		}
		return move(a.store, c.by(r), c.who.Account, c.code, amount, "")
	})
}

func (a *API) voidTransaction(w http.ResponseWriter, r *http.Request, c call) (made store.GiftDocument, err error) {
	reason, err := decode(a, w, r, c, giving.DecodeVoid)
	if err != nil {
		return made, err
	}
	return a.store.VoidGift(c.by(r), c.who.Account, c.code, reason, "")
}

func (a *API) undoVoid(_ http.ResponseWriter, r *http.Request, c call) (store.GiftDocument, error) {
	return a.store.UndoVoid(c.by(r), c.who.Account, c.code, "")
}

// giftInput reads and checks the body of a create or an update.
func (a *API) giftInput(w http.ResponseWriter, r *http.Request, c call, isNew bool) (giving.GiftInput, error) {
	read := giving.DecodeGift
	if isNew {
		read = giving.DecodeNewGift
	}
	return decode(a, w, r, c, checked(read, func(in *giving.GiftInput, faults *doc.Invalid) error {
		return in.Validate(faults, isNew, a.options.Region, giving.AnywhereToday(a.store.Now()))
	}))
}
