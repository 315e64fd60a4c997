package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// visitor is somebody with a browser who has signed in to the console.
type visitor struct {
	account account
	cookie  string
}

// visitorLimit is how many accounts of a dataset have a visitor: to compare a password takes its time.
const visitorLimit = 8

const visitorPassword = "only for the benchmark"

// invite makes a user in some accounts, spread over all of them, with the program's own command.
func (d *dataset) invite(program string) (visitors []visitor, err error) {
	n := min(visitorLimit, len(d.Accounts))
	for i := range n {
		v := visitor{account: d.Accounts[i*len(d.Accounts)/n]}
		cmd := exec.Command(program, "--data", d.dir, "user", "create", "--email", v.email(), "--name", "Visitor",
			"--account", v.account.ID, "--role", "viewer", "--password-stdin")
		cmd.Stdin = strings.NewReader(visitorPassword)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("user create: %w\n%s", err, out)
		}
		visitors = append(visitors, v)
	}
	return visitors, nil
}

func (v visitor) email() string { return v.account.ID + "@console.example.org" }

// signIn sends the form of the sign-in page, and keeps the cookie of the answer.
func (v *visitor) signIn(address string) error {
	body := url.Values{"email": {v.email()}, "password": {visitorPassword}}.Encode()
	r, err := http.NewRequest(http.MethodPost, "http://"+address+"/console/signin", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(r) // which follows nothing
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // nobody reads it
	for _, cookie := range answer.Cookies() {
		if answer.StatusCode == http.StatusSeeOther && strings.HasSuffix(cookie.Name, "session") {
			v.cookie = cookie.Name + "=" + cookie.Value
			return nil
		}
	}
	return fmt.Errorf("signing in answers %s without a session", answer.Status)
}

// query is something that a visitor types; wanted is the contact that it is about, 0 where many are meant.
type query struct {
	text   string
	wanted int64
}

// kinds are the ways to search. One finds somebody, or more than a page of people even among 10,000 contacts, so that answers
// are of the same size everywhere: what is compared is the search, not how much there is to show.
var kinds = []kind{
	{"rare name", func(v visitor, g generator, r *rand.Rand) query {
		n, id := v.somebody(r, rare)
		return query{rareName(n), id}
	}},
	{"two words", func(v visitor, g generator, r *rand.Rand) query {
		n, id := v.somebody(r, rare)
		first, last := names(g.dice(n), n)
		return query{first + " " + last, id}
	}},
	{"words turned round", func(v visitor, g generator, r *rand.Rand) query {
		n, id := v.somebody(r, rare)
		first, last := names(g.dice(n), n)
		return query{last + " " + first, id}
	}},
	{"first name", func(_ visitor, _ generator, r *rand.Rand) query { return query{text: pick(r, firstNames)} }},
	{"email", func(v visitor, _ generator, r *rand.Rand) query {
		n, id := v.somebody(r, everybody)
		return query{handle(n, "") + "@mail", id}
	}},
	{"phone", func(v visitor, _ generator, r *rand.Rand) query {
		n, id := v.somebody(r, everybody)
		return query{phone(n, ""), id}
	}},
	{"tag", func(_ visitor, _ generator, r *rand.Rand) query { return query{text: "#" + pick(r, causes)} }},
}

func everybody(int) bool { return true }

// somebody is a random active person of the visitor's account who fits, with the id of the contact.
func (v visitor) somebody(r *rand.Rand, fits func(n int) bool) (n int, id int64) {
	for {
		place := r.IntN(v.account.Contacts)
		if n = v.account.First + place; !archived(n) && fits(n) {
			return n, v.account.id(place)
		}
	}
}

// kind is a way to search.
type kind struct {
	name string
	make func(v visitor, g generator, r *rand.Rand) query
}

// search types one kind of thing into the search of the console, as the page's script sends it.
func search(d *dataset, g generator, visitors []visitor, kind kind) task {
	return task{
		func(dst []byte, r *rand.Rand, _ int64) []byte {
			v := pick(r, visitors)
			return v.find(dst, kind.make(v, g, r).text)
		},
		func(address string) error {
			if len(visitors) == 0 {
				return errors.New("nobody has signed in")
			}
			v := visitors[len(visitors)-1]
			return d.checkSearch(address, v, kind.make(v, g, d.dice()))
		},
	}
}

// find appends the request of a search.
func (v visitor) find(dst []byte, text string) []byte {
	return requestAs(dst, "GET", v.path()+"?q="+url.QueryEscape(text), "HX-Request: true\r\nCookie: ", v.cookie, nil)
}

func (v visitor) path() string { return "/console/o/" + v.account.ID + "/contacts" }

// checkSearch compares what the console shows first with what the documents say.
func (d *dataset) checkSearch(address string, v visitor, q query) error {
	first := q.wanted
	if first == 0 {
		var err error
		if first, err = d.first(v.account, crm.ParseSearch(q.text, region)); err != nil {
			return err
		}
	}
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.close()
	page, err := c.ask(v.find(nil, q.text), []byte{})
	if err != nil {
		return err
	}
	want := fmt.Sprintf("%s/%d\"", v.path(), first)
	at, other := bytes.Index(page, []byte(want)), bytes.Index(page, []byte(v.path()+"/"))
	if first == 0 || at < 0 || at != other {
		return fmt.Errorf("a search for %q does not find contact %d before all others", q.text, first)
	}
	return nil
}

// first is the active contact that a search finds before all others, by the documents alone.
func (d *dataset) first(a account, s crm.Search) (id int64, err error) {
	db, err := openDatabase(d.file(), nil)
	if err != nil {
		return 0, err
	}
	defer db.close() //nolint:errcheck // it only reads
	err = db.each(func(row *sqlite3.Stmt) {
		if id != 0 {
			return
		}
		contact, parseErr := crm.ParseContact(row.ColumnInt64(0), row.ColumnRawBlob(1), strings.Split(row.ColumnText(2), "\n"))
		if parseErr == nil && s.Finds(contact.SearchWords()) {
			id = contact.ID
		}
	}, `SELECT id, body, match_keys FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived = 0 ORDER BY id DESC`,
		a.Number, crm.MakeID(a.Number, 0), crm.MakeID(a.Number, crm.MaxSeq))
	return id, err
}

// receive makes users in a dataset, serves it and signs them in.
func (b *bench) receive(d *dataset) (s *server, visitors []visitor, err error) {
	if visitors, err = d.invite(b.program); err != nil {
		return nil, nil, err
	}
	if s, err = b.serve(d); err != nil {
		return nil, nil, err
	}
	for i := range visitors {
		if err := visitors[i].signIn(s.address); err != nil {
			return nil, nil, err
		}
	}
	return s, slices.Clip(visitors), nil
}
