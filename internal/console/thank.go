package console

import (
	"slices"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/text"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store/gifts"
)

// thanksView says on the page of a gift whether someone has thanked for it.
type thanksView struct {
	Waits string     // how long the giver waits, "" where no one does
	Said  string     // how it was done, "" where it was not
	Mail  *mail.Mail // the last one about it
	Can   bool       // the gift has arrived
}

func (r *request) thanksOf(g *giving.Gift) (v thanksView, err error) {
	v = thanksView{Said: thankedWords(g.Thanks.How), Can: g.Net() > 0}
	if g.Awaits() {
		v.Waits = waitWords(g, r.today())
	}
	v.Mail, err = r.store.MailAbout(r.Context(), r.account(), gifts.AboutGift(g.ID))
	return v, err
}

// waitWords say for how long a gift waits for thanks.
func waitWords(g *giving.Gift, today time.Time) string {
	switch days := int64(today.Sub(g.Local.Truncate(24*time.Hour)) / (24 * time.Hour)); {
	case days <= 0:
		return "Since today"
	default:
		return plural(days, "day")
	}
}

// thankedWords say how a gift was thanked for, "" where it was not.
func thankedWords(how string) string {
	return map[string]string{giving.ThankedMail: "Thanked by mail", giving.ThankedLetter: "Thanked by letter", giving.ThankedOther: "Thanked in another way", giving.ThankedNone: "No thank-you needed"}[how]
}

// thankView is the page on which a person sees a thank-you before it goes.
type thankView struct {
	gifts.ThankYou
	Gift             *giving.Gift
	Form             *form
	Occasions        []option
	NoMail, NoLetter string // why there can be none
	Mails            bool   // this server sends mail
	To               string
	Thanks           thanksView
}

// occasionOf is the text that was chosen, "" for the one that fits.
func (r *request) occasionOf() thanks.Occasion {
	if chosen := r.form.Value("occasion"); chosen != "" {
		return thanks.Occasion(chosen)
	}
	return thanks.Occasion(r.URL.Query().Get("occasion"))
}

func (r *request) thankPage(record gifts.GiftRecord) error {
	view := thankView{Gift: &record.Gift, Form: r.form, Mails: r.store.Mails()}
	var err error
	if view.ThankYou, err = r.store.ThankYou(r.Context(), r.account(), &record.Gift, r.occasionOf()); err != nil {
		return err
	}
	if view.Thanks, err = r.thanksOf(view.Gift); err != nil {
		return err
	}
	view.NoMail, view.NoLetter = thanks.NoMail(view.Gift, &view.Contact), thanks.NoLetter(view.Gift, &view.Contact)
	if len(view.Contact.Emails) > 0 {
		view.To = view.Contact.Emails[0].Value
	}
	for _, o := range thanks.Occasions {
		view.Occasions = append(view.Occasions, option{Value: string(o), Label: o.Label()})
	}
	r.form.set("occasion", string(view.Occasion))
	return r.render("thank", page{Title: "Thank " + contactName(view.Contact), Section: "gifts", Form: r.form, Data: view})
}

// thankFor does what the person has chosen: sends the mail, notes a letter and shows it, or notes that there is nothing to do.
func (r *request) thankFor(record gifts.GiftRecord) error {
	how := gifts.Thank{How: r.form.Value("how"), Occasion: r.occasionOf(), Again: r.form.Value("again") != ""}
	if !slices.Contains(giving.WaysToThank, how.How) {
		return doc.NewInvalid("how", doc.Required)
	}
	made, err := r.store.ThankFor(r.Context(), r.account(), record.Code, how)
	if err != nil {
		return err
	}
	said := notice{Text: thankedWords(made.Thanks.How) + "."}
	switch how.How {
	case giving.ToThank:
		said.Text = "The gift is on the list of gifts to thank for."
	case giving.ThankedMail:
		said.Text = "The thank-you to " + giverName(made.Giver) + " is on its way."
	case giving.ThankedLetter:
		return r.redirect(r.path(giftPath(record.Code)+"/letter?occasion="+string(how.Occasion)), notice{Text: "Noted as thanked by letter. Print it from here."})
	}
	return r.redirect(r.path(giftPath(record.Code)), said)
}

// letterPage is a thank-you to print.
func (r *request) letterPage(record gifts.GiftRecord) error {
	y, err := r.store.ThankYou(r.Context(), r.account(), &record.Gift, r.occasionOf())
	if err == nil && y.Contact.Erased() {
		err = crm.ErrNotFound
	}
	if err != nil {
		return err
	}
	view := letterView{ThankYou: y, Gift: &record.Gift, Today: r.today(), From: addressLines(y.Settings.Address)}
	if len(y.Contact.Addresses) > 0 {
		view.To = y.Contact.Addresses[0].Lines()
	}
	return r.render("letter", page{Title: "Letter to " + contactName(y.Contact), Section: "gifts", Form: r.form, Data: view})
}

// letterView is a letter, on a sheet of its own.
type letterView struct {
	gifts.ThankYou
	Gift     *giving.Gift
	Today    time.Time
	From, To []string // addresses
}

// textsView are the thank-you texts of an organization, or one of them.
type textsView struct {
	Texts    []thanks.Template
	Text     thanks.Template
	Form     *form
	Currency string
	Fields   []string
	Preview  *gifts.ThankYou // with the latest gift; nil where there is none
}

func (r *request) textsPage() error {
	all, err := r.store.Templates(r.Context(), r.account())
	if err != nil {
		return err
	}
	return r.render("thank_texts", page{Title: "Thank-you texts", Section: "settings", Form: r.form, Data: textsView{Texts: all}})
}

func (r *request) textOf() (thanks.Template, error) {
	all, err := r.store.Templates(r.Context(), r.account())
	for _, t := range all {
		if string(t.Occasion) == r.PathValue("occasion") {
			return t, err
		}
	}
	if err == nil {
		err = crm.ErrNotFound
	}
	return thanks.Template{}, err
}

// textPage is the form of a text. It shows the text with the latest gift.
func (r *request) textPage(t thanks.Template) error {
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	view := textsView{Text: t, Form: r.form, Currency: currency, Fields: thanks.Fields()}
	r.form.setUnsent("subject", t.Subject)
	r.form.setUnsent("body", t.Body)
	r.form.setUnsent("amount", doc.EmptyWhere(t.Amount == 0, text.MoneyInput(t.Amount, currency)))
	latest, err := r.store.LatestGifts(r.Context(), r.account(), giving.GiftFilter{Counted: true}, 1)
	if err == nil && len(latest) > 0 {
		var y gifts.ThankYou
		if y, err = r.store.ThankYou(r.Context(), r.account(), &latest[0].Gift, t.Occasion); err == nil {
			view.Preview = &y
		}
	}
	if err != nil {
		return err
	}
	return r.render("thank_text", page{Title: t.Occasion.Label(), Section: "settings", Form: r.form, Data: view})
}

func (r *request) saveText(t thanks.Template) error {
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	faults := new(doc.Invalid)
	made := thanks.Template{Occasion: t.Occasion, Subject: r.form.Value("subject"), Body: r.form.Value("body")}
	if sent := giving.ParseMoney(faults, "amount", r.form.Value("amount"), currency, true); sent != nil {
		made.Amount, _ = text.MinorUnits(*sent, currency)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := made.Check(); err != nil {
		return err
	}
	if err := r.store.SaveTemplate(r.Context(), r.account(), made); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/thanks/"+string(t.Occasion)), notice{Text: "Text saved. The preview shows it with your latest gift."})
}

func (r *request) resetText(t thanks.Template) error {
	if err := r.store.ResetTemplate(r.Context(), r.account(), t.Occasion); err != nil {
		return err
	}
	return r.redirect(r.path("/settings/thanks"), notice{Text: t.Occasion.Label() + ": back to the standard text."})
}
