package book

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm"
)

// Who gave in a stretch of time follows each change of a gift: a refund, another day, another giver.
func TestGiversFollowTheirGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		var ids []int64
		for _, name := range []string{"Ann", "Bob"} {
			ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
		}
		s.Costs.Few, s.Costs.Document = 0, 1<<40 // by the indexes alone
		now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		give := func(contact int64, day string) string {
			made, err := s.CreateGift(t.Context(), account, giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d}`, day, contact), true, now))
			if err != nil {
				t.Fatal(err)
			}
			return made.Code
		}
		change := func(code, body string) {
			if _, err := s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, now)); err != nil {
				t.Fatal(err)
			}
		}
		want := func(after, before string, want ...int64) {
			t.Helper()
			query := "gave_after=" + after + "&gave_before=" + before
			if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != int64(len(want)) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s finds %v, want %v", query, got, want)
			}
		}
		first, second := give(ids[0], "2026-01-05"), give(ids[0], "2026-01-31")
		want("2026-01-01", "2026-02-01", ids[0])
		want("2025-01-01", "2026-01-05")
		want("2026-01-31", "2026-02-01", ids[0])
		if _, err := s.RefundGift(t.Context(), account, first, nil, ""); err != nil {
			t.Fatal(err)
		}
		want("2026-01-01", "2026-02-01", ids[0]) // by the second gift
		change(second, `{"transacted_at":"2026-03-05"}`)
		want("2026-01-01", "2026-03-01")
		want("2026-03-01", "2026-04-01", ids[0])
		change(second, fmt.Sprintf(`{"contact_id":%d}`, ids[1]))
		want("2026-03-01", "2026-04-01", ids[1])
		give(ids[0], "2026-03-30")
		want("2026-03-01", "2026-04-01", ids...)
	})
}
