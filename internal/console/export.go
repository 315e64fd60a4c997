package console

import (
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

func (r *request) exportContacts() error {
	sent := r.URL.Query()
	query, _ := contactListing.query(sent)
	of := jobs.Selection{All: true}
	if sent.Get("scope") == pickedScope {
		of = jobs.Selection{IDs: pickedIDs(sent["id"])}
	} else {
		var err error
		if of.Scope, of.Filter, err = r.contactQuery(query); err != nil {
			return r.redirect(withQuery(r.path("/contacts"), query)) // the list says what is wrong
		}
	}
	how := exportOptions(sent)
	file, err := r.store.ExportContacts(r.Context(), r.account(), of, how)
	return r.download("contacts", how.Format, file, err)
}

func (r *request) exportGifts() error {
	query := r.URL.Query()
	currency, err := r.store.Currency(r.Context(), r.account())
	if err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(query.Get, currency)
	if err != nil {
		return r.redirect(r.path("/gifts?" + r.URL.RawQuery)) // the list says what is wrong
	}
	how := exportOptions(query)
	file, err := r.store.ExportGifts(r.Context(), r.account(), filter, how)
	return r.download("gifts", how.Format, file, err)
}

func (r *request) exportPlans() error {
	query := r.URL.Query()
	filter, err := giving.ParsePlanFilter(query.Get)
	if err != nil {
		return r.redirect(r.path("/plans?" + r.URL.RawQuery)) // the list says what is wrong
	}
	how := exportOptions(query)
	file, err := r.store.ExportPlans(r.Context(), r.account(), filter, how)
	return r.download("plans", how.Format, file, err)
}

func (r *request) exportDonors() error {
	r.form.values = r.URL.Query()
	filter := r.donorFilter()
	if len(r.form.Faults) > 0 {
		return r.redirect(r.path("/donors?" + r.URL.RawQuery)) // the list says what is wrong
	}
	how := exportOptions(r.form.values)
	file, err := r.store.ExportDonors(r.Context(), r.account(), filter, how)
	return r.download("donors", how.Format, file, err)
}

func (r *request) exportCampaigns() error {
	query := r.URL.Query()
	scope, err := campaign.ParseScope(query.Get("scope"))
	if err != nil {
		return r.redirect(r.path("/campaigns"))
	}
	how := exportOptions(query)
	file, err := r.store.ExportCampaigns(r.Context(), r.account(), scope, r.options.Proxies.BaseURL(r.Request), how)
	return r.download("campaigns", how.Format, file, err)
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

func beginDownload(w http.ResponseWriter, name, format string) error {
	if err := web.Hold(w, 2*store.PieceSize); err != nil {
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
