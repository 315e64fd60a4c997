package console_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/store/jobs"
)

const (
	importPage = "contacts/import"
	file       = "First name,Surname,E-Mail,Tags,Hobby\n" +
		"Zoë,Okafor,zoe@example.org,gala,<script>alert(1)</script>\n" +
		"Cleo,Stone,cleo@example.org,new,\n" +
		"Nemo,,,,\n"
	giftsFile = "Donation Date,Donation Amount,Payment Method,First name,Surname,E-Mail,Contact ID,Transaction ID,Hobby\n" +
		"1/31/2026,\"$1,050.00\",Credit Card,Zoë,Okafor,zoe@example.org,77,t-1,<script>alert(1)</script>\n" +
		"2/1/2026,25,Check,Cleo,Stone,cleo@example.org,78,t-2,\n" +
		"2/2/2026,'-5,Cash,Nora,Hale,nora@example.org,79,t-3,\n" +
		",7,Cash,,,nemo@example.org,79,t-4,\n" +
		"2/4/2026,10,Cash,Zoë,Okafor,zoe@example.org,77,t-5,\n"
)

var mappedColumn = regexp.MustCompile(`name="(column\.\d+)"[^>]*>` +
	`(?:<option value="[^"]*">[^<]*</option>)*<option value="([^"]*)" selected>`)

// mapping is what the form of an import offers for the columns.
func mapping(a answer) (pairs []string) {
	for _, found := range mappedColumn.FindAllStringSubmatch(a.body, -1) {
		pairs = append(pairs, found[1], found[2])
	}
	return pairs
}

func (p *person) uploads(of, name string, file io.Reader) answer {
	p.site.t.Helper()
	return p.sends(importPage, map[string]io.Reader{"file " + name: file}, "of", of)
}

// opens uploads a file, and is the address of its import.
func (p *person) importOf(of, file string) string {
	p.site.t.Helper()
	return p.uploads(of, "file.csv", strings.NewReader(file)).is(303).location()
}

// imports tries or makes an import with the columns as they are recognized, and is its page afterwards.
func (p *person) imports(path, do string, more ...string) answer {
	p.site.t.Helper()
	p.follow(path, append(append(mapping(p.get(path)), more...), "do", do)...)
	return p.done(path)
}

// withZoe is a site with a contact who is in the files, too.
func withZoe(t *testing.T, role access.Role) *person {
	t.Helper()
	s, p := signedIn(t, role)
	s.newcomer(p.account, "Zoë", "Okafor", "known")
	p.follow(fmt.Sprint("contacts/", s.contacts(p.account)[0].ID),
		"first_name", "Zoë", "last_name", "Okafor", "emails.0.value", "zoe@example.org")
	return p
}

func TestAFileIsImported(t *testing.T) {
	p := withZoe(t, access.Editor)
	path := p.uploads("contacts", `C:\files\people.csv`, strings.NewReader(file)).is(303).location()
	a := p.get(path).sees("Hobby").lacks("files").hides("<script>alert")
	equal(t, strings.Join(mapping(a), " "),
		"column.0 first_name column.1 last_name column.2 emails.0.value column.3 tags column.4 skip",
		"the columns are mapped")
	p.post(path, "column.0", "first_name", "column.1", "first_name", "column.2", "x", "column.3", "tags",
		"column.4", "skip", "mode", "merge").is(422).sees("must not become first_name", `cannot become "x"`)
	const counts = "Rows 3 New contacts 1 Merged 1 Unchanged 0 Rejected 1"
	p.imports(path, "try", "mode", "merge").sees("Nothing was changed yet.", counts,
		"Row 2 Zoë Okafor Zoë Okafor zoe@example.org Merged.", "Row 4 Nemo – The Surname field is required.")
	p.get("contacts").lacks("Cleo")
	p.imports(path, "import", "mode", "merge").sees("Undo import", counts)
	rejected := p.get(path+"/rejected").has("First name,Surname,E-Mail,Tags,Hobby,reason",
		"Nemo,,,,,The Surname field is required.")
	if strings.Count(rejected.body, "\n") != 2 ||
		!strings.HasPrefix(rejected.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the rejected rows are %q %v", rejected.body, rejected.header)
	}
	p.follow(path, append(mapping(a), "do", "import")...).sees("already started")
	p.get(importPage).sees("Import of people.csv 1 new contact, 1 merged, 1 rejected Person 1, ", "UTC Done")
	p.follow(path + "/undo")
	p.done(path, "Import undone")
	p.get("contacts").sees("Zoë").lacks("Cleo")
}

// A stranger, a viewer and a member of another organization can neither upload a file nor use one.
func TestOnlyEditorsImport(t *testing.T) {
	s, editor := signedIn(t, access.Editor)
	viewer, foreign := s.member(editor.account, access.Viewer), s.member(s.organization("Other"), access.Owner)
	stranger := s.visitor()
	stranger.account, foreign.account = editor.account, editor.account
	path := editor.importOf("contacts", file)
	for who, status := range map[*person]int{viewer: 403, foreign: 404, stranger: 401} {
		for _, of := range []string{"contacts", "gifts"} {
			who.uploads(of, "x.csv", strings.NewReader(strings.Repeat(file, 30_000))).is(status).leads("")
		}
		for _, end := range []string{"", "/cancel", "/undo"} {
			if a := who.post(path+end, "do", "import").is(status); strings.Contains(a.location(), "/imports/") {
				t.Errorf("POST %s leads to %s", end, a.location())
			}
		}
	}
	viewer.get(path).is(200).hides("Cancel import")
	foreign.get(path).is(404)
	viewer.get("gifts").lacks("Import")
	imports, _, err := s.store.Imports(t.Context(), editor.account.Number, 1<<60, 10)
	if err != nil || len(imports) != 1 || imports[0].State != jobs.JobMapping {
		t.Errorf("%v: the imports are %+v", err, imports)
	}
	foreign.do("POST", path, url.Values{}, http.Header{"Sec-Fetch-Site": {"cross-site"}}).is(403)
}

// While one file of an organization arrives, another one is refused, and does not wait. Those of others do not wait
// for it.
func TestUploadsAtOnceAreBounded(t *testing.T) {
	s := anySite(t)
	const slow = 6
	answers, arriving := make(chan answer, slow), s.bodies()
	var feeds []*io.PipeWriter
	var people []*person
	for i := range slow {
		p := s.member(s.organization(fmt.Sprint("Slow ", i)), access.Editor)
		body, feed := io.Pipe()
		feeds, people = append(feeds, feed), append(people, p)
		go func() { answers <- p.uploads("contacts", "slow.csv", body) }()
		must(io.WriteString(feed, file))(t)
		<-arriving
	}
	people[0].uploads("contacts", "x.csv", strings.NewReader(file)).is(503).sees("Another file is being uploaded.")
	other := s.member(s.organization("Other"), access.Editor)
	if len(mapping(other.get(other.importOf("contacts", file)))) == 0 {
		t.Error("while other files arrive, the columns of a file are not read")
	}
	for _, feed := range feeds {
		succeed(t, feed.Close())
		(<-answers).is(303)
	}
}

// A file that is no table is refused in words, is in the list, and its page leads on.
func TestAFileThatCannotBeReadSaysSo(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	for _, text := range []string{"", "\x89PNG\r\n\x1a\n\x00", "%PDF-1.7\n%\xe2\xe3"} {
		p.uploads("gifts", "letter.csv", strings.NewReader(text)).is(422).sees("One thing needs your attention.").
			has(`<option value="gifts" selected>`)
	}
	p.post(importPage, "file", "x").is(422).sees("Choose a file first.")
	p.uploads("plans", "x.csv", strings.NewReader(giftsFile)).is(422)
	p.get(importPage).sees("letter.csv", "Not read")
	p.get("imports/1").sees("Not read", "The file could not be read, so nothing was imported.")
	path := p.importOf("gifts", "amount,date\n")
	p.get(path).sees("None of the first rows below the header can be read.")
	p.follow(path+"/cancel").sees("Canceled", "Nothing was imported.")
	p.get("jobs").sees("Import of gifts from letter.csv", "Not read", "Canceled")
}

func TestAFileOfGiftsIsImported(t *testing.T) {
	p := withZoe(t, access.Owner)
	p.get("gifts").has(`/contacts/import?of=gifts"`)
	p.get(importPage + "?of=gifts").has(`<option value="gifts" selected>`)
	path := p.importOf("gifts", giftsFile)
	a := p.get(path).lacks("custom field").hides("<script>alert", `name="mode"`)
	form := mapping(a)
	equal(t, strings.Join(form, " "), "column.0 transacted_at column.1 amount column.2 method "+
		"column.3 first_name column.4 last_name column.5 email column.6 contact_external_id column.7 external_id "+
		"column.8 skip", "the columns are mapped")
	form[3] = "skip"
	p.post(path, form...).is(422).sees("No column has the amount.")
	const counts = "Rows 5 New gifts 4 Refunds waiting for their gift 1 Already recorded 0 Rejected 1 New contacts 2"
	p.imports(path, "try").sees("Nothing was changed yet.", counts,
		`Recorded. Donation Amount "-5" refunds a gift that is not known`, "– The Donation Date field is required.")
	p.get("gifts").sees("No gifts yet")
	p.imports(path, "import").sees("Undo import", counts).has(`href="` + p.org("/gifts") + `"`)
	equal(t, strings.Count(p.get(path+"/rejected").has(",7,Cash,,,nemo@example.org,79,t-4,,").body,
		"\n"), 2, "the rejected rows")
	p.get("gifts").sees("$1,085 from 3 gifts")
	p.get(importPage).sees("Import of gifts from file.csv 4 new gifts, 1 rejected")

	// The same file again is tried and records nothing.
	again := p.importOf("gifts", giftsFile)
	p.imports(again, "try").sees("Rows 5 New gifts 0 Already recorded 4 Rejected 1 New contacts 0")
	p.follow(again + "/cancel")

	p.follow(path + "/undo")
	p.done(path, "4 gifts were canceled")
	p.get("contacts").sees("Zoë").lacks("Cleo")
	p.get("gifts?status=counted").sees("No gifts found")
	p.get("settings/history").
		sees("undid an earlier change. Changed status from Received to Canceled. Removed external ID “t-2”.")
	p.get(importPage).sees("4 new gifts, 1 rejected", "UTC Undone")
}

// A gift that was refunded after the import stays, and the page leads to it. Where that is so of all of them, nothing
// is undone.
func TestAGiftThatWasChangedStaysWhenItsImportIsUndone(t *testing.T) {
	const first = "date,amount,first_name,last_name,email\n2026-01-31,5,Ada,Lovelace,ada@example.org\n"
	for rows, told := range map[string]string{
		first: "Nothing was undone. 2 gifts, contacts and campaigns were changed since then and were left as they are.",
		first + "2026-01-31,7,Bob,Babbage,bob@example.org\n": "were left as they are. Changed since ",
	} {
		_, p := signedIn(t, access.Owner)
		path := p.importOf("gifts", rows)
		p.imports(path, "import").sees("View new gifts")
		gift := regexp.MustCompile(`href="(` + p.org("/gifts/") + `\w{16})"[^>]*>\$5<`).
			FindStringSubmatch(p.get("gifts").body)[1]
		p.follow(gift+"/refund", "decision", "record", "amount", "2", "seen", seen(p.get(gift)))
		p.follow(path + "/undo")
		p.done(path, told, "$3 from Ada Lovelace").has(gift + `"`)
		p.get("gifts?status=counted").sees("$3 from 1 gift")
		p.get("jobs").sees("Undo: Import of gifts from file.csv")
		p.get("jobs/2").sees("Undo: Import of gifts from file.csv", "$3 from Ada Lovelace").has(`href="` + path + `"`)
	}
}

// An import that was stopped is not one of which nothing came, and one that is being undone is not undone yet.
func TestAnImportIsStoppedInTheMiddle(t *testing.T) {
	s, p := signedIn(t, access.Editor)
	path := p.importOf("contacts", "First name,Last name,Shoe size,Hat\n"+strings.Repeat("Ada,Lovelace,38,7\n", 1_000))
	a := p.get(path).sees("2 columns are not imported unless you choose a meaning for them Shoe size 38 Hat 7")
	p.follow(path, append(mapping(a), "do", "import", "mode", "merge")...)
	s.workWhile(func() bool {
		return must(s.store.Import(t.Context(), p.account.Number, 1))(t).Progress.Rows == 0
	})
	p.follow(path+"/cancel").sees("Rows imported so far are kept, and you can undo them.", "Stopped",
		"To import the whole file, undo this import and upload the file again.")
	p.get(importPage).sees("Stopped")
	p.follow(path+"/undo").sees("Being undone", "0 changes undone")
	p.done(path, "Import undone")
}

// Gifts in JSON Lines have the names of the API, so that there is nothing to choose.
func TestGiftsInJSONAreImported(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	const lines = `{"amount":5,"method":"cash","transacted_at":"2026-01-31","first_name":"Ada","last_name":"Lovelace"}` +
		"\n" + `{"amount": "x"}` + "\n"
	path := p.uploads("gifts", "gifts.jsonl", strings.NewReader(lines)).location()
	equal(t, len(mapping(p.get(path).sees("there is nothing to choose."))), 0, "the page")
	p.imports(path, "import").sees("Rows 2 New gifts 1 Already recorded 0 Rejected 1 New contacts 1")
	rejected := p.get(path + "/rejected").has(`{"amount":"x","rejected":"`)
	equal(t, rejected.header.Get("Content-Type"), "application/jsonl", "the rejected rows")
}

// No one takes the first sheet for the whole file.
func TestOtherSheetsOfAWorkbookAreNamed(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	const people, first = "First Name,Last Name\nAna,Rossi", "Only the first sheet with data is imported."
	page := func(sheets ...string) answer {
		return p.get(p.uploads("contacts", "people.xlsx", bytes.NewReader(rig.Workbook(t, sheets...))).location())
	}
	page(people, people, people).sees(first, "Sheet 2, Sheet 3")
	page(people, "").lacks(first)
}

var viewLink = regexp.MustCompile(`href="([^"]*)">View new (?:contacts|gifts)<`)

// What an import has created is found; what others have entered meanwhile is not.
func TestWhatAnImportHasCreatedIsFound(t *testing.T) {
	p := withZoe(t, access.Owner)
	made := func(path string) answer {
		a := p.imports(path, "import", "mode", "merge")
		return p.get(strings.ReplaceAll(viewLink.FindStringSubmatch(a.body)[1], "&amp;", "&"))
	}
	path := p.importOf("contacts", file)
	p.post("contacts", "first_name", "Meanwhile", "last_name", "Stone")
	made(path).sees("1 of 3 contacts", "Cleo", "Import 1").lacks("Meanwhile")
	for amount, other := range map[string]string{"$1": "$2", "$2": "$1"} {
		made(p.importOf("gifts", "date,amount,method,email\n2026-01-02,"+amount[1:]+".00,cash,cleo@example.org\n")).
			sees(amount + " from 1 gift").lacks(other)
	}
	for query, found := range map[string]string{
		"1&email=cleo@example.org": "1 of 3 contacts", "1&tag=new": "1 of 3 contacts", "2": "No contacts found",
		"99": "No contacts found", "1&email=zoe@example.org": "No contacts found",
	} {
		p.get("contacts?import=" + query).sees(found)
	}
	p.get("contacts?import=x").is(422).lacks("Meanwhile")
}

// The preview lists rows with the email of a contact with another name, what would change, what is left out and what
// is not imported, and the person chooses once for all of them. What was created can be erased.
func TestAPersonChoosesWhatAnImportDoes(t *testing.T) {
	p := withZoe(t, access.Owner)
	p.post("contacts", "first_name", "Bo", "last_name", "Lee", "emails.0.value", "bo@example.org")
	path := p.importOf("contacts",
		"First name,Last name,Email,Phone,Title,Shoe size\nZoë,Okafor,zoe@example.org,call me,Head,38\n"+
			"Bo,Lee,bo@example.org,,Clerk,\nAda,Okafor,zoe@example.org,,,39\nZOE,OKAFOR,zoe@example.org,,,\n")
	p.get(path).sees("Shoe size 38 · 39")
	choice := []string{"mode", "merge", "other_name", "keep", "unknown", "custom"}
	p.imports(path, "try", choice...).sees("Rows 4 New contacts 1 Merged 2 Unchanged 1 Rejected 0",
		"Row 4 Ada Okafor Zoë Okafor zoe@example.org A new contact.", "Row 3 Bo Lee Bo Lee bo@example.org Merged.",
		`Title: Head. Left out: Phone "call me" must be a valid phone number`).
		lacks(" more ") // a row that is told elsewhere is not counted among those that are not shown
	p.imports(path, "import", choice...).sees("New contacts 1", "Row 4 Ada Okafor Zoë Okafor", "Undo and erase")
	p.get("settings/fields").sees("Shoe size")
	p.site.member(p.account, access.Editor).post(path+"/undo", "erase", "1").is(403)
	p.follow(path+"/undo", "erase", "1")
	p.done(path, "1 contact that it created was erased")
	p.get("contacts").sees("Zoë").lacks("Ada")
}

// The preview lists companies and couples as they were understood, and offers the usual form for names in capitals.
func TestAPreviewTellsHowNamesWereUnderstood(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	path := p.importOf("contacts", "Donor Name,Email\nMr. and Mrs. Paul Greene,paul@example.org\n"+
		"Harbor Rotary Club,club@example.org\nJANE MCDONALD,jane@example.org\n")
	choice := []string{"mode", "merge", "other_name", "keep"}
	p.imports(path, "try", choice...).sees(`"Harbor Rotary Club" is a company`,
		`"Mr. and Mrs. Paul Greene" is a couple`,
		"1 row of the file has a name in capitals")
	p.imports(path, "import", append(choice, "usual_names", "1")...)
	p.get("contacts").sees("Jane McDonald", "Paul Greene", "Harbor Rotary Club")
}

// A person who imports gifts chooses whether they wait for thanks. A preview keeps the choice.
func TestImportedGiftsWaitForThanksIfSomeoneWants(t *testing.T) {
	_, p := signedIn(t, access.Owner)
	path := p.importOf("gifts", "Date,Amount,First name,Last name,Email\n"+today+",35,Ada,Lovelace,ada@example.org\n")
	choice := []string{"other_name", "keep", "thanks", "1"}
	p.imports(path, "try", choice...).has(`name="thanks" value="1" checked`)
	p.imports(path, "import", choice...)
	p.get("gifts?thanks=waiting").sees("Ada Lovelace", "$35")
	p.follow(path + "/undo")
	p.site.work()
	p.get("gifts?thanks=waiting").lacks("Ada Lovelace")
}

// A value that is not known, and a campaign that does not exist, are asked about after the dry run. What a person says
// about a value is remembered.
func TestWhatAFileOfGiftsSaysIsExplained(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	const file = "Gift ID,Amount,Date,Method,Status,Fund,First name,Last name,Email\n" +
		"1,50,2026-01-05,Beads,Paid,Roof,Ada,Byron,ada@example.org\n2,20,2026-01-06,CK,Refunded,,Ada,Byron,ada@example.org\n"
	const counts = "Rows 2 New gifts 2 Already recorded 0 Rejected 0 New contacts 1"
	path := p.importOf("gifts", file)
	p.imports(path, "try").sees(counts, "Beads Other, kept in the note",
		"This campaign does not exist and will be created as a draft: Roof")
	p.imports(path, "try", "value.0", "other", "mode", "leave").sees("Adds to gifts received $50").
		has(`<option value="other" selected>`, `value="leave" checked`)
	p.imports(path, "import", "value.0", "other").sees(counts + " Adds to gifts received $50")
	p.get("campaigns").sees("Roof", "Draft")
	p.get(p.importOf("gifts", strings.Replace(file, "\n1,", "\n3,", 1))).has(`<option value="other" selected>`)
	later := p.importOf("gifts", strings.Replace(file, "Beads,Paid", "Beads,Refunded", 1))
	p.imports(later, "try", "value.0", "other").sees("Refunds and updates 1 Already recorded 1", "Updates the gift.")
	p.imports(later, "import", "value.0", "other").sees("It reverses the import’s changes to earlier gifts")
	p.follow(later + "/undo")
	p.done(later, "1 change to earlier gifts was reversed")
	p.follow(path + "/undo")
	p.done(path, "1 campaign that it created was removed.")
	p.get("campaigns").lacks("Roof")
}

// A person chooses whether gifts find contacts by name and address, and whose gift one with the email of a contact of
// another name is. The dry run counts the new contacts, and the import makes as many.
func TestAPersonChoosesWhoseGiftItIs(t *testing.T) {
	_, p := signedIn(t, access.Editor)
	p.post("contacts", "first_name", "Otto", "last_name", "Lang", "emails.0.value", "otto@example.org",
		"addresses.0.address_1",
		"1 Main St", "addresses.0.city", "Boston", "addresses.0.state", "MA", "addresses.0.zipcode", "02140")
	for _, test := range []struct {
		rows, before, after, kept string
		choice                    [2]string
	}{
		{"Name,ZIP,Amount,Date\nOtto Lang,02140,4,2026-05-03\nPia Roth,02141,16,2026-05-05\nPia Roth,02141,32,2026-05-06\n",
			"New contacts 2", "New contacts 1", `name="match_names" value="1" checked`, [2]string{"match_names", "1"}},
		{"Name,Email,Amount,Date\nWilliam King,otto@example.org,8,2026-05-03\n",
			"Row 2 William King Otto Lang otto@example.org Recorded for a new contact.", "Recorded for that contact.",
			`<option value="merge" selected>`, [2]string{"other_name", "merge"}},
	} {
		path := p.importOf("gifts", test.rows)
		p.imports(path, "try").sees(test.before)
		p.imports(path, "try", test.choice[:]...).sees(test.after).has(test.kept)
		p.imports(path, "import", test.choice[:]...).sees(test.after, "Rejected 0")
	}
	p.get("contacts?q=otto").sees("$12")
}
