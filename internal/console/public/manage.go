package public

import (
	"errors"
	"net/http"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
	"donorbook/internal/store/donations"
	"donorbook/internal/web"
)

// manageView is a monthly gift, as its giver sees and changes it.
type manageView struct {
	Form      *page.Form
	Plan      *giving.Plan
	Amount    string
	Frequency string
	Next      string // when it is paid next, "" for unknown
	Done      string // what was changed; the link is used up then
	Sent      bool   // a fresh link is under way
	Used      bool   // the link was one that worked once
	OnlyEnds  bool   // the link ends the gift, and another one changes it

	zone *time.Location // of the organization
}

// What a giver can do with a monthly gift.
var planChanges = map[string]struct {
	kind donate.ChangeKind
	done string
}{
	"amount": {donate.NewAmount, "Your monthly gift was changed."},
	"pause":  {donate.PausePlan, "Your monthly gift is paused. Nothing is charged until you resume it."},
	"resume": {donate.ResumePlan, "Your monthly gift goes on."},
	"end":    {donate.CancelPlan, "Your monthly gift has ended. Nothing more is charged. Thank you for everything you gave."},
}

// manage shows the monthly gift that a link is for, and changes it. A link in an old mail only offers to send a fresh one, to the address on file.
func (g *Gifts) manage(token string) web.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		page.Guard(w.Header())
		w.Header().Set("Referrer-Policy", "same-origin")
		f, err := page.NewForm(), error(nil)
		if r.Method == http.MethodPost {
			f, err = g.readForm(w, r)
		} else {
			err = g.CountStranger(w, r)
		}
		if err != nil {
			return err
		}
		if account, d, err := g.Store.Promise(r.Context(), token); !errors.Is(err, crm.ErrNotFound) {
			return g.confirm(w, r, token, account.Name, d, err)
		}
		managed, err := g.Store.ManagedPlan(r.Context(), token)
		if errors.Is(err, crm.ErrNotFound) || err == nil && r.Method == http.MethodPost && f.Value("do") == "link" {
			return g.freshLink(w, r, token)
		}
		if err != nil {
			return err
		}
		zone, err := g.Store.Timezone(r.Context(), managed.Account.Number)
		if err != nil {
			return err
		}
		view := newManageView(&managed, zone, f)
		if r.Method == http.MethodPost {
			if answered, err := g.change(w, r, token, &managed, view); err != nil || answered {
				return err
			}
		}
		return g.showManaged(w, managed.Account.Name, page.View{Title: "Your monthly gift", Form: f, Data: view})
	}
}

// confirmView is a promised gift, which whoever has the email address confirms.
type confirmView struct {
	Amount    string
	Check     bool // it comes as a check, else as a transfer
	Confirmed bool
	Arrived   bool
}

// confirm shows a promised gift, and confirms it by its button: programs that read mail open links.
func (g *Gifts) confirm(w http.ResponseWriter, r *http.Request, link, owner string, d donate.Donation, err error) error {
	if err == nil && r.Method == http.MethodPost {
		d, err = g.Store.ConfirmPromise(r.Context(), link)
	}
	if err != nil {
		return err
	}
	view := confirmView{
		Amount: text.MoneyExact(d.Charged, d.Currency), Check: d.Wish.Way == donate.ByCheck, Confirmed: d.IsConfirmed(),
		Arrived: d.State == donate.Paid,
	}
	return g.Show(w, "confirm", "gift", page.View{Title: "Confirm your gift", Data: giftView{Owner: owner, Data: view}})
}

func newManageView(m *donations.Managed, zone *time.Location, f *page.Form) *manageView {
	view := &manageView{Form: f, zone: zone, OnlyEnds: m.OnlyEnds, Plan: &m.Plan, Amount: text.MoneyExact(m.Plan.Amount, m.Plan.Currency), Frequency: m.Plan.Frequency}
	if !m.Plan.NextBill.IsZero() && m.Plan.Status != giving.Paused {
		view.Next = page.Day(giving.PlanClock(m.Plan.NextBill, zone))
	}
	return view
}

func (g *Gifts) showManaged(w http.ResponseWriter, owner string, p page.View) error {
	p.Data = giftView{Owner: owner, Data: p.Data}
	return g.Show(w, "manage", "gift", p)
}

// change does what a giver has chosen. answered tells that the giver was led on.
func (g *Gifts) change(w http.ResponseWriter, r *http.Request, token string, m *donations.Managed, view *manageView) (answered bool, err error) {
	f := view.Form
	if f.Value("do") == "card" {
		if err := page.CountRequest(w, g.cards, m.Donation.ID, g.Now()); err != nil {
			return false, err
		}
		to, err := g.Store.NewCard(r.Context(), token, g.Options.Proxies.BaseURL(r)+r.URL.Path)
		if err != nil {
			return false, f.Refuse(changeError(err))
		}
		if !isPage(to.URL) {
			return false, errNoPage
		}
		w.Header().Set("Refresh", "0; url="+to.URL)
		return true, g.Show(w, "handover", "gift", page.View{Title: "Continue to your card", Data: giftView{Owner: m.Account.Name, Data: handoverView{To: to.URL}}})
	}
	change, known := planChanges[f.Value("do")]
	if !known {
		f.Fail("", "Choose what to change.")
		return false, nil
	}
	amount := int64(0)
	if change.kind == donate.NewAmount {
		if amount, err = m.Offer.ReadNewAmount(f.Value("amount")); err != nil {
			return false, f.Refuse(err)
		}
	}
	changed, err := g.Store.ChangePlan(r.Context(), token, change.kind, amount)
	if err != nil {
		return false, f.Refuse(changeError(err))
	}
	*view = *newManageView(&changed, view.zone, f)
	view.Done = change.done
	return false, nil
}

// changeError words what a provider says to a giver.
func changeError(err error) error {
	switch {
	case errors.Is(err, donate.ErrTemporary):
		return doc.NewInvalid("", "The payment provider doesn’t answer at the moment. Nothing was changed. Please try again in a minute.")
	case errors.Is(err, donate.ErrNoKey), errors.Is(err, donate.ErrDefinite), errors.Is(err, donate.ErrGone):
		return doc.NewInvalid("", "This could not be changed here. Nothing was changed. Please contact the organization.")
	}
	return err
}

// freshLink offers to send a link that works, or sends it. It says the same to everyone.
func (g *Gifts) freshLink(w http.ResponseWriter, r *http.Request, token string) error {
	id, _, secret, _ := donate.ParseManageLink(token)
	view, owner := &manageView{Form: page.NewForm(), Used: secret != ""}, ""
	account, err := g.Store.Account(r.Context(), id)
	if err != nil && !errors.Is(err, crm.ErrNotFound) {
		return err
	}
	owner = account.Name
	if r.Method == http.MethodPost {
		if err := page.CountRequest(w, g.Forgotten, g.Options.Proxies.Client(r), g.Now()); err != nil {
			return err
		}
		if err := g.Store.AskByLink(r.Context(), token); err != nil {
			return err
		}
		view.Sent = true
	}
	return g.showManaged(w, owner, page.View{Title: "Your monthly gift", Data: view})
}
