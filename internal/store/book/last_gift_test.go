package book

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/store/check"
)

// The last gift follows everything that becomes of gifts, also within one batch.
func TestTheLastGiftIsTheLastThatCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		ann, ben := create(t, s, account, `{"first_name":"Ann"}`).ID, create(t, s, account, `{"first_name":"Ben"}`).ID
		give := func(contact int64, day, more string) string {
			t.Helper()
			made := must(s.CreateGift(t.Context(), account,
				giftInput(t, fmt.Sprintf(`{"amount":5,"method":"cash","transacted_at":%q,"contact_id":%d%s}`, day,
					contact, more), true, time.Now())))(t)
			return made.Code
		}
		update := func(code, body string) {
			t.Helper()
			must(s.UpdateGift(t.Context(), account, code, giftInput(t, body, false, time.Now())))(t)
		}
		want := func(when string, contact int64, day string) {
			t.Helper()
			found := must(s.ContactRecord(t.Context(), account, contact))(t)
			got := ""
			if !found.LastGift.IsZero() {
				got = found.LastGift.Format(time.DateOnly)
			}
			if got != day {
				t.Errorf("%s, the last gift is of %q, want %q", when, got, day)
			}
			ids, _ := filtered(t, s, account, crm.All, filterOf(t, "gave_after=1900-01-01&sort=-last_gift"), 1, 20)
			if slices.Contains(ids, contact) != (day != "") {
				t.Errorf("%s, %v gave", when, ids)
			}
		}
		want("at first", ann, "")
		old := give(ann, "1969-07-20", "")
		want("after one of long ago", ann, "1969-07-20")
		give(ann, "1970-01-01", "")
		want("after one of the first second", ann, "1970-01-01")
		last := give(ann, "2026-03-01", "")
		give(ann, "2025-01-01", "")
		promised := give(ann, "2026-05-01", `,"status":"pending"`)
		want("after an earlier and a promised one", ann, "2026-03-01")
		update(promised, `{"status":"succeeded"}`)
		want("after the promise was kept", ann, "2026-05-01")
		must(s.RefundGift(t.Context(), account, promised, nil, ""))(t)
		want("after a refund", ann, "2026-03-01")
		update(last, `{"transacted_at":"2024-01-01"}`)
		want("after it was found to be earlier", ann, "2025-01-01")
		update(old, fmt.Sprintf(`{"contact_id":%d}`, ben))
		want("after another one moved to Ben", ann, "2025-01-01")
		want("after one moved to him", ben, "1969-07-20")
		update(old, fmt.Sprintf(`{"contact_id":%d,"transacted_at":"2026-06-01"}`, ann))
		want("after it came back", ann, "2026-06-01")
		want("after it left him", ben, "")
		archive(t, s, account, ann)
		want("in the archive", ann, "2026-06-01")
	})
}

func TestACheckFindsAWrongLastGift(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, contacts := withGifts(t, s)
		damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[0])
		damage(t, s, `UPDATE contact SET last_gift = 86400 WHERE id = $1`, contacts[2])
		for i, want := range []int{2, 0} {
			var told []string
			_, err := s.Check(t.Context(), check.CheckOptions{Repair: true,
				Found: func(p check.Problem) { told = append(told, p.String()) }})
			if err != nil || len(told) != want || want > 0 &&
				!strings.Contains(told[1], "last_gift is 86400, and should be 0") {
				t.Errorf("check %d of account %s: %q, %v", i+1, account.ID, told, err)
			}
		}
	})
}
