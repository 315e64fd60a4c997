package sheet

import (
	"bytes"
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
func readGifts(t testing.TB, file string) string {
	t.Helper()
	var said []string
	f, err := openGifts(file)
	for err == nil {
		var row *GiftRow
		if row, err = f.next(); err != nil {
			break
		}
		text := ""
		var faults *doc.Invalid
		if err := row.Validate("US", importDay); errors.As(err, &faults) {
			text = faults.AllFaults()
		} else {
			assert.Succeed(t, err)
			at := strings.Replace(row.Time().Format(time.DateTime), "2026-01-31 12:00:00", "noon", 1)
			text = fmt.Sprint(*row.Amount, " ", *row.Method, " ", at, " ", row.CampaignName)
			text += map[bool]string{true: " anonymous"}[row.Anonymous] + " " + leftOutOf(row)
		}
		said = append(said, fmt.Sprint(row.Line, ": ", strings.Join(strings.Fields(text), " ")))
	}
	var faults *doc.Invalid
	if errors.As(err, &faults) {
		return faults.AllFaults()
	}
	assert.Equal(t, errors.Is(err, io.EOF), true, "%v", err)
	return strings.Join(said, "|")
}

func TestRowsOfAFileOfGifts(t *testing.T) {
	t.Parallel()
	words := strings.NewReplacer("|", "\n", "HEAD", "amount,date,method,contact_id", "LONG", strings.Repeat("x", 300),
		"ABOVE",
		"The amount field must be a number above 0, at most 999999999.99, with no more decimals than its currency has.",
		"METHODS", strings.Join(giving.Methods, ", "), "50:", "50000 cash noon")
	for _, c := range rows.Of[struct{ What, File, Want string }](`
		headings in other spellings, other columns, a mark, CRLF and an empty line  "\ufeffAMOUNT,Payment Method,Transacted At,Contact ID,Shoe size,campaign\r\n50,check,2026-01-31,7,44,gala\r\n\r\n 49.90 ,cash,2026-01-31 08:00:00,7,,\r\n"  2: 500000 check noon gala|4: 499000 cash 2026-01-31 08:00:00
		a cell over two lines, and quotes  amount,date,method,email,note|5,2026-01-31,cash,ada@example.org,"one|""two"""|6,2026-01-31,cash,ada@example.org,|  2: 50:|3: 60000 cash noon
		amounts that are none  HEAD|0,2026-01-31,cash,7|-5,2026-01-31,cash,7|"1,500",2026-01-31,cash,7|1e3,2026-01-31,cash,7|9999999999,2026-01-31,cash,7|,2026-01-31,cash,7|  2: ABOVE|3: 50:|4: 15000000 cash noon|5: The amount field is not an amount: write it like 1500, 1500.50 or 1.500,50.|6: ABOVE|7: The amount field is required.
		days and methods as American spreadsheets have them  HEAD|5,1/31/2026,Check,7|5,01/31/2026,Credit card,7|  2: 50000 check noon|3: 50000 card noon
		times that are none  HEAD|5,2027-01-01,cash,7|5,1899-12-31,cash,7|5,31/01/2026,cash,7|5,,cash,7|  2: The date field must not be in the future.|3: The date field must not be before 1900.|4: The date field must be a date such as 2026-01-31, or a time such as 2026-01-31T09:08:07+00:00.|5: The date field is required.
		no giver, half a name, a wrong phone, two campaigns  HEAD,first_name,phone,campaign,campaign_id|5,2026-01-31,cash,,,,,|5,2026-01-31,cash,,Ada,,,|5,2026-01-31,cash,,,12,,|5,2026-01-31,cash,x,,,a,5|  2: 50: anonymous|3: 50:|4: 50: anonymous left out: The phone field must be a valid phone number, with a + and the country code unless it is a US number.|5: The contact_id field must be an id, which is a whole number.
		parts of an address that are too long  amount,date,First name,Last name,Ort,Dedicated to|5,2026-01-31,Ada,Lovelace,LONG,|  2: 50000 other noon left out: The Ort field must not be longer than 255 characters.
		a row without its empty cells at the end, and one that is too long  HEAD|5,2026-01-31,cash|5,2026-01-31,cash,7,8|  2: 50: anonymous|3: The row has too many columns: 5. The header has 4.
		semicolons, and Windows-1252  "amount;date;method;contact_id;note|5;2026-01-31;cash;7;Jos\xe9|"  2: 50:
		a quote that is not closed  HEAD|5,2026-01-31,cash,"7|6,2026-01-31,cash,7|  2: A quote in this row is not closed. Put a cell with quotes, separators or line breaks in quotes, and write each quote in it twice.|3: 60000 cash noon
		a line that is no object  {"amount": 5}|[1]|  1: The method field is required. The transacted_at field is required.|2: The line must be a JSON object.
		objects, with empty lines  "{\"amount\": 50, \"method\": \"check\", \"transacted_at\": \"2026-01-31\", \"contact_id\": 7, \"campaign\": \"gala\", \"x\": [1]}||{\"amount\": \"50\", \"payment_method\": \"coin\", \"date\": \"2026-01-31\", \"contact_id\": null, \"email\": \"ada@example.org\", \"campaign\": 12}\r|{\"amount\": 5, \"payment_method\": \"cash\", \"date\": \"2026-01-31\", \"email\": \"ada@example.org\", \"campaign\": 12, \"rejected\": \"why\"}"  1: 500000 check noon gala|3: The method field must be one of METHODS. The amount field must be a number.|4: 50: 12
		a row where the headings should be  50,2026-01-31,check,7|  No column has the amount. The first row of the file must name the columns: choose the one with the amount.
		no day  amount,method|  No column has the date. The first row of the file must name the columns: choose the one with the date.
		two days  amount,date,method,DATE|  The DATE field must not become transacted_at, because the column date does.
	`) {
		assert.Equal(t, words.Replace(readGifts(t, words.Replace(c.File))), words.Replace(c.Want), "%s", c.What)
	}
}

func firstRow(t testing.TB, file string) (*giftFile, *GiftRow) {
	t.Helper()
	f := assert.Must(openGifts(file))(t)
	return f, assert.Must(f.next())(t)
}

// TestRowsAreKnownByWhatTheySay: the order of the columns, other columns, spaces around a cell and an old reason make
// no difference. A
// gift stays the same when its note, its status, what it cost or where its giver lives is said otherwise in a later
// file.
func TestRowsAreKnownByWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, c := range rows.Of[struct {
		File, Other string
		Row, Gift   bool // whether they are the same row, and the same gift
	}](`
		HEAD|5,2026-01-31,cash,7|  Contact Id,DATE,method,amount,x,rejected|7,2026-01-31,cash,5,y,Why not?|  true   true
		HEAD|5,2026-01-31,cash,7|  HEAD,note|" 5",2026-01-31 ,cash,7,|              true   true
		HEAD|5,2026-01-31,cash,7|  HEAD|5.0,2026-01-31,cash,7|                      false  false
		HEAD|5,2026-01-31,cash,7|  amount,date,method,campaign_id|5,2026-01-31,cash,7|  false  false
		{"amount":5,"note":"x"}    " { \"amount\" : 5, \"rejected\": \"no\", \"note\": \"x\" } "  true   true
		ELM                        MORE|2026-01-31,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,check,Food,Succeeded,first,,  true  true
		ELM                        MORE|2026-01-31,Dot Elm,dot@elm.example,,,20,check,Food,Pending,,,  false  true
		ELM                        MORE|2026-01-31,Dot Elm,,2 Mill Lane,Lakeside,20,check,Food,,another,0.50,5  false  true
		ELM                        MORE|2026-01-30,Dot Elm,,,,20,check,Food,,,,      false  false
		ELM                        MORE|2026-01-31,Dot Oak,,,,20,check,Food,,,,      false  false
		ELM                        MORE|2026-01-31,,dot@example.org,,,20,check,Food,,,,  false  false
		ELM                        MORE|2026-01-31,Dot Elm,,,,21,check,Food,,,,      false  false
		ELM                        MORE|2026-01-31,Dot Elm,,,,20,cash,Food,,,,       false  false
		ELM                        MORE|2026-01-31,Dot Elm,,,,20,check,Shelter,,,,   false  false
		ELM                        MORE|2026-01-31,Dot Elm,,,,20,check,Food,Failed,,,  false  false
	`) {
		const head = "Date,Name,Email,Street,City,Amount,Method,Campaign,Status,Note"
		words := strings.NewReplacer("|", "\n", "HEAD", "amount,date,method,contact_id", "MORE", head+",Fee,Refunded",
			"ELM", head+"\n2026-01-31,Dot Elm,dot@example.org,1 Mill Lane,Riverton,20,check,Food,Succeeded,first\n")
		_, row := firstRow(t, words.Replace(c.File))
		_, other := firstRow(t, words.Replace(c.Other))
		assert.Equal(t, row.Key() == other.Key(), c.Row, "%s: the same row", c.Other)
		assert.Equal(t, row.LastingKey() == other.LastingKey(), c.Gift, "%s: the same gift", c.Other)
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

// TestRowsHaveReferences: they are those of earlier versions, and rows that say the same are counted.
func TestRowsHaveReferences(t *testing.T) {
	t.Parallel()
	_, row := firstRow(t, `{"amount":5,"note":"x"}`)
	_, known := firstRow(t, "amount,date,method,contact_id,fee,fee_covered\n5,2026-01-31,cash,7,1,0.5\n")
	sum := sha256.Sum256([]byte("amount=1:5;contact_id=1:7;fee=1:1;fee_covered=3:0.5;method=4:cash;transacted_at=10:2026-01-31;"))
	key := known.Key()
	assert.Equal(t, key, RowKey(sum[:16]), "a row that an earlier version has recorded")
	seen := make(map[RowKey]int)
	give := func(row *GiftRow) string {
		assert.Succeed(t, row.GiveReference(func(key RowKey) (int, error) {
			seen[key]++
			return seen[key] - 1, nil
		}))
		return *row.ExternalID
	}
	later, first := give(known), give(row)
	assert.Equal(t, strings.HasPrefix(first, "import:"), true, "%s", first)
	assert.Equal(t, give(row), first+":2")
	assert.Equal(t, row.FromRow, true)
	assert.Equal(t, known.Filed.Earlier, "import:"+hex.EncodeToString(key[:]), "an earlier version's reference")
	assert.Equal(t, later != known.Filed.Earlier, true, "%s", later)
}
