package book

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/contacts"
)

// A history whose changes are large waits for its turn, shows little of each, and as JSON loses nothing.
func TestConcurrentLongHistoriesTakeTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		const rounds = 12
		account := newAccount(t, s).Number
		id := create(t, s, account, `{"first_name":"Ada","last_name":"Lovelace"}`).ID
		for round := range rounds {
			var emails, tags []string
			for i := range 100 {
				emails = append(emails, fmt.Sprintf(`{"value":"somebody.with.a.long.name.%d.%d@example.org"}`, round, i))
			}
			for i := range 400 {
				tags = append(tags, fmt.Sprintf(`"a tag of round %d with number %d"`, round, i))
			}
			in := input(t, `{"emails":[`+strings.Join(emails, ",")+`],"tags":[`+strings.Join(tags, ",")+`]}`)
			must(s.UpdateContact(t.Context(), account, id, in))(t)
		}
		all := crm.PageRequest{Page: 1, PerPage: 100}
		for name, read := range map[string]func() error{
			"a page of a contact": func() error {
				changes, result, err := s.Timeline(t.Context(), account, history.ContactNoun, id, all)
				for _, change := range changes[:min(rounds, len(changes))] {
					if len(change.Data) > 4<<10 || change.Left < 400 || len(change.Changes()) == 0 {
						t.Errorf("%d bytes of a change are read, which lack %d values", len(change.Data), change.Left)
					}
				}
				if result.Total != rounds+1 {
					t.Errorf("%d changes", result.Total)
				}
				return err
			},
			"a page of an organization": func() error {
				part, err := s.History(t.Context(), account, contacts.HistoryPlace{}, 40)
				if err == nil && (len(part.Entries) == 0 || len(part.Entries[0].Changes[0].Data) > 4<<10) {
					t.Errorf("%d entries", len(part.Entries))
				}
				return err
			},
			"the list of the API": func() error {
				var text strings.Builder
				rest, _, err := s.Activities(t.Context(), account, id, all, true, nil, func(piece []byte, _ store.ListResult) ([]byte, error) {
					if len(piece) > 2*store.PieceSize {
						t.Errorf("a piece of %d bytes", len(piece))
					}
					text.Write(piece)
					return piece[:0], nil
				})
				text.Write(rest)
				var found []any
				if err == nil {
					err = json.Unmarshal([]byte("["+text.String()+"]"), &found)
				}
				for round := range rounds {
					if len(found) != rounds+1 || !strings.Contains(text.String(), "number 399") || !strings.Contains(text.String(), fmt.Sprintf(".name.%d.99@", round)) {
						t.Errorf("%d changes, or one that lacks something", len(found))
					}
				}
				return err
			},
		} {
			letGo, done := occupied(t, s.Heavy, account), make(chan error, 1)
			go func() { done <- read() }()
			waitFor(t, s.Heavy, 1)
			letGo()
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
