package sheet

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	file, err := openGiftFile(data, name, nil, region)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var told bytes.Buffer
	for _, c := range Gifts.Recognize(file.Header(), nil, lookAt(data, name)) {
		fmt.Fprintf(&told, "%s = %s\n", c.Name, c.Target)
	}
	for {
		row, err := file.next()
		if errors.Is(err, io.EOF) {
			return told.Bytes()
		}
		if err == nil {
			err = row.Validate(region, importDay)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		currency := value(row.Currency)
		if currency == "" {
			currency = "USD"
		}
		gift, err := giving.NewGift(&row.GiftInput, &crm.Contact{}, currency, "", importDay)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		gift.Entries[0].ID = "entry"
		var pretty bytes.Buffer
		assert.Succeed(t, json.Indent(&pretty, giving.AppendGift(nil, 1, "code", gift.Campaign, row.CampaignName, gift.AppendBody(nil)), "", " "))
		told.WriteString("\n" + pretty.String() + "\n")
	}
}

// TestGiftsOfOtherSystems: a file of each source system becomes gifts without any mapping by hand.
func TestGiftsOfOtherSystems(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/gifts/*.csv")
	if err != nil || len(files) < 9 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		region := map[string]string{"german.csv": "DE", "french.csv": "FR"}[filepath.Base(name)]
		if region == "" {
			region = "US"
		}
		got := giftsOf(t, name, region)
		golden := strings.TrimSuffix(name, ".csv") + ".golden"
		if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
			assert.Succeed(t, os.WriteFile(golden, got, 0o644))
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
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
	m := Gifts.Recognize(rows.All(`Wert  Tag  Wer  amount`), nil, nil)
	got, err := Gifts.With(m, `Wert=amount,Tag=transacted_at,#3=full_name`)
	if err != nil || Gifts.Check(got) != nil || got[0].Target != "amount" || got[3].Target != Skip {
		t.Error(got, err, Gifts.Check(got))
	}
	if _, err := Gifts.With(m, "Wert=emails.0.value"); err == nil || err.Error() != `The column "Wert" cannot become "emails.0.value".` {
		t.Error(err)
	}
	for name, m := range map[string]Mapping{
		`The A field cannot become "tags": choose one of skip, id, transacted_at, amount, `:                          {{Name: "A", Target: "tags"}},
		"The B field must not become amount, because the column A does.":                                             {{Name: "A", Target: "amount"}, {Name: "B", Target: "amount"}},
		"No column has the amount. The first row of the file must name the columns: choose the one with the amount.": {{Name: "A", Target: "note"}},
	} {
		if err := Gifts.Check(m); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	for _, target := range Gifts.Targets() {
		if label := Gifts.Label(target); label == "" || strings.Contains(label, "_") {
			t.Errorf("%s is called %q", target, label)
		}
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
		file := fmt.Sprintf("amount\tdate\tcurrency\tcontact_id\n%s\t2026-01-31\t%s\t7\n", c.Text, c.Currency)
		f := assert.Must(openGiftFile([]byte(file), "gifts.csv", nil, c.Region))(t)
		row := assert.Must(f.next())(t)
		got := ""
		if err := row.Validate(c.Region, importDay); err != nil {
			got = err.Error()
		} else if got = fmt.Sprint(*row.Amount); c.Currency == "" && row.Currency != nil {
			got += " " + *row.Currency
		}
		if row.Filed.IsRefund {
			got += " back"
		}
		if got != c.Want && (c.Want[0] <= '9' || !strings.Contains(got, c.Want)) {
			t.Errorf("%q in %s %s is %s, want %s", c.Text, c.Region, c.Currency, got, c.Want)
		}
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
		_, row := firstRow(t, fmt.Sprintf("amount;date;currency;contact_id\n%s;2026-01-31;%s;7\n", c.Text, c.Said))
		if err := row.Validate("US", importDay); err != nil {
			t.Fatal(c, err)
		}
		_, err := giving.NewGift(&row.GiftInput, &crm.Contact{}, c.Currency, "", importDay)
		if (err == nil) != (c.Want == "") || err != nil && err.Error() != c.Want {
			t.Errorf("%v: %v", c, err)
		}
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
		file := fmt.Sprintf("amount\t%s\tcontact_id\n5\t%s\t7\n", c.Column, c.Text)
		f := assert.Must(openGiftFile([]byte(file), "gifts.csv", nil, c.Region))(t)
		row := assert.Must(f.next())(t)
		got := ""
		if err := row.Validate(c.Region, importDay); err != nil {
			got = err.Error()
		} else {
			got = row.Time().Format("2006-01-02 15:04:05")
		}
		if got != c.Want && (c.Want[0] == '2' || !strings.Contains(got, c.Want)) {
			t.Errorf("%s in %s is %s, want %s", c.Text, c.Region, got, c.Want)
		}
	}
}

// TestWhatValuesAColumnOfIDsHas: texts are no ids, and ids that begin with a word which means something are ids.
func TestWhatValuesAColumnOfIDsHas(t *testing.T) {
	t.Parallel()
	f := assert.Must(openGiftFile([]byte("Amount,Date,Email,Gift Reference,id,Recurring\n5,2026-01-31,a@example.org,shares of ACME,don_1,true\n6,2026-02-01,b@example.org,,don_2,false\n"), "gifts.csv", nil, "US"))(t)
	row := assert.Must(f.next())(t)
	if ids := fmt.Sprint(row.Filed.IDs); ids != "[{id don_1}]" || row.Filed.Plan != "" || row.kind != "" {
		t.Errorf("the ids are %s, of the plan %q, of the kind %q", ids, row.Filed.Plan, row.kind)
	}
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
		_, row := firstRow(t, "amount,date,method,contact_id\n5,2026-01-31,"+text+",7\n")
		if err := row.Validate("US", importDay); (err == nil) != (want != "") || err == nil && *row.Method != want {
			t.Errorf("%s is %v, %v", text, value(row.Method), err)
		}
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
		_, row := firstRow(t, "amount,date,status,contact_id\n5,2026-01-31,"+text+",7\n")
		assert.Succeed(t, row.Validate("US", importDay))
		assert.Equal(t, *row.Status, want, "%s is %v", text, value(row.Status))
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
		file := "amount,date,contact_id,Stage,Paid by,Amount Refunded,Opt-in\n5,2026-01-31,7," + row + "\n"
		header, _, _ := strings.Cut(file, "\n")
		mapping := assert.Must(Gifts.With(Gifts.Recognize(strings.Split(header, ","), nil, nil), "Paid by=method"))(t)
		f := assert.Must(openGiftFile([]byte(file), "gifts.csv", mapping, "US"))(t)
		got, err := f.next()
		if err != nil {
			t.Fatal(err)
		}
		err = got.Validate("US", importDay)
		said := leftOutOf(got)
		if err != nil {
			said = err.Error()
		}
		assert.Equal(t, said, want, "%s", row)
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
	in, faults, err := giving.DecodeGift(doc.NewBody([]byte(`{"amount": 5, "method": "cash", "transacted_at": "2026-01-31", "contact_id": 7}`)))
	assert.Succeed(t, errors.Join(err, in.Validate(faults, true, "US", importDay)))
	whole := assert.Must(giving.NewGift(&in, &crm.Contact{ID: 7}, "USD", "", importDay))(t)
	two := int64(20000)
	part := assert.Must(whole.Refund(&two, importDay))(t)
	all := assert.Must(whole.Refund(nil, importDay))(t)
	undone := assert.Must(part.UndoRefund(nil, importDay))(t)
	seven, cash := int64(70000), "check"
	corrected := assert.Must(undone.Change(&giving.GiftInput{Correction: true, Amount: &seven, Method: &cash}, nil, importDay))(t)
	again := assert.Must(corrected.Refund(&two, importDay))(t)
	for i, g := range []giving.Gift{whole, undone, corrected, part, all, again} {
		_, row := firstRow(t, string(giving.AppendGift(nil, 1, "code", 0, "", g.AppendBody(nil))))
		if err := row.Validate("US", importDay); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if again, err := giving.NewGift(&row.GiftInput, &crm.Contact{ID: 7}, "USD", "", importDay); err != nil || again.Net() != g.Net() || again.Refunded() != g.Refunded() || !again.RefundedAt().Equal(g.RefundedAt()) {
			t.Errorf("%d: of %d refunded are %d on %v, %v", i, g.Net(), again.Refunded(), again.RefundedAt(), err)
		}
		if *row.Amount != g.Payment().Amount*100 || *row.Method != g.Method {
			t.Errorf("%d comes back as %d by %s", i, *row.Amount, *row.Method)
		}
	}
	for _, ledger := range []string{`[{"amount":5},{"amount":-2}]`, `[{"amount":5},{"amount":-2},{"amount":2}]`} {
		_, row := firstRow(t, `{"amount": 5, "method": "cash", "date": "2026-01-31", "contact_id": 7, "transactions": `+ledger+`}`)
		if err := row.Validate("US", importDay); err == nil {
			t.Errorf("%s: its refund is lost", ledger)
		}
	}
	for _, ledger := range []string{`[{"amount":5,"refunded":true}]`, `[{"amount":5},{"amount":-5}]`} {
		_, row := firstRow(t, `{"amount": 5, "method": "cash", "date": "2026-01-31", "contact_id": 7, "transactions": `+ledger+`}`)
		err := row.Validate("US", importDay)
		if g, broken := giving.NewGift(&row.GiftInput, &crm.Contact{ID: 7}, "USD", "", importDay); err != nil || broken != nil || g.Net() != 0 {
			t.Errorf("%s: %d is left, %v", ledger, g.Net(), err)
		}
	}
	for _, ledger := range rows.All(`
		null  "\"x\""  [null, 7, {"amount": {"x": [1]}, "refunded": false}]  []
	`) {
		_, row := firstRow(t, `{"amount": 5, "method": "cash", "date": "2026-01-31", "contact_id": 7, "transactions": `+ledger+`}`)
		if err := row.Validate("US", importDay); err != nil {
			t.Errorf("%s: %v", ledger, err)
		}
	}
}

// TestExportedGiftsComeBack: every field of a gift that is exported is imported again, in every region and currency.
func TestExportedGiftsComeBack(t *testing.T) {
	t.Parallel()
	whole := giving.Gift{
		ID: 1, Code: "AbCdEfGh00000001", Contact: 7, Campaign: 5, Status: giving.Pending, Method: "check", Currency: "USD", PlanCode: "AbCdEfGh00000002",
		Giver: giving.Giver{FirstName: "Ana", LastName: "von der Au", Company: "Au, Ltd.", Email: "ana@example.org", Phone: "+1 212-555-0100",
			Address: &crm.Address{Line1: "1 Square", Line2: "Rear; 2nd", City: "Albany", State: "NY", Zipcode: "01207", Country: "USA"}},
		Entries: []giving.Entry{{ID: "entry", Amount: 123_450, Fee: 300, FeeCovered: 150}}, At: importDay.Add(-time.Hour), CreatedAt: importDay,
		Dedication: &giving.Dedication{Type: "in_memory_of", Name: "Charles", RecipientName: "Luigi", RecipientEmail: "luigi@example.org"},
		OptIn:      true, ExternalID: "x-1", Check: "0118", Deposited: importDay.Add(-time.Minute), Note: "=two\nlines", Test: true,
	}
	small := giving.Gift{ID: 2, Code: "AbCdEfGh00000003", Contact: 7, Status: giving.Failed, Method: "in_kind", Currency: "KWD", Giver: giving.Giver{FirstName: "Bo", LastName: "Li"},
		Entries: []giving.Entry{{ID: "entry", Amount: 1234}}, At: importDay.Add(-time.Hour).Truncate(24 * time.Hour), CreatedAt: importDay}
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
			mapping := assert.Must(Gifts.With(Gifts.Recognize(GiftTable().Header(), nil, nil), "Contact ID in Donorbook=skip"))(t)
			f := assert.Must(openGiftFile(file.Bytes(), "gifts."+format, mapping, region))(t)
			for _, want := range []*giving.Gift{&whole, &small, &yen} {
				row := assert.Must(f.next())(t)
				if err := row.Validate(region, importDay); err != nil {
					t.Fatalf("%s, %s: %v", format, region, err)
				}
				got := assert.Must(giving.NewGift(&row.GiftInput, &crm.Contact{ID: 7}, *row.Currency, value(row.Plan), importDay))(t)
				got.Entries[0].ID = "entry"
				if string(got.AppendBody(nil)) != string(want.AppendBody(nil)) || row.CampaignName != "gala" {
					t.Errorf("%s, %s: came back as\n%s\nfrom\n%s", format, region, got.AppendBody(nil), want.AppendBody(nil))
				}
			}
		}
	}
}
