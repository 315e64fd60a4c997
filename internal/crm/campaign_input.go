package crm

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// CampaignInput is what a row of a file or a form says about a campaign. A nil field was not sent; a pointer to
// nothing ("", 0, false, no time, no object) was sent to clear the field.
type CampaignInput struct {
	Type, Title, Subtitle, Description, Slug *string
	Goal, Raised                             *int64 // in cents
	Donors                                   *int64
	Currency, Logo                           *string
	Cover                                    **Cover
	EndAt, CreatedAt, UpdatedAt              *time.Time
	Event                                    **Event
	Beneficiaries                            *[]string // public ids of accounts
	Seen                                     string    // the version of what the change is about; "" for whatever is there
}

// RowsInvalid is a file that was refused: every fault of every row.
type RowsInvalid struct {
	Rows []RowFaults
}

// RowFaults is what is wrong with one row of a file; the first row is 1.
type RowFaults struct {
	Row    int
	Faults []Fault
}

// Error is one line for each fault, as in "row 3: title: The title field is required."
func (v *RowsInvalid) Error() string {
	var lines []string
	for _, row := range v.Rows {
		for _, fault := range row.Faults {
			where := fmt.Sprintf("row %d: ", row.Row)
			if fault.Field != "" {
				where += fault.Field + ": "
			}
			lines = append(lines, where+fault.String())
		}
	}
	return strings.Join(lines, "\n")
}

// DecodeCampaigns reads a file of campaigns, a JSON array of objects, and checks every row. The error is a
// *Malformed where the file cannot be read, and a *RowsInvalid where rows are wrong.
func DecodeCampaigns(document []byte) ([]CampaignInput, error) {
	document = bytes.TrimPrefix(document, []byte("\ufeff")) // some editors put it in front
	r := newJSONReader("The file", document)
	if r.next() != '[' {
		r.skip()
		if r.err == nil {
			r.err = &Malformed{Message: "The file must be a JSON array of campaigns."}
		}
		return nil, r.err
	}
	r.token()
	r.outside = 1 // a path begins inside its row
	rows, wrong := []CampaignInput{}, &RowsInvalid{}
	slugs := map[string]int{}
	for r.err == nil && r.dec.PeekKind() != ']' {
		in, faults := readCampaignRow(r)
		rows = append(rows, in)
		if first, ok := in.repeats(slugs, len(rows)); ok {
			faults.Add("slug", "is the same as in row %v", first)
		}
		if len(faults.Faults) > 0 {
			wrong.Rows = append(wrong.Rows, RowFaults{Row: len(rows), Faults: faults.Faults})
		}
	}
	r.token()
	switch err := r.end(); {
	case err != nil:
		return nil, err
	case len(wrong.Rows) > 0:
		return nil, wrong
	}
	return rows, nil
}

// readCampaignRow reads and checks one element of the array. A row that names its campaign by slug may be a change
// of an existing one, and needs no title yet.
func readCampaignRow(r *jsonReader) (CampaignInput, *Invalid) {
	var in CampaignInput
	faults := &Invalid{}
	if r.next() != '{' {
		r.skip()
		faults.Add("", "The row must be a JSON object.")
		return in, faults
	}
	r.object(func(key string) { in.read(r, key) })
	*faults, r.fault = r.fault, Invalid{}
	_ = in.Validate(faults, in.Slug == nil || *in.Slug == "")
	return in, faults
}

// repeats tells which earlier row has the same slug, and notes this one.
func (in *CampaignInput) repeats(slugs map[string]int, row int) (first int, ok bool) {
	if in.Slug == nil || *in.Slug == "" {
		return 0, false
	}
	if first, ok = slugs[*in.Slug]; !ok {
		slugs[*in.Slug] = row
	}
	return first, ok
}

// read takes the value of one key. Keys that are unknown or read-only are ignored.
func (in *CampaignInput) read(r *jsonReader, key string) {
	switch key {
	case "type":
		in.Type = r.textSent()
	case "title":
		in.Title = r.textSent()
	case "subtitle":
		in.Subtitle = r.textSent()
	case "description":
		in.Description = r.textSent()
	case "slug":
		in.Slug = r.textSent()
	case "goal":
		in.Goal = readCents(r)
	case "raised":
		in.Raised = readCents(r)
	case "donors":
		in.Donors = readDonors(r)
	case "currency":
		in.Currency = r.textSent()
	case "logo":
		in.Logo = r.textSent()
	case "cover":
		in.Cover = readObject(r, readCover)
	case "end_at":
		in.EndAt = readTime(r)
	case "created_at":
		in.CreatedAt = readTime(r)
	case "updated_at":
		in.UpdatedAt = readTime(r)
	case "event":
		in.Event = readObject(r, readEvent)
	case "beneficiaries":
		in.Beneficiaries = readBeneficiaries(r)
	default:
		r.skip()
	}
}

func readCover(r *jsonReader, c *Cover, key string) {
	switch key {
	case "type":
		c.Type = r.text()
	case "url":
		c.URL = r.text()
	case "source":
		c.Source = r.text()
	default:
		r.skip()
	}
}

func readEvent(r *jsonReader, e *Event, key string) {
	switch key {
	case "title":
		e.Title = r.text()
	case "type":
		e.Type = r.text()
	case "location_name":
		e.LocationName = r.text()
	case "address_formatted":
		e.AddressFormatted = r.text()
	case "google_place_id":
		e.GooglePlaceID = r.text()
	case "start_at":
		e.StartAt = *readTime(r)
	case "end_at":
		e.EndAt = *readTime(r)
	case "timezone":
		e.Timezone = r.text()
	case "details":
		e.Details = r.text()
	case "private":
		e.Private = r.boolean()
	case "tickets_required":
		e.TicketsRequired = r.boolean()
	case "livestream":
		e.Livestream = *readObject(r, readLivestream)
	case "livestream_start_at":
		e.LivestreamStartAt = *readTime(r)
	case "livestream_end_at":
		e.LivestreamEndAt = *readTime(r)
	default:
		r.skip()
	}
}

func readLivestream(r *jsonReader, l *Livestream, key string) {
	switch key {
	case "url":
		l.URL = r.text()
	case "type":
		l.Type = r.text()
	case "location":
		l.Location = r.text()
	case "platform":
		l.Platform = r.text()
	case "embed_url":
		l.EmbedURL = r.text()
	case "scheduled":
		l.Scheduled = r.boolean()
	default:
		r.skip()
	}
}

// readObject reads an object, or null as a pointer to nothing.
func readObject[T any](r *jsonReader, member func(r *jsonReader, value *T, key string)) **T {
	var value *T
	if r.next() == '{' {
		value = new(T)
	}
	if !r.object(func(key string) { member(r, value, key) }) {
		r.wrong(Object)
	}
	return &value
}

func readCents(r *jsonReader) *int64 {
	text, ok := r.number()
	if !ok {
		return new(int64)
	}
	cents, ok := parseDecimal(text, 2, centDigits)
	if !ok {
		r.wrong(CentRange)
	}
	return &cents
}

func readDonors(r *jsonReader) *int64 {
	text, ok := r.number()
	if !ok {
		return new(int64)
	}
	donors, ok := parseDecimal(text, 0, donorDigits)
	if !ok {
		r.wrong(CountRange, maxDonors)
	}
	return &donors
}

// readTime reads a time as campaigns show it. null and "" are the zero time.
func readTime(r *jsonReader) *time.Time {
	text := r.text()
	if text == "" {
		return new(time.Time)
	}
	t, ok := parseCampaignTime(text)
	if !ok || t.Year() < 1000 {
		if !r.fault.has(r.path()) {
			r.wrong(TimeForm)
		}
		return new(time.Time)
	}
	return &t
}

const maxBeneficiaries = 1000

// readBeneficiaries reads a list of account ids; null is the empty list.
func readBeneficiaries(r *jsonReader) *[]string {
	ids := []string{}
	r.list(maxBeneficiaries, func() {
		ids = append(ids, r.text())
	})
	return &ids
}
