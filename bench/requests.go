package main

import (
	"fmt"
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
	if err := checkGet(ours.address, b.main); err != nil {
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
	for _, add := range []func(*server) ([]variant, error){b.writes, b.besides, b.peerVariants} {
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

// ceiling starts the bare server, which answers what our server has just answered.
func (b *bench) ceiling(ours *server) (*server, error) {
	a := b.main.Accounts[0]
	paths := []string{fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0]), "/v1/contacts"}
	args := []string{"ceiling", "", a.Key}
	for i, path := range paths {
		body, err := once(ours.address, "GET", path, a.Key, nil)
		if err != nil {
			return nil, err
		}
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
	s, err := start(b.tmp, address, address, request(nil, "GET", "/bare", "", nil), self, args...)
	if err == nil {
		b.running = append(b.running, s)
	}
	return s, err
}

// over is a variant that loads a server.
func over(name string, s *server, connections int, w work) variant {
	l := load{addresses: []string{s.address}, work: w, connections: connections}
	return variant{fmt.Sprintf("%s, %d", name, connections), func(t timing) result { return l.run(t, s) }}
}

// reads are the variants that change nothing.
func (b *bench) reads(ours, top *server) (variants []variant, err error) {
	a := b.main.Accounts[0]
	reader, err := openRaw(b.main, b.library.generator)
	if err != nil {
		return nil, err
	}
	b.closing = append(b.closing, func() { _ = reader.db.close() })
	one := fmt.Sprintf("/v1/contacts/%d", firstActive(a, 1)[0])
	if slices.ContainsFunc([]string{"get", "memory", "allocations"}, b.wants) {
		variants = append(variants,
			over("get ceiling", top, 64, getPath(one, a.Key)),
			over("get", ours, 64, getAnyone(b.main)),
			over("bare", top, 64, getPath("/bare", a.Key)))
	}
	if b.wants("get") {
		variants = append(variants,
			over("get", ours, 16, getAnyone(b.main)),
			over("get", ours, 2, getAnyone(b.main)),
			over("get skewed", ours, 64, getRegulars(b.main)),
			over("get ceiling", top, 16, getPath(one, a.Key)),
			over("get ceiling", top, 2, getPath(one, a.Key)),
			variant{"get raw", reader.get})
	}
	if b.wants("list") {
		variants = append(variants,
			over("list ceiling", top, 64, getPath("/v1/contacts", a.Key)),
			over("list", ours, 64, getPath("/v1/contacts", a.Key)),
			over("list", ours, 2, getPath("/v1/contacts", a.Key)),
			variant{"list raw", reader.list})
	}
	if b.wants("pages") {
		variants = append(variants,
			over("page 1 of all", ours, 64, getPath("/v1/contacts?scope=all&page=1", a.Key)),
			over("last page of all", ours, 64, getPath(fmt.Sprintf("/v1/contacts?scope=all&page=%d", lastPage(a)), a.Key)),
			over("any page", ours, 64, listAnyPage(b.main)))
	}
	return variants, nil
}

// lastPage is the last full page of all contacts of an account.
func lastPage(a account) int { return a.Contacts / 20 }

// writes are the variants that create, each kind on a copy of its own.
func (b *bench) writes(*server) (variants []variant, err error) {
	if !b.wants("create") && !b.wants("peers") && !b.wants("memory") {
		return nil, nil
	}
	for _, kind := range []struct {
		name        string
		work        func(*dataset, generator) work
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
		if err := checkStored(s.address, d, b.library.generator); err != nil {
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
	return append(variants, variant{"create raw", w.create(100)}, variant{"create raw, one a transaction", w.create(1)}), nil
}

// besides are reads while creates run flat out, on the same server; and the same on the ceiling, which shows how much of
// the difference is that both share the machine's processors.
func (b *bench) besides(top *server) ([]variant, error) {
	if !b.wants("beside") {
		return nil, nil
	}
	s, d, err := b.serveCopy(b.main, "beside")
	if err != nil {
		return nil, err
	}
	creates := load{addresses: []string{s.address}, work: create(d, b.library.generator), connections: 62}
	amid := func(v variant) variant {
		return variant{v.name + ", amid creates", func(t timing) result { return creates.beside(func() result { return v.run(t) }) }}
	}
	get := over("get idle", s, 2, getAnyone(d))
	bare := over("get ceiling idle", top, 2, getPath("/bare", ""))
	return []variant{get, amid(get), bare, amid(bare)}, nil
}
