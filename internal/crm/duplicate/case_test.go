package duplicate

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/crm/crmtest"
	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

// contactOf makes a contact: "first | last | middle | emails | phones | street, city, ZIP | birth date".
func contactOf(t *testing.T, line string) Record {
	t.Helper()
	cells := strings.Split(line+strings.Repeat("|", 6), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	c := crm.Contact{FirstName: cells[0], LastName: cells[1], MiddleName: cells[2]}
	if c.FirstName == "company" {
		c.FirstName, c.LastName, c.Company, c.IsCompany = "", "", cells[1], true
	}
	for _, cell := range cells[3:5] {
		for value := range strings.SplitSeq(cell, ";") {
			if value == "" {
				continue
			}
			key, ok := crm.MatchKey(value, "US")
			if !ok {
				t.Fatalf("%s is neither an email nor a phone", value)
			}
			c.MatchKeys = append(c.MatchKeys, key)
		}
	}
	if parts := strings.Split(cells[5], ","); len(parts) == 3 {
		c.Addresses = []crm.Address{{Line1: strings.TrimSpace(parts[0]), City: strings.TrimSpace(parts[1]),
			Zipcode: strings.TrimSpace(parts[2])}}
	}
	c.DOB, _ = time.Parse(time.DateOnly, cells[6])
	return Of(&c)
}

// rowOf is a made-up contact.
func rowOf(row crmtest.HouseholdRow) Record {
	c := crm.Contact{FirstName: row[2], MiddleName: row[3], LastName: row[4],
		Addresses: []crm.Address{{Line1: row[7], City: row[8], Zipcode: row[10], Country: row[11]}}}
	for _, value := range row[5:7] {
		if key, ok := crm.MatchKey(value, "US"); ok {
			c.MatchKeys = append(c.MatchKeys, key)
		}
	}
	c.DOB, _ = time.Parse(time.DateOnly, row[12])
	return Of(&c)
}

// What a person who looks at two contacts would say, each among some thousand others.
func TestFinderTellsPeopleApart(t *testing.T) {
	tests := rows.Of[struct {
		Name, A, B string
		Want       []string
		Says       string // one of the reasons, or of what speaks against it
	}](`
		Tom with the phone of Thomas  Tom|Vandermeer||tvm@x.example|212 555 7101  Thomas|Vandermeer|||212 555 7101  sure likely  Tom is short for Thomas
		the same in all but letter case  ANA|QUISPE||ana@quispe.example|212 555 7102|5 Elm St, Salem, 97301  Ana|Quispe||ana@quispe.example|212 555 7102|5 Elm Street, Salem, 97301  sure    same email
		a mistyped last name  Irene|Kowalczyk||irene@k.example||9 Oak Ave, Salem, 97302  Irene|Kowalczky||irene@k.example||9 Oak Avenue, Salem, 97302  sure    last names differ by a letter
		another form of a name, and one phone  Thomas|Vandersloot|||212 555 7151  Tomás|Vandersloot|||212 555 7151  sure likely  first names are forms of one name
		two short forms of one name  Peggy|Hollingshead||ph@x.example|212 555 7152  Peg|Hollingshead||ph@x.example|212 555 7152  sure likely  first names are forms of one name
		a short form that is another name, too  Jessie|Macalister||jm@x.example|212 555 7153  Janet|Macalister||jm@x.example|212 555 7153  sure likely  Jessie is short for Janet
		letters that a scanner confused  Harold|Pennington||||12 Elm St, Salem, 97301|1951-02-03  Mrrold|Fewwington||||12 Elm St, Salem, 97301|1951-02-03  sure likely  first names differ by a letter
		a person who has moved  Greta|Holmqvist||greta.h@x.example||1 Pine Rd, Salem, 97303  Greta|Holmqvist||greta.h@x.example||88 Lake Dr, Austin, 78701  sure likely  same email
		names in the wrong cells  Delphine|Abernathy||delphine@x.example|212 555 7103  Abernathy|Delphine||delphine@x.example|212 555 7103  sure likely  first and last name are swapped
		a name by marriage  Rosalind|Achterberg||rosalind.a@x.example|212 555 7104||1971-03-04  Rosalind|Fitzwilliam||rosalind.a@x.example|212 555 7104||1971-03-04  sure likely  same date of birth
		a double name  Paula|Eriksen-Boyd||paula.e@x.example|212 555 7105  Paula|Eriksen||paula.e@x.example|212 555 7105  sure likely  last names share a part
		an initial  M.|Oyelaran||moyela@x.example||3 Hill Ct, Salem, 97304  Modupe|Oyelaran||moyela@x.example||3 Hill Ct, Salem, 97304  sure likely possible  same initial
		Mary Ann and Maryann  Mary Ann|Tolliver|||212 555 7106|4 Mill Ln, Salem, 97305  Maryann|Tolliver|||212 555 7106|4 Mill Ln, Salem, 97305  sure likely  same first name
		letters that are not Latin  Мария|Иванова|||212 555 7107|7 Lake St, Salem, 97306  Мария|Ивонова|||212 555 7107|7 Lake St, Salem, 97306  sure likely  last names differ by a letter
		no first name  Unknown|Szymborska||w.sz@x.example|212 555 7108  Wisława|Szymborska||w.sz@x.example|212 555 7108  sure likely possible  same email
		a rare name and nothing else  Leocadia|Wojtkowska|Marianna  Leocadia|Wojtkowska|Marianna||212 555 7109  likely  same middle name
		the second email and the third phone  Bronwen|Llewellyn||b@one.example;b@two.example|212 555 7140  Bronwen|Llewellyn||b@two.example;b@zero.example|212 555 7141;212 555 7142;212 555 7140  sure    same phone
		a company with its phone  company|Harbor Light Foundation|||212 555 7110|1 Pier Rd, Salem, 97301  company|Harbor Light Foundation, Inc.|||212 555 7110|1 Pier Road, Salem, 97301  sure likely  same company name
		spouses  Hilda|Brandvold||brandvold@x.example|212 555 7120|2 Elm St, Salem, 97301  Arne|Brandvold||brandvold@x.example|212 555 7120|2 Elm St, Salem, 97301  none    different first names
		twins    Lena|Oduya|||212 555 7121|3 Elm St, Salem, 97301|2001-05-06  Nora|Oduya|||212 555 7121|3 Elm St, Salem, 97301|2001-05-06  none    different first names
		Paul and Paula  Paul|Vestergaard|||212 555 7130|8 Elm St, Salem, 97301  Paula|Vestergaard|||212 555 7130|8 Elm St, Salem, 97301  none possible  similar first names
		Stephen and Stephanie  Stephen|Ostrowski|||212 555 7131|9 Elm St, Salem, 97301  Stephanie|Ostrowski|||212 555 7131|9 Elm St, Salem, 97301  none    different first names
		John A. and John B.  John|Petrossian|A.||212 555 7132|10 Elm St, Salem, 97301  John|Petrossian|B.||212 555 7132|10 Elm St, Salem, 97301  none possible likely  different middle initials
		father and son  Robert|Quillfeather Sr.|||212 555 7122|4 Elm St, Salem, 97301  Robert|Quillfeather Jr.|||212 555 7122|4 Elm St, Salem, 97301  none possible  different suffixes
		a father and a son with other birthdays  Walter|Nordquist|||212 555 7123|5 Elm St, Salem, 97301|1941-01-02  Walter|Nordquist|||212 555 7123|5 Elm St, Salem, 97301|1972-08-09  none possible likely  different dates of birth
		a landline that two people share  Yusuf|Demirel|||212 555 7124  Carla|Bianchi|||212 555 7124  none    ""
		an office that two people work in  Gwen|Ashdown||info@harbor.example  Peter|Ashdown||info@harbor.example  none    same office email
		gifts without a name  Anonymous|Donor  Anonymous|Donor  none    ""
		a common name and nothing else  Linda|Smith||linda@one.example  Linda|Smith||linda@two.example  none possible  ""
		a couple and one of them  John & Mary|Tuckerfield|||212 555 7125|6 Elm St, Salem, 97301  John|Tuckerfield|||212 555 7125|6 Elm St, Salem, 97301  none    different first names
		a company and who works there  company|Second Harvest Bakery|||212 555 7126  Second|Harvest|||212 555 7126  none    ""
		neighbors in a house of flats  Dorothea|Lindqvist||||7 Elm St Apt 3, Salem, 97301|1950-01-01  Dora|Lindgren||||7 Elm St Apt 9, Salem, 97301|1988-04-04  none    same building
	`)
	var f Finder
	n := int64(0)
	for row := range crmtest.Households(7, 3000) {
		r := rowOf(row)
		f.Add(n, &r)
		n++
	}
	pairs := make([][2]Record, len(tests))
	for i, test := range tests {
		pairs[i] = [2]Record{contactOf(t, test.A), contactOf(t, test.B)}
		f.Add(n+int64(2*i), &pairs[i][0])
		f.Add(n+int64(2*i)+1, &pairs[i][1])
	}
	found := make(map[int64]Found)
	model := assert.Must(f.Run(context.Background(), func(float64) {}, func(x Found) error {
		if a := min(x.A, x.B); a >= n && (a-n)%2 == 0 && max(x.A, x.B) == a+1 {
			found[(a-n)/2] = x
		}
		return nil
	}))(t)
	for i, test := range tests {
		got, compared := found[int64(i)], model.Compare(&pairs[i][0], &pairs[i][1])
		if !slices.Contains(test.Want, cmp.Or(string(got.Level), "none")) {
			t.Errorf("%s: %q (%.4f), want one of %q: %q, against %q", test.Name, got.Level, compared.Probability,
				test.Want,
				compared.Reasons, compared.Against)
		}
		if test.Says != "" && !slices.Contains(append(compared.Reasons, compared.Against...), test.Says) {
			t.Errorf("%s: the reasons are %q and %q, and do not say %q", test.Name, compared.Reasons, compared.Against,
				test.Says)
		}
	}
}
