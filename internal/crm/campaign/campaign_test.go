package campaign

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"donorbook/internal/crm/access"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/crm/text"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

var rose = access.Account{ID: "A1b2C3d4E5f6G7h8"}

// oneCampaign decodes a file with one row.
func oneCampaign(t assert.Failer, row string) Input {
	t.Helper()
	rows := assert.Must(DecodeAll([]byte("[" + row + "]")))(t)
	return rows[0]
}

// campaignText is the wire form of a campaign.
func campaignText(c Campaign) string {
	body, urlAt := c.AppendBody(nil)
	return string(Append(nil, c.ID, body, urlAt, "https://give.example", Given{}, c.Status))
}

func TestCampaignWithDefaults(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Spring Gala"}`), rose, 7, "spring-gala", noon)
	want := `{"id":7,"account_id":"A1b2C3d4E5f6G7h8","type":"collect","title":"Spring Gala","subtitle":null,` +
		`"description":null,"slug":"spring-gala","url":"https://give.example/spring-gala","goal":0,"raised":0,"donors":0,` +
		`"currency":"USD","logo":null,"cover":null,"end_at":null,"created_at":"2026-01-31 12:00:00",` +
		`"updated_at":"2026-01-31 12:00:00","event":null,"code":"spring-gala","status":"published"}`
	assert.Equal(t, campaignText(c), want)
}

const fullRow = `{
	"id": 7, "account_id": "somebody else", "url": "https://else.example", "color": {"a": [1]},
	"type": "event", "title": " Run for \"Rosie\" ", "subtitle": "5 km", "description": "<p onclick=x>Come & <b>run</b></p><script>x</script>",
	"slug": "run-2026", "goal": 12000.5, "raised": 12.34, "donors": 3, "currency": "EUR", "logo": "https://img.example/l.png",
	"cover": {"type": "video", "url": "https://youtu.be/x", "source": "youtube"}, "end_at": "2026-06-01 20:00:00",
	"created_at": "2025-12-24 18:00:00", "updated_at": "2025-12-31 23:59:59", "beneficiaries": ["B1b2C3d4E5f6G7h8", "B1b2C3d4E5f6G7h8"],
	"event": {"title": "The run", "type": "hybrid", "location_name": "Park", "address_formatted": "1 Park Rd", "google_place_id": "ChIJ",
		"start_at": "2026-06-01 08:00:00", "end_at": "2026-06-01 20:00:00", "timezone": "America/New_York", "details": "Bring <i>water</i>",
		"private": true, "tickets_required": true,
		"livestream": {"url": "https://tv.example/1", "type": "live", "location": "home", "platform": "twitch", "embed_url": "https://tv.example/e", "scheduled": true},
		"livestream_start_at": "2026-06-01 08:00:00", "livestream_end_at": "2026-06-01 09:00:00"}}`

func TestCampaignWithEverything(t *testing.T) {
	in := oneCampaign(t, fullRow)
	c := New(in, rose, 7, "run-2026", noon)
	want := `{"id":7,"account_id":"A1b2C3d4E5f6G7h8","type":"event","title":"Run for \"Rosie\"","subtitle":"5 km",` +
		`"description":"<p>Come &amp; <b>run</b></p>","slug":"run-2026","url":"https://give.example/run-2026","goal":12000.5,` +
		`"raised":12.34,"donors":3,"currency":"EUR","logo":"https://img.example/l.png",` +
		`"cover":{"type":"video","url":"https://youtu.be/x","source":"youtube"},"end_at":"2026-06-01 20:00:00",` +
		`"created_at":"2025-12-24 18:00:00","updated_at":"2025-12-31 23:59:59","event":{"title":"The run","type":"hybrid",` +
		`"location_name":"Park","address_formatted":"1 Park Rd","google_place_id":"ChIJ","start_at":"2026-06-01 08:00:00",` +
		`"end_at":"2026-06-01 20:00:00","timezone":"America/New_York","details":"Bring <i>water</i>","private":true,` +
		`"tickets_required":true,"livestream":{"url":"https://tv.example/1","type":"live","location":"home","platform":"twitch",` +
		`"embed_url":"https://tv.example/e","scheduled":true},"livestream_start_at":"2026-06-01 08:00:00",` +
		`"livestream_end_at":"2026-06-01 09:00:00"},"code":"run-2026","status":"published"}`
	assert.Equal(t, campaignText(c), want)
	assert.Same(t, []string{"B1b2C3d4E5f6G7h8"}, *in.Beneficiaries)
}

// Clients of other services write times in other forms, and call types and states by other names.
func TestCampaignsTakeWhatOtherServicesCallThings(t *testing.T) {
	for sent, want := range rows.Pairs(`
		"\"end_at\":\"2026-12-31\""                 "\"end_at\":\"2026-12-31 23:59:59\""
		"\"end_at\":\"2026-12-31T20:00:00-05:00\""  "\"end_at\":\"2027-01-01 01:00:00\""
		"\"end_at\":\"2026-12-31T20:00:00.000Z\""   "\"end_at\":\"2026-12-31 20:00:00\""
		"\"end_at\":\"2026-12-31T20:00:00+0000\""   "\"end_at\":\"2026-12-31 20:00:00\""
		"\"end_at\":\"2026-12-31T20:00\""           "\"end_at\":\"2026-12-31 20:00:00\""
		"\"event\":{\"start_at\":\"2026-12-31\"}"   "\"start_at\":\"2026-12-31 00:00:00\""
		"\"type\":\"standard\""                     "\"type\":\"collect\""
		"\"type\":\"Peer_to_Peer\""                 "\"type\":\"fundraise\""
		"\"type\":\"ticketed_event\""               "\"type\":\"event\""
		"\"type\":\"general_fund\""                 "\"type\":\"general\""
		"\"status\":\"active\""                     "\"status\":\"published\""
		"\"status\":\"unpublished\""                "\"status\":\"draft\""
		"\"status\":\"ended\",\"slug\":\"gala\""    "\"code\":\"gala\",\"status\":\"closed\"}"
	`) {
		c := New(oneCampaign(t, `{"title":"Gala",`+sent+`}`), rose, 1, "gala", noon)
		assert.Contains(t, campaignText(c), want, "%s", sent)
	}
}

func TestCampaignObjectsHaveDefaults(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Gala","cover":{"url":"https://img.example/c"},"event":{}}`), rose, 1, "gala", noon)
	for _, want := range []string{
		`"cover":{"type":"image","url":"https://img.example/c","source":"upload"}`,
		`"event":{"title":"Gala","type":"in_person","location_name":null,"address_formatted":null,"google_place_id":null,"start_at":null,` +
			`"end_at":null,"timezone":null,"details":null,"private":false,"tickets_required":false,"livestream":null,` +
			`"livestream_start_at":null,"livestream_end_at":null}`,
	} {
		assert.Contains(t, campaignText(c), want)
	}
	c = c.Update(oneCampaign(t, `{"title":"Gala","event":{"livestream":{}}}`), noon)
	want := `"livestream":{"url":null,"type":null,"location":null,"platform":null,"embed_url":null,"scheduled":false}`
	assert.Contains(t, campaignText(c), want)
}

func TestAppendCampaignPutsTheBaseURLIn(t *testing.T) {
	c := New(oneCampaign(t, `{"title":"Gala"}`), rose, 5, "gala", noon)
	body, urlAt := c.AppendBody([]byte("before"))
	body = body[len("before"):]
	for _, test := range rows.Of[struct{ Base, Url string }](`
		https://give.example      https://give.example/gala
		https://give.example/     https://give.example/gala
		https://example.org/give  https://example.org/give/gala
		https://a"b\c             https://a"b\c/gala
		""                        /gala
	`) {
		var read struct {
			ID  int64  `json:"id"`
			URL string `json:"url"`
		}
		document := Append([]byte("x"), 5, body, urlAt, test.Base, Given{}, c.Status)[1:]
		if err := json.Unmarshal(document, &read); err != nil || read.URL != test.Url || read.ID != 5 {
			t.Errorf("base %q: %+v, %v", test.Base, read, err)
		}
	}
}

func TestUpdateCampaign(t *testing.T) {
	in := oneCampaign(t, fullRow)
	old := New(in, rose, 7, "run-2026", noon)
	later := noon.Add(time.Hour)

	same := old.Update(oneCampaign(t, `{"slug":"run-2026","title":"Run for \"Rosie\"","goal":12000.50,"donors":3}`), later)
	assert.Equal(t, same, old, "an update without any change changed")

	changed := old.Update(oneCampaign(t, `{"slug":"run-2026","raised":99.9}`), later)
	want := old
	want.OpeningRaised, want.UpdatedAt = 9990, later
	assert.Same(t, want, changed)

	cleared := old.Update(oneCampaign(t, `{"slug":"run-2026","type":null,"subtitle":"","description":null,"goal":null,"raised":null,
		"donors":null,"currency":null,"logo":" ","cover":null,"end_at":null,"created_at":null,"updated_at":null,"event":null}`), later)
	want = Campaign{
		ID: old.ID, AccountID: old.AccountID, Type: "collect", Title: old.Title, Slug: "run-2026", Currency: "USD", Status: Published,
		CreatedAt: old.CreatedAt, UpdatedAt: later, ListedAt: old.ListedAt,
	}
	assert.Same(t, want, cleared)

	dated := old.Update(oneCampaign(t, `{"slug":"run-2026","donors":4,"updated_at":"2026-01-01 00:00:00"}`), later)
	if got := dated.UpdatedAt; !got.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("updated_at was sent, and is %v", got)
	}
}

func TestUpdateLeavesTheOldCampaignAlone(t *testing.T) {
	in := oneCampaign(t, fullRow)
	old := New(in, rose, 1, "run-2026", noon)
	before := campaignText(old)
	old.Update(oneCampaign(t, `{"slug":"run-2026","title":"Other","event":{"private":false},"cover":{"url":"https://a.example"}}`), noon)
	assert.Equal(t, campaignText(old), before)
}

func TestNewCampaignIsNeverUpdatedBeforeItsCreation(t *testing.T) {
	in := oneCampaign(t, `{"title":"Gala","created_at":"2030-01-01 00:00:00"}`)
	if c := New(in, rose, 1, "gala", noon); !c.UpdatedAt.Equal(c.CreatedAt) {
		t.Errorf("created %v, updated %v", c.CreatedAt, c.UpdatedAt)
	}
}

func TestParseCampaignRefusesDamage(t *testing.T) {
	for _, body := range rows.All(`
		""  {  }  ,  ,"title":"a"  ,"title":1}  ,"goal":"x"}  ,"created_at":"yesterday"}
	`) {
		if _, err := Parse(7, []byte(body)); err == nil || !strings.HasPrefix(err.Error(), "campaign 7: ") {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// drawText draws a text that trimming does not change.
func drawText(t *rapid.T, label string) string {
	text := strings.ReplaceAll(rapid.String().Draw(t, label), "\x00", "")
	return strings.TrimSpace(text)
}

func drawTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, label+" set") {
		return time.Unix(rapid.Int64Range(31_536_000, 7_258_118_399).Draw(t, label), 0).UTC()
	}
	return time.Time{}
}

func drawEvent(t *rapid.T) *Event {
	e := &Event{
		Title: "t" + drawText(t, "title"), Type: drawText(t, "type"), LocationName: drawText(t, "location"),
		AddressFormatted: drawText(t, "address"), GooglePlaceID: drawText(t, "place"), StartAt: drawTime(t, "start"),
		EndAt: drawTime(t, "end"), Timezone: drawText(t, "timezone"), Details: drawText(t, "details"),
		Private: rapid.Bool().Draw(t, "private"), TicketsRequired: rapid.Bool().Draw(t, "tickets"),
		LivestreamStartAt: drawTime(t, "live start"), LivestreamEndAt: drawTime(t, "live end"),
	}
	if rapid.Bool().Draw(t, "live") {
		e.Livestream = &Livestream{
			URL: drawText(t, "live url"), Type: drawText(t, "live type"), Location: drawText(t, "live location"),
			Platform: drawText(t, "platform"), EmbedURL: drawText(t, "embed"), Scheduled: rapid.Bool().Draw(t, "scheduled"),
		}
	}
	return e
}

func drawCampaign(t *rapid.T) Campaign {
	c := Campaign{
		ID: rapid.Int64().Draw(t, "id"), AccountID: "A1b2C3d4E5f6G7h8", Type: "collect", Title: "t" + drawText(t, "title"),
		Subtitle: drawText(t, "subtitle"), Description: drawText(t, "description"), Slug: Slug(drawText(t, "slug")),
		Goal: rapid.Int64Range(0, text.MaxCents).Draw(t, "goal"), OpeningRaised: rapid.Int64Range(0, text.MaxCents).Draw(t, "raised"),
		OpeningDonors: rapid.Int64Range(0, text.MaxDonors).Draw(t, "donors"), Currency: "EUR", Logo: drawText(t, "logo"),
		EndAt: drawTime(t, "end"), CreatedAt: drawTime(t, "created"), UpdatedAt: drawTime(t, "updated"),
	}
	if rapid.Bool().Draw(t, "cover") {
		c.Cover = &Cover{Type: "image", URL: drawText(t, "url"), Source: "upload"}
	}
	if rapid.Bool().Draw(t, "event") {
		c.Event = drawEvent(t)
	}
	return c
}

func TestStoredCampaignComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCampaign(t)
		body, urlAt := c.AppendBody(nil)
		back := assert.Must(Parse(c.ID, body))(t)
		assert.Same(t, c, back)
		document := Append(nil, c.ID, body, urlAt, "https://give.example", Given{}, c.Status)
		if !json.Valid(document) || !strings.Contains(string(document), fmt.Sprintf(`"url":"https://give.example/%s"`, c.Slug)) {
			t.Fatalf("%s", document)
		}
	})
}

// A campaign that is sent back as it was shown does not change.
func TestShownCampaignCanBeImportedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := assert.Must(json.Marshal(map[string]any{
			"title": "t" + drawText(t, "title"), "description": drawText(t, "description") + "<p>a<b>b<img src=https://a.example/>",
			"goal": rapid.IntRange(0, 1000).Draw(t, "goal"), "slug": "a", "donors": 5,
			"event": map[string]any{"details": drawText(t, "details"), "timezone": "Europe/Berlin", "private": rapid.Bool().Draw(t, "private")},
		}))(t)
		in := oneCampaign(t, string(row))
		c := New(in, rose, 7, "a", noon)
		again := c.Update(oneCampaign(t, campaignText(c)), noon.Add(time.Hour))
		assert.Same(t, c, again)
	})
}

func TestCampaignScope(t *testing.T) {
	for _, test := range []struct {
		scope string
		mask  Relation
	}{{"", 1}, {"null", 1}, {"benefiting", 2}, {"chapters", 4}, {"all", 7}, {"owned", 1}, {"beneficiary", 2}, {"chapter", 4}} {
		scope, err := ParseScope(test.scope)
		assert.Succeed(t, err)
		assert.Equal(t, scope.Mask(), test.mask, "%q", test.scope)
	}
	for _, scope := range rows.All(`own  ALL  " all"  Chapter  NULL`) {
		_, err := ParseScope(scope)
		crmtest.WantFaults(t, scope, err, "The scope field must be one of benefiting, chapters, all.")
	}
}

func TestAPrivateEventIsPublicByItsTitle(t *testing.T) {
	c := New(oneCampaign(t, fullRow), rose, 7, "run-2026", noon)
	title := &Event{Title: "The run", Private: true}
	assert.Equal(t, c.Public(), Campaign{Type: "event", Title: c.Title, Event: title, Status: Published},
		"a campaign that is a private event")
	want := c
	c.Type, want.Type, want.Event = "collect", "collect", title
	assert.Equal(t, c.Public(), want, "a campaign that has a private event")
	c.Event.Private = false
	assert.Equal(t, c.Public(), c, "an open event")
}

func TestTheWorkForSlugsGrowsWithTheirNumber(t *testing.T) {
	crmtest.CheckGrowth(t, map[string]func(n int){
		"campaigns of one title": func(n int) {
			title, tried := "Gala", map[string]int{}
			for range n {
				for range SlugCandidates(Input{Title: &title}, tried) {
					break
				}
			}
		},
	})
}

func TestTheLimitOfCampaignsSaysWhatToDo(t *testing.T) {
	if err := Limit.Check(Limit.Max-3, 3); err != nil {
		t.Errorf("up to the limit: %v", err)
	}
	if err := Limit.Check(Limit.Max-3, 4); len(crmtest.FaultsOf(t, err)) != 1 || !strings.Contains(err.Error(), "10,000") || !strings.Contains(err.Error(), "Edit") {
		t.Errorf("beyond the limit: %v", err)
	}
}

// The clock was set back by a day.
func TestNoChangeOfACampaignIsDatedBeforeTheOneBeforeIt(t *testing.T) {
	dayBefore := noon.AddDate(0, 0, -1)
	gala := New(oneCampaign(t, `{"title":"Gala"}`), rose, 1, "gala", noon)
	for body, want := range map[string]time.Time{
		`{"slug":"gala","raised":5}`:                         noon,
		`{"slug":"gala","created_at":"2026-02-01 00:00:00"}`: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		`{"slug":"gala","updated_at":"2020-01-01 00:00:00"}`: noon, // it was created at noon
	} {
		if changed := gala.Update(oneCampaign(t, body), dayBefore); !changed.UpdatedAt.Equal(want) || changed.UpdatedAt.Before(changed.CreatedAt) {
			t.Errorf("%s: created %v, updated %v, want %v", body, changed.CreatedAt, changed.UpdatedAt, want)
		}
	}
}
