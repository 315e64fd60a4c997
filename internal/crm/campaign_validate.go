package crm

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the names of time zones must not depend on the machine
)

// campaignFields is the order in which faults are told.
var campaignFields = []string{
	"type", "title", "subtitle", "description", "slug", "goal", "raised", "donors", "currency", "logo",
	"cover", "cover.type", "cover.url", "cover.source", "end_at", "created_at", "updated_at",
	"event", "event.title", "event.type", "event.location_name", "event.address_formatted", "event.google_place_id",
	"event.start_at", "event.end_at", "event.timezone", "event.details", "event.private", "event.tickets_required",
	"event.livestream", "event.livestream.url", "event.livestream.type", "event.livestream.location",
	"event.livestream.platform", "event.livestream.embed_url", "event.livestream.scheduled",
	"event.livestream_start_at", "event.livestream_end_at", "beneficiaries",
}

// maxHTML is the longest HTML text, in characters.
const maxHTML = 100_000

// Validate checks everything about the input that does not depend on the stored campaign, sanitizes its HTML and
// fills in the defaults of a cover and an event. New campaigns need a title. faults are those found while reading;
// the others are added to them.
func (in *CampaignInput) Validate(faults *Invalid, isNew bool) error {
	v := faults
	if v == nil {
		v = &Invalid{}
	}
	validateOneOf(v, "type", in.Type, "general", "collect", "fundraise", "event")
	in.validateTitle(v, isNew)
	validateOptional(v, "subtitle", in.Subtitle, maxText)
	validateHTML(v, "description", in.Description)
	if in.Slug != nil && *in.Slug != "" && !IsSlug(*in.Slug) && !v.has("slug") {
		v.Add("slug", SlugForm, maxText)
	}
	if in.Slug != nil && slices.Contains(reservedSlugs, *in.Slug) {
		v.Add("slug", "is reserved for the service itself: choose another one")
	}
	in.validateNumbers(v)
	if in.Currency != nil && *in.Currency != "" && !isCurrency(*in.Currency) && !v.has("currency") {
		v.Add("currency", Currency)
	}
	validatePicture(v, "logo", in.Logo)
	if in.Cover != nil && *in.Cover != nil {
		(*in.Cover).validate(v)
	}
	in.validateTimes(v)
	if in.Event != nil && *in.Event != nil {
		(*in.Event).validate(v)
	}
	in.validateBeneficiaries(v)
	sortFaults(v, campaignFields)
	return v.Err()
}

// CheckNew is the fault of an input that was validated as a change, when there is nothing to change.
func (in *CampaignInput) CheckNew() error {
	if in.Title == nil || *in.Title == "" {
		return invalid("title", Required)
	}
	return nil
}

func (in *CampaignInput) validateTitle(v *Invalid, isNew bool) {
	validateOptional(v, "title", in.Title, maxText)
	switch {
	case v.has("title"):
	case isNew && (in.Title == nil || *in.Title == ""):
		v.Add("title", Required)
	case in.Title != nil && *in.Title == "":
		v.Add("title", NotEmpty)
	}
}

// validateNumbers is for inputs that were not read from JSON.
func (in *CampaignInput) validateNumbers(v *Invalid) {
	for _, number := range []struct {
		field string
		value *int64
		limit int64
		rule  Rule
		args  []any
	}{{"goal", in.Goal, maxCents, CentRange, nil}, {"raised", in.Raised, maxCents, CentRange, nil}, {"donors", in.Donors, maxDonors, CountRange, []any{maxDonors}}} {
		if number.value != nil && (*number.value < 0 || *number.value > number.limit) && !v.has(number.field) {
			v.Add(number.field, number.rule, number.args...)
		}
	}
}

// validateTimes keeps the creation within the years in which its microsecond is a positive integer that every JSON
// client holds exactly: it becomes the id.
func (in *CampaignInput) validateTimes(v *Invalid) {
	created, updated := valueOf(in.CreatedAt), valueOf(in.UpdatedAt)
	if !created.IsZero() && (created.Year() < 1971 || created.Year() > 2199) && !v.has("created_at") {
		v.Add("created_at", "must be a time from the years 1971 to 2199")
	}
	validateOrder(v, "created_at", created, "updated_at", updated)
}

func (in *CampaignInput) validateBeneficiaries(v *Invalid) {
	if in.Beneficiaries == nil {
		return
	}
	if len(*in.Beneficiaries) > maxBeneficiaries {
		v.Add("beneficiaries", TooMany, maxBeneficiaries)
		return
	}
	kept := []string{}
	var seen textSet
	for i, id := range *in.Beneficiaries {
		path := "beneficiaries." + strconv.Itoa(i)
		if !isAccountID(id) && !v.has(path) {
			v.Add(path, "must be an account id of 16 letters and digits")
		}
		if seen.add(id) {
			kept = append(kept, id)
		}
	}
	*in.Beneficiaries = kept
}

func isAccountID(id string) bool {
	for i := 0; i < len(id); i++ {
		if !isLetter(id[i]) && !isDigit(id[i]) {
			return false
		}
	}
	return len(id) == 16
}

func (c *Cover) validate(v *Invalid) {
	c.Type, c.Source = orDefault(c.Type, defaultCoverType), orDefault(c.Source, defaultCoverSource)
	validateOneOf(v, "cover.type", &c.Type, "image", "video")
	if c.URL == "" && !v.has("cover.url") {
		v.Add("cover.url", Required)
	}
	if c.Type == defaultCoverType {
		validatePicture(v, "cover.url", &c.URL)
	} else {
		validateURL(v, "cover.url", &c.URL)
	}
	validateOneOf(v, "cover.source", &c.Source, "upload", "youtube", "vimeo", "twitch", "facebook")
}

func (e *Event) validate(v *Invalid) {
	e.Type = orDefault(e.Type, defaultEventType)
	validateText(v, "event.title", e.Title, maxText)
	validateText(v, "event.type", e.Type, maxText)
	validateText(v, "event.location_name", e.LocationName, maxText)
	validateText(v, "event.address_formatted", e.AddressFormatted, maxText)
	validateText(v, "event.google_place_id", e.GooglePlaceID, maxText)
	validateOrder(v, "event.start_at", e.StartAt, "event.end_at", e.EndAt)
	if e.Timezone != "" && !isTimezone(e.Timezone) && !v.has("event.timezone") {
		v.Add("event.timezone", Timezone)
	}
	validateHTML(v, "event.details", &e.Details)
	if e.Livestream != nil {
		e.Livestream.validate(v)
	}
	validateOrder(v, "event.livestream_start_at", e.LivestreamStartAt, "event.livestream_end_at", e.LivestreamEndAt)
}

func (l *Livestream) validate(v *Invalid) {
	validateURL(v, "event.livestream.url", &l.URL)
	validateText(v, "event.livestream.type", l.Type, maxText)
	validateText(v, "event.livestream.location", l.Location, maxText)
	validateText(v, "event.livestream.platform", l.Platform, maxText)
	validateURL(v, "event.livestream.embed_url", &l.EmbedURL)
}

// isTimezone refuses, beside what does not exist, the names that mean something else on every machine.
func isTimezone(name string) bool {
	if name == "Local" || name == "localtime" || strings.HasPrefix(name, "posix") || strings.HasPrefix(name, "right/") {
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

func validateText(v *Invalid, field, value string, limit int) { v.text(place{}, field, value, limit) }

func validateWebURL(v *Invalid, field string, value *string) {
	if value != nil && *value != "" && !v.has(field) && !isWebURL(*value) {
		v.Add(field, WebURL)
	}
}

func validateOptional(v *Invalid, field string, value *string, limit int) {
	if value != nil {
		validateText(v, field, *value, limit)
	}
}

func validateURL(v *Invalid, field string, value *string) {
	validateOptional(v, field, value, maxURL)
	validateWebURL(v, field, value)
}

// validatePicture accepts the address of a picture that a page would show: pages load pictures over https alone.
func validatePicture(v *Invalid, field string, value *string) {
	validateOptional(v, field, value, maxURL)
	if value != nil && *value != "" && !v.has(field) && !isPictureURL(*value) {
		v.Add(field, PictureURL)
	}
}

func isPictureURL(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Scheme == "https" && isWebURL(value)
}

// validateHTML sanitizes a text that is short enough to be.
func validateHTML(v *Invalid, field string, value *string) {
	validateOptional(v, field, value, maxHTML)
	if value != nil && !v.has(field) {
		*value = sanitizeHTML(*value)
	}
}

func validateOneOf(v *Invalid, field string, value *string, known ...string) {
	if value != nil && *value != "" && !slices.Contains(known, *value) && !v.has(field) {
		v.Add(field, OneOf, strings.Join(known, ", "))
	}
}

// validateOrder adds a fault to the end where it comes before the start.
func validateOrder(v *Invalid, startField string, start time.Time, endField string, end time.Time) {
	if !start.IsZero() && !end.IsZero() && end.Before(start) && !v.has(endField) {
		v.Add(endField, NotBefore, startField)
	}
}

func valueOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func orDefault(value, unset string) string {
	if value == "" {
		return unset
	}
	return value
}
