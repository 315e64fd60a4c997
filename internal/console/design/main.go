// Command design serves one page with every part that pages are made of, for the browser tests and for people who build pages:
// go run ./internal/console/design. It is not part of the program. docs/design.md says when to use which part.
package main

import (
	"embed"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"time"

	"donorbook/internal/console/page"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/web"
)

//go:embed design.html
var templates embed.FS

//go:embed design.css
var style []byte

func main() {
	found, err := page.FindTemplates("US", templates)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mux, site := web.NewMux(), page.NewSite(nil, page.Options{}, found)
	mux.Handle("GET "+page.Root+"/static/{file}", site.ServeFile)
	mux.Handle("GET "+page.Root+"/design.css", web.NewFile("text/css; charset=utf-8", style).Serve)
	mux.Handle("GET "+page.Root+"/design", func(w http.ResponseWriter, _ *http.Request) error {
		page.Guard(w.Header())
		return site.Show(w, "design", "layout", page.View{Title: "Design", User: access.User{ID: 1, Name: "Dana Harper"}, Data: samples()})
	})
	plumbing := web.Plumbing{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	server := httptest.NewTLSServer(plumbing.Wrap(mux.Serve))
	fmt.Println(server.URL + page.Root + "/design")
	select {}
}

// samples are what the parts show: a form that was refused, icons, and gifts that no one gave.
func samples() map[string]any {
	form := page.SentForm("", url.Values{"mail": {"ada@example"}, "name": {"Ada Lund"}})
	form.Faults = []doc.Fault{{Field: "mail", Rule: "must be an email address"}}
	at := time.Date(2026, time.March, 9, 16, 5, 0, 0, time.UTC)
	gift := func(name, title, method string, amount int64, marks ...page.Mark) *page.GiftRow {
		given := giving.Gift{Giver: giving.Giver{FirstName: name}, Local: at, Method: method, Currency: "USD", Status: giving.Pending, Entries: []giving.Entry{{Amount: amount}}}
		return &page.GiftRow{GiftRecord: store.GiftRecord{Gift: given}, Title: title, Marks: marks}
	}
	list := page.Table{Kind: "gifts", ID: "sample-gifts", Caption: "Sample gifts", Columns: page.GiftColumns, Rows: []*page.GiftRow{
		gift("Ada Lund", "Winter Coat Drive", "card", 125_000), gift("Ravi Müller", "", "check", 75_50, page.Mark{Label: "Recurring", Color: "good"}),
		gift("Łucja Őry", "Lighthouse Gala", "cash", 20_00, page.Mark{Label: "Failed", Color: "bad"}),
	}}
	return map[string]any{"Icons": page.Icons, "Sample": form, "At": at, "Gifts": list}
}
