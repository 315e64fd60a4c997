package giving

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

// thanksView says on the page of a gift whether someone has thanked for it.
type thanksView struct {
	Waits string     // how long the giver waits, "" where no one does
	Said  string     // how it was done, "" where it was not
	By    string     // who did it
	Mail  *mail.Mail // the last one about it
	Can   bool       // the gift has arrived
}

func thanksOf(r *page.Request, g *giving.Gift) (v thanksView, err error) {
	v = thanksView{Said: page.ThankedWords(g.Thanks.How), Can: g.HasArrived()}
	if g.Awaits() {
		v.Waits = page.WaitWords(g, r.Today())
	}
	people, err := r.PeopleOf()
	if err != nil {
		return v, err
	}
	v.By = people.Called(g.Thanks.By)
	v.Mail, err = r.Store.MailAbout(r.Context(), r.Account(), store.AboutGift(g.ID))
	return v, err
}

// thankView is the page on which a person sees a thank-you before it goes.
type thankView struct {
	store.ThankYou
	Gift             *giving.Gift
	Form             *page.Form
	Occasions        []page.Option
	NoMail, NoLetter string // why there can be none
	Mails            bool   // this server sends mail
	To               string
	Thanks           thanksView
	Receipt          thanks.Receipt // that can go with it
	NoReceipt        string         // why there is none
}

// occasionOf is the text that was chosen, "" for the one that fits.
func occasionOf(r *page.Request) thanks.Occasion {
	if chosen := r.Form.Value("occasion"); chosen != "" {
		return thanks.Occasion(chosen)
	}
	return thanks.Occasion(r.URL.Query().Get("occasion"))
}

func ThankPage(r *page.Request, record store.GiftRecord) error {
	view := thankView{Gift: &record.Gift, Form: r.Form, Mails: r.Store.Mails()}
	var err error
	if view.ThankYou, err = r.Store.ThankYou(r.Context(), r.Account(), &record.Gift, occasionOf(r)); err != nil {
		return err
	}
	if view.Thanks, err = thanksOf(r, view.Gift); err != nil {
		return err
	}
	view.NoMail, view.NoLetter = thanks.NoMail(view.Gift, &view.Contact), thanks.NoLetter(view.Gift, &view.Contact)
	if len(view.Contact.Emails) > 0 {
		view.To = view.Contact.Emails[0].Value
	}
	for _, o := range thanks.Occasions {
		view.Occasions = append(view.Occasions, page.Option{Value: string(o), Label: o.Label()})
	}
	if err := view.offerReceipt(r); err != nil {
		return err
	}
	r.Form.Set("occasion", string(view.Occasion))
	return r.Render("thank", page.View{Title: "Thank " + page.ContactName(view.Contact), Section: "gifts", Form: r.Form, Data: view})
}

// offerReceipt finds the receipt that can go with a thank-you: the one that the gift has, or what a new one would say.
func (v *thankView) offerReceipt(r *page.Request) (err error) {
	if v.Gift.Receipt != "" {
		v.Receipt, err = r.Store.Receipt(r.Context(), r.Account(), v.Gift.Receipt)
		return err
	}
	v.Receipt, err = r.Store.PreviewReceipt(r.Context(), r.Account(), v.Gift, nil)
	if refused := new(doc.Invalid); errors.As(err, &refused) {
		v.NoReceipt, err = refused.Error(), nil
	}
	return err
}

// thankFor does what the person has chosen: sends the mail, notes a letter and shows it, or notes that there is nothing to do.
func ThankFor(r *page.Request, record store.GiftRecord) error {
	how := store.Thank{How: r.Form.Value("how"), Occasion: occasionOf(r), Again: r.Form.Value("again") != "", Receipt: r.Form.Value("receipt") != ""}
	if !slices.Contains(giving.WaysToThank, how.How) {
		return doc.NewInvalid("how", doc.Required)
	}
	made, err := r.Store.ThankFor(r.Context(), r.Account(), record.Code, how)
	if err != nil {
		return err
	}
	said := page.Notice{Text: page.ThankedWords(made.Thanks.How) + "."}
	switch how.How {
	case giving.ToThank:
		said.Text = "The gift is on the list of gifts to thank for."
	case giving.ThankedMail:
		said.Text = "The thank-you to " + page.GiverName(made.Giver) + " is on its way."
		said.View, said.Link = r.Path(toThankPath), "Gifts to thank for"
	case giving.ThankedLetter:
		return r.Redirect(r.Path(page.GiftPath(record.Code)+"/letter?occasion="+string(how.Occasion)), page.Notice{Text: "Noted as thanked by letter. Print it from here."})
	}
	return r.Redirect(r.Path(page.GiftPath(record.Code)), said)
}

// letterPage is a thank-you to print.
func LetterPage(r *page.Request, record store.GiftRecord) error {
	y, err := r.Store.ThankYou(r.Context(), r.Account(), &record.Gift, occasionOf(r))
	if err == nil && y.Contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return err
	}
	view := letterView{ThankYou: y, Gift: &record.Gift, Today: r.Today(), From: addressLines(y.Settings.Address)}
	if len(y.Contact.Addresses) > 0 {
		view.To = y.Contact.Addresses[0].Lines(y.Settings.Home())
	}
	if record.Receipt != "" {
		if view.Receipt, err = r.Store.Receipt(r.Context(), r.Account(), record.Receipt); err != nil {
			return err
		}
	}
	return r.Render("letter", page.View{Title: "Letter to " + page.ContactName(y.Contact), Section: "gifts", Form: r.Form, Data: view})
}

// letterView is a letter, on a sheet of its own.
type letterView struct {
	store.ThankYou
	Gift     *giving.Gift
	Today    time.Time
	From, To []string // addresses
	Receipt  thanks.Receipt
}

// textsView are the thank-you texts of an organization, or one of them.
type textsView struct {
	Texts   []store.TemplateDocument
	Text    thanks.Template
	Form    *page.Form
	Fields  []string
	Preview *store.ThankYou // with the latest gift; nil where there is none
}

func TextsPage(r *page.Request) error {
	all, err := r.Store.Templates(r.Context(), r.Account())
	if err != nil {
		return err
	}
	return r.Render("thank_texts", page.View{Title: "Thank-you texts", Section: "settings", Form: r.Form, Data: textsView{Texts: all}})
}

func TextOf(r *page.Request) (thanks.Template, error) {
	o := thanks.Occasion(r.PathValue("occasion"))
	if !slices.Contains(thanks.Texts, o) {
		return thanks.Template{}, crm.ErrNotFound
	}
	text, err := r.Store.Template(r.Context(), r.Account(), o)
	return text.Template, err
}

// textPage is the form of a text. It shows the text with the latest gift.
func TextPage(r *page.Request, t thanks.Template) error {
	view := textsView{Text: t, Form: r.Form, Fields: t.Occasion.Fields()}
	r.Form.SetUnsent("subject", t.Subject)
	r.Form.SetUnsent("body", t.Body)
	r.Form.SetUnsent("amount", doc.EmptyWhere(t.Amount == 0, text.MoneyInput(t.Amount, r.Currency())))
	latest, err := r.Store.LatestGifts(r.Context(), r.Account(), giving.GiftFilter{Counted: true}, 1)
	if err == nil && len(latest) > 0 {
		var y store.ThankYou
		if y, err = r.Store.ThankYou(r.Context(), r.Account(), &latest[0].Gift, t.Occasion); err == nil {
			view.Preview = &y
		}
	}
	if err != nil {
		return err
	}
	return r.Render("thank_text", page.View{Title: t.Occasion.Label(), Section: "settings", Form: r.Form, Data: view})
}

func SaveText(r *page.Request, t thanks.Template) error {
	faults := new(doc.Invalid)
	subject, body, never := r.Form.Value("subject"), r.Form.Value("body"), int64(0)
	in := thanks.TemplateInput{Subject: &subject, Body: &body, Amount: cmp.Or(giving.ParseMoney(faults, "amount", r.Form.Value("amount"), r.Currency(), true), &never)}
	if err := faults.Err(); err != nil {
		return err
	}
	_, err := r.Store.ChangeTemplate(r.Context(), r.Account(), t.Occasion, in)
	return r.Done(err, r.Path("/settings/thanks/"+string(t.Occasion)), page.Notice{Text: "Text saved. The preview shows it with your latest gift."})
}

func ResetText(r *page.Request, t thanks.Template) error {
	err := r.Store.ResetTemplate(r.Context(), r.Account(), t.Occasion)
	return r.Done(err, r.Path("/settings/thanks"), page.Notice{Text: t.Occasion.Label() + ": back to the standard text."})
}
