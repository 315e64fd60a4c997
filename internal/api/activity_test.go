package api_test

import (
	"strings"
	"testing"
)

// A client sees what has happened to a contact, and adds notes.
func TestActivitiesTellWhatHappened(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		const path = "/v1/contacts/ID/activities"
		id := s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee","emails":["ann@lee.example"]}`)
		fill := strings.NewReplacer("ID", id, "NOTHING", `"transaction_id":null,"plan_id":null,"amount":null,`+
			`"currency":null,"status":null,"undoes":null},"created_by":"API key `)
		ask := func(method, path, body string) answer {
			t.Helper()
			return s.checked(t, method, fill.Replace(path), key, fill.Replace(body))
		}
		says := func(got answer, parts ...string) {
			t.Helper()
			at := 0
			for _, part := range parts {
				part = fill.Replace(part)
				next := strings.Index(got.body[at:], part)
				if next < 0 {
					t.Fatalf("%s is not in its place:\n%s", part, got.body)
				}
				at += next
			}
		}
		ask("PATCH", "/v1/contacts/ID", `{"last_name":"Li","tags":["a"],"phones":["212-555-0100"]}`)
		ask("POST", "/v1/contacts/ID/tags/remove", `{"tags":["a"]}`)
		gift := ask("POST", "/v1/transactions",
			`{"amount":5.5,"method":"cash","transacted_at":"2026-01-31","contact_id":ID}`)
		says(ask("POST", path, `{"note":" Called. ","occurred_at":"2026-01-31"}`),
			`"type":"note","data":{"changes":[],"note":"Called.",NOTHING`, `"occurred_at":"2026-01-31T12:00:00+00:00"`)
		says(ask("GET", path, ""), `"type":"created","data":{"changes":[],"note":null,NOTHING`,
			`"type":"updated","data":{"changes":[{"field":"last_name","before":"Lee","after":"Li"},{"field":"phones","before":[],`+
				`"after":[{"type":null,"value":"212-555-0100"}]},{"field":"tags","before":[],"after":["a"]}],"note":null`,
			`"type":"untagged","data":{"changes":[{"field":"tags","before":["a"],"after":[]}],"note":null`,
			`"type":"gift","data":{"changes":[],"note":null,"transaction_id":"`+idOf(t, gift.body)+
				`","plan_id":null,"amount":5.5,"currency":"USD","status":"succeeded","undoes":null}`,
			`"type":"note"`, `"total":5`)
		for target, field := range map[string]string{"?sort=name": "sort", "?page=0": "page"} {
			says(ask("GET", path+target, ""), `"errors":{"`+field)
		}
		for body, field := range map[string]string{
			`{}`: "note", `{"note":" "}`: "note", `{"note":5}`: "note",
			`{"note":"` + strings.Repeat("x", 10_001) + `"}`: "note",
			`{"note":"x","occurred_at":"soon"}`:              "occurred_at",
			`{"note":"x","occurred_at":"2999-01-31"}`:        "occurred_at",
		} {
			says(ask("POST", path, body), `"errors":{"`+field)
		}
		plan := ask("POST", "/v1/plans",
			`{"amount":25,"method":"card","frequency":"monthly","start_at":"2026-01-31","contact_id":ID}`)
		newest := ask("GET", path+"?sort=-id&per_page=1", "")
		says(newest, `"type":"plan","data":{"changes":[],"note":null,"transaction_id":null,"plan_id":"`+idOf(t,
			plan.body)+
			`","amount":25,"currency":"USD","status":"active","undoes":null}`, `"total":6`)
		equal(t, strings.Contains(newest.body, `"type":"note"`), false, "a page of one")
		ask("DELETE", "/v1/contacts/ID", "")
		equal(t, ask("GET", path, "").status, 403, "archived")
	})
}
