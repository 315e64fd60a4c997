package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// task is work with the question that comes before it is timed: is the answer the right one?
type task struct {
	work
	check func(address string) error
}

// Each of these compares one answer with what the data says.

// checkGet compares the body of one contact with what the database holds.
func checkGet(address string, d *dataset, choose func(*rand.Rand) (account, int64)) error {
	a, id := choose(d.dice())
	want, err := d.contact(a, id)
	if err != nil {
		return err
	}
	return checkBody(address, fmt.Sprintf("/v1/contacts/%d", id), a.Key, want)
}

// checkBody compares a whole answer.
func checkBody(address, path, key string, want []byte) error {
	got, err := once(address, "GET", path, key, nil)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s is not what was expected: %.300s", path, got)
	}
	return err
}

// contact is an active contact as the database holds it.
func (d *dataset) contact(a account, id int64) (body []byte, err error) {
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return nil, err
	}
	defer db.close() //nolint:errcheck // it only reads
	err = db.each(func(row *sqlite3.Stmt) { body = crm.AppendContact(nil, id, row.ColumnRawBlob(0)) }, sqlRawGet, a.Number, id)
	if err == nil && body == nil {
		err = fmt.Errorf("the database has no active contact %d", id)
	}
	return body, err
}

// checkPage compares a page with what OFFSET gives.
func (d *dataset) checkPage(address string, a account, scope string, number int) error {
	p, err := askPage(address, a.Key, pagePath(scope, number))
	if err != nil {
		return err
	}
	want, err := d.page(a, scope, number)
	if err == nil && !bytes.Equal(want, p.Data) {
		err = fmt.Errorf("page %d of account %d is not what OFFSET gives", number, a.Number)
	}
	return err
}

// page are the contacts of a page as OFFSET gives them.
func (d *dataset) page(a account, scope string, number int) (list []byte, err error) {
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return nil, err
	}
	defer db.close() //nolint:errcheck // it only reads
	most := int64(0)
	if scope == "all" {
		most = 1
	}
	list = []byte{'['}
	err = db.each(func(row *sqlite3.Stmt) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = crm.AppendContact(list, row.ColumnInt64(0), row.ColumnRawBlob(1))
	}, `SELECT id, body FROM contact WHERE account_id = ? AND archived <= ? ORDER BY id LIMIT 20 OFFSET ?`, a.Number, most, int64(number-1)*20)
	return append(list, ']'), err
}

// checkCreate creates somebody, and compares the answer with the document that crm makes of the same request.
func checkCreate(address string, a account, g generator) (id int64, p person, err error) {
	n, before := int(serial.Add(1)), time.Now()
	got, err := once(address, "POST", "/v1/contacts", a.Key, g.request(nil, n, newcomer))
	if err != nil {
		return 0, p, err
	}
	var made struct{ ID int64 }
	if err := json.Unmarshal(got, &made); err != nil {
		return 0, p, err
	}
	again, err := once(address, "GET", fmt.Sprintf("/v1/contacts/%d", made.ID), a.Key, nil)
	if err == nil && !bytes.Equal(got, again) {
		err = fmt.Errorf("contact %d reads otherwise than it was created", made.ID)
	}
	for at := before; err == nil && !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
		if p, err = g.person(n, newcomer, at); err == nil && bytes.Equal(got, crm.AppendContact(nil, made.ID, p.body)) {
			return made.ID, p, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("a create answered otherwise than expected: %.300s", got)
	}
	return 0, p, err
}

// checkStored creates somebody, and finds in the file what fill and raw would have written.
func checkStored(address string, d *dataset, g generator) error {
	id, p, err := checkCreate(address, d.Accounts[0], g)
	if err != nil {
		return err
	}
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return err
	}
	defer db.close() //nolint:errcheck // it only reads
	return db.holds(d.Accounts[0], id, p)
}

// holds tells whether a contact is stored with everything that belongs to it.
func (d *database) holds(a account, id int64, p person) error {
	found, err := d.number(`SELECT count(*) FROM contact WHERE archived = 0 AND account_id = ? AND id = ? AND match_keys = ?`, a.Number, id, strings.Join(p.contact.MatchKeys, "\n"))
	for _, key := range p.contact.MatchKeys {
		if err == nil && found == 1 {
			found, err = d.number(`SELECT count(*) FROM contact_index WHERE account_id = ? AND key = ? AND id = ?`, a.Number, key, id)
		}
	}
	for word := range strings.FieldsSeq(p.contact.SearchDocument(a.Number)) {
		if err == nil && found == 1 {
			found, err = d.number(`SELECT count(*) FROM contact_search WHERE contact_search MATCH ? AND rowid = ?`, `"`+word+`"`, id)
		}
	}
	if err == nil && found != 1 {
		err = fmt.Errorf("contact %d is stored otherwise than this program would have filled it in", id)
	}
	return err
}

// checkChange sends a change of a contact, and looks whether the answer is about it and has what was sent.
func checkChange(address, method, path, key string, body []byte, id int64, title string, tags ...string) error {
	got, err := once(address, method, path, key, body)
	if err != nil {
		return err
	}
	var c struct {
		ID    int64
		Title string
		Tags  []string
	}
	if err := json.Unmarshal(got, &c); err != nil {
		return fmt.Errorf("%s %s: %w: %.200s", method, path, err, got)
	}
	missing := slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(c.Tags, tag) })
	if c.ID != id || missing || title != "" && c.Title != title {
		return fmt.Errorf("%s %s answers %.300s", method, path, got)
	}
	return nil
}
