package console

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
	"donorbook/internal/store/move"
	"donorbook/internal/web"
)

// exportForm asks for the format of a file with everything that a list shows, on all its pages.
type exportForm struct {
	Action string
	Kept   []hidden // what the list is filtered by
}

// placeParameters say where in a list a page is, and not what is in the list.
var placeParameters = []string{pageParameter, "after", "before", "format", "sort"}

// exportOf is the form for the list with a query.
func exportOf(query url.Values, path string) *exportForm {
	f := &exportForm{Action: path + "/export"}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if value != "" && !slices.Contains(placeParameters, name) {
				f.Kept = append(f.Kept, hidden{name, value})
			}
		}
	}
	return f
}

// exportOptions are what the form says. A format that no form of ours offers is CSV.
func exportOptions(query url.Values) move.ExportOptions {
	how := move.ExportOptions{Format: query.Get("format")}
	if !slices.Contains(move.ExportFormats, how.Format) {
		how.Format = "csv"
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(placeParameters, name) && query.Get(name) != "" {
			how.Filters = append(how.Filters, name)
		}
	}
	return how
}

// pickedScope stands for the contacts that were picked in the list, so that no others are ever taken for them.
const pickedScope = "picked"

func (r *request) exportContacts() (err error) {
	sent, of := r.URL.Query(), jobs.Selection{All: true}
	if sent.Get("scope") == pickedScope {
		of = jobs.Selection{IDs: pickedIDs(sent["id"])}
	} else {
		query, _ := contactListing.query(sent)
		of.Scope, of.Filter, err = r.contactQuery(query)
	}
	return export(r, "contacts", of, err, r.store.ExportContacts)
}

func (r *request) exportGifts() error {
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(r.URL.Query().Get, currency)
	return export(r, "gifts", filter, err, r.store.ExportGifts)
}

func (r *request) exportPlans() error {
	filter, err := giving.ParsePlanFilter(r.URL.Query().Get)
	return export(r, "plans", filter, err, r.store.ExportPlans)
}

func (r *request) exportDonors() (err error) {
	r.form.values = r.URL.Query()
	filter := r.donorFilter()
	if len(r.form.Faults) > 0 {
		err = errRefused
	}
	return export(r, "donors", filter, err, r.store.ExportDonors)
}

func (r *request) exportCampaigns() error {
	scope, err := campaign.ParseScope(r.URL.Query().Get("scope"))
	return export(r, "campaigns", scope, err, func(ctx context.Context, account int64, scope campaign.Scope, how move.ExportOptions) (*move.Export, error) {
		return r.store.ExportCampaigns(ctx, account, scope, r.options.Proxies.BaseURL(r.Request), how)
	})
}

// export sends the file of a list with a filter. Where that could not be read, the list says what is wrong.
func export[F any](r *request, list string, filter F, wrong error, prepare func(context.Context, int64, F, move.ExportOptions) (*move.Export, error)) error {
	if wrong != nil {
		return r.redirect(r.path("/" + list + "?" + r.URL.RawQuery))
	}
	how := exportOptions(r.URL.Query())
	file, err := prepare(r.Context(), r.account(), filter, how)
	return r.download(list, how.Format, file, err)
}

var downloadKinds = map[string]string{
	"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "json": "application/json",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// download sends a file while it is written. Where that fails on the way, the connection is closed, so that no browser takes a part for the
// whole. err is that of opening it.
func (r *request) download(what, format string, file *move.Export, err error) error {
	if err == nil {
		err = beginDownload(r.w, r.downloadName(what, format, r.today()), format)
	}
	if err != nil {
		return err
	}
	return file.Write(r.Context(), r.w, func(_, _ int64) {})
}

// downloadMemory is what a file takes that is being sent: a piece of it, in the text of a table longer than it is stored, and what packs a workbook.
const downloadMemory = 4 * store.PieceSize

func beginDownload(w http.ResponseWriter, name, format string) error {
	if err := web.Hold(w, downloadMemory); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", downloadKinds[format])
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return nil
}

// downloadName tells files apart in a folder: river-aid-contacts-2026-11-16.csv.
func (r *request) downloadName(what, format string, now time.Time) string {
	return strings.Join([]string{campaign.Slug(r.membership.Account.Name), what, now.Format(time.DateOnly)}, "-") + "." + format
}
