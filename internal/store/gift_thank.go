package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/mail"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
)

const (
	sqlGaveBefore = `SELECT COUNT(*) FROM (SELECT 1 FROM gift WHERE account_id = $1 AND contact_id = $2 AND net > 0
		AND given_at <= $3 AND id <> $4 LIMIT 1) AS before`
	sqlAccountName = `SELECT name FROM account WHERE account_id = $1`
	sqlToThank     = `SELECT COUNT(*) FROM (SELECT 1 FROM gift WHERE account_id = $1 AND thank <> 0
		LIMIT $2) AS waiting`
)

// ThankYou is a thank-you for a gift, and what a page or a letter says beside it.
type ThankYou struct {
	thanks.Note
	Letterhead
	Contact crm.Contact
}

// readThankYou writes the thank-you for a gift from a contact: with the text of an occasion, or of the one that fits
// where that is "".
func readThankYou(c db.Conn, account int64, h *Letterhead, g *giving.Gift, contact *crm.Contact,
	occasion thanks.Occasion,
) (y ThankYou, err error) {
	facts := thanks.Facts{Gift: g, Contact: contact, Organization: h.Organization}
	if g.Campaign != 0 {
		var names []CampaignName
		names, err = db.List(c, scanCampaignName, SQLOwnCampaigns, account, []int64{g.Campaign})
		for _, name := range names {
			facts.Campaign = name.Title
		}
	}
	if err == nil && !slices.Contains(thanks.Texts, occasion) {
		before, err := c.Int(sqlGaveBefore, account, g.Contact, g.Local.Unix(), g.ID)
		if err != nil {
			return y, err
		}
		occasion = thanks.OccasionOf(g, before == 0, h.Text(thanks.Large).Amount, h.Settings.Currency)
	}
	if err != nil {
		return y, err
	}
	return ThankYou{h.Text(occasion).Write(&facts), *h, *contact}, nil
}

// ThankYou is what a thank-you for a gift would say.
func (s *Store) ThankYou(ctx context.Context, account int64, g *giving.Gift,
	occasion thanks.Occasion,
) (y ThankYou, err error) {
	return Snapshot(ctx, s, func(c db.Conn) (y ThankYou, err error) {
		h, err := readLetterhead(c, account)
		if err != nil {
			return y, err
		}
		found, err := LoadContacts(c, account, []int64{g.Contact})
		if err = cmp.Or(err, Missing(len(found) == 0)); err != nil {
			return y, err
		}
		return readThankYou(c, account, &h, g, &found[0], occasion)
	})
}

// ToThank is how many gifts still wait for thanks, up to a number.
func (s *Store) ToThank(ctx context.Context, account, most int64) (n int64, err error) {
	return Lend(ctx, s.Read, func(c db.Conn) (int64, error) { return c.Int(sqlToThank, account, most) })
}

// Thank is how someone thanks for a gift.
type Thank struct {
	How      string
	Occasion thanks.Occasion // whose text a mail has; "" for the one that fits
	Again    bool            // though someone has done so before
	Receipt  bool            // with a receipt, in a mail or a letter
}

// The rules of thanking.
const (
	thankedBefore doc.Rule = "was done before, by %v on %v"
	cannotMail    doc.Rule = "This thank-you cannot be sent by mail. %v"
	noRelay                = "This server cannot send mail."
)

// ThankFor notes that someone has thanked for a gift, and sends the mail where that is how. Of several who do so at
// once, one does.
func (s *Store) ThankFor(ctx context.Context, account int64, code string, how Thank) (GiftDocument, error) {
	now := s.Now()
	return Answered(ctx, s, account, Needs{Gifts: []int64{CodeID(account, code)}},
		func(u Unit) (made GiftDocument, err error) {
			old, err := byCode(u, &u.Gifts, code)
			if err != nil {
				return made, err
			}
			if err := old.CheckVoided(); err != nil {
				return made, err
			}
			if was := old.Thanks; was.Done() && how.How != giving.ToThank && !how.Again {
				return made, Fault("thanks", thankedBefore, cmp.Or(was.By, "someone"), was.At.Format("January 2, 2006"))
			}
			made = GiftDocument{Gift: old.Gift, Slug: slug(u, old.Campaign)}
			return made, s.thank(u, &made.Gift, how, now)
		})
}

// thankAtOnce thanks for a new gift by mail. Where that cannot be, it waits until someone decides.
func (s *Store) thankAtOnce(u Unit, g *giving.Gift, now time.Time) error {
	err := s.thankAsCan(u, g, Thank{How: giving.ThankedMail, Receipt: true}, now)
	if errors.As(err, new(*doc.Invalid)) {
		return nil
	}
	return err
}

// thankAsCan thanks with a receipt, or without one where there can be none.
func (s *Store) thankAsCan(u Unit, g *giving.Gift, how Thank, now time.Time) error {
	err := s.thank(u, g, how, now)
	if how.Receipt && errors.As(err, new(*doc.Invalid)) {
		how.Receipt = false
		err = s.thank(u, g, how, now)
	}
	return err
}

const aboutGift = "gift "

// AboutGift is what a mail about a gift is for.
func AboutGift(id int64) string { return aboutGift + strconv.FormatInt(id, 10) }

// giftAbout is the gift that a mail is about, 0 for none.
func giftAbout(m mail.Mail) int64 {
	id, _ := strconv.ParseInt(strings.TrimPrefix(m.About, aboutGift), 10, 64)
	return id
}

func (s *Store) thank(u Unit, g *giving.Gift, how Thank, now time.Time) error {
	var message *mail.Message
	to := ""
	if how.How == giving.ThankedMail {
		row, err := Load(u.Tx, u.Number, g.Contact)
		if err != nil {
			return err
		}
		why := thanks.NoMail(g, &row.Contact)
		if !s.Mails() {
			why = noRelay
		}
		if why != "" {
			return Fault("thanks", cannotMail, why)
		}
		h, err := readLetterhead(u.Conn, u.Number)
		if err != nil {
			return err
		}
		y, err := readThankYou(u.Conn, u.Number, &h, g, &row.Contact, how.Occasion)
		if err != nil {
			return err
		}
		message, to = &mail.Message{Subject: y.Subject, Says: y.Says, Receipt: how.Receipt}, row.Contact.Emails[0].Value
		if s.Upkeep != nil {
			more, err := s.Upkeep(u.Conn, u.Number, g)
			if err != nil {
				return err
			}
			message.Add(more)
		}
	}
	if how.Receipt && g.Receipt == "" && slices.Contains([]string{giving.ThankedMail, giving.ThankedLetter}, how.How) {
		if _, err := issueReceipt(u, g, "", now); err != nil {
			return err
		}
	}
	changed := g.Thanked(how.How, u.Author.Who, now)
	err := SaveGift(u, u.Gifts.Rows[g.ID], &changed, now)
	if *g = changed; err != nil || message == nil {
		return err
	}
	return s.Queue(u.Tx, u.Number, mail.Thanks, AboutGift(g.ID), to, message)
}

// ThankOneOf thanks for a gift among many, by mail or by letter, perhaps with a receipt where there can be one. It is
// crm.NoWay where that cannot be, and tells why; "" where no one waits for thanks any more.
func (s *Store) ThankOneOf(u Unit, id int64, receipt bool,
	now time.Time,
) (contact int64, way crm.Way, why crm.Unreached, err error) {
	old, err := u.Gifts.Get(u.Tx, u.Number, id)
	if err != nil || old == nil || old.Damage != nil || !old.Awaits() {
		return 0, "", "", err
	}
	row, err := Load(u.Tx, u.Number, old.Contact)
	if errors.As(err, new(*Damaged)) {
		return old.Contact, crm.NoWay, crm.Unreadable, nil
	}
	if err != nil {
		return 0, "", "", err
	}
	if way, why = row.Contact.Way(s.Mails()); way == crm.NoWay {
		return old.Contact, way, why, nil
	}
	g := old.Gift
	return old.Contact, way, "", s.thankAsCan(u, &g, Thank{How: string(way), Receipt: receipt}, now)
}

// thankAgain lets a gift wait again whose thanks did not arrive.
func (s *Store) thankAgain(ctx context.Context, account int64, m mail.Mail) error {
	id := giftAbout(m)
	return s.Update(ctx, account, Needs{Gifts: []int64{id}}, func(t *Tx) error {
		u, err := t.LockAccount(account)
		if err != nil {
			return err
		}
		old, err := u.Gifts.Get(t, account, id)
		if err != nil || old == nil || old.Damage != nil || old.Thanks.How != giving.ThankedMail {
			return err
		}
		again := old.Gift.Thanked(giving.ToThank, "", s.Now())
		return SaveGift(u, old, &again, s.Now())
	})
}

// thank is 1 while someone has to thank for the gift.
func thank(g *giving.Gift) int64 {
	if g.Awaits() {
		return 1
	}
	return 0
}

// nameThanker notes who has thanked, where the change does not say it.
func nameThanker(t *Tx, g *giving.Gift) {
	if g.Thanks.Done() && g.Thanks.By == "" {
		g.Thanks.By = t.Author.Who
	}
}

const sqlTemplates = `SELECT occasion, subject, body, amount FROM template WHERE account_id = $1 ORDER BY occasion`

func scanTemplate(r db.Row) thanks.Template {
	return thanks.Template{Occasion: thanks.Occasion(r.Text(0)), Subject: r.Text(1), Body: r.Text(2), Amount: r.Int(3),
		Own: true}
}

// Letterhead is what an organization writes with: its name, its settings, and its texts, one for each occasion.
type Letterhead struct {
	Organization string
	Settings     access.AccountSettings
	Texts        []thanks.Template
}

func readLetterhead(c db.Conn, account int64) (h Letterhead, err error) {
	own, err := db.List(c, scanTemplate, sqlTemplates, account)
	for _, o := range thanks.Texts {
		t := thanks.Default(o)
		if i := slices.IndexFunc(own, func(t thanks.Template) bool { return t.Occasion == o }); i >= 0 {
			t = own[i]
		}
		h.Texts = append(h.Texts, t)
	}
	if err == nil {
		h.Settings, err = AccountSettings(c, account)
	}
	if err == nil {
		_, err = c.One(func(r db.Row) { h.Organization = r.Text(0) }, sqlAccountName, account)
	}
	return h, err
}

// Text is the text of an occasion.
func (h *Letterhead) Text(o thanks.Occasion) thanks.Template {
	return h.Texts[slices.Index(thanks.Texts, o)]
}

// Letterhead is what an organization writes with.
func (s *Store) Letterhead(ctx context.Context, account int64) (Letterhead, error) {
	return Snapshot(ctx, s, func(c db.Conn) (Letterhead, error) { return readLetterhead(c, account) })
}

// TemplateDocument is a text as clients see it.
type TemplateDocument struct {
	thanks.Template
	Currency string
}

func (d TemplateDocument) Append(dst []byte) []byte {
	return thanks.AppendTemplate(dst, &d.Template, d.Currency)
}
func (d TemplateDocument) Outcome() Outcome { return Outcome{} }

// Templates are the texts of an account, one for each occasion.
func (s *Store) Templates(ctx context.Context, account int64) (all []TemplateDocument, err error) {
	h, err := s.Letterhead(ctx, account)
	for _, text := range h.Texts {
		all = append(all, TemplateDocument{text, h.Settings.Currency})
	}
	return all, err
}

// Template is the text of an occasion.
func (s *Store) Template(ctx context.Context, account int64, o thanks.Occasion) (TemplateDocument, error) {
	h, err := s.Letterhead(ctx, account)
	if err != nil {
		return TemplateDocument{}, err
	}
	return TemplateDocument{h.Text(o), h.Settings.Currency}, nil
}

// ChangeTemplate changes a text. What says the same as before stays what it was.
func (s *Store) ChangeTemplate(ctx context.Context, account int64, o thanks.Occasion,
	in thanks.TemplateInput,
) (TemplateDocument, error) {
	return Answered(ctx, s, account, Needs{}, func(u Unit) (made TemplateDocument, err error) {
		h, err := readLetterhead(u.Conn, account)
		if err != nil {
			return made, err
		}
		made = TemplateDocument{h.Text(o), h.Settings.Currency}
		changed, err := made.Change(in, made.Currency)
		if err != nil || changed == made.Template {
			return made, err
		}
		made.Template, made.Own = changed, true
		u.Save(TemplateTable, account, string(o), changed.Subject, changed.Body, changed.Amount)
		return made, noteTemplate(u, o)
	})
}

// ResetTemplate goes back to our own text of an occasion.
func (s *Store) ResetTemplate(ctx context.Context, account int64, o thanks.Occasion) error {
	return s.UpdateOnce(ctx, account, func(t *Tx) error {
		h, err := readLetterhead(t.Conn, account)
		if err != nil || !h.Text(o).Own {
			return err
		}
		t.Delete(TemplateTable, account, string(o))
		return noteTemplate(t.Account(account), o)
	})
}

// noteTemplate notes in the history that a text was changed.
func noteTemplate(u Unit, o thanks.Occasion) error {
	name, err := json.Marshal(o.Label())
	if err == nil {
		u.Record(history.SettingNoun, 0, history.DidUpdate,
			doc.Differences{{Field: "thank_you_text", Before: json.RawMessage("null"), After: name, At: -1}}.Text())
	}
	return err
}
