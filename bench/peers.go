package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peerContacts is how many contacts a peer has at most: more make it slower, and it takes long enough to be sure.
const peerContacts = 100_000

// pocketbase is a peer: the same kind of people in a collection of PocketBase, which is a program of its own module.
type pocketbase struct {
	program  string
	dir      string
	token    string
	contacts int
}

// peerVariants are PocketBase's, where asked for.
func (b *bench) peerVariants(*ceilingServer) ([]variant, error) {
	if !b.peers || !b.wants("peers") {
		return nil, nil
	}
	p, err := b.openPocketbase()
	if err != nil {
		return nil, err
	}
	s, err := b.servePocketbase(p)
	if err != nil {
		return nil, err
	}
	return []variant{
		over("pocketbase get", s, 64, p.get()),
		over("pocketbase list", s, 64, p.list()),
		over("pocketbase create", s, 64, p.add(b.library.generator)),
	}, nil
}

// records is where PocketBase has the contacts.
const records = "/api/collections/contacts/records"

func (p *pocketbase) get() task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		return request(dst, "GET", records+"/"+pocketbaseID(r.IntN(p.contacts)), p.token, nil)
	}
	return task{next, func(address string) error {
		return p.check(address, "GET", records+"/"+pocketbaseID(7), nil, "email", handle(7, "")+"@mail.example.org")
	}}
}

func (p *pocketbase) list() task {
	const path = records + "?perPage=20"
	return task{getPath(path, p.token), func(address string) error {
		return p.check(address, "GET", path, nil, "totalItems", float64(p.contacts))
	}}
}

func (p *pocketbase) add(g generator) task {
	next := func(dst []byte, _ *rand.Rand, n int64) []byte {
		return request(dst, "POST", records, p.token, pocketbaseRecord(g, int(n), newcomer))
	}
	return task{next, func(address string) error {
		n := int(serial.Add(1))
		return p.check(address, "POST", records, pocketbaseRecord(g, n, newcomer), "email", handle(n, newcomer)+"@mail.example.org")
	}}
}

// check asks for something, and looks at one field of the answer.
func (p *pocketbase) check(address, method, path string, body []byte, field string, want any) error {
	got, err := once(address, method, path, p.token, body)
	if err != nil {
		return err
	}
	var found map[string]any
	if err := json.Unmarshal(got, &found); err != nil {
		return err
	}
	items, listed := found["items"].([]any)
	if found[field] != want || listed && len(items) != 20 {
		return fmt.Errorf("PocketBase answers %.300s", got)
	}
	return nil
}

// openPocketbase builds the peer and fills its data, or finds that of an earlier run; it works on a copy.
func (b *bench) openPocketbase() (*pocketbase, error) {
	p := &pocketbase{contacts: min(b.contacts, peerContacts)}
	root, err := filepath.Abs(b.cache)
	if err != nil {
		return nil, err
	}
	p.program = filepath.Join(root, "pocketbase")
	if out, err := exec.Command("go", "-C", "bench/pocketbase", "build", "-o", p.program, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building PocketBase: %w\n%s", err, out)
	}
	version, err := exec.Command(p.program, "version").Output()
	if err != nil {
		return nil, err
	}
	b.facts.pocketbase = strings.TrimSpace(string(version))
	filled := filepath.Join(root, fmt.Sprintf("pocketbase-%s-%d-people%d-seed%d", b.facts.pocketbase, p.contacts, peopleVersion, b.seed))
	if _, err := os.Stat(filled); err != nil {
		progress("filling %s", filled)
		if err := b.fillPocketbase(p, filled+".part"); err != nil {
			return nil, err
		}
		if err := os.Rename(filled+".part", filled); err != nil {
			return nil, err
		}
	}
	p.dir = filepath.Join(b.tmp, "pocketbase-data")
	if err := os.CopyFS(p.dir, os.DirFS(filled)); err != nil {
		return nil, err
	}
	token, err := exec.Command(p.program, "token", p.dir).Output()
	p.token = strings.TrimSpace(string(token))
	return p, err
}

// fillPocketbase gives the peer a record on each line.
func (b *bench) fillPocketbase(p *pocketbase, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	cmd := exec.Command(p.program, "fill", dir)
	var told bytes.Buffer
	cmd.Stderr = &told
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w := bufio.NewWriterSize(pipe, 1<<16)
	for n := 0; n < p.contacts && err == nil; n++ {
		_, err = w.Write(append(pocketbaseRecord(b.library.generator, n, ""), '\n'))
	}
	if err == nil {
		err = w.Flush()
	}
	_ = pipe.Close()
	if waiting := cmd.Wait(); waiting != nil {
		return fmt.Errorf("filling PocketBase: %w\n%s", waiting, told.Bytes())
	}
	return err
}

func (b *bench) servePocketbase(p *pocketbase) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s, err := start(b.tmp, address, "", request(nil, "GET", "/api/health", "", nil), p.program, "serve", "--dir", p.dir, "--http", address)
	if err != nil {
		return nil, err
	}
	b.running = append(b.running, s)
	return s, nil
}

// pocketbaseID is the id of person n, in the form that PocketBase wants.
func pocketbaseID(n int) string { return fmt.Sprintf("p%014d", n) }

// pocketbaseRecord is a person as PocketBase takes it: the same request, with the first email in a field of its own, which
// has a unique index. People of the dataset bring their id.
func pocketbaseRecord(g generator, n int, mark string) []byte {
	body := g.request(nil, n, mark)
	dst := fmt.Appendf(nil, `{"email":"%s@mail.example.org",`, handle(n, mark))
	if mark == "" {
		dst = fmt.Appendf(nil, `{"id":"%s","email":"%s@mail.example.org",`, pocketbaseID(n), handle(n, mark))
	}
	return append(dst, body[1:]...)
}
