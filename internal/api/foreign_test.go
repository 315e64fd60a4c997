package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
)

// A client that tries what another account has learns nothing: every answer is the same as for what was never there,
// byte for byte and header for header, and nothing is changed. Ids of gifts and plans end with a random part, and begin
// with a number.
func TestForeignIDsAnswerAsIDsThatWereNeverGivenOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		owner, stranger := newAccount(t, s.store, "owner", ""), newAccount(t, s.store, "stranger", "")
		theirs, mine := newKey(t, s.store, owner), newKey(t, s.store, stranger)
		make := func(key, path, body string) string { return idOf(t, s.ask(t, "POST", path, key, body).body) }
		number := func(account access.Account, n int64) string { return fmt.Sprint(doc.MakeID(account.Number, n)) }
		const person = `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@lee.example"}],"tags":["secret"]}`
		const giver = `"first_name":"Ann","last_name":"Lee","email":"ann@lee.example","method":"card"}`
		const gift, plan = `{"amount":50,"transacted_at":"2026-01-31",` + giver,
			`{"amount":25,"frequency":"monthly",` + giver
		active, archived := make(theirs, "/v1/contacts", person), make(theirs, "/v1/contacts?force_create=true", person)
		s.ask(t, "DELETE", "/v1/contacts/"+archived, theirs, "")
		campaign := make(theirs, "/v1/campaigns", `{"title":"Gala","status":"draft"}`)
		codes := map[string][2]string{}
		for path, body := range map[string]string{"/v1/transactions": gift, "/v1/plans": plan} {
			codes[path] = [2]string{make(theirs, path, body), make(mine, path, body)}
		}
		before := s.everything(t, theirs) + s.everything(t, mine)
		numbers := []string{number(owner, 999_999), number(stranger, 1000), "0", "-1", strings.Repeat("9", 40)}
		s.probe(t, stranger, "contacts", []string{
			"/v1/contacts/{id}", "/v1/contacts/{id}/restore", "/v1/contacts/{id}/activities?sort=-id",
			"/v1/contacts/{id}/tags/add", "/v1/contacts/{id}/tags/sync", "/v1/contacts/{id}/tags/remove",
		}, []string{`{"note":"x"}`, `{"tags":["x"]}`, `{"tags":[]}`, `{"first_name":"Bob"}`, `{"first_name":null}`},
			number(stranger, 999), []string{active, archived}, numbers)
		s.probe(t, stranger, "campaigns", []string{"/v1/campaigns/{id}"},
			[]string{`{}`, `[]`, `{"title":"x"}`, `{"title":null}`},
			number(stranger, 999_999), []string{campaign}, numbers)
		for path, code := range codes {
			foreign, own := code[0], code[1]
			paths := []string{path + "/{id}"}
			if path == "/v1/transactions" {
				paths = append(paths, path+"/{id}/refund", path+"/{id}/refund/undo")
			}
			s.probe(t, stranger, "transactions", paths,
				[]string{`{}`, `{"note":"x"}`, `{"amount":5}`, `{"amount":"5"}`,
					`{"contact_id":null,"status":"ended"}`},
				own[:10]+"000zzz", []string{foreign}, []string{"abcdefghij" + foreign[10:], own[:10] + "zzzzzz",
					"ZZZZZZZZZZZZZZZZ", "0000000000000000", "xxxxxxxxxx" + own[10:]})
		}
		for _, method := range []string{"GET", "PATCH", "PUT", "DELETE"} { // tags are known by their names
			for _, body := range []string{"", `{"name":"x"}`, `{"name":null}`, `not JSON`} {
				foreign := withoutCounters(s.ask(t, method, "/v1/tags/secret", mine, body))
				nobodys := withoutCounters(s.ask(t, method, "/v1/tags/never", mine, body))
				equal(t, foreign, nobodys, "%s with %q: the tag of another account", method, body)
				equal(t, foreign.status == 404 || foreign.status == 405, true, "%s with %q: %d", method, body,
					foreign.status)
			}
		}
		equal(t, s.everything(t, theirs)+s.everything(t, mine), before, "something was changed")
	})
}

// probe asks for foreign ids in every way: each answer must be the same as for an id that never existed.
func (s *server) probe(
	t *testing.T, stranger access.Account, noun string, paths, bodies []string, nobodys string, foreign, never []string,
) {
	t.Helper()
	other := map[bool]string{true: "campaigns:read", false: "contacts:read"}[noun == "contacts"]
	for name, key := range map[string]string{
		"all":    newKey(t, s.store, stranger),
		"reader": newKey(t, s.store, stranger, noun+":read"),
		"writer": newKey(t, s.store, stranger, noun+":write"),
		"none":   newKey(t, s.store, stranger, other),
	} {
		for _, path := range paths {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
				for _, body := range append([]string{"", "not JSON"}, bodies...) {
					if body != "" && (!strings.HasPrefix(method, "P") || name == "reader" || name == "none") {
						continue
					}
					ask := func(id string) told {
						return withoutCounters(s.ask(t, method, strings.Replace(path, "{id}", id, 1), key, body))
					}
					want := ask(nobodys)
					if want.status != 403 && want.status != 405 {
						t.Errorf("%s %s with the key %s and %q: the status is %d", method, path, name, body,
							want.status)
					}
					ids := foreign
					if body == "" {
						ids = slices.Concat(foreign, never)
					}
					for _, id := range ids {
						equal(t, ask(id), want, "%s %s with the key %s and %q: %s is told apart", method, path, name,
							body, id)
					}
				}
			}
		}
	}
}

type told struct {
	status int
	header http.Header
	body   string
}

// withoutCounters is an answer without the parts that differ between any two requests.
func withoutCounters(a answer) told {
	header := a.header.Clone()
	for _, name := range []string{"X-Request-Id", "Date", "X-Ratelimit-Remaining"} {
		header.Del(name)
	}
	return told{a.status, header, a.body}
}
