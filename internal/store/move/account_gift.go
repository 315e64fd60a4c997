package move

import (
	"cmp"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/thanks"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// documentKept is what the lines of gifts and plans say beside the documents.
type documentKept struct {
	Revision int64 `json:"revision"`
	Ahead    *int  `json:"ahead,omitempty"` // seconds of UTC: a gift's clock, of which files up to 0.10 do not tell
}

func exportPlans(x *accountExport, w *LineWriter) error {
	return x.documents(w, "plans", sqlPlansByID, x.row.PlanSeq, planLine)
}

func planLine(r db.Row) (line []byte, kept documentKept, err error) {
	_, p := store.ScanPlan(r)
	if p.Damage != nil {
		return nil, kept, p.Damage
	}
	return p.Append(nil), documentKept{Revision: p.Revision}, nil
}

func readPlan(r *accountReader, h *head[string, documentKept], body []byte) (importLine, error) {
	p, err := giving.ParsePlan(store.CodeID(r.manifest.Account.Number, h.ID), h.ID, body)
	if err == nil {
		err = cmp.Or(r.numbered(h.ID, &r.plans), r.known(h.Kept.Revision), r.refers(p.Contact, p.Campaign),
			p.CheckImported(r.now), r.isNew(find.PlanReference, p.ExternalID))
	}
	return func(w *accountWriter) error {
		made := p
		made.ID, made.Contact, made.Campaign = w.id(p.ID), w.id(p.Contact), w.campaigns[p.Campaign]
		w.PlanSeq = doc.IDSeq(made.ID)
		w.done.Plans++
		return store.PutPlan(w.Unit, &made, w.revision(h.Kept.Revision))
	}, err
}

func exportGifts(x *accountExport, w *LineWriter) error {
	return x.documents(w, "gifts", store.SQLGiftsByID, x.row.GiftSeq, giftLine)
}

func giftLine(r db.Row) (line []byte, kept documentKept, err error) {
	_, g := store.ScanGift(r)
	if g.Damage != nil {
		return nil, kept, g.Damage
	}
	kept = documentKept{g.Revision, new(int(store.Ahead(&g.Gift)))}
	return store.GiftDocument{Gift: g.Gift, Slug: r.Text(10)}.Append(nil), kept, nil
}

func readGift(r *accountReader, h *head[string, documentKept], body []byte) (importLine, error) {
	g, err := giving.ParseGift(store.CodeID(r.manifest.Account.Number, h.ID), h.ID, h.Campaign, body)
	if err == nil {
		err = cmp.Or(r.numbered(h.ID, &r.gifts), r.known(h.Kept.Revision), r.refers(g.Contact, g.Campaign),
			g.CheckImported(r.now), r.isNew(find.GiftReference, g.ExternalID))
	}
	if ahead := h.Kept.Ahead; err == nil && ahead != nil && max(*ahead, -*ahead) > store.ClockSpan {
		err = problem("is by a clock that no place has")
	}
	if plan := g.Plan(); err == nil && plan != 0 && doc.IDSeq(plan) > r.plans {
		err = problem("names a plan that " + PlanFile + " does not have")
	}
	if id := thanks.ReceiptID(g.Receipt); id != 0 {
		r.receipts ^= thanks.Mark(g.ID, id, g.Left())
	} else if err == nil && g.Receipt != "" {
		err = problem("has a receipt that is not numbered like 2026-00017")
	}
	return func(w *accountWriter) error {
		made := g
		made.ID, made.Contact, made.Campaign = w.id(g.ID), w.id(g.Contact), w.campaigns[g.Campaign]
		zone := w.Location()
		if h.Kept.Ahead != nil {
			zone = time.FixedZone("", *h.Kept.Ahead)
		}
		made.Local = giving.GiftClock(g.At, zone)
		w.stage(made.ID, find.GiftRows(&made), func() error {
			w.GiftSeq, w.givers[made.Contact] = doc.IDSeq(made.ID), true
			w.done.Gifts++
			return store.PutGift(w.Unit, &made, w.revision(h.Kept.Revision))
		})
		return nil
	}, err
}

// documents writes gifts or plans, which are numbered without a gap. A bounded number is read with each statement.
func (x *accountExport) documents(
	w *LineWriter, what, sql string, seq int64, read func(db.Row) ([]byte, documentKept, error),
) error {
	for from := int64(0); from < seq; from += PieceRows {
		err := x.conn.Each(func(r db.Row) error {
			line, kept, err := read(r)
			if err != nil {
				return err
			}
			return w.document(line, kept)
		}, sql, x.account.Number, store.SeqIDs(x.account.Number, from+1, min(from+PieceRows, seq)))
		if err != nil {
			return err
		}
		x.progress(what, w.Rows, seq)
	}
	return nil
}

// numbered is the sequence number of a gift or a plan. Both are in ascending order.
func (r *accountReader) numbered(code string, last *int64) (err error) {
	seq, ok := giving.CodeSeq(code)
	switch {
	case !ok:
		err = problem("has no id of 16 letters and digits")
	case seq <= *last:
		err = problem("has a number that does not follow the one before it")
	}
	*last = seq
	return err
}
