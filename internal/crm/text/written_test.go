package text

import (
	"regexp"
	"testing"
	"time"

	"donorbook/internal/rig/rows"
)

// FuzzReadWritten: whatever a cell holds, an amount becomes plain digits or is refused, and a day that was read is read
// again as the same one.
func FuzzReadWritten(f *testing.F) {
	for _, text := range rows.All(`
		$1,234.56  1.234,56 €  (25.00)  1’234  31.01.2026, 18:30 Uhr  1/31/26 9:08 pm  2026-01-31T00:00:00Z
		opted in
	`) {
		f.Add(text, "DE", true)
		f.Add(text, "", false)
	}
	plain := regexp.MustCompile(`^[0-9]*\.?[0-9]*$`)
	f.Fuzz(func(t *testing.T, text, region string, dayFirst bool) {
		if a, fault := ReadAmount(text, "", region); fault == "" && (!plain.MatchString(a.Digits) || a.Digits == "") {
			t.Errorf("the digits of %q in %q are %q", text, region, a.Digits)
		}
		if m, ok := ReadMoment(text, dayFirst); ok {
			again, ok := ReadMoment(m.At.Format(time.DateTime), dayFirst)
			if !ok || !again.At.Equal(m.At) || !again.HasTime || again.Zone != "" {
				t.Errorf("%q is read as %v, and that as %v", text, m, again)
			}
		}
		ReadYesNo(text)
	})
}
