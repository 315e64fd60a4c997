package contacts

import (
	"donorbook/internal/console/page"
	"donorbook/internal/store/jobs"
)

func Export(r *page.Request) (err error) {
	sent, of := r.URL.Query(), jobs.Selection{All: true}
	if sent.Get("scope") == page.PickedScope {
		of = jobs.Selection{IDs: pickedIDs(sent["id"])}
	} else {
		query, _ := page.ContactListing.Query(sent)
		of.Scope, of.Filter, err = r.ContactQuery(query)
	}
	return page.Export(r, "contacts", of, err, r.Store.ExportContacts)
}
