package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// getAnyone asks for contacts uniformly, getRegulars mostly for a few.
func getAnyone(d *dataset) work   { return getBy(d.anyone) }
func getRegulars(d *dataset) work { return getBy(d.regular) }

func getBy(choose func(*rand.Rand) (account, int64)) work {
	var path [64]byte
	return func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := choose(r)
		buffer := path // a copy: many connections share the work
		return request(dst, "GET", string(strconv.AppendInt(append(buffer[:0], "/v1/contacts/"...), id, 10)), a.Key, nil)
	}
}

// getPath asks for the same thing again and again.
func getPath(path, key string) work {
	wire := request(nil, "GET", path, key, nil)
	return func(dst []byte, _ *rand.Rand, _ int64) []byte { return append(dst, wire...) }
}

// listAnyPage asks for random pages of random accounts.
func listAnyPage(d *dataset) work {
	return func(dst []byte, r *rand.Rand, _ int64) []byte {
		a := d.byWeight(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", 1+r.IntN((a.Active+19)/20)), a.Key, nil)
	}
}

// listFirstPage asks for the first page of random accounts.
func listFirstPage(d *dataset) work {
	return func(dst []byte, r *rand.Rand, _ int64) []byte {
		return request(dst, "GET", "/v1/contacts", d.byWeight(r).Key, nil)
	}
}

// create makes people whom nobody knows.
func create(d *dataset, g generator) work {
	return func(dst []byte, r *rand.Rand, n int64) []byte {
		return request(dst, "POST", "/v1/contacts", d.byWeight(r).Key, g.request(nil, int(n), newcomer))
	}
}

// createAgain is create where one in five is somebody who is there already, with a new title.
func createAgain(d *dataset, g generator) work {
	fresh := create(d, g)
	return func(dst []byte, r *rand.Rand, n int64) []byte {
		if r.IntN(5) > 0 {
			return fresh(dst, r, n)
		}
		a, id := d.anyone(r)
		known := a.First + int(crm.IDSeq(id)) - 1
		body := fmt.Appendf(nil, `{"first_name":"Again","last_name":"Known","title":"Seen %d","emails":[{"value":"p%d@mail.example.org"}],"tags":["gala 2026"]}`, n, known)
		return request(dst, "POST", "/v1/contacts", a.Key, body)
	}
}

// patch gives random contacts another title, retag another set of tags.
func patch(d *dataset) work {
	return func(dst []byte, r *rand.Rand, n int64) []byte {
		a, id := d.anyone(r)
		return request(dst, "PATCH", fmt.Sprintf("/v1/contacts/%d", id), a.Key, fmt.Appendf(nil, `{"title":"Changed %d"}`, n))
	}
}

func retag(d *dataset) work {
	return func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := d.anyone(r)
		return request(dst, "POST", fmt.Sprintf("/v1/contacts/%d/tags/sync", id), a.Key,
			fmt.Appendf(nil, `{"tags":["%s","%s","%s"]}`, pick(r, causes), pick(r, causes), pick(r, causes)))
	}
}

// mixed is a day of a busy installation: of 20 requests 15 get, 2 list, 2 change and 1 creates.
func mixed(d *dataset, g generator) work {
	get, list, change, add := getRegulars(d), listAnyPage(d), patch(d), createAgain(d, g)
	return func(dst []byte, r *rand.Rand, n int64) []byte {
		switch at := r.IntN(20); {
		case at < 15:
			return get(dst, r, n)
		case at < 17:
			return list(dst, r, n)
		case at < 19:
			return change(dst, r, n)
		}
		return add(dst, r, n)
	}
}

// checkGet compares the body of one contact with what the database holds.
func checkGet(address string, d *dataset) error {
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return err
	}
	defer db.close() //nolint:errcheck // it only reads
	a, id := d.anyone(d.dice())
	got, err := once(address, "GET", fmt.Sprintf("/v1/contacts/%d", id), a.Key, nil)
	if err != nil {
		return err
	}
	stmt, err := db.bind(sqlRawGet, a.Number, id)
	if err != nil {
		return err
	}
	if !stmt.Step() || !bytes.Equal(got, crm.AppendContact(nil, id, stmt.ColumnRawBlob(0))) {
		return fmt.Errorf("contact %d is not what the database holds", id)
	}
	return stmt.Reset()
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
	a := d.Accounts[0]
	id, p, err := checkCreate(address, a, g)
	if err != nil {
		return err
	}
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return err
	}
	defer db.close() //nolint:errcheck // it only reads
	found, err := db.number(`SELECT count(*) FROM contact JOIN contact_change USING (account_id, revision, id, archived)
		WHERE account_id = ? AND id = ? AND match_keys = ?`, a.Number, id, strings.Join(p.contact.MatchKeys, "\n"))
	for i := 0; i < len(p.keys) && err == nil && found == 1; i++ {
		found, err = db.number(`SELECT count(*) FROM contact_index WHERE account_id = ? AND key = ? AND id = ?`, a.Number, p.keys[i], id)
	}
	if err == nil && found != 1 {
		err = fmt.Errorf("contact %d is stored otherwise than this program would have filled it in", id)
	}
	return err
}
