package book

import (
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/store/check"
)

// Who lacks an email or a phone is known after everything that a contact goes through.
func TestThoseWhoLackAnEmailOrAPhoneAreFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		s.Costs.Few = 0 // the sets decide, and no document
		both := create(t, s, account, `{"first_name":"Both","emails":[{"value":"both@x.org"}],"phones":[{"value":"212-555-0100"}]}`).ID
		none := create(t, s, account, `{"first_name":"None"}`).ID
		mail := create(t, s, account, `{"first_name":"Mail","emails":[{"value":"mail@x.org"}]}`).ID
		want := func(when, query string, ids ...int64) {
			t.Helper()
			if got, total := filtered(t, s, account, crm.All, filterOf(t, query), 1, 20); !slices.Equal(got, ids) || total != int64(len(ids)) {
				t.Errorf("%s, %s finds %v, %d in all, want %v", when, query, got, total, ids)
			}
		}
		want("at first", "lacks=email", none)
		want("at first", "has=email", both, mail)
		want("at first", "lacks=phone", none, mail)
		want("at first", "has=email&lacks=phone", mail)
		must(s.UpdateContact(t.Context(), account, both, input(t, `{"emails":[],"phones":[]}`)))(t)
		create(t, s, account, `{"first_name":"Mail","emails":[{"value":"mail@x.org"}],"phones":[{"value":"212-555-0111"}]}`) // merged
		archive(t, s, account, none)
		want("after changes", "lacks=email", both, none)
		want("after changes", "lacks=phone", both, none)
		want("after changes", "has=phone", mail)
		damage(t, s, `DELETE FROM contact_set WHERE name = 'l:phone'`)
		var told []string
		if _, err := s.Check(t.Context(), check.CheckOptions{Repair: true, Found: func(p check.Problem) { told = append(told, p.What) }}); err != nil || len(told) != 1 {
			t.Errorf("the check tells %q, %v", told, err)
		}
		want("after a repair", "lacks=phone", both, none)
	})
}
