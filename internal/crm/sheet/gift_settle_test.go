package sheet

import (
	"fmt"
	"strings"
	"testing"

	"donorbook/internal/crm"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// TestWhatCellsSayTogether: which money came, what of it went back and what a processor kept, or why no one can tell.
func TestWhatCellsSayTogether(t *testing.T) {
	t.Parallel()
	for row, want := range rows.Pairs(`
		Amount=50|Status=Paid                                  succeeded 50 of 50, fee 0
		Amount=50|Fee=2|Net=48                                 succeeded 50 of 50, fee 2
		Amount=50|Processing Fee=1|Platform Fee=2|Net=47       succeeded 50 of 50, fee 3
		Amount=50|Net=47.50|Fee Covered=yes                    succeeded 47.5 of 50, fee 2.5
		Amount=50|Payout=0|Fee=0                               succeeded 50 of 50, fee 0
		Amount=50|Net=51                                       succeeded 50 of 50, fee 0, left out: The Net field is more than the amount: it must be what is left after fees.
		Net=51                                                 The file has a column for the net amount, but none for the amount paid. Choose the column with the amount, or use the net amount as the amount.
		Amount=50|Matching Gift=applied for                    succeeded 50 of 50, fee 0, left out: The Matching Gift field is not an amount: write it like 1500, 1500.50 or 1.500,50.
		Amount=50|Status=Refunded                              succeeded 0 of 50, fee 0, back 2026-01-31
		Amount=50|Status=Refunded|Refund Date=2026-02-02       succeeded 0 of 50, fee 0, back 2026-02-02
		Amount=50|Refunded=Yes                                 succeeded 0 of 50, fee 0, back 2026-01-31
		Amount=50|Refunded=No                                  succeeded 50 of 50, fee 0
		Amount=50|Refunded=-20                                 succeeded 30 of 50, fee 0, back 2026-01-31
		Amount=50|Refund Date=2026-02-02                       succeeded 0 of 50, fee 0, back 2026-02-02
		Amount=50|Status=Chargeback                            succeeded 0 of 50, fee 0, back 2026-01-31, Disputed
		Amount=50|Disputed Amount=10|Dispute Status=lost       succeeded 40 of 50, fee 0, back 2026-01-31, Disputed
		Amount=50|Amount Refunded=30|Disputed Amount=20        succeeded 0 of 50, fee 0, back 2026-01-31, Disputed
		Amount=50|Disputed Amount=50|Dispute Status=won        succeeded 50 of 50, fee 0
		Amount=50|Status=Failed|Amount Refunded=50             failed 0 of 50, fee 0
		Amount=50|Status=Test                                  succeeded 0 of 50, fee 0
		Amount=50|Mode=Test                                    succeeded 0 of 50, fee 0
		Amount=50|Mode=Live                                    succeeded 50 of 50, fee 0
		Amount=50|livemode=false                               succeeded 0 of 50, fee 0
		Amount=50|Is Test=Yes                                  succeeded 0 of 50, fee 0
		Amount=50|Gift Type=Pledge|Gift Status=Completed       pending 0 of 50, fee 0
		Amount=50|Gift Type=Pledge|Gift Status=Canceled        cancelled 0 of 50, fee 0
		Amount=50|Gift Type=Pay-Cash                           succeeded 50 of 50, fee 0
		Amount=50|Gift Type=Recurring Gift|Gift Status=Active  pending 0 of 50, fee 0
		Amount=50|Type=Recurring Donation|Status=Succeeded     succeeded 50 of 50, fee 0
		Amount=50|Type=General Currency Conversion             The Type field says this row is not a gift.
		Amount=50|Type=Barter                                  The Type field says "Barter", which is unknown: choose what it means, one of gift, pledge, payment, refund, write off, no gift.
		Amount=50|Soft Credit=Bo Li|Soft Credit Amount=25      succeeded 50 of 50, fee 0, Soft credit: Bo Li/Soft credit amount: 25
		Amount=50|In Memory Of=Bo Li                           succeeded 50 of 50, fee 0, in_memory_of Bo Li
		Amount=50|Tribute=In honor of Bo Li                    succeeded 50 of 50, fee 0, in_honor_of Bo Li
		Amount=50|Tribute=Bo Li                                succeeded 50 of 50, fee 0, Dedication: Bo Li
		Amount=50|Tribute Type=Celebration|Tribute Name=Bo Li  succeeded 50 of 50, fee 0, Dedication: Celebration Bo Li
		Amount=-50|Status=Failed                               The Status field says that the refund did not succeed: there is nothing to record.
		Amount=50|Type=Refund|Original Transaction ID=x        refund of x
	`) {
		names, cells := []string{"Date", "Contact ID"}, []string{"2026-01-31", "7"}
		for _, cell := range strings.Split(row, "|") {
			name, text, _ := strings.Cut(cell, "=")
			names, cells = append(names, name), append(cells, text)
		}
		assert.Equal(t, whatIsSaid(t, strings.Join(names, ",")+"\n"+strings.Join(cells, ",")+"\n"), want, "%s", row)
	}
}

func whatIsSaid(t *testing.T, file string) string {
	t.Helper()
	f, err := openGifts(file)
	if err != nil {
		return err.Error()
	}
	row := assert.Must(f.next())(t)
	if err := row.Validate("US", importDay.AddDate(0, 6, 0)); err != nil {
		return err.Error()
	}
	if row.IsRefund() {
		return "refund of " + row.Filed.RefundOf
	}
	g, err := giving.NewGift(&row.GiftInput, &crm.Contact{ID: 7}, "USD", "", importDay)
	if err != nil {
		return err.Error()
	}
	said := fmt.Sprintf("%s %v of %v, fee %v", g.Status, float64(g.Net())/100, float64(g.Payment().Amount)/100,
		float64(g.Payment().Fee)/100)
	if at := g.RefundedAt(); !at.IsZero() {
		said += ", back " + at.Format("2006-01-02")
	}
	if g.Dedication != nil {
		said += ", " + g.Dedication.Type + " " + g.Dedication.Name
	}
	if g.Note != "" {
		said += ", " + strings.ReplaceAll(g.Note, "\n", "/")
	}
	if left := leftOutOf(row); left != "" {
		said += ", " + left
	}
	return said
}

// TestAValueIsExplained: what a person says about a value of a column is what it means from then on.
func TestAValueIsExplained(t *testing.T) {
	t.Parallel()
	const file = "Amount,Date,Contact ID,Paid by: how\n5,2026-01-31,7,Beads\n"
	m := assert.Must(Gifts.With(Gifts.Recognize(rows.All(`Amount  Date  Contact ID  Paid by: how`), nil, nil),
		"Paid by: how=method,Paid by: how:BEADS=other"))(t)
	f := assert.Must(openGiftFile([]byte(file), "gifts.csv", m, "US"))(t)
	row, err := f.next()
	if err != nil || row.Validate("US", importDay) != nil || *row.Method != "other" ||
		value(row.Note) != "Method: Beads" {
		t.Errorf("%v: %s, %s", err, value(row.Method), value(row.Note))
	}
	if _, err := Gifts.With(m, "Paid:Beads=other"); err == nil {
		t.Error("a column that is none was explained")
	}
}

// TestTheWholeFileTellsTheDayOfARefund: 3/2/2026 is in February where another row has the day first.
func TestTheWholeFileTellsTheDayOfARefund(t *testing.T) {
	t.Parallel()
	header, days := rows.All(`Amount  Date  Refunded  Refund Date  Contact ID`), NewDays(5)
	days.See(3, "28/2/2026")
	dated := Gifts.Rows(Gifts.Recognize(header, nil, nil), "US").Days(days.String())
	row := dated.Gift(2, rows.All(`50  1/2/2026  yes  3/2/2026  7`))
	if err := row.Validate("US", importDay.AddDate(1, 0, 0)); err != nil || *row.GivenAt != "2026-02-01" ||
		*row.Filed.Back.On != "2026-02-03" {
		t.Errorf("%v: %s, %v", err, *row.GivenAt, row.Filed.Back)
	}
}
