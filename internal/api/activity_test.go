package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// A client sees what has happened to a contact, and adds notes.
func TestActivitiesTellWhatHappened(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		ask := func(method, path, body string) answer { return s.checked(t, method, path, key, body) }
		id := idOf(t, ask("POST", "/v1/contacts", `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@lee.example"}]}`).body)
		ask("PATCH", "/v1/contacts/"+id, `{"last_name":"Li","tags":["a"],"phones":["212-555-0100"]}`)
		ask("POST", "/v1/contacts/"+id+"/tags/remove", `{"tags":["a"]}`)
		gift := ask("POST", "/v1/transactions", `{"amount":5.5,"method":"cash","transacted_at":"2026-01-31","contact_id":`+id+`}`)
		made := ask("POST", "/v1/contacts/"+id+"/activities", `{"note":" Called. ","occurred_at":"2026-01-31"}`)
		equal(t, made.status, http.StatusCreated, "a note")
		contains(t, made.body, `"type":"note","data":{"changes":[],"note":"Called.","transaction_id":null,"plan_id":null,"amount":null,"currency":null,"status":null,"undoes":null},"created_by":"API key `,
			"a note")
		contains(t, made.body, `"occurred_at":"2026-01-31T12:00:00+00:00"`, "a note")
		list := ask("GET", "/v1/contacts/"+id+"/activities", "")
		at := 0
		for _, part := range []string{
			`"type":"created","data":{"changes":[],"note":null,"transaction_id":null,"plan_id":null,"amount":null,"currency":null,"status":null,"undoes":null},"created_by":"API key `,
			`"type":"updated","data":{"changes":[{"field":"last_name","before":"Lee","after":"Li"},{"field":"phones","before":[],"after":[{"type":null,"value":"212-555-0100"}]},{"field":"tags","before":[],"after":["a"]}],"note":null`,
			`"type":"untagged","data":{"changes":[{"field":"tags","before":["a"],"after":[]}],"note":null`,
			`"type":"gift","data":{"changes":[],"note":null,"transaction_id":"` + idOf(t, gift.body) + `","plan_id":null,"amount":5.5,"currency":"USD","status":"succeeded","undoes":null}`,
			`"type":"note"`, `"total":5`,
		} {
			next := strings.Index(list.body[at:], part)
			if next < 0 {
				t.Fatalf("%s is not in its place:\n%s", part, list.body)
			}
			at += next
		}
		if newest := ask("GET", "/v1/contacts/"+id+"/activities?sort=-id&per_page=1", ""); !strings.Contains(newest.body, `"type":"note"`) || strings.Contains(newest.body, `"type":"gift"`) {
			t.Errorf("the newest is %s", newest.body)
		}
		for target, field := range map[string]string{"?sort=name": "sort", "?page=0": "page"} {
			got := ask("GET", "/v1/contacts/"+id+"/activities"+target, "")
			equal(t, got.status, 422, "%s", target)
			contains(t, got.body, `"errors":{"`+field, "%s", target)
		}
		for body, field := range map[string]string{`{}`: "note", `{"note":" "}`: "note", `{"note":5}`: "note", `{"note":"` + strings.Repeat("x", 10_001) + `"}`: "note",
			`{"note":"x","occurred_at":"soon"}`: "occurred_at", `{"note":"x","occurred_at":"2999-01-31"}`: "occurred_at"} {
			got := ask("POST", "/v1/contacts/"+id+"/activities", body)
			equal(t, got.status, 422, "%.40s", body)
			contains(t, got.body, `"errors":{"`+field, "%.40s", body)
		}
		contains(t, ask("GET", "/v1/contacts/"+id+"/activities", "").body, `"total":5`,
			"a refused note was added")
		plan := ask("POST", "/v1/plans", `{"amount":25,"method":"card","frequency":"monthly","start_at":"2026-01-31","contact_id":`+id+`}`)
		contains(t, ask("GET", "/v1/contacts/"+id+"/activities?sort=-id&per_page=1", "").body, `"type":"plan","data":{"changes":[],"note":null,"transaction_id":null,"plan_id":"`+idOf(t, plan.body)+`","amount":25,"currency":"USD","status":"active","undoes":null}`,
			"a new plan")
		reader, writer := newKey(t, s.store, account, "contacts:read"), newKey(t, s.store, account, "contacts:write")
		equal(t, s.ask(t, "POST", "/v1/contacts/"+id+"/activities", reader, `{"note":"x"}`).status, http.StatusForbidden,
			"a reader adds a note")
		equal(t, s.ask(t, "GET", "/v1/contacts/"+id+"/activities", writer, "").status, http.StatusForbidden,
			"a writer reads notes")
		ask("DELETE", "/v1/contacts/"+id, "")
		equal(t, ask("GET", "/v1/contacts/"+id+"/activities", "").status, http.StatusForbidden, "archived")
	})
}

// An ETag names the state of a contact: a read can be spared with it, and a change of another state is refused.
func TestConditionsOfAContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
		ask := func(method, path, body string, header ...string) answer {
			t.Helper()
			return s.checked(t, method, path, key, body, header...)
		}
		created := ask("POST", "/v1/contacts", `{"first_name":"Ann","last_name":"Lee","emails":[{"value":"ann@lee.example"}]}`)
		path, tag := "/v1/contacts/"+idOf(t, created.body), created.header.Get("ETag")
		want := func(status int, got answer) answer {
			t.Helper()
			equal(t, got.status, status, "the status (%v)", got.body)
			return got
		}
		changed := want(200, ask("PATCH", path, `{"company":"Acme"}`, "If-Match", tag)).header.Get("ETag")
		if changed == tag || changed != ask("GET", path, "").header.Get("ETag") {
			t.Errorf("%s became %s", tag, changed)
		}
		want(201, ask("POST", path+"/activities", `{"note":"x"}`, "If-Match", changed))
		if noted := ask("GET", path, "").header.Get("ETag"); noted == changed {
			t.Error("a note is no other state")
		}
		want(412, ask("DELETE", path, "", "If-Match", changed))
		want(200, ask("DELETE", path, "", "If-Match", "*"))
		want(403, ask("PATCH", path, `{}`, "If-Match", tag))
		want(200, ask("PATCH", path+"/restore", ""))
		merged := want(201, ask("POST", "/v1/contacts", `{"first_name":"Ann","last_name":"Lee","company":"New","emails":[{"value":"ann@lee.example"}]}`))
		if merged.header.Get("X-Contact-Merged") != "true" || merged.header.Get("ETag") != ask("GET", path, "").header.Get("ETag") {
			t.Errorf("merged: %v", merged.header)
		}
		keyed := func() answer {
			return ask("PATCH", path, `{"title":"Dr"}`, "If-Match", merged.header.Get("ETag"), "Idempotency-Key", "k")
		}
		first := want(200, keyed())
		wantReplay(t, "a conditional change", first, want(200, keyed())) // the condition was met the first time
	})
}
