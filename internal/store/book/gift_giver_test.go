package book

import (
	"fmt"
	"slices"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/store/gifts"
)

const (
	householdGifts = "Account Number,Name,Email,Phone,Amount,Date\n" +
		",William King,ada@example.org,,1,2026-01-01\n,W. King,ADA@example.org,,2,2026-01-02\n,,ada@example.org,,4,2026-01-03\n,Ada Lovelace,,617-555-0100,8,2026-01-04\n" +
		",A Byron,,617-555-0100,16,2026-01-05\n2,Bob King,,,32,2026-01-06\n2,Bob King,,,64,2026-01-07\n2,Juan Ruiz,,,128,2026-01-08\n1,Ada King,ada@example.org,,256,2026-01-09\n" +
		"2,Ada Byron,ada@example.org,,512,2026-01-10\n2,Bob Ford,bob@example.org,,1024,2026-01-11\n2,Bob Ford,bob@example.org,,2048,2026-01-12\n2,Bob Lee,,,4096,2026-01-13\n"

	planGifts = "Name,Email,Subscription ID,Amount,Date\n" +
		"Ada Byron,ada@example.org,sub_1,1,2026-01-01\nAda Byron,new@example.org,sub_1,2,2026-02-01\nAda Byron,,sub_1,4,2026-03-01\n,new@example.org,sub_1,8,2026-04-01\n" +
		"Bob King,bob@example.org,sub_1,16,2026-05-01\n,bob@example.org,sub_1,32,2026-06-01\nBob King,,sub_2,64,2026-07-01\nBob King,bob@example.org,sub_2,128,2026-08-01\nB King,,sub_2,256,2026-09-01\n"

	neighbors = "First Name,Last Name,Street,ZIP,Account Number\nAna,Ruiz,1 Main St,02139,\nSam,Lee,2 Main St,02139,\nSam,Lee,3 Main St,02139,\nZoe,King,4 Main St,02139,7\nTom,Ford,5 Main St,,\n"

	neighborGifts = "Name,Street,ZIP,Email,Account Number,Amount,Date\n" +
		"A Ruiz,,02139-0001,,,1,2026-01-01\nAna Ruiz,1 Main St,,,,2,2026-01-02\nAna Ruiz,,02139,new@example.org,,4,2026-01-03\nAna Ruiz,,02139,,31,8,2026-01-04\n" +
		"Ana Ruiz,,10001,,,16,2026-01-05\nSam Lee,,02139,,,32,2026-01-06\nSam Lee,,02139,,,64,2026-01-07\nZoe King,,02139,,8,128,2026-01-08\nAna Ruiz,,02139,,32,256,2026-01-09\n" +
		"Anne Ruiz,,02139,,,512,2026-01-10\nTom Ford,5 main st,99999,,,2048,2026-01-11\n"
)

// giversOf are the contacts of an account with what they gave.
func giversOf(t *testing.T, s *Book, account int64) (people []string) {
	t.Helper()
	contacts, _ := must2(s.ContactPage(t.Context(), account, crm.Active, crm.PageRequest{Page: 1, PerPage: 100}))(t)
	slices.Reverse(contacts) // the newest came first
	ledger := ledgerOf(t, s, account)
	for i := range contacts {
		c := &contacts[i]
		n, sum, ids := 0, int64(0), []string{}
		for j := range ledger {
			if ledger[j].Contact == c.ID {
				n, sum = n+1, sum+ledger[j].Net()
			}
		}
		for k := range c.ExternalIDs {
			ids = append(ids, c.ExternalIDs[k].Written())
		}
		people = append(people, fmt.Sprintf("%s %v: %d gifts, %d.%02d", c.PersonName(), ids, n, sum/100, sum%100))
	}
	return people
}

// Gifts of people whom no one knows belong to one contact, whatever it is called since. While it is archived there is
// none for them; once it was erased, the next gift makes another one.
func TestAnonymousGiftsBelongToOneContact(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account, ctx := newAccount(t, s).Number, t.Context()
		gives := func(more string) (gifts.GiftDocument, error) {
			body := `{"amount":5,"method":"cash","transacted_at":"2026-01-02","anonymous":true` + more + `}`
			return s.CreateGift(ctx, account, giftInput(t, body, true, s.Now()))
		}
		first, err := gives("")
		if err != nil || !first.NewGiver {
			t.Fatal(first, err)
		}
		must(s.EditContact(ctx, account, first.Contact, input(t, `{"first_name":"Collection","last_name":"Box"}`)))(t)
		next := must(gives(`,"external_id":"box-1"`))(t)
		expect(t, "the next gift is from", "true false", next.Contact == first.Contact, next.NewGiver)
		expect(t, "the same gift again", "true", must(gives(`,"external_id":"box-1"`))(t).Existing)
		named := must(gives(`,"first_name":"Ada","last_name":"Byron"`))(t)
		expect(t, "a gift of a person with a name is from", "false Ada Byron", named.Contact == first.Contact,
			named.Giver.Name())
		succeed(t, s.ArchiveContact(ctx, account, first.Contact))
		says(t, "while the contact is archived", "restore it")(gives(""))
		must(s.RestoreContact(ctx, account, first.Contact))(t)
		survivor := createAs(t, s, account, `{"first_name":"Anonymous","last_name":"Friends"}`, crm.Force)
		must(s.Merge(ctx, account, survivor.ID, crm.MergeInput{Contact: first.Contact}, "US"))(t)
		expect(t, "after a merge the gift is from", "true", must(gives(""))(t).Contact == survivor.ID)
		must(s.EraseContact(ctx, account, survivor.ID))(t)
		expect(t, "after it was erased", "true", must(gives(""))(t).NewGiver)
		checked(t, s)
	})
}
