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
	"donorbook/internal/crm/history"
	"donorbook/internal/store"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

const typedTwice = "Typed twice"

func voidGift(t *testing.T, s *Book, account int64, code string) gifts.GiftDocument {
	t.Helper()
	made := must(s.VoidGift(store.By(t.Context(), history.ConsoleChannel, "Dana Harper"), account, code, typedTwice,
		""))(t)
	return made
}

func undoVoid(t *testing.T, s *Book, account int64, code string) {
	t.Helper()
	must(s.UndoVoid(t.Context(), account, code, ""))(t)
}

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
	s := newBook(t)
	account := newAccount(t, s)
	file := "Gift ID,Name,Email,Date,Amount\nG1,Ana Ruiz,ana@example.org,2026-01-05,60\nG2,Ana Ruiz,ana@example.org,2026-01-06,70\n"
	if at, rejected := imported(t, s, account.Number, file, false); at.Created != 2 || len(rejected) > 0 {
		t.Fatal(at, rejected)
	}
	gift := giving.Gift{}
	for _, g := range ledgerOf(t, s, account.Number) {
		if g.ExternalID == "G1" {
			gift = g
		}
	}
	voidGift(t, s, account.Number, gift.Code)
	for _, again := range []string{file, "\n" + strings.ReplaceAll(file, "G2", "G3"),
		exportedGifts(t, s, account.Number, "csv")} {
		rows := openTable(t, again)
		said := ""
		spec := giftImportOf(rows)
		spec.SHA256 = again
		at, err := s.TryFile(t.Context(), account.Number, rows, spec,
			func(row jobs.TrialRow) error { said += row.Reason; return nil }, func(jobs.ImportCounts) {})
		if has := strings.Contains(again, "G1"); err != nil || has != strings.Contains(said, typedTwice) ||
			has != (at.Skipped == 1) {
			t.Errorf("%v: a preview says %q of %+v", err, said, at.ImportCounts)
		}
		imported(t, s, account.Number, again, false)
	}
	in := giftInput(t, fmt.Sprintf(`{"amount":60,"method":%q,"transacted_at":"2026-01-05","external_id":"G1","status":"succeeded","email":"ana@example.org"}`, gift.Method), true, s.Now())
	made := must(s.CreateGift(t.Context(), account.Number, in))(t)
	expect(t, "a program records", "true voided", made.Existing, made.Status)
	expect(t, "there are", "2", len(ledgerOf(t, s, account.Number)))
	checked(t, s)
}

// TestAVoidedGiftMovesAndIsErased: a merge moves it, an account's files have it, and an erasure forgets what was said
// about it.
func TestAVoidedGiftMovesAndIsErased(t *testing.T) {
	s := newBook(t)
	account := newAccount(t, s)
	gift := giveNow(t, s, account.Number, ofAda)
	voidGift(t, s, account.Number, gift.Code)
	copied := importAccount(t, s, exportAccount(t, s, account), "").Account
	expect(t, "the copy has", "1 0", len(listedBy(t, s, copied.Number, giving.GiftFilter{Status: giving.Voided})),
		len(ledgerOf(t, s, copied.Number)))
	other := create(t, s, account.Number, `{"first_name":"Augusta","last_name":"King"}`).ID
	merged := mergeOf(t, s, account.Number, other, gift.Contact)
	g := must(s.GiftRecord(t.Context(), account.Number, gift.Code))(t)
	expect(t, "after a merge it is", "true voided", g.Contact == other, g.Status)
	must(s.UndoMerge(t.Context(), account.Number, merged, "US"))(t)
	data := must(s.ContactData(t.Context(), account.Number, gift.Contact))(t)
	expect(t, "is known about the person", "1", len(data.Found["transactions"]))
	erase(t, s, t.Context(), account.Number, gift.Contact)
	if g, err := s.GiftRecord(t.Context(), account.Number, gift.Code); err != nil || g.Void == nil ||
		g.Void.Reason != "" {
		t.Errorf("%v: after the erasure it is %+v", err, g.Void)
	}
	undoVoid(t, s, account.Number, gift.Code)
	wantSound(t, s)
}
