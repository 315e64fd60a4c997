package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
	"donorbook/internal/rig"
	"donorbook/internal/store/jobs"
)

// uploads sends a file as a browser does.
func (p *person) uploads(path, name string, file io.Reader) answer {
	p.site.t.Helper()
	var head, tail bytes.Buffer
	form := multipart.NewWriter(&head)
	if _, err := form.CreateFormFile("file", name); err != nil {
		p.site.t.Fatal(err)
	}
	fmt.Fprintf(&tail, "\r\n--%s--\r\n", form.Boundary())
	request, err := http.NewRequestWithContext(p.site.t.Context(), http.MethodPost, p.site.http.URL+path, io.MultiReader(&head, file, &tail))
	if err != nil {
		p.site.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {form.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {p.site.http.URL}}
	return p.send(request)
}

// works lets the server work on jobs until the test ends.
func (s *site) works() {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		s.store.WorkOnJobs(ctx, func(err error) { s.t.Error(err) })
		close(ended)
	}()
	s.t.Cleanup(func() {
		stop()
		<-ended
	})
}

// until asks for a page until it says something.
func (p *person) until(path, words string) answer {
	p.site.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		a := p.get(path)
		if strings.Contains(a.words(), words) {
			return a
		}
		if a.status != http.StatusOK || time.Now().After(end) {
			p.site.t.Fatalf("%s never says %q: %d %s", path, words, a.status, a.words())
		}
	}
}

var mappedColumn = regexp.MustCompile(`name="(column\.\d+)"[^>]*>(?:<option value="[^"]*">[^<]*</option>)*<option value="([^"]*)" selected>`)

// mapping is what the form of an import offers for the columns.
func mapping(a answer) (pairs []string) {
	for _, found := range mappedColumn.FindAllStringSubmatch(a.body, -1) {
		pairs = append(pairs, found[1], found[2])
	}
	return pairs
}

const file = "First name,Surname,E-Mail,Tags,Hobby\n" +
	"Zoë,Okafor,zoe@example.org,gala,<script>alert(1)</script>\n" +
	"Cleo,Stone,cleo@example.org,new,\n" +
	"Nemo,,,,\n"

func TestAFileIsImported(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), access.Editor)
		p.post(p.org("/contacts"), "first_name", "Zoë", "last_name", "Okafor", "emails.0.value", "zoe@example.org")
		a := p.uploads(p.org("/contacts/import"), `C:\files\people.csv`, strings.NewReader(file))
		if a.status != http.StatusSeeOther {
			t.Fatalf("the upload is answered with %d: %s", a.status, a.words())
		}
		path := a.location()
		a = p.get(path)
		if got, want := strings.Join(mapping(a), " "), "column.0 first_name column.1 last_name column.2 emails.0.value column.3 tags column.4 skip"; got != want {
			t.Errorf("the columns are mapped as %s", got)
		}
		if strings.Contains(a.body, "<script>alert") || !strings.Contains(a.words(), "Hobby") || strings.Contains(a.words(), "files") {
			t.Errorf("the preview is %s", a.body)
		}
		refused := p.post(path, "column.0", "first_name", "column.1", "first_name", "column.2", "x", "column.3", "tags", "column.4", "skip", "mode", "merge")
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.words(), "The column Surname must not become first_name, because the column First name does.") || !strings.Contains(refused.words(), `The column E-Mail cannot become "x"`) {
			t.Errorf("a wrong mapping is answered with %d: %s", refused.status, refused.words())
		}
		form := append(mapping(a), "mode", "merge")
		p.follow(path, append(form, "do", "try")...)
		a = p.until(path, "Nothing was changed yet.")
		for _, words := range []string{"Rows 3 New contacts 1 Merged 1 Unchanged 0 Rejected 1", "Row 2 Zoë Okafor Zoë Okafor zoe@example.org Merged.", "Row 4 Nemo – The Surname field is required."} {
			if !strings.Contains(a.words(), words) {
				t.Errorf("the dry run does not say %q: %s", words, a.words())
			}
		}
		if got := p.get(p.org("/contacts")).words(); strings.Contains(got, "Cleo") {
			t.Errorf("a dry run has imported: %s", got)
		}
		p.follow(path, append(form, "do", "import")...)
		a = p.until(path, "Undo import")
		if !strings.Contains(a.words(), "Rows 3 New contacts 1 Merged 1 Unchanged 0 Rejected 1") {
			t.Errorf("the result is %s", a.words())
		}
		rejected := p.get(path + "/rejected")
		if want := "First name,Surname,E-Mail,Tags,Hobby,reason\r\nNemo,,,,,The Surname field is required.\r\n"; !strings.HasSuffix(strings.ReplaceAll(rejected.body, "\r\n", "\n"), strings.ReplaceAll(want, "\r\n", "\n")) ||
			!strings.Contains(rejected.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("the rejected rows are %q", rejected.body)
		}
		again := p.post(path, append(form, "do", "import")...)
		if words := p.get(again.location()).words(); !strings.Contains(words, "This import has already started.") {
			t.Errorf("imported twice: %s", words)
		}
		a = p.get(p.org("/contacts/import"))
		if !strings.Contains(a.words(), "Import of people.csv 1 new contact, 1 merged, 1 rejected Person 1, ") || !strings.Contains(a.words(), "UTC Done") {
			t.Errorf("the list of imports is %s", a.words())
		}
		p.follow(path + "/undo")
		p.until(path, "Import undone")
		if got := p.get(p.org("/contacts")).words(); strings.Contains(got, "Cleo") || !strings.Contains(got, "Zoë") {
			t.Errorf("after the undo there are %s", got)
		}
	})
}

// A stranger, a viewer and a member of another organization can neither upload a file nor use one.
func TestOnlyEditorsImport(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		harbor := s.organization("Harbor")
		editor, viewer := s.member(harbor, access.Editor), s.member(harbor, access.Viewer)
		foreign, stranger := s.member(s.organization("Other"), access.Owner), s.visitor()
		stranger.account, foreign.account = harbor, harbor
		path := editor.uploads(editor.org("/contacts/import"), "people.csv", strings.NewReader(file)).location()
		for name, c := range map[string]struct {
			who  *person
			want int
		}{"viewer": {viewer, http.StatusForbidden}, "foreign": {foreign, http.StatusNotFound}, "stranger": {stranger, http.StatusUnauthorized}} {
			if a := c.who.uploads(c.who.org("/contacts/import"), "x.csv", strings.NewReader(strings.Repeat(file, 30_000))); a.status != c.want || strings.Contains(a.location(), "/imports/") {
				t.Errorf("%s: an upload is answered with %d, %s", name, a.status, a.location())
			}
			for _, end := range []string{"", "/cancel", "/undo"} {
				if a := c.who.post(path+end, "do", "import"); a.status != c.want || strings.Contains(a.location(), "/imports/") {
					t.Errorf("%s: POST %s is answered with %d", name, end, a.status)
				}
			}
		}
		imports, _, err := s.store.Imports(t.Context(), harbor.Number, 1<<60, 10)
		if err != nil || len(imports) != 1 || imports[0].State != jobs.JobMapping {
			t.Errorf("%v: the imports are %+v", err, imports)
		}
		cross := foreign.do(http.MethodPost, path, url.Values{}, http.Header{"Sec-Fetch-Site": {"cross-site"}})
		if cross.status != http.StatusForbidden {
			t.Errorf("a form of another site is answered with %d", cross.status)
		}
	})
}

// While one file of an organization arrives, another one is refused, and does not wait.
func TestUploadsAtOnceAreBounded(t *testing.T) {
	s := anySite(t)
	harbor := s.organization("Harbor")
	p := s.member(harbor, access.Editor)
	slow, feed := io.Pipe()
	first := make(chan answer, 1)
	go func() { first <- p.uploads(p.org("/contacts/import"), "slow.csv", slow) }()
	must(io.WriteString(feed, file))(t)
	for end := time.Now().Add(time.Minute); !s.pages.Uploading(harbor.Number); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first file does not arrive")
		}
	}
	if a := p.uploads(p.org("/contacts/import"), "x.csv", strings.NewReader(file)); a.status != http.StatusServiceUnavailable || !strings.Contains(a.words(), "Another file is being uploaded.") {
		t.Errorf("a second file is answered with %d: %s", a.status, a.words())
	}
	other := s.member(s.organization("Other"), access.Editor)
	if a := other.uploads(other.org("/contacts/import"), "x.csv", strings.NewReader(file)); a.status != http.StatusSeeOther {
		t.Errorf("a file of another organization is answered with %d", a.status)
	}
	if err := feed.Close(); err != nil {
		t.Error(err)
	}
	if a := <-first; a.status != http.StatusSeeOther {
		t.Errorf("the first file is answered with %d: %s", a.status, a.words())
	}
}

func TestBadFilesAreRefusedInWords(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	for _, text := range []string{"", "\x89PNG\r\n\x1a\n\x00", "%PDF-1.7\n%\xe2\xe3"} {
		a := p.uploads(p.org("/contacts/import"), "x.csv", strings.NewReader(text))
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.words(), "One thing needs your attention.") {
			t.Errorf("%q is answered with %d: %s", text, a.status, a.words())
		}
	}
	if a := p.post(p.org("/contacts/import"), "file", "x"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.words(), "Choose a file first.") {
		t.Errorf("no file is answered with %d: %s", a.status, a.words())
	}
}

const giftsFile = "Donation Date,Donation Amount,Payment Method,First name,Surname,E-Mail,Contact ID,Transaction ID,Hobby\n" +
	"1/31/2026,\"$1,050.00\",Credit Card,Zoë,Okafor,zoe@example.org,77,t-1,<script>alert(1)</script>\n" +
	"2/1/2026,25,Check,Cleo,Stone,cleo@example.org,78,t-2,\n" +
	"2/2/2026,'-5,Cash,Nora,Hale,nora@example.org,79,t-3,\n" +
	",7,Cash,,,nemo@example.org,79,t-4,\n" +
	"2/4/2026,10,Cash,Zoë,Okafor,zoe@example.org,77,t-5,\n"

// uploadsOf sends a file as a browser does, with what is in it.
func (p *person) uploadsOf(of, path, name, file string) answer {
	p.site.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part := io.Writer(io.Discard)
	err := form.WriteField("of", of)
	if err == nil {
		part, err = form.CreateFormFile("file", name)
	}
	if err == nil {
		_, err = io.WriteString(part, file)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		p.site.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.site.t.Context(), http.MethodPost, p.site.http.URL+path, &body)
	if err != nil {
		p.site.t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {form.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {p.site.http.URL}}
	return p.send(request)
}

func TestAFileOfGiftsIsImported(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), access.Owner)
		p.post(p.org("/contacts"), "first_name", "Zoë", "last_name", "Okafor", "emails.0.value", "zoe@example.org")
		gifts := p.get(p.org("/gifts"))
		if strings.Count(gifts.body, `/contacts/import?of=gifts"`) != 1 {
			t.Errorf("the page of gifts does not lead to the import: %s", gifts.body)
		}
		if form := p.get(p.org("/contacts/import?of=gifts")); !strings.Contains(form.body, `<option value="gifts" selected>`) {
			t.Errorf("gifts are not chosen: %s", form.body)
		}
		a := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", giftsFile)
		if a.status != http.StatusSeeOther {
			t.Fatalf("the upload is answered with %d: %s", a.status, a.words())
		}
		path := a.location()
		a = p.get(path)
		if got, want := strings.Join(mapping(a), " "), "column.0 transacted_at column.1 amount column.2 method column.3 first_name column.4 last_name column.5 email column.6 contact_external_id column.7 external_id column.8 skip"; got != want {
			t.Errorf("the columns are mapped as %s", got)
		}
		if strings.Contains(a.body, "<script>alert") || strings.Contains(a.words(), "custom field") || strings.Contains(a.body, `name="mode"`) {
			t.Errorf("the preview is %s", a.words())
		}
		form := mapping(a)
		form[3] = "skip"
		refused := p.post(path, form...)
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.words(), "No column has the amount. The first row of the file must name the columns: choose the one with the amount.") {
			t.Errorf("a wrong mapping is answered with %d: %s", refused.status, refused.words())
		}
		form[3], form[7] = "amount", "amount"
		if refused = p.post(path, form...); refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.words(), "The column First name must not become amount, because the column Donation Amount does.") {
			t.Errorf("a wrong mapping is answered with %d: %s", refused.status, refused.words())
		}
		form[7] = "first_name"
		counts := "Rows 5 New gifts 4 Refunds waiting for their gift 1 Already recorded 0 Rejected 1 New contacts 2"
		p.follow(path, append(form, "do", "try")...)
		a = p.until(path, "Nothing was changed yet.")
		for _, words := range []string{counts, `Recorded. Donation Amount "-5" refunds a gift that is not known`, "– The Donation Date field is required."} {
			if !strings.Contains(a.words(), words) {
				t.Errorf("the dry run does not say %q: %s", words, a.words())
			}
		}
		if got := p.get(p.org("/gifts")).words(); !strings.Contains(got, "No gifts yet") {
			t.Errorf("a dry run has imported: %s", got)
		}
		p.follow(path, append(form, "do", "import")...)
		if a = p.until(path, "Undo import"); !strings.Contains(a.words(), counts) || !strings.Contains(a.body, `href="`+p.org("/gifts")+`"`) {
			t.Errorf("the result is %s", a.words())
		}
		rejected := p.get(path + "/rejected")
		if !strings.Contains(rejected.body, ",7,Cash,,,nemo@example.org,79,t-4,,") || strings.Count(rejected.body, "\n") != 2 || !strings.Contains(rejected.header.Get("Content-Disposition"), `.csv"`) {
			t.Errorf("the rejected rows are %q", rejected.body)
		}
		if got := p.get(p.org("/gifts")).words(); !strings.Contains(got, "$1,085 from 3 gifts") {
			t.Errorf("after the import the gifts are %s", got)
		}
		if a = p.get(p.org("/contacts/import")); !strings.Contains(a.words(), "Import of gifts from gifts.csv 4 new gifts, 1 rejected") {
			t.Errorf("the list of imports is %s", a.words())
		}

		// The same file again is tried and records nothing.
		again := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", giftsFile).location()
		p.follow(again, append(mapping(p.get(again)), "do", "try")...)
		if a = p.until(again, "Nothing was changed yet."); !strings.Contains(a.words(), "Rows 5 New gifts 0 Already recorded 4 Rejected 1 New contacts 0") {
			t.Errorf("the same file again: %s", a.words())
		}
		p.follow(again + "/cancel")

		p.follow(path + "/undo")
		p.until(path, "Import undone: 4 gifts were canceled and no longer count, and the contacts it created were archived.")
		if got := p.get(p.org("/contacts")).words(); strings.Contains(got, "Cleo") || !strings.Contains(got, "Zoë") {
			t.Errorf("after the undo there are %s", got)
		}
		if got := p.get(p.org("/gifts?status=counted")).words(); !strings.Contains(got, "No gifts found") {
			t.Errorf("after the undo the gifts are %s", got)
		}
		for page, words := range map[string][]string{
			"/settings/history": {"undid an earlier change. Changed status from Received to Canceled. Removed external ID “t-2”."},
			"/jobs":             {"4 gifts were canceled and no longer count", "Import of gifts from gifts.csv"},
			"/contacts/import":  {"4 new gifts, 1 rejected", "UTC Undone"},
		} {
			p.sees(p.get(p.org(page)), words...)
		}
	})
}

// A gift that was refunded after the import stays, and the page leads to it.
func TestAGiftThatWasChangedStaysWhenItsImportIsUndone(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), access.Owner)
		path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", "date,amount,first_name,last_name,email\n2026-01-31,5,Ada,Lovelace,ada@example.org\n2026-01-31,7,Bob,Babbage,bob@example.org\n").location()
		p.follow(path, append(mapping(p.get(path)), "do", "import")...)
		p.until(path, "Undo import")
		gift := regexp.MustCompile(p.org("/gifts/") + `(\w{16})"[^>]*>\$5<`).FindStringSubmatch(p.get(p.org("/gifts")).body)
		if gift == nil {
			t.Fatal(p.get(p.org("/gifts")).body)
		}
		p.follow(p.org("/gifts/"+gift[1]+"/refund"), "decision", "record", "amount", "2", "seen", seen(p.get(p.org("/gifts/"+gift[1]))))
		p.follow(path + "/undo")
		a := p.until(path, "Import undone")
		if !strings.Contains(a.words(), "were left as they are. Changed since ") || !strings.Contains(a.body, p.org("/gifts/"+gift[1])+`"`) || !strings.Contains(a.words(), "$3 from Ada Lovelace") {
			t.Errorf("the undo says %s", a.words())
		}
		if got := p.get(p.org("/gifts?status=counted")).words(); !strings.Contains(got, "$3 from 1 gift") {
			t.Errorf("after the undo the gifts are %s", got)
		}
	})
}

// Where everything was changed since, nothing is undone, and the pages speak of gifts.
func TestAnUndoThatKeepsEveryGiftSaysSo(t *testing.T) {
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Owner)
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", "date,amount,first_name,last_name,email\n2026-01-31,5,Ada,Lovelace,ada@example.org\n").location()
	p.follow(path, append(mapping(p.get(path)), "do", "import")...)
	p.until(path, "View new gifts")
	gift := regexp.MustCompile(p.org("/gifts/") + `(\w{16})"`).FindString(p.get(p.org("/gifts")).body)
	gift = strings.TrimSuffix(gift, `"`)
	p.follow(gift+"/refund", "decision", "record", "amount", "2", "seen", seen(p.get(gift)))
	p.follow(path + "/undo")
	told := "Nothing was undone. 2 gifts, contacts and campaigns were changed since then and were left as they are."
	p.until(path, told+" Changed since ")
	p.sees(p.get(p.org("/jobs")), "Undo: Import of gifts from gifts.csv", told, "Import of gifts from gifts.csv")
	undo := p.get(p.org("/jobs/2"))
	p.sees(undo, "Undo: Import of gifts from gifts.csv", told, "Changed since", "$3 from Ada Lovelace", "Ada Lovelace")
	if !strings.Contains(undo.body, `href="`+path+`"`) {
		t.Errorf("the undo does not lead to the import: %s", undo.body)
	}
}

// An import that was stopped is not one of which nothing came, and one that is being undone is not undone yet.
func TestAnImportIsStoppedInTheMiddle(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	path := p.uploads(p.org("/contacts/import"), "people.csv", strings.NewReader("First name,Last name,Shoe size,Hat\n"+strings.Repeat("Ada,Lovelace,38,7\n", 20_000))).location()
	p.sees(p.get(path), "2 columns are not imported unless you choose a meaning for them Shoe size 38 Hat 7")
	p.follow(path, append(mapping(p.get(path)), "do", "import", "mode", "merge")...)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer stop()
		for ctx.Err() == nil {
			if im, err := s.store.Import(ctx, p.account.Number, 1); err != nil || im.Progress.Rows > 0 {
				return
			}
		}
	}()
	s.store.WorkOnJobs(ctx, func(err error) { t.Error(err) })
	p.sees(p.follow(path+"/cancel"), "Import stopped. Rows imported so far are kept, and you can undo them.", "Stopped",
		"The rest of the file was not imported. To import the whole file, undo this import and upload the file again.")
	p.sees(p.get(p.org("/contacts/import")), "Stopped")
	p.sees(p.follow(path+"/undo"), "Being undone", "0 changes undone")
	s.works()
	p.until(path, "Import undone")
}

// A file that is no table is in the list, and its page leads on.
func TestAFileThatCouldNotBeReadSaysSo(t *testing.T) {
	s := anySite(t)
	p := s.member(s.organization("Harbor"), access.Editor)
	p.uploadsOf("gifts", p.org("/contacts/import"), "letter.csv", "%PDF-1.7\n%\xe2\xe3")
	p.sees(p.get(p.org("/contacts/import")), "letter.csv", "Not read")
	p.sees(p.get(p.org("/imports/1")), "Not read", "The file could not be read, so nothing was imported.")
	p.sees(p.get(p.org("/jobs")), "Import of gifts from letter.csv", "Not read")
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.csv", "amount,date\n").location()
	p.sees(p.get(path), "None of the first rows below the header can be read.")
	p.follow(path + "/cancel")
	p.sees(p.get(path), "Canceled", "Nothing was imported.")
	p.sees(p.get(p.org("/jobs")), "Canceled")
}

// Gifts in JSON Lines have the names of the API, so that there is nothing to choose.
func TestGiftsInJSONAreImported(t *testing.T) {
	s := anySite(t)
	s.works()
	p := s.member(s.organization("Harbor"), access.Editor)
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "gifts.jsonl", `{"amount": 5, "method": "cash", "transacted_at": "2026-01-31", "first_name": "Ada", "last_name": "Lovelace"}`+"\n"+`{"amount": "x"}`+"\n").location()
	a := p.get(path)
	if !strings.Contains(a.words(), "This file already says what each value means, so there is nothing to choose.") || len(mapping(a)) != 0 {
		t.Errorf("the page is %s", a.words())
	}
	p.follow(path, "do", "import")
	if a = p.until(path, "Undo import"); !strings.Contains(a.words(), "Rows 2 New gifts 1 Already recorded 0 Rejected 1 New contacts 1") {
		t.Errorf("the result is %s", a.words())
	}
	if rejected := p.get(path + "/rejected"); !strings.HasPrefix(rejected.body, `{"amount":"x","rejected":"`) || !strings.Contains(rejected.header.Get("Content-Disposition"), `.jsonl"`) || rejected.header.Get("Content-Type") != "application/jsonl" {
		t.Errorf("the rejected rows are %q", rejected.body)
	}
}

func TestBadFilesOfGiftsAreRefused(t *testing.T) {
	s := anySite(t)
	harbor := s.organization("Harbor")
	p, viewer := s.member(harbor, access.Editor), s.member(harbor, access.Viewer)
	a := p.uploadsOf("gifts", p.org("/contacts/import"), "x.csv", "%PDF-1.7\n%\xe2\xe3")
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.words(), "One thing needs your attention.") || !strings.Contains(a.body, `<option value="gifts" selected>`) {
		t.Errorf("a bad file is answered with %d: %s", a.status, a.words())
	}
	if a = p.uploadsOf("plans", p.org("/contacts/import"), "x.csv", giftsFile); a.status != http.StatusUnprocessableEntity {
		t.Errorf("other contents are answered with %d: %s", a.status, a.words())
	}
	if a = viewer.uploadsOf("gifts", viewer.org("/contacts/import"), "x.csv", giftsFile); a.status != http.StatusForbidden {
		t.Errorf("a viewer is answered with %d", a.status)
	}
	if words := viewer.get(viewer.org("/gifts")).words(); strings.Contains(words, "Import") {
		t.Errorf("a viewer sees %s", words)
	}
	path := p.uploadsOf("gifts", p.org("/contacts/import"), "x.csv", giftsFile).location()
	foreign := s.member(s.organization("Other"), access.Owner)
	foreign.account = harbor
	if a = foreign.get(path); a.status != http.StatusNotFound {
		t.Errorf("another organization sees the import: %d", a.status)
	}
	if a = viewer.get(path); a.status != http.StatusOK || strings.Contains(a.body, "Cancel import") {
		t.Errorf("a viewer sees %d: %s", a.status, a.words())
	}
}

// TestOtherSheetsOfAWorkbookAreNamed: no one takes the first sheet for the whole file.
func TestOtherSheetsOfAWorkbookAreNamed(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), access.Editor)
		people := "First Name,Last Name\nAna,Rossi"
		for words, book := range map[string][]byte{"Sheet 2, Sheet 3": rig.Workbook(t, people, people, people), "": rig.Workbook(t, people, "")} {
			a := p.get(p.uploads(p.org("/contacts/import"), "people.xlsx", bytes.NewReader(book)).location())
			said := strings.Contains(a.words(), "Only the first sheet with data is imported.")
			if said != (words != "") || !strings.Contains(a.words(), words) {
				t.Errorf("the page of a file that also has %q says %s", words, a.words())
			}
		}
	})
}
