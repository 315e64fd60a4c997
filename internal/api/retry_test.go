package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/access"
	"donorbook/internal/db"
	"donorbook/internal/rig/rows"
	"donorbook/internal/store/book"
)

// sendKeyed makes a request with an Idempotency-Key.
func (s *server) sendKeyed(t testing.TB, retryKey, method, target, secret, body string) answer {
	t.Helper()
	return s.send(t, s.keyed(t, retryKey, method, target, secret, body))
}

func (s *server) keyed(t testing.TB, retryKey, method, target, secret, body string) *http.Request {
	t.Helper()
	r := s.request(t, method, target, secret, body)
	r.Header.Set("Idempotency-Key", retryKey)
	return r
}

// wantReplay checks that a second answer equals the first one, byte for byte and header for header.
func wantReplay(t *testing.T, what string, first, second answer) {
	t.Helper()
	want, got := withoutCounters(first), withoutCounters(second)
	equal(t, got.header.Get("Idempotent-Replayed"), "true", "%s: Idempotent-Replayed", what)
	want.header.Del("Idempotent-Replayed")
	got.header.Del("Idempotent-Replayed")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(told{})); diff != "" {
		t.Errorf("%s: the first answer (-) and the second (+) differ:\n%s", what, diff)
	}
}

// sample is a request of an operation.
type sample struct{ Name, Target, Body string }

func samples(table string) map[string]sample {
	all := map[string]sample{}
	for _, s := range rows.Of[sample](table) {
		all[s.Name] = s
	}
	return all
}

// repeatable has a request that succeeds for each operation that may have an Idempotency-Key; {id} is a contact,
// {gift}, of which a part is refunded, and {plan} are its, {campaign} is a campaign, {other} another contact, and
// {merge} a merge of a third one.
var repeatable = samples(`
	createContact         /v1/contacts?force_create=true       {"first_name":"Ann","last_name":"Lee","note":"Grüße <3"}
	updateContact         /v1/contacts/{id}                    {"company":"Harbor"}
	putContact            /v1/contacts/{id}                    {"company":"Pier"}
	restoreContact        /v1/contacts/{id}/restore            ""
	restoreContactByPost  /v1/contacts/{id}/restore            ""
	mergeContact          /v1/contacts/{id}/merge              {"contact_id":{other}}
	undoMerge             /v1/merges/{merge}/undo              ""
	addNote               /v1/contacts/{id}/activities         {"note":"Called."}
	addTags               /v1/contacts/{id}/tags/add           {"tags":["a","b"]}
	syncTags              /v1/contacts/{id}/tags/sync          {"tags":["c"]}
	removeTags            /v1/contacts/{id}/tags/remove        {"tags":["c"]}
	renameTag             /v1/tags/c                           {"name":"e"}
	putTag                /v1/tags/d                           {"name":"f"}
	createCampaign        /v1/campaigns                        {"title":"Gala"}
	updateCampaign        /v1/campaigns/{campaign}             {"goal":5}
	putCampaign           /v1/campaigns/{campaign}             {"goal":6}
	createTransaction     /v1/transactions                     {"contact_id":{id},"amount":5,"method":"cash","transacted_at":"2026-01-31"}
	updateTransaction     /v1/transactions/{gift}              {"note":"a"}
	putTransaction        /v1/transactions/{gift}              {"note":"b"}
	refundTransaction     /v1/transactions/{gift}/refund       {"amount":1}
	issueReceipt          /v1/transactions/{gift}/receipt      ""
	updateTemplate        /v1/templates/first                  {"subject":"Thanks, {first_name}"}
	putTemplate           /v1/templates/large                  {"amount":1000}
	undoRefund            /v1/transactions/{gift}/refund/undo  {"amount":1}
	voidTransaction       /v1/transactions/{gift}/void         {"reason":"Typed twice"}
	undoVoid              /v1/transactions/{voided}/void/undo  ""
	createPlan            /v1/plans                            {"contact_id":{id},"amount":5,"method":"card","frequency":"monthly"}
	updatePlan            /v1/plans/{plan}                     {"amount":6}
	putPlan               /v1/plans/{plan}                     {"amount":7}
`)

// Every POST, PATCH and PUT of the document accepts the key and returns its first answer again, whatever has happened
// to the contact since.
func TestEveryChangeCanBeSentAgain(t *testing.T) {
	c := must(loadContract())(t)
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		left := maps.Clone(repeatable)
		for _, item := range c.document.Paths.Map() {
			for method, operation := range item.Operations() {
				name := operation.OperationID
				takes := operation.Parameters.GetByInAndName("header", "Idempotency-Key") != nil
				equal(t, takes, slices.Contains([]string{"POST", "PATCH", "PUT"}, method),
					"%s: that it takes an Idempotency-Key", name)
				if !takes {
					continue
				}
				request, known := repeatable[name]
				delete(left, name)
				if !known {
					t.Errorf("%s is not tried: add it to repeatable", name)
					continue
				}
				fill := s.repeatableThings(t, key)
				id := fill.Replace("{id}")
				target, body := fill.Replace(request.Target), fill.Replace(request.Body)
				first := s.sendKeyed(t, name, method, target, key, body)
				if first.status >= 300 || first.header.Get("Idempotent-Replayed") != "" {
					t.Errorf("%s: the first answer is %d, %v: %s", name, first.status, first.header, first.body)
				}
				s.ask(t, "DELETE", "/v1/contacts/"+id, key, "")
				wantReplay(t, name, first, s.sendKeyed(t, name, method, target, key, body))
			}
		}
		if len(left) > 0 {
			t.Errorf("the document does not have %v", left)
		}
	})
}

// Every operation needs a key with one of its permissions, and no other.
func TestEveryOperationNeedsItsPermission(t *testing.T) {
	c := must(loadContract())(t)
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		main := newKey(t, s.store, account)
		for path, item := range c.document.Paths.Map() {
			for method, operation := range item.Operations() {
				needed := strings.Fields(fmt.Sprint(operation.Extensions["x-permission"]))
				others := slices.DeleteFunc(access.AllPermissions.Names(),
					func(name string) bool { return slices.Contains(needed, name) })
				fill := s.repeatableThings(t, main)
				request, known := repeatable[operation.OperationID]
				if !known {
					request.Target = ownIDs.Replace(path)
				}
				status := func(key string) (int, string) {
					got := s.ask(t, method, fill.Replace(request.Target), key, fill.Replace(request.Body))
					return got.status, got.header.Get("X-Required-Permission")
				}
				if got, _ := status(""); got != 401 {
					t.Errorf("%s %s without a key: %d", method, path, got)
				}
				if got, told := status(newKey(t, s.store, account, others...)); got != 403 ||
					told != strings.Join(needed, ", ") {
					t.Errorf("%s %s with a key for %s: %d, needs %q", method, path, others, got, told)
				}
				for _, name := range needed {
					if got, told := status(newKey(t, s.store, account, name)); got == 401 || told != "" {
						t.Errorf("%s %s with a key for %s: %d, needs %q", method, path, name, got, told)
					}
				}
			}
		}
	})
}

// ownIDs names what is in the path of an operation that changes nothing, or has no body.
var ownIDs = strings.NewReplacer("/contacts/{id}", "/contacts/{id}", "/campaigns/{id}", "/campaigns/{campaign}",
	"/transactions/{id}", "/transactions/{gift}", "/plans/{id}", "/plans/{plan}", "/merges/{id}", "/merges/{merge}",
	"{tag}", "c", "{occasion}/preview", "first/preview?transaction_id={gift}", "{occasion}", "first")

// repeatableThings makes what the requests of repeatable are about.
func (s *server) repeatableThings(t *testing.T, key string) *strings.Replacer {
	t.Helper()
	id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee","tags":["c","d"]}`)
	gift := s.ask(t, "POST", "/v1/transactions", key, `{"contact_id":`+id+
		`,"amount":9,"method":"cash","transacted_at":"2026-01-31"}`)
	s.ask(t, "POST", "/v1/transactions/"+idOf(t, gift.body)+"/refund", key, `{"amount":3}`)
	voided := s.ask(t, "POST", "/v1/transactions", key,
		`{"contact_id":`+id+`,"amount":8,"method":"cash","transacted_at":"2026-01-31"}`)
	s.ask(t, "POST", "/v1/transactions/"+idOf(t, voided.body)+"/void", key, `{"reason":"Typed twice"}`)
	plan := s.ask(t, "POST", "/v1/plans", key, `{"contact_id":`+id+`,"amount":9,"method":"card","frequency":"yearly"}`)
	campaign := s.make(t, key, "/v1/campaigns", `{"title":"Gala"}`)
	other := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
	merged := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
	merge := s.ask(t, "POST", "/v1/contacts/"+id+"/merge", key, `{"contact_id":`+merged+`}`).header.Get("X-Merge-Id")
	return strings.NewReplacer("{other}", other, "{merge}", merge, "{id}", id, "{gift}", idOf(t, gift.body), "{voided}",
		idOf(t, voided.body), "{plan}", idOf(t, plan.body), "{campaign}", campaign)
}

// openOptions opens a store of the engine that is closed when the test ends.
func (e *engine) openOptions(t *testing.T, nodes int, now func() time.Time) (servers []*server) {
	t.Helper()
	options, remove := must2(e.open())(t)
	t.Cleanup(remove)
	options.Now = now
	for range nodes {
		s := must(book.Open(context.Background(), options))(t)
		t.Cleanup(func() {
			succeed(t, s.Close())
		})
		servers = append(servers, newServer(t, s, usual))
	}
	return servers
}

// If many clients send a request with the same key at once, to one node or to two, it has one effect and one answer.
func TestConcurrentRequestSentManyTimesAtOnceHasOneEffect(t *testing.T) {
	const many = 64
	for _, e := range engines {
		for nodes := 1; nodes <= 2; nodes++ {
			t.Run(fmt.Sprintf("%s, nodes %d", e.name, nodes), func(t *testing.T) {
				t.Parallel()
				servers := e.openOptions(t, nodes, nil)
				key := newKey(t, servers[0].store, newAccount(t, servers[0].store, "main", ""))
				// Neither has an email, a phone or an external id: without their keys, there would be 64 of each.
				gift := `{"amount":5,"method":"cash","transacted_at":"2026-01-31","contact_id":`
				id := postAtOnce(t, servers, key, many, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
				postAtOnce(t, servers, key, many, "/v1/transactions", gift+id+`}`)
				contains(t, servers[0].ask(t, "GET", "/v1/contacts/"+id, key, "").body, `"total_contributions":5}`,
					"the gift counts more than once")
			})
		}
	}
}

// postAtOnce sends one request many times at once and checks that it has one effect. It returns the id of what was
// created.
func postAtOnce(t *testing.T, servers []*server, key string, many int, path, body string) (id string) {
	t.Helper()
	var requests []*http.Request
	for i := range many {
		requests = append(requests, servers[i%len(servers)].keyed(t, "storm"+path, "POST", path, key, body))
	}
	answers := storm(t, servers[0], requests)
	made := slices.IndexFunc(answers, func(a answer) bool { return a.header.Get("Idempotent-Replayed") == "" })
	if made < 0 || len(answers) != many || answers[made].status != 201 {
		t.Fatalf("%s: of %d answers, number %d made it", path, len(answers), made)
	}
	for i, a := range answers {
		if i != made {
			wantReplay(t, fmt.Sprintf("request %d", i), answers[made], a)
		}
	}
	for _, s := range servers {
		if list := s.ask(t, "GET", path, key, "").body; !strings.HasSuffix(list, `"total":1}}`) {
			t.Errorf("%s has not one: %s", path, clip(list))
		}
	}
	return idOf(t, answers[made].body)
}

// A server error decides nothing: the same request runs again when the server works.
func TestAFailureIsNotKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
		flip := func() { // damages the contact, and repairs it
			succeed(t, s.store.DB().Update(t.Context(), account.Number, nil, func(b db.Batch) error {
				_, err := b.(interface {
					Exec(sql string, args ...any) (int64, error)
				}).Exec(`UPDATE contact SET checksum = -checksum WHERE account_id = $1`, account.Number)
				return err
			}))
		}
		flip()
		r := s.keyed(t, "fails", "PATCH", "/v1/contacts/"+id, key, `{"company":"Harbor"}`)
		response := must(s.client.Do(r))(t)
		response.Body.Close()
		equal(t, response.StatusCode, 500, "the status of a damaged contact")
		flip()
		first := s.sendKeyed(t, "fails", "PATCH", "/v1/contacts/"+id, key, `{"company":"Harbor"}`)
		if first.status != 200 || first.header.Get("Idempotent-Replayed") != "" ||
			!strings.Contains(first.body, `"company":"Harbor"`) {
			t.Errorf("after the repair: %d, %v, %s", first.status, first.header, first.body)
		}
		wantReplay(t, "after the repair", first, s.sendKeyed(t, "fails", "PATCH", "/v1/contacts/"+id, key,
			`{"company":"Harbor"}`))
	})
}

func TestAfter24HoursAnIdempotencyKeyIsNew(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			var later atomic.Int64
			s := e.openOptions(t, 1, func() time.Time { return time.Now().Add(time.Duration(later.Load())) })[0]
			key := s.anyKey(t)
			const ann, bob = `{"first_name":"Ann","last_name":"Lee"}`, `{"first_name":"Bob","last_name":"Lee"}`
			ask := func(body string) answer { return s.sendKeyed(t, "daily", "POST", "/v1/contacts", key, body) }
			first := ask(ann)
			later.Store(int64(24*time.Hour - time.Minute))
			wantReplay(t, "after almost a day", first, ask(ann))
			equal(t, ask(bob).status, 422, "another request after almost a day")
			later.Store(int64(24*time.Hour + time.Second))
			next := ask(bob)
			equal(t, next.status, 201)
			equal(t, next.header.Get("Idempotent-Replayed"), "")
			wantReplay(t, "the new one", next, ask(bob))
		})
	}
}
