package campaign

import (
	"encoding/json"
	"errors"
	"slices"
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
	sizes := strings.NewReplacer("LONG", strings.Repeat("ä", 256), "TEXT", strings.Repeat("x", 100_001), "LINK", strings.Repeat("x", 2048))
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
	want := strings.Join(rows.All(`
		row 1: title: The title field is required.
		row 1: currency: The currency field must be an ISO 4217 currency code in capital letters.
		row 1: event.title: The event.title field must be a string.
		row 1: event.private: The event.private field must be true or false.
		row 3: slug: The slug field is the same as in row 2.  row 4: The row must be a JSON object.
	`), "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestDecodeCampaignsRefusesWhatIsNoArray(t *testing.T) {
	for _, test := range rows.Of[struct{ Document, Want string }](`
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
		_, err := DecodeAll([]byte(test.Document))
		var malformed *doc.Malformed
		if !errors.As(err, &malformed) || !strings.HasPrefix(err.Error(), test.Want) {
			t.Errorf("%q: %v, want %s", test.Document, err, test.Want)
		}
	}
}

func TestDecodeCampaignsAcceptsAnEmptyFileAndAMark(t *testing.T) {
	rows, err := DecodeAll([]byte("\ufeff []\n"))
	if err != nil || rows == nil || len(rows) != 0 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestCampaignInputTellsMissingFromNull(t *testing.T) {
	missing := oneCampaign(t, `{"slug":"a"}`)
	if missing.Goal != nil || missing.Cover != nil || missing.Event != nil || missing.EndAt != nil || missing.Beneficiaries != nil || missing.Title != nil {
		t.Errorf("%+v", missing)
	}
	null := oneCampaign(t, `{"slug":"a","goal":null,"cover":null,"event":null,"end_at":null,"beneficiaries":null,"subtitle":null}`)
	switch {
	case null.Goal == nil, *null.Goal != 0, null.Cover == nil, *null.Cover != nil, null.Event == nil, *null.Event != nil:
		t.Errorf("%+v", null)
	case null.EndAt == nil, !null.EndAt.IsZero(), null.Beneficiaries == nil, len(*null.Beneficiaries) != 0, *null.Subtitle != "":
		t.Errorf("%+v", null)
	}
}

func TestCheckNewNeedsATitle(t *testing.T) {
	in := oneCampaign(t, `{"slug":"a","goal":5}`)
	if err := in.CheckNew(); err == nil || err.Error() != "The title field is required." {
		t.Error(err)
	}
	in = oneCampaign(t, `{"slug":"a","title":"A"}`)
	if err := in.CheckNew(); err != nil {
		t.Error(err)
	}
}

func TestValidateCampaignThatWasNotJSON(t *testing.T) {
	negative, large, title := int64(-1), int64(text.MaxCents+1), "Gala \xff"
	in := Input{Title: &title, Goal: &negative, Raised: &large}
	err := in.Validate(nil, true)
	const cents = " field must be a number from 0 to 9999999999.99 with at most two decimals."
	crmtest.WantFaults(t, title, err, "The title field must be valid UTF-8. The goal"+cents+" The raised"+cents)
}

func TestIsTimezone(t *testing.T) {
	for _, name := range rows.All(`
		UTC  America/New_York  Europe/Berlin  Asia/Kolkata  America/Argentina/Buenos_Aires  Etc/GMT+5
	`) {
		if !text.IsTimezone(name) {
			t.Errorf("%s is a time zone", name)
		}
	}
	for _, name := range rows.All(`
		Local  localtime  posix/UTC  posixrules  right/UTC  Berlin  ../etc/passwd  /etc/localtime  UTC+1  America/
		zone.tab
	`) {
		if text.IsTimezone(name) {
			t.Errorf("%s is not a time zone", name)
		}
	}
}

func TestSlug(t *testing.T) {
	for _, test := range []struct{ title, slug string }{
		{"Spring Gala 2026", "spring-gala-2026"},
		{"Rosie’s “Big” Day!", "rosies-big-day"},
		{"  --a -- b--  ", "a-b"},
		{"Żółć & Straße", "zolc-strasse"},
		{"李小龍", "campaign"},
		{"李 Bruce 小龍", "bruce"},
		{"!!!", "campaign"},
		{"", "campaign"},
		{strings.Repeat("word ", 50), strings.TrimSuffix(strings.Repeat("word-", 20), "-")},
		{strings.Repeat("x", 255), strings.Repeat("x", 100)},
	} {
		assert.Equal(t, Slug(test.title), test.slug, "Slug(%q)", test.title)
	}
	for _, slug := range []string{"a", "7", "a-b", "spring-gala-2026", strings.Repeat("a", 255)} {
		if !IsSlug(slug) {
			t.Errorf("%q is a slug", slug)
		}
	}
	for _, slug := range append(rows.All(`
		""  -  -a  a-  a--b  A  a b  a_b  ä  a/b  a.b
	`),
		strings.Repeat("a", 256)) {
		if IsSlug(slug) {
			t.Errorf("%q is not a slug", slug)
		}
	}
}

func TestSlugCandidates(t *testing.T) {
	first := func(in Input, n int) (list []string) {
		for slug := range SlugCandidates(in, nil) {
			if list = append(list, slug); len(list) == n {
				break
			}
		}
		return list
	}
	for _, test := range rows.Of[struct {
		Row  string
		Want []string
	}](`
		{"title":"Gala"}                    gala gala-2 gala-3 gala-4
		{"title":"Gala","slug":""}          gala gala-2 gala-3 gala-4
		{"title":"Gala","slug":"the-gala"}  the-gala
	`) {
		if got := first(oneCampaign(t, test.Row), 4); !slices.Equal(got, test.Want) {
			t.Errorf("%s: %q", test.Row, got)
		}
	}
	if got := first(Input{}, 1); !slices.Equal(got, []string{"campaign"}) {
		t.Errorf("%q", got)
	}
}

func TestACampaignIsListedByTheMicrosecondOfItsCreation(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 123_456_789, time.UTC)
	in := oneCampaign(t, `{"title":"a"}`)
	assert.Equal(t, in.listedAt(now), now.UnixMicro())
	in = oneCampaign(t, `{"title":"a","created_at":"2020-01-02 03:04:05"}`)
	assert.Equal(t, in.listedAt(now), time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	in = oneCampaign(t, `{"title":"a","created_at":"2199-12-31 23:59:59"}`) // not before everything that follows
	assert.Equal(t, in.listedAt(now), now.UnixMicro())
}

func FuzzDecodeCampaigns(f *testing.F) {
	for _, row := range []string{fullRow, `{}`, `{"title":"a","goal":1e3}`, `{"title":"a","event":{"livestream":{}}}`, `null`} {
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
		if err := json.Unmarshal([]byte(strings.TrimPrefix(document, "\ufeff")), &raw); err != nil || len(raw) != len(rows) {
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
				back.Status, back.PaymentLink, back.ListedAt = c.Status, c.PaymentLink, c.ListedAt // which are kept beside the document
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
