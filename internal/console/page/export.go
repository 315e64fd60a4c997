package page

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"donorbook/internal/crm/campaign"
	"donorbook/internal/store"
	"donorbook/internal/store/move"
	"donorbook/internal/web"
)

// ExportForm asks for the format of a file with everything that a list shows, on all its pages.
type ExportForm struct {
	Action string
	Kept   []hidden // what the list is filtered by
}

// placeParameters say where in a list a page is, and not what is in the list.
var placeParameters = []string{PageParameter, "after", "before", "format", "sort"}

// ExportOf is the form for the list with a query.
func ExportOf(query url.Values, path string) *ExportForm {
	f := &ExportForm{Action: path + "/export"}
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

// PickedScope stands for the contacts that were picked in the list, so that no others are ever taken for them.
const PickedScope = "picked"

// Export sends the file of a list with a filter. Where that could not be read, the list says what is wrong.
func Export[F any](r *Request, list string, filter F, wrong error, prepare func(context.Context, int64, F, move.ExportOptions) (*move.Export, error)) error {
	if wrong != nil {
		return r.Redirect(WithQuery(r.Path("/"+list), r.URL.Query()), Notice{Text: "That list can’t be exported. There is no file."})
	}
	if err := r.HoldDownload(); err != nil {
		return err
	}
	how := exportOptions(r.URL.Query())
	file, err := prepare(r.Context(), r.Account(), filter, how)
	return r.download(list, how.Format, file, err)
}

var DownloadKinds = map[string]string{
	"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "json": "application/json",
	"pdf":  "application/pdf",
	"xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

// Download sends a file that was prepared.
func (r *Request) Download(what string, file *move.Export, err error) error {
	format := ""
	if file != nil {
		format = file.How.Format
	}
	return r.download(what, format, file, err)
}

// download sends a file while it is written. Where that fails on the way, the connection is closed, so that no browser takes a part for the
// whole. err is that of opening it.
func (r *Request) download(what, format string, file *move.Export, err error) error {
	if err != nil {
		return err
	}
	BeginDownload(r.W, r.DownloadName(what, format, r.Today()), format)
	return file.Write(r.Context(), r.W, func(_, _ int64) {})
}

// downloadMemory is what a file takes that is being sent: a piece of it, in the text of a table longer than it is stored, and what packs a workbook.
const downloadMemory = 4 * store.PieceSize

// HoldDownload reserves the memory of a file. That comes before the file is prepared: where it is refused, nothing was
// read for it, and no history says that data has left.
func (r *Request) HoldDownload() error { return web.Hold(r.W, downloadMemory) }

func BeginDownload(w http.ResponseWriter, name, format string) {
	h := w.Header()
	h.Set("Content-Type", DownloadKinds[format])
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// DownloadName tells files apart in a folder: river-aid-contacts-2026-11-16.csv.
func (r *Request) DownloadName(what, format string, now time.Time) string {
	return strings.Join([]string{campaign.Slug(r.Membership.Account.Name), what, now.Format(time.DateOnly)}, "-") + "." + format
}
