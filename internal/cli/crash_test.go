package cli

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"donorbook/client"
	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/mail"
	"donorbook/internal/db"
	"donorbook/internal/pay"
	"donorbook/internal/pay/stripetest"
	"donorbook/internal/relay"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/donations"
)

// A process finds in this variable when it dies as of kill -9: at the n-th commit of a unit of work that has written to
// a table, before it is on disk. "gift 3" is the third that writes gifts.
const diesAt = "DIES_AT"

func dieAtCommit(b *book.Book) {
	table, number, told := strings.Cut(os.Getenv(diesAt), " ")
	if !told {
		return
	}
	n, _ := strconv.Atoi(number)
	written := regexp.MustCompile(`^\s*(INSERT INTO|UPDATE) ` + table + `\b`)
	var touched atomic.Bool
	var commits atomic.Int64
	b.DB().Observe(&db.Observer{
		Wrote: func(sql string) {
			if written.MatchString(sql) {
				touched.Store(true)
			}
		},
		Committing: func() error {
			if touched.Swap(false) && commits.Add(1) == int64(n) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		},
	})
}

// deed is what clients have a server do that is killed in the middle. Whenever it dies, in the end everything is there
// once, as if nothing had happened.
type deed struct {
	name, moment string        // see diesAt
	ready        func(*person) // before the server is started; may be nil
	do           func(*person) // ends when all is done
	wants        string        // something of what is there then
}

var deeds = []deed{
	{"contacts and tags", "contact 9", nil, changeContacts, `"tags":["late"]`},
	{"gifts and refunds", "gift 8", nil, give, `"amount":-1`},
	{"merges", "contact_merge 5", nil, mergePairs, `"survivor_id": 0007,`},
	{"all sure merges", "contact_merge 2", readyToMergeSure, waitForSure, `"survivor_id": 0007,`},
	{"a tag", "contact 2", readyToTag, renameTag, "new 520"},
	{"receipts and thanks", "receipt 4", nil, thank, "a mail to t3@"},
	{"mails", "mail 5", readyToMail, waitForMails, "a mail to ada@"},
}

// TestNothingIsLostWhenAServerIsKilled: what clients send again that was not answered counts once, and what a server
// does by itself goes on in the next one.
func TestNothingIsLostWhenAServerIsKilled(t *testing.T) {
	t.Parallel()
	for _, d := range deeds {
		t.Run(d.name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, e engine) {
				s := newService(t, e)
				s.survives(d, func() { s.node[0].Load().ended(-1) })
			})
		})
	}
}

// service is one whose servers are killed and started again.
type service struct {
	t      *testing.T
	data   string
	flags  []string
	node   []atomic.Pointer[process]
	kills  int
	office *postOffice
	port   int
	stripe *stripetest.Server
}

// newService has one server, or two on PostgreSQL.
func newService(t *testing.T, e engine) *service {
	s := &service{t: t, data: e.data(t), node: make([]atomic.Pointer[process], 1), stripe: stripetest.New(true)}
	if e == postgres {
		s.node = make([]atomic.Pointer[process], 2)
	}
	t.Cleanup(s.stripe.Close)
	s.office, s.port = openOffice(t)
	s.flags = []string{
		"--rate-limit", "0", "--tls", "off", "--base-url", "https://localhost:8443", "--stripe-address", s.stripe.URL,
		"--payment-key", s.keys(),
		"--smtp-host", "127.0.0.1", "--smtp-port", strconv.Itoa(s.port), "--smtp-tls", "off", "--mail-from",
		"giving@example.org",
	}
	return s
}

func (s *service) keys() string { return filepath.Join(s.data, "payments.key") }

// start starts a server, which dies at a moment.
func (s *service) start(i int, moment string) {
	s.t.Helper()
	cmd := exec.Command("donorbook", servingOn(s.data, s.flags)...)
	cmd.Env = environment(s.data, diesAt+"="+moment)
	p := start(s.t, s.data, cmd)
	p.waitUntilServing()
	s.node[i].Store(p)
}

// survives lets three accounts do something at the same time. die ends when the first server is dead. Another account
// does it undisturbed: everybody has the same in the end.
func (s *service) survives(d deed, die func()) {
	t := s.t
	t.Helper()
	newKey(t, s.data) // ids of the first account have another form
	var people []*person
	for i := range 3 {
		people = append(people, s.person(i, d))
	}
	var doing sync.WaitGroup
	for i := range s.node {
		s.start(i, map[bool]string{true: d.moment}[i == 0])
	}
	for _, a := range people {
		doing.Go(func() { d.do(a) })
	}
	die()
	s.kills++
	undisturbed := s.person(0, d)
	undisturbed.hears = true
	s.start(0, "")
	doing.Wait()
	d.do(undisturbed)
	for i := range s.node {
		s.node[i].Load().stop()
	}
	s.sendRest()
	want := undisturbed.state()
	contains(t, want, d.wants)
	for _, a := range people {
		equal(t, a.state(), want, "an account differs from one that was not disturbed")
	}
	if twice := s.office.twice(); twice > s.kills*atOnce {
		t.Errorf("%d mails came again", twice)
	}
	says(t, exitOK, "", "check", "--data", s.data)
	checkIntegrity(t, s.data)
}

// use opens the database in this process; useAt has a clock.
func (s *service) use(do func(*book.Book)) { s.useAt(nil, do) }

func (s *service) useAt(now func() time.Time, do func(*book.Book)) {
	s.t.Helper()
	b := must(book.Open(s.t.Context(), store.Options{Data: s.data, Database: databaseOf(s.data), Now: now}))(s.t)
	b.UseDesk(&pay.Desk{Stripe: s.stripe.URL}, donations.NewKeys(s.keys()), "US")
	b.UseRelay(new(store.Shelf))
	do(b)
	succeed(s.t, b.Close())
}

// person works with an account of a service, through one of its servers.
type person struct {
	*service
	at      int
	id, key string
	account access.Account
	sent    int
	hears   bool // every answer
}

func (s *service) person(i int, d deed) *person {
	s.t.Helper()
	a := &person{service: s, at: i % len(s.node)}
	a.id, a.key = newKey(s.t, s.data)
	s.use(func(b *book.Book) { a.account = must(b.Account(s.t.Context(), a.id))(s.t) })
	if d.ready != nil {
		d.ready(a)
	}
	return a
}

// again does something that fails if the server is gone, until it succeeds.
func (a *person) again(do func(*process) error) (tries int) {
	for {
		p := a.node[a.at].Load()
		tries++
		if err := do(p); err == nil || a.t.Failed() {
			return tries
		}
		<-p.exited
		p.waitFor("the next server", func() bool { return a.node[a.at].Load() != p || a.t.Failed() })
	}
}

// ask sends a request with a key of its own until it is answered. One that is sent again may have been carried out
// before.
func (a *person) ask(method, path, body string) []byte {
	a.sent++
	var got answer
	heard := a.hears || a.sent%3 > 0 || method == "DELETE" // some answers do not reach the client
	tries := a.again(func(p *process) (err error) {
		for {
			got, err = p.send(a.key, method, path, body, "Idempotency-Key", fmt.Sprint(a.id, a.sent))
			if err != nil || heard {
				return err
			}
			heard = true
		}
	})
	if got.status/100 != 2 && !(tries > 1 && method == "DELETE" && got.status/100 == 4) {
		a.t.Errorf("%s %s: %s", method, path, got)
	}
	return got.body
}

// domain is where all people of the account have their email.
func (a *person) domain() string { return strings.ToLower(a.id) + ".example" }

// number is what a pattern finds in an answer.
func (a *person) number(path, pattern string) int {
	found := regexp.MustCompile(pattern).FindSubmatch(a.ask("GET", path, ""))
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

func (a *person) waitUntil(path, pattern string, want int) {
	a.node[a.at].Load().waitFor(path, func() bool { return a.number(path, pattern) == want || a.t.Failed() })
}

// state is everything of the account that what was done determines.
func (a *person) state() string {
	text := stateOf(a.t, a.data, a.id)
	for _, recipient := range a.office.taken(a.domain()) {
		text += "a mail to " + recipient + "\n"
	}
	return strings.NewReplacer(a.id, "ACCOUNT", a.domain(), "DOMAIN").Replace(text)
}

// stateOf is what commands tell of an account, without what differs from time to time.
func stateOf(t *testing.T, data, account string) string {
	t.Helper()
	var text strings.Builder
	for _, list := range []string{
		"contact export --scope all --format jsonl --output -", "gift export --format jsonl --output -",
		"merge list --json", "receipt list --json", "tag list", "donation list --json",
	} {
		stdout := result(t, append(strings.Fields(list), "--data", data, "--account", account)...)
		for _, varies := range []struct{ pattern, name string }{
			{moment.String(), "TIME"}, {`"[0-9A-Za-z]{16}"`, `"ID"`}, {`"(id|undo_id)": \d+`, `"$1": NUMBER`},
			{`import:\w+`, "IMPORT"}, {` +`, " "},
			{`\b[1-9]\d{0,3}0{5}(\d{4})\b`, "$1"}, // the number of the account
		} {
			stdout = regexp.MustCompile(varies.pattern).ReplaceAllString(stdout, varies.name)
		}
		text.WriteString(stdout + "\n")
	}
	return text.String()
}

func (a *person) newContact(i int, more string) string {
	made := a.ask("POST", "/v1/contacts?force_create=true",
		fmt.Sprintf(`{"first_name":"Ada","last_name":"P%d","emails":[{"value":"t%[1]d@%s"}]%s}`, i, a.domain(), more))
	return fmt.Sprint(decode[client.Contact](a.t, made).ID)
}

func changeContacts(a *person) {
	for i := range 6 {
		path := "/v1/contacts/" + a.newContact(i, `,"tags":["new"]`)
		a.ask("PATCH", path, fmt.Sprintf(`{"company":"C%d"}`, i))
		a.ask("POST", path+"/tags/add", `{"tags":["more"]}`)
		if i%2 == 0 {
			a.ask("POST", path+"/tags/sync", `{"tags":["late"]}`)
		}
		if i%3 == 0 {
			a.ask("DELETE", path, "")
		}
		if i == 3 {
			a.ask("PATCH", path+"/restore", "")
		}
	}
}

// gift records a gift of a day, and returns its id.
func (a *person) gift(contact string, day int, more string) string {
	made := a.ask("POST", "/v1/transactions", fmt.Sprintf(
		`{"contact_id":%s,"amount":%d.01,"method":"check","transacted_at":"2026-01-%02d"%s}`, contact, day+4, day,
		more))
	return decode[client.Transaction](a.t, made).ID
}

func give(a *person) {
	contact := a.newContact(0, "")
	for day := 1; day < 7; day++ {
		gift := a.gift(contact, day, "")
		for range day % 3 {
			a.ask("POST", "/v1/transactions/"+gift+"/refund", `{"amount":1}`)
		}
	}
}

func thank(a *person) {
	contact := a.newContact(3, "")
	for day := 1; day < 5; day++ {
		gift := a.gift(contact, day, map[bool]string{true: `,"send_receipt":true`}[day%2 == 0])
		if day%2 == 1 {
			a.ask("POST", "/v1/transactions/"+gift+"/receipt", "")
		}
		if day > 1 {
			a.ask("POST", "/v1/transactions/"+gift+"/refund", `{"amount":2}`)
		}
	}
}

func mergePairs(a *person) {
	for i := range 4 {
		one, other := a.newContact(i, ""), a.newContact(i, "")
		a.gift(other, i+1, "")
		a.ask("POST", "/v1/contacts/"+one+"/merge", `{"contact_id":`+other+`}`)
	}
}

func readyToMergeSure(a *person) {
	a.use(func(b *book.Book) {
		for i := range 4 {
			contact := fmt.Sprintf(`{"first_name":"Pat%c","last_name":"%s","emails":["x%d@p%d.example"],"phones":["+1%d5550100"],"dob":"%d/9/1950"}`,
				'a'+i, []string{"Babson", "Cebson", "Dibson", "Fobson"}[i], i*i*37, i, 201+i*7, i+1)
			for range 2 {
				rig.Create(a.t, b, a.account.Number, contact, crm.Force)
			}
		}
	})
	result(a.t, "contact", "duplicates", "--data", a.data, "--account", a.id) // finds them
	a.use(func(b *book.Book) {
		must(b.MergeSure(a.t.Context(), a.account.Number, "US", nil))(a.t)
	})
}

func waitForSure(a *person) { a.waitUntil("/v1/merges?per_page=1", `"total":(\d+)`, 4) }

func readyToTag(a *person) {
	people := "first_name,last_name,tags\n"
	for i := range tagged {
		people += fmt.Sprintf("Ada,P%d,old\n", i)
	}
	result(a.t, "contact", "import", "--data", a.data, "--account", a.id, write(a.t, "people.csv", people))
}

// tagged is how many people have the tag: more than are renamed at once.
const tagged = 520

func renameTag(a *person) {
	a.ask("PATCH", "/v1/tags/old", `{"name":"new"}`)
	a.waitUntil("/v1/tags?q=new", `"contacts":(\d+)`, tagged)
	a.waitUntil("/v1/tags?q=old", `"contacts":(\d+)`, 0)
}

func readyToMail(a *person) {
	a.use(func(b *book.Book) {
		for range 12 {
			succeed(a.t, b.SendTest(a.t.Context(), a.account.Number, a.account.Name, "ada@"+a.domain()))
		}
	})
}

// waitForMails leaves those that were on their way when a server died: they are due when their leases are over.
func waitForMails(a *person) {
	a.node[a.at].Load().waitFor("the mails", func() bool {
		return len(a.office.taken(a.domain())) >= 12-atOnce ||
			a.t.Failed()
	})
}

// imports are files of some hundred rows, and when the command that imports them dies: see diesAt.
var imports = []struct {
	noun, moment, headings string
	rows                   int
	row                    func(i int) string
	says                   string
}{
	{"contact", "contact 2", "First Name,Last Name,Email,Tags", 820, func(i int) string {
		switch {
		case i%100 == 1:
			return ",,,rejected"
		case i%7 == 0:
			return fmt.Sprintf("Ann,P%d,,", i) // no one can tell whether it was imported before
		case i%11 == 0:
			return fmt.Sprintf("Ann,P%d,p%[1]d@example.org,t", i-i%5) // the contact of a row further up
		}
		return fmt.Sprintf("Ann,P%d,p%[1]d@example.org,all", i)
	}, "rows were rejected, see "},
	{"gift", "gift 3", "amount,date,method,first_name,last_name,email,campaign,external_id", 320, func(i int) string {
		amount := fmt.Sprint(5 + i%7)
		if i%100 == 7 {
			amount = "much" // rejected
		}
		return fmt.Sprintf("%s,2026-%02d-%02d,card,Ann,P%[4]d,p%[4]d@example.org,%s,%s",
			amount, 1+i%9, 1+i%28, i%150, []string{"", "coats"}[i%2], []string{"", fmt.Sprint("row-", i)}[i%2])
	}, "rows were rejected, see "},
}

// TestAnImportThatIsKilledGoesOn: starting it again gives the same result as an import without interruption.
func TestAnImportThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	for i, in := range imports {
		t.Run(in.noun, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, e engine) {
				importKilled(t, e.data(t), i, in.rows, 1, in.moment, func(p *process) { p.ended(-1) })
			})
		})
	}
}

func importKilled(t *testing.T, data string, kind, rows, kills int, moment string, die func(*process)) {
	in, files := imports[kind], t.TempDir()
	text := in.headings + "\n"
	for i := range rows {
		text += in.row(i) + "\n"
	}
	file := write(t, in.noun+"s.csv", text)
	line := func(account string) []string {
		return []string{in.noun, "import", "--data", data, "--account", account, "--force", "--rejected",
			filepath.Join(files, account), file}
	}
	newKey(t, data) // ids of the first account have another form
	whole, _ := newKey(t, data)
	runLine(t, line(whole)...)
	killed, _ := newKey(t, data)
	for range kills {
		cmd := donorbook(data, line(killed)...)
		cmd.Env = append(cmd.Env, diesAt+"="+moment)
		die(start(t, data, cmd))
	}
	if code, _, stderr := runLine(t, line(killed)...); code != exitFailed || !strings.Contains(stderr, in.says) {
		t.Errorf("started again: exit code %d, %s", code, stderr)
	}
	state := func(account string) string {
		rejected := must(os.ReadFile(filepath.Join(files, account)))(t)
		return numbered.ReplaceAllString(stateOf(t, data, account), "coats") + string(rejected)
	}
	equal(t, state(killed), state(whole), "what is there differs from an import that was not interrupted")
	result(t, "check", "--data", data)
}

// numbered is the slug of a campaign whose title another account has used before.
var numbered = regexp.MustCompile(`coats-\d+`)

// TestAnAccountImportGoesOnAfterKill: until it is complete, the account is not there, and it can be given again.
func TestAnAccountImportGoesOnAfterKill(t *testing.T) {
	eachEngine(t, func(t *testing.T, e engine) {
		accountImportKilled(t, e, 60, 1, "gift 1", func(p *process) { p.ended(-1) })
	})
}

func accountImportKilled(t *testing.T, e engine, rows, kills int, moment string, die func(*process)) {
	from, to, exported := e.data(t), e.data(t), filepath.Join(t.TempDir(), "harbor")
	account, _ := newKey(t, from)
	gifts := "date,amount,method,email,first_name,last_name\n"
	for i := range rows {
		gifts += fmt.Sprintf("2026-01-%02d,%d,check,p%d@example.org,First%[3]d,Last%[3]d\n", i%28+1, i%90+5, i/2)
	}
	result(t, "gift", "import", "--data", from, "--account", account, write(t, "gifts.csv", gifts))
	result(t, "account", "export", account, exported, "--data", from)
	line := []string{"account", "import", exported, "--data", to}
	for range kills {
		cmd := donorbook(to, line...)
		cmd.Env = append(cmd.Env, diesAt+"="+moment)
		die(start(t, to, cmd))
		_, stdout, stderr := runLine(t, "account", "list", "--data", to)
		if moment != "" && (strings.Contains(stdout, account) || !strings.Contains(stderr, "Unfinished import")) {
			t.Fatalf("after it was killed, the accounts are %s%s", stdout, stderr)
		}
	}
	result(t, "check", "--data", to)
	// it may have been done before it was killed
	if _, list, _ := runLine(t, "account", "list", "--data", to); !strings.Contains(list, account) {
		equal(t, result(t, line...), account, "the import printed")
	}
	result(t, "check", "--data", to)
	equal(t, stateOf(t, from, account), stateOf(t, to, account), "the account is not what it was")
}

// postOffice is an SMTP server that counts the mails that it has acknowledged, by their Message-ID, and knows to whom
// they went.
type postOffice struct {
	mu    sync.Mutex
	times map[string]int
	to    map[string]string
}

var (
	messageID = regexp.MustCompile(`(?m)^Message-ID: (\S+)`)
	recipient = regexp.MustCompile(`(?m)^To: <(\S+)>`)
)

func (p *postOffice) NewSession(*smtp.Conn) (smtp.Session, error) { return p, nil }
func (p *postOffice) Reset()                                      {}
func (p *postOffice) Logout() error                               { return nil }
func (p *postOffice) Mail(string, *smtp.MailOptions) error        { return nil }
func (p *postOffice) Rcpt(string, *smtp.RcptOptions) error        { return nil }
func (p *postOffice) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(messageID.FindSubmatch(text)[1])
	p.times[id]++
	p.to[id] = string(recipient.FindSubmatch(text)[1])
	return nil
}

// taken are those at a domain to whom a mail came.
func (p *postOffice) taken(domain string) (to []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, recipient := range p.to {
		if strings.HasSuffix(recipient, "@"+domain) {
			to = append(to, recipient)
		}
	}
	slices.Sort(to)
	return to
}

// atOnce is how many mails a server sends at the same time.
const atOnce = 6

func openOffice(t *testing.T) (office *postOffice, port int) {
	office = &postOffice{times: make(map[string]int), to: make(map[string]string)}
	server := smtp.NewServer(office)
	server.ErrorLog = log.New(io.Discard, "", 0) // clients are killed
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return office, l.Addr().(*net.TCPAddr).Port
}

// sendRest sends what is left. What was on its way when a server was killed is due again when the leases are over.
func (s *service) sendRest() {
	s.useAt(func() time.Time { return time.Now().Add(mail.Lease + time.Minute) }, func(b *book.Book) {
		from, _ := mail.ParseAddress("giving@example.org")
		b.UseRelay(&relay.Relay{Host: "127.0.0.1", Port: s.port, TLS: relay.Off, From: from})
		succeed(s.t, b.SendDue(s.t.Context(), "", func(err error) { s.t.Error(err) }))
	})
}

// twice is how many mails came again.
func (p *postOffice) twice() (n int) {
	for _, times := range p.times {
		n += times - 1
	}
	return n
}
