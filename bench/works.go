package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/crm/giving"
)

// newcomer is the mark of people whom requests create.
const newcomer = "x"

// asking is a request, and what its answer must be.
type asking struct {
	method, path, key string
	body              []byte
	right             func(answer []byte) bool
	header            string // that says who asks, where it is not the one of an API key
}

func (q asking) wire(dst []byte) []byte {
	return requestAs(dst, q.method, q.path, cmp.Or(q.header, bearer), q.key, q.body)
}

// asks sends requests of one kind, and looks at the answer to one of them before that.
func (p *place) asks(next func(r *rand.Rand, n int64) asking) task {
	return task{work: func(dst []byte, r *rand.Rand, n int64) []byte { return next(r, n).wire(dst) }, check: func() {
		q := next(p.data.dice(), serial.Add(1))
		if got := must(onceWire(p.address, q.wire(nil))); !q.right(got) {
			fail("%s %s answers %.300s", q.method, q.path, got)
		}
	}}
}

// same asks for the same thing again and again.
func (p *place) same(path, key string, right func(answer []byte) bool) task {
	return p.asks(func(*rand.Rand, int64) asking { return asking{"GET", path, key, nil, right, ""} })
}

// has tells whether an answer has all texts.
func has(texts ...string) func([]byte) bool {
	return func(answer []byte) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !bytes.Contains(answer, []byte(text)) })
	}
}

func is(want []byte) func([]byte) bool {
	return func(answer []byte) bool { return bytes.Equal(answer, want) }
}

// getAnyone asks for contacts uniformly.
func getAnyone(p *place) task { return getBy(p, p.data.anyone) }

func getBy(p *place, choose func(*rand.Rand) (account, int64)) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		a, id := choose(r)
		return asking{"GET", contactPath(id), a.Key, nil, func(answer []byte) bool { return bytes.Equal(answer, p.data.contact(a, id)) }, ""}
	})
}

func contactPath(id int64) string { return fmt.Sprintf("/v1/contacts/%d", id) }

// email is that of a contact of a dataset.
func (a account) email(id int64) string {
	return handle(a.First+int(doc.IDSeq(id))-1, "") + "@mail.example.org"
}

// findByEmail asks for contacts by their emails.
func findByEmail(p *place) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		a, id := p.data.anyone(r)
		return asking{"GET", "/v1/contacts?email=" + a.email(id), a.Key, nil, has(fmt.Sprintf(`{"id":%d,`, id), `"total":1}`), ""}
	})
}

// patch gives random contacts another title, retag other tags.
func patch(p *place) task {
	return p.asks(func(r *rand.Rand, n int64) asking {
		a, id := p.data.anyone(r)
		title := fmt.Sprintf(`"title":"Changed %d"`, n)
		return asking{"PATCH", contactPath(id), a.Key, []byte("{" + title + "}"), has(fmt.Sprintf(`{"id":%d,`, id), title), ""}
	})
}

func retag(p *place) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		a, id := p.data.anyone(r)
		tags := []string{`"` + pick(r, causes) + `"`, `"` + pick(r, causes) + `"`, `"` + pick(r, causes) + `"`}
		return asking{"POST", contactPath(id) + "/tags/sync", a.Key, []byte(`{"tags":[` + strings.Join(tags, ",") + `]}`), has(append(tags, fmt.Sprintf(`{"id":%d,`, id))...), ""}
	})
}

// createAgain is create where one in five is already there, and comes with a new title.
func createAgain(p *place) task {
	fresh, again := create(p), p.asks(func(r *rand.Rand, n int64) asking {
		a, id := p.data.anyone(r)
		body := fmt.Appendf(nil, `{"first_name":"Again","last_name":"Known","title":"Seen %d","emails":[{"value":"%s"}],"tags":["gala 2026"]}`, n, a.email(id))
		return asking{"POST", "/v1/contacts", a.Key, body, has(fmt.Sprintf(`{"id":%d,`, id), `"gala 2026"`), ""}
	})
	return task{check: func() { fresh.check(); again.check() }, work: func(dst []byte, r *rand.Rand, n int64) []byte {
		if r.IntN(5) > 0 {
			return fresh.work(dst, r, n)
		}
		return again.work(dst, r, n)
	}}
}

// listTagged asks for any page of the contacts that have a tag.
func listTagged(p *place) task {
	a, total := p.data.Accounts[0], 0
	p.data.open(func(db *database) {
		total = int(db.number(`SELECT contacts FROM tag WHERE account_id = ? AND name = 'gala 2026'`, a.Number))
	})
	return p.asks(func(r *rand.Rand, _ int64) asking {
		return asking{"GET", fmt.Sprint("/v1/contacts?tag=gala+2026&page=", 1+r.IntN(total/20)), a.Key, nil, has(fmt.Sprintf(`"total":%d}`, total)), ""}
	})
}

// The pages of the largest account that are asked for again and again; the last is the last full one.
func listFirst(p *place) task      { return p.listPage("active", 1) }
func listFirstOfAll(p *place) task { return p.listPage("all", 1) }
func listLastOfAll(p *place) task  { return p.listPage("all", p.data.Accounts[0].Contacts/20) }

func (p *place) listPage(scope string, number int) task {
	a := p.data.Accounts[0]
	return p.same(pagePath(scope, number), a.Key, func(answer []byte) bool { return p.data.isPage(answer, a, scope, number) })
}

// listAnyPage asks for random pages of random accounts.
func listAnyPage(p *place) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		a := p.data.byWeight(r)
		number := a.anyPage(r)
		return asking{"GET", fmt.Sprintf("/v1/contacts?page=%d", number), a.Key, nil, func(answer []byte) bool { return p.data.isPage(answer, a, "active", number) }, ""}
	})
}

// create makes people who are not there yet.
func create(p *place) task {
	return p.asks(func(r *rand.Rand, n int64) asking {
		a, begun := p.data.byWeight(r), time.Now()
		return asking{"POST", "/v1/contacts", a.Key, personBody(int(n), newcomer), func(answer []byte) bool { return p.created(a, int(n), begun, answer) }, ""}
	})
}

// created compares an answer with the document that crm makes of the same request, and looks in the file for what fill and raw would
// have written.
func (p *place) created(a account, n int, begun time.Time, answer []byte) bool {
	var made struct{ ID int64 }
	check(json.Unmarshal(answer, &made))
	p.same(contactPath(made.ID), a.Key, is(answer)).check()
	for at := begun; !at.After(time.Now().Add(time.Second)); at = at.Add(time.Second) {
		person := makePerson(n, newcomer, at)
		if is(answer)(crm.AppendContact(nil, made.ID, person.body)) {
			if !p.remote {
				p.data.open(func(db *database) { db.holds(a, made.ID, person) })
			}
			return true
		}
	}
	return false
}

// look asks for a page of the API or, where its path does not begin with /v1, of the console. {} in the path is a number that is chosen.
// shows finds the texts that the page must have, by the account and that number.
func look(name, path, shows string, choose func(*dataset, *rand.Rand) int64) cell {
	return cell{"gifts", name, "", 64, func(p *place) task {
		a := p.data.Accounts[0]
		return p.asks(func(r *rand.Rand, _ int64) asking {
			number := choose(p.data, r)
			q := asking{method: "GET", path: strings.ReplaceAll(path, "{}", fmt.Sprint(number)), key: a.Key, right: func(page []byte) (right bool) {
				var texts []string
				p.data.open(func(db *database) {
					db.each(func(row *sqlite3.Stmt) { texts = append(texts, row.ColumnText(0)) }, shows, a.Number, number)
				})
				return !slices.Contains(texts, "") && has(texts...)(page)
			}}
			if !strings.HasPrefix(path, "/v1") {
				q.path, q.header, q.key = "/console/o/"+a.ID+q.path, "Cookie: ", p.visitors[0].cookie
			}
			return q
		})
	}, false}
}

// give records gifts of random contacts.
func give(p *place) task {
	return p.asks(func(r *rand.Rand, _ int64) asking {
		a, id := p.data.anyone(r)
		body := fmt.Appendf(nil, `{"contact_id":%d,"campaign_id":%d,"amount":%d.25,"method":"card","fee":0.55,"transacted_at":"%s"}`,
			id, pick(r, p.data.Campaigns), 1+r.IntN(500), time.Now().UTC().Format(time.RFC3339))
		return asking{"POST", "/v1/transactions", a.Key, body, func([]byte) (right bool) {
			p.data.open(func(db *database) {
				kept := db.number(`SELECT amount FROM giving WHERE cell = ?`, giving.Cell(0, 0, "USD", 0))
				right = kept == db.number(`SELECT sum(net) FROM gift`) && doc.IDSeq(db.number(`SELECT max(id) FROM gift`)) > int64(p.data.Gifts)
			})
			return right
		}, ""}
	})
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

// search types one kind of text into the search of the console, as the page's script sends it. What the console shows first is compared
// with what the documents say.
func search(kind kind) func(*place) task {
	return func(p *place) task {
		return p.asks(func(r *rand.Rand, _ int64) asking {
			v := pick(r, p.visitors)
			q := kind.make(v, r)
			return asking{"GET", v.path() + "?q=" + url.QueryEscape(q.text), v.cookie, nil, func(page []byte) bool {
				if q.wanted == 0 {
					q.wanted = p.data.first(v.account, find.ParseSearch(q.text, region))
				}
				shown := regexp.MustCompile(v.path() + `/(\d+)"`).FindSubmatch(page) // other links lead to words, not to numbers
				return shown != nil && string(shown[1]) == fmt.Sprint(q.wanted)
			}, "HX-Request: true\r\nCookie: "}
		})
	}
}

// first is the active contact that a search finds before all others, by the documents alone.
func (d *dataset) first(a account, s find.Search) (id int64) {
	d.open(func(db *database) {
		db.each(func(row *sqlite3.Stmt) {
			if id != 0 {
				return
			}
			contact := must(crm.ParseContact(row.ColumnInt64(0), row.ColumnRawBlob(1), strings.Split(row.ColumnText(2), "\n")))
			if s.Finds(find.SearchWords(&contact)) {
				id = contact.ID
			}
		}, `SELECT id, body, match_keys FROM contact WHERE account_id = ? AND id >= ? AND id <= ? AND archived = 0 ORDER BY id DESC`,
			a.Number, doc.MakeID(a.Number, 0), doc.MakeID(a.Number, doc.MaxSeq))
	})
	return id
}
