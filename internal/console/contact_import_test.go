package console_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm"
	"donorbook/internal/rig"
	"donorbook/internal/store"
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
	"Nemo,,nemo@example.org,,\n"

func TestAFileIsImported(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), crm.Editor)
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
		for _, words := range []string{"Rows 3 New contacts 1 Merged 1 Unchanged 0 Rejected 1", "Line 2: would be merged into Zoë Okafor, contact 1, by zoe@example.org.", "Line 4: would be rejected: The Surname field is required."} {
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
		if want := "First name,Surname,E-Mail,Tags,Hobby,reason\r\nNemo,,nemo@example.org,,,The Surname field is required.\r\n"; !strings.HasSuffix(strings.ReplaceAll(rejected.body, "\r\n", "\n"), strings.ReplaceAll(want, "\r\n", "\n")) ||
			!strings.Contains(rejected.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("the rejected rows are %q", rejected.body)
		}
		again := p.post(path, append(form, "do", "import")...)
		if words := p.get(again.location()).words(); !strings.Contains(words, "This import has begun already.") {
			t.Errorf("imported twice: %s", words)
		}
		a = p.get(p.org("/contacts/import"))
		if !strings.Contains(a.words(), "people.csv Person 1, ") || !strings.Contains(a.words(), "1 1 0 1 Done") {
			t.Errorf("the list of imports is %s", a.words())
		}
		p.follow(path + "/undo")
		p.until(path, "The import was undone")
		if got := p.get(p.org("/contacts")).words(); strings.Contains(got, "Cleo") || !strings.Contains(got, "Zoë") {
			t.Errorf("after the undo there are %s", got)
		}
	})
}

// A stranger, a viewer and a member of another organization can neither upload a file nor use one.
func TestOnlyEditorsImport(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		harbor := s.organization("Harbor")
		editor, viewer := s.member(harbor, crm.Editor), s.member(harbor, crm.Viewer)
		foreign, stranger := s.member(s.organization("Other"), crm.Owner), s.visitor()
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
		if err != nil || len(imports) != 1 || imports[0].State != store.JobMapping {
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
	p := s.member(harbor, crm.Editor)
	slow, feed := io.Pipe()
	first := make(chan answer, 1)
	go func() { first <- p.uploads(p.org("/contacts/import"), "slow.csv", slow) }()
	if _, err := io.WriteString(feed, file); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !s.pages.Uploading(harbor.Number); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the first file does not arrive")
		}
	}
	if a := p.uploads(p.org("/contacts/import"), "x.csv", strings.NewReader(file)); a.status != http.StatusServiceUnavailable || !strings.Contains(a.words(), "Another file is being uploaded.") {
		t.Errorf("a second file is answered with %d: %s", a.status, a.words())
	}
	other := s.member(s.organization("Other"), crm.Editor)
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
	p := s.member(s.organization("Harbor"), crm.Editor)
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

// TestOtherSheetsOfAWorkbookAreNamed: no one takes the first sheet for the whole file.
func TestOtherSheetsOfAWorkbookAreNamed(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		p := s.member(s.organization("Harbor"), crm.Editor)
		people := "First Name,Last Name\nAna,Rossi"
		for words, book := range map[string][]byte{"Sheet 2, Sheet 3": rig.Workbook(t, people, people, people), "": rig.Workbook(t, people, "")} {
			a := p.get(p.uploads(p.org("/contacts/import"), "people.xlsx", bytes.NewReader(book)).location())
			said := strings.Contains(a.words(), "Only the first sheet with rows is imported.")
			if said != (words != "") || !strings.Contains(a.words(), words) {
				t.Errorf("the page of a file that also has %q says %s", words, a.words())
			}
		}
	})
}
