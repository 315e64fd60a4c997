//go:build drill

package donorbook_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// What a request may cost, whatever it asks for, and by how much it may delay others.
const (
	records       = 100_000
	mostTime      = 100 * time.Millisecond // of a processor
	mostBytes     = 1 << 20
	mostDelay     = 10 // times what the slowest hundredth of requests take in quiet times
	dearest       = 10
	costRounds    = 3
	besideDearest = 10 * time.Second
)

// dear are requests that may cost more, and why. One that no longer does must leave the list.
var dear = map[string]string{
	"GET /console/o/{org}/contacts/export":    everything,
	"GET /console/o/{org}/contacts/{id}/data": "it is all that there is about a person, with each change of it",
	"GET /console/o/{org}/donors/export":      everything,
	"GET /console/o/{org}/reports":            "it adds up 100,000 gifts by year, by campaign and by method",
	"GET /v1/contacts/{id}/activities":        "it is a hundred changes, each of 100 emails and 400 tags",
	"GET /console/o/{org}/gifts/export":       everything,
}

// unreached are pages that no page here leads to, and why that is no matter.
var unreached = map[string]string{
	"GET /console/o/{org}/jobs/{job}/letters":        "the emails of the demo are kept on a shelf, and nothing is printed",
	"GET /console/o/{org}/imports/{import}/rejected": "it is a part of the file that was uploaded",
}

const everything = "it is a file of 100,000 rows, which is written piece by piece while others have their turns"

// Each operation of the API and each page that is read is asked by itself, in an organization with 100,000 contacts and
// gifts, about a contact with as much as one may have. They come from the tables of the program: none is forgotten.
func TestWhatEachRequestCostsAtItsWorst(t *testing.T) {
	s := &program{t: t, Program: rig.Serve(t, built(t), "--rate-limit", "0", "--log-level", "error", "--demo")}
	s.secret = s.Account("Another")
	s.contact = s.create(0)
	account := strings.Fields(s.Run("account", "list"))[4] // the first one, below the headings
	u := s.signIn(account, "Worst")
	worst := s.fill(account, u.secret)
	u.post("/contacts/bulk", "id", worst.contact, "action", "tag", "tag", "vip", "confirmed", "1")
	u.post("/gifts/thank", "id", worst.gift)
	u.post("/settings/fields", "title", strings.Repeat("Size ", 10), "type", "text")
	// it looks for duplicates
	for end := time.Now().Add(5 * rig.Patience); time.Now().Before(end); time.Sleep(time.Second) {
		if bytes.Count(s.Call(u.secret, http.StatusOK, "GET", "/v1/duplicates?per_page=100", ""),
			[]byte(`"level"`)) == 100 {
			break
		}
	}
	s.rest()
	t.Logf("%d MiB at most while the organization was filled", s.MemoryPeak()>>20)
	s.ForgetMemoryPeak()

	asked := map[string][]string{} // addresses, by what they are of
	for _, path := range readOperations(t) {
		asked["GET "+path] = worst.addresses(path)
	}
	s.pages(u, worst, asked)
	type cost struct {
		what, request string
		took          time.Duration
		size          int
	}
	var costs []cost
	for _, what := range slices.Sorted(maps.Keys(asked)) {
		if len(asked[what]) == 0 && unreached[what] == "" {
			t.Errorf("%s: nothing was found that it could be asked for", what)
		}
		most := cost{what: what}
		for _, path := range asked[what] {
			request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost%s\r\n\r\n", path, u.header(path))
			one := cost{what: what, request: request}
			var took []time.Duration
			for len(took) < costRounds && (len(took) == 0 || took[0] < time.Second) {
				before := s.Processor()
				answer, status := s.look(u, path)
				one.size = len(answer)
				took = append(took, s.Processor()-before)
				isRefused := status == http.StatusUnprocessableEntity // too many to print
				if status >= 400 && !isRefused && !strings.Contains(what, "{token}") {
					t.Errorf("%s: %s is answered with %d", what, path, status)
				}
			}
			if one.took = percentile(took, 50); one.took > most.took || one.size > mostBytes {
				most = one
			}
			if one.took > time.Second { // another such file tells no more
				break
			}
		}
		costs = append(costs, most)
		t.Logf("%-60s %8v %9d bytes", what, most.took.Round(100*time.Microsecond), most.size)
		reason := dear[what]
		if reason == "" && (most.took > mostTime || most.size > mostBytes) {
			t.Errorf("%s takes %v of a processor and has %d bytes", what, most.took, most.size)
		}
		if reason != "" && most.took < mostTime/5 && most.size < mostBytes/5 { // some machines are faster than others
			t.Errorf("%s is in the list, and takes %v of a processor and has %d bytes", what, most.took, most.size)
		}
	}
	for what := range dear {
		if asked[what] == nil {
			t.Errorf("%s is in the list and nowhere else", what)
		}
	}
	slices.SortFunc(costs, func(a, b cost) int { return cmp.Compare(b.took, a.took) })
	quiet := percentile(s.othersWait(), 99)
	t.Logf("%d MiB at most while each is asked by itself", s.MemoryPeak()>>20)
	stop := make(chan struct{})
	var running sync.WaitGroup
	for i := range readers {
		running.Go(func() { s.readAgain(costs[i%dearest].request, stop) })
	}
	slowed := s.Slowed()
	beside := percentile(s.othersWait(), 99)
	ratio := slowed()
	close(stop)
	running.Wait()
	t.Logf("%d requests; 99 of 100 of others take %v, and %v beside %d connections, %.1f times for want of a processor",
		len(costs), quiet, beside, readers, ratio)
	if beside > max(mostDelay*quiet, waitOfOthers) { // those who ask have the same processors
		t.Errorf("99 of 100 requests of others take %v, and %v beside %d connections", quiet, beside, readers)
	}
	s.tookLittle()
}

// fill gives an organization its contacts and gifts, and one contact as much as it may have.
func (s *program) fill(account, secret string) full {
	make := func(path, body string) string { // the id of what was made
		var made struct{ ID json.RawMessage }
		assert.Succeed(s.t, json.Unmarshal(s.Call(secret, http.StatusCreated, "POST", path, body), &made))
		return strings.Trim(string(made.ID), `"`)
	}
	worst := full{org: account, contact: make("/v1/contacts", changedOften(0))}
	contact := "/v1/contacts/" + worst.contact
	for round := range 100 {
		s.Call(secret, http.StatusOK, "PATCH", contact, changedOften(1+round))
		s.Call(secret, http.StatusCreated, "POST", contact+"/activities", `{"note":"`+strings.Repeat("é", 10_000)+`"}`)
	}
	activities := s.Call(secret, http.StatusOK, "GET", contact+"/activities", "")
	worst.change = string(regexp.MustCompile(`"id":(\d+),"type":"updated"`).FindSubmatch(activities)[1])
	var addresses []string
	for i := range 40 {
		addresses = append(addresses, fmt.Sprintf(`{"address_1":"%d %s","city":"Boston"}`, i, strings.Repeat("a", 250)))
	}
	s.Call(secret, http.StatusOK, "PATCH", contact,
		`{"note":"`+strings.Repeat("<", 10_000)+`","addresses":[`+strings.Join(addresses, ",")+`]}`)
	title := strings.Repeat("Coats ", 42)
	worst.campaign = make("/v1/campaigns",
		`{"title":"`+title+`","description":"`+strings.Repeat("<p>a *b*</p>", 8_000)+`"}`)
	gift := `{"contact_id":` + worst.contact + `,"amount":5,"method":"check",`
	worst.plan = make("/v1/plans", gift+`"frequency":"monthly","start_at":"2026-01-31"}`)
	worst.gift = make("/v1/transactions", gift+`"plan_id":"`+worst.plan+`","campaign_id":`+worst.campaign+
		`,"transacted_at":"2026-01-31","note":"`+strings.Repeat("<", 5_000)+`"}`)
	make("/v1/transactions/"+worst.gift+"/receipt", "")
	assert.Must(http.PostForm("http://"+s.Address+"/light-the-harbor/donate", url.Values{"way": {"online"},
		"frequency": {"once"}, "once": {"50"}, "first_name": {"Ana"}, "last_name": {"Lee"}, "email": {"a@example.org"},
	}))(s.t).Body.Close()
	dir := s.t.TempDir()
	var people, gifts strings.Builder
	people.WriteString("first_name,last_name,email,phone,address,city,zip,tags\n")
	gifts.WriteString("email,amount,date,method,campaign\n")
	for i := range records {
		fmt.Fprintf(&people, "Ana%d,Okafor%d,p%d@example.org,+1212%d,%[3]d Harbor Street,Boston,0%d,", i%500, i%3000, i,
			2_000_000+i, 1000+i%9000)
		fmt.Fprintf(&people, "\"newsletter,tag %d\"\n", i%3000)
		fmt.Fprintf(&gifts, "p%d@example.org,%d.00,2026-0%d-11,check,%s\n", i, 10+i%500, 1+i%9, title)
	}
	gifts.WriteString(strings.Repeat("somebody.with.a.long.name.100.0@example.org,5.00,2026-01-31,check,\n", 2_000))
	for _, file := range [][2]string{{"contact", people.String()}, {"gift", gifts.String()}} {
		path := filepath.Join(dir, file[0]+".csv")
		assert.Succeed(s.t, os.WriteFile(path, []byte(file[1]), 0o600))
		s.Run(file[0], "import", "--account", account, path)
	}
	return worst
}

// post sends a form of the console.
func (u uploader) post(path string, fields ...string) {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	address := "http://" + u.Address + strings.Replace(u.path, "/contacts/import", path, 1)
	response, answer := assert.Must2(rig.Send(direct, "", http.MethodPost, address, form.Encode(),
		"Sec-Fetch-Site", "same-origin", "Content-Type", "application/x-www-form-urlencoded", "Cookie", u.cookie))(u.t)
	assert.Equal(u.t, response.StatusCode, http.StatusSeeOther, "the form of %s (%v)", path, answer)
}

// rest waits until the program has nothing left to do.
func (s *program) rest() {
	for end := time.Now().Add(5 * rig.Patience); time.Now().Before(end); {
		before := s.Processor()
		time.Sleep(3 * time.Second)
		if s.Processor()-before < 30*time.Millisecond {
			return
		}
	}
	s.t.Fatal("the program goes on working")
}

// readOperations are the paths of the API that are read, from its own document.
func readOperations(t *testing.T) (paths []string) {
	packed := assert.Must(os.Open("internal/api/openapi.json.gz"))(t)
	defer packed.Close()
	var document struct{ Paths map[string]map[string]any }
	assert.Succeed(t, json.NewDecoder(assert.Must(gzip.NewReader(packed))(t)).Decode(&document))
	for path, methods := range document.Paths {
		if methods["get"] != nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// addresses are where an operation of the API is asked: a list for its first page, and for one far behind.
func (f full) addresses(path string) []string {
	if path = f.fill(path); strings.HasSuffix(path, "s") {
		return []string{path + "?per_page=100", path + "?per_page=100&page=900"}
	}
	return []string{path}
}

// full is what an organization has the most of.
type full struct{ org, contact, gift, campaign, plan, change string }

// fill puts it in the place of names in a path.
func (f full) fill(path string) string {
	id := map[bool]string{true: f.campaign, false: f.contact}[strings.Contains(path, "/campaigns/")]
	switch {
	case strings.Contains(path, "/transactions/"):
		id = f.gift
	case strings.Contains(path, "/v1/plans/"):
		id = f.plan
	case strings.Contains(path, "/fields/"), strings.Contains(path, "/api-keys/"), strings.Contains(path, "/segments/"):
		id = "{id}"
	}
	return strings.NewReplacer("{id}", id, "{gift}", f.gift, "{plan}", f.plan, "{change}", f.change, "{org}", f.org,
		"{$}", "", "{token}", "x", "{rest...}", "x", "{list}", "gifts", "{occasion}", "first").Replace(path)
}

var (
	readPage  = regexp.MustCompile(`\{"GET", "([^"]*)", (\w+)`)
	leadsTo   = regexp.MustCompile(`(?:href|src|hx-get)="(/console/[^"#]*)`)
	inPattern = regexp.MustCompile(`\\\{[^}]*\\\}`)
)

// pages finds addresses of all pages of the console: its routes say which there are, its pages lead to what exists.
func (s *program) pages(u uploader, worst full, asked map[string][]string) {
	table := string(assert.Must(os.ReadFile("internal/console/console.go"))(s.t))
	routes := readPage.FindAllStringSubmatch(table, -1)
	patterns := map[string]*regexp.Regexp{}
	var open []string
	for _, route := range routes {
		what := "/console" + route[1]
		if route[2] == "access" {
			what = "/console/o/{org}" + route[1]
		}
		path := worst.fill(what)
		what = "GET " + what
		if strings.Contains(path, "{") {
			asked[what] = nil
			any := inPattern.ReplaceAllString(regexp.QuoteMeta(path), "[^/?]+")
			patterns[what] = regexp.MustCompile("^" + any + `(\?.*)?$`)
			continue
		}
		asked[what] = []string{path}
		patterns[what] = regexp.MustCompile("^" + regexp.QuoteMeta(path) + `\?.+$`)
		open = append(open, path)
	}
	if len(asked) < 90 {
		s.t.Errorf("only %d pages and operations were found: the test no longer sees them", len(asked))
	}
	literal := map[string]bool{}
	for _, path := range open {
		literal[path] = true
	}
	for range 3 { // what pages lead to, and what those lead to
		var found []string
		for _, at := range open {
			if strings.Contains(at, "/export") || strings.Contains(at, "/file") {
				continue
			}
			answer, status := s.look(u, at)
			if status != http.StatusOK {
				continue
			}
			for _, link := range leadsTo.FindAllStringSubmatch(string(answer), -1) {
				to := html.UnescapeString(link[1])
				bare, _, _ := strings.Cut(to, "?")
				for what, pattern := range patterns {
					// some pages are known by what is below them alone
					for _, to := range []string{to, path.Dir(bare)} {
						isNew := len(asked[what]) < 2 && !slices.Contains(asked[what], to)
						if isNew && pattern.MatchString(to) && !literal[to] {
							asked[what] = append(asked[what], to)
							found = append(found, to)
						}
					}
				}
			}
		}
		open = found
	}
}

// header says who asks for an address.
func (u uploader) header(path string) string {
	if strings.HasPrefix(path, "/console") {
		return "\r\nCookie: " + u.cookie
	}
	return "\r\nAuthorization: Bearer " + u.secret
}

// look asks for an address.
func (s *program) look(u uploader, path string) (answer []byte, status int) {
	name, value, _ := strings.Cut(strings.TrimSpace(u.header(path)), ": ")
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*rig.Patience) // a file of everything
	defer cancel()
	request := assert.Must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil))(s.t)
	request.Header.Set(name, value)
	response := assert.Must(http.DefaultTransport.RoundTrip(request))(s.t)
	defer response.Body.Close()
	return assert.Must(io.ReadAll(response.Body))(s.t), response.StatusCode
}

// othersWait is how long requests of another organization take.
func (s *program) othersWait() (took []time.Duration) {
	for end := time.Now().Add(besideDearest); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		begun := time.Now()
		s.ask("/v1/contacts/" + s.contact)
		took = append(took, time.Since(begun))
	}
	return took
}
