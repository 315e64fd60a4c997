package book

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/giving"
	"donorbook/internal/store"
	"donorbook/internal/store/jobs"
)

const typedTwice = "Typed twice"

// listedBy are the gifts that lists show with a filter, in each order, for people and for programs.
func listedBy(t *testing.T, s *Book, account int64, f giving.GiftFilter) (codes []string) {
	t.Helper()
	page := crm.PageRequest{Page: 1, PerPage: 100}
	records, totals, err := s.GiftPage(t.Context(), account, f, page)
	for i := range records {
		codes = append(codes, records[i].Code)
	}
	slices.Sort(codes)
	succeed(t, err)
	equal(t, totals.Total, int64(len(codes)), "%d gifts", len(codes))
	for _, f.Sort = range []giving.Sort{{}, {By: giving.ByID, Descending: true}, {By: giving.ByTime},
		{By: giving.ByAmount}} {
		list, found, err := s.Gifts(t.Context(), account, campaign.OwnCampaigns, f, page, nil, nil)
		var wire []struct{ ID string }
		succeed(t, errors.Join(err, json.Unmarshal([]byte("["+string(list)+"]"), &wire)))
		equal(t, found.Total, totals.Total)
		same := store.Collect(wire, func(g struct{ ID string }) string { return g.ID })
		if slices.Sort(same); !slices.Equal(same, codes) {
			t.Errorf("programs see %v in the order %+v, and people %v", same, f.Sort, codes)
		}
	}
	return codes
}

// TestAVoidedGiftThatComesAgainStaysVoided: a file has it again, and so has a program.
func TestAVoidedGiftThatComesAgainStaysVoided(t *testing.T) {
	s := newOrg(t, newBook(t))
	file := "Gift ID,Name,Email,Date,Amount\nG1,Ana Ruiz,ana@example.org,2026-01-05,60\n" +
		"G2,Ana Ruiz,ana@example.org,2026-01-06,70\n"
	imported(t, s.Book, s.Number, file, false)
	gift := ledgerOf(t, s.Book, s.Number)[1]
	expect(t, "the second gift in the ledger is", "G1", gift.ExternalID)
	must(s.VoidGift(t.Context(), s.Number, gift.Code, typedTwice, ""))(t)
	for _, again := range []string{file, "\n" + strings.ReplaceAll(file, "G2", "G3"),
		exportedGifts(t, s.Book, s.Number, "csv")} {
		rows, said := openTable(t, again), ""
		at := must(s.TryFile(t.Context(), s.Number, rows, giftImportOf(rows),
			func(row jobs.TrialRow) error { said += row.Reason; return nil }, func(jobs.ImportCounts) {}))(t)
		has := strings.Contains(again, "G1")
		expect(t, "a preview tells of it, and skips it", fmt.Sprint(has, has), strings.Contains(said, typedTwice),
			at.Skipped == 1)
		imported(t, s.Book, s.Number, again, false)
	}
	made := must(s.CreateGift(t.Context(), s.Number, giftInput(t, fmt.Sprintf(`{"amount":60,"method":%q,
		"transacted_at":"2026-01-05","external_id":"G1","email":"ana@example.org"}`, gift.Method), true, s.Now())))(t)
	expect(t, "a program records", "true voided", made.Existing, made.Status)
	expect(t, "there are", "2", len(ledgerOf(t, s.Book, s.Number)))
	checked(t, s.Book)
}

func TestAVoidedGiftIsInTheFilesOfItsAccount(t *testing.T) {
	s := newOrg(t, newBook(t))
	must(s.VoidGift(t.Context(), s.Number, s.given(ofAda).Code, typedTwice, ""))(t)
	copied := importAccount(t, s.Book, exportAccount(t, s.Book, s.Account), "").Account.Number
	expect(t, "the copy has", "1 0", len(listedBy(t, s.Book, copied, giving.GiftFilter{Status: giving.Voided})),
		len(ledgerOf(t, s.Book, copied)))
}
