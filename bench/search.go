package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// visitor is a user of the console who has signed in.
type visitor struct {
	account account
	cookie  string
}

// visitorLimit is how many accounts of a dataset have a visitor: to compare a password takes time.
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
func (v visitor) path() string  { return "/console/o/" + v.account.ID + "/contacts" }

// signIn sends the form of the sign-in page, and keeps the cookie of the answer.
func (v *visitor) signIn(address string) error {
	body := url.Values{"email": {v.email()}, "password": {visitorPassword}}.Encode()
	r, err := http.NewRequest(http.MethodPost, "http://"+address+"/console/signin", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(r) // which follows no redirect
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is not read
	for _, cookie := range answer.Cookies() {
		if answer.StatusCode == http.StatusSeeOther && strings.HasSuffix(cookie.Name, "session") {
			v.cookie = cookie.Name + "=" + cookie.Value
			return nil
		}
	}
	return fmt.Errorf("signing in answers %s without a session", answer.Status)
}

// query is what a visitor types; wanted is the contact that it is about, 0 where many are meant.
type query struct {
	text   string
	wanted int64
}

// kind is a way to search.
type kind struct {
	name string
	make func(v visitor, g generator, r *rand.Rand) query
}

// kinds are the ways to search. One finds a single contact, or more than a page of contacts even among 10,000, so that answers have the
// same size everywhere: the search is compared, not how much there is to show.
var kinds = []kind{
	{"rare name", about(rare, func(n int, _, last string) string { return last })},
	{"two words", about(rare, func(n int, first, last string) string { return first + " " + last })},
	{"words turned round", about(rare, func(n int, first, last string) string { return last + " " + first })},
	{"first name", func(_ visitor, _ generator, r *rand.Rand) query { return query{text: pick(r, firstNames)} }},
	{"email", about(nil, func(n int, _, _ string) string { return handle(n, "") + "@mail" })},
	{"phone", about(nil, func(n int, _, _ string) string { return phone(n, "") })},
	{"tag", func(_ visitor, _ generator, r *rand.Rand) query { return query{text: "#" + pick(r, causes)} }},
}

// about searches for a random active person of the visitor's account who fits, by a text about them.
func about(fits func(n int) bool, text func(n int, first, last string) string) func(visitor, generator, *rand.Rand) query {
	return func(v visitor, g generator, r *rand.Rand) query {
		for {
			place := r.IntN(v.account.Contacts)
			if n := v.account.First + place; !archived(n) && (fits == nil || fits(n)) {
				first, last := names(g.dice(n), n)
				return query{text(n, first, last), v.account.id(place)}
			}
		}
	}
}

// searchCells are a cell for each way to search.
func searchCells() (cells []cell) {
	for _, kind := range kinds {
		cells = append(cells, cell{parts: "growth", name: "search: " + kind.name, connections: 64, task: search(kind)})
	}
	return cells
}

// search types one kind of text into the search of the console, as the page's script sends it.
func search(kind kind) func(*place) task {
	return func(p *place) task {
		next := func(dst []byte, r *rand.Rand, _ int64) []byte {
			v := pick(r, p.visitors)
			return v.find(dst, kind.make(v, p.people, r).text)
		}
		return task{work: next, check: func() error {
			if len(p.visitors) == 0 {
				return errors.New("no user has signed in")
			}
			v := p.visitors[len(p.visitors)-1]
			return p.checkSearch(v, kind.make(v, p.people, p.data.dice()))
		}}
	}
}

// find appends the request of a search.
func (v visitor) find(dst []byte, text string) []byte {
	return requestAs(dst, "GET", v.path()+"?q="+url.QueryEscape(text), "HX-Request: true\r\nCookie: ", v.cookie, nil)
}

// checkSearch compares what the console shows first with what the documents say.
func (p *place) checkSearch(v visitor, q query) error {
	first := q.wanted
	if first == 0 {
		var err error
		if first, err = p.data.first(v.account, crm.ParseSearch(q.text, region)); err != nil {
			return err
		}
	}
	page, err := onceWire(p.address, v.find(nil, q.text))
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
	err = d.open(func(db *database) error {
		return db.each(func(row *sqlite3.Stmt) {
			if id != 0 {
				return
			}
			contact, err := crm.ParseContact(row.ColumnInt64(0), row.ColumnRawBlob(1), strings.Split(row.ColumnText(2), "\n"))
			if err == nil && s.Finds(contact.SearchWords()) {
				id = contact.ID
			}
		}, `SELECT id, body, match_keys FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived = 0 ORDER BY id DESC`,
			a.Number, crm.MakeID(a.Number, 0), crm.MakeID(a.Number, crm.MaxSeq))
	})
	return id, err
}
