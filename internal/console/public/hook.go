package public

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/web"
)

// takeEvent keeps an event of a provider. Its signature is checked before anything is kept, and what follows from it is found out later.
func (g *Gifts) takeEvent(w http.ResponseWriter, r *http.Request) error {
	if _, wait, ok := g.events.Take(g.Options.Proxies.Client(r), g.Now()); !ok {
		return web.TooManyRequests(wait)
	}
	parts := strings.Split(r.URL.Path, "/")
	provider, id := parts[2], parts[3]
	account, err := g.Store.Account(r.Context(), id)
	if err != nil {
		return notFound(err)
	}
	body, err := web.ReadBody(w, r, maxEvent)
	if err != nil {
		return err
	}
	declined, err := g.Store.TakeEvent(r.Context(), provider, account, r.Header.Get, body)
	switch {
	case errors.Is(err, donate.ErrForged):
		return &web.Error{Status: http.StatusBadRequest, Message: "The signature of this event is not valid.", Err: err}
	case err != nil:
		return notFound(err)
	}
	if declined {
		if err := g.noteDecline(r.Context(), account); err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

const maxEvent = 256 << 10

// noteDecline counts a payment that was declined, and tells the organization when its forms ask for more because of that.
func (g *Gifts) noteDecline(ctx context.Context, account access.Account) error {
	if !g.brakes.Declined(account.Number, g.Now()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return g.Store.TellOfDeclines(ctx, account)
}
