package find

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/text"
)

// Segment is a filter of contacts that was saved under a name: the query of a link to the list.
type Segment struct {
	ID        int64
	Name      string
	Query     string
	Actor     string // who has saved it
	CreatedAt time.Time
}

// maxQuery bounds the query of a segment, in bytes: every browser takes a link of that length.
const maxQuery = 4000

// NewSegment checks a segment that a person saves. What does not filter or sort a list is left out of its query.
func NewSegment(name, query, region string) (Segment, error) {
	v := &doc.Invalid{}
	name = segmentName(v, name)
	values, err := url.ParseQuery(query)
	for parameter := range values {
		if _, known := Parameter(parameter); !known && parameter != "scope" {
			values.Del(parameter)
		}
	}
	switch {
	case err != nil:
		v.Add("query", "must be the query part of a link")
	case len(values) == 0:
		v.Add("query", "must have a filter")
	case len(query) > maxQuery:
		v.Add("query", doc.TooLong, maxQuery)
	default:
		_, _, err = ParseQuery(values.Encode(), region)
	}
	if v.Err() != nil {
		err = v
	}
	return Segment{Name: name, Query: values.Encode()}, err
}

// SegmentName checks the name of a segment.
func SegmentName(name string) (string, error) {
	v := &doc.Invalid{}
	name = segmentName(v, name)
	return name, v.Err()
}

const maxSegmentName = 100

func segmentName(v *doc.Invalid, name string) string {
	if name = strings.TrimSpace(name); name == "" {
		v.Add("name", doc.Required)
	}
	v.CheckText(doc.Place{}, "name", name, maxSegmentName)
	return name
}

// IsCalled tells whether a segment has a name, without regard to letter case.
func (s Segment) IsCalled(name string) bool { return text.FoldCase(s.Name) == text.FoldCase(name) }

// Change is what the history tells of a segment that has become another one; the zero value is none.
func (s Segment) Change(becomes Segment) (all doc.Differences) {
	for _, field := range [][3]string{{"name", s.Name, becomes.Name}, {"query", s.Query, becomes.Query}} {
		if field[1] != field[2] {
			all = append(all, doc.Difference{Field: field[0], Before: doc.AppendText(nil, field[1]),
				After: doc.AppendText(nil, field[2]), At: -1})
		}
	}
	return all
}

// RenumberedQuery is the query of a segment whose campaigns have other ids from now on.
func RenumberedQuery(query string, campaigns map[int64]int64) string {
	values, err := url.ParseQuery(query)
	id, _ := strconv.ParseInt(values.Get("campaign_id"), 10, 64)
	if is := campaigns[id]; err == nil && is != 0 && is != id {
		values.Set("campaign_id", strconv.FormatInt(is, 10))
		return values.Encode()
	}
	return query
}

// SegmentLimit counts the segments of an account.
var SegmentLimit = doc.Limit{Max: 200,
	Reached: "This organization has 200 segments, the most it can have. Delete one that is no longer used, then save the new one."}

// DonorQuery is the query of the list of contacts that shows the donors of a filter. Those who have returned have none:
// a filter names one time in which contacts gave. No gift counts before its day, so that a time that goes on beyond
// this year needs no end.
func DonorQuery(f giving.DonorFilter, this int64) url.Values {
	q := url.Values{"scope": {string(crm.All)}}
	during := func(after, before string, from, to time.Time) {
		if from.Year() > 1 {
			q.Set(after, from.Format(time.DateOnly))
		}
		if int64(to.Year()) <= this {
			q.Set(before, to.Format(time.DateOnly))
		}
	}
	from, to := f.Gave()
	during("gave_after", "gave_before", from, to)
	if from, to, _ = f.Also(); from != to {
		during("no_gift_after", "no_gift_before", from, to)
	}
	return q
}
