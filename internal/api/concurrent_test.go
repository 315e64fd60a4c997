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
	key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
	var requests []*http.Request
	var tags []string
	for i := range many {
		tags = append(tags, fmt.Sprintf("tag %02d", i))
		body := fmt.Sprintf(`{"first_name":"Ann","last_name":"Lee",%s,"tags":[%q],"addresses":[{"zipcode":"%d"}]}`, match, tags[i], i)
		requests = append(requests, s.request(t, "POST", "/v1/contacts", key, body))
	}
	var fresh int
	for i, a := range storm(t, s, requests) {
		equal(t, a.status, http.StatusCreated, "%s: the status (%v)", match, a.body)
		if !slices.Contains(contactOf(t, a.body).Tags, tags[i]) {
			t.Errorf("%s: the answer lacks its own tag %q: %s", match, tags[i], a.body)
		}
		if a.header.Get("X-Contact-Merged") == "" {
			fresh++
		}
	}
	equal(t, fresh, 1, "%s", match)
	page := pageOf(t, s.ask(t, "GET", "/v1/contacts?scope=all", key, "").body)
	if len(page.Data) != 1 || page.Meta.Total != 1 {
		t.Fatalf("%s: there are %d contacts, total %d", match, len(page.Data), page.Meta.Total)
	}
	got := page.Data[0].Tags
	slices.Sort(got)
	equal(t, slices.Equal(got, tags), true, "%s: the contact", match)
	equal(t, len(page.Data[0].Addresses), many, "%s: the contact", match)
}

func TestConcurrentTagsAddedAtOnceAreAllKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		const many = 32
		key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
		id := idOf(t, s.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Ann","last_name":"Lee"}`).body)
		var requests []*http.Request
		for i := range many {
			requests = append(requests, s.request(t, "POST", "/v1/contacts/"+id+"/tags/add", key, fmt.Sprintf(`{"tags":["tag %d"]}`, i)))
		}
		for _, a := range storm(t, s, requests) {
			equal(t, a.status, http.StatusOK, "the status (%v)", a.body)
		}
		equal(t, len(contactOf(t, s.ask(t, "GET", "/v1/contacts/"+id, key, "").body).Tags), many)
	})
}

func TestConcurrentArchivingAtOnceSucceedsOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
		id := idOf(t, s.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Ann","last_name":"Lee"}`).body)
		var requests []*http.Request
		for range 16 {
			requests = append(requests, s.request(t, "DELETE", "/v1/contacts/"+id, key, ""))
		}
		statuses := map[int]int{}
		for _, a := range storm(t, s, requests) {
			statuses[a.status]++
		}
		if statuses[http.StatusOK] != 1 || statuses[http.StatusForbidden] != 15 {
			t.Errorf("the statuses are %v", statuses)
		}
	})
}

func TestConcurrentRateLimitHoldsForRequestsAtOnce(t *testing.T) {
	s := newServer(t, openStore(t), settings{rateLimit: 10})
	key := newKey(t, s.store, newAccount(t, s.store, "main", ""))
	var requests []*http.Request
	for range 30 {
		requests = append(requests, s.request(t, "GET", "/v1/contacts", key, ""))
	}
	statuses, remaining := map[int]int{}, map[string]bool{}
	for _, a := range storm(t, s, requests) {
		statuses[a.status]++
		if a.status == http.StatusOK {
			remaining[a.header.Get("X-RateLimit-Remaining")] = true
		}
	}
	if statuses[http.StatusOK] != 10 || statuses[http.StatusTooManyRequests] != 20 || len(remaining) != 10 {
		t.Errorf("the statuses are %v, what remained was told as %v", statuses, remaining)
	}
}

func TestARevokedKeyStopsAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *server) {
		account := newAccount(t, s.store, "main", "")
		key, secret := makeKey(t, s.store, account, noExpiry)
		for range 3 {
			equal(t, s.ask(t, "GET", "/v1/contacts", secret, "").status, http.StatusOK, "the status")
		}
		succeed(t, s.store.RevokeKey(t.Context(), key.ID))
		equal(t, s.ask(t, "GET", "/v1/contacts", secret, "").status, http.StatusUnauthorized, "the status")
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
