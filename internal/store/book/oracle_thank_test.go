package book

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
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
	_, err := o.s.ThankFor(o.Context(), o.account.Number, code,
		gifts.Thank{How: how, Again: st.B>>4%2 == 0, Receipt: st.B>>5%2 == 0})
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
	o.mails[code]++
	if m := o.mailAbout(code); m == nil || m.State() != mail.Waiting {
		o.fault("mail", "%+v", m)
	}
}

func (o *oracle) mailAbout(code string) *mail.Mail {
	m := must(o.s.MailAbout(o.Context(), o.account.Number, gifts.AboutGift(gifts.CodeID(o.account.Number, code))))(o)
	return m
}

// forgetMails: of an erased person no mail is left. One to an email that others share may be gone with it.
func (o *oracle) forgetMails() {
	for code := range o.mails {
		m := o.mailAbout(code)
		if m != nil && o.contacts[o.root(o.gifts[code].of)].erased {
			o.fault("mail", "to an erased person: %+v", m)
		}
		if m == nil {
			delete(o.mails, code)
		}
	}
	for code := range o.told {
		o.told[code] = o.refundMails(code)
		if o.told[code] > 0 && o.contacts[o.root(o.gifts[code].of)].erased {
			o.fault("mail", "%d about a refund of %s to an erased person", o.told[code], code)
		}
	}
}

// refundMails is how many mails about refunds of a gift wait.
func (o *oracle) refundMails(code string) int {
	about := gifts.AboutRefund(gifts.CodeID(o.account.Number, code))
	found := must(store.List(o.Context(), o.s.Base, store.Number,
		`SELECT id FROM mail WHERE account_id = $1 AND about = $2 AND about <> '' AND due_at <> 0`, o.account.Number, about))(o)
	return len(found)
}

// tellRefund expects one mail more about a refund, where one may go to the donor.
func (o *oracle) tellRefund(code string) {
	g := must(o.s.GiftRecord(o.Context(), o.account.Number, code))(o)
	c := must(o.s.ContactRecord(o.Context(), o.account.Number, g.Contact))(o)
	if o.s.Mails() && !g.Test && c.NoMail() == "" {
		o.told[code]++
	}
	if waiting := o.refundMails(code); waiting != o.told[code] {
		o.fault("mail", "%d tell of refunds of %s, want %d", waiting, code, o.told[code])
	}
}

// post sends what waits: a mail about each gift as often as someone asked for it, with its receipt, and none about a
// gift that was given back meanwhile. That waits for thanks again.
func (o *oracle) post(oracleStep) {
	office := new(postOffice)
	o.s.UseRelay(office)
	succeed(o, o.s.SendDue(o.Context(), "", func(err error) { o.fault("mail", "%v", err) }))
	// of sequences before
	office.taken = slices.DeleteFunc(office.taken, func(l *mail.Letter) bool {
		return !strings.Contains(l.To.String(),
			o.word)
	})
	want := 0
	for code, mails := range o.mails {
		if g := o.gifts[code]; g.net() > 0 {
			want += mails
		} else if g.thanks == giving.ThankedMail {
			g.thanks = giving.ToThank
		}
	}
	for code, mails := range o.told {
		if o.gifts[code].refunded > 0 { // and was not undone
			want += mails
		}
	}
	clear(o.told)
	o.say("%d mails are sent", len(office.taken))
	o.clock.move(time.Second) // the last mail about a gift is one
	if clear(o.mails); len(office.taken) != want {
		o.fault("mail", "%d were sent, want %d", len(office.taken), want)
	}
	for _, l := range office.taken {
		if said := l.Text(); len(l.Files) > 1 || (len(l.Files) == 1) != strings.Contains(said, "Receipt number") ||
			strings.Contains(said, "{") {
			o.fault("mail", "with %d files: %s", len(l.Files), said)
		}
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

// receipted compares receipts with gifts: each number once and without gaps, and one valid receipt at most for a
// gift, for what is left of it.
func (o *oracle) receipted() {
	first, last := must2(o.s.ReceiptYears(o.Context(), o.account.Number))(o)
	valid := map[string]thanks.Receipt{}
	for year := first; year <= last && last > 0; year++ {
		all, total, err := o.s.Receipts(o.Context(), o.account.Number, year, crm.PageRequest{Page: 1, PerPage: 1000})
		if err != nil || int64(len(all)) != total {
			o.fault("receipts", "%d of %d: %v", len(all), total, err)
		}
		for i, r := range all {
			if r.ID != thanks.FirstReceipt(year)+total-int64(i) || r.VoidedAt.IsZero() != (r.ReplacedBy == 0) &&
				r.ReplacedBy != 0 {
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

// bounce notes that mail to an email came back, as the outbox does: with everyone who has it.
func (o *oracle) bounce(st oracleStep) {
	email := strings.TrimPrefix(o.value(st.A%2), "email:")
	if err := o.s.MarkBounced(o.Context(), o.account.Number, email); err != nil {
		o.fault("bounce", "%v", err)
	}
	o.say("%s bounces", email)
	for _, c := range o.contacts {
		if says := c.says(); c.into == 0 && !c.archived && !c.erased && says.set["email:"+email] &&
			says.text["bounced"] != email {
			c.events = append(c.events, &event{text: map[string]string{"bounced": email},
				was: map[string]string{"bounced": says.text["bounced"]}})
		}
	}
}

// template writes a text, or goes back to ours.
func (o *oracle) template(st oracleStep) {
	at := thanks.Occasions[st.A%len(thanks.Occasions)]
	if st.B%3 == 0 {
		delete(o.texts, at)
		succeed(o, o.s.ResetTemplate(o.Context(), o.account.Number, at))
		return
	}
	text := thanks.Template{Occasion: at, Subject: "Thanks, {first_name}", Body: fmt.Sprintf("Dear {name}, %d", st.B)}
	must(o.s.ChangeTemplate(o.Context(), o.account.Number, at,
		thanks.TemplateInput{Subject: &text.Subject, Body: &text.Body}))(o)
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
	all := must(o.s.Templates(o.Context(), o.account.Number))(o)
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
