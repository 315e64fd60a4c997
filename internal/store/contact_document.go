package store

import "donorbook/internal/crm"

// Document is a contact as it is stored and answered.
type Document struct {
	ID      int64
	Body    []byte
	Created bool   // it is new
	Merged  bool   // a create was merged into a contact that was there
	Before  []byte // the body of that contact as it was
	Tag     crm.ETag

	fields *crm.CustomFields // that it is shown with; nil where it has none
}

// Fate tells what has become of a create.
func (d Document) Fate() (created, merged bool) { return d.Created, d.Merged }

// Append appends the wire form.
func (d Document) Append(dst []byte) []byte {
	if d.fields != nil {
		if shown, err := crm.AppendCustomized(dst, d.ID, d.Body, d.fields); err == nil { // we have just written it
			return shown
		}
	}
	return crm.AppendContact(dst, d.ID, d.Body)
}

// document is a contact that was changed, for its answer.
func (t *tx) document(c *crm.Contact, body []byte) (d Document, err error) {
	d = Document{ID: c.ID, Body: body}
	a, err := t.lock(crm.IDAccount(c.ID))
	if err != nil {
		return d, err
	}
	if row := a.contacts[c.ID]; row != nil {
		d.Tag = row.etag(a)
	}
	if len(c.Custom) > 0 {
		if d.fields, err = t.customFields(a); err != nil {
			return d, err
		}
	}
	return d, nil
}
