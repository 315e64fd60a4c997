package page

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"donorbook/internal/crm/giving"
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

func CampaignPath(id int64) string { return "/campaigns/" + strconv.FormatInt(id, 10) }

func ContactPath(id int64) string { return "/contacts/" + strconv.FormatInt(id, 10) }

func ImportPath(id int64) string { return "/imports/" + strconv.FormatInt(id, 10) }

func FieldPath(id int64) string { return "/settings/fields/" + strconv.FormatInt(id, 10) }

// DonorsAddress is the list of donors that a filter finds, at a place of it.
func (r *Request) DonorsAddress(f giving.DonorFilter, at store.DonorPlace) string {
	return WithQuery(r.Path("/donors"), DonorQuery(f, at))
}

// DonorQuery is a filter of donors, at a place of what it finds.
func DonorQuery(f giving.DonorFilter, at store.DonorPlace) url.Values {
	q := url.Values{}
	add := func(name string, value int64) {
		if value != 0 {
			q.Set(name, strconv.FormatInt(value, 10))
		}
	}
	add("campaign", f.Campaign)
	add("year", f.Year)
	add("after", at.After)
	add("before", at.Before)
	if f.Kind != giving.AllDonors {
		add(string(f.Kind), 1)
	}
	return q
}

// GiftsAddress is the list of gifts with filters.
func (r *Request) GiftsAddress(filters url.Values) string {
	return WithQuery(r.Path("/gifts"), filters)
}

// GiftsOfYear filters gifts by their year, 0 for all.
func GiftsOfYear(year int64) url.Values {
	if year == 0 {
		return url.Values{}
	}
	return GiftsBetween(time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC), time.Date(int(year), 12, 31, 0, 0, 0, 0, time.UTC))
}

// GiftsBetween filters gifts by their first and their last day.
func GiftsBetween(first, last time.Time) url.Values {
	return url.Values{"from": {first.Format(time.DateOnly)}, "to": {last.Format(time.DateOnly)}}
}

// With adds a filter to others; "" and 0 are none.
func With[V string | int64](filters url.Values, name string, value V) url.Values {
	if value != *new(V) {
		filters.Set(name, fmt.Sprint(value))
	}
	return filters
}

func GiftPath(code string) string { return "/gifts/" + code }

func JobPath(id int64) string { return "/jobs/" + strconv.FormatInt(id, 10) }

// JobAddress is the page of a job. An import has one of its own.
func JobAddress(kind jobs.JobKind, id int64) string {
	if kind == jobs.ImportJob {
		return ImportPath(id)
	}
	return JobPath(id)
}

// JobWords are what people call jobs. The last one is no longer begun: up to release 0.10, gifts moved to another time
// zone.
var JobWords = map[jobs.JobKind]string{
	jobs.ImportJob: "import", jobs.BulkJob: "bulk change", jobs.UndoingJob: "undo", jobs.EraseJob: "erasure",
	jobs.SureJob: "merge of duplicates", jobs.MoveJob: "move of gifts after a merge", "timezone": "time zone change",
}

// jobKind is the kind of job that a change has begun.
func jobKind(a *history.Activity) jobs.JobKind {
	var begun struct{ Kind jobs.JobKind }
	_ = json.Unmarshal([]byte(a.Data), &begun) // what cannot be read says less
	return begun.Kind
}

// UndoAddress is the form that undoes a job and leads back to a page of the organization.
func (r *Request) UndoAddress(job int64, back string) string {
	back = strings.TrimPrefix(back, r.Path(""))
	if !MayReturn(back) {
		back = "/contacts"
	}
	return WithQuery(r.Path(JobPath(job)+"/undo"), url.Values{"to": {back}})
}

const backLimit = 800 // bytes of an address to go back to

// MayReturn tells whether an address below the organization's is that of a list.
func MayReturn(back string) bool {
	path, _, _ := strings.Cut(back, "?")
	return len(back) <= backLimit && (path == "/contacts" || path == "/tags")
}

func PlanPath(code string) string { return "/plans/" + code }
