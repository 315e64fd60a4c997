package sheet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/giving"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
	tables "donorbook/internal/table"
)

var importDay = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// value is what was sent, or nothing.
func value(sent *string) string {
	if sent == nil {
		return ""
	}
	return *sent
}

// giftFile reads the rows of a file as an import does.
type giftFile struct {
	*tables.Reader
	rows *Rows
}

func openGiftFile(file []byte, name string, mapping Mapping, region string) (*giftFile, error) {
	r, err := tables.OpenWith(bytes.NewReader(file), int64(len(file)), name, tables.Options{Header: FindHeader})
	if err != nil {
		return nil, err
	}
	if r.Format == "jsonl" {
		return &giftFile{r, Gifts.Rows(nil, region)}, nil
	}
	if mapping == nil {
		mapping = Gifts.Recognize(r.Header(), nil, lookAt(file, name))
	}
	return &giftFile{r, Gifts.Rows(mapping, region)}, Gifts.Check(mapping)
}

// lookAt is what the first rows of a file tell.
func lookAt(file []byte, name string) *Look {
	r, err := tables.OpenWith(bytes.NewReader(file), int64(len(file)), name, tables.Options{Header: FindHeader})
	if err != nil {
		return nil
	}
	look := NewLook(len(r.Header()))
	for err == nil {
		var cells []string
		if cells, _, err = r.Next(); err == nil {
			look.See(cells)
		} else if errors.As(err, new(*tables.RowError)) {
			err = nil
		}
	}
	return look
}

func openGifts(file string) (*giftFile, error) {
	return openGiftFile([]byte(file), "gifts.csv", nil, "US")
}

func (f *giftFile) next() (*GiftRow, error) {
	cells, line, err := f.Next()
	var broken *tables.RowError
	switch {
	case errors.As(err, &broken):
		return f.rows.BrokenGift(broken.Line, broken.Message, broken.Row, f.Object()), nil
	case err != nil:
		return nil, err
	case f.Format == "jsonl":
		return f.rows.GiftObject(line, f.Object()), nil
	}
	return f.rows.Gift(line, cells), nil
}

// readGifts is the result of each row of a file: a summary of the gift, or what is wrong with it.
func readGifts(t testing.TB, file string) (said []string, err error) {
	t.Helper()
	f, err := openGifts(file)
	for err == nil {
		var row *GiftRow
		if row, err = f.next(); err != nil {
			break
		}
		text := fmt.Sprintf("%d: ", row.Line)
		if err := row.Validate("US", importDay); err != nil {
			var faults *doc.Invalid
			if !errors.As(err, &faults) {
				t.Fatal(err)
			}
			said = append(said, text+faults.AllFaults())
			continue
		}
		text += fmt.Sprintf("%d %s %s %s", *row.Amount, *row.Method, row.Time().Format(time.DateTime), row.CampaignName)
		if row.Anonymous {
			text += " anonymous"
		}
		if left := leftOutOf(row); left != "" {
			text += " " + left
		}
		said = append(said, text)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return said, err
}

func TestRowsOfAFileOfGifts(t *testing.T) {
	t.Parallel()
	const amount = "The amount field must be a number above 0, at most 999999999.99, with no more decimals than its currency has."
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"headings in other spellings, other columns, a mark, CRLF and an empty line", "\ufeffAMOUNT,Payment Method,Transacted At,Contact ID,Shoe size,campaign\r\n50,check,2026-01-31,7,44,gala\r\n\r\n 49.90 ,cash,2026-01-31 08:00:00,7,,\r\n",
			[]string{"2: 500000 check 2026-01-31 12:00:00 gala", "4: 499000 cash 2026-01-31 08:00:00 "}},
		{"a cell over two lines, and quotes", "amount,date,method,email,note\n5,2026-01-31,cash,ada@example.org,\"one\n\"\"two\"\"\"\n6,2026-01-31,cash,ada@example.org,\n",
			[]string{"2: 50000 cash 2026-01-31 12:00:00 ", "3: 60000 cash 2026-01-31 12:00:00 "}},
		{"amounts that are none", "amount,date,method,contact_id\n0,2026-01-31,cash,7\n-5,2026-01-31,cash,7\n\"1,500\",2026-01-31,cash,7\n1e3,2026-01-31,cash,7\n9999999999,2026-01-31,cash,7\n,2026-01-31,cash,7\n",
			[]string{"2: " + amount, "3: 50000 cash 2026-01-31 12:00:00 ", "4: 15000000 cash 2026-01-31 12:00:00 ",
				"5: The amount field is not an amount: write it like 1500, 1500.50 or 1.500,50.", "6: " + amount, "7: The amount field is required."}},
		{"days and methods as American spreadsheets have them", "amount,date,method,contact_id\n5,1/31/2026,Check,7\n5,01/31/2026,Credit card,7\n",
			[]string{"2: 50000 check 2026-01-31 12:00:00 ", "3: 50000 card 2026-01-31 12:00:00 "}},
		{"times that are none", "amount,date,method,contact_id\n5,2027-01-01,cash,7\n5,1899-12-31,cash,7\n5,31/01/2026,cash,7\n5,,cash,7\n",
			rows.All(`
				2: The date field must not be in the future.  3: The date field must not be before 1900.
				4: The date field must be a date such as 2026-01-31, or a time such as 2026-01-31T09:08:07+00:00.
				5: The date field is required.
			`)},
		{"no giver, half a name, a wrong phone, two campaigns", "amount,date,method,contact_id,first_name,phone,campaign,campaign_id\n5,2026-01-31,cash,,,,,\n5,2026-01-31,cash,,Ada,,,\n5,2026-01-31,cash,,,12,,\n5,2026-01-31,cash,x,,,a,5\n",
			rows.All(`
				"2: 50000 cash 2026-01-31 12:00:00 \x20anonymous"  "3: 50000 cash 2026-01-31 12:00:00 "
				"4: 50000 cash 2026-01-31 12:00:00 \x20anonymous left out: The phone field must be a valid phone number, with a + and the country code unless it is a US number."
				5: The contact_id field must be an id, which is a whole number.
			`)},
		{"parts of an address that are too long", "amount,date,First name,Last name,Ort,Dedicated to\n5,2026-01-31,Ada,Lovelace," + strings.Repeat("x", 300) + ",\n",
			[]string{"2: 50000 other 2026-01-31 12:00:00  left out: The Ort field must not be longer than 255 characters."}},
		{"a row without its empty cells at the end, and one that is too long", "amount,date,method,contact_id\n5,2026-01-31,cash\n5,2026-01-31,cash,7,8\n",
			[]string{"2: 50000 cash 2026-01-31 12:00:00  anonymous", "3: The row has too many columns: 5. The header has 4."}},
		{"semicolons, and Windows-1252", "amount;date;method;contact_id;note\n5;2026-01-31;cash;7;Jos\xe9\n",
			[]string{"2: 50000 cash 2026-01-31 12:00:00 "}},
		{"a quote that is not closed", "amount,date,method,contact_id\n5,2026-01-31,cash,\"7\n6,2026-01-31,cash,7\n",
			[]string{"2: A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice.", "3: 60000 cash 2026-01-31 12:00:00 "}},
		{"a line that is no object", `{"amount": 5}` + "\n[1]\n",
			[]string{"1: The method field is required. The transacted_at field is required.", "2: The line must be a JSON object."}},
		{"objects, with empty lines", `{"amount": 50, "method": "check", "transacted_at": "2026-01-31", "contact_id": 7, "campaign": "gala", "x": [1]}` + "\n\n" +
			`{"amount": "50", "payment_method": "coin", "date": "2026-01-31", "contact_id": null, "email": "ada@example.org", "campaign": 12}` + "\r\n" +
			`{"amount": 5, "payment_method": "cash", "date": "2026-01-31", "email": "ada@example.org", "campaign": 12, "rejected": "why"}`,
			[]string{"1: 500000 check 2026-01-31 12:00:00 gala", "3: The method field must be one of " + strings.Join(giving.Methods, ", ") + ". The amount field must be a number.", "4: 50000 cash 2026-01-31 12:00:00 12"}},
	} {
		got, err := readGifts(t, c.file)
		assert.Succeed(t, err)
		assert.Equal(t, strings.Join(got, "\n"), strings.Join(c.want, "\n"), "%s", c.name)
	}
}

// TestFilesThatAreNotOfGifts: nothing of them is read.
func TestFilesThatAreNotOfGifts(t *testing.T) {
	t.Parallel()
	for file, want := range rows.Pairs(`
		"50,2026-01-31,check,7\n"    No column has the amount. The first row of the file must name the columns: choose the one with the amount.
		"amount,method\n"            No column has the date. The first row of the file must name the columns: choose the one with the date.
		"amount,date,method,DATE\n"  The DATE field must not become transacted_at, because the column date does.
	`) {
		_, err := readGifts(t, file)
		var refused *doc.Invalid
		if !errors.As(err, &refused) || refused.AllFaults() != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

func firstRow(t testing.TB, file string) (*giftFile, *GiftRow) {
	t.Helper()
	f := assert.Must(openGifts(file))(t)
	row := assert.Must(f.next())(t)
	return f, row
}

// TestRowsAreKnownByWhatTheySay: the order of the columns, other columns, spaces around a cell and an old reason make no
// difference.
func TestRowsAreKnownByWhatTheySay(t *testing.T) {
	t.Parallel()
	_, row := firstRow(t, "amount,date,method,contact_id\n5,2026-01-31,cash,7\n")
	for _, same := range []string{"Contact Id,DATE,method,amount,x,rejected\n7,2026-01-31,cash,5,y,Why not?\n", "amount,date,method,contact_id,note\n\" 5\",2026-01-31 ,cash,7,\n"} {
		if _, other := firstRow(t, same); other.Key() != row.Key() {
			t.Errorf("%s is another row", same)
		}
	}
	for _, differs := range []string{"amount,date,method,contact_id\n5.0,2026-01-31,cash,7\n", "amount,date,method,campaign_id\n5,2026-01-31,cash,7\n"} {
		if _, other := firstRow(t, differs); other.Key() == row.Key() {
			t.Errorf("%s is the same row", differs)
		}
	}
	_, row = firstRow(t, `{"amount":5,"note":"x"}`)
	if _, other := firstRow(t, ` { "amount" : 5, "rejected": "no", "note": "x" } `); other.Key() != row.Key() {
		t.Error("a mended row of JSON is another one")
	}
	_, known := firstRow(t, "amount,date,method,contact_id,fee,fee_covered\n5,2026-01-31,cash,7,1,0.5\n")
	if sum := sha256.Sum256([]byte("amount=1:5;contact_id=1:7;fee=1:1;fee_covered=3:0.5;method=4:cash;transacted_at=10:2026-01-31;")); known.Key() != RowKey(sum[:16]) {
		t.Error("a row that an earlier version has recorded is another one")
	}
	seen := make(map[RowKey]int)
	count := func(key RowKey) (before int, err error) {
		before = seen[key]
		seen[key]++
		return before, nil
	}
	err := cmp.Or(known.GiveReference(count), row.GiveReference(count))
	first := *row.ExternalID
	err = cmp.Or(err, row.GiveReference(count))
	if second := *row.ExternalID; err != nil || !strings.HasPrefix(first, "import:") || second != first+":2" || !row.FromRow {
		t.Errorf("%v: the references are %s and %s", err, first, second)
	}
	if key := known.Key(); known.Filed.Earlier != "import:"+hex.EncodeToString(key[:]) || *known.ExternalID == known.Filed.Earlier {
		t.Errorf("an earlier version's reference is %s, and this one's %s", known.Filed.Earlier, *known.ExternalID)
	}
}

// TestWhatLaterFilesSayOtherwise: a gift stays the same when its note, its status, what it cost or where its giver lives is said otherwise in a later file.
func TestWhatLaterFilesSayOtherwise(t *testing.T) {
	t.Parallel()
	_, row := firstRow(t, "Date,Name,Email,Street,City,Amount,Method,Campaign,Status,Note\n2026-01-31,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,check,Food,Succeeded,first\n")
	const head = "Date,Name,Email,Street,City,Amount,Method,Campaign,Status,Note,Fee,Refunded\n"
	for _, same := range []string{
		"2026-01-31,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,check,Food,Succeeded,first,,", "2026-01-31,Dot Elm,dot@elm.example,,,20,check,Food,Pending,,,",
		"2026-01-31,Dot Elm,,2 Mill Lane,Lakeside,20,check,Food,,another,0.50,5",
	} {
		if _, other := firstRow(t, head+same); other.LastingKey() != row.LastingKey() {
			t.Errorf("%s is another gift", same)
		}
	}
	for _, differs := range rows.All(`
		2026-01-30,Dot Elm,,,,20,check,Food,,,,  2026-01-31,Dot Oak,,,,20,check,Food,,,,
		2026-01-31,,dot@example.org,,,20,check,Food,,,,  2026-01-31,Dot Elm,,,,21,check,Food,,,,
		2026-01-31,Dot Elm,,,,20,cash,Food,,,,  2026-01-31,Dot Elm,,,,20,check,Shelter,,,,
		2026-01-31,Dot Elm,,,,20,check,Food,Failed,,,
	`) {
		if _, other := firstRow(t, head+differs); other.LastingKey() == row.LastingKey() {
			t.Errorf("%s is the same gift", differs)
		}
	}
}

// TestRejectedObjects: a row of JSON is written unchanged, followed by the reason, and can be read again.
func TestRejectedObjects(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"amount": 1.50, "rejected": "a", "x": {"y": [1]}}`: `{"amount":1.50,"x":{"y": [1]},"rejected":"No \"x\"."}`,
		`{}`: `{"rejected":"No \"x\"."}`,
	} {
		_, row := firstRow(t, file)
		got := row.Rejected(`No "x".`)
		assert.Equal(t, got, want, "%s became", file)
		if _, again := firstRow(t, got); again.Key() != row.Key() {
			t.Errorf("%s is another row when it comes again", file)
		}
	}
}

// FuzzGiftFile: any file is read to its end or refused, and a rejected row of JSON can be read again.
func FuzzGiftFile(f *testing.F) {
	f.Add("amount,date,method,email\n5,2026-01-31,cash,ada@example.org\n")
	f.Add("amount,date,method,rejected,note\n5,\"2026\n-01-31\",cash,\"a\"\"b\"\n")
	f.Add(`{"amount":5,"date":"2026-01-31","method":"cash","rejected":"x","campaign":1e3}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := openGifts(text)
		for err == nil {
			var row *GiftRow
			if row, err = file.next(); err != nil {
				break
			}
			if file.Format == "jsonl" && !row.isBroken {
				if _, again := firstRow(t, row.Rejected("why")); again.Key() != row.Key() {
					t.Fatalf("%q is another row when it comes again", text)
				}
			}
			_ = row.Validate("US", importDay)
		}
		var unmapped *doc.Invalid
		var refused *tables.FileError
		if !errors.Is(err, io.EOF) && !errors.As(err, &unmapped) && !errors.As(err, &refused) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
