package api_test

import (
	"donorbook/internal/rig"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// storm sends requests at the same moment over connections of their own, and returns their answers.
func storm(t *testing.T, s *server, requests []*http.Request) []answer {
	t.Helper()
	answers := make([]answer, len(requests))
	rig.AtOnce(len(requests), func(i int) { answers[i] = s.send(t, requests[i]) })
	return answers
}

func TestConcurrentTheSameNewPersonPostedManyTimesAtOnceEndsAsOneContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		for _, match := range []string{`"emails":[{"value":"Ann@Lee.example"}]`, `"phones":[{"value":"(415) 555-0132"}]`} {
			postManyTimesAtOnce(t, s, match)
		}
	})
}

func postManyTimesAtOnce(t *testing.T, s *server, match string) {
	t.Helper()
	const many = 64
	key := s.anyKey(t)
	var requests []*http.Request
	var tags []string
	for i := range many {
		tags = append(tags, fmt.Sprintf("tag %02d", i))
		body := fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee",%s,"tags":[%q],"addresses":[{"zipcode":"%d"}]}`, match, tags[i], i)
		requests = append(requests, s.request(t, "POST", "/v1/contacts", key, body))
	}
	var fresh int
	for i, a := range storm(t, s, requests) {
		equal(t, a.status, 201, "%s", a.body)
		if !slices.Contains(contactOf(t, a.body).Tags, tags[i]) {
			t.Errorf("%s: the answer lacks its own tag %q: %s", match, tags[i], a.body)
		}
		if a.header.Get("X-Contact-Merged") == "" {
			fresh++
		}
	}
	equal(t, fresh, 1, "%s", match)
	page := pageOf(t, s.ask(t, "GET", "/v1/contacts?scope=all", key, "").body)
	equal(t, page.Meta.Total, 1, "%s", match)
	equal(t, slices.Sorted(slices.Values(page.Data[0].Tags)), tags, "%s: the tags", match)
	equal(t, len(page.Data[0].Addresses), many, "%s: the addresses", match)
}

// Of what many ask for at once, tags are all added, and a contact is archived once.
func TestConcurrentChangesOfOneContactAreEachDone(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		const many = 32
		key := s.anyKey(t)
		path := "/v1/contacts/" + s.make(t, key, "/v1/contacts", `{"first_name":"Ann","last_name":"Lee"}`)
		var adding, archiving []*http.Request
		for i := range many {
			adding = append(adding, s.request(t, "POST", path+"/tags/add", key, fmt.Sprintf(`{"tags":["tag %d"]}`, i)))
			archiving = append(archiving, s.request(t, "DELETE", path, key, ""))
		}
		equal(t, statuses(storm(t, s, adding)), map[int]int{200: many})
		equal(t, len(contactOf(t, s.ask(t, "GET", path, key, "").body).Tags), many)
		equal(t, statuses(storm(t, s, archiving)), map[int]int{200: 1, 403: many - 1})
	})
}

// statuses is how many answers have each status.
func statuses(answers []answer) map[int]int {
	counts := map[int]int{}
	for _, a := range answers {
		counts[a.status]++
	}
	return counts
}

func TestConcurrentRateLimitHoldsForRequestsAtOnce(t *testing.T) {
	s := newServer(t, openStore(t), settings{rateLimit: 10})
	key := s.anyKey(t)
	var requests []*http.Request
	for range 30 {
		requests = append(requests, s.request(t, "GET", "/v1/contacts", key, ""))
	}
	answers, remaining := storm(t, s, requests), map[string]bool{}
	for _, a := range answers {
		if a.status == 200 {
			remaining[a.header.Get("X-RateLimit-Remaining")] = true
		}
	}
	equal(t, statuses(answers), map[int]int{200: 10, 429: 20})
	equal(t, len(remaining), 10, "what remained was told as %v", remaining)
}

func TestARevokedKeyStopsAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key, secret := makeKey(t, s.store, account, noExpiry)
		for range 3 {
			equal(t, s.ask(t, "GET", "/v1/contacts", secret, "").status, 200, "the status")
		}
		succeed(t, s.store.RevokeKey(t.Context(), key.ID))
		equal(t, s.ask(t, "GET", "/v1/contacts", secret, "").status, 401, "the status")
	})
}

// contact and page are the parts of an answer that the tests look at.
type contact struct {
	ID         int64
	FirstName  string `json:"first_name"`
	Tags       []string
	Addresses  []struct{ Zipcode string }
	ArchivedAt *string `json:"archived_at"`
}

type page struct {
	Data  []contact
	Links struct{ First, Last, Prev, Next *string }
	Meta  struct {
		CurrentPage int64  `json:"current_page"`
		From, To    *int64 `json:",omitempty"`
		LastPage    int64  `json:"last_page"`
		Total       int64
	}
}

func contactOf(t testing.TB, body string) (c contact) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatalf("%v: %s", err, clip(body))
	}
	return c
}

func pageOf(t testing.TB, body string) (p page) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatalf("%v: %s", err, clip(body))
	}
	return p
}
