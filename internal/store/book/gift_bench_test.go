//go:build drill

package book

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/crm/doc"
	"donorbook/internal/store/jobs"
)

// BenchmarkGift records gifts of 64 clients at once; compare with BenchmarkGiftContact, which creates contacts in the
// same way.
func BenchmarkGift(b *testing.B) {
	s := openTest(b)
	account := newAccount(b, s)
	title, now := "Gala", time.Now()
	campaign := must(s.CreateCampaign(b.Context(), account, campaign.Input{Title: &title}))(b)
	for i := range 2000 {
		create(b, s, account.Number, fmt.Sprintf(`{"first_name":"A%d","last_name":"B",
			"emails":[{"value":"a%d@example.org"}],"phones":[{"value":"+1212555%04d"}],"tags":["a","b"]}`, i, i, i))
	}
	clients(b, func(n int64) error {
		body := fmt.Sprintf(`{"amount":%d.5,"method":"card","transacted_at":"%s","contact_id":%d,"campaign_id":%d}`,
			1+n%300,
			now.AddDate(0, 0, -int(n%700)).Format(time.DateOnly), doc.MakeID(account.Number,
				1+n*7919%2000), campaign.ID)
		_, err := s.CreateGift(b.Context(), account.Number, giftInput(b, body, true, now))
		return err
	})
}

func BenchmarkGiftContact(b *testing.B) {
	s := openTest(b)
	account := newAccount(b, s)
	clients(b, func(n int64) error {
		in := input(b, fmt.Sprintf(`{"first_name":"A%d","last_name":"B","emails":[{"value":"a%d@example.org"}],
			"phones":[{"value":"+1212%07d"}],"tags":["a","b"]}`, n, n, 2000000+n))
		_, err := s.CreateContact(b.Context(), account.Number, in, crm.Dedupe)
		return err
	})
}

// BenchmarkGiftImport is what a row of a file of gifts costs, each with a new contact, and in a dry run.
func BenchmarkGiftImport(b *testing.B) {
	before := jobs.UnitRows
	defer func() { jobs.UnitRows = before }()
	jobs.UnitRows = 400
	for _, trial := range []bool{false, true} {
		b.Run(fmt.Sprintf("trial=%t", trial), func(b *testing.B) {
			s := openTest(b)
			account := newAccount(b, s).Number
			var text strings.Builder
			text.WriteString("amount,date,method,first_name,last_name,email,external_id\n")
			for i := range b.N {
				fmt.Fprintf(&text, "%d,2026-%02d-%02d,card,Ann,Person%d,p%d@example.org,x%d\n", 5+i%200, 1+i%9,
					1+i%28, i, i, i)
			}
			rows := openTable(b, text.String())
			b.ResetTimer()
			var err error
			if trial {
				_, err = s.TryFile(b.Context(), account, rows, giftImportOf(rows),
					func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			} else {
				_, _, err = s.ImportFile(b.Context(), account, rows, giftImportOf(rows), 0, true,
					func(jobs.ImportProgress) {})
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkImport is what a row of a file costs, with its tags, its address and its keys.
func BenchmarkImport(b *testing.B) {
	before := jobs.UnitRows
	defer func() { jobs.UnitRows = before }()
	jobs.UnitRows = 400
	for _, e := range testEngines {
		b.Run(e.name, func(b *testing.B) {
			s := open(b, e.empty(b))
			account := newAccount(b, s).Number
			var text strings.Builder
			text.WriteString("First Name,Last Name,Email,Street,City,State,Zip,Country,Tags,Company\n")
			for i := range b.N {
				fmt.Fprintf(&text,
					"Ann%d,Person%d,p%d@example.org,%d Main St,Boston,MA,0%d,USA,\"t%d, all\",Acme %d\n", i%5000, i,
					i, i, 2000+i%900, i%40, i%300)
			}
			b.ResetTimer()
			importFile(b, s, account, text.String(), jobs.MergeExisting)
		})
	}
}
