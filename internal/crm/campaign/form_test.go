package campaign

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestLocalTimes(t *testing.T) {
	for _, test := range rows.Of[struct{ Text, Zone, Utc string }](`
		2026-11-15T18:30     ""                2026-11-15 18:30:00
		2026-11-15T18:30     UTC               2026-11-15 18:30:00
		2026-11-15T18:30     America/New_York  2026-11-15 23:30:00
		2026-07-15T18:30     America/New_York  2026-07-15 22:30:00
		2026-01-01T00:15     Asia/Kolkata      2025-12-31 18:45:00
		2026-11-15T18:30:07  Europe/Berlin     2026-11-15 17:30:07
		2024-02-29T00:00     ""                2024-02-29 00:00:00
	`) {
		var v doc.Invalid
		at := parseLocalTime(&v, "end_at", test.Text, test.Zone)
		if got := string(text.AppendCampaignTime(nil, at)); got != test.Utc || v.Err() != nil || at.Location() != time.UTC {
			t.Errorf("%s in %q is %s, %v; want %s", test.Text, test.Zone, got, v.Err(), test.Utc)
		}
		assert.Equal(t, localTimeText(at, test.Zone), test.Text, "%v", test.Zone)
	}
	var v doc.Invalid
	if at := parseLocalTime(&v, "end_at", "", "Europe/Berlin"); !at.IsZero() || v.Err() != nil || localTimeText(at, "Europe/Berlin") != "" {
		t.Errorf("nothing is %v, %v", at, v.Err())
	}
}

func TestLocalTimesThatDoNotExist(t *testing.T) {
	const (
		form    = "The end_at field must be a date and a time, such as 2026-11-15T18:30."
		years   = "The end_at field must be between the years 1000 and 9999."
		skipped = "The end_at field is a time that does not exist in %s: clocks skip it on that day."
	)
	for _, test := range rows.Of[struct{ Text, Zone, Want string }](`
		2026-11-15             ""                form
		2026-11-15 18:30       ""                form
		2026-11-15T24:00       ""                form
		2026-02-30T12:00       ""                form
		tomorrow               ""                form
		2026-11-15T18:30Z      ""                form
		+12026-11-15T18:30     ""                form
		2026-11-15T1٣:30       ""                form
		2026-03-08T02:30       America/New_York  skipped
		2011-12-30T12:00       Pacific/Apia      skipped
		9999-12-31T23:30       America/New_York  years
		0999-12-31T23:30       ""                years
	`) {
		var v doc.Invalid
		at := parseLocalTime(&v, "end_at", test.Text, test.Zone)
		want := map[string]string{"form": form, "years": years, "skipped": strings.Replace(skipped, "%s", test.Zone, 1)}[test.Want]
		crmtest.WantFaults(t, test.Text, v.Err(), want)
		if !at.IsZero() {
			t.Errorf("%s: %v", test.Text, at)
		}
	}
}

func FuzzParseLocalTime(f *testing.F) {
	f.Add("2026-11-15T18:30", "America/New_York")
	f.Add("2026-11-15T18:30:59", "Local")
	f.Add("2026-03-08T02:30", "../x")
	f.Fuzz(func(t *testing.T, text, zone string) {
		var v doc.Invalid
		at := parseLocalTime(&v, "end_at", text, zone)
		if v.Err() != nil || text == "" {
			if !at.IsZero() {
				t.Fatalf("%q is refused, and is %v", text, at)
			}
			return
		}
		if back := localTimeText(at, zone); strings.TrimSuffix(text, ":00") != back && text != back {
			t.Fatalf("%q in %q comes back as %q", text, zone, back)
		}
	})
}

// filled is a form that was filled from a campaign.
func filled(c Campaign, beneficiaries ...string) map[string]string {
	values := map[string]string{}
	FillForm(c, beneficiaries, "UTC", func(field, value string) { values[field] = value })
	return values
}

func readForm(values map[string]string, old Campaign) (Input, error) {
	return ReadForm(func(field string) string { return values[field] }, old, "UTC")
}

func TestACampaignFormThatIsSavedAsItWasFilledChangesNothing(t *testing.T) {
	full := oneCampaign(t, fullRow)
	for _, c := range []Campaign{
		New(full, rose, 5, "run-2026", noon),
		New(oneCampaign(t, `{"title":"Gala"}`), rose, 5, "gala", noon),
		New(oneCampaign(t, `{"title":"Gala","description":"a\nb","event":{"details":"c\n\nd"}}`), rose, 5, "gala", noon),
	} {
		in := assert.Must(readForm(filled(c, *full.Beneficiaries...), c))(t)
		assert.Same(t, c, c.Update(in, noon.Add(time.Hour)))
		assert.Same(t, full.Beneficiaries, in.Beneficiaries)
	}
}

func TestEveryTimeAndAmountSurvivesTheForm(t *testing.T) {
	zones := rows.All(`
		""  America/New_York  Europe/Berlin  Asia/Kolkata  Pacific/Apia  Africa/Casablanca
	`)
	rapid.Check(t, func(t *rapid.T) {
		c := New(oneCampaign(t, `{"title":"Gala"}`), rose, 5, "gala", noon)
		c.Goal, c.OpeningRaised = rapid.Int64Range(0, text.MaxCents).Draw(t, "goal"), rapid.Int64Range(0, text.MaxCents).Draw(t, "raised")
		c.OpeningDonors, c.EndAt = rapid.Int64Range(0, text.MaxDonors).Draw(t, "donors"), drawTime(t, "end")
		c.Event = &Event{Title: c.Title, Type: "hybrid", Timezone: rapid.SampledFrom(zones).Draw(t, "zone"), StartAt: drawTime(t, "start")}
		in := assert.Must(readForm(filled(c), c))(t)
		assert.Same(t, c, c.Update(in, noon.Add(time.Hour)))
	})
}

// In the night of November 1, 2026, clocks in New York show 1:30 twice, and a form cannot say which one it means.
func TestAnHourThatComesTwiceStaysWhileNobodyChangesIt(t *testing.T) {
	for _, at := range []time.Time{time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC)} {
		c := New(oneCampaign(t, `{"title":"Gala","event":{"timezone":"America/New_York"}}`), rose, 5, "gala", noon)
		c.Event.StartAt = at
		values := filled(c)
		assert.Equal(t, values["event.start_at"], "2026-11-01T01:30")
		in, err := readForm(values, c)
		if err != nil || !(*in.Event).StartAt.Equal(at) {
			t.Errorf("%v becomes %v, %v", at, (*in.Event).StartAt, err)
		}
	}
}

func TestWhatAFormDoesNotHoldIsCleared(t *testing.T) {
	c := New(oneCampaign(t, fullRow), rose, 5, "run-2026", noon)
	in := assert.Must(readForm(map[string]string{"title": " Walk ", "event.type": "hybrid", "cover.type": "video"}, c))(t)
	want := Campaign{ID: 5, AccountID: rose.ID, Type: "collect", Title: "Walk", Slug: "run-2026", Currency: "USD", Status: Published, CreatedAt: c.CreatedAt, UpdatedAt: noon, ListedAt: c.ListedAt}
	assert.Same(t, want, c.Update(in, noon))
	if in.Beneficiaries == nil || len(*in.Beneficiaries) != 0 {
		t.Errorf("beneficiaries %v", in.Beneficiaries)
	}
}

func TestAnEventIsCalledAsItsCampaign(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Gala","event":{}}`), rose, 5, "gala", noon)
	values := filled(c)
	values["title"] = "Ball"
	in, err := readForm(values, c)
	if next := c.Update(in, noon); err != nil || next.Event.Title != "Ball" {
		t.Errorf("%+v, %v", next.Event, err)
	}
}

func TestACampaignFormTellsAllFaultsInOrder(t *testing.T) {
	_, err := readForm(map[string]string{
		"slug": "Gala Night", "goal": "a lot", "donors": "some", "currency": "dollars", "cover.url": "here", "end_at": "soon",
		"event.timezone": "Mars/Olympus", "event.start_at": "2026-02-30T12:00", "event.livestream.url": "x",
		"beneficiaries": "B1b2C3d4E5f6G7h8, B1b2C3d4E5f6G7h8 x",
	}, Campaign{})
	var invalid *doc.Invalid
	if !errors.As(err, &invalid) {
		t.Fatal(err)
	}
	var fields []string
	for _, fault := range invalid.Faults {
		fields = append(fields, fault.Field)
	}
	want := rows.All(`
		title  slug  goal  donors  currency  cover.url  end_at  event.start_at  event.timezone  event.livestream.url
		beneficiaries.1
	`)
	assert.Same(t, want, fields)
}

func TestACampaignFormHasNoMoreBeneficiariesThanAFile(t *testing.T) {
	var ids strings.Builder
	for i := range maxBeneficiaries + 1 {
		fmt.Fprintf(&ids, "%016d;\n", i)
	}
	_, err := readForm(map[string]string{"title": "a", "beneficiaries": ids.String()}, Campaign{})
	if err == nil || err.Error() != "The beneficiaries field must not have more than 1000 elements." {
		t.Error(err)
	}
}

// Both texts that are shown as HTML are sanitized before they are stored.
func TestACampaignFormKeepsNothingThatCouldRun(t *testing.T) {
	hostile := rows.All(`
		<script>alert(1)</script>  <img src=x onerror=alert(1)>  <a href="javascript:alert(1)">x</a>
		<svg onload=alert(1)>  <iframe srcdoc="<script>alert(1)</script>"></iframe>
		<p style="background:url(javascript:alert(1))" onclick=alert(1)>x</p>  </textarea><script>alert(1)</script>
		<form action=https://evil.example><input name=password></form>  <meta http-equiv=refresh content=0>
		<base href=https://evil.example>  <math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>
		<a href="data:text/html,x">x</a>  <link rel=stylesheet href=https://evil.example>
		<p id=main class=button hx-get=/x data-x=1>x</p>
	`)
	for _, text := range hostile {
		in := assert.Must(readForm(map[string]string{"title": "a", "description": text, "event.details": text, "event.private": "yes"}, Campaign{}))(t)
		for _, clean := range []string{*in.Description, (*in.Event).Details} {
			lower := strings.ToLower(clean)
			for _, bad := range rows.All(`
				<script  onerror  onload  onclick  javascript  <svg  <iframe  style  <form  <input  <meta  <base
				<link  <textarea  data:  " id="  class  hx-  data-
			`) {
				if strings.Contains(lower, bad) {
					t.Errorf("%s leaves %s", text, clean)
				}
			}
		}
	}
}

func TestTextWithoutTagsBecomesParagraphs(t *testing.T) {
	for _, test := range rows.Of[struct{ Text, Want string }](`
		One line & no more                   <p>One line &amp; no more</p>
		"First\nsecond\n\n\nThird & last\n"  "<p>First<br>second</p>\n<p>Third &amp; last</p>"
		"Line one\r\n\r\nLine two"           "<p>Line one</p>\n<p>Line two</p>"
		"Line one\r\n \t\r\nLine two"        "<p>Line one</p>\n<p>Line two</p>"
		"We <3 dogs\r\n\r\n5 < 6"            "<p>We &lt;3 dogs</p>\n<p>5 &lt; 6</p>"
		"Line <b>one</b>\n\nLine two"        "<p>Line <b>one</b></p>\n<p>Line two</p>"
		"One<br>\nTwo"                       "One<br>\nTwo"
		"<ul>\n<li>One</li>\n\n</ul>"        "<ul>\n<li>One</li>\n\n</ul>"
		"<p>One</p>\n<p>Two</p>"             "<p>One</p>\n<p>Two</p>"
	`) {
		in, err := readForm(map[string]string{"title": "a", "description": test.Text, "event.details": test.Text}, Campaign{})
		if err != nil || *in.Description != test.Want || (*in.Event).Details != test.Want {
			t.Errorf("%q becomes %q, %v", test.Text, *in.Description, err)
		}
	}
}

func TestACurrencyMayBeTypedInSmallLetters(t *testing.T) {
	in, err := readForm(map[string]string{"title": "a", "currency": "eur", "goal": "€1,500"}, Campaign{})
	assert.Succeed(t, err)
	assert.Equal(t, *in.Currency, "EUR")
	assert.Equal(t, *in.Goal, 150_000)
}

func TestAnEventIsWhatAnythingIsSaidAbout(t *testing.T) {
	for field, value := range rows.Pairs(`
		event.title           x
		event.private         yes
		event.livestream.url  https://a.example
		event.timezone        UTC
	`) {
		values := map[string]string{"title": "a", "event.type": "hybrid", field: value}
		in, err := readForm(values, Campaign{})
		if err != nil || *in.Event == nil {
			t.Errorf("%s alone makes no event, %v", field, err)
		}
	}
	in, err := readForm(map[string]string{"title": "a", "event.type": "hybrid", "event.title": " "}, Campaign{})
	if err != nil || *in.Event != nil {
		t.Errorf("an event of nothing: %+v, %v", *in.Event, err)
	}
}

func TestEveryFieldOfACampaignHasALabel(t *testing.T) {
	for path, want := range rows.Pairs(`
		slug                        Web address
		cover.url                   Cover image or video
		event.start_at              Event start
		event.livestream.embed_url  Embed link
		beneficiaries               Beneficiaries
		beneficiaries.1             Beneficiary 2
	`) {
		if label, ok := Table.Label(path); !ok || label != want {
			t.Errorf("%s is called %q, %v; want %q", path, label, ok, want)
		}
	}
	for _, path := range campaignFields {
		if label, _ := Table.Label(path); label == "" && path != "account_id" && path != "url" { // which no client sends
			t.Errorf("%s has no label", path)
		}
	}
}

func TestAnAddressSaysWhatKindOfCoverItIs(t *testing.T) {
	for address, want := range rows.Pairs(`
		https://images.example.org/gala.jpg  image upload
		https://www.youtube.com/watch?v=x    video youtube
		https://youtu.be/x                   video youtube
		https://player.vimeo.com/video/1     video vimeo
		https://notvimeo.com/1               image upload
		https://a.example/film.MP4           video upload
	`) {
		in, err := readForm(map[string]string{"title": "a", "cover.url": address}, Campaign{})
		if err != nil || (*in.Cover).Type+" "+(*in.Cover).Source != want {
			t.Errorf("%s is %+v, %v", address, *in.Cover, err)
		}
	}
	old := Campaign{Title: "a", Cover: &Cover{Type: "video", URL: "https://a.example/x", Source: "twitch"}} // as a file said
	assert.Equal(t, **assert.Must(readForm(map[string]string{"title": "a", "cover.url": old.Cover.URL}, old))(t).Cover, *old.Cover,
		"the cover became")
}
