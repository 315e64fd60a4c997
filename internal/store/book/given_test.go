package book

import (
	"context"
	"slices"
	"testing"

	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
)

// GivenBy is what all contacts gave whom a filter finds, as a file of donors has it, and the currency of most of it.
func (b *Book) GivenBy(ctx context.Context, account int64, f giving.DonorFilter) (
	map[int64]giving.Given, string, error,
) {
	found, currency, err := b.FindDonors(ctx, account, f)
	if err != nil {
		return nil, "", err
	}
	given, err := b.GivenOf(ctx, account, currency, f, store.IDsOf(account, found.Page(0, found.Count())))
	return given, currency, err
}

// A file of gifts asks for the campaign of each of them. One that many gifts have is read once: it may be long.
func TestACampaignThatIsAskedForOftenIsReadOnce(t *testing.T) {
	s := openTest(t)
	f := newFamily(t, s)
	made := createCampaign(t, s, f.root, `{"title":"Gala"}`)
	spy := spyOn(t, s)
	names := must(s.CampaignNames(t.Context(), f.root.Number, slices.Repeat([]int64{made.ID, 0}, 100)))(t)
	expect(t, "its title", "Gala", names[made.ID].Title)
	equal(t, spy.rows.Load(), 1, "rows were read")
}
