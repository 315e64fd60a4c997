package api_test

import (
	"net/http"
	"testing"

	"donorbook/internal/rig"
)

// storm sends requests at the same moment over connections of their own, and returns their answers.
func storm(t *testing.T, s *server, requests []*http.Request) []answer {
	t.Helper()
	answers := make([]answer, len(requests))
	rig.AtOnce(len(requests), func(i int) { answers[i] = s.send(t, requests[i]) })
	return answers
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
