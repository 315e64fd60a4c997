package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// peerContacts is how many contacts a peer has at most: more make it slower, and this shows the difference well enough.
const peerContacts = 100_000

// pocketbase is a peer: the same kind of people in a collection of PocketBase, which is a program of its own module.
type pocketbase struct {
	token    string
	contacts int
}

// records is where PocketBase has the contacts.
const records = "/api/collections/contacts/records"

func pocketbaseGet(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		return request(dst, "GET", records+"/"+pocketbaseID(r.IntN(p.peer.contacts)), p.peer.token, nil)
	}
	return task{work: next, check: func() error {
		return p.checkPocketbase("GET", records+"/"+pocketbaseID(7), nil, "email", handle(7, "")+"@mail.example.org")
	}}
}

func pocketbaseList(p *place) task {
	const path = records + "?perPage=20"
	return task{work: getPath(path, p.peer.token), check: func() error {
		return p.checkPocketbase("GET", path, nil, "totalItems", float64(p.peer.contacts))
	}}
}

func pocketbaseCreate(p *place) task {
	next := func(dst []byte, _ *rand.Rand, n int64) []byte {
		return request(dst, "POST", records, p.peer.token, pocketbaseRecord(p.people, int(n), newcomer))
	}
	return task{work: next, check: func() error {
		n := int(serial.Add(1))
		return p.checkPocketbase("POST", records, pocketbaseRecord(p.people, n, newcomer), "email", handle(n, newcomer)+"@mail.example.org")
	}}
}

// checkPocketbase asks for something, and looks at one field of the answer.
func (p *place) checkPocketbase(method, path string, body []byte, field string, want any) error {
	got, err := once(p.address, method, path, p.peer.token, body)
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

// servePocketbase builds the peer, fills its data or finds that of an earlier run, and serves a copy of it.
func (b *bench) servePocketbase(p *place) error {
	root, err := filepath.Abs(b.cache)
	if err != nil {
		return err
	}
	program := filepath.Join(root, "pocketbase")
	if out, err := exec.Command("go", "-C", "bench/pocketbase", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("building PocketBase: %w\n%s", err, out)
	}
	version, err := exec.Command(program, "version").Output()
	if err != nil {
		return err
	}
	b.versions["PocketBase"] = strings.TrimSpace(string(version))
	p.peer = &pocketbase{contacts: min(b.contacts, peerContacts)}
	filled := filepath.Join(root, fmt.Sprintf("pocketbase-%s-%d-people%d-seed%d", b.versions["PocketBase"], p.peer.contacts, peopleVersion, b.seed))
	if _, err := os.Stat(filled); err != nil {
		if err := fillPocketbase(program, filled, p); err != nil {
			return err
		}
	}
	dir := filepath.Join(b.tmp, "pocketbase-data")
	if err := copyTree(filled, dir); err != nil {
		return err
	}
	token, err := exec.Command(program, "token", dir).Output()
	if err != nil {
		return err
	}
	p.peer.token = strings.TrimSpace(string(token))
	address := freeAddress()
	p.server, err = b.start(address, "", request(nil, "GET", "/api/health", "", nil), program, "serve", "--dir", dir, "--http", address)
	return err
}

// fillPocketbase gives the peer a record on each line.
func fillPocketbase(program, dir string, p *place) error {
	progress("filling %s", dir)
	if err := os.RemoveAll(dir + ".part"); err != nil {
		return err
	}
	var lines bytes.Buffer
	for n := range p.peer.contacts {
		lines.Write(append(pocketbaseRecord(p.people, n, ""), '\n'))
	}
	cmd := exec.Command(program, "fill", dir+".part")
	cmd.Stdin = &lines
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("filling PocketBase: %w\n%s", err, out)
	}
	return os.Rename(dir+".part", dir)
}

// pocketbaseID is the id of person n, in the form that PocketBase wants.
func pocketbaseID(n int) string { return fmt.Sprintf("p%014d", n) }

// pocketbaseRecord is a person as PocketBase takes it: the same request, with the first email in a field of its own, which has a unique
// index. People of the dataset bring their id.
func pocketbaseRecord(g generator, n int, mark string) []byte {
	id := ""
	if mark == "" {
		id = fmt.Sprintf(`"id":"%s",`, pocketbaseID(n))
	}
	return append(fmt.Appendf(nil, `{%s"email":"%s@mail.example.org",`, id, handle(n, mark)), g.request(nil, n, mark)[1:]...)
}
