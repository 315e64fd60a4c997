package giving

import (
	"donorbook/internal/console/page"
	"donorbook/internal/crm/giving"
)

func ExportGifts(r *page.Request) error {
	query, err := GiftListing.Whole(r.URL.Query())
	var filter giving.GiftFilter
	if err == nil {
		filter, err = giving.ParseGiftSearch(query.Get, r.Currency())
	}
	return page.Export(r, "gifts", filter, err, r.Store.ExportGifts)
}

func ExportPlans(r *page.Request) error {
	query, err := PlanListing.Whole(r.URL.Query())
	var filter giving.PlanFilter
	if err == nil {
		filter, err = giving.ParsePlanFilter(query.Get)
	}
	return page.Export(r, "plans", filter, err, r.Store.ExportPlans)
}

func ExportDonors(r *page.Request) (err error) {
	if r.Form.Fields, err = DonorListing.Whole(r.URL.Query()); err != nil {
		return page.Export(r, "donors", giving.DonorFilter{}, err, r.Store.ExportDonors)
	}
	filter := donorFilter(r)
	if len(r.Form.Faults) > 0 {
		err = page.ErrRefused
	}
	return page.Export(r, "donors", filter, err, r.Store.ExportDonors)
}
