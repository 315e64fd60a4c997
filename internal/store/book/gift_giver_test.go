package book

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm"
	"donorbook/internal/store/gifts"
	"donorbook/internal/store/jobs"
)

// giverFiles are files of gifts, each of an account that has the contacts of a file before, and whose gifts they are.
var giverFiles = []struct {
	name, contacts, gifts string
	byName                bool
	otherName             jobs.ImportMode
	counts                jobs.ImportCounts
	people                []string // with their ids elsewhere, the number of their gifts and what they gave
}{
	{
		name: "the id comes before the email and the phone, a new contact keeps it, and no one gives for a person of another name",
		contacts: "Account Number,First Name,Last Name,Email,Phone\n" +
			"1,Ana,Ruiz,ana@example.org,617-555-0100\n2,Juan,Ruiz,,617-555-0100\n",
		gifts: "Account Number,Name,Email,Phone,Amount,Date\n" +
			"2,J Ruiz,ana@example.org,,10,2026-01-01\n1,Ana Married,,,20,2026-01-02\n,,ana@example.org,,5,2026-01-03\n,,,617-555-0100,1,2026-01-04\n" +
			"3,Zoe Okafor,zoe@example.org,,40,2026-01-05\n3,,,,50,2026-01-06\n3,Zoe Okafor,,,60,2026-01-07\n4,Ben King,,,70,2026-01-08\n4,Ben King,,,80,2026-01-09\n" +
			"5,Carla Ruiz,ana@example.org,,90,2026-01-10\n6,Ana Ruiz,ana@example.org,,2,2026-01-11\n9,,,,100,2026-01-12\n,Zed Other,ana@example.org,,3,2026-01-13\n",
		counts: jobs.ImportCounts{Rows: 13, Created: 13, Contacts: 6, OtherName: 3},
		people: []string{"Ana Ruiz [import:1 import:6]: 3 gifts, 8.00", "Juan Ruiz [import:2]: 1 gifts, 10.00", "Ana Married []: 1 gifts, 20.00", "Zoe Okafor [import:3]: 3 gifts, 150.00",
			"Ben King [import:4]: 2 gifts, 150.00", "Carla Ruiz [import:5]: 1 gifts, 90.00", " [import:9]: 1 gifts, 100.00", "Zed Other []: 1 gifts, 3.00"},
	},
	{
		name:     "a company, whose name is read as that of a person",
		contacts: "Account Number,Type,First Name,Last Name,Company\n1,Company,,,Acme Foundation\n",
		gifts:    "Account Number,Name,Amount,Date\n1,Acme Foundation,10,2026-01-01\n1,Acme Foundation,20,2026-01-02\n",
		counts:   jobs.ImportCounts{Rows: 2, Created: 2},
		people:   []string{"Acme Foundation [import:1]: 2 gifts, 30.00"},
	},
	{
		name:     "people who share an email, a phone or an id each give for themselves",
		contacts: households, gifts: householdGifts,
		counts: jobs.ImportCounts{Rows: 13, Created: 13, Contacts: 5, OtherName: 5},
		people: []string{"Ada Byron [import:1]: 4 gifts, 788.00", "Juan Ruiz [import:2]: 1 gifts, 128.00", "William King []: 2 gifts, 3.00", "Ada Lovelace []: 1 gifts, 8.00", "Bob King []: 2 gifts, 96.00",
			"Bob Ford []: 2 gifts, 3072.00", "Bob Lee []: 1 gifts, 4096.00"},
	},
	{
		name:     "the person who imports says that they are gifts of the contact",
		contacts: households, gifts: householdGifts, otherName: jobs.MergeExisting,
		counts: jobs.ImportCounts{Rows: 13, Created: 13, OtherName: 7},
		people: []string{"Ada Byron [import:1]: 7 gifts, 799.00", "Juan Ruiz [import:2]: 6 gifts, 7392.00"},
	},
	{
		name:     "the person who imports leaves such rows out",
		contacts: households, gifts: householdGifts, otherName: jobs.SkipExisting,
		counts: jobs.ImportCounts{Rows: 13, Created: 5, Skipped: 8, OtherName: 8},
		people: []string{"Ada Byron [import:1]: 4 gifts, 788.00", "Juan Ruiz [import:2]: 1 gifts, 128.00"},
	},
	{
		name:     "companies",
		contacts: "Type,First Name,Last Name,Company,Email\nCompany,,,Acme Foundation,info@example.org\nIndividual,Ana,Ruiz,,ana@example.org\n",
		gifts: "Company,Name,Donor Type,Email,Amount,Date\nAcme Foundation,,,info@example.org,1,2026-01-01\n,Acme Foundation,,info@example.org,2,2026-01-02\n,Acme  foundation,Organization,info@example.org,4,2026-01-03\n" +
			"Ruiz Ltd,,,ana@example.org,8,2026-01-04\nRUIZ LTD.,,,ana@example.org,16,2026-01-05\nRuiz Ltd,Ana Ruiz,,ana@example.org,32,2026-01-06\n,Smith and Sons,Business,,64,2026-01-07\n" +
			"Smith and Sons,,,,128,2026-01-08\nSmith and Sons,Jo Smith,Foundation,,256,2026-01-09\n,Zoe Okafor,Alumni,zoe@example.org,512,2026-01-10\nNew Corp,,,new@example.org,1024,2026-01-11\n",
		counts: jobs.ImportCounts{Rows: 11, Created: 11, Contacts: 4, OtherName: 1, LeftOut: 1}, // an alumni is neither
		people: []string{"Acme Foundation []: 3 gifts, 7.00", "Ana Ruiz []: 1 gifts, 32.00", "Ruiz Ltd []: 2 gifts, 24.00", "Smith and Sons []: 3 gifts, 448.00", "Zoe Okafor []: 1 gifts, 512.00", "New Corp []: 1 gifts, 1024.00"},
	},
	{
		name:   "a plan elsewhere keeps its giver, and a gift of another one is recorded without it",
		gifts:  planGifts,
		counts: jobs.ImportCounts{Rows: 9, Created: 9, Contacts: 3, LeftOut: 2},
		people: []string{"Ada Byron []: 4 gifts, 15.00", "Bob King []: 2 gifts, 48.00", "Bob King []: 3 gifts, 448.00"},
	},
	{
		name:     "a system that only one of the files names",
		contacts: "LGL Constituent ID,First Name,Last Name\n11,Ana,Ruiz\n12,Ben,King\n",
		gifts:    "Constituent ID,Name,Amount,Date\n11,Ana Ruiz,10,2026-01-01\n12,,20,2026-01-02\n13,Zoe Okafor,30,2026-01-03\n13,Zoe Okafor,40,2026-01-04\n",
		counts:   jobs.ImportCounts{Rows: 4, Created: 4, Contacts: 1},
		people:   []string{"Ana Ruiz [Little Green Light:11]: 1 gifts, 10.00", "Ben King [Little Green Light:12]: 1 gifts, 20.00", "Zoe Okafor [import:13]: 2 gifts, 70.00"},
	},
	{
		name:     "an id that two systems have is not guessed",
		contacts: "LGL Constituent ID,Salesforce Contact ID,First Name,Last Name\n11,,Ana,Ruiz\n,11,Ben,King\n",
		gifts:    "Constituent ID,Name,Amount,Date\n11,Ana Ruiz,10,2026-01-01\n11,Ana Ruiz,20,2026-01-02\n",
		counts:   jobs.ImportCounts{Rows: 2, Created: 2, Contacts: 1},
		people:   []string{"Ana Ruiz [Little Green Light:11]: 0 gifts, 0.00", "Ben King [Salesforce:11]: 0 gifts, 0.00", "Ana Ruiz [import:11]: 2 gifts, 30.00"},
	},
	{
		name:     "ids alone, of files whose contacts came before",
		contacts: "Contact ID,First Name,Last Name\n0035g00000AbCdE,Priya,Shah\n77,Ben,King\n",
		gifts:    "Contact ID,Amount,Date\n0035g00000AbCdE,10,2026-01-01\n77,20,2026-01-02\n77,20,2026-01-02\n",
		counts:   jobs.ImportCounts{Rows: 3, Created: 3},
		people:   []string{"Priya Shah [import:0035g00000AbCdE]: 1 gifts, 10.00", "Ben King [import:77]: 2 gifts, 40.00"},
	},
	{
		name:     "a primary contact that is an id",
		contacts: "Contact ID,First Name,Last Name\n0035g00000AbCdE,Priya,Shah\n",
		gifts:    "Primary Contact,Amount,Date\n0035g00000AbCdE,10,2026-01-01\nAmir Shah,20,2026-01-02\n",
		counts:   jobs.ImportCounts{Rows: 2, Created: 2, Contacts: 1},
		people:   []string{"Priya Shah [import:0035g00000AbCdE]: 1 gifts, 10.00", "Amir Shah []: 1 gifts, 20.00"},
	},
	{
		name:     "names alone make one contact each, and find none",
		contacts: "First Name,Last Name\nAna,Ruiz\n",
		gifts: "Name,Amount,Date\nAna Ruiz,1,2026-01-01\nBen King,2,2026-01-01\nANA RUIZ,3,2026-01-02\nAna  Ruíz,4,2026-01-03\nBen King,x,2026-01-02\n" +
			"Zoe King,x,2026-01-02\nZoe King,5,2026-01-03\nZoe King,6,2026-01-04\nBen King,7,2026-01-05\nAnonymous,8,2026-01-06\n,9,2026-01-06\nAna Ruiz,1,2026-01-01\n",
		counts: jobs.ImportCounts{Rows: 12, Created: 10, Rejected: 2, Contacts: 4, Anonymous: 2},
		people: []string{"Ana Ruiz []: 0 gifts, 0.00", "Ana Ruiz []: 4 gifts, 9.00", "Ben King []: 2 gifts, 9.00", "Zoe King []: 2 gifts, 11.00", "Anonymous Donor [donorbook:anonymous]: 2 gifts, 17.00"},
	},
	{
		name: "gifts of people whom no one knows are those of one contact",
		gifts: "First Name,Last Name,Company,Email,Amount,Date\nAnonymous,,,,1,2026-01-01\nAnonymous,Donor,,,2,2026-01-02\n,,ANONYMOUS,,4,2026-01-03\nAnon.,,,,8,2026-01-04\n" +
			"Anonymous,Donor,,who@example.org,16,2026-01-05\nAnonymous,Okafor,,,32,2026-01-06\n",
		counts: jobs.ImportCounts{Rows: 6, Created: 6, Contacts: 3, Anonymous: 4},
		people: []string{"Anonymous Donor [donorbook:anonymous]: 4 gifts, 15.00", "Anonymous Donor []: 1 gifts, 16.00", "Anonymous Okafor []: 1 gifts, 32.00"},
	},
	{
		name: "names with addresses",
		gifts: "Name,Street,ZIP,Amount,Date\nAna Ruiz,1 Main St.,02139,1,2026-01-01\nAna Ruiz,9 Elm St,10001,2,2026-01-02\nAna Ruiz,,02139-1234,3,2026-01-03\n" +
			"Ana Ruiz,1 MAIN ST,,4,2026-01-04\nAna Ruiz,,,5,2026-01-05\nAna Ruiz,,,6,2026-01-06\nAna Ruiz,,10001,7,2026-01-07\n",
		counts: jobs.ImportCounts{Rows: 7, Created: 7, Contacts: 3},
		people: []string{"Ana Ruiz []: 3 gifts, 8.00", "Ana Ruiz []: 2 gifts, 9.00", "Ana Ruiz []: 2 gifts, 11.00"},
	},
	{
		name:     "without being asked, a name and an address find no contact",
		contacts: neighbors, gifts: neighborGifts,
		counts: jobs.ImportCounts{Rows: 11, Created: 11, Contacts: 10},
	},
	{
		name:     "a name and an address find the only contact that has them",
		contacts: neighbors, gifts: neighborGifts, byName: true,
		counts: jobs.ImportCounts{Rows: 11, Created: 11, Contacts: 5},
		people: []string{"Ana Ruiz [import:31]: 4 gifts, 15.00", "Sam Lee []: 0 gifts, 0.00", "Sam Lee []: 0 gifts, 0.00", "Zoe King [import:7]: 0 gifts, 0.00", "Tom Ford []: 1 gifts, 2048.00",
			"Ana Ruiz []: 1 gifts, 16.00", "Sam Lee []: 2 gifts, 96.00", "Zoe King [import:8]: 1 gifts, 128.00", "Ana Ruiz [import:32]: 1 gifts, 256.00", "Anne Ruiz []: 1 gifts, 512.00"},
	},
}

const (
	households = "Account Number,First Name,Last Name,Email,Phone\n1,Ada,Byron,ada@example.org,617-555-0100\n2,Juan,Ruiz,,617-555-0199\n"

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

// importInPieces imports a file of gifts by a run that ends after each unit and is begun again, as a server that is killed begins again.
func importInPieces(t *testing.T, s *Book, account int64, file string, choose ...func(*jobs.FileImport)) jobs.ImportProgress {
	t.Helper()
	for range 20 {
		ctx, stop := context.WithCancel(t.Context())
		rows := openTable(t, file)
		spec := giftImportOf(rows)
		for _, choice := range choose {
			choice(&spec)
		}
		im, _, err := s.ImportFile(ctx, account, rows, spec, 0, true, func(jobs.ImportProgress) { stop() })
		stop()
		if err == nil {
			return im.Progress
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	t.Fatal("it does not end")
	return jobs.ImportProgress{}
}

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

// Each gift of a file goes to the person who gave it: a dry run says how many contacts are new, the import makes as many however often it is interrupted, and
// the same file again makes none.
func TestGiftsOfAFileFindTheirGivers(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		for _, file := range giverFiles {
			account := newAccount(t, s).Number
			if file.contacts != "" {
				rows := openTable(t, file.contacts)
				if _, _, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 0, true, func(jobs.ImportProgress) {}); err != nil {
					t.Fatal(err)
				}
			}
			rows := openTable(t, file.gifts)
			choose := func(spec *jobs.FileImport) { spec.MatchNames, spec.OtherName = file.byName, file.otherName }
			spec := giftImportOf(rows)
			choose(&spec)
			tried, err := s.TryFile(t.Context(), account, rows, spec, func(jobs.TrialRow) error { return nil }, func(jobs.ImportCounts) {})
			if err != nil || tried.ImportCounts != file.counts {
				t.Errorf("%s: the dry run says %+v, %v, want %+v", file.name, tried.ImportCounts, err, file.counts)
			}
			done := importInPieces(t, s, account, file.gifts, choose)
			if done.ImportCounts != file.counts || done.Counted["USD"] != tried.Counted["USD"] {
				t.Errorf("%s: the import says %+v, want %+v; the dry run said %v", file.name, done, file.counts, tried.Counted)
			}
			people := giversOf(t, s, account)
			if diff := cmp.Diff(file.people, people); diff != "" && file.people != nil {
				t.Errorf("%s: want (-), got (+):\n%s", file.name, diff)
			}
			again := importInPieces(t, s, account, file.gifts, choose)
			if want := (jobs.ImportCounts{Rows: file.counts.Rows, Unchanged: file.counts.Created, Rejected: file.counts.Rejected, Skipped: file.counts.Skipped, OtherName: file.counts.Skipped}); again.ImportCounts != want {
				t.Errorf("%s: the same file again says %+v, want %+v", file.name, again.ImportCounts, want)
			}
			if diff := cmp.Diff(people, giversOf(t, s, account)); diff != "" {
				t.Errorf("%s: the same file again has changed:\n%s", file.name, diff)
			}
		}
		checked(t, s)
	})
}

// A longer file that has the rows of a file from before adds to the contacts that those rows have made. A row with the id of an archived contact is a gift of a new one.
func TestALongerFileKnowsItsGivers(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		file := "Name,Donor ID,Amount,Date\nAna Ruiz,,1,2026-01-01\nBen King,,2,2026-01-02\nZoe Okafor,5,4,2026-01-03\n"
		importInPieces(t, s, account, file)
		newest, _, err := s.ContactPage(t.Context(), account, crm.Active, crm.PageRequest{Page: 1, PerPage: 1})
		if err == nil {
			err = s.ArchiveContact(t.Context(), account, newest[0].ID)
		}
		if err != nil || newest[0].FirstName != "Zoe" {
			t.Fatal(newest, err)
		}
		file += "Ben King,,8,2026-01-04\nAna Ruiz,,16,2026-01-05\nZoe Okafor,5,32,2026-01-06\n"
		want := jobs.ImportCounts{Rows: 6, Created: 3, Unchanged: 3, Contacts: 1, LeftOut: 1}
		tried, told := imported(t, s, account, file, true)
		done := importInPieces(t, s, account, file)
		if tried != want || done.ImportCounts != want || done.Counted["USD"] != 5600 {
			t.Errorf("the dry run says %+v and %q, the import %+v, want %+v", tried, told, done, want)
		}
		if len(told) != 0 {
			t.Errorf("rejected are %q", told)
		}
		if diff := cmp.Diff([]string{"Ana Ruiz []: 2 gifts, 17.00", "Ben King []: 2 gifts, 10.00", "Zoe Okafor []: 1 gifts, 32.00"}, giversOf(t, s, account)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		checked(t, s)
	})
}

// The preview names each pair of people who share an email, a phone or an id, and each gift that comes without its plan; the import notes the same. The contacts
// of their own are found by the next file.
func TestGiversOfAnotherNameAreToldAndFoundAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *Book) {
		account := newAccount(t, s).Number
		rows := openTable(t, "Account Number,First Name,Last Name,Email\n1,Ada,Byron,ada@example.org\n")
		if _, _, err := s.ImportFile(t.Context(), account, rows, importOf(rows, jobs.MergeExisting), 0, true, func(jobs.ImportProgress) {}); err != nil {
			t.Fatal(err)
		}
		file := "Account Number,Name,Email,Subscription ID,Amount,Date\n1,Ada Byron,,sub_1,1,2026-01-01\n,William King,ada@example.org,,2,2026-01-02\n1,Bob Ford,,,4,2026-01-03\n" +
			",Zoe King,zoe@example.org,sub_1,8,2026-01-04\n,Zed King,zoe@example.org,,16,2026-01-05\n"
		want := []string{
			"3: William King shares ada@example.org with Ada Byron, contact ID: recorded for a new contact.",
			"4: Bob Ford has the external ID of Ada Byron, contact ID: recorded for a new contact.",
			`5: would be recorded. Left out: Subscription ID "sub_1" is a recurring gift of Ada Byron: the gift is recorded without it.`,
			"6: Zed King shares zoe@example.org with Zoe King, the new contact of row 5: recorded for a new contact.",
		}
		var told []string
		tell := func(row jobs.TrialRow) error {
			if row.Told() {
				told = append(told, fmt.Sprintf("%d: %s", row.Line, contactNumber.ReplaceAllString(row.InWords(), "contact ID")))
			}
			return nil
		}
		rows = openTable(t, file)
		must(s.TryFile(t.Context(), account, rows, giftImportOf(rows), tell, func(jobs.ImportCounts) {}))(t)
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("the preview tells, want (-), got (+):\n%s", diff)
		}
		rows = openTable(t, file)
		im, _, err := s.ImportFile(t.Context(), account, rows, giftImportOf(rows), 0, true, func(jobs.ImportProgress) {})
		if err != nil || im.Progress.OtherName != 3 || im.Progress.LeftOut != 1 {
			t.Fatalf("the import says %+v, %v", im.Progress, err)
		}
		if told = nil; s.NotedRows(t.Context(), &im, tell) != nil || len(told) != 4 || told[0] != want[0] || told[2] != want[2] {
			t.Errorf("the import has noted %q", told)
		}
		next := importInPieces(t, s, account, "Account Number,Name,Email,Amount,Date\n,W King,ada@example.org,32,2026-02-01\n,Zed King,zoe@example.org,64,2026-02-02\n1,William King,ada@example.org,128,2026-02-03\n")
		if want := (jobs.ImportCounts{Rows: 3, Created: 3}); next.ImportCounts != want {
			t.Errorf("the next file says %+v, want %+v", next.ImportCounts, want)
		}
		people := []string{"Ada Byron [import:1]: 2 gifts, 129.00", "William King []: 2 gifts, 34.00", "Bob Ford []: 1 gifts, 4.00", "Zoe King []: 1 gifts, 8.00", "Zed King []: 2 gifts, 80.00"}
		if diff := cmp.Diff(people, giversOf(t, s, account)); diff != "" {
			t.Errorf("want (-), got (+):\n%s", diff)
		}
		checked(t, s)
	})
}

var contactNumber = regexp.MustCompile(`contact [0-9]+`)

// Gifts of people whom no one knows belong to one contact, whatever it is called since. While it is archived there is none for them; once it was erased, the next gift makes another one.
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
		next, err := gives(`,"external_id":"box-1"`)
		if err != nil || next.Contact != first.Contact || next.NewGiver {
			t.Errorf("the next gift is from %d, not from %d, %v", next.Contact, first.Contact, err)
		}
		if again, err := gives(`,"external_id":"box-1"`); err != nil || !again.Existing {
			t.Errorf("the same gift again: %v, %v", again.Existing, err)
		}
		named, err := gives(`,"first_name":"Ada","last_name":"Byron"`)
		if err != nil || named.Contact == first.Contact || named.Giver.Name() != "Ada Byron" {
			t.Errorf("a gift of a person with a name is from %d %q, %v", named.Contact, named.Giver.Name(), err)
		}
		succeed(t, s.ArchiveContact(ctx, account, first.Contact))
		if _, err := gives(""); err == nil || !strings.Contains(err.Error(), "restore it") {
			t.Errorf("while the contact is archived: %v", err)
		}
		must(s.RestoreContact(ctx, account, first.Contact))(t)
		survivor := createAs(t, s, account, `{"first_name":"Anonymous","last_name":"Friends"}`, crm.Force)
		must(s.Merge(ctx, account, survivor.ID, crm.MergeInput{Contact: first.Contact}, "US"))(t)
		if moved, err := gives(""); err != nil || moved.Contact != survivor.ID {
			t.Errorf("after a merge the gift is from %d, not from %d, %v", moved.Contact, survivor.ID, err)
		}
		must(s.EraseContact(ctx, account, survivor.ID))(t)
		if anew, err := gives(""); err != nil || !anew.NewGiver {
			t.Errorf("after it was erased: %v, %v", anew.NewGiver, err)
		}
		checked(t, s)
	})
}
