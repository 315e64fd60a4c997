package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/table"
)

var someCode = regexp.MustCompile(`gift \w{16}`)

func openGifts(t *testing.T, file string) *crm.GiftFile {
	t.Helper()
	rows, err := table.Open(strings.NewReader(file), int64(len(file)), "gifts.csv")
	if err != nil {
		t.Fatal(err)
	}
	gifts, err := crm.OpenGiftFile(rows, false, nil, "US")
	if err != nil {
		t.Fatal(err)
	}
	return gifts
}

// imported imports a CSV file, and returns its report with the rejected rows: their lines and reasons.
func imported(t *testing.T, s *Store, account int64, file string, trial bool) (GiftImportResult, []string) {
	t.Helper()
	gifts := openGifts(t, file)
	var rejected []string
	result, err := s.ImportGifts(t.Context(), account, gifts, GiftImport{Region: "US", Trial: trial, Progress: func(GiftImportResult) {},
		Rejected: func(row *crm.GiftRow, reason string) error {
			rejected = append(rejected, fmt.Sprintf("%d: %s", row.Line, someCode.ReplaceAllString(reason, "gift CODE")))
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return result, rejected
}

// checked checks that a check finds nothing.
func checked(t *testing.T, s *Store) {
	t.Helper()
	report, err := s.Check(t.Context(), CheckOptions{Found: func(p Problem) { t.Errorf("the check found: %s", p) }})
	if err != nil || report.Problems != 0 {
		t.Errorf("the check found %d problems, %v", report.Problems, err)
	}
}

// TestImportingGifts: rows are processed in order, an invalid row does not affect the others, and importing the same file again
// changes nothing.
func TestImportingGifts(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account, other := newAccount(t, s), newAccount(t, s)
		title := "Winter Coats"
		campaign, err := s.CreateCampaign(t.Context(), account, crm.CampaignInput{Title: &title})
		if err != nil {
			t.Fatal(err)
		}
		foreign := create(t, s, other.Number, `{"first_name":"Eve","last_name":"Else","emails":[{"value":"eve@example.org"}]}`)
		archived := create(t, s, account.Number, `{"first_name":"Old","last_name":"Friend","emails":[{"value":"old@example.org"}]}`)
		if err := s.ArchiveContact(t.Context(), account.Number, archived.ID); err != nil {
			t.Fatal(err)
		}
		lines := []string{
			"amount,date,method,first_name,last_name,email,phone,contact_id,campaign,external_id,currency,plan_id",
			"50,2026-01-05,check,Ada,Lovelace,ada@example.org,,,winter-coats,a1,,",
			"25.50,2026-02-05,cash,,,ADA@Example.org,,,,,,",                                 // known since the row above
			"25.50,2026-02-05,cash,,,ADA@Example.org,,,,,,",                                 // again
			"10,2026-02-06,cash,Augusta,King,ada@example.org,617-555-0100,,,,,",             // renames no contact, and adds a phone
			"10,2026-02-07,cash,,,,(617) 555-0100,,,,,",                                     // by that phone
			fmt.Sprintf("10,2026-02-08,cash,,,,,,%d,,,", campaign.ID),                       // line 7: no donor
			"10,2026-02-08,cash,,,stranger@example.org,,,,,,",                               // no contact
			"10,2026-02-08,cash,,,old@example.org,,,,,,",                                    // an archived one
			fmt.Sprintf("10,2026-02-08,cash,,,,,%d,,,,", foreign.ID),                        // line 10: another account's
			fmt.Sprintf("10,2026-02-08,cash,,,,,%d,,,,", archived.ID),                       // archived, by id
			"10,2026-02-08,cash,,,ada@example.org,,,summer-coats,,,",                        // no campaign
			"51,2026-01-05,check,Ada,Lovelace,ada@example.org,,,,a1,,",                      // another gift's id
			"10.005,2026-02-08,cash,,,ada@example.org,,,,,,",                                // too many decimals
			"10,2026-02-08,cash,,,ada@example.org,,,,,,zzzzzzzzzz000001",                    // no plan
			"1000,2026-02-09,ach,,,ada@example.org,,," + fmt.Sprint(campaign.ID) + ",,JPY,", // line 16: another currency
			"50,2026-01-05,check,,,ada@example.org,,,winter-coats,a1,,",                     // the first row in other words
		}
		file := strings.Join(lines, "\n") + "\n"
		want := GiftImportResult{Rows: 16, Recorded: 6, Known: 1, Rejected: 9, Contacts: 1}
		tried, reasons := imported(t, s, account.Number, file, true)
		if tried != want {
			t.Errorf("the trial says %+v, want %+v", tried, want)
		}
		if n := len(ledgerOf(t, s, account.Number)); n != 0 {
			t.Errorf("the trial has recorded %d gifts", n)
		}
		checked(t, s)
		result, rejected := imported(t, s, account.Number, file, false)
		if result != want || !slices.Equal(reasons, rejected) {
			t.Errorf("the import says %+v, want %+v\n%q\nthe trial said\n%q", result, want, rejected, reasons)
		}
		wrong := []string{
			"7: The row does not say who gave. It must have an email, a phone, or a first and a last name.",
			"8: The email field must be that of a contact, or come with the first_name and the last_name of a new one.",
			"9: The email field must be that of a contact, or come with the first_name and the last_name of a new one.",
			"10: The contact_id field must be the id of one of the account's contacts.",
			"11: The contact_id field is the id of an archived contact: restore the contact first.",
			"12: The campaign field must be the id or the slug of one of the account's campaigns.",
			"13: The external_id field belongs to gift CODE, which differs from what was sent.",
			"14: The amount field must not have more than 2 decimals in USD.",
			"15: The plan_id field must be the id of one of the account's plans.",
		}
		ledger := ledgerOf(t, s, account.Number)
		for i := range ledger {
			if ledger[i].Giver.LastName != "Lovelace" && ledger[i].Giver.LastName != "King" {
				t.Errorf("a gift is from %+v", ledger[i].Giver)
			}
		}
		if !slices.Equal(rejected, wrong) {
			t.Errorf("rejected were\n%s\nwant\n%s", strings.Join(rejected, "\n"), strings.Join(wrong, "\n"))
		}
		if id, err := s.ContactNamed(t.Context(), account.Number, "+1 617 555 0100", "US"); err != nil || len(ledger) != 6 || ledger[0].Contact != id {
			t.Errorf("%d gifts were recorded, the phone leads to %d, %v", len(ledger), id, err)
		}
		checked(t, s)

		// Again: nothing changes, even if a gift has been changed since.
		i := slices.IndexFunc(ledger, func(g crm.Gift) bool { return strings.HasPrefix(g.ExternalID, "import:") })
		later := giftInput(t, `{"transacted_at":"2026-02-20"}`, false, time.Now())
		if _, err := s.UpdateGift(t.Context(), account.Number, ledger[i].Code, later); err != nil {
			t.Fatal(err)
		}
		again, _ := imported(t, s, account.Number, file, false)
		if again != (GiftImportResult{Rows: 16, Known: 7, Rejected: 9}) || len(ledgerOf(t, s, account.Number)) != 6 {
			t.Errorf("the second import says %+v", again)
		}
	})
}

// TestAnImportGoesOn: an import that stops anywhere and is restarted records the same as one without interruption, and a dry run
// of many rows counts each new contact once.
func TestAnImportGoesOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Store) {
		account := newAccount(t, s)
		lines := []string{"amount,date,method,first_name,last_name,email"}
		for i := range 450 {
			name := fmt.Sprintf("Ann,P%d", i%150)
			if i >= 300 {
				name = "," // known by then
			}
			lines = append(lines, fmt.Sprintf("%d,2026-03-%02d,card,%s,p%d@example.org", 5+i%3, 1+i%28, name, i%150))
		}
		file := strings.Join(lines, "\n")
		want := GiftImportResult{Rows: 450, Recorded: 450, Contacts: 150}
		if tried, _ := imported(t, s, account.Number, file, true); tried != want {
			t.Errorf("the trial says %+v, want %+v", tried, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gifts := openGifts(t, file)
		part, err := s.ImportGifts(ctx, account.Number, gifts, GiftImport{Region: "US", Progress: func(r GiftImportResult) {
			if r.Rows >= 200 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || part.Recorded != 200 {
			t.Fatalf("the import was interrupted after %+v, %v", part, err)
		}
		rest, _ := imported(t, s, account.Number, file, false)
		if rest != (GiftImportResult{Rows: 450, Recorded: 250, Known: 200}) {
			t.Errorf("the import went on with %+v", rest)
		}
		if n := len(ledgerOf(t, s, account.Number)); n != 450 {
			t.Errorf("%d gifts were recorded", n)
		}
		checked(t, s)
	})
}
