package book

import (
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/donate"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store/jobs"
)

// A transfer or a check that was promised on a page is the gift of who promised it, whatever the bank calls the payer.
func TestAPromisedGiftIsKnownByItsReference(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		shop := newGiftShop(t, s)
		number := shop.account.Number
		set := donate.Settings{Bank: donate.Bank{Name: "Clean Water", IBAN: "DE89 3704 0044 0532 0130 00"}, Check: "Clean Water\nBox 1"}
		if err := s.SaveDonationSettings(t.Context(), number, set); err != nil {
			t.Fatal(err)
		}
		promise := func(n int, way donate.Way) donate.Donation {
			t.Helper()
			w := wish(n)
			w.Way = way
			d, session := shop.give(w)
			if d.State != donate.Processing || session != "" || d.Provider != "" {
				t.Fatalf("a promise begins as %+v", d)
			}
			return d
		}
		first, second, check := promise(1, donate.ByTransfer), promise(2, donate.ByTransfer), promise(3, donate.ByCheck)
		today := time.Now().UTC().Format(time.DateOnly)
		if _, err := s.Received(t.Context(), number, second.ID, "2026-11-02", nil); len(faultsOf(err)) != 1 {
			t.Errorf("it arrived before it was promised: %v", err)
		}
		received, err := s.Received(t.Context(), number, second.ID, today, nil)
		if err != nil || received.State != donate.Paid || received.Gift == "" {
			t.Fatalf("what has arrived is %+v, %v", received, err)
		}
		if _, err := s.Received(t.Context(), number, second.ID, "", nil); faultsOf(err) == nil {
			t.Errorf("it arrived twice: %v", err)
		}
		statement := "Date,Amount,Name,Details\n" +
			today + ",50.00,LEE A,SEPA credit " + strings.ToLower(donate.Groups(first.Reference())) + " thank you\n" +
			today + ",50.00,A B LEE2,ref " + second.Reference() + "\n" +
			today + ",20.00,Someone Else,RF18000000 no reference of ours\n"
		rows := openTable(t, statement)
		spec := giftImportOf(rows)
		im, _, err := s.ImportFile(t.Context(), number, rows, spec, 0, false, func(jobs.ImportProgress) {})
		if err != nil {
			t.Fatal(err)
		}
		if at := im.Progress; at.Created != 2 || at.Unchanged != 1 {
			t.Errorf("the statement has brought %+v", at)
		}
		d := shop.look(first.ID)
		g, err := s.GiftRecord(t.Context(), number, d.Gift)
		if err != nil || d.State != donate.Paid || g.Giver.Email != "ann1@example.org" || g.Campaign != shop.campaign.ID || g.Giver.LastName != "Lee1" {
			t.Errorf("a transfer is %+v of %+v, %v", g.Gift, d, err)
		}
		if n := len(shop.allGifts()); n != 3 || shop.look(check.ID).State != donate.Processing {
			t.Errorf("there are %d gifts, and the check is %+v", n, shop.look(check.ID))
		}
		finishUndo(t, s, number, im.Job.ID)
		if d := shop.look(first.ID); d.State != donate.Processing || d.Gift != "" {
			t.Errorf("after the import was undone, the promise is %+v", d)
		}
		open, _, err := s.Donations(t.Context(), number, donate.Filter{State: donate.Processing}, crm.PageRequest{Page: 1, PerPage: 10})
		if err != nil || len(open) != 2 {
			t.Errorf("%d promises are open: %v", len(open), err)
		}
		succeeded := 0
		for _, g := range shop.allGifts() {
			if g.Status == giving.Succeeded {
				succeeded++
			}
		}
		if succeeded != 1 {
			t.Errorf("%d gifts are left", succeeded)
		}
	})
}
