package move

import (
	"bytes"
	"context"
	"io"
	"math"
	"slices"

	"donorbook/internal/crm"
	"donorbook/internal/crm/custom"
	"donorbook/internal/db"
	"donorbook/internal/store"
)

// ContactData is all that is kept about one person: the records of all nouns that hold data of people.
type ContactData struct {
	store   *MoveStore
	account int64
	contact crm.Contact
	wire    []byte
	person  []int64            // the contact, and those that were merged into it and so are the same person
	Found   map[string][]int64 // the ids of what was found, by the names of the lists
	fields  *custom.Fields
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
	err = s.InTurn(ctx, account, func(w store.Admit) error {
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
func (d *ContactData) find(c db.Conn, w store.Admit, id int64) error {
	row, err := store.FindIn(c, crm.ErrNotFound, store.ScanContact, store.SQLLoadContacts, d.account, []int64{id})
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
	if d.person, err = store.MergedInto(c, d.account, id); err != nil {
		return err
	}
	d.person, d.Found = append([]int64{id}, d.person...), make(map[string][]int64)
	weight := int64(0)
	for _, n := range nouns {
		for i := 0; i < len(d.person) && n.person != nil && err == nil; i++ {
			var some []int64
			some, err = db.List(c, store.Number, n.person.of, d.account, d.person[i], int64(0), int64(math.MaxInt64))
			d.Found[n.person.list] = append(d.Found[n.person.list], some...)
			if weight += int64(len(some)); err == nil {
				err = w(weight)
			}
		}
	}
	for list, ids := range d.Found {
		slices.Sort(ids)
		d.Found[list] = slices.Compact(ids)
	}
	return err
}

// Contact is whose data it is.
func (d *ContactData) Contact() *crm.Contact { return &d.contact }

// Write writes the file: an object with the contact as the API shows it, and a list for each noun.
func (d *ContactData) Write(ctx context.Context, to io.Writer) error {
	w := &arrays{to: to}
	w.text.WriteString(`{"contact":`)
	w.text.Write(d.wire)
	for _, n := range nouns {
		if n.person == nil {
			continue
		}
		w.begin(n.person.list)
		err := eachOf(ctx, d.store, d.account, d.Found[n.person.list], n.person.byID,
			func(r db.Row) ([]byte, int, error) {
				text, err := n.person.show(d, r)
				return text, len(text), err
			}, filled, func(text []byte) error {
				w.element(text)
				return nil
			}, func(int) error { return w.flush() })
		if err != nil {
			return err
		}
	}
	w.text.WriteString("]}\n")
	return w.flush()
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
	if text == nil {
		return
	}
	if w.any {
		w.text.WriteString(",")
	}
	w.any = true
	w.text.Write(text)
}
