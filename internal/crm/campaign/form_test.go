package campaign

import (
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
		assert.Succeed(t, v.Err())
		assert.Equal(t, string(text.AppendCampaignTime(nil, at)), test.Utc, "%+v", test)
		assert.Equal(t, at.Location(), time.UTC)
		assert.Equal(t, localTimeText(at, test.Zone), test.Text, "%v", test.Zone)
	}
}

func TestLocalTimesThatDoNotExist(t *testing.T) {
	for _, test := range rows.Of[struct{ Text, Zone, Want string }](`
		""                     Europe/Berlin     ""
		2026-11-15             ""                FORM
		2026-11-15 18:30       ""                FORM
		2026-11-15T24:00       ""                FORM
		2026-02-30T12:00       ""                FORM
		tomorrow               ""                FORM
		2026-11-15T18:30Z      ""                FORM
		+12026-11-15T18:30     ""                FORM
		2026-11-15T1٣:30       ""                FORM
		2026-03-08T02:30       America/New_York  The end_at field is a time that does not exist in America/New_York: clocks skip it on that day.
		2011-12-30T12:00       Pacific/Apia      The end_at field is a time that does not exist in Pacific/Apia: clocks skip it on that day.
		9999-12-31T23:30       America/New_York  The end_at field must be between the years 1000 and 9999.
		0999-12-31T23:30       ""                The end_at field must be between the years 1000 and 9999.
	`) {
		var v doc.Invalid
		at := parseLocalTime(&v, "end_at", test.Text, test.Zone)
		crmtest.WantFaults(t, test.Text, v.Err(),
			strings.Replace(test.Want, "FORM", "The end_at field must be a date and a time, such as 2026-11-15T18:30.",
				1))
		assert.Equal(t, at, time.Time{}, "%s", test.Text)
		assert.Equal(t, localTimeText(at, test.Zone), "")
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
		New(full, rose, 5, "run-2026", noon), gala(t, ""), gala(t, `"description":"a\nb","event":{"details":"c\n\nd"}`),
	} {
		in := assert.Must(readForm(filled(c, *full.Beneficiaries...), c))(t)
		assert.Same(t, c, c.Update(in, noon.Add(time.Hour)))
		assert.Same(t, full.Beneficiaries, in.Beneficiaries)
	}
}

func TestEveryTimeAndAmountSurvivesTheForm(t *testing.T) {
	zones := []string{"", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia", "Africa/Casablanca"}
	rapid.Check(t, func(t *rapid.T) {
		c := gala(t, "")
		drawTotals(t, &c)
		c.Event = &Event{Title: c.Title, Type: "hybrid", Timezone: rapid.SampledFrom(zones).Draw(t, "zone"),
			StartAt: drawTime(t, "start")}
		assert.Same(t, c, c.Update(assert.Must(readForm(filled(c), c))(t), noon.Add(time.Hour)))
	})
}

// In the night of November 1, 2026, clocks in New York show 1:30 twice, and a form cannot say which one it means.
func TestAnHourThatComesTwiceStaysWhileNobodyChangesIt(t *testing.T) {
	for _, hour := range []int{5, 6} {
		c := gala(t, `"event":{"timezone":"America/New_York"}`)
		c.Event.StartAt = time.Date(2026, 11, 1, hour, 30, 0, 0, time.UTC)
		values := filled(c)
		assert.Equal(t, values["event.start_at"], "2026-11-01T01:30")
		assert.Equal(t, (*assert.Must(readForm(values, c))(t).Event).StartAt, c.Event.StartAt)
	}
}

func TestWhatAFormDoesNotHoldIsCleared(t *testing.T) {
	c := New(oneCampaign(t, fullRow), rose, 5, "run-2026", noon)
	in := assert.Must(readForm(map[string]string{"title": " Walk ", "event.type": "hybrid", "cover.type": "video"},
		c))(t)
	assert.Same(t, Campaign{
		ID: 5, AccountID: rose.ID, Type: "collect", Title: "Walk", Slug: "run-2026", Currency: "USD", Status: Published,
		CreatedAt: c.CreatedAt, UpdatedAt: noon, ListedAt: c.ListedAt,
	}, c.Update(in, noon))
	assert.Equal(t, *in.Beneficiaries, nil)
}

func TestAnEventIsCalledAsItsCampaign(t *testing.T) {
	c := gala(t, `"event":{}`)
	values := filled(c)
	values["title"] = "Ball"
	assert.Equal(t, c.Update(assert.Must(readForm(values, c))(t), noon).Event.Title, "Ball")
}

func TestACampaignFormTellsAllFaultsInOrder(t *testing.T) {
	_, err := readForm(map[string]string{
		"slug": "Gala Night", "goal": "a lot", "donors": "some", "currency": "dollars", "cover.url": "here",
		"end_at":         "soon",
		"event.timezone": "Mars/Olympus", "event.start_at": "2026-02-30T12:00", "event.livestream.url": "x",
		"beneficiaries": "B1b2C3d4E5f6G7h8, B1b2C3d4E5f6G7h8 x",
	}, Campaign{})
	assert.Same(t, rows.All(`
		title  slug  goal  donors  currency  cover.url  end_at  event.start_at  event.timezone  event.livestream.url
		beneficiaries.1
	`), crmtest.Fields(err))
	var ids strings.Builder
	for i := range maxBeneficiaries + 1 {
		fmt.Fprintf(&ids, "%016d;\n", i)
	}
	_, err = readForm(map[string]string{"title": "a", "beneficiaries": ids.String()}, Campaign{})
	assert.Says(t, err, "The beneficiaries field must not have more than 1000 elements.")
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
		in := typed(t, "description", text, "event.details", text, "event.private", "yes")
		for _, clean := range []string{*in.Description, (*in.Event).Details} {
			lower := strings.ToLower(clean)
			for _, bad := range rows.All(`
				<script  onerror  onload  onclick  javascript  <svg  <iframe  style  <form  <input  <meta  <base
				<link  <textarea  data:  " id="  class  hx-  data-
			`) {
				assert.Equal(t, strings.Contains(lower, bad), false, "%s leaves %s", text, clean)
			}
		}
	}
}

func TestTextWithoutTagsBecomesParagraphs(t *testing.T) {
	for text, want := range rows.Pairs(`
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
		in := typed(t, "description", text, "event.details", text)
		assert.Equal(t, *in.Description, want, "%q becomes", text)
		assert.Equal(t, (*in.Event).Details, want, "%q becomes", text)
	}
}

func TestAnEventIsWhatAnythingIsSaidAbout(t *testing.T) {
	for _, test := range rows.Of[struct {
		Field, Value string
		Is           bool
	}](`
		event.title           x                  true
		event.private         yes                true
		event.livestream.url  https://a.example  true
		event.timezone        UTC                true
		event.title           " "                false
	`) {
		in := typed(t, "event.type", "hybrid", test.Field, test.Value)
		assert.Equal(t, *in.Event != nil, test.Is, "%+v", test)
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
		label, _ := Table.Label(path)
		assert.Equal(t, label, want, "%s is called", path)
	}
	for _, path := range campaignFields {
		label, _ := Table.Label(path)
		assert.Equal(t, label == "", path == "account_id" || path == "url", "%s has no label",
			path) // which no client sends
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
		cover := *typed(t, "cover.url", address).Cover
		assert.Equal(t, cover.Type+" "+cover.Source, want, "%s", address)
	}
	// as a file said
	old := Campaign{Title: "a", Cover: &Cover{Type: "video", URL: "https://a.example/x", Source: "twitch"}}
	in := assert.Must(readForm(map[string]string{"title": "a", "cover.url": old.Cover.URL}, old))(t)
	assert.Equal(t, **in.Cover, *old.Cover, "the cover became")
	// A currency may be typed in small letters.
	in = typed(t, "currency", "eur", "goal", "€1,500")
	assert.Equal(t, *in.Currency, "EUR")
	assert.Equal(t, *in.Goal, 150_000)
}

// typed is what a form of a new campaign becomes that has a title, and fields with values.
func typed(t *testing.T, pairs ...string) Input {
	t.Helper()
	values := map[string]string{"title": "a"}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return assert.Must(readForm(values, Campaign{}))(t)
}
