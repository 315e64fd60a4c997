package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Every operation heeds If-Match: a request with a tag that nothing has is 412 and changes nothing, whatever it is
// about. With the tag that its document has, it succeeds, and so the next tag is another one.
func TestEveryOperationHeedsIfMatch(t *testing.T) {
	c := must(loadContract())(t)
	deletes := samples(`
		archiveContact  /v1/contacts/{id}          ""
		deleteCampaign  /v1/campaigns/{campaign}   ""
		deleteTag       /v1/tags/c                 ""
		resetTemplate   /v1/templates/first        ""
	`)
	eachEngine(t, func(t *testing.T, s *server) {
		for _, item := range c.document.Paths.Map() {
			for method, operation := range item.Operations() {
				name := operation.OperationID
				if method == "GET" {
					continue
				}
				key := newKey(t, s.store, newAccount(t, s.store, name, ""))
				request, known := repeatable[name]
				if !known {
					request, known = deletes[name]
				}
				if !known {
					t.Errorf("%s is not tried", name)
					continue
				}
				fill := s.repeatableThings(t, key)
				target, body := fill.Replace(request.Target), fill.Replace(request.Body)
				before := s.everything(t, key)
				for _, wrong := range []string{`"nonsense"`, `"1-0", W/"2-ff"`, `"abcdef0123456789"`, ""} {
					got := s.checked(t, method, target, key, body, "If-Match", wrong)
					equal(t, got.status, 412, "%s with If-Match %s", name, wrong)
					contains(t, got.body, "If-Match", "%s with If-Match %s", name, wrong)
				}
				equal(t, s.everything(t, key), before, "%s changed something although it was refused", name)
				document := documentOf(target)
				takes := operation.Parameters.GetByInAndName("header", "If-Match") != nil
				equal(t, takes, (document != ""), "%s: that it takes If-Match", name)
				if document == "" {
					equal(t, s.checked(t, method, target, key, body, "If-Match", "*").status, 412,
						"%s with If-Match *", name)
					continue
				}
				tag := s.checked(t, "GET", document, key, "").header.Get("ETag")
				got := s.checked(t, method, target, key, body, "If-Match", tag)
				if got.status >= 300 {
					t.Errorf("%s with If-Match %s: %d %s", name, tag, got.status, got.body)
				}
				read := s.checked(t, "GET", document, key, "")
				told := got.header.Get("ETag")
				if strings.HasPrefix(got.body, "{") && strings.Contains(read.body, `"id"`) && name != "addNote" &&
					told != read.header.Get("ETag") {
					t.Errorf("%s tells the tag %s, and reading %s", name, told, read.header.Get("ETag"))
				}
				if changed := name != "restoreContact" && name != "restoreContactByPost"; read.status == 200 &&
					(read.header.Get("ETag") != tag) != changed {
					t.Errorf("%s: the tag was %s and is %s", name, tag, read.header.Get("ETag"))
				}
			}
		}
	})
}

// documentOf is the address of the document that a request changes, "" for none.
func documentOf(target string) string {
	parts := strings.Split(target, "/")
	if len(parts) < 4 || !slices.Contains([]string{"contacts", "campaigns", "transactions", "plans"}, parts[2]) {
		return ""
	}
	return strings.Join(parts[:4], "/")
}

// everything is what an account has, as its lists show it.
func (s *server) everything(t *testing.T, key string) (all string) {
	t.Helper()
	for _, list := range []string{"contacts?scope=all", "campaigns", "transactions", "plans", "tags", "merges"} {
		all += s.ask(t, "GET", "/v1/"+list, key, "").body + "\n"
	}
	return all
}

// A read of a document is spared by its tag, and one with another tag in If-Match is refused. What is shown in a
// document and kept elsewhere leads to another tag, too.
func TestATagNamesWhatIsShown(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		fill := s.repeatableThings(t, key)
		documents := []string{"/v1/contacts/{id}", "/v1/campaigns/{campaign}", "/v1/transactions/{gift}",
			"/v1/plans/{plan}"}
		tags := map[string]string{}
		for _, document := range documents {
			path := fill.Replace(document)
			tag := s.checked(t, "GET", path, key, "").header.Get("ETag")
			tags[document] = tag
			for _, known := range []string{tag, `"x", ` + tag, "W/" + tag, "*"} {
				if got := s.checked(t, "GET", path, key, "", "If-None-Match", known); got.status != 304 ||
					got.body != "" || got.header.Get("ETag") != tag {
					t.Errorf("%s with If-None-Match %s: %d %q %s", document, known, got.status, got.body,
						got.header.Get("ETag"))
				}
			}
			equal(t, s.checked(t, "GET", path, key, "", "If-None-Match", `"1-0"`).status, 200,
				"%s with another tag", document)
			equal(t, s.checked(t, "GET", path, key, "", "If-Match", `"1-0"`).status, 412,
				"%s with another tag in If-Match", document)
			equal(t, s.checked(t, "GET", path, key, "", "If-Match", tag).status, 200,
				"%s with its tag in If-Match", document)
		}
		// A gift is in the sums of its campaign and its contact, and moves its plan on; the gift names its campaign by
		// the slug.
		created := s.ask(t, "POST", "/v1/transactions", key,
			fill.Replace(`{"contact_id":{id},"campaign_id":{campaign},"plan_id":"{plan}","amount":5,"method":"cash","transacted_at":"`+clock.now().Format(time.DateOnly)+`"}`))
		for document, tag := range tags {
			got := s.checked(t, "GET", fill.Replace(document), key, "", "If-None-Match", tag)
			equal(t, (got.status == 200), document != "/v1/transactions/{gift}",
				"%s after a gift: %d", document, got.status)
		}
		gift := "/v1/transactions/" + idOf(t, created.body)
		equal(t, s.checked(t, "GET", gift, key, "").header.Get("ETag"), created.header.Get("ETag"),
			"the gift was created")
		s.ask(t, "PATCH", fill.Replace("/v1/campaigns/{campaign}"), key, `{"slug":"another-slug"}`)
		got := s.checked(t, "GET", gift, key, "", "If-None-Match", created.header.Get("ETag"))
		equal(t, got.status, 200, "the gift after its campaign has got another slug")
		contains(t, got.body, "another-slug", "the gift after its campaign has got another slug")
	})
}

// A create that is merged tells the tag of what it was merged into, and a change that met its condition the first time
// is answered again.
func TestConditionsOfAContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := s.anyKey(t)
		const ann = `{"first_name":"Ann","last_name":"Lee","emails":["ann@lee.example"]`
		path := "/v1/contacts/" + s.make(t, key, "/v1/contacts", ann+"}")
		merged := s.checked(t, "POST", "/v1/contacts", key, ann+`,"company":"New"}`)
		equal(t, merged.header.Get("X-Contact-Merged"), "true")
		tag := s.checked(t, "GET", path, key, "").header.Get("ETag")
		equal(t, merged.header.Get("ETag"), tag)
		keyed := func() answer {
			return s.checked(t, "PATCH", path, key, `{"title":"Dr"}`, "If-Match", tag, "Idempotency-Key", "k")
		}
		first := keyed()
		equal(t, first.status, 200)
		wantReplay(t, "a conditional change", first, keyed())
		changed := first.header.Get("ETag")
		equal(t, s.checked(t, "POST", path+"/activities", key, `{"note":"x"}`, "If-Match", changed).status, 201)
		equal(t, s.checked(t, "DELETE", path, key, "", "If-Match", changed).status, 412, "after a note")
		equal(t, s.checked(t, "DELETE", path, key, "", "If-Match", "*").status, 200)
	})
}
