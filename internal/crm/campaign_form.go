package crm

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// A form of a campaign has a text for each field of campaignFields that people write themselves; a box that is ticked
// holds "yes". Times of the event are in its time zone, the end of the campaign is in UTC. There is a cover where there
// is an address of one, and an event or a livestream where anything is said about it.

const ticked = "yes"

// What a choice says when nobody has chosen does not make an event.
var (
	livestreamFields = []string{
		"event.livestream.url", "event.livestream.type", "event.livestream.location", "event.livestream.platform",
		"event.livestream.embed_url", "event.livestream.scheduled",
	}
	eventFields = append([]string{
		"event.title", "event.location_name", "event.address_formatted", "event.google_place_id", "event.start_at", "event.end_at",
		"event.timezone", "event.details", "event.private", "event.tickets_required", "event.livestream_start_at", "event.livestream_end_at",
	}, livestreamFields...)
)

// ReadCampaignForm makes an input of a whole form, and validates it: whatever the form does not hold is cleared. old is
// the campaign that the form was filled from, if any.
func ReadCampaignForm(value func(field string) string, old Campaign) (CampaignInput, error) {
	r := &campaignForm{value: value}
	in := CampaignInput{
		Type: r.text("type"), Title: r.text("title"), Subtitle: r.text("subtitle"), Slug: r.text("slug"),
		Goal: r.cents("goal"), Raised: r.cents("raised"), Logo: r.text("logo"),
	}
	description, currency := r.html("description", old.Description), r.currency()
	in.Description, in.Currency = &description, &currency
	donors, cover, event := ParseNumber(&r.faults, "donors", value("donors")), r.cover(), r.event(old)
	endAt := r.time("end_at", "", old.EndAt)
	beneficiaries := r.list("beneficiaries")
	in.Donors, in.Cover, in.Event, in.EndAt, in.Beneficiaries = &donors, &cover, &event, &endAt, &beneficiaries
	return in, in.Validate(&r.faults, true)
}

// campaignForm is a form that is being read.
type campaignForm struct {
	value  func(field string) string
	faults Invalid
}

func (r *campaignForm) string(field string) string { return strings.TrimSpace(r.value(field)) }
func (r *campaignForm) bool(field string) bool     { return r.string(field) == ticked }
func (r *campaignForm) currency() string           { return strings.ToUpper(r.string("currency")) }

// any tells whether one of the fields holds something.
func (r *campaignForm) any(fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool { return r.string(field) != "" })
}

func (r *campaignForm) text(field string) *string {
	text := r.string(field)
	return &text
}

// list is the different words of a field, so that the number of a fault is that of a word.
func (r *campaignForm) list(field string) (words []string) {
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(r.value(field), func(c rune) bool { return unicode.IsSpace(c) || c == ',' || c == ';' }) {
		if !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

func (r *campaignForm) cents(field string) *int64 {
	cents := ParseAmount(&r.faults, field, r.value(field), r.currency())
	return &cents
}

// html keeps a text that nobody changed.
func (r *campaignForm) html(field, old string) string {
	text := strings.ReplaceAll(r.string(field), "\r\n", "\n")
	if text == old {
		return text
	}
	return Paragraphs(text)
}

// time keeps the old time while the form still says it: an hour that the clock strikes twice in a night has one writing.
func (r *campaignForm) time(field, zone string, old time.Time) time.Time {
	text := r.string(field)
	if text == LocalTimeText(old, zone) {
		return old
	}
	return ParseLocalTime(&r.faults, field, text, zone)
}

func (r *campaignForm) cover() *Cover {
	if r.string("cover.url") == "" {
		return nil
	}
	return &Cover{Type: r.string("cover.type"), URL: r.string("cover.url"), Source: r.string("cover.source")}
}

func (r *campaignForm) event(campaign Campaign) *Event {
	if !r.any(eventFields) {
		return nil
	}
	old := campaign.Event
	if old == nil {
		old = &Event{}
	}
	title, zone := r.string("event.title"), r.string("event.timezone")
	if title == campaign.Title {
		title = "" // the campaign's own, which may change in this very form
	}
	return &Event{
		Title: title, Type: r.string("event.type"),
		LocationName: r.string("event.location_name"), AddressFormatted: r.string("event.address_formatted"), GooglePlaceID: r.string("event.google_place_id"),
		StartAt: r.time("event.start_at", zone, old.StartAt), EndAt: r.time("event.end_at", zone, old.EndAt), Timezone: zone,
		Details: r.html("event.details", old.Details), Private: r.bool("event.private"), TicketsRequired: r.bool("event.tickets_required"),
		Livestream:        r.livestream(),
		LivestreamStartAt: r.time("event.livestream_start_at", zone, old.LivestreamStartAt),
		LivestreamEndAt:   r.time("event.livestream_end_at", zone, old.LivestreamEndAt),
	}
}

func (r *campaignForm) livestream() *Livestream {
	if !r.any(livestreamFields) {
		return nil
	}
	return &Livestream{
		URL: r.string("event.livestream.url"), Type: r.string("event.livestream.type"), Location: r.string("event.livestream.location"),
		Platform: r.string("event.livestream.platform"), EmbedURL: r.string("event.livestream.embed_url"),
		Scheduled: r.bool("event.livestream.scheduled"),
	}
}

// FillCampaignForm writes a campaign into a form, so that ReadCampaignForm reads the same campaign back.
func FillCampaignForm(c Campaign, beneficiaries []string, set func(field, value string)) {
	set("type", c.Type)
	set("title", c.Title)
	set("subtitle", c.Subtitle)
	set("description", c.Description)
	set("slug", c.Slug)
	set("goal", emptyWhere(c.Goal == 0, AmountText(c.Goal)))
	set("raised", emptyWhere(c.Raised == 0, AmountText(c.Raised)))
	set("donors", emptyWhere(c.Donors == 0, CountText(c.Donors)))
	set("currency", c.Currency)
	set("logo", c.Logo)
	if c.Cover != nil {
		set("cover.type", c.Cover.Type)
		set("cover.url", c.Cover.URL)
		set("cover.source", c.Cover.Source)
	}
	set("end_at", LocalTimeText(c.EndAt, ""))
	if c.Event != nil {
		c.Event.fill(set)
	}
	set("beneficiaries", strings.Join(beneficiaries, "\n"))
}

func (e *Event) fill(set func(field, value string)) {
	set("event.title", e.Title)
	set("event.type", e.Type)
	set("event.location_name", e.LocationName)
	set("event.address_formatted", e.AddressFormatted)
	set("event.google_place_id", e.GooglePlaceID)
	set("event.start_at", LocalTimeText(e.StartAt, e.Timezone))
	set("event.end_at", LocalTimeText(e.EndAt, e.Timezone))
	set("event.timezone", e.Timezone)
	set("event.details", e.Details)
	set("event.private", emptyWhere(!e.Private, ticked))
	set("event.tickets_required", emptyWhere(!e.TicketsRequired, ticked))
	if l := e.Livestream; l != nil {
		set("event.livestream.url", l.URL)
		set("event.livestream.type", l.Type)
		set("event.livestream.location", l.Location)
		set("event.livestream.platform", l.Platform)
		set("event.livestream.embed_url", l.EmbedURL)
		set("event.livestream.scheduled", emptyWhere(!l.Scheduled, ticked))
	}
	set("event.livestream_start_at", LocalTimeText(e.LivestreamStartAt, e.Timezone))
	set("event.livestream_end_at", LocalTimeText(e.LivestreamEndAt, e.Timezone))
}

func emptyWhere(empty bool, text string) string {
	if empty {
		return ""
	}
	return text
}

// The two ways in which a browser writes the time of a clock and a calendar.
const (
	localMinuteForm = "2006-01-02T15:04"
	localSecondForm = "2006-01-02T15:04:05"
)

// ParseLocalTime reads what a field for date and time holds, as a clock in the time zone shows it; "" is UTC. Nothing
// is the zero time. An hour that the clock leaves out in spring is a fault.
func ParseLocalTime(v *Invalid, field, text, zone string) time.Time {
	if text == "" {
		return time.Time{}
	}
	wall, ok := parseTime(text, localMinuteForm, "")
	if !ok {
		wall, ok = parseTime(text, localSecondForm, "")
	}
	if !ok {
		v.Add(field, "must be a date and a time, such as 2026-11-15T18:30")
		return time.Time{}
	}
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, Location(zone))
	switch {
	case at.Format(localSecondForm) != wall.Format(localSecondForm):
		v.Add(field, "is a time that the clocks of %v leave out on that day", zone)
	case at.UTC().Year() < 1000 || at.UTC().Year() > 9999:
		v.Add(field, "must be a time from the years 1000 to 9999")
	default:
		return at.UTC()
	}
	return time.Time{}
}

// LocalTimeText writes a time for a field for date and time, as a clock in the time zone shows it. The zero time is
// nothing.
func LocalTimeText(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	local := t.In(Location(zone))
	if local.Second() != 0 {
		return local.Format(localSecondForm)
	}
	return local.Format(localMinuteForm)
}

// Location is a time zone by its name. A name that does not exist is a fault of its own field; here it is UTC.
func Location(zone string) *time.Location {
	if place, err := time.LoadLocation(zone); err == nil && isTimezone(zone) {
		return place
	}
	return time.UTC
}
