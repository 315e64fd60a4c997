package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/store"
)

func (c *call) takeOccasion(text string) bool {
	c.code = text
	return slices.Contains(thanks.Texts, thanks.Occasion(text))
}

func (a *API) listTemplates(r *http.Request, c call, l *list) fetch {
	return each(func() ([]store.TemplateDocument, store.ListResult, error) {
		all, err := a.store.Templates(r.Context(), c.who.Account)
		total := int64(len(all))
		shown := all[min(l.page.Skip(), total):min(l.page.Skip()+l.page.PerPage, total)]
		return shown, store.ListResult{Total: total, Count: int64(len(shown))}, err
	}, func(d *store.TemplateDocument, dst []byte) []byte { return d.Append(dst) })
}

func (a *API) getTemplate(w http.ResponseWriter, r *http.Request, c call) error {
	return respond(w, func(dst []byte) ([]byte, error) {
		found, err := a.store.Template(r.Context(), c.who.Account, thanks.Occasion(c.code))
		if err != nil {
			return dst, err
		}
		return found.Append(dst), nil
	})
}

func (a *API) updateTemplate(w http.ResponseWriter, r *http.Request, c call) (made store.TemplateDocument, err error) {
	in, err := decode(a, w, r, c, thanks.DecodeTemplate)
	if err != nil {
		return made, err
	}
	return a.store.ChangeTemplate(c.by(r), c.who.Account, thanks.Occasion(c.code), in)
}

func (a *API) resetTemplate(w http.ResponseWriter, r *http.Request, c call) error {
	return writeDeleted(w, a.store.ResetTemplate(c.by(r), c.who.Account, thanks.Occasion(c.code)))
}

// templatePreview is a thank-you as clients see it.
type templatePreview struct {
	Occasion string   `json:"occasion"`
	Subject  string   `json:"subject"`
	Text     []string `json:"text"`
}

// previewTemplate fills a text in with a gift.
func (a *API) previewTemplate(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	faults := new(doc.Invalid)
	code := q.text("transaction_id", faults)
	if code == "" {
		faults.Add("transaction_id", doc.Required)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	gift, err := a.store.GiftRecord(r.Context(), c.who.Account, code)
	if errors.Is(err, crm.ErrNotFound) {
		err = doc.NewInvalid("transaction_id", "must be one of your transactions")
	}
	if err != nil {
		return err
	}
	y, err := a.store.ThankYou(r.Context(), c.who.Account, &gift.Gift, thanks.Occasion(c.code))
	if err != nil {
		return err
	}
	return respond(w, func(dst []byte) ([]byte, error) {
		line, err := json.Marshal(templatePreview{c.code, y.Subject.Printed(), texts(y.Says)})
		return append(dst, line...), err
	})
}
