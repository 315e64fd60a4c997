package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestDecodeCampaignsSaysWhatIsWrong(t *testing.T) {
	sizes := strings.NewReplacer("LONG", strings.Repeat("ä", 256), "TEXT", strings.Repeat("x", 100_001), "LINK",
		strings.Repeat("x", 2048))
	for row, want := range rows.Pairs(`
		{}                                                       The title field is required.
		{"title":" "}                                            The title field is required.
		{"slug":"gala","title":null}                             The title field must not be empty.
		{"title":5}                                              The title field must be a string.
		{"title":"a\u0000b"}                                     The title field must not contain NUL characters.
		{"title":"LONG"}                                         The title field must not be longer than 255 characters.
		"subtitle":"LONG"                                        The subtitle field must not be longer than 255 characters.
		"description":"TEXT"                                     The description field must not be longer than 100000 characters.
		"type":"raffle"                                          The type field must be one of general, collect, fundraise, event.
		"goal":"5"                                               The goal field must be a number.
		"goal":-1                                                The goal field must be a number from 0 to 9999999999.99 with at most two decimals.
		"goal":1.005                                             The goal field must be a number from 0 to 9999999999.99 with at most two decimals.
		"raised":10000000000                                     The raised field must be a number from 0 to 9999999999.99 with at most two decimals.
		"raised":[1]                                             The raised field must be a number.
		"donors":1.5                                             The donors field must be an integer from 0 to 999999999999999.
		"donors":-1                                              The donors field must be an integer from 0 to 999999999999999.
		"donors":true                                            The donors field must be a number.
		"currency":"usd"                                         The currency field must be an ISO 4217 currency code in capital letters.
		"logo":"logo.png"                                        The logo field must be an absolute https URL. Pages show no other images.
		"logo":"https://a.example/LINK"                          The logo field must not be longer than 2048 characters.
		"cover":"https://a.example"                              The cover field must be an object.
		"cover":{}                                               The cover.url field is required.
		"cover":{"url":"javascript:alert(1)"}                    The cover.url field must be an absolute https URL. Pages show no other images.
		"cover":{"url":"http://a.example/c.png"}                 The cover.url field must be an absolute https URL. Pages show no other images.
		"cover":{"url":"http://a.example/c.png","type":"image"}  The cover.url field must be an absolute https URL. Pages show no other images.
		"cover":{"url":"javascript:alert(1)","type":"video"}     The cover.url field must be an absolute http or https URL.
		"logo":"HTTP://a.example/l.png"                          The logo field must be an absolute https URL. Pages show no other images.
		"cover":{"url":"https://a.example","type":"gif"}         The cover.type field must be one of image, video.
		"cover":{"url":"https://a.example","source":"ftp"}       The cover.source field must be one of upload, youtube, vimeo, twitch, facebook.
		"end_at":"1/31/2026"                                     The end_at field must be a date such as 2026-01-31, or a time such as 2026-01-31 09:08:07 or 2026-01-31T09:08:07+00:00.
		"end_at":"2026-02-30 00:00:00"                           The end_at field must be a date such as 2026-01-31, or a time such as 2026-01-31 09:08:07 or 2026-01-31T09:08:07+00:00.
		"end_at":"0001-01-01 00:00:00"                           The end_at field must be a date such as 2026-01-31, or a time such as 2026-01-31 09:08:07 or 2026-01-31T09:08:07+00:00.
		"end_at":1                                               The end_at field must be a string.
		"created_at":"1970-12-31 23:59:59"                       The created_at field must be between the years 1971 and 2199.
		"created_at":"2026-01-02 00:00:00","updated_at":"2026-01-01 00:00:00"  The updated_at field must not be before created_at.
		"event":[]                                               The event field must be an object.
		"event":{"title":7}                                      The event.title field must be a string.
		"event":{"private":1}                                    The event.private field must be true or false.
		"event":{"timezone":"Mars/Olympus"}                      The event.timezone field must be the IANA name of a time zone, such as America/New_York.
		"event":{"timezone":"Local"}                             The event.timezone field must be the IANA name of a time zone, such as America/New_York.
		"event":{"start_at":"2026-01-02 00:00:00","end_at":"2026-01-01 00:00:00"}  The event.end_at field must not be before event.start_at.
		"event":{"livestream_start_at":"2026-01-02 00:00:00","livestream_end_at":"2026-01-01 00:00:00"}  The event.livestream_end_at field must not be before event.livestream_start_at.
		"event":{"livestream":{"url":"x"}}                       The event.livestream.url field must be an absolute http or https URL.
		"event":{"livestream":{"scheduled":"yes"}}               The event.livestream.scheduled field must be true or false.
		"event":{"livestream":3}                                 The event.livestream field must be an object.
		"slug":"Gala"                                            The slug field must be 1 to 255 lowercase letters and digits, with single hyphens between them.
		"beneficiaries":"x"                                      The beneficiaries field must be an array.
		"beneficiaries":["x"]                                    The beneficiaries.0 field must be an account id of 16 letters and digits.
		[]                                                       The row must be a JSON object.
		null                                                     The row must be a JSON object.
	`) {
		if strings.HasPrefix(row, `"`) { // a field
			row = `{"title":"a",` + row + `}`
		}
		if field, _, _ := strings.Cut(strings.TrimPrefix(want, "The "), " "); field != "row" {
			want = field + ": " + want
		}
		rows, err := DecodeAll([]byte(`[{"title":"fine"},` + sizes.Replace(row) + `]`))
		var wrong *RowsInvalid
		if !errors.As(err, &wrong) || err.Error() != "row 2: "+want || rows != nil {
			t.Errorf("%.200s: %v\nwant %s", row, err, want)
		}
	}
}

func TestDecodeCampaignsTellsAllFaultsInOrder(t *testing.T) {
	_, err := DecodeAll([]byte(`[{"event":{"private":0,"title":1},"currency":"x","goal":null},{"title":"ok","slug":"a"},
		{"slug":"a","title":"again"},"x"]`))
	assert.Says(t, err, `row 1: title: The title field is required.
row 1: currency: The currency field must be an ISO 4217 currency code in capital letters.
row 1: event.title: The event.title field must be a string.
row 1: event.private: The event.private field must be true or false.
row 3: slug: The slug field is the same as in row 2.
row 4: The row must be a JSON object.`)
}

func TestDecodeCampaignsRefusesWhatIsNoArray(t *testing.T) {
	for document, want := range rows.Pairs(`
		""                           The file is empty.
		{"title":"a"}                The file must be a JSON array of campaigns.
		null                         The file must be a JSON array of campaigns.
		title,goal                   The file is not valid JSON
		[{"title":"a"}               The file is not valid JSON
		[{"title":"a"}]]             The file is not valid JSON
		[{"title":"a"}] []           The file has text after the end of the JSON value.
		[{"title":"a","title":"b"}]  The file names the same key twice in one object.
		"[{\"title\":\"\xff\"}]"     The file is not valid JSON
	`) {
		_, err := DecodeAll([]byte(document))
		assert.Equal(t, errors.As(err, new(*doc.Malformed)), true, "%q", document)
		assert.Contains(t, fmt.Sprint(err), want, "%q", document)
	}
	rows := assert.Must(DecodeAll([]byte("\ufeff []\n")))(t)
	assert.Equal(t, rows != nil && len(rows) == 0, true, "an empty file with a mark: %v", rows)
}

func TestCampaignInputTellsMissingFromNull(t *testing.T) {
	missing := oneCampaign(t, `{"slug":"a"}`)
	slug := "a"
	assert.Equal(t, missing, Input{Slug: &slug})
	assert.Says(t, missing.CheckNew(), "The title field is required.")
	named := oneCampaign(t, `{"slug":"a","title":"A"}`)
	assert.Succeed(t, named.CheckNew())
	null := oneCampaign(t,
		`{"slug":"a","goal":null,"cover":null,"event":null,"end_at":null,"beneficiaries":null,"subtitle":null}`)
	assert.Equal(t, fmt.Sprint(*null.Goal, *null.Cover, *null.Event, *null.EndAt, *null.Beneficiaries, *null.Subtitle),
		fmt.Sprint(0, nil, nil, time.Time{}, []string{}, ""))
}

func TestValidateCampaignThatWasNotJSON(t *testing.T) {
	negative, large, title := int64(-1), int64(text.MaxCents+1), "Gala \xff"
	in := Input{Title: &title, Goal: &negative, Raised: &large}
	err := in.Validate(nil, true)
	const cents = " field must be a number from 0 to 9999999999.99 with at most two decimals."
	crmtest.WantFaults(t, title, err, "The title field must be valid UTF-8. The goal"+cents+" The raised"+cents)
}

func TestIsTimezone(t *testing.T) {
	assert.Tells(t, text.IsTimezone, rows.All(`
		UTC  America/New_York  Europe/Berlin  Asia/Kolkata  America/Argentina/Buenos_Aires  Etc/GMT+5
	`), rows.All(`
		Local  localtime  posix/UTC  posixrules  right/UTC  Berlin  ../etc/passwd  /etc/localtime  UTC+1  America/
		zone.tab
	`))
}

func TestSlug(t *testing.T) {
	long := strings.NewReplacer("WORDS", strings.TrimSpace(strings.Repeat("word ", 50)),
		"SLUGS", strings.TrimSuffix(strings.Repeat("word-", 20), "-"), "LONG", strings.Repeat("x", 255), "CUT",
		strings.Repeat("x", 100))
	for title, slug := range rows.Pairs(`
		Spring Gala 2026            spring-gala-2026
		Rosie’s “Big” Day!          rosies-big-day
		" \x20--a -- b-- \x20"      a-b
		Żółć & Straße               zolc-strasse
		李小龍                      campaign
		李 Bruce 小龍               bruce
		!!!                         campaign
		""                          campaign
		WORDS                       SLUGS
		LONG                        CUT
	`) {
		assert.Equal(t, Slug(long.Replace(title)), long.Replace(slug), "Slug(%q)", title)
	}
	assert.Tells(t, IsSlug, []string{"a", "7", "a-b", "spring-gala-2026", strings.Repeat("a", 255)},
		append(rows.All(`""  -  -a  a-  a--b  A  a b  a_b  ä  a/b  a.b`), strings.Repeat("a", 256)))
}

func TestSlugCandidates(t *testing.T) {
	for row, want := range rows.Pairs(`
		{"title":"Gala"}                    [gala gala-2 gala-3 gala-4]
		{"title":"Gala","slug":""}          [gala gala-2 gala-3 gala-4]
		{"title":"Gala","slug":"the-gala"}  [the-gala]
		{"slug":""}                         [campaign campaign-2 campaign-3 campaign-4]
	`) {
		in, list := Input{}, []string(nil)
		if row != `{"slug":""}` {
			in = oneCampaign(t, row)
		}
		for slug := range SlugCandidates(in, nil) {
			if list = append(list, slug); len(list) == 4 {
				break
			}
		}
		assert.Equal(t, fmt.Sprint(list), want, "%s", row)
	}
}

func TestACampaignIsListedByTheMicrosecondOfItsCreation(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 123_456_789, time.UTC)
	for row, want := range rows.Pairs(`
		{"title":"a"}                                     2026-01-31 12:00:00.123456
		{"title":"a","created_at":"2020-01-02 03:04:05"}  2020-01-02 03:04:05
		{"title":"a","created_at":"2199-12-31 23:59:59"}  2026-01-31 12:00:00.123456  // not before everything that follows
	`) {
		in := oneCampaign(t, row)
		assert.Equal(t, time.UnixMicro(in.listedAt(now)).UTC().Format("2006-01-02 15:04:05.999999"), want)
	}
}

func FuzzDecodeCampaigns(f *testing.F) {
	for _, row := range []string{fullRow, `{}`, `{"title":"a","goal":1e3}`, `{"title":"a","event":{"livestream":{}}}`,
		`null`} {
		f.Add("[" + row + "]")
	}
	f.Add(`{"title":1}`)
	f.Fuzz(func(t *testing.T, document string) {
		rows, err := DecodeAll([]byte(document))
		if err != nil {
			if rows != nil || err.Error() == "" || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: %v, %v", document, rows, err)
			}
			return
		}
		var raw []any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(document, "\ufeff")), &raw); err != nil ||
			len(raw) != len(rows) {
			t.Fatalf("%q gave %d rows, and the standard library says %d, %v", document, len(rows), len(raw), err)
		}
		for i, in := range rows {
			for slug := range SlugCandidates(in, nil) {
				if !IsSlug(slug) {
					t.Fatalf("slug %q", slug)
				}
				c := New(in, rose, int64(i), slug, noon)
				body, _ := c.AppendBody(nil)
				back := assert.Must(Parse(c.ID, body))(t)
				// which are kept beside the document
				back.Status, back.PaymentLink, back.ListedAt = c.Status, c.PaymentLink, c.ListedAt
				assert.Same(t, c, back)
				if again := c.Update(in, noon.Add(time.Hour)); again.UpdatedAt != c.UpdatedAt && in.Slug == nil {
					t.Fatal("the same input changed the campaign: " + strconv.Quote(document))
				}
				break
			}
		}
	})
}

func FuzzSlug(f *testing.F) {
	for _, title := range rows.All(`Spring Gala  Żółć  --  李`) {
		f.Add(title)
	}
	f.Fuzz(func(t *testing.T, title string) {
		slug := Slug(title)
		if !IsSlug(slug) || Slug(slug) != slug {
			t.Fatalf("Slug(%q) = %q, and again %q", title, slug, Slug(slug))
		}
	})
}
