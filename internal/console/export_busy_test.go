package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"donorbook/internal/crm/access"
)

// While an organization has many files in work, another one is refused before it is prepared: nothing is read for it,
// and the history does not say that data has left.
func TestARefusedFileIsNotInTheHistory(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Owner)
	contact := s.contact(p, "Ana", "Diaz")
	busy := http.Header{"X-Busy": {fmt.Sprint(p.account.Number)}}
	for _, path := range []string{"contacts/export", "gifts/export", "donors/export", contact + "/data"} {
		p.do("GET", path, nil, busy).is(503)
	}
	p.get("settings/history").lacks("exported", "downloaded")
	p.get("contacts/export").is(200)
	p.get(contact + "/data").is(200)
	p.get("settings/history").sees("exported 1 contact", "downloaded the data of one contact")
}
