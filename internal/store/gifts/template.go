package gifts

import (
	"context"
	"encoding/json"
	"slices"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

const sqlTemplates = `SELECT occasion, subject, body, amount FROM template WHERE account_id = $1 ORDER BY occasion`

func scanTemplate(r db.Row) thanks.Template {
	return thanks.Template{Occasion: thanks.Occasion(r.Text(0)), Subject: r.Text(1), Body: r.Text(2), Amount: r.Int(3), Own: true}
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
		h.Settings, err = store.AccountSettings(c, account)
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
func (s *GiftStore) Letterhead(ctx context.Context, account int64) (Letterhead, error) {
	return store.Snapshot(ctx, s.Base, func(c db.Conn) (Letterhead, error) { return readLetterhead(c, account) })
}

// TemplateDocument is a text as clients see it.
type TemplateDocument struct {
	thanks.Template
	Currency string
}

func (d TemplateDocument) Append(dst []byte) []byte {
	return thanks.AppendTemplate(dst, &d.Template, d.Currency)
}
func (d TemplateDocument) Outcome() store.Outcome { return store.Outcome{} }

// Templates are the texts of an account, one for each occasion.
func (s *GiftStore) Templates(ctx context.Context, account int64) (all []TemplateDocument, err error) {
	h, err := s.Letterhead(ctx, account)
	for _, text := range h.Texts {
		all = append(all, TemplateDocument{text, h.Settings.Currency})
	}
	return all, err
}

// Template is the text of an occasion.
func (s *GiftStore) Template(ctx context.Context, account int64, o thanks.Occasion) (TemplateDocument, error) {
	h, err := s.Letterhead(ctx, account)
	if err != nil {
		return TemplateDocument{}, err
	}
	return TemplateDocument{h.Text(o), h.Settings.Currency}, nil
}

// ChangeTemplate changes a text. What says the same as before stays what it was.
func (s *GiftStore) ChangeTemplate(ctx context.Context, account int64, o thanks.Occasion, in thanks.TemplateInput) (TemplateDocument, error) {
	return store.Answered(ctx, s.Base, account, store.Needs{}, func(t *store.Tx, a *store.Account) (made TemplateDocument, err error) {
		h, err := readLetterhead(t.Conn, account)
		if err != nil {
			return made, err
		}
		made = TemplateDocument{h.Text(o), h.Settings.Currency}
		changed, err := made.Change(in, made.Currency)
		if err != nil || changed == made.Template {
			return made, err
		}
		made.Template, made.Own = changed, true
		t.Save(store.TemplateTable, account, string(o), changed.Subject, changed.Body, changed.Amount)
		return made, noteTemplate(t, a, o)
	})
}

// ResetTemplate goes back to our own text of an occasion.
func (s *GiftStore) ResetTemplate(ctx context.Context, account int64, o thanks.Occasion) error {
	return s.UpdateOnce(ctx, account, func(t *store.Tx) error {
		h, err := readLetterhead(t.Conn, account)
		if err != nil || !h.Text(o).Own {
			return err
		}
		t.Delete(store.TemplateTable, account, string(o))
		return noteTemplate(t, t.Account(account), o)
	})
}

// noteTemplate notes in the history that a text was changed.
func noteTemplate(t *store.Tx, a *store.Account, o thanks.Occasion) error {
	name, err := json.Marshal(o.Label())
	if err == nil {
		t.Record(a, history.SettingNoun, 0, history.DidUpdate, doc.Differences{{Field: "thank_you_text", Before: json.RawMessage("null"), After: name, At: -1}}.Text())
	}
	return err
}
