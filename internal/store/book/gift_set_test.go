package book

import (
	"fmt"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/contacts"
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
			made := must(s.CreateGift(t.Context(), account,
				giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d}`, day,
					contact), true, now)))(t)
			return made.Code
		}
		change := func(code, body string) {
			must(s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, now)))(t)
		}
		want := func(after, before string, want ...int64) {
			t.Helper()
			query := "gave_after=" + after + "&gave_before=" + before
			if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != int64(len(want)) ||
				fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s finds %v, want %v", query, got, want)
			}
		}
		first, second := give(ids[0], "2026-01-05"), give(ids[0], "2026-01-31")
		want("2026-01-01", "2026-02-01", ids[0])
		want("2025-01-01", "2026-01-05")
		want("2026-01-31", "2026-02-01", ids[0])
		must(s.RefundGift(t.Context(), account, first, nil, ""))(t)
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

// Who has a plan, and who has given nothing in a stretch of time, is found by indexes and by documents alike.
func TestContactsAreFoundByTheirPlansAndByGiftsTheyDidNotGive(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, now := newAccount(t, s).Number, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		var ids []int64
		for _, name := range []string{"Ann", "Bob", "Cat"} {
			ids = append(ids, createAs(t, s, account, `{"first_name":"`+name+`","last_name":"Lee"}`, crm.Force).ID)
		}
		for contact, day := range map[int64]string{ids[0]: "2025-03-01", ids[1]: "2026-01-31"} {
			must(s.CreateGift(t.Context(), account,
				giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d}`, day,
					contact), true, now)))(t)
		}
		in, faults, err := giving.DecodePlan(doc.NewBody(fmt.Appendf(nil,
			`{"contact_id":%d,"amount":10,"method":"card","frequency":"monthly"}`, ids[2])))
		if err == nil {
			err = in.Validate(faults, true, "US", now)
		}
		if err == nil {
			_, err = s.CreatePlan(t.Context(), account, in)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, costs := range []contacts.FilterCosts{{Document: 1 << 40}, {Few: 100, Document: 0}} {
			s.Costs = costs
			for query, want := range map[string][]int64{
				"no_gift_after=2026-01-01": {ids[0], ids[2]}, "no_gift_before=2026-01-01": {ids[1],
					ids[2]}, "gave_before=2026-01-01&no_gift_after=2026-01-01": {ids[0]},
				"no_gift_after=2025-01-01&no_gift_before=2026-01-01": {ids[1],
					ids[2]}, "plan_status=active&plan_status=paused": {ids[2]}, "plan_status=ended": {}, "plan_status=active&gave_after=2025-01-01": {},
			} {
				if got, n := filtered(t, s, account, crm.Active, filterOf(t, query), 1, 20); n != int64(len(want)) ||
					fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%+v: %s finds %v, want %v", costs, query, got, want)
				}
			}
		}
	})
}
