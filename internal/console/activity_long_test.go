package console_test

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
)

// largeContact is a contact with 25 emails and 100 tags, all of which are others in each round.
func largeContact(round int) string {
	var emails, tags []string
	for i := range 25 {
		emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
	}
	for i := range 100 {
		tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
	}
	return `{"first_name":"Ada","emails":[` + strings.Join(emails, ",") + `],"tags":[` + strings.Join(tags, ",") + `]}`
}

// However much each change did, a page of a history is short. Whoever wants it all follows a link.
func TestAHistoryOfLargeChangesIsShort(t *testing.T) {
	s, p := signedIn(t, access.Owner)
	p.follow("contacts", "first_name", "Ada", "last_name", "Lovelace")
	id := s.contacts(p.account)[0].ID
	path := p.org(fmt.Sprintf("/contacts/%d", id))
	for round := range 45 {
		in, faults, err := crm.DecodeContact(doc.NewBody([]byte(largeContact(round))))
		if err == nil {
			err = in.Validate(faults, false, "US", now)
		}
		if err == nil {
			_, err = s.store.UpdateContact(store.By(t.Context(), history.APIChannel, "API key Website"), p.account.Number, id, in)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	note := strings.Repeat("A long note. ", 700)
	p.follow(path+"/notes", "note_text", note, "note_date", "")
	for _, address := range []string{path + "/history", p.org("/settings/history")} {
		shown := p.get(address)
		if len(shown.body) > 100_000 {
			t.Errorf("%s has %d bytes", address, len(shown.body))
		}
		shown.sees("Show the whole change", "somebody.with.a.long.name.44.0@example.org", "“a tag of round 44 with number 0”").hides("name.44.24@").lacks(strings.TrimSpace(note))
	}
	p.get(path + "/history?page=2").sees("added this contact.")
	whole := 0
	for _, link := range strings.Split(p.get(path+"/history").body, `<a href="`)[1:] {
		address, rest, _ := strings.Cut(link, `"`)
		if !strings.HasPrefix(rest, ">Show the whole change") {
			continue
		}
		shown := p.get(address)
		if whole++; whole == 1 {
			shown.sees("History of Ada Lovelace", strings.TrimSpace(note))
		} else {
			shown.sees(fmt.Sprintf("name.%d.24@example.org", 46-whole), fmt.Sprintf("“a tag of round %d with number 99”", 46-whole))
		}
	}
	if whole != 40 {
		t.Errorf("%d of 40 changes are shown whole", whole)
	}
	p.get(path + "/history/999999").is(404)

}
