package sheet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
	tables "donorbook/internal/table"
)

// giftsOf is what becomes of a file of gifts: the columns and their targets, then the gifts.
func giftsOf(t *testing.T, name, region string) []byte {
	t.Helper()
	data := assert.Must(os.ReadFile(name))(t)
	file := assert.Must(openGiftFile(data, name, nil, region))(t)
	var told bytes.Buffer
	for _, c := range Gifts.Recognize(file.Header(), nil, lookAt(data, name)) {
		fmt.Fprintf(&told, "%s = %s\n", c.Name, c.Target)
	}
	for {
		row, err := file.next()
		if errors.Is(err, io.EOF) {
			return told.Bytes()
		}
		assert.Succeed(t, err)
		assert.Succeed(t, row.Validate(region, importDay))
		gift := assert.Must(giving.NewGift(&row.GiftInput, &crm.Contact{}, cmp.Or(value(row.Currency), "USD"), "",
			importDay))(t)
		gift.Entries[0].ID = "entry"
		told.WriteString(indented(t, giving.AppendGift(nil, 1, "code", gift.Campaign, row.CampaignName,
			gift.AppendBody(nil))))
	}
}

func TestGiftColumnsAreRecognized(t *testing.T) {
	t.Parallel()
	for header, want := range rows.Pairs(`
		Amount|Total Amount|Date|Created Date                       amount|skip|transacted_at|skip
		Donation Amount|DATE RECEIVED|Donor Email|Donor First Name  amount|transacted_at|email|first_name
		Betrag|Buchungsdatum|Zahlungsweise|Auftraggeber             amount|transacted_at|method|full_name
		Montant|Date du versement|Moyen de paiement|Nom complet     amount|transacted_at|method|full_name
		amount|date|Contact ID                                      amount|transacted_at|contact_id
		amount|date|Contact ID|Email                                amount|transacted_at|contact_external_id|email  // of another system
		amount|date|Account Number                                  amount|transacted_at|contact_external_id
		amount|date|LGL Constituent ID|Constituent ID|Name          amount|transacted_at|skip|contact_external_id|full_name
		amount|date|Donor ID|Gift ID                                amount|transacted_at|contact_external_id|external_id
		amount|date|Primary Contact|Primary Contact ID              amount|transacted_at|full_name|contact_external_id
		amount|date|contact_id|email                                amount|transacted_at|contact_id|email
		amount|date|Campaign ID                                     amount|transacted_at|campaign_id
		amount|date|Campaign ID|Campaign Name                       amount|transacted_at|skip|campaign
		amount|date|campaign_id|campaign                            amount|transacted_at|campaign_id|campaign
		amount|date|campaign_id|campaign_code                       amount|transacted_at|skip|campaign
		amount|date|note|Comments|Work Email|Primary Email          amount|transacted_at|note|note|skip|email
		amount|date|Address|Shipping City                           amount|transacted_at|address|skip
		amount|date|Address|City|State                              amount|transacted_at|address_1|city|state
		amount|date|address_1|address_2|city|zipcode|full_name      amount|transacted_at|address_1|address_2|city|zipcode|full_name
		skip|rejected|Shoe size                                     skip|skip|skip
	`) {
		var got []string
		for _, c := range Gifts.Recognize(strings.Split(header, "|"), nil, nil) {
			got = append(got, c.Target)
		}
		assert.Equal(t, strings.Join(got, "|"), want, "%s", header)
	}
}

func TestMappingsOfGifts(t *testing.T) {
	t.Parallel()
	m := Gifts.Recognize([]string{"Wert", "Tag", "Wer", "amount"}, nil, nil)
	got := assert.Must(Gifts.With(m, `Wert=amount,Tag=transacted_at,#3=full_name`))(t)
	assert.Succeed(t, Gifts.Check(got))
	assert.Equal(t, targetsOf(got), "amount|transacted_at|full_name|skip")
	_, err := Gifts.With(m, "Wert=emails.0.value")
	assert.Says(t, err, `The column "Wert" cannot become "emails.0.value".`)
	for targets, want := range rows.Pairs(`
		tags           The #1 field cannot become "tags": choose one of skip, id, transacted_at, amount,
		amount amount  The #2 field must not become amount, because the column #1 does.
		note           No column has the amount. The first row of the file must name the columns: choose the one with the amount.
	`) {
		assert.Contains(t, fmt.Sprint(Gifts.Check(mappingTo(targets))), want)
	}
}

func TestAmountsAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Text, Currency, Region, Want string }](`
		25                      ""   US  250000
		25.5                    ""   US  255000
		.5                      ""   US  5000
		$25                     ""   US  250000
		$ 25.00                 ""   US  250000
		25 USD                  ""   US  250000 USD
		1,234.56                ""   US  12345600
		1,234                   ""   US  12340000
		1,234,567               ""   US  12345670000
		25,50                   ""   US  255000
		US$1,234.50             ""   DE  12345000 USD
		1.234,56                ""   US  12345600
		1.234,56 €              ""   DE  12345600 EUR
		"1\u00a0234,56\u202f€"  ""   FR  12345600 EUR
		CHF 1’234.50            ""   CH  12345000 CHF
		1'234                   ""   CH  12340000
		1.234.567               ""   DE  12345670000
		12.50                   ""   DE  125000
		12,5                    ""   DE  125000
		Euro 5                  ""   DE  50000 EUR
		£5                      ""   GB  50000 GBP
		1.234                   ""   DE  amount field can be read in two ways
		1,234                   ""   DE  amount field can be read in two ways
		33.333                  ""   FR  amount field can be read in two ways
		1.234                   KWD  DE  12340
		1.500                   KWD  US  15000
		0.125                   ""   DE  1250
		1.500                   ""   US  must not end with a zero
		1.234                   USD  US  must not have more than 2 decimals in USD
		1 234,567               ""   FR  amount field is not an amount
		1,23,456                ""   US  amount field is not an amount
		1,2345                  ""   US  amount field is not an amount
		12 34                   ""   US  amount field is not an amount
		1 234'567               ""   US  amount field is not an amount
		1.234,5,6               ""   US  amount field is not an amount
		5,                      ""   US  amount field is not an amount
		$5 USD                  ""   US  amount field is not an amount
		five                    ""   US  amount field is not an amount
		5 apples                ""   US  amount field is not an amount
		1e3                     ""   US  amount field is not an amount
		=1+1                    ""   US  amount field is not an amount
		1-2                     ""   US  amount field is not an amount
		(5                      ""   US  amount field is not an amount
		-25.00                  ""   US  250000 back
		(25.00)                 ""   US  250000 back
		-$25                    ""   US  250000 back
		$-25                    ""   US  250000 back
		25-                     ""   US  250000 back
		−25                     ""   US  250000 back
		0                       ""   US  must be a number above 0
		0,00 €                  ""   DE  must be a number above 0
	`) {
		row := rowIn(t, fmt.Sprintf("amount\tdate\tcurrency\tcontact_id\n%s\t2026-01-31\t%s\t7\n", c.Text, c.Currency),
			c.Region)
		got := saidOf(row, c.Region, func() string {
			if c.Currency == "" && row.Currency != nil {
				return fmt.Sprint(*row.Amount, " ", *row.Currency)
			}
			return fmt.Sprint(*row.Amount)
		})
		if row.Filed.IsRefund {
			got += " back"
		}
		if c.Want[0] <= '9' {
			assert.Equal(t, got, c.Want, "%+v", c)
		}
		assert.Contains(t, got, c.Want, "%+v", c)
	}
}

// TestAmountsKeepTheirCurrency: an amount with the sign of one currency is no gift in another one.
func TestAmountsKeepTheirCurrency(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Text, Said, Currency, Want string }](`
		$5   ""   USD  ""
		$5   ""   CAD  ""
		5 €  EUR  EUR  ""
		5    ""   EUR  ""
		$5   ""   EUR  The amount field has the sign $, but the gift would be in EUR: add a column with the currency, such as USD or EUR.
		5 €  USD  USD  The amount field has the sign €, but the gift would be in USD: add a column with the currency, such as USD or EUR.
	`) {
		row := rowIn(t, fmt.Sprintf("amount;date;currency;contact_id\n%s;2026-01-31;%s;7\n", c.Text, c.Said), "US")
		assert.Succeed(t, row.Validate("US", importDay))
		_, err := giving.NewGift(&row.GiftInput, &crm.Contact{}, c.Currency, "", importDay)
		assert.Says(t, err, c.Want, "%v", c)
	}
}

func TestDaysAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct{ Column, Text, Region, Want string }](`
		date   2026-01-31                   US  2026-01-31 12:00:00
		date   1/31/2026                    US  2026-01-31 12:00:00
		date   01/31/26                     US  2026-01-31 12:00:00
		date   31.01.2026                   US  2026-01-31 12:00:00
		date   31/01/2026                   GB  2026-01-31 12:00:00
		date   3/4/2026                     US  2026-03-04 12:00:00
		date   3/4/2026                     GB  2026-04-03 12:00:00
		Datum  3/4/2026                     US  2026-04-03 12:00:00
		date   2026-01-31 09:08:07          US  2026-01-31 09:08:07
		date   2026-01-31T09:08:07+02:00    US  2026-01-31 07:08:07
		date   1/31/2026 9:08 PM            US  2026-01-31 21:08:00
		date   1/31/2026 12:08 a.m.         US  2026-01-31 00:08:00
		date   31.01.2026, 18:30 Uhr        DE  2026-01-31 18:30:00
		date   2026-01-31 18:30:01.123 UTC  DE  2026-01-31 18:30:01
		date   2026-01-31 00:00:00          US  2026-01-31 12:00:00
		date   1/31/2026 12:00:00 AM        US  2026-01-31 12:00:00
		date   2026-01-31T00:00:00Z         US  2026-01-31 00:00:00
		date   January 31, 2026             US  2026-01-31 12:00:00
		date   31 Jan 2026 09:08            US  2026-01-31 09:08:00
		date   31-Jan-26                    US  2026-01-31 12:00:00
		date   31/01/2026                   US  must be a date
		date   1/31/2026                    DE  must be a date
		date   2026-02-30                   US  must be a date
		date   1/31/2026 25:00              US  must be a date
		date   46053                        US  must be a date
		date   soon                         US  must be a date
	`) {
		row := rowIn(t, fmt.Sprintf("amount\t%s\tcontact_id\n5\t%s\t7\n", c.Column, c.Text), c.Region)
		got := saidOf(row, c.Region, func() string { return row.Time().Format(time.DateTime) })
		assert.Contains(t, got, c.Want, "%+v", c)
	}
}

// TestWhatValuesAColumnOfIDsHas: texts are no ids, and ids that begin with a word which means something are ids.
func TestWhatValuesAColumnOfIDsHas(t *testing.T) {
	t.Parallel()
	row := rowIn(t,
		"Amount,Date,Email,Gift Reference,id,Recurring\n5,2026-01-31,a@example.org,shares of ACME,don_1,true\n"+
			"6,2026-02-01,b@example.org,,don_2,false\n", "US")
	assert.Equal(t, fmt.Sprintf("%v%q%q", row.Filed.IDs, row.Filed.Plan, row.kind), `[{id don_1}]""""`)
}

func TestWordsOfGifts(t *testing.T) {
	t.Parallel()
	for text, want := range rows.Pairs(`
		Credit Card                card
		Visa ****4242              card
		Kreditkarte                card
		ACH                        ach
		EFT                        ach
		SEPA-Lastschrift           direct_debit
		Überweisung                bank_transfer
		Virement                   bank_transfer
		Chèque                     check
		Check #1187                check
		Bar                        cash
		Espèces                    cash
		PayPal                     paypal
		In-Kind                    in_kind
		in_kind                    in_kind
		Sachspende                 in_kind
		None                       other
		CK                         check
		CC                         card
		ACH/EFT                    ach
		Wire                       bank_transfer
		Gift in Kind               in_kind
		DAF                        donor_advised_fund
		Donor-Advised Fund         donor_advised_fund
		Payroll                    other
		Stock                      stock
		Venmo                      venmo
		gold                       other
		Credit Card - Visa (4242)  card
		Online donation by check   check
	`) {
		row := rowIn(t, "amount,date,method,contact_id\n5,2026-01-31,"+text+",7\n", "US")
		assert.Equal(t, saidOf(row, "US", func() string { return *row.Method }), want, "%s", text)
		assert.Equal(t, value(row.Note), map[string]string{"Payroll": "Method: Payroll", "gold": "Method: gold"}[text],
			"the note of %s", text)
	}
	for text, want := range rows.Pairs(`
		Completed    succeeded
		Closed Won   succeeded
		Posted       succeeded
		PAID         succeeded
		bezahlt      succeeded
		Payé         succeeded
		Pledged      pending
		En attente   pending
		Declined     failed
		Canceled     cancelled
		Closed Lost  cancelled
	`) {
		row := rowIn(t, "amount,date,status,contact_id\n5,2026-01-31,"+text+",7\n", "US")
		assert.Equal(t, saidOf(row, "US", func() string { return *row.Status }), want, "%s", text)
	}
	for row, want := range rows.Pairs(`
		Refunded,cash,,               ""
		Posted,cash,2.50,             ""
		Posted,cash,5.01,             left out: The Amount Refunded field must not be more than the amount.
		Partially Refunded,cash,2.5,  ""
		Partially Refunded,cash,,     left out: The Stage field says that part of it was refunded, but no column or other row says how much.
		Prospecting,cash,,            The Stage field says "Prospecting", which is unknown: choose what it means, one of succeeded, pending, failed, cancelled, refunded, partly refunded, disputed, test.
		Posted,gold,0.00,             ""
		Posted,,false,                ""
		Posted,cash,0,perhaps         left out: The Opt-in field is neither yes nor no.
		Posted,cash,0,Yes             ""
		Posted,cash,false,nein        ""
	`) {
		const header = "amount,date,contact_id,Stage,Paid by,Amount Refunded,Opt-in"
		mapping := assert.Must(Gifts.With(Gifts.Recognize(strings.Split(header, ","), nil, nil), "Paid by=method"))(t)
		f := assert.Must(openGiftFile([]byte(header+"\n5,2026-01-31,7,"+row+"\n"), "gifts.csv", mapping, "US"))(t)
		got := assert.Must(f.next())(t)
		assert.Equal(t, saidOf(got, "US", func() string { return leftOutOf(got) }), want, "%s", row)
	}
}

// leftOutOf is what a gift is recorded without.
func leftOutOf(g *GiftRow) (said string) {
	for _, left := range g.LeftOut {
		said += "left out: The " + left.Column + " field " + left.Reason + "."
	}
	return said
}

// TestRefundsAreNotLost: a gift that was exported with a refund comes back with what is left of it.
func TestRefundsAreNotLost(t *testing.T) {
	t.Parallel()
	const head = `{"amount": 5, "method": "cash", "transacted_at": "2026-01-31", "contact_id": 7`
	contact := &crm.Contact{ID: 7}
	in, faults := assert.Must2(giving.DecodeGift(doc.NewBody([]byte(head + "}"))))(t)
	assert.Succeed(t, in.Validate(faults, true, "US", importDay))
	whole := assert.Must(giving.NewGift(&in, contact, "USD", "", importDay))(t)
	two, seven, check := int64(20000), int64(70000), "check"
	part := assert.Must(whole.Refund(&two, importDay))(t)
	all := assert.Must(whole.Refund(nil, importDay))(t)
	undone := assert.Must(part.UndoRefund(nil, importDay))(t)
	corrected := assert.Must(undone.Change(&giving.GiftInput{Correction: true, Amount: &seven, Method: &check}, nil,
		importDay))(t)
	again := assert.Must(corrected.Refund(&two, importDay))(t)
	for i, g := range []giving.Gift{whole, undone, corrected, part, all, again} {
		_, row := firstRow(t, string(giving.AppendGift(nil, 1, "code", 0, "", g.AppendBody(nil))))
		assert.Succeed(t, row.Validate("US", importDay))
		back := assert.Must(giving.NewGift(&row.GiftInput, contact, "USD", "", importDay))(t)
		says := func(g giving.Gift) string {
			return fmt.Sprint(g.Net(), g.Refunded(), g.RefundedAt(), g.Payment().Amount, g.Method)
		}
		assert.Equal(t, says(back), says(g), "%d", i)
	}
	for ledger, left := range rows.Pairs(`
		[{"amount":5},{"amount":-2}]                           lost
		[{"amount":5},{"amount":-2},{"amount":2}]              lost
		[{"amount":5,"refunded":true}]                         0
		[{"amount":5},{"amount":-5}]                           0
		null                                                   500
		"\"x\""                                                500
		[null, 7, {"amount": {"x": [1]}, "refunded": false}]   500
		[]                                                     500
	`) {
		_, row := firstRow(t, head+`, "transactions": `+ledger+`}`)
		got := "lost"
		if row.Validate("US", importDay) == nil {
			g := assert.Must(giving.NewGift(&row.GiftInput, contact, "USD", "", importDay))(t)
			got = fmt.Sprint(g.Net())
		}
		assert.Equal(t, got, left, "%s", ledger)
	}
}

// TestExportedGiftsComeBack: every field of a gift that is exported is imported again, in every region and currency.
func TestExportedGiftsComeBack(t *testing.T) {
	t.Parallel()
	whole := giving.Gift{
		ID: 1, Code: "AbCdEfGh00000001", Contact: 7, Campaign: 5, Status: giving.Pending, Method: "check",
		Currency: "USD", PlanCode: "AbCdEfGh00000002",
		Giver: giving.Giver{FirstName: "Ana", LastName: "von der Au", Company: "Au, Ltd.", Email: "ana@example.org",
			Phone: "+1 212-555-0100",
			Address: &crm.Address{Line1: "1 Square", Line2: "Rear; 2nd", City: "Albany", State: "NY", Zipcode: "01207",
				Country: "USA"}},
		Entries: []giving.Entry{{ID: "entry", Amount: 123_450, Fee: 300, FeeCovered: 150}},
		At:      importDay.Add(-time.Hour), CreatedAt: importDay,
		Dedication: &giving.Dedication{Type: "in_memory_of", Name: "Charles", RecipientName: "Luigi",
			RecipientEmail: "luigi@example.org"},
		OptIn: true, ExternalID: "x-1", Check: "0118", Deposited: importDay.Add(-time.Minute), Note: "=two\nlines",
		Test: true,
	}
	small := giving.Gift{ID: 2, Code: "AbCdEfGh00000003", Contact: 7, Status: giving.Failed, Method: "in_kind",
		Currency: "KWD", Giver: giving.Giver{FirstName: "Bo", LastName: "Li"},
		Entries: []giving.Entry{{ID: "entry", Amount: 1234}}, At: importDay.Add(-time.Hour).Truncate(24 * time.Hour),
		CreatedAt: importDay}
	yen := small
	yen.Currency, yen.Entries = "JPY", []giving.Entry{{ID: "entry", Amount: 1_234_567}}
	for _, format := range []string{"csv", "xlsx"} {
		for _, region := range []string{"US", "DE", "CH"} {
			var file bytes.Buffer
			w, err := tables.NewWriter(&file, format)
			if err == nil {
				err = w.Header(GiftTable().Header())
			}
			for _, g := range []*giving.Gift{&whole, &small, &yen} {
				cells := GiftTable().Gift(g, "gala")
				for i := range cells {
					if amount, ok := cells[i].(Decimal); ok {
						cells[i] = tables.Number(amount)
					}
				}
				err = errors.Join(err, w.Row(cells))
			}
			assert.Succeed(t, errors.Join(err, w.Close()))
			mapping := assert.Must(Gifts.With(Gifts.Recognize(GiftTable().Header(), nil, nil),
				"Contact ID in Donorbook=skip"))(t)
			f := assert.Must(openGiftFile(file.Bytes(), "gifts."+format, mapping, region))(t)
			for _, want := range []*giving.Gift{&whole, &small, &yen} {
				row := assert.Must(f.next())(t)
				if err := row.Validate(region, importDay); err != nil {
					t.Fatalf("%s, %s: %v", format, region, err)
				}
				got := assert.Must(giving.NewGift(&row.GiftInput, &crm.Contact{ID: 7}, *row.Currency, value(row.Plan),
					importDay))(t)
				got.Entries[0].ID = "entry"
				if string(got.AppendBody(nil)) != string(want.AppendBody(nil)) || row.CampaignName != "gala" {
					t.Errorf("%s, %s: came back as\n%s\nfrom\n%s", format, region, got.AppendBody(nil),
						want.AppendBody(nil))
				}
			}
		}
	}
}

// saidOf is what is told of a row: what is wrong with it, or what it is.
func saidOf(row *GiftRow, region string, what func() string) string {
	if err := row.Validate(region, importDay); err != nil {
		return err.Error()
	}
	return what()
}

// rowIn is the only row of a file, in a region.
func rowIn(t *testing.T, file, region string) *GiftRow {
	t.Helper()
	return assert.Must(assert.Must(openGiftFile([]byte(file), "gifts.csv", nil, region))(t).next())(t)
}
