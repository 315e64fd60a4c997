package crm

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendCampaign appends the wire form of a campaign whose stored body is given. The public base URL is that of the
// request, so it is put in here.
func AppendCampaign(dst []byte, id int64, body []byte, urlAt int, baseURL string) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, body[:urlAt-1]...)
	quoted, err := jsontext.AppendQuote(dst, strings.TrimSuffix(baseURL, "/"))
	if err != nil {
		panic(fmt.Sprintf("crm: the base URL is not UTF-8: %v", err))
	}
	return append(quoted[:len(quoted)-1], body[urlAt:]...)
}

// AppendBody appends everything of the wire form that follows the id, with a url that lacks the base. This is what
// the store keeps, together with urlAt: how many bytes of it come before the place where the base URL belongs.
func (c *Campaign) AppendBody(dst []byte) (body []byte, urlAt int) {
	start := len(dst)
	dst = appendMember(dst, "account_id", c.AccountID)
	dst = appendMember(dst, "type", c.Type)
	dst = appendMember(dst, "title", c.Title)
	dst = appendMember(dst, "subtitle", c.Subtitle)
	dst = appendMember(dst, "description", c.Description)
	dst = appendMember(dst, "slug", c.Slug)
	dst = append(dst, `,"url":"`...)
	urlAt = len(dst) - start
	dst = append(dst, '/')
	dst = append(dst, c.Slug...) // never anything to escape
	dst = append(dst, `","goal":`...)
	dst = appendCents(dst, c.Goal)
	dst = append(dst, `,"raised":`...)
	dst = appendCents(dst, c.Raised)
	dst = append(dst, `,"donors":`...)
	dst = strconv.AppendInt(dst, c.Donors, 10)
	dst = appendMember(dst, "currency", c.Currency)
	dst = appendMember(dst, "logo", c.Logo)
	dst = c.Cover.append(append(dst, `,"cover":`...))
	dst = append(dst, `,"end_at":`...)
	dst = appendTime(dst, c.EndAt, appendCampaignTime)
	dst = append(dst, `,"created_at":`...)
	dst = appendTime(dst, c.CreatedAt, appendCampaignTime)
	dst = append(dst, `,"updated_at":`...)
	dst = appendTime(dst, c.UpdatedAt, appendCampaignTime)
	dst = c.Event.append(append(dst, `,"event":`...))
	return append(dst, '}'), urlAt
}

func (c *Cover) append(dst []byte) []byte {
	if c == nil {
		return append(dst, `null`...)
	}
	dst = appendText(append(dst, `{"type":`...), c.Type)
	dst = appendMember(dst, "url", c.URL)
	dst = appendMember(dst, "source", c.Source)
	return append(dst, '}')
}

func (e *Event) append(dst []byte) []byte {
	if e == nil {
		return append(dst, `null`...)
	}
	dst = appendText(append(dst, `{"title":`...), e.Title)
	dst = appendMember(dst, "type", e.Type)
	dst = appendMember(dst, "location_name", e.LocationName)
	dst = appendMember(dst, "address_formatted", e.AddressFormatted)
	dst = appendMember(dst, "google_place_id", e.GooglePlaceID)
	dst = append(dst, `,"start_at":`...)
	dst = appendTime(dst, e.StartAt, appendCampaignTime)
	dst = append(dst, `,"end_at":`...)
	dst = appendTime(dst, e.EndAt, appendCampaignTime)
	dst = appendMember(dst, "timezone", e.Timezone)
	dst = appendMember(dst, "details", e.Details)
	dst = append(dst, `,"private":`...)
	dst = strconv.AppendBool(dst, e.Private)
	dst = append(dst, `,"tickets_required":`...)
	dst = strconv.AppendBool(dst, e.TicketsRequired)
	dst = e.Livestream.append(append(dst, `,"livestream":`...))
	dst = append(dst, `,"livestream_start_at":`...)
	dst = appendTime(dst, e.LivestreamStartAt, appendCampaignTime)
	dst = append(dst, `,"livestream_end_at":`...)
	dst = appendTime(dst, e.LivestreamEndAt, appendCampaignTime)
	return append(dst, '}')
}

func (l *Livestream) append(dst []byte) []byte {
	if l == nil {
		return append(dst, `null`...)
	}
	dst = appendText(append(dst, `{"url":`...), l.URL)
	dst = appendMember(dst, "type", l.Type)
	dst = appendMember(dst, "location", l.Location)
	dst = appendMember(dst, "platform", l.Platform)
	dst = appendMember(dst, "embed_url", l.EmbedURL)
	dst = append(dst, `,"scheduled":`...)
	dst = strconv.AppendBool(dst, l.Scheduled)
	return append(dst, '}')
}

// ParseCampaign reads a stored body back. A campaign is sent in the form in which it is shown, so one reader does
// for both.
func ParseCampaign(id int64, body []byte) (Campaign, error) {
	c := Campaign{ID: id}
	var in CampaignInput
	err := readStored(body, func(r *jsonReader, key string) {
		if key == "account_id" {
			c.AccountID = r.text()
		} else {
			in.read(r, key)
		}
	})
	if err != nil {
		return Campaign{}, fmt.Errorf("campaign %d: %w", id, err)
	}
	c.apply(&in)
	return c, nil
}
