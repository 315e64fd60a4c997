package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"donorbook/internal/crm"
)

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// getAnyone asks for contacts uniformly, getRegulars mostly for a few.
func getAnyone(d *dataset) task   { return getBy(d, d.anyone) }
func getRegulars(d *dataset) task { return getBy(d, d.regular) }

func getBy(d *dataset, choose func(*rand.Rand) (account, int64)) task {
	var path [64]byte
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := choose(r)
		buffer := path // a copy: many connections share the work
		return request(dst, "GET", string(strconv.AppendInt(append(buffer[:0], "/v1/contacts/"...), id, 10)), a.Key, nil)
	}
	return task{next, func(address string) error { return checkGet(address, d, choose) }}
}

// getPath asks for the same thing again and again.
func getPath(path, key string) work {
	wire := request(nil, "GET", path, key, nil)
	return func(dst []byte, _ *rand.Rand, _ int64) []byte { return append(dst, wire...) }
}

// getSame is getPath where the answer is known.
func getSame(path, key string, want []byte) task {
	return task{getPath(path, key), func(address string) error { return checkBody(address, path, key, want) }}
}

// listPage asks for one page of an account.
func listPage(d *dataset, a account, scope string, number int) task {
	return task{
		getPath(pagePath(scope, number), a.Key),
		func(address string) error { return d.checkPage(address, a, scope, number) },
	}
}

// pagePath is the shortest address of a page.
func pagePath(scope string, number int) string {
	if scope == "active" && number == 1 {
		return "/v1/contacts"
	}
	return fmt.Sprintf("/v1/contacts?scope=%s&page=%d", scope, number)
}

// listAnyPage asks for random pages of random accounts.
func listAnyPage(d *dataset) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a := d.byWeight(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", d.anyPage(r, a)), a.Key, nil)
	}
	return task{next, func(address string) error { return d.check(address, 5) }}
}

// create makes people whom nobody knows.
func create(d *dataset, g generator) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		return request(dst, "POST", "/v1/contacts", d.byWeight(r).Key, g.request(nil, int(n), newcomer))
	}
	return task{next, func(address string) error { return checkStored(address, d, g) }}
}

// createAgain is create where one in five is somebody who is there already, with a new title.
func createAgain(d *dataset, g generator) task {
	fresh := create(d, g)
	again := func(a account, id, n int64) []byte {
		known := a.First + int(crm.IDSeq(id)) - 1
		return fmt.Appendf(nil, `{"first_name":"Again","last_name":"Known","title":"Seen %d","emails":[{"value":"%s@mail.example.org"}],"tags":["gala 2026"]}`, n, handle(known, ""))
	}
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		if r.IntN(5) > 0 {
			return fresh.work(dst, r, n)
		}
		a, id := d.anyone(r)
		return request(dst, "POST", "/v1/contacts", a.Key, again(a, id, n))
	}
	return task{next, func(address string) error {
		a, id := d.anyone(d.dice())
		return errors.Join(fresh.check(address), checkChange(address, "POST", "/v1/contacts", a.Key, again(a, id, 1), id, "", "gala 2026"))
	}}
}

// patch gives random contacts another title, retag another set of tags.
func patch(d *dataset) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		a, id := d.anyone(r)
		return request(dst, "PATCH", fmt.Sprintf("/v1/contacts/%d", id), a.Key, fmt.Appendf(nil, `{"title":"Changed %d"}`, n))
	}
	return task{next, func(address string) error {
		a, id := d.anyone(d.dice())
		return checkChange(address, "PATCH", fmt.Sprintf("/v1/contacts/%d", id), a.Key, []byte(`{"title":"Changed"}`), id, "Changed")
	}}
}

func retag(d *dataset) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := d.anyone(r)
		return request(dst, "POST", fmt.Sprintf("/v1/contacts/%d/tags/sync", id), a.Key,
			fmt.Appendf(nil, `{"tags":["%s","%s","%s"]}`, pick(r, causes), pick(r, causes), pick(r, causes)))
	}
	return task{next, func(address string) error {
		a, id := d.anyone(d.dice())
		return checkChange(address, "POST", fmt.Sprintf("/v1/contacts/%d/tags/sync", id), a.Key, []byte(`{"tags":["choir","vip"]}`), id, "", "choir", "vip")
	}}
}

// mixed is a day of a busy installation: of 20 requests 15 get, 2 list, 2 change and 1 creates.
func mixed(d *dataset, g generator) task {
	get, list, change, add := getRegulars(d), listAnyPage(d), patch(d), createAgain(d, g)
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		switch at := r.IntN(20); {
		case at < 15:
			return get.work(dst, r, n)
		case at < 17:
			return list.work(dst, r, n)
		case at < 19:
			return change.work(dst, r, n)
		}
		return add.work(dst, r, n)
	}
	return task{next, func(address string) error {
		return errors.Join(get.check(address), list.check(address), change.check(address), add.check(address))
	}}
}
