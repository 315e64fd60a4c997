package book

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm/giving"
)

// What recording a gift costs is watched by what it writes: statements, and sums.
func TestRecordingAGiftWritesLittle(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, campaigns, _ := generous(t, s)
		contact := create(t, s, account.Number, `{"first_name":"A","last_name":"B"}`).ID
		spy := spyOn(t, s)
		for _, c := range []struct {
			campaign    string
			sums, wrote int
		}{{"", 2, 7}, {fmt.Sprintf(`,"campaign_id":%d`, campaigns[0].ID), 4, 9}} {
			var wrote []string
			spy.wrote = func(sql string) {
				if !strings.Contains(sql, "contact_set") { // which depends on what the contact was in
					wrote = append(wrote, strings.Fields(sql)[2])
				}
			}
			body := fmt.Sprintf(`{"contact_id":%d,"amount":5,"method":"cash","transacted_at":"2026-11-02"%s}`,
				contact, c.campaign)
			made := must(s.CreateGift(t.Context(), account.Number, giftInput(t, body, true, donorsNow)))(t)
			if len(wrote) > c.wrote {
				t.Errorf("a gift takes %d statements: %v", len(wrote), wrote)
			}
			expect(t, "a gift is part of the sums", "true", len(giving.ShareOf(&made.Gift).Cells()) == c.sums)
		}
		spy.wrote = nil
	})
}
