package giving

import (
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/rows"
)

// A gift pays for the open due day, no matter how late it is; an old gift that is entered late pays for nothing.
func TestAGiftMovesItsPlanOnByOnePeriod(t *testing.T) {
	day := func(sent string) time.Time {
		at, _, ok := text.ParseMoment(sent)
		if !ok {
			t.Fatal(sent)
		}
		return at
	}
	for _, c := range rows.Of[struct{ Frequency, Start, Next, Gift, Want string }](`
		monthly    2026-01-28  2026-10-28  2026-10-28  2026-11-28
		monthly    2026-01-28  2026-10-28  2026-11-16  2026-11-28  // late
		monthly    2026-01-28  2026-10-28  2026-10-20  2026-11-28  // early
		monthly    2026-01-28  2026-10-28  2026-09-30  2026-10-28  // of the previous month
		monthly    2026-01-31  2026-01-31  2026-02-02  2026-02-28
		monthly    2026-01-31  2026-02-28  2026-03-02  2026-03-31
		yearly     2024-05-01  2026-05-01  2026-11-16  2027-05-01
		quarterly  2026-03-25  2026-09-25  2026-11-16  2026-12-25
		weekly     2026-11-02  2026-11-09  2026-11-10  2026-11-16
	`) {
		p := Plan{Frequency: c.Frequency, Status: ActivePlan, StartAt: day(c.Start), NextBill: day(c.Next)}
		if paid := p.Paid(day(c.Gift), day("2026-11-16")); !paid.NextBill.Equal(day(c.Want)) {
			t.Errorf("%+v: next is %s", c, paid.NextBill.Format(time.DateOnly))
		}
	}
}

// A gift that arrives while a contact is edited does not count as a change of the form.
func TestGivingIsNoChangeOfTheContactOnAForm(t *testing.T) {
	c := crm.Contact{ID: 1, FirstName: "Ana", LastName: "Lima"}
	gave, renamed := c, c
	gave.Stats.TotalContributions, renamed.LastName = 50, "Lee"
	if c.Version() != gave.Version() || c.Version() == renamed.Version() {
		t.Error("the version follows the gifts, or not the name")
	}
}
