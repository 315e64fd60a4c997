package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
)

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// getAnyone asks for contacts uniformly.
func getAnyone(p *place) task { return getBy(p, p.data.anyone) }

// findByEmail asks for them by their emails.
func findByEmail(p *place) task {
	path := func(a account, id int64) string {
		return "/v1/contacts?email=" + handle(a.First+int(crm.IDSeq(id))-1, "") + "@mail.example.org"
	}
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "GET", path(a, id), a.Key, nil)
	}
	return task{work: next, check: func() { a, id := p.data.anyone(p.data.dice()); p.wantTotal(path(a, id), a, 1) }}
}

// listTagged asks for any page of the contacts that have a tag.
func listTagged(p *place) task {
	const path = "/v1/contacts?tag=gala+2026&page="
	a := p.data.Accounts[0]
	total := askPage(p.address, a.Key, path+"1").Meta.Total
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		return request(dst, "GET", fmt.Sprint(path, 1+r.IntN(total/20)), a.Key, nil)
	}
	return task{work: next, check: func() {
		p.data.open(func(db *database) {
			p.wantTotal(path+"2", a, int(db.number(`SELECT contacts FROM tag WHERE account_id = ? AND name = 'gala 2026'`, a.Number)))
		})
	}}
}

func (p *place) wantTotal(path string, a account, want int) {
	if got := askPage(p.address, a.Key, path).Meta.Total; got != want {
		fail("%s finds %d contacts, want %d", path, got, want)
	}
}

func getBy(p *place, choose func(*rand.Rand) (account, int64)) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := choose(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts/%d", id), a.Key, nil)
	}
	return task{work: next, check: func() {
		a, id := choose(p.data.dice())
		p.checkBody(fmt.Sprintf("/v1/contacts/%d", id), a.Key, p.data.contact(a, id))
	}}
}

// getPath asks for the same thing again and again.
func getPath(path, key string) work {
	wire := request(nil, "GET", path, key, nil)
	return func(dst []byte, _ *rand.Rand, _ int64) []byte { return append(dst, wire...) }
}

// getSame is getPath where the answer is known.
func (p *place) getSame(path, key string, want []byte) task {
	return task{work: getPath(path, key), check: func() { p.checkBody(path, key, want) }}
}

// checkBody compares a whole answer.
func (p *place) checkBody(path, key string, want []byte) {
	if got := once(p.address, "GET", path, key, nil); !bytes.Equal(got, want) {
		fail("%s is not what was expected: %.300s", path, got)
	}
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
		check: func() { p.data.checkPage(p.address, a, scope, number) },
	}
}

// listAnyPage asks for random pages of random accounts.
func listAnyPage(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a := p.data.byWeight(r)
		return request(dst, "GET", fmt.Sprintf("/v1/contacts?page=%d", a.anyPage(r)), a.Key, nil)
	}
	return task{work: next, check: func() { p.data.check(p.address, 5) }}
}

// create makes people who are not there yet.
func create(p *place) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		return request(dst, "POST", "/v1/contacts", p.data.byWeight(r).Key, personBody(int(n), newcomer))
	}
	return task{work: next, check: p.checkCreate}
}

// checkCreate creates a contact, compares the answer with the document that crm makes of the same request, and looks in the file for
// what fill and raw would have written.
func (p *place) checkCreate() {
	a, n, before := p.data.Accounts[0], int(serial.Add(1)), time.Now()
	got := once(p.address, "POST", "/v1/contacts", a.Key, personBody(n, newcomer))
	var made struct{ ID int64 }
	check(json.Unmarshal(got, &made))
	p.checkBody(fmt.Sprintf("/v1/contacts/%d", made.ID), a.Key, got)
	for at := before; !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
		person := makePerson(n, newcomer, at)
		if bytes.Equal(got, crm.AppendContact(nil, made.ID, person.body)) {
			if !p.remote {
				p.data.open(func(db *database) { db.holds(a, made.ID, person) })
			}
			return
		}
	}
	fail("a create was not answered as expected: %.300s", got)
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
	return task{work: next, check: func() {
		fresh.check()
		a, id := p.data.anyone(p.data.dice())
		p.checkChange(a, id, "POST", "", string(again(a, id, 1)), "", "gala 2026")
	}}
}

// patch gives random contacts another title, retag another set of tags.
func patch(p *place) task {
	next := func(dst []byte, r *rand.Rand, n int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "PATCH", fmt.Sprintf("/v1/contacts/%d", id), a.Key, fmt.Appendf(nil, `{"title":"Changed %d"}`, n))
	}
	return task{work: next, check: func() {
		a, id := p.data.anyone(p.data.dice())
		p.checkChange(a, id, "PATCH", fmt.Sprintf("/%d", id), `{"title":"Changed"}`, "Changed")
	}}
}

func retag(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "POST", fmt.Sprintf("/v1/contacts/%d/tags/sync", id), a.Key,
			fmt.Appendf(nil, `{"tags":["%s","%s","%s"]}`, pick(r, causes), pick(r, causes), pick(r, causes)))
	}
	return task{work: next, check: func() {
		a, id := p.data.anyone(p.data.dice())
		p.checkChange(a, id, "POST", fmt.Sprintf("/%d/tags/sync", id), `{"tags":["choir","vip"]}`, "", "choir", "vip")
	}}
}

// checkChange sends a change of a contact, and looks whether the answer is about it and has what was sent.
func (p *place) checkChange(a account, id int64, method, path, body, title string, tags ...string) {
	got := once(p.address, method, "/v1/contacts"+path, a.Key, []byte(body))
	var c struct {
		ID    int64
		Title string
		Tags  []string
	}
	check(json.Unmarshal(got, &c))
	missing := slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(c.Tags, tag) })
	if c.ID != id || missing || title != "" && c.Title != title {
		fail("%s %s answers %.300s", method, path, got)
	}
}

// look asks for a page of the API or, where its path does not begin with /v1, of the console. {} in the path is a number that is chosen.
// shows finds the texts that the page must have, by the account and that number.
func look(name, path, shows string, choose func(*dataset, *rand.Rand) int64) cell {
	return cell{"gifts", name, "", 64, func(p *place) task {
		a := p.data.Accounts[0]
		ask := func(dst []byte, number int64) []byte {
			path := strings.ReplaceAll(path, "{}", fmt.Sprint(number))
			if strings.HasPrefix(path, "/v1") {
				return request(dst, "GET", path, a.Key, nil)
			}
			return requestAs(dst, "GET", "/console/o/"+a.ID+path, "Cookie: ", p.visitors[0].cookie, nil)
		}
		return task{work: func(dst []byte, r *rand.Rand, _ int64) []byte { return ask(dst, choose(p.data, r)) }, check: func() {
			number := choose(p.data, p.data.dice())
			page := must(onceWire(p.address, ask(nil, number)))
			p.data.open(func(db *database) {
				db.each(func(row *sqlite3.Stmt) {
					if text := row.ColumnText(0); text == "" || !bytes.Contains(page, []byte(text)) {
						fail("%s of %d does not show %q", name, number, text)
					}
				}, shows, a.Number, number)
			})
		}}
	}, false}
}

// give records gifts of random contacts.
func give(p *place) task {
	next := func(dst []byte, r *rand.Rand, _ int64) []byte {
		a, id := p.data.anyone(r)
		return request(dst, "POST", "/v1/transactions", a.Key, fmt.Appendf(nil, `{"contact_id":%d,"campaign_id":%d,"amount":%d.25,"method":"card","fee":0.55,"transacted_at":"%s"}`,
			id, pick(r, p.data.Campaigns), 1+r.IntN(500), time.Now().UTC().Format(time.RFC3339)))
	}
	return task{work: next, check: func() {
		must(onceWire(p.address, next(nil, p.data.dice(), 0)))
		p.data.open(func(db *database) {
			made, sum := db.number(`SELECT max(id) FROM gift`), db.number(`SELECT sum(net) FROM gift`)
			if kept := db.number(`SELECT amount FROM giving WHERE cell = ?`, crm.Cell(0, 0, "USD", 0)); kept != sum || crm.IDSeq(made) <= int64(p.data.Gifts) {
				fail("the sum of all gifts is %d and should be %d, and the last one is %d", kept, sum, made)
			}
		})
	}}
}

// visitor is a user of the console who has signed in.
type visitor struct {
	account account
	cookie  string
}

// visitorLimit is how many accounts of a dataset have a visitor: to compare a password takes time.
const visitorLimit = 8

const visitorPassword = "only for the benchmark"

// invite makes a user in some accounts, spread over all of them, with the program's own command.
func (d *dataset) invite(program, role string) (visitors []visitor) {
	n := min(visitorLimit, len(d.Accounts))
	for i := range n {
		v := visitor{account: d.Accounts[i*len(d.Accounts)/n]}
		cmd := exec.Command(program, "--data", d.dir, "user", "create", "--email", v.email(), "--name", "Visitor",
			"--account", v.account.ID, "--role", role, "--password-stdin")
		cmd.Stdin = strings.NewReader(visitorPassword)
		must(cmd.CombinedOutput())
		visitors = append(visitors, v)
	}
	return visitors
}

func (v visitor) email() string { return v.account.ID + "@console.example.org" }
func (v visitor) path() string  { return "/console/o/" + v.account.ID + "/contacts" }

// signIn sends the form of the sign-in page, and keeps the cookie of the answer.
func (v *visitor) signIn(address string) {
	body := url.Values{"email": {v.email()}, "password": {visitorPassword}}.Encode()
	r := must(http.NewRequest(http.MethodPost, "http://"+address+"/console/signin", strings.NewReader(body)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer := must(http.DefaultTransport.RoundTrip(r)) // which follows no redirect
	defer answer.Body.Close()                          //nolint:errcheck // it is not read
	for _, cookie := range answer.Cookies() {
		if strings.HasSuffix(cookie.Name, "session") {
			v.cookie = cookie.Name + "=" + cookie.Value
		}
	}
	if answer.StatusCode != http.StatusSeeOther || v.cookie == "" {
		fail("signing in answers %s without a session", answer.Status)
	}
}

// query is what a visitor types; wanted is the contact that it is about, 0 where many are meant.
type query struct {
	text   string
	wanted int64
}

// kind is a way to search.
type kind struct {
	name string
	make func(v visitor, r *rand.Rand) query
}

// kinds are the ways to search. One finds a single contact, or more than a page of contacts even among 10,000, so that answers have the
// same size everywhere: the search is compared, not how much there is to show.
var kinds = []kind{
	{"rare name", about(rare, func(n int, _, last string) string { return last })},
	{"two words", about(rare, func(n int, first, last string) string { return first + " " + last })},
	{"words turned round", about(rare, func(n int, first, last string) string { return last + " " + first })},
	{"first name", func(_ visitor, r *rand.Rand) query { return query{text: pick(r, firstNames)} }},
	{"email", about(nil, func(n int, _, _ string) string { return handle(n, "") + "@mail" })},
	{"phone", about(nil, func(n int, _, _ string) string { return phone(n, "") })},
	{"tag", func(_ visitor, r *rand.Rand) query { return query{text: "#" + pick(r, causes)} }},
}

// about searches for a random active person of the visitor's account who fits, by a text about them.
func about(fits func(n int) bool, text func(n int, first, last string) string) func(visitor, *rand.Rand) query {
	return func(v visitor, r *rand.Rand) query {
		for {
			place := r.IntN(v.account.Contacts)
			if n := v.account.First + place; !archived(n) && (fits == nil || fits(n)) {
				first, last := names(choices(n), n)
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
			return v.find(dst, kind.make(v, r).text)
		}
		return task{work: next, check: func() {
			v := p.visitors[len(p.visitors)-1]
			p.checkSearch(v, kind.make(v, p.data.dice()))
		}}
	}
}

// find appends the request of a search.
func (v visitor) find(dst []byte, text string) []byte {
	return requestAs(dst, "GET", v.path()+"?q="+url.QueryEscape(text), "HX-Request: true\r\nCookie: ", v.cookie, nil)
}

// checkSearch compares what the console shows first with what the documents say.
func (p *place) checkSearch(v visitor, q query) {
	first := q.wanted
	if first == 0 {
		first = p.data.first(v.account, crm.ParseSearch(q.text, region))
	}
	page := must(onceWire(p.address, v.find(nil, q.text)))
	want := fmt.Sprintf("%s/%d\"", v.path(), first)
	at, other := bytes.Index(page, []byte(want)), bytes.Index(page, []byte(v.path()+"/"))
	if first == 0 || at < 0 || at != other {
		fail("a search for %q does not find contact %d before all others", q.text, first)
	}
}

// first is the active contact that a search finds before all others, by the documents alone.
func (d *dataset) first(a account, s crm.Search) (id int64) {
	d.open(func(db *database) {
		db.each(func(row *sqlite3.Stmt) {
			if id != 0 {
				return
			}
			contact := must(crm.ParseContact(row.ColumnInt64(0), row.ColumnRawBlob(1), strings.Split(row.ColumnText(2), "\n")))
			if s.Finds(contact.SearchWords()) {
				id = contact.ID
			}
		}, `SELECT id, body, match_keys FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived = 0 ORDER BY id DESC`,
			a.Number, crm.MakeID(a.Number, 0), crm.MakeID(a.Number, crm.MaxSeq))
	})
	return id
}
