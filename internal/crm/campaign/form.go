package campaign

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/text"
)

// A form of a campaign has a text for each field that people write themselves; a box that is ticked holds "yes". Times
// of the event are in its time zone, the end of the campaign is in that of the organization, which an event without a
// zone takes as well. There is a cover where there is an address of one, and an event or a livestream where anything is
// said about it.

// ReadForm makes an input of a whole form, and validates it: whatever the form does not hold is cleared. old is
// the campaign that the form was filled from, if any; zone is the organization's.
func ReadForm(value func(field string) string, old Campaign, zone string) (in Input, err error) {
	f := &campaignForm{value: value, old: old, zone: zone}
	if old.Event != nil {
		f.event = *old.Event
	}
	Table.Take(f, doc.Place{}, &in)
	if in.Event != nil && *in.Event != nil && (*in.Event).Timezone == "" && zone != text.DefaultTimezone {
		(*in.Event).Timezone = zone
	}
	return in, in.Validate(&f.faults, true)
}

// FillForm writes a campaign into a form, so that ReadForm reads the same campaign back.
func FillForm(c Campaign, beneficiaries []string, zone string, set func(field, value string)) {
	if c.Event != nil && c.Event.Timezone == "" && zone != text.DefaultTimezone {
		event := *c.Event
		event.Timezone = zone
		c.Event = &event
	}
	Table.Fill(&c, doc.Place{}, set)
	set("end_at", localTimeText(c.EndAt, zone))
	set("description", markup(c.Description))
	if c.Event != nil {
		set("event.details", markup(c.Event.Details))
	}
	set("beneficiaries", strings.Join(beneficiaries, "\n"))
}

// campaignForm is a form that is being read.
type campaignForm struct {
	value  func(field string) string
	old    Campaign
	event  Event // the old one
	zone   string
	faults doc.Invalid
}

func campaignFormOf(form doc.Form) *campaignForm { return doc.FormOf(form).(*campaignForm) }

// Value is a field without the spaces around it. What kind of cover an address is of need not be said.
func (f *campaignForm) Value(name string) string {
	value := strings.TrimSpace(f.value(name))
	if value == "" && (name == "cover.type" || name == "cover.source") {
		cover := coverAt(f.Value("cover.url"))
		if old := f.old.Cover; old != nil && old.URL == cover.URL {
			cover = *old
		}
		return map[string]string{"cover.type": cover.Type, "cover.source": cover.Source}[name]
	}
	return value
}

// coverHosts are the services whose addresses are those of videos.
var coverHosts = map[string]string{
	"youtube.com": "youtube", "youtu.be": "youtube", "vimeo.com": "vimeo", "twitch.tv": "twitch",
	"facebook.com": "facebook", "fb.watch": "facebook",
}

// coverAt is the cover at an address: a video of a service that is known or with the ending of one, and otherwise an
// image.
func coverAt(address string) Cover {
	cover := Cover{URL: address, Type: "image", Source: "upload"}
	u, err := url.Parse(address)
	if err != nil {
		return cover
	}
	host := strings.ToLower(u.Hostname())
	for service, source := range coverHosts {
		if host == service || strings.HasSuffix(host, "."+service) {
			cover.Type, cover.Source = "video", source
		}
	}
	if slices.Contains([]string{".mp4", ".m4v", ".mov", ".webm", ".ogv"}, strings.ToLower(path.Ext(u.Path))) {
		cover.Type = "video"
	}
	return cover
}

// Rows is none: no list of a campaign has rows in its form.
func (f *campaignForm) Rows(string, []string) int { return 0 }

func (f *campaignForm) currency() string { return strings.ToUpper(f.Value("currency")) }

// html keeps a text that no one changed.
func (f *campaignForm) html(name, typed string) string {
	typed = strings.ReplaceAll(typed, "\r\n", "\n")
	if old := map[string]string{"description": f.old.Description,
		"event.details": f.event.Details}[name]; typed == markup(old) {
		return old
	}
	return fromMarkup(typed)
}

// time keeps the old time while the form still says it: an hour that the clock strikes twice in a night has one
// writing.
func (f *campaignForm) time(name, text string) time.Time {
	zone, old := cmp.Or(f.Value("event.timezone"), f.zone), map[string]time.Time{
		"end_at": f.old.EndAt, "event.start_at": f.event.StartAt, "event.end_at": f.event.EndAt,
		"event.livestream_start_at": f.event.LivestreamStartAt, "event.livestream_end_at": f.event.LivestreamEndAt,
	}[name]
	if name == "end_at" {
		zone = f.zone
	}
	if text == localTimeText(old, zone) {
		return old
	}
	return parseLocalTime(&f.faults, name, text, zone)
}

// differentWords are the words of a text, so that the number of a fault is that of a word.
func differentWords(value string) *[]string {
	var words []string
	var seen text.Set
	for _, word := range strings.FieldsFunc(value, func(c rune) bool {
		return unicode.IsSpace(c) || c == ',' ||
			c == ';'
	}) {
		if seen.Add(word) {
			words = append(words, word)
		}
	}
	return &words
}

// The two ways in which a browser writes the time of a clock and a calendar.
const (
	localMinuteForm = "2006-01-02T15:04"
	localSecondForm = "2006-01-02T15:04:05"
)

// parseLocalTime reads what a field for date and time holds, as a clock in the time zone shows it; "" is UTC. Nothing
// is the zero time. An hour that the clock leaves out in spring is a fault.
func parseLocalTime(v *doc.Invalid, field, value, zone string) time.Time {
	if value == "" {
		return time.Time{}
	}
	wall, ok := text.ParseTime(value, localMinuteForm)
	if !ok {
		wall, ok = text.ParseTime(value, localSecondForm)
	}
	if !ok {
		v.Add(field, "must be a date and a time, such as 2026-11-15T18:30")
		return time.Time{}
	}
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0,
		text.Location(zone))
	switch {
	case at.Format(localSecondForm) != wall.Format(localSecondForm):
		v.Add(field, "is a time that does not exist in %v: clocks skip it on that day", zone)
	case at.UTC().Year() < 1000 || at.UTC().Year() > 9999:
		v.Add(field, "must be between the years 1000 and 9999")
	default:
		return at.UTC()
	}
	return time.Time{}
}

// localTimeText writes a time for a field for date and time, as a clock in the time zone shows it. The zero time is
// nothing.
func localTimeText(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	local := t.In(text.Location(zone))
	if local.Second() != 0 {
		return local.Format(localSecondForm)
	}
	return local.Format(localMinuteForm)
}
