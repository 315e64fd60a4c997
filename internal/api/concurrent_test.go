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
