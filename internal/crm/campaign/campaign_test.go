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
	return assert.Must(DecodeAll([]byte("[" + row + "]")))(t)[0]
}

// campaignText is the wire form of a campaign.
func campaignText(c Campaign) string { return wire(c, "https://give.example", Given{}) }

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

// Clients of other services write times in other forms, and call types and states by other names. What is left out
// has a default.
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
		"\"created_at\":\"2030-01-01 00:00:00\""    "\"updated_at\":\"2030-01-01 00:00:00\""
		"\"cover\":{\"url\":\"https://a.example/c\"}"  "\"cover\":{\"type\":\"image\",\"url\":\"https://a.example/c\",\"source\":\"upload\"}"
		"\"event\":{\"livestream\":{}}"             "\"livestream\":{\"url\":null,\"type\":null,\"location\":null,\"platform\":null,\"embed_url\":null,\"scheduled\":false}"
		"\"event\":{}"                              "\"event\":{\"title\":\"Gala\",\"type\":\"in_person\",\"location_name\":null,\"address_formatted\":null,\"google_place_id\":null,\"start_at\":null,\"end_at\":null,\"timezone\":null,\"details\":null,\"private\":false,\"tickets_required\":false,\"livestream\":null,\"livestream_start_at\":null,\"livestream_end_at\":null}"
	`) {
		assert.Contains(t, campaignText(gala(t, sent)), want, "%s", sent)
	}
}

func TestAppendCampaignPutsTheBaseURLIn(t *testing.T) {
	for base, url := range rows.Pairs(`
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
		assert.Succeed(t, json.Unmarshal([]byte(wire(gala(t, ""), base, Given{})), &read))
		assert.Equal(t, fmt.Sprint(read.ID, read.URL), "5"+url)
	}
}

func TestUpdateCampaign(t *testing.T) {
	old := New(oneCampaign(t, fullRow), rose, 7, "run-2026", noon)
	before, later := campaignText(old), noon.Add(time.Hour)
	update := func(row string) Campaign { return old.Update(oneCampaign(t, `{"slug":"run-2026",`+row+`}`), later) }
	assert.Equal(t, update(`"title":"Run for \"Rosie\"","goal":12000.50,"donors":3`), old,
		"an update without any change changed")

	want := old
	want.OpeningRaised, want.UpdatedAt = 9990, later
	assert.Same(t, want, update(`"raised":99.9`))

	want = Campaign{
		ID: old.ID, AccountID: old.AccountID, Type: "collect", Title: old.Title, Slug: "run-2026", Currency: "USD",
		Status:    Published,
		CreatedAt: old.CreatedAt, UpdatedAt: later, ListedAt: old.ListedAt,
	}
	assert.Same(t, want,
		update(`"type":null,"subtitle":"","description":null,"goal":null,"raised":null,"donors":null,"currency":null,
		"logo":" ","cover":null,"end_at":null,"created_at":null,"updated_at":null,"event":null`))

	dated := update(`"donors":4,"updated_at":"2026-01-01 00:00:00"`).UpdatedAt
	assert.Equal(t, dated.Format(time.DateTime), "2026-01-01 00:00:00", "updated_at was sent")
	update(`"title":"Other","event":{"private":false},"cover":{"url":"https://a.example"}`)
	assert.Equal(t, campaignText(old), before, "an update has changed the old campaign")
}

func TestParseCampaignRefusesDamage(t *testing.T) {
	for _, body := range rows.All(`""  {  }  ,  ,"title":"a"  ,"title":1}  ,"goal":"x"}  ,"created_at":"yesterday"}`) {
		_, err := Parse(7, []byte(body))
		assert.Contains(t, fmt.Sprint(err), "campaign 7: ", "%q", body)
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
	text, at := func(label string) string { return drawText(t, label) },
		func(label string) time.Time { return drawTime(t, label) }
	yes := rapid.Bool()
	e := &Event{
		Title: "t" + text("title"), Type: text("type"), LocationName: text("location"),
		AddressFormatted: text("address"),
		GooglePlaceID:    text("place"), StartAt: at("start"), EndAt: at("end"), Timezone: text("timezone"),
		Details: text("details"),
		Private: yes.Draw(t, "private"), TicketsRequired: yes.Draw(t, "tickets"), LivestreamStartAt: at("live start"),
		LivestreamEndAt: at("live end"),
	}
	if yes.Draw(t, "live") {
		e.Livestream = &Livestream{
			URL: text("live url"), Type: text("live type"), Location: text("live location"), Platform: text("platform"),
			EmbedURL: text("embed"), Scheduled: yes.Draw(t, "scheduled"),
		}
	}
	return e
}

func drawCampaign(t *rapid.T) Campaign {
	c := Campaign{
		ID: rapid.Int64().Draw(t, "id"), AccountID: rose.ID, Type: "collect", Title: "t" + drawText(t, "title"),
		Subtitle: drawText(t, "subtitle"), Description: drawText(t, "description"), Slug: Slug(drawText(t, "slug")),
		Currency: "EUR",
		Logo:     drawText(t, "logo"), CreatedAt: drawTime(t, "created"), UpdatedAt: drawTime(t, "updated"),
	}
	drawTotals(t, &c)
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
		body, _ := c.AppendBody(nil)
		assert.Same(t, c, assert.Must(Parse(c.ID, body))(t))
		document := campaignText(c)
		assert.Equal(t, json.Valid([]byte(document)), true, "%s", document)
		assert.Contains(t, document, fmt.Sprintf(`"url":"https://give.example/%s"`, c.Slug))
	})
}

// A campaign that is sent back as it was shown does not change.
func TestShownCampaignCanBeImportedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := assert.Must(json.Marshal(map[string]any{
			"title": "t" + drawText(t, "title"), "description": drawText(t, "description") +
				"<p>a<b>b<img src=https://a.example/>",
			"goal": rapid.IntRange(0, 1000).Draw(t, "goal"), "slug": "a", "donors": 5,
			"event": map[string]any{"details": drawText(t, "details"), "timezone": "Europe/Berlin",
				"private": rapid.Bool().Draw(t, "private")},
		}))(t)
		in := oneCampaign(t, string(row))
		c := New(in, rose, 7, "a", noon)
		again := c.Update(oneCampaign(t, campaignText(c)), noon.Add(time.Hour))
		assert.Same(t, c, again)
	})
}

func TestCampaignScope(t *testing.T) {
	for text, mask := range rows.Each[Relation](`
		""           1
		null         1
		benefiting   2
		chapters     4
		all          7
		owned        1
		beneficiary  2
		chapter      4
	`) {
		assert.Equal(t, assert.Must(ParseScope(text))(t).Mask(), mask, "%q", text)
	}
	for _, scope := range rows.All(`own  ALL  " all"  Chapter  NULL`) {
		_, err := ParseScope(scope)
		crmtest.WantFaults(t, scope, err, "The scope field must be one of benefiting, chapters, all.")
	}
}

func TestAPrivateEventIsPublicByItsTitle(t *testing.T) {
	c := New(oneCampaign(t, fullRow), rose, 7, "run-2026", noon)
	title := &Event{Title: "The run", Private: true}
	c.Status, c.PaymentLink = Closed, "https://pay.example.org" // which may reveal where tickets are sold
	assert.Equal(t, c.Public(), Campaign{Type: "event", Title: c.Title, Event: title, Status: Closed},
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

// The clock was set back by a day.
func TestNoChangeOfACampaignIsDatedBeforeTheOneBeforeIt(t *testing.T) {
	for row, want := range rows.Pairs(`
		"raised":5                          2026-01-31 12:00:00
		"created_at":"2026-02-01 00:00:00"  2026-02-01 00:00:00
		"updated_at":"2020-01-01 00:00:00"  2026-01-31 12:00:00  // it was created at noon
	`) {
		changed := gala(t, "").Update(oneCampaign(t, `{"slug":"gala",`+row+`}`), noon.AddDate(0, 0, -1))
		assert.Equal(t, changed.UpdatedAt.Format(time.DateTime), want, "%s: updated", row)
		assert.Equal(t, changed.UpdatedAt.Before(changed.CreatedAt), false, "%s: created %v", row, changed.CreatedAt)
	}
}

// gala is a campaign that a row makes, beside its title.
func gala(t assert.Failer, row string) Campaign {
	t.Helper()
	if row != "" {
		row = "," + row
	}
	return New(oneCampaign(t, `{"title":"Gala"`+row+`}`), rose, 5, "gala", noon)
}

// wire is what is shown of a campaign with gifts at an address.
func wire(c Campaign, base string, given Given) string {
	body, urlAt := c.AppendBody([]byte("before"))
	return string(Append([]byte("x"), c.ID, body[len("before"):], urlAt, base, given, c.Status)[1:])
}

// drawTotals gives a campaign a goal, opening totals and an end.
func drawTotals(t *rapid.T, c *Campaign) {
	cents := rapid.Int64Range(0, text.MaxCents)
	c.Goal, c.OpeningRaised = cents.Draw(t, "goal"), cents.Draw(t, "raised")
	c.OpeningDonors, c.EndAt = rapid.Int64Range(0, text.MaxDonors).Draw(t, "donors"), drawTime(t, "end")
}

// drawGiven lets a campaign have gifts in a currency.
func drawGiven(t *rapid.T, c *Campaign) {
	c.Currency = rapid.SampledFrom([]string{"EUR", "JPY", "BHD", "USD"}).Draw(t, "currency")
	c.Given = Given{rapid.Int64Range(0, 1e14).Draw(t, "amount"), rapid.Int64Range(0, 1e9).Draw(t, "givers")}
}

func TestTheLimitOfCampaignsSaysWhatToDo(t *testing.T) {
	assert.Succeed(t, Limit.Check(Limit.Max-3, 3))
	for _, word := range []string{"10,000", "Edit"} {
		assert.Contains(t, fmt.Sprint(Limit.Check(Limit.Max-3, 4)), word)
	}
}
