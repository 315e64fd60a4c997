package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/doc"
)

// A client that tries the ids of another account, of its active and its archived contacts, learns nothing: every answer is the
// same as for an id that never existed, byte for byte and header for header.
func TestForeignIDsAnswerAsIDsThatWereNeverGivenOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		owner, stranger := newAccount(t, s.store, "owner", ""), newAccount(t, s.store, "stranger", "")
		ownerKey := newKey(t, s.store, owner)
		keys := map[string]string{
			"all":    newKey(t, s.store, stranger),
			"reader": newKey(t, s.store, stranger, "contacts:read"),
			"writer": newKey(t, s.store, stranger, "contacts:write"),
			"none":   newKey(t, s.store, stranger, "campaigns:read"),
		}
		const person = `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@lee.example"}],"tags":["secret"]}`
		active := idOf(t, s.ask(t, "POST", "/v1/contacts", ownerKey, person).body)
		archived := idOf(t, s.ask(t, "POST", "/v1/contacts?force_create=true", ownerKey, person).body)
		s.ask(t, "DELETE", "/v1/contacts/"+archived, ownerKey, "")
		before := s.ask(t, "GET", "/v1/contacts?scope=all", ownerKey, "").body

		last := must(strconv.ParseInt(archived, 10, 64))(t)
		never := map[string]string{
			"in the owner's range":    strconv.FormatInt(last+1000, 10),
			"in the stranger's range": strconv.FormatInt(doc.MakeID(stranger.Number, 1), 10),
			"none":                    "0",
			"too large":               strings.Repeat("9", 40),
		}
		s.probe(t, keys, []string{
			"/v1/contacts/{id}", "/v1/contacts/{id}/restore", "/v1/contacts/{id}/tags/add", "/v1/contacts/{id}/tags/sync", "/v1/contacts/{id}/tags/remove",
			"/v1/contacts/{id}/activities", "/v1/contacts/{id}/activities?sort=-id",
		}, []string{"", `{"note":"x"}`, `{"tags":["x"]}`, `{"tags":[]}`, `{"first_name":"Bob"}`, `{"first_name":null}`, `not JSON`},
			never["in the stranger's range"], []string{active, archived}, slices.Collect(maps.Values(never)))
		equal(t, s.ask(t, "GET", "/v1/contacts?scope=all", ownerKey, "").body, before,
			"the contacts of the owner have changed")
	})
}

// probe asks for foreign ids in every way: each answer must be the same as for an id that never existed.
func (s *server) probe(t *testing.T, keys map[string]string, paths, bodies []string, nobodys string, foreign, never []string) {
	t.Helper()
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	for name, key := range keys {
		for _, path := range paths {
			for _, method := range methods {
				for _, body := range bodies {
					if body != "" && (method != "POST" && method != "PATCH" && method != "PUT" || name == "reader" || name == "none") {
						continue
					}
					ask := func(id string) told {
						return withoutCounters(s.ask(t, method, strings.Replace(path, "{id}", id, 1), key, body))
					}
					want := ask(nobodys)
					if status := want.status; status != http.StatusForbidden && status != http.StatusMethodNotAllowed {
						t.Errorf("%s %s with the key %s and %q: the status is %d", method, path, name, body, status)
					}
					ids := foreign
					if body == "" {
						ids = slices.Concat(foreign, never)
					}
					for _, id := range ids {
						if difference := cmp.Diff(want, ask(id), cmp.AllowUnexported(told{})); difference != "" {
							t.Errorf("%s %s with the key %s and %q: %s is told from an id that was never given out:\n%s", method, path, name, body, id, difference)
						}
					}
				}
			}
		}
	}
}

// The same for gifts and plans, whose ids are not numbers: ids of another account, such an id with another random part, and one
// with the number of a gift of this account.
func TestForeignGiftsAndPlansAnswerAsIDsThatWereNeverGivenOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		owner, stranger := newAccount(t, s.store, "owner", ""), newAccount(t, s.store, "stranger", "")
		ownerKey := newKey(t, s.store, owner)
		keys := map[string]string{
			"all":    newKey(t, s.store, stranger),
			"reader": newKey(t, s.store, stranger, "transactions:read"),
			"writer": newKey(t, s.store, stranger, "transactions:write"),
			"none":   newKey(t, s.store, stranger, "contacts:read", "contacts:write", "campaigns:read"),
		}
		const giver = `"first_name":"Ann","last_name":"Lee","email":"ann@lee.example","method":"card"`
		bodies := []string{"", `{}`, `{"note":"x"}`, `{"amount":5}`, `{"amount":"5"}`, `{"contact_id":null,"status":"ended"}`, `not JSON`}
		for paths, body := range map[string]string{
			"/v1/transactions/{id} /v1/transactions/{id}/refund /v1/transactions/{id}/refund/undo": `{"amount":50,"transacted_at":"2026-01-31",` + giver + `}`,
			"/v1/plans/{id}": `{"amount":25,"frequency":"monthly",` + giver + `}`,
		} {
			list := strings.Split(paths, "/{id}")[0]
			foreign := idOf(t, s.ask(t, "POST", list, ownerKey, body).body)
			own := idOf(t, s.ask(t, "POST", list, keys["all"], body).body)
			before, mine := s.ask(t, "GET", list, ownerKey, "").body, s.ask(t, "GET", list, keys["all"], "").body
			never := []string{"abcdefghij" + foreign[10:], own[:10] + "zzzzzz", "ZZZZZZZZZZZZZZZZ", "0000000000000000", "xxxxxxxxxx" + own[10:]}
			s.probe(t, keys, strings.Fields(paths), bodies, own[:10]+"000zzz", []string{foreign}, never)
			equal(t, s.ask(t, "GET", list, ownerKey, "").body, before, "what the owner has was changed")
			equal(t, s.ask(t, "GET", list, keys["all"], "").body, mine,
				"what the stranger has was changed by another id")
		}
	})
}

// The same for campaigns, and for tags, which are known by their names.
func TestForeignCampaignsAndTagsAnswerAsWhatWasNeverThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		owner, stranger := newAccount(t, s.store, "owner", ""), newAccount(t, s.store, "stranger", "")
		ownerKey := newKey(t, s.store, owner)
		keys := map[string]string{
			"all":    newKey(t, s.store, stranger),
			"reader": newKey(t, s.store, stranger, "campaigns:read"),
			"writer": newKey(t, s.store, stranger, "campaigns:write"),
			"none":   newKey(t, s.store, stranger, "contacts:read", "contacts:write", "transactions:write"),
		}
		foreign := idOf(t, s.ask(t, "POST", "/v1/campaigns", ownerKey, `{"title":"Gala","status":"draft"}`).body)
		s.ask(t, "POST", "/v1/contacts", ownerKey, `{"first_name":"Ann","last_name":"Lee","tags":["secret"]}`)
		before := s.ask(t, "GET", "/v1/campaigns", ownerKey, "").body + s.ask(t, "GET", "/v1/contacts", ownerKey, "").body
		never := []string{strconv.FormatInt(doc.MakeID(owner.Number, 999_999), 10), "0", "-1", strings.Repeat("9", 40)}
		s.probe(t, keys, []string{"/v1/campaigns/{id}"}, []string{"", `{}`, `[]`, `{"title":"x"}`, `{"title":null}`, `not JSON`},
			strconv.FormatInt(doc.MakeID(stranger.Number, 999_999), 10), []string{foreign}, never)
		for _, method := range []string{"GET", "PATCH", "PUT", "DELETE"} {
			for _, body := range []string{"", `{"name":"x"}`, `{"name":null}`, `not JSON`} {
				theirs := withoutCounters(s.ask(t, method, "/v1/tags/secret", keys["all"], body))
				nobodys := withoutCounters(s.ask(t, method, "/v1/tags/never", keys["all"], body))
				if difference := cmp.Diff(nobodys, theirs, cmp.AllowUnexported(told{})); difference != "" || theirs.status != 404 && theirs.status != 405 {
					t.Errorf("%s with %q: the tag of another account is told from none: %d\n%s", method, body, theirs.status, difference)
				}
			}
		}
		equal(t, s.ask(t, "GET", "/v1/campaigns", ownerKey, "").body+s.ask(t, "GET", "/v1/contacts", ownerKey, "").body, before,
			"what the owner has was changed")
	})
}

// The lists and creates of an account show and touch nothing of another one.
func TestAccountsDoNotSeeEachOther(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		one, two := newKey(t, s.store, newAccount(t, s.store, "one", "")), newKey(t, s.store, newAccount(t, s.store, "two", ""))
		const person = `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@lee.example"}],"phones":[{"value":"4155550132"}]}`
		s.ask(t, "POST", "/v1/contacts", one, person)
		before := s.ask(t, "GET", "/v1/contacts?scope=all", one, "").body
		for _, scope := range []string{"active", "archived", "all"} {
			body := s.ask(t, "GET", "/v1/contacts?scope="+scope, two, "").body
			contains(t, body, `"data":[]`, "scope %s of another account", scope)
			contains(t, body, `"total":0`, "scope %s of another account", scope)
		}
		made := s.ask(t, "POST", "/v1/contacts", two, strings.Replace(person, "Ann", "Bob", 1))
		if made.status != http.StatusCreated || made.header.Get("X-Contact-Merged") != "" {
			t.Errorf("a contact was merged across accounts: %d %s", made.status, made.body)
		}
		equal(t, s.ask(t, "GET", "/v1/contacts?scope=all", one, "").body, before,
			"an account changed another one")
	})
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
