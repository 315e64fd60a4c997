package book

import (
	"slices"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// Contacts are found by when they were added and by when they were changed last, to the second.
func TestContactsAreFoundByTheirTimes(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, clock := newAccount(t, s).Number, stopClock(s) // on January 31
		var ids []int64
		for _, name := range []string{"Ann", "Bob", "Cid"} {
			ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
		}
		clock.move(24 * time.Hour)
		must(s.UpdateContact(t.Context(), account, ids[1], input(t, `{"company":"New"}`)))(t)
		archive(t, s, account, ids[2])
		s.Costs.Few, s.Costs.Document = 0, 1<<40 // by sets and indexes alone
		for query, want := range map[string]int64{
			"updated_before=2026-02-01": 1, "updated_after=2026-02-01": 1, "updated_after=2026-02-01T12:00:01Z": 0, "updated_after=2026-02-01T12:00:00Z": 1,
			"created_after=2026-01-31&created_before=2026-02-01": 2, "created_after=2026-02-01": 0, "created_before=2026-01-31T12:00:00Z": 0, "created_before=2026-01-31T12:00:01Z": 2,
		} {
			if _, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != want {
				t.Errorf("%s finds %d contacts, want %d", query, n, want)
			}
		}
	})
}

// Contacts are numbered as they are made: where a clock is set back, a new contact is as old as the one before it. Its document says so, too.
func TestACreationIsNeverBeforeTheOneBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, clock := newAccount(t, s).Number, stopClock(s)
		var ids []int64
		for _, step := range []time.Duration{0, time.Hour, -2 * time.Hour, time.Minute, 3 * time.Hour} {
			clock.move(step)
			ids = append(ids, createAs(t, s, account, `{"first_name":"Ann"}`, crm.Force).ID)
		}
		var made []string
		for _, id := range ids {
			record := must(s.ContactRecord(t.Context(), account, id))(t)
			made = append(made, record.CreatedAt.Format(time.TimeOnly))
		}
		if want := []string{"12:00:00", "13:00:00", "13:00:00", "13:00:00", "14:01:00"}; !slices.Equal(made, want) {
			t.Errorf("they were made at %v, want %v", made, want)
		}
		for query, want := range map[string][]int64{
			"created_after=2026-01-31T12:30:00Z&created_before=2026-01-31T14:00:00Z": ids[1:4], "created_before=2026-01-31T13:00:00Z": ids[:1],
			"created_after=2026-01-31T13:00:01Z": ids[4:], "created_after=2026-01-31T13:00:00Z&sort=created_at": ids[1:],
			"created_after=2026-01-31T14:00:00Z&created_before=2026-01-31T13:00:00Z": nil,
		} {
			if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); !slices.Equal(got, want) || n != int64(len(want)) {
				t.Errorf("%s finds %v, %d in all, want %v", query, got, n, want)
			}
		}
	})
}
