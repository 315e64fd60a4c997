package api_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"donorbook/internal/crm/doc"
)

// The model test sends random sequences of requests through HTTP and through a model of the contract that is simple
// enough to trust, and compares every status and body. For a longer run: -rapid.checks=1000 -rapid.steps=200.
func TestEverySequenceOfRequestsAnswersAsTheModelDoes(t *testing.T) {
	onEach(t, bothEngines, func(t *testing.T, s *server) {
		brief(t, "rapid.checks", map[string]string{"sqlite": "8", "postgres": "3"}[s.engine])
		brief(t, "rapid.steps", "90")
		rapid.Check(t, func(r *rapid.T) {
			m := &machine{server: s, t: t}
			for range 2 {
				account := newAccount(t, s.store, "model", "")
				m.accounts = append(m.accounts, &modelAccount{key: newKey(t, s.store, account),
					absent: doc.MakeID(account.Number, doc.MaxSeq)})
			}
			r.Repeat(map[string]func(*rapid.T){
				"create":  m.create,
				"create2": m.create, // most often, so that there is something to work on
				"get":     m.get,
				"patch":   m.patch,
				"archive": m.archive,
				"restore": m.restore,
				"tags":    m.tags,
				"list":    m.list,
				"again":   m.again,
			})
			for _, account := range m.accounts {
				for _, scope := range []string{"active", "archived", "all"} {
					m.compareList(r, account, "?scope="+scope+"&per_page=100", scope, 1, 100)
				}
			}
		})
	})
}

// brief sets a flag of rapid, unless the command line sets it.
func brief(t *testing.T, name, value string) {
	t.Helper()
	if slices.ContainsFunc(os.Args, func(arg string) bool {
		return strings.HasPrefix(strings.TrimLeft(arg, "-"),
			name)
	}) {
		return
	}
	succeed(t, flag.Set(name, value))
}

type machine struct {
	*server
	t        *testing.T
	accounts []*modelAccount
	attempts []attempt
}

// attempt is a request with an Idempotency-Key, and its first answer.
type attempt struct {
	account              *modelAccount
	method, target, body string
	first                answer
}

// try makes a request. About half of the changes have an Idempotency-Key, so that they can be sent again.
func (m *machine) try(r *rapid.T, account *modelAccount, method, target, body string) answer {
	r.Helper()
	if method == "GET" || method == "DELETE" || !rapid.Bool().Draw(r, "keyed") {
		return m.ask(m.t, method, target, account.key, body)
	}
	a := attempt{account: account, method: method, target: target, body: body}
	a.first = m.attempt(len(m.attempts), a)
	m.attempts = append(m.attempts, a)
	return a.first
}

// attempt sends a request with an Idempotency-Key.
func (m *machine) attempt(number int, a attempt) answer {
	return m.sendKeyed(m.t, fmt.Sprintf("attempt-%d", number), a.method, a.target, a.account.key, a.body)
}

// again resends an earlier request, or another one with its key. The model does not change.
func (m *machine) again(r *rapid.T) {
	if len(m.attempts) == 0 {
		r.Skip("nothing was attempted")
	}
	number := rapid.IntRange(0, len(m.attempts)-1).Draw(r, "attempt")
	a := m.attempts[number]
	if rapid.IntRange(0, 4).Draw(r, "another") == 0 {
		a.body += " "
		if got := m.attempt(number, a); got.status != 422 || !strings.Contains(got.body, "Idempotency-Key") {
			r.Fatalf("another request with the key of %s %s %s\n%d %s", a.method, a.target, a.body, got.status,
				got.body)
		}
		return
	}
	got := m.attempt(number, a)
	if got.status != a.first.status || got.body != a.first.body || got.header.Get("Idempotent-Replayed") != "true" ||
		got.header.Get("X-Contact-Merged") != a.first.header.Get("X-Contact-Merged") {
		r.Fatalf("%s %s %s\n%d %v %s\ninstead of\n%d %v %s", a.method, a.target, a.body, got.status, got.header,
			got.body, a.first.status, a.first.header, a.first.body)
	}
}

// modelAccount is the content of an account according to the contract.
type modelAccount struct {
	key      string
	absent   int64 // an id of this account that never exists
	contacts []*modelContact
}

var (
	someTime  = regexp.MustCompile(`"(created_at|updated_at|archived_at)":"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\+00:00|\.000000Z)"`)
	forbidden = `{"message":"This action is unauthorized."}`
)

// expect makes a request and compares its answer. For times, it only compares whether they are set.
func (m *machine) expect(r *rapid.T, account *modelAccount, method, target, body string, status int,
	want string,
) answer {
	r.Helper()
	got := m.try(r, account, method, target, body)
	text := someTime.ReplaceAllString(got.body, `"$1":"time"`)
	if got.status != status || text != want {
		r.Fatalf("%s %s %s\n%d %s\ninstead of\n%d %s\n%s", method, target, body, got.status, text, status, want,
			cmp.Diff(byMember(want), byMember(text)))
	}
	return got
}

func (m *machine) account(r *rapid.T) *modelAccount {
	return rapid.SampledFrom(m.accounts).Draw(r, "account")
}

// contact draws a contact: more often one of the account than a foreign one, and sometimes one that does not exist.
// found is nil if the account has no such contact.
func (m *machine) contact(r *rapid.T) (account *modelAccount, id int64, found *modelContact) {
	account = m.account(r)
	from := account
	switch rapid.IntRange(0, 9).Draw(r, "whose") {
	case 0:
		return account, rapid.SampledFrom([]int64{account.absent, 0, -7}).Draw(r, "absent id"), nil
	case 1:
		from = m.account(r)
	}
	if len(from.contacts) == 0 {
		return account, account.absent, nil
	}
	c := rapid.SampledFrom(from.contacts).Draw(r, "contact")
	if from != account {
		return account, c.id, nil
	}
	return account, c.id, c
}

func (m *machine) create(r *rapid.T) {
	account := m.account(r)
	in := drawInput(r)
	force := rapid.SampledFrom([]string{"", "", "?force_create=true", "?force_create=1", "?force_create=0",
		"?force_create=false"}).Draw(r, "force")
	if faults := in.missingNames(); faults != "" {
		m.expect(r, account, "POST", "/v1/contacts"+force, in.json(), 422, faults)
		return
	}
	var match *modelContact
	if force == "" || force == "?force_create=0" || force == "?force_create=false" {
		match = account.match(in)
	}
	if match != nil {
		match.merge(in)
		a := m.expect(r, account, "POST", "/v1/contacts"+force, in.json(), 201, match.json())
		equal(r, a.header.Get("X-Contact-Merged"), "true", "the answer does not say that it was merged")
		return
	}
	c := &modelContact{}
	c.merge(in)
	a := m.try(r, account, "POST", "/v1/contacts"+force, in.json())
	if a.status != 201 || a.header.Get("X-Contact-Merged") != "" {
		r.Fatalf("%s\nshould be new, but is %d %s", in.json(), a.status, a.body)
	}
	c.id = must(strconv.ParseInt(idOf(m.t, a.body), 10, 64))(r)
	if n := len(account.contacts); n > 0 && c.id <= account.contacts[n-1].id {
		r.Fatalf("the id %d does not ascend", c.id)
	}
	account.contacts = append(account.contacts, c)
	m.expect(r, account, "GET", path(c.id), "", 200, c.json())
	equal(r, someTime.ReplaceAllString(a.body, `"$1":"time"`), c.json(), "the new contact is not what was sent")
}

func path(id int64) string { return "/v1/contacts/" + strconv.FormatInt(id, 10) }

func (m *machine) get(r *rapid.T) {
	account, id, c := m.contact(r)
	if c == nil || c.archived {
		m.expect(r, account, "GET", path(id), "", 403, forbidden)
		return
	}
	m.expect(r, account, "GET", path(id), "", 200, c.json())
}

func (m *machine) patch(r *rapid.T) {
	account, id, c := m.contact(r)
	in := drawInput(r)
	switch {
	case c == nil || c.archived:
		m.expect(r, account, "PATCH", path(id), in.json(), 403, forbidden)
	case in.emptyNames() != "":
		m.expect(r, account, "PATCH", path(id), in.json(), 422, in.emptyNames())
	default:
		c.patch(in)
		m.expect(r, account, "PATCH", path(id), in.json(), 200, c.json())
	}
}

func (m *machine) archive(r *rapid.T) {
	account, id, c := m.contact(r)
	if c == nil || c.archived {
		m.expect(r, account, "DELETE", path(id), "", 403, forbidden)
		return
	}
	c.archived = true
	m.expect(r, account, "DELETE", path(id), "", 200, "")
}

func (m *machine) restore(r *rapid.T) {
	account, id, c := m.contact(r)
	if c == nil {
		m.expect(r, account, "PATCH", path(id)+"/restore", "", 403, forbidden)
		return
	}
	c.archived = false
	m.expect(r, account, "PATCH", path(id)+"/restore", "", 200, c.json())
}

func (m *machine) tags(r *rapid.T) {
	account, id, c := m.contact(r)
	how := rapid.SampledFrom([]string{"add", "sync", "remove"}).Draw(r, "how")
	tags := drawTags(r)
	target, body := path(id)+"/tags/"+how, `{"tags":`+jsonTexts(tags)+`}`
	switch {
	case c == nil || c.archived:
		m.expect(r, account, "POST", target, body, 403, forbidden)
		return
	case len(tags) == 0:
		const fault = "The tags field must be an array with at least one tag name."
		m.expect(r, account, "POST", target, body, 422, `{"message":"`+fault+`","errors":{"tags":["`+fault+`"]}}`)
		return
	case how == "add":
		c.tags = once(slices.Concat(c.tags, tags))
	case how == "sync":
		c.tags = once(tags)
	case how == "remove":
		c.tags = slices.DeleteFunc(slices.Clone(c.tags), func(tag string) bool { return slices.Contains(tags, tag) })
	}
	m.expect(r, account, "POST", target, body, 200, c.json())
}

func (m *machine) list(r *rapid.T) {
	account := m.account(r)
	scope := rapid.SampledFrom([]string{"", "active", "archived", "all", "other"}).Draw(r, "scope")
	page := rapid.IntRange(1, 4).Draw(r, "page")
	perPage := rapid.SampledFrom([]int{1, 2, 3, 20, 100}).Draw(r, "per page")
	query := fmt.Sprintf("?page=%d&per_page=%d", page, perPage)
	if scope != "" {
		query += "&scope=" + scope
	}
	if scope == "other" {
		const fault = "The scope field must be one of active, archived, all."
		m.expect(r, account, "GET", "/v1/contacts"+query, "", 422,
			`{"message":"`+fault+`","errors":{"scope":["`+fault+`"]}}`)
		return
	}
	m.compareList(r, account, query, scope, page, perPage)
}

func (m *machine) compareList(r *rapid.T, account *modelAccount, query, scope string, page, perPage int) {
	r.Helper()
	var found []string
	for _, c := range account.contacts {
		if scope == "all" || c.archived == (scope == "archived") {
			found = append(found, c.json())
		}
	}
	kept := []string{}
	for _, parameter := range strings.Split(query[1:], "&") {
		if !strings.HasPrefix(parameter, "page=") {
			kept = append(kept, parameter)
		}
	}
	want := envelope(found, m.url+"/v1/contacts", strings.Join(kept, "&"), page, perPage)
	m.expect(r, account, "GET", "/v1/contacts"+query, "", 200, want)
}

// envelope is a page of a list, as the specification and the decisions describe it.
func envelope(found []string, address, query string, page, perPage int) string {
	total := len(found)
	last := max(1, (total+perPage-1)/perPage)
	first := min((page-1)*perPage, total)
	data := found[first:min(first+perPage, total)]
	link := func(page int) string { return fmt.Sprintf(`"%s?%s&page=%d"`, address, query, page) }
	prev, next, from, to := "null", "null", "null", "null"
	if page > 1 {
		prev = link(page - 1)
	}
	if page < last {
		next = link(page + 1)
	}
	if len(data) > 0 {
		from, to = strconv.Itoa(first+1), strconv.Itoa(first+len(data))
	}
	steps := []string{`{"url":` + prev + `,"label":"&laquo; Previous","active":false}`}
	gap := false
	for n := 1; n <= last; n++ {
		shown := last < 14 || page <= 7 && (n <= 10 || n >= last-1) || page > 7 &&
			(n <= 2 || page > last-7 && n >= last-9 ||
				page <= last-7 && (n >= page-3 && n <= page+3 || n >= last-1))
		if shown {
			steps = append(steps, fmt.Sprintf(`{"url":%s,"label":"%d","active":%t}`, link(n), n, n == page))
		} else if !gap {
			steps = append(steps, `{"url":null,"label":"...","active":false}`)
		}
		gap = !shown
	}
	steps = append(steps, `{"url":`+next+`,"label":"Next &raquo;","active":false}`)
	return `{"data":[` + strings.Join(data, ",") + `],"links":{"first":` + link(1) + `,"last":` + link(last) +
		`,"prev":` + prev + `,"next":` + next +
		`},"meta":{"current_page":` + strconv.Itoa(page) + `,"from":` + from + `,"last_page":` + strconv.Itoa(last) +
		`,"links":[` + strings.Join(steps, ",") +
		`],"path":"` + address + `","per_page":` + strconv.Itoa(perPage) + `,"to":` + to + `,"total":` +
		strconv.Itoa(total) + `}}`
}
