package book

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/sheet"
	"donorbook/internal/db"
	"donorbook/internal/store/contacts"
	"donorbook/internal/store/jobs"
)

// TestPeopleOfOtherSystems: files of contacts of other systems are imported without mapping by hand: people and companies, who must not be reached how, old
// ids, what is left out and the columns that are not known are what a person finds in the file. The same file again makes nothing new.
func TestPeopleOfOtherSystems(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for _, want := range peopleOfSystems {
			text := must(os.ReadFile("testdata/people/" + want.file + ".csv"))(t)
			account := newAccount(t, s).Number
			rows := openTable(t, string(text))
			spec := importOf(rows, jobs.MergeExisting)
			spec.Mapping = sheet.Contacts.Recognize(rows.Header(), nil, lookAt(t, string(text)))
			var unknown []string
			for _, c := range spec.Mapping {
				if c.Unknown {
					unknown = append(unknown, c.Name)
				}
			}
			tried := tryFile(t, s, account, string(text))
			im, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, true, func(jobs.ImportProgress) {})
			if err != nil {
				t.Fatal(want.file, err)
			}
			if im.Progress.ImportCounts != want.counts || tried.Created != want.counts.Created || tried.OtherName != want.counts.OtherName || tried.LeftOut != want.counts.LeftOut {
				t.Errorf("%s: imported %+v, want %+v; the dry run says %+v", want.file, im.Progress.ImportCounts, want.counts, tried)
			}
			people := toldPeople(t, s, account)
			if diff := cmp.Diff(want.people, people); diff != "" {
				t.Errorf("%s: want (-), contacts (+):\n%s", want.file, diff)
			}
			if diff := cmp.Diff(want.left, toldRows(t, s, &im)); diff != "" {
				t.Errorf("%s: want (-), left out or rejected (+):\n%s", want.file, diff)
			}
			if diff := cmp.Diff(want.unknown, strings.Join(unknown, ", ")); diff != "" {
				t.Errorf("%s: want (-), unknown columns (+):\n%s", want.file, diff)
			}
			again := importOnce(t, s, account, string(text))
			if kept := want.counts.Rows - want.counts.Rejected; again.Created != 0 || again.Merged+again.Unchanged != kept || !slices.Equal(toldPeople(t, s, account), people) {
				t.Errorf("%s: the same file again gives %+v", want.file, again)
			}
		}
		checked(t, s)
	})
}

// toldPeople is each contact in one line: what it is called, how it is reached and how not, and its old ids.
func toldPeople(t testing.TB, s *Book, account int64) (all []string) {
	t.Helper()
	succeed(t, s.Db.LongView(t.Context(), func(c db.Conn) error {
		return contacts.EachStored(c, account, func(row *contacts.Stored) error {
			c := &row.Contact
			name := strings.Join(strings.Fields(strings.Join([]string{c.Prefix, c.FirstName, c.MiddleName, c.LastName, c.Suffix}, " ")), " ")
			told := []string{name, c.Title, c.Company, c.Salutation, born(c.DOB)}
			if c.IsCompany {
				told[2] += " (company)"
			}
			for _, list := range [][]crm.Typed{c.Emails, c.Phones} {
				for _, one := range list {
					told = append(told, one.Value)
				}
			}
			for _, a := range c.Addresses {
				told = append(told, a.Line1+" "+a.Line2+" "+a.City+" "+a.State+" "+a.Country)
			}
			for _, id := range c.ExternalIDs {
				told = append(told, id.Written())
			}
			told = append(append(told, c.Tags...), c.Note)
			told = append(told, slices.DeleteFunc(c.Marked(), func(mark string) bool { return mark == crm.Company })...)
			all = append(all, strings.Join(slices.DeleteFunc(told, func(said string) bool { return said == "" }), " | "))
			return row.Damage
		}, func() error { return nil })
	}))
	return all
}

// toldRows are the values of an import that were left out, and its rejected rows.
func toldRows(t testing.TB, s *Book, im *jobs.Import) (all []string) {
	t.Helper()
	succeed(t, s.NotedRows(t.Context(), im, func(row jobs.TrialRow) error {
		for _, left := range row.LeftOut {
			all = append(all, fmt.Sprintf("%d %s=%s", row.Line, left.Column, left.Value))
		}
		if row.Outcome == jobs.RowRejected {
			all = append(all, fmt.Sprintf("%d rejected", row.Line))
		}
		return nil
	}))
	return all
}

// peopleOfSystems is what a person finds in the files.
var peopleOfSystems = []struct {
	file    string
	counts  jobs.ImportCounts
	people  []string
	left    []string // values that are left out and rows that are rejected
	unknown string
}{
	{
		file: "givebutter", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, LeftOut: 1, Marked: 1},
		people: []string{
			"Ms. Ana Maria Lopez | Owner | Lopez Bakery | 1980-01-31 | ana@example.org | ana.lopez@example.com | bakery@example.com | (212) 555-0123 | 212-555-0144 | 12 Main Street Apt 4 Springfield IL USA | Givebutter:20148812 | Volunteer | Gala 2024 | Met at the gala.",
			"Luis Lopez Jr. | ana@example.org | (212) 555-0123 | 12 Main Street Apt 4 Springfield IL USA | Givebutter:20148813 | import:A-7 | do_not_mail | do_not_email | do_not_call",
			"Carla Lopez | (212) 555-0123 | 12 Main Street Apt 4 Springfield IL USA | Givebutter:20148814",
			"Harbor Foundation (company) | grants@harbor.example.org | 1 Pier  Boston MA USA | Givebutter:20148815",
			"Dr. Mei Ng | Givebutter:20148816 | import:B-9",
		},
		left:    []string{"3 Date of Birth=04/17"},
		unknown: "Gender, Contact Since",
	},
	{
		file: "bloomerang", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, LeftOut: 2, Marked: 2},
		people: []string{
			"Mrs. Grace H. Kim | Director | City Library | 1975-03-14 | grace@example.org | (415) 555-0171 | 7 Hill Road  Oakland CA USA | Bloomerang:1001 | Board | Volunteers | do_not_mail | do_not_email | do_not_call",
			"Mr. Harold Kim Sr. | (415) 555-0171 | 7 Hill Road  Oakland CA USA | Bloomerang:1002 | do_not_mail | do_not_call | deceased",
			"The Kim Household | (415) 555-0171 | 7 Hill Road  Oakland CA USA | Bloomerang:1003",
			"Tom Reed | Bay Grocers (company) | tom@bay.example.org | (415) 555-0180 | 9 Pier  Oakland CA USA | Bloomerang:1004",
			"Ida Moe | ida@example.org | Bloomerang:1005",
		},
		left:    []string{"6 Type=Trust", "6 Account Status=Inactive"},
		unknown: "Informal Name, Formal Name, Envelope Name, Recognition Name, Website, Gender",
	},
	{
		file: "littlegreenlight", counts: jobs.ImportCounts{Rows: 4, Created: 4, OtherName: 1, LeftOut: 2, Marked: 2},
		people: []string{
			"Mrs. Ann Tate | Dear Ann | 1960-05-01 | ann@example.org | ann@work.example.org | 603-555-0101 | 603-555-0102 | 5 Elm Street  Keene NH USA | Little Green Light:11 | import:A-11 | Friends | do_not_email | do_not_call",
			"Mr. Bob Tate | Dear Bob | 603-555-0101 | 5 Elm Street  Keene NH USA | Little Green Light:12 | deceased",
			"Elm Diner (company) | diner@example.org | 603-555-0110 | 8 Elm Street  Keene NH USA | Little Green Light:13 | Business | do_not_mail",
			"Cal Urban | Little Green Light:14",
		},
		left:    []string{"5 Constituent Type=Foo", "5 Birthday=05/01"},
		unknown: "Nickname, Spouse Name, Addressee, Annual Report Name, Gender",
	},
	{
		file: "donorperfect", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, LeftOut: 1, Marked: 2},
		people: []string{
			"Mr. Fred Abt | Plumber | Fred | 1955-07-04 | fred@example.org | 518-555-0101 | 518-555-0102 | 518-555-0103 | 1 Oak Road Unit 2 Albany NY USA | DonorPerfect:301 | Likes trees.",
			"Mrs. Gia Abt | Gia | 518-555-0101 | 1 Oak Road Unit 2 Albany NY USA | DonorPerfect:302 | do_not_email",
			"Mr. Otto Abt | Otto | fred@example.org | 518-555-0101 | 1 Oak Road Unit 2 Albany NY USA | DonorPerfect:303 | do_not_mail | deceased",
			"Oak Hardware (company) | Friends | shop@example.org | 518-555-0120 | 3 Oak Road  Albany NY USA | DonorPerfect:304",
			"Hal Bock | hal@example.org | DonorPerfect:305",
		},
		left:    []string{"6 DONOR_TYPE=VOL"},
		unknown: "NICKNAME, GENDER, OPT_LINE, FAX_PHONE, NOMAIL_REASON",
	},
	{
		file: "salesforce", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, Marked: 3},
		people: []string{
			"Ms. Priya Shah | VP Finance | Pri | 1979-11-05 | priya@example.org | priya@work.example.com | (312) 555-0161 | (312) 555-0162 | 400 Lake Street Floor 12 Chicago IL USA | 18 Strand Greater London London  GBR | Salesforce:0035g00000AbCdE | Board member",
			"Mr. Arun Shah | (312) 555-0161 | 400 Lake Street  Chicago IL USA | Salesforce:0035g00000AbCdF | do_not_email",
			"Dr. Wade Boggs III | Dean | Lake College | wade@lake.example.org | (312) 555-0170 | Salesforce:0035g00000AbCdG | do_not_call",
			"Ruth Kaye | ruth@example.org | Salesforce:0035g00000AbCdH | do_not_mail | do_not_email | do_not_call",
			"Sol Kaye | ruth@example.org | Salesforce:0035g00000AbCdJ | deceased",
		},
		unknown: "Nickname, Gender, Preferred Phone, Preferred Email, Lead Source",
	},
	{
		file: "civicrm", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, Marked: 3},
		people: []string{
			"Mr. Chidi Okafor | Teacher | Dear Chidi | 1988-07-09 | chidi@example.org | 503-555-0109 | 221B Baker Lane Floor 2 Portland OR USA | CiviCRM:202 | import:X-202 | Newsletter | Volunteers | Major Donor | Prefers letters.",
			"Mrs. Ada Okafor | Dear Ada | 503-555-0109 | 221B Baker Lane Floor 2 Portland OR USA | CiviCRM:203 | do_not_mail | do_not_call",
			"Okafor household | 503-555-0109 | 221B Baker Lane Floor 2 Portland OR USA | CiviCRM:204",
			"Lincoln School (company) | office@lincoln.example.org | 1 School Road  Portland OR USA | CiviCRM:205 | do_not_email",
			"Mei Ng | mei@example.org | CiviCRM:206 | do_not_email | deceased",
		},
		unknown: "Contact Subtype, Do Not Trade, Nickname, Display Name, Preferred Language, Household Name, Addressee, Gender, Current Employer",
	},
	{
		file: "raisersedge", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 2, LeftOut: 2, Marked: 3},
		people: []string{
			"Mr. Kai Ebert | Judge | Mr. Ebert | 1952-02-29 | kai@example.org | kai2@example.org | 843-555-0101 | 843-555-0102 | 4 Bluff Way  Charleston SC USA | Raiser's Edge:C-1 | do_not_mail | do_not_call",
			"Mrs. Lea Ebert | Mrs. Ebert | kai@example.org | 843-555-0101 | 4 Bluff Way  Charleston SC USA | Raiser's Edge:C-2 | do_not_email",
			"Mr. Max Ebert | 843-555-0101 | 4 Bluff Way  Charleston SC USA | Raiser's Edge:C-3 | do_not_mail | do_not_email | do_not_call | deceased",
			"Bluff Foundation (company) | Friends | office@bluff.example.org | 843-555-0110 | 9 Bluff Way  Charleston SC USA | Raiser's Edge:C-4",
			"Ms. Noa Falk | noa@example.org | Raiser's Edge:C-5",
		},
		left:    []string{"6 Solicit codes=Yearly appeal only", "6 Home phone=unlisted"},
		unknown: "Nickname, Gender, Inactive, Addressee, Constituent codes",
	},
	{
		file: "stripe", counts: jobs.ImportCounts{Rows: 5, Created: 4, Merged: 1, OtherName: 1},
		people: []string{
			"Kay Doe | kay@example.org | +15125550188 | 1 First Street Apt 2 Austin TX USA | Stripe:cus_1 | Monthly gift",
			"Leo Doe | kay@example.org | +15125550188 | 1 First Street Apt 2 Austin TX USA | Stripe:cus_2",
			"Mia Day | mia@example.org | Stripe:cus_3 | Stripe:cus_4",
			"Madonna | info@example.org | Stripe:cus_5",
		},
		unknown: "Created (UTC), Delinquent, Currency, Card Brand, Card Last4, Total Spend, Payment Count",
	},
	{
		file: "paypal", counts: jobs.ImportCounts{Rows: 5, Created: 3, Unchanged: 1, Rejected: 1, OtherName: 1},
		people: []string{
			"Tia Bell | tia@example.org | 775-555-0101 | 2 Bay Street Unit 3 Reno NV USA",
			"Uli Bell | tia@example.org | 775-555-0101 | 2 Bay Street Unit 3 Reno NV USA",
			"Vic Cole | vic@example.org",
		},
		left:    []string{"6 rejected"},
		unknown: "Date, Time, TimeZone, Status, Currency, Gross, Fee, Net, To Email Address, Transaction ID, Shipping Address, Address Status, Subject, Country Code, Balance Impact",
	},
	{
		file: "donorbox", counts: jobs.ImportCounts{Rows: 5, Created: 5, OtherName: 1, LeftOut: 2, Marked: 4},
		people: []string{
			"Abe Igel | Miller | Fir Mill | 1970-02-03 | abe@example.org | abe2@example.org | (503) 555-0140 | 6 Fir Street  Salem OR USA | Donorbox:71 | Trees | Likes trees.",
			"Bea Igel | abe@example.org | (503) 555-0140 | 6 Fir Street  Salem OR USA | Donorbox:72 | do_not_email",
			"Cem Jung | cem@example.org | Donorbox:73 | do_not_mail | do_not_email | do_not_call",
			"Fir Mill (company) | mill@example.org | 7 Fir Street  Salem OR USA | Donorbox:74 | do_not_email",
			"Dora Koch | Donorbox:75 | do_not_email | deceased",
		},
		left:    []string{"3 Date of Birth=02/03", "4 Phone=x"},
		unknown: "Nickname, Organization, Total Donated",
	},
}

func born(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(time.DateOnly)
}

// TestANameThatAnExternalIDOverrulesIsListed: the row is about the contact with its external id and its email, whose name stays, and the name of the file is told.
func TestANameThatAnExternalIDOverrulesIsListed(t *testing.T) {
	const file = "Donor ID,First name,Last name,Title,Email\n7,Ana,Ruiz,,ana@example.org\n8,Ben,King,,\n"
	const later = "Donor ID,First name,Last name,Title,Email\n7,Ana,King,Head,ana@example.org\n8,B.,King,,\n"
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		importOnce(t, s, account, file)
		if tried := tryFile(t, s, account, later); tried.LeftOut != 1 || tried.Merged != 1 {
			t.Errorf("the dry run tells %+v", tried)
		}
		rows := openTable(t, later)
		im, _ := must2(s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 0, true, func(jobs.ImportProgress) {}))(t)
		if diff := cmp.Diff([]string{"2 Name=Ana King"}, toldRows(t, s, &im)); diff != "" || im.Progress.LeftOut != 1 || im.Progress.OtherName != 0 {
			t.Errorf("the import says %+v, and lists:\n%s", im.Progress.ImportCounts, diff)
		}
		if people := toldPeople(t, s, account); !slices.Equal(people, []string{"Ana Ruiz | Head | ana@example.org | import:7", "Ben King | import:8"}) {
			t.Errorf("the contacts are %q", people)
		}
	})
}

// TestGenderAndNicknameBecomeCustomFields: where a person wants that, with titles that people read, whatever the file writes. The next file finds them.
func TestGenderAndNicknameBecomeCustomFields(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		for _, file := range []string{"donorperfect", "civicrm"} {
			text, err := os.ReadFile("testdata/people/" + file + ".csv")
			if err != nil {
				t.Fatal(err)
			}
			fields, err := s.CustomFields(t.Context(), account)
			if err != nil {
				t.Fatal(err)
			}
			rows := openTable(t, string(text))
			spec := importOf(rows, jobs.MergeExisting)
			spec.Mapping = sheet.Contacts.WithUnknown(sheet.Contacts.Recognize(rows.Header(), fields, nil), fields, func(int) []string { return []string{"some"} })
			if spec.Mapping, spec.Fields, err = s.MakeFields(t.Context(), account, spec.Mapping); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.ImportFile(t.Context(), account, rows, spec, 0, true, func(jobs.ImportProgress) {}); err != nil {
				t.Fatal(err)
			}
		}
		fields, err := s.CustomFields(t.Context(), account)
		if err != nil {
			t.Fatal(err)
		}
		for title, want := range map[string][]string{"Nickname": {"Freddy", "Chi"}, "Gender": {"M", "Male"}} {
			f := fields.ByTitle(title)
			if f == nil || f.Title != title {
				t.Fatalf("the field is %+v", f)
			}
			for i, seq := range []int64{1, 6} {
				if c := recordOf(t, s, account, doc.MakeID(account, seq)); c.CustomValue(f.ID).Text() != want[i] {
					t.Errorf("%s of %s is %q", title, c.FirstName, c.CustomValue(f.ID).Text())
				}
			}
		}
	})
}
