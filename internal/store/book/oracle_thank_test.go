package book

import (
	"fmt"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store/gifts"
)

// thank thanks for a gift, perhaps once more. A mail waits in the outbox: an erasure must find it there.
func (o *oracle) thank(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" {
		return
	}
	g, how := o.gifts[code], giving.WaysToThank[st.B%len(giving.WaysToThank)]
	if o.contacts[o.root(g.of)].erased {
		return
	}
	o.s.UseRelay(new(postOffice))
	_, err := o.s.ThankFor(o.Context(), o.account.Number, code, gifts.Thank{How: how, Again: st.B>>4%2 == 0, Receipt: st.B>>5%2 == 0})
	if o.refused("thank", err) {
		return
	}
	if g.thanks = how; st.B>>5%2 == 0 && (how == giving.ThankedMail || how == giving.ThankedLetter) {
		g.receipt = true
	}
	o.say("thank for %s: %s", code, how)
	if how != giving.ThankedMail {
		return
	}
	if m, err := o.s.MailAbout(o.Context(), o.account.Number, gifts.AboutGift(gifts.CodeID(o.account.Number, code))); err != nil || m == nil || m.State() != mail.Waiting {
		o.fault("mail", "%v %+v", err, m)
	}
}

// receipt makes the receipt for a gift, or finds it.
func (o *oracle) receipt(st oracleStep) {
	code := o.pickGift(st.A)
	if code == "" || o.contacts[o.root(o.gifts[code].of)].erased {
		return
	}
	made, err := o.s.IssueReceipt(o.Context(), o.account.Number, code)
	if o.refused("receipt", err) {
		return
	}
	o.gifts[code].receipt = true
	o.say("receipt %s for %s", made.Receipt, code)
}

// receipted compares receipts with gifts: each number once and without gaps, and one valid receipt at most for a gift, for what is left of it.
func (o *oracle) receipted() {
	first, last, err := o.s.ReceiptYears(o.Context(), o.account.Number)
	if err != nil {
		o.Fatal(err)
	}
	valid := map[string]thanks.Receipt{}
	for year := first; year <= last && last > 0; year++ {
		all, total, err := o.s.Receipts(o.Context(), o.account.Number, year, crm.PageRequest{Page: 1, PerPage: 1000})
		if err != nil || int64(len(all)) != total {
			o.fault("receipts", "%d of %d: %v", len(all), total, err)
		}
		for i, r := range all {
			if r.ID != thanks.FirstReceipt(year)+total-int64(i) || r.VoidedAt.IsZero() != (r.ReplacedBy == 0) && r.ReplacedBy != 0 {
				o.fault("receipt", "%+v is number %d of %d", r, i, total)
			}
			if _, twice := valid[r.GiftCode]; r.VoidedAt.IsZero() && twice {
				o.fault("receipt", "%s has two that are valid", r.GiftCode)
			}
			if r.VoidedAt.IsZero() {
				valid[r.GiftCode] = r
			}
		}
	}
	for _, g := range ledgerOf(o, o.s, o.account.Number) {
		want, r := o.gifts[g.Code], valid[g.Code]
		if g.Receipt != r.Code() || r.ID != 0 && (r.Amount != g.Left() || g.Status != giving.Succeeded) {
			o.fault("receipt", "%s names %q, and %+v is valid", g.Code, g.Receipt, r)
		}
		if want != nil && r.ID != 0 != want.receipt && !o.contacts[o.root(want.of)].erased {
			o.fault("receipt", "%s has receipt %q, want one: %v", g.Code, r.Code(), want.receipt)
		}
	}
}

// template writes a text, or goes back to ours.
func (o *oracle) template(st oracleStep) {
	at := thanks.Occasions[st.A%len(thanks.Occasions)]
	if st.B%3 == 0 {
		delete(o.texts, at)
		if err := o.s.ResetTemplate(o.Context(), o.account.Number, at); err != nil {
			o.Fatal(err)
		}
		return
	}
	text := thanks.Template{Occasion: at, Subject: "Thanks, {first_name}", Body: fmt.Sprintf("Dear {name}, %d", st.B)}
	if _, err := o.s.ChangeTemplate(o.Context(), o.account.Number, at, thanks.TemplateInput{Subject: &text.Subject, Body: &text.Body}); err != nil {
		o.Fatal(err)
	}
	text.Own = true
	o.texts[at] = text
}

// thanked compares who was thanked, and the texts, with the model.
func (o *oracle) thanked() {
	o.receipted()
	waits := int64(0)
	for _, g := range ledgerOf(o, o.s, o.account.Number) {
		if want := o.gifts[g.Code]; want != nil && want.thanks != "" && g.Thanks.How != want.thanks {
			o.fault("thanks", "%s says %q, want %q", g.Code, g.Thanks.How, want.thanks)
		}
		if g.Thanks.How == giving.ToThank && g.Net() > 0 {
			waits++
		}
	}
	if n, err := o.s.ToThank(o.Context(), o.account.Number, 1000); err != nil || n != waits {
		o.fault("gifts to thank for", "%d, want %d: %v", n, waits, err)
	}
	all, err := o.s.Templates(o.Context(), o.account.Number)
	if err != nil {
		o.Fatal(err)
	}
	for _, text := range all {
		want, own := o.texts[text.Occasion]
		if !own {
			want = thanks.Default(text.Occasion)
		}
		if text.Template != want {
			o.fault("template", "%+v, want %+v", text, want)
		}
	}
}
