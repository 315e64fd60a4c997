package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm"
)

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// getAnyone asks for contacts uniformly, getRegulars mostly for a few.
func getAnyone(p *place) task   { return getBy(p, p.data.anyone) }
func getRegulars(p *place) task { return getBy(p, p.data.regular) }

func getBy(p *place, choose func(*rand.Rand) (account, int64)) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := choose(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts/%d", id), a.Key, nil)
	}
	return task{work: next, check: func() error {
		a, id := choose(p.data.dice())
		want, err := p.data.contact(a, id)
		return errors.Join(err, p.checkBody(fmt.Sprintf("/v1/contacts/%d", id), a.Key, want))
	}}
}

// getPath asks for the same thing again and again.
func getPath(path, key string) work {
	wire := request(nil, "GET", path, key, nil)
	return func(dst []byte, _ *rand.Rand, _ int64) []byte { return append(dst, wire...) }
}

// getSame is getPath where the answer is known.
func (p *place) getSame(path, key string, want []byte) task {
	return task{work: getPath(path, key), check: func() error { return p.checkBody(path, key, want) }}
}

// checkBody compares a whole answer.
func (p *place) checkBody(path, key string, want []byte) error {
	got, err := once(p.address, "GET", path, key, nil)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s is not what was expected: %.300s", path, got)
	}
	return err
}

// The pages of the largest account that are asked for again and again.
func listFirst(p *place) task      { return p.listPage("active", 1) }
func listFirstOfAll(p *place) task { return p.listPage("all", 1) }
func listLastOfAll(p *place) task  { return p.listPage("all", lastPage(p.data.Accounts[0])) }

// lastPage is the last full page of all contacts of an account.
func lastPage(a account) int { return a.Contacts / 20 }

func (p *place) listPage(scope string, number int) task {
	a := p.data.Accounts[0]
	return task{
		work:  getPath(pagePath(scope, number), a.Key),
		check: func() error { return p.data.checkPage(p.address, a, scope, number) },
	}
}

// listAnyPage asks for random pages of random accounts.
func listAnyPage(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a := p.data.byWeight(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", a.anyPage(r)), a.Key, nil)
	}
	return task{work: next, check: func() error { return p.data.check(p.address, 5) }}
}

// create makes people who are not there yet.
func create(p *place) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		return request(dst, "POST", "/v1/contacts", p.data.byWeight(r).Key, p.people.request(nil, int(n), newcomer))
	}
	return task{work: next, check: p.checkCreate}
}

// checkCreate creates a contact, compares the answer with the document that crm makes of the same request, and looks in the file for
// what fill and raw would have written.
func (p *place) checkCreate() error {
	a, n, before := p.data.Accounts[0], int(serial.Add(1)), time.Now()
	got, err := once(p.address, "POST", "/v1/contacts", a.Key, p.people.request(nil, n, newcomer))
	if err != nil {
		return err
	}
	var made struct{ ID int64 }
	if err := json.Unmarshal(got, &made); err != nil {
		return err
	}
	if err := p.checkBody(fmt.Sprintf("/v1/contacts/%d", made.ID), a.Key, got); err != nil {
		return err
	}
	for at := before; !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
		person, err := p.people.person(n, newcomer, at)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, crm.AppendContact(nil, made.ID, person.body)) {
			continue
		}
		if p.remote {
			return nil
		}
		return p.data.open(func(db *database) error { return db.holds(a, made.ID, person) })
	}
	return fmt.Errorf("a create was not answered as expected: %.300s", got)
}

// createAgain is create where one in five is already there, and comes with a new title.
func createAgain(p *place) task {
	fresh := create(p)
	again := func(a account, id, n int64) []byte {
		known := a.First + int(crm.IDSeq(id)) - 1
		return fmt.Appendf(nil, `{"first_name":"Again","last_name":"Known","title":"Seen %d","emails":[{"value":"%s@mail.example.org"}],"tags":["gala 2026"]}`, n, handle(known, ""))
	}
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		if r.IntN(5) > 0 {
			return fresh.work(dst, r, n)
		}
		a, id := p.data.anyone(r)
		return request(dst, "POST", "/v1/contacts", a.Key, again(a, id, n))
	}
	return task{work: next, check: func() error {
		a, id := p.data.anyone(p.data.dice())
		return errors.Join(fresh.check(), p.checkChange(a, id, "POST", "", string(again(a, id, 1)), "", "gala 2026"))
	}}
}

// patch gives random contacts another title, retag another set of tags.
func patch(p *place) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "PATCH", fmt.Sprintf("/v1/contacts/%d", id), a.Key, fmt.Appendf(nil, `{"title":"Changed %d"}`, n))
	}
	return task{work: next, check: func() error {
		a, id := p.data.anyone(p.data.dice())
		return p.checkChange(a, id, "PATCH", fmt.Sprintf("/%d", id), `{"title":"Changed"}`, "Changed")
	}}
}

func retag(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "POST", fmt.Sprintf("/v1/contacts/%d/tags/sync", id), a.Key,
			fmt.Appendf(nil, `{"tags":["%s","%s","%s"]}`, pick(r, causes), pick(r, causes), pick(r, causes)))
	}
	return task{work: next, check: func() error {
		a, id := p.data.anyone(p.data.dice())
		return p.checkChange(a, id, "POST", fmt.Sprintf("/%d/tags/sync", id), `{"tags":["choir","vip"]}`, "", "choir", "vip")
	}}
}

// checkChange sends a change of a contact, and looks whether the answer is about it and has what was sent.
func (p *place) checkChange(a account, id int64, method, path, body, title string, tags ...string) error {
	got, err := once(p.address, method, "/v1/contacts"+path, a.Key, []byte(body))
	if err != nil {
		return err
	}
	var c struct {
		ID    int64
		Title string
		Tags  []string
	}
	err = json.Unmarshal(got, &c)
	missing := slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(c.Tags, tag) })
	if err != nil || c.ID != id || missing || title != "" && c.Title != title {
		return fmt.Errorf("%s %s answers %.300s (%v)", method, path, got, err)
	}
	return nil
}

// mixed is a day of a busy installation: of 20 requests 15 get, 2 list, 2 change and 1 creates.
func mixed(p *place) task {
	tasks := []task{getRegulars(p), listAnyPage(p), patch(p), createAgain(p)}
	const order = "00000000000000011223"
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		return tasks[order[r.IntN(len(order))]-'0'].work(dst, r, n)
	}
	return task{work: next, check: func() (err error) {
		for _, t := range tasks {
			err = errors.Join(err, t.check())
		}
		return err
	}}
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
		err = fmt.Errorf("contact %d is not stored as this program would have written it", id)
	}
	return err
}
