package api_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/rig"
	"donorbook/internal/store/jobs"
)

// A tag of many contacts is changed in the background: every client gets 202 until it is done, and other changes of the
// tag are refused.
func TestConcurrentTagOfManyContactsIsAnswered202(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key := newKey(t, s.store, account)
		rig.AtOnce(501, func(i int) {
			rig.Create(t, s.store, account.Number, fmt.Sprintf(`{"first_name":"P%d","tags":["a/b"]}`, i), crm.Force)
		})
		want := func(method, path, body string, status int, says string, header ...string) {
			t.Helper()
			got := s.checked(t, method, path, key, body, header...)
			if got.status != status || got.body != says {
				t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			}
		}
		const busy = `{"message":"This tag is being renamed, merged or deleted. Try again when that is done."}`
		want("PATCH", "/v1/tags/a%2Fb", `{"name":"c"}`, 202, `{"name":"a/b","contacts":501}`, "Idempotency-Key", "many")
		want("PATCH", "/v1/tags/a%2Fb", `{"name":"c"}`, 202, `{"name":"a/b","contacts":501}`, "Idempotency-Key", "many")
		want("PUT", "/v1/tags/a%2Fb", `{"name":"c"}`, 202, `{"name":"a/b","contacts":501}`)
		want("PATCH", "/v1/tags/a%2Fb", `{"name":"d"}`, 409, busy, "Idempotency-Key", "other")
		want("PATCH", "/v1/tags/a%2Fb", ``, 200, `{"name":"a/b","contacts":501}`)
		want("DELETE", "/v1/tags/a%2Fb", ``, 409, busy)
		want("DELETE", "/v1/tags/c", ``, 409, busy)
		rig.Create(t, s.store, account.Number, `{"first_name":"X","tags":["x"]}`, crm.Force)
		want("PATCH", "/v1/tags/x", `{"name":"a/b"}`, 409, busy) // it would go on to c
		s.finishTags(t, "PATCH", "/v1/tags/a%2Fb", key, `{"name":"c"}`)
		// as it was answered first
		want("PATCH", "/v1/tags/a%2Fb", `{"name":"c"}`, 202, `{"name":"a/b","contacts":501}`, "Idempotency-Key", "many")
		want("PATCH", "/v1/tags/a%2Fb", `{"name":"d"}`, 404, `{"message":"None of your contacts has this tag."}`,
			"Idempotency-Key", "other")
		want("DELETE", "/v1/tags/c", ``, 202, `{"name":"c","contacts":501}`)
		want("DELETE", "/v1/tags/c", ``, 202, `{"name":"c","contacts":501}`)
		s.finishTags(t, "DELETE", "/v1/tags/c", key, "")
	})
}

// finishTags works on tags as a server does, until a request finds no tag any more.
func (s *server) finishTags(t *testing.T, method, path, key, body string) {
	t.Helper()
	worker := jobs.NewJobWorker(s.store.JobStore)
	got := s.ask(t, method, path, key, body)
	for ; got.status == 202; got = s.ask(t, method, path, key, body) {
		must(worker.Round(t.Context(), func(err error) { t.Error(err) }))(t)
	}
	equal(t, got.status, 404, "%s %s in the end (%v)", method, path, got.body)
}

// A list repeats its query in each of its links, so a long one would cost many times its size.
func TestALongQueryIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		for n, want := range map[int]int{8192: 200, 8193: 414} {
			equal(t, s.ask(t, "GET", "/v1/tags?foo="+strings.Repeat("x", n-len("foo=")), key, "").status, want,
				"%d bytes", n)
		}
	})
}
