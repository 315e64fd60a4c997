package public

import (
	"errors"
	"net/http"
	"net/url"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/text"
	"donorbook/internal/pay"
	"donorbook/internal/web"
)

// pretendView is the page of the provider without money.
type pretendView struct {
	For, Amount, Frequency string
	Declined               bool
}

// pretend is the page of a session at the provider without money, and takes what is chosen there.
func (g *Gifts) pretend(session string) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		order, err := g.Options.Pretended.PretendedOrder(session)
		if errors.Is(err, donate.ErrGone) {
			return web.NotFound()
		}
		if err != nil {
			return err
		}
		account, err := g.Store.Account(r.Context(), order.Account)
		if err != nil {
			return notFound(err)
		}
		page.Guard(w.Header())
		view := pretendView{For: order.For, Amount: text.MoneyExact(order.Amount, order.Currency), Frequency: order.Frequency}
		if r.Method == http.MethodPost {
			next, err := g.choose(w, r, session, account)
			if err != nil {
				return err
			}
			if to, err := url.Parse(next); err == nil && next != "" { // a page of ours
				return page.Redirect(w, r, to.RequestURI())
			}
			view.Declined = true
		}
		return g.Show(w, "test_payment", "gift", page.View{Title: "Test payment", Data: giftView{Owner: account.Name, Data: view}})
	}
}

func (g *Gifts) choose(w http.ResponseWriter, r *http.Request, session string, account access.Account) (next string, err error) {
	f, err := g.readForm(w, r)
	if err != nil {
		return "", err
	}
	choice := pay.Choice(f.Value("do"))
	switch choice {
	case pay.ChoosePay, pay.ChooseDebit, pay.ChooseBack:
	case pay.ChooseDecline:
		if err := g.noteDecline(r.Context(), account); err != nil {
			return "", err
		}
	default:
		return "", &web.Error{Status: http.StatusUnprocessableEntity, Message: "Choose one of the buttons. Nothing was changed."}
	}
	return g.Options.Pretended.Choose(session, choice)
}
