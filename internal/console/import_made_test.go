package console_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"donorbook/internal/crm/access"
)

var viewLink = regexp.MustCompile(`href="([^"]*)">View new (?:contacts|gifts)<`)

// imports uploads a file, imports it as its columns are recognized, and is the page of what the import has created.
func (p *person) imports(of, file string, meanwhile func()) answer {
	p.site.t.Helper()
	path := p.uploadsOf(of, p.org("/contacts/import"), "file.csv", file).location()
	meanwhile()
	p.follow(path, append(mapping(p.get(path)), "mode", "merge", "do", "import")...)
	found := viewLink.FindStringSubmatch(p.until(path, "Undo import").body)
	if found == nil {
		p.site.t.Fatalf("nothing leads to what was imported")
	}
	return p.get(strings.ReplaceAll(found[1], "&amp;", "&"))
}

// TestWhatAnImportHasCreatedIsFound: what others have entered meanwhile is not.
func TestWhatAnImportHasCreatedIsFound(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		s.works()
		p := s.member(s.organization("Harbor"), access.Owner)
		p.post(p.org("/contacts"), "first_name", "Zoë", "last_name", "Okafor", "emails.0.value", "zoe@example.org")
		contacts := p.imports("contacts", file, func() {
			p.post(p.org("/contacts"), "first_name", "Meanwhile", "last_name", "Stone")
		})
		if words := contacts.words(); !strings.Contains(words, "1 of 3 contacts") || !strings.Contains(words, "Cleo") || strings.Contains(words, "Meanwhile") || !strings.Contains(words, "Import 1") {
			t.Errorf("the import of contacts leads to %s", words)
		}
		gifts := func(n int) string {
			return fmt.Sprintf("date,amount,method,email\n2026-01-0%d,%d.00,cash,cleo@example.org\n", n, n)
		}
		first := p.imports("gifts", gifts(1), func() {})
		second := p.imports("gifts", gifts(2), func() {})
		if words := first.words(); !strings.Contains(words, "$1 from 1 gift") || strings.Contains(words, "$2") {
			t.Errorf("the first import of gifts leads to %s", words)
		}
		if words := second.words(); !strings.Contains(words, "$2 from 1 gift") || strings.Contains(words, "$1") {
			t.Errorf("the second import of gifts leads to %s", words)
		}
		for _, path := range []string{"/contacts?import=1&email=cleo@example.org", "/contacts?import=1&tag=new"} {
			if words := p.get(p.org(path)).words(); !strings.Contains(words, "1 of 3 contacts") {
				t.Errorf("%s finds %s", path, words)
			}
		}
		for _, path := range []string{"/contacts?import=2", "/contacts?import=99", "/contacts?import=1&email=zoe@example.org"} {
			if words := p.get(p.org(path)).words(); !strings.Contains(words, "No contacts found") {
				t.Errorf("%s finds %s", path, words)
			}
		}
		if a := p.get(p.org("/contacts?import=x")); strings.Contains(a.words(), "Meanwhile") || a.status == http.StatusInternalServerError {
			t.Errorf("an import that is no number is answered with %d: %s", a.status, a.words())
		}
	})
}

// TestSlowUploadsKeepNoOneWaiting: files of four organizations that do not come to their end leave the place to read files to others.
func TestSlowUploadsKeepNoOneWaiting(t *testing.T) {
	onSite(t, func(t *testing.T, s *site) {
		const slow = 6
		answers := make(chan answer, slow)
		var feeds []*io.PipeWriter
		for i := range slow {
			account := s.organization(fmt.Sprintf("Slow %d", i))
			p := s.member(account, access.Editor)
			body, feed := io.Pipe()
			feeds = append(feeds, feed)
			go func() { answers <- p.uploads(p.org("/contacts/import"), "slow.csv", body) }()
			must(io.WriteString(feed, file))(t)
			for end := time.Now().Add(time.Minute); !s.pages.Uploading(account.Number); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the file does not arrive")
				}
			}
		}
		other := s.member(s.organization("Other"), access.Editor)
		if a := other.uploads(other.org("/contacts/import"), "x.csv", strings.NewReader(file)); a.status != http.StatusSeeOther || len(mapping(other.get(a.location()))) == 0 {
			t.Errorf("while other files arrive, a file is answered with %d: %s", a.status, a.words())
		}
		for _, feed := range feeds {
			if err := feed.Close(); err != nil {
				t.Error(err)
			}
		}
		for range slow {
			if a := <-answers; a.status != http.StatusSeeOther {
				t.Errorf("a slow file is answered with %d: %s", a.status, a.words())
			}
		}
	})
}
