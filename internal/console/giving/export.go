package giving

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/giving"
)

func ExportGifts(r *page.Request) error {
	filter, err := giving.ParseGiftSearch(r.URL.Query().Get, r.Currency())
	return page.Export(r, "gifts", filter, err, r.Store.ExportGifts)
}

func ExportPlans(r *page.Request) error {
	filter, err := giving.ParsePlanFilter(r.URL.Query().Get)
	return page.Export(r, "plans", filter, err, r.Store.ExportPlans)
}

func ExportDonors(r *page.Request) (err error) {
	r.Form.Fields = r.URL.Query()
	filter := donorFilter(r)
	if len(r.Form.Faults) > 0 {
		err = page.ErrRefused
	}
	return page.Export(r, "donors", filter, err, r.Store.ExportDonors)
}
