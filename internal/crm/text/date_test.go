package text

import (
	"testing"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func TestParseDOB(t *testing.T) {
	east := time.Date(2026, 2, 1, 1, 0, 0, 0, time.FixedZone("east", 14*3600)) // still 31 January in UTC
	for _, now := range []time.Time{noon, east} {
		parse := func(value string) (time.Time, bool) { return ParseDOB(value, now) }
		for value, want := range rows.Pairs(`
			01/31/1980  1980-01-31
			1/2/1980    1980-01-02
			1/02/1980   1980-01-02
			12/9/1980   1980-12-09
			2/29/2000   2000-02-29
			01/01/1000  1000-01-01
			1/31/2026   2026-01-31
		`) {
			got, _ := parse(value)
			assert.Equal(t, got.Format(time.RFC3339), want+"T00:00:00Z", "parseDOB(%q)", value)
		}
		assert.Tells(t, reads(parse), nil, rows.All(`
			""  /  //  1/1  1/1/  /1/2000  1//2000  1/1/99  1/1/02000  1/1/20000  001/1/2000  1/001/2000  0/1/2000
			1/0/2000  13/1/2000  1/32/2000  2/29/1900  2/30/2000  4/31/2000  12/31/0999  2/1/2026  1/1/9999  2000-01-02
			1-2-2000  "1/2/2000 "  " 1/2/2000"  1/2/2000/  1/2/2000/3  +1/2/2000  -1/2/2000  1/2/-200  1/2/2e03
			１/2/2000  1/2/2000T00:00  Jan/2/2000
		`))
	}
}

// timeForms are the three wire forms with their writers and readers.
var timeForms = []struct {
	name, layout string
	write        func([]byte, time.Time) []byte
	read         func(string) (time.Time, bool)
	unit         time.Duration
}{
	{"contact", contactTimeForm, AppendContactTime, ParseContactTime, time.Second},
	{"micro", MicroTimeForm, AppendMicroTime, ParseMicroTime, time.Microsecond},
	{"campaign", CampaignTimeForm, AppendCampaignTime, ParseCampaignTime, time.Second},
}

func TestTimesAreWrittenInUTC(t *testing.T) {
	when := time.Date(2026, 1, 31, 4, 8, 7, 42_000, time.FixedZone("New York", -5*3600))
	want := []string{"2026-01-31T09:08:07+00:00", "2026-01-31T09:08:07.000042Z", "2026-01-31 09:08:07"}
	for i, form := range timeForms {
		assert.Equal(t, string(form.write(nil, when)), want[i], "%s", form.name)
	}
}

func TestTimesAreReadStrictly(t *testing.T) {
	for _, form := range timeForms {
		good := string(form.write(nil, noon))
		wrong := []string{"", good + "0", " " + good, good[1:], good[:len(good)-1]}
		for i := range len(good) {
			wrong = append(wrong, good[:i]+"x"+good[i+1:])
		}
		assert.Tells(t, reads(form.read), []string{good}, wrong)
	}
	assert.Tells(t, reads(ParseCampaignTime), nil, rows.All(`
		2026-02-29 00:00:00  2026-13-01 00:00:00  2026-00-01 00:00:00  2026-01-00 00:00:00  2026-01-01 24:00:00
		2026-01-01 00:60:00  2026-01-01 00:00:60  2026-1-01 00:00:000  2026-01-01T00:00:00
	`))
}

func TestTimesAgreeWithTheStandardLibrary(t *testing.T) {
	for day := range 3000 {
		when := time.Date(1000, 1, 1, 23, 59, 58, 123_456_789, time.UTC).AddDate(0, 0, day*1000)
		if when.Year() > 9999 {
			break
		}
		for _, form := range timeForms {
			got, want := string(form.write(nil, when)), when.Format(form.layout)
			assert.Equal(t, got, want, "%s", form.name)
			if back, ok := form.read(got); !ok || !back.Equal(when.Truncate(form.unit)) {
				t.Fatalf("%s: %s read as %v, %v", form.name, got, back, ok)
			}
		}
	}
}

func FuzzParseDOB(f *testing.F) {
	for _, value := range rows.All(`1/2/1980  02/29/2000  2/30/2000  13/13/1313  1/1/0999`) {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := ParseDOB(value, noon)
		want, err := time.Parse("1/2/2006", value)
		if ok && (err != nil || !got.Equal(want) || got.Year() < 1000 || got.After(noon)) {
			t.Fatalf("parseDOB(%q) = %v; the standard library says %v, %v", value, got, want, err)
		}
		if again, _ := ParseDOB(got.Format("01/02/2006"), noon); ok && !again.Equal(got) {
			t.Fatalf("%v does not come back: %v", got, again)
		}
		if !ok && err == nil && len(value) == 10 && want.Year() >= 1000 && !want.After(noon) {
			t.Fatalf("refused %q", value)
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, form := range timeForms {
		f.Add(string(form.write(nil, noon)))
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, form := range timeForms {
			got, ok := form.read(value)
			if ok && string(form.write(nil, got)) != value {
				t.Fatalf("%s: %q is not how %v is written", form.name, value, got)
			}
			if want, err := time.Parse(form.layout, value); ok && (err != nil || !got.Equal(want)) {
				t.Fatalf("%s: %q is %v; the standard library says %v, %v", form.name, value, got, want, err)
			}
		}
	})
}
