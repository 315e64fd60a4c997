package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// measureRequests compares our server on SQLite with the ceiling, with raw and, where asked, with a peer.
func (b *bench) measureRequests() error {
	ours, err := b.serve(b.main)
	if err != nil {
		return err
	}
	progress("  comparing 200 random pages with OFFSET")
	if err := b.main.check(ours.address, 200); err != nil {
		return err
	}
	top, err := b.ceiling(ours)
	if err != nil {
		return err
	}
	variants, err := b.reads(ours, top)
	if err != nil {
		return err
	}
	for _, add := range []func(*ceilingServer) ([]variant, error){b.writes, b.besides, b.peerVariants} {
		more, err := add(top)
		if err != nil {
			return err
		}
		variants = append(variants, more...)
	}
	b.repeat(variants)
	for _, s := range b.running {
		if filepath.Base(s.cmd.Path) == filepath.Base(b.program) {
			b.facts.peak = max(b.facts.peak, s.peak())
		}
	}
	return nil
}

// ceilingServer is the bare server with what it answers.
type ceilingServer struct {
	*server
	account       account
	one           string // the path of the contact
	contact, list []byte
}

func (c *ceilingServer) get() task   { return getSame(c.one, c.account.Key, c.contact) }
func (c *ceilingServer) first() task { return getSame("/v1/contacts", c.account.Key, c.list) }

// create sends what clients send to create somebody; the answer is always the same.
func (c *ceilingServer) create(g generator) task {
	next := func(dst []byte, _ *rand.Rand, n int64) []byte {
		return request(dst, "POST", "/v1/contacts", c.account.Key, g.request(nil, int(n), newcomer))
	}
	return task{next, func(address string) error {
		got, err := once(address, "POST", "/v1/contacts", c.account.Key, g.request(nil, 1, newcomer))
		if err == nil && !bytes.Equal(got, c.contact) {
			err = fmt.Errorf("the bare server answers %.300s", got)
		}
		return err
	}}
}

func (c *ceilingServer) bare() task { return getSame("/bare", "", c.contact) }

// ceiling starts the bare server, which answers what our server has just answered.
func (b *bench) ceiling(ours *server) (c *ceilingServer, err error) {
	a := b.main.Accounts[0]
	c = &ceilingServer{account: a, one: fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0])}
	if c.contact, err = once(ours.address, "GET", c.one, a.Key, nil); err != nil {
		return nil, err
	}
	if c.list, err = once(ours.address, "GET", "/v1/contacts", a.Key, nil); err != nil {
		return nil, err
	}
	args := []string{"ceiling", "", a.Key}
	for i, body := range [][]byte{c.contact, c.list} {
		file := filepath.Join(b.tmp, fmt.Sprintf("answer%d", i))
		if err := os.WriteFile(file, body, 0o600); err != nil {
			return nil, err
		}
		args = append(args, file)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args[1] = address
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.server, err = start(b.tmp, address, address, request(nil, "GET", "/bare", "", nil), self, args...)
	if err == nil {
		b.running = append(b.running, c.server)
	}
	return c, err
}

// over is a variant that loads a server.
func over(name string, s *server, connections int, t task) variant {
	l := load{addresses: []string{s.address}, work: t.work, connections: connections}
	return variant{
		name:  fmt.Sprintf("%s, %d", name, connections),
		check: func() error { return t.check(s.address) },
		run:   func(t timing) result { return l.run(t, s) },
	}
}

// reads are the variants that change nothing.
func (b *bench) reads(ours *server, top *ceilingServer) (variants []variant, err error) {
	a := b.main.Accounts[0]
	reader, err := openRaw(b.main, b.library.generator)
	if err != nil {
		return nil, err
	}
	b.closing = append(b.closing, func() { _ = reader.db.close() })
	if slices.ContainsFunc([]string{"get", "memory", "allocations"}, b.wants) {
		variants = append(variants,
			over("get ceiling", top.server, 64, top.get()),
			over("get", ours, 64, getAnyone(b.main)),
			over("bare", top.server, 64, top.bare()))
	}
	if b.wants("get") {
		variants = append(variants,
			over("get", ours, 16, getAnyone(b.main)),
			over("get", ours, 2, getAnyone(b.main)),
			over("get skewed", ours, 64, getRegulars(b.main)),
			over("get ceiling", top.server, 16, top.get()),
			over("get ceiling", top.server, 2, top.get()),
			variant{"get raw", reader.checkGet, reader.get})
	}
	if b.wants("list") {
		variants = append(variants,
			over("list ceiling", top.server, 64, top.first()),
			over("list", ours, 64, listPage(b.main, a, "active", 1)),
			over("list", ours, 2, listPage(b.main, a, "active", 1)),
			variant{"list raw", reader.checkList, reader.list})
	}
	if b.wants("pages") {
		variants = append(variants,
			over("page 1 of all", ours, 64, listPage(b.main, a, "all", 1)),
			over("last page of all", ours, 64, listPage(b.main, a, "all", lastPage(a))),
			over("any page", ours, 64, listAnyPage(b.main)))
	}
	return variants, nil
}

// lastPage is the last full page of all contacts of an account.
func lastPage(a account) int { return a.Contacts / 20 }

// writes are the variants that create, each kind on a copy of its own.
func (b *bench) writes(top *ceilingServer) (variants []variant, err error) {
	if !b.wants("create") && !b.wants("peers") && !b.wants("memory") {
		return nil, nil
	}
	for _, kind := range []struct {
		name        string
		work        func(*dataset, generator) task
		connections []int
	}{
		{"create", create, []int{64, 16, 2}},
		{"create with duplicates", createAgain, []int{64}},
		{"mixed", mixed, []int{64}},
	} {
		if kind.name != "create" && !b.wants("create") {
			continue
		}
		s, d, err := b.serveCopy(b.main, kind.name)
		if err != nil {
			return nil, err
		}
		for _, n := range kind.connections {
			variants = append(variants, over(kind.name, s, n, kind.work(d, b.library.generator)))
		}
	}
	d, err := b.copy(b.main, "raw")
	if err != nil {
		return nil, err
	}
	w, err := openRaw(d, b.library.generator)
	if err != nil {
		return nil, err
	}
	b.closing = append(b.closing, func() { _ = w.db.close() })
	return append(variants,
		over("create ceiling", top.server, 64, top.create(b.library.generator)),
		variant{"create raw", w.checkCreate, w.create(100)},
		variant{rawIn32, w.checkCreate, w.create(32)},
		variant{"create raw, one a transaction", w.checkCreate, w.create(1)}), nil
}

// rawIn32 is raw in transactions about as large as those of 64 clients.
const rawIn32 = "create raw, 32 in a transaction"

// besides are reads while creates run flat out, on the same server; and the same on the ceiling, which shows how much of
// the difference is that both share the machine's processors.
func (b *bench) besides(top *ceilingServer) ([]variant, error) {
	if !b.wants("beside") {
		return nil, nil
	}
	s, d, err := b.serveCopy(b.main, "beside")
	if err != nil {
		return nil, err
	}
	writing := create(d, b.library.generator)
	creates := load{addresses: []string{s.address}, work: writing.work, connections: 62}
	amid := func(v variant) variant {
		return variant{
			name:  v.name + ", amid creates",
			check: func() error { return errors.Join(v.check(), writing.check(s.address)) },
			run:   func(t timing) result { return creates.beside(func() result { return v.run(t) }) },
		}
	}
	get := over("get idle", s, 2, getAnyone(d))
	bare := over("get ceiling idle", top.server, 2, top.get())
	return []variant{get, amid(get), bare, amid(bare)}, nil
}
