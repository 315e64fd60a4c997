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
	Kept   []keptValue // what the list is filtered by
}

type keptValue struct{ Name, Value string }

// placeParameters say where in a list a page is, and not what is in the list.
var placeParameters = []string{pageParameter, "after", "before", "format"}

// exportOf is the form for the list with a query.
func exportOf(query url.Values, path string) *exportForm {
	f := &exportForm{Action: path + "/export"}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if value != "" && !slices.Contains(placeParameters, name) {
				f.Kept = append(f.Kept, keptValue{name, value})
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

func (c *Console) exportContacts(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	sent := r.URL.Query()
	query, _ := listQuery(sent)
	of := jobs.Selection{All: true}
	if sent.Get("scope") == pickedScope {
		of = jobs.Selection{IDs: pickedIDs(sent["id"])}
	} else {
		var err error
		if of.Scope, of.Filter, err = c.contactQuery(v, query); err != nil {
			return redirect(w, r, withQuery(v.path("/contacts"), query)) // the list says what is wrong
		}
	}
	how := exportOptions(sent)
	file, err := c.store.ExportContacts(r.Context(), v.account(), of, how)
	if err != nil {
		return err
	}
	return c.download(w, r, v, "contacts", how.Format, file)
}

func (c *Console) exportGifts(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	query := r.URL.Query()
	currency, err := c.store.Currency(r.Context(), v.account())
	if err != nil {
		return err
	}
	filter, err := giving.ParseGiftSearch(query.Get, currency)
	if err != nil {
		return redirect(w, r, v.path("/gifts?"+r.URL.RawQuery)) // the list says what is wrong
	}
	how := exportOptions(query)
	file, err := c.store.ExportGifts(r.Context(), v.account(), filter, how)
	if err != nil {
		return err
	}
	return c.download(w, r, v, "gifts", how.Format, file)
}

func (c *Console) exportCampaigns(w http.ResponseWriter, r *http.Request, v visit, _ *form) error {
	query := r.URL.Query()
	scope, err := campaign.ParseScope(query.Get("scope"))
	if err != nil {
		return redirect(w, r, v.path("/campaigns"))
	}
	how := exportOptions(query)
	file, err := c.store.ExportCampaigns(r.Context(), v.account(), scope, c.options.Proxies.BaseURL(r), how)
	if err != nil {
		return err
	}
	return c.download(w, r, v, "campaigns", how.Format, file)
}

var downloadKinds = map[string]string{
	"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "json": "application/json",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// download sends a file while it is written. Where that fails on the way, the connection is closed, so that no browser takes a part for the
// whole.
func (c *Console) download(w http.ResponseWriter, r *http.Request, v visit, what, format string, file *move.Export) error {
	if err := beginDownload(w, downloadName(v, what, format, c.today(v)), format); err != nil {
		return err
	}
	return file.Write(r.Context(), w, func(_, _ int64) {})
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
func downloadName(v visit, what, format string, now time.Time) string {
	return strings.Join([]string{campaign.Slug(v.membership.Account.Name), what, now.Format(time.DateOnly)}, "-") + "." + format
}
