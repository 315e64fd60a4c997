package store

import (
	"bufio"
	"context"
	"io"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/db"
)

const (
	sqlGiftIDsOf = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2`
	sqlPlanIDsOf = `SELECT id FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id`
	sqlPlansByID = sqlLoadPlans + ` ORDER BY id`
)

// ContactData is all that is kept about one person.
type ContactData struct {
	store        *Store
	account      int64
	contact      crm.Contact
	wire         []byte
	gifts, plans []int64
	history      []int64 // the revisions of what was changed
}

// ContactData prepares one file with everything about a person, and notes who asked for it.
func (s *Store) ContactData(ctx context.Context, account, id int64) (*ContactData, error) {
	if foreign(account, id) {
		return nil, crm.ErrNotFound
	}
	d := &ContactData{store: s, account: account}
	fields, err := s.CustomFields(ctx, account)
	if err != nil {
		return nil, err
	}
	look := func(c db.Conn) (err error) {
		found, last := false, int64(0)
		err = c.Each(func(r db.Row) error {
			row := scanContact(r)
			if row.damage != nil {
				return row.damage
			}
			found, last, d.contact = true, row.revision, row.contact
			d.wire, err = row.wire(fields)
			return err
		}, sqlLoadContacts, account, []int64{id})
		if err != nil || !found {
			return firstError(err, crm.ErrNotFound)
		}
		for sql, to := range map[string]*[]int64{sqlGiftIDsOf: &d.gifts, sqlPlanIDsOf: &d.plans} {
			if *to, err = db.List(c, number, sql, account, id); err != nil {
				return err
			}
			slices.Sort(*to)
		}
		changes, err := readChain(c, account, last, math.MaxInt64)
		slices.Reverse(changes.revisions)
		d.history = changes.revisions
		return err
	}
	err = s.sifting.through(ctx, account, func() error { return s.view(ctx, look) }) // the history of one contact may be long
	if err != nil {
		return nil, err
	}
	return d, s.recordExport(ctx, account, Exported{What: "contact", Contact: id, Format: "json"})
}

// Contact is whose data it is.
func (d *ContactData) Contact() *crm.Contact { return &d.contact }

// Write writes the file: an object with the contact, their gifts and plans in the form of the API, and what was changed, by whom.
func (d *ContactData) Write(ctx context.Context, to io.Writer) error {
	w := &arrays{Writer: bufio.NewWriterSize(to, 64<<10)}
	w.text(`{"contact":`)
	w.text(string(d.wire))
	w.begin("transactions")
	err := d.store.eachGift(ctx, d.account, d.gifts, func(g *GiftRecord) error { return w.element(GiftDocument{Gift: g.Gift, Slug: g.Slug}.Append(nil)) }, func(int) {})
	w.begin("plans")
	if err == nil {
		err = d.each(ctx, w, d.plans, sqlPlansByID, func(r db.Row) ([]byte, error) {
			_, p := scanPlan(r)
			if p.damage != nil {
				return nil, p.damage
			}
			return p.Append(nil), nil
		})
	}
	w.begin("history")
	if err == nil {
		err = d.each(ctx, w, d.history, sqlOldest, func(r db.Row) ([]byte, error) {
			c := scanChange(r)
			return plainJSON(lineOf(&c))
		})
	}
	if err != nil {
		return err
	}
	w.text("]}\n")
	return w.Flush()
}

func (d *ContactData) each(ctx context.Context, w *arrays, ids []int64, sql string, line func(db.Row) ([]byte, error)) error {
	var piece [][]byte
	return d.store.inPieces(ctx, d.account, ids, sql, func() { piece = piece[:0] }, func(r db.Row) (int, error) {
		text, err := line(r)
		piece = append(piece, text)
		return len(text), err
	}, func() error {
		for _, text := range piece {
			if err := w.element(text); err != nil {
				return err
			}
		}
		return nil
	})
}

// arrays writes the arrays of an object, one after the other.
type arrays struct {
	*bufio.Writer
	open, any bool
}

func (w *arrays) text(text string) { _, _ = w.WriteString(text) } // Flush tells

func (w *arrays) begin(name string) {
	if w.open {
		w.text("]")
	}
	w.text(`,"` + name + `":[`)
	w.open, w.any = true, false
}

func (w *arrays) element(text []byte) error {
	if w.any {
		w.text(",")
	}
	w.any = true
	_, err := w.Write(text)
	return err
}
