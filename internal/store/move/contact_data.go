package move

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/crm/history"
	"donorbook/internal/db"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/gifts"
)

const (
	sqlGiftIDsOf = `SELECT id FROM gift WHERE account_id = $1 AND contact_id = $2`
	sqlPlanIDsOf = `SELECT id FROM plan WHERE account_id = $1 AND contact_id = $2 ORDER BY id`
	sqlPlansByID = gifts.SQLLoadPlans + ` ORDER BY id`

	// What was merged into a contact and is still part of it, and the merges of the contact itself. One that was undone tells of another person.
	sqlMergesInto = `SELECT id FROM contact_merge WHERE account_id = $1 AND survivor = $2 AND undone = 0`
	sqlMergesAway = `SELECT id FROM contact_merge WHERE account_id = $1 AND other = $2 AND other <> 0`
	sqlMergesByID = store.MergeColumns + ` AND id = ANY($2) ORDER BY id`
)

// ContactData is all that is kept about one person.
type ContactData struct {
	store        *MoveStore
	account      int64
	contact      crm.Contact
	wire         []byte
	merged       []int64 // contacts that were merged into this one, and so are the same person
	Gifts, plans []int64
	merges       []int64
	History      []int64 // the revisions of what was changed
	fields       *custom.Fields
}

// ContactData prepares one file with everything about a person, and notes who asked for it.
func (s *MoveStore) ContactData(ctx context.Context, account, id int64) (*ContactData, error) {
	if store.Foreign(account, id) {
		return nil, crm.ErrNotFound
	}
	d := &ContactData{store: s, account: account}
	var err error
	if d.fields, err = s.CustomFields(ctx, account); err != nil {
		return nil, err
	}
	err = s.InTurn(ctx, account, func(w store.Weigh) error {
		return s.View(ctx, func(c db.Conn) error {
			*d = ContactData{store: s, account: account, fields: d.fields}
			return d.find(c, w, id)
		})
	})
	if err != nil {
		return nil, err
	}
	return d, s.recordExport(ctx, account, Exported{What: "contact", Contact: id, Format: "json"})
}

// find finds what is in the file: what is known of the contact, and of all that were merged into it.
func (d *ContactData) find(c db.Conn, w store.Weigh, id int64) error {
	row, err := store.FindIn(c, crm.ErrNotFound, contacts.ScanContact, contacts.SQLLoadContacts, d.account, []int64{id})
	if err == nil {
		err = row.Damage
	}
	if err == nil {
		d.wire, err = wire(row, d.fields)
	}
	if err != nil {
		return err
	}
	d.contact = row.Contact
	if d.merged, err = store.MergedInto(c, d.account, id); err != nil {
		return err
	}
	slices.Sort(d.merged)
	for _, one := range append([]int64{id}, d.merged...) {
		changes, err := db.List(c, store.Number, store.SQLOldestOf, d.account, int64(history.ContactNoun), one, int64(math.MaxInt64), int64(0))
		if d.History = append(d.History, changes...); err == nil {
			err = w(int64(len(d.History)))
		}
		for sql, to := range map[string]*[]int64{sqlGiftIDsOf: &d.Gifts, sqlPlanIDsOf: &d.plans, sqlMergesInto: &d.merges, sqlMergesAway: &d.merges} {
			if err == nil {
				var ids []int64
				ids, err = db.List(c, store.Number, sql, d.account, one)
				*to = append(*to, ids...)
			}
		}
		if err != nil {
			return err
		}
	}
	for _, ids := range []*[]int64{&d.History, &d.Gifts, &d.plans, &d.merges} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	return nil
}

// Contact is whose data it is.
func (d *ContactData) Contact() *crm.Contact { return &d.contact }

// Write writes the file: an object with the contact, the contacts that were merged into it, their gifts and plans in the form of the API, what was changed, by whom, and what merges keep.
func (d *ContactData) Write(ctx context.Context, to io.Writer) error {
	w := &arrays{to: to}
	w.text.WriteString(`{"contact":`)
	w.text.Write(d.wire)
	w.begin("merged_contacts")
	err := d.each(ctx, w, d.merged, sqlContactsByID, func(r db.Row) ([]byte, error) {
		row := contacts.ScanContact(r)
		if row.Damage != nil {
			return nil, row.Damage
		}
		return wire(row, d.fields)
	})
	w.begin("transactions")
	if err == nil {
		err = d.store.eachGift(ctx, d.account, d.Gifts, func(g *gifts.GiftRecord) error {
			w.element(gifts.GiftDocument{Gift: g.Gift, Slug: g.Slug}.Append(nil))
			return nil
		}, filled, func(int) error { return w.flush() })
	}
	w.begin("plans")
	if err == nil {
		err = d.each(ctx, w, d.plans, sqlPlansByID, func(r db.Row) ([]byte, error) {
			_, p := gifts.ScanPlan(r)
			if p.Damage != nil {
				return nil, p.Damage
			}
			return p.Append(nil), nil
		})
	}
	w.begin("history")
	if err == nil {
		err = d.each(ctx, w, d.History, contacts.SQLOldest, func(r db.Row) ([]byte, error) {
			c := store.ScanChange(r)
			return plainJSON(lineOf(&c))
		})
	}
	w.begin("merges")
	if err == nil {
		err = d.each(ctx, w, d.merges, sqlMergesByID, func(r db.Row) ([]byte, error) {
			m := store.ScanMerge(r)
			return plainJSON(lineOfMerge(&m))
		})
	}
	if err != nil {
		return err
	}
	w.text.WriteString("]}\n")
	return w.flush()
}

func (d *ContactData) each(ctx context.Context, w *arrays, ids []int64, sql string, line func(db.Row) ([]byte, error)) error {
	return eachOf(ctx, d.store, d.account, ids, sql, func(r db.Row) ([]byte, int, error) {
		text, err := line(r)
		return text, len(text), err
	}, filled, func(text []byte) error {
		w.element(text)
		return nil
	}, func(int) error { return w.flush() })
}

// arrays writes the arrays of an object, one after the other.
type arrays struct {
	text      bytes.Buffer
	to        io.Writer
	open, any bool
}

// flush sends what was written.
func (w *arrays) flush() error {
	_, err := w.text.WriteTo(w.to)
	return err
}

func (w *arrays) begin(name string) {
	if w.open {
		w.text.WriteString("]")
	}
	w.text.WriteString(`,"` + name + `":[`)
	w.open, w.any = true, false
}

func (w *arrays) element(text []byte) {
	if w.any {
		w.text.WriteString(",")
	}
	w.any = true
	w.text.Write(text)
}
