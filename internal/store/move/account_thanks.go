package move

import (
	"context"

	"donorbook/internal/crm"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// templateLine is a thank-you text of the organization.
type templateLine struct {
	Occasion string `json:"occasion"`
	Subject  string `json:"subject"`
	Body     string `json:"body"`
	Amount   int64  `json:"amount"` // from which on a gift is large, in the smallest unit of the currency
}

func readTemplate(r *accountReader, l *templateLine) (importLine, error) {
	made := thanks.Template{Occasion: thanks.Occasion(l.Occasion), Subject: l.Subject, Body: l.Body, Amount: l.Amount}
	if err := made.Check(); err != nil {
		return nil, err
	}
	if made != (thanks.Template{Occasion: made.Occasion, Subject: l.Subject, Body: l.Body, Amount: l.Amount}) {
		return nil, problem(notWritten)
	}
	if l.Occasion <= r.occasion {
		return nil, problem("does not follow the occasion before it")
	}
	r.occasion = l.Occasion
	return func(w *accountWriter) error {
		w.Insert(store.TemplateTable, w.Number, l.Occasion, l.Subject, l.Body, l.Amount)
		return nil
	}, nil
}

const (
	sqlMailsAbout = `SELECT m.id AS id, m.id AS head FROM gift g JOIN mail m ON m.account_id = $1
		AND m.about >= 'gift ' || g.id AND m.about < 'gift ' || g.id || '!' AND m.about <> '' WHERE g.account_id = $1 AND g.contact_id = $2 AND m.id > $3
		UNION SELECT m.id AS id, m.id AS head FROM gift g JOIN donation d ON d.account_id = $1 AND d.code = g.code AND d.code <> '' JOIN mail m ON m.account_id = $1 AND m.about = 'donation ' || d.id AND m.about <> ''
			WHERE g.account_id = $1 AND g.contact_id = $2 AND m.id > $3
		UNION SELECT m.id AS id, m.id AS head FROM contact c JOIN mail m ON m.account_id = $1 AND m.about >= 'contact ' || c.id AND m.about < 'contact ' || c.id || '!' AND m.about <> '' WHERE c.account_id = $1 AND c.id = $2 AND m.id > $3 ORDER BY id LIMIT $4`
	sqlMailsByID = `SELECT id, kind, recipient, error, created_at, ended_at FROM mail WHERE account_id = $1
		AND id = ANY($2) ORDER BY id`
	sqlNextMails   = `SELECT id, recipient, said FROM mail WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3`
	sqlForgetMails = `DELETE FROM mail WHERE account_id = $1 AND about IN ($2, $3) AND about <> ''`
)

// mailData are the mails about a person and their gifts, for as long as they are known. They follow the gifts, and are
// erased with them.
var mailData = &personal{list: "mails", of: sqlMailsAbout, byID: sqlMailsByID,
	show: func(_ *ContactData, r db.Row) ([]byte, error) {
		return plainJSON(struct {
			Kind      string `json:"kind"`
			To        string `json:"to"`
			Error     string `json:"error"`
			CreatedAt int64  `json:"created_at"`
			EndedAt   int64  `json:"ended_at"`
		}{r.Text(1), r.Text(2), r.Text(3), r.Int(4), r.Int(5)})
	}}

// mails deletes mails to a person about gifts that are someone else's now, such as after a merge was undone.
func (e *eraser) mails(ctx context.Context, p *erasedPiece) (ended bool, err error) {
	type mail struct {
		id       int64
		to, said string
	}
	some, err := store.List(ctx, e.JobStore.Store, func(r db.Row) mail { return mail{r.Int(0), r.Text(1), r.Text(2)} },
		sqlNextMails, e.job.Account, e.at.ID, int64(eraseUnit))
	for _, m := range some {
		e.at.ID = m.id
		if e.naming(crm.SaidBy(m.to)) || m.said != "" && e.naming(crm.SaidIn(m.said)) {
			p.decide(func(u store.Unit) (func() error, error) {
				return func() error { u.Delete(store.MailTable, u.Number, m.id); return nil }, nil
			})
		}
	}
	return len(some) < eraseUnit, err
}
