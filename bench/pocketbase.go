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

// A peer has the same kind of people in a collection of PocketBase, which is a program of its own module.

// records is where PocketBase has the contacts.
const records = "/api/collections/contacts/records"

func pocketbaseGet(p *place, r *rand.Rand, _ int64) asking {
	n := r.IntN(p.data.Contacts)
	return asking{"GET", records + "/" + pocketbaseID(n), p.token, nil, has(handle(n, "") + "@mail.example.org")}
}

func pocketbaseList(p *place, _ *rand.Rand, _ int64) asking {
	return asking{"GET", records + "?perPage=20", p.token, nil, func(answer []byte) bool {
		var list struct {
			Items      []any
			TotalItems int
		}
		return json.Unmarshal(answer, &list) == nil && len(list.Items) == 20 && list.TotalItems == p.data.Contacts
	}}
}

func pocketbaseCreate(p *place, _ *rand.Rand, n int64) asking {
	return asking{"POST", records, p.token, pocketbaseRecord(int(n), newcomer), has(handle(int(n), newcomer) + "@mail.example.org")}
}

// servePocketbase builds the peer, fills its data or finds that of an earlier run, and serves a copy of it.
func (b *bench) servePocketbase(p *place) {
	program := filepath.Join(must(filepath.Abs(b.cache)), "pocketbase")
	output("go", "-C", "bench/pocketbase", "build", "-o", program, ".")
	version := output("go", "-C", "bench/pocketbase", "list", "-m", "-f", "{{.Version}}", "github.com/pocketbase/pocketbase")
	b.versions["PocketBase"] = version
	filled := fmt.Sprintf("%s-%s-%d-people%d", program, version, p.data.Contacts, peopleVersion)
	if _, err := os.Stat(filled); err != nil {
		fillPocketbase(program, filled, p.data.Contacts)
	}
	dir := filepath.Join(b.tmp, "pocketbase-data")
	copyTree(filled, dir)
	p.token = strings.TrimSpace(string(must(exec.Command(program, "token", dir).Output())))
	address := freeAddress()
	p.server = b.start(address, request(nil, "GET", "/api/health", "", nil), program, "serve", "--dir", dir, "--http", address)
}

// fillPocketbase gives the peer a record on each line.
func fillPocketbase(program, dir string, contacts int) {
	progress("filling %s", dir)
	check(os.RemoveAll(dir + ".part"))
	var lines bytes.Buffer
	for n := range contacts {
		lines.Write(append(pocketbaseRecord(n, ""), '\n'))
	}
	cmd := exec.Command(program, "fill", dir+".part")
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	check(cmd.Run())
	check(os.Rename(dir+".part", dir))
}

// pocketbaseID is the id of person n, in the form that PocketBase wants.
func pocketbaseID(n int) string { return fmt.Sprintf("p%014d", n) }

// pocketbaseRecord is a person as PocketBase takes it: the same request, with the first email in a field of its own, which has a unique
// index. People of the dataset bring their id.
func pocketbaseRecord(n int, mark string) []byte {
	id := ""
	if mark == "" {
		id = fmt.Sprintf(`"id":"%s",`, pocketbaseID(n))
	}
	return append(fmt.Appendf(nil, `{%s"email":"%s@mail.example.org",`, id, handle(n, mark)), personBody(n, mark)[1:]...)
}
