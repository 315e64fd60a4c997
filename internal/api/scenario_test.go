package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"donorbook/internal/crm/access"
)

// Scenarios are the contract as data: the files in testdata/scenarios, whose README describes the format. Each scenario
// has its own accounts; every answer is compared with the expected one, with what every answer promises, and with
// openapi.yaml.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios: ", err)
	}
	all := map[string][]scenario{}
	titles := map[string]string{}
	for _, file := range files {
		all[file] = readScenarios(t, file)
		for _, s := range all[file] {
			if other, taken := titles[s.title]; taken {
				t.Errorf("%s and %s: two scenarios are called %q", file, other, s.title)
			}
			titles[s.title] = file
		}
	}
	eachEngine(t, func(t *testing.T, s *server) {
		servers := map[settings]*server{usual: s}
		for _, file := range files {
			for _, scenario := range all[file] {
				o := scenario.settings
				on := servers[o]
				if on == nil {
					on = newServer(t, s.store, o)
				}
				if o.rateLimit == usual.rateLimit { // no other test may use up another limit
					servers[o] = on
				}
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+scenario.title, func(t *testing.T) {
					t.Parallel()
					newStage(t, on, o).play(t, scenario)
				})
			}
		}
	})
}

type scenario struct {
	title    string
	settings settings
	steps    []step
}

// step is a request and its expected answer, or one of the words account, import, wait and differ.
type step struct {
	where   string
	word    string
	method  string
	target  string
	as      string
	times   int
	keep    string // variable that gets the id in the answer
	header  []field
	body    string
	status  int
	want    []field
	golden  string
	compare bool // there is a golden body, even if it is empty
	found   string
}

type field struct{ name, value string }

var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (\S+)(?: as (\S+))?(?: times ([0-9]+))?(?: -> ([a-z0-9_]+))?(?: finds (.+))?$`)
	headerLine  = regexp.MustCompile(`^([A-Z][A-Za-z-]*):(?: (.*))?$`)
	statusLine  = regexp.MustCompile(`^--- ([0-9]{3})$`)
	settingLine = regexp.MustCompile(`^set (base_url|rate_limit) (\S+)$`)
	wordLine    = regexp.MustCompile(`^(account|import|wait|differ)\b ?(.*)$`)
)

func readScenarios(t *testing.T, file string) (scenarios []scenario) {
	t.Helper()
	text := must(os.ReadFile(file))(t)
	var now *scenario
	for at, block := range blocks(string(text)) {
		where := file + ":" + strconv.Itoa(at)
		if title, found := strings.CutPrefix(block[0], "=== "); found {
			scenarios = append(scenarios, scenario{title: title, settings: usual})
			now = &scenarios[len(scenarios)-1]
			for block = block[1:]; len(block) > 0; block = block[1:] {
				m := settingLine.FindStringSubmatch(block[0])
				if m == nil {
					break
				}
				now.settings.set(t, m[1], m[2])
			}
			if len(block) == 0 {
				continue
			}
		}
		if now == nil {
			t.Fatalf("%s: a file begins with the title of a scenario", where)
		}
		for ; len(block) > 1 && wordLine.MatchString(block[1]); block = block[1:] { // words may be on separate lines
			now.steps = append(now.steps, readSteps(t, where, block[:1])...)
		}
		now.steps = append(now.steps, readSteps(t, where, block)...)
	}
	return scenarios
}

// blocks yields the text between blank lines, without comments, by line number.
func blocks(text string) func(yield func(int, []string) bool) {
	return func(yield func(int, []string) bool) {
		var block []string
		for i, line := range strings.Split(text+"\n", "\n") {
			switch {
			case strings.HasPrefix(line, "# "):
			case strings.TrimSpace(line) != "":
				block = append(block, line)
			case len(block) > 0:
				if !yield(i+1-len(block), block) {
					return
				}
				block = nil
			}
		}
	}
}

func (o *settings) set(t *testing.T, name, value string) {
	t.Helper()
	switch name {
	case "base_url":
		o.baseURL = value
	case "rate_limit":
		n := must(strconv.Atoi(value))(t)
		o.rateLimit = n
	}
}

// readSteps reads a word, or requests that have the answer below them in common.
func readSteps(t *testing.T, where string, block []string) (steps []step) {
	t.Helper()
	if m := wordLine.FindStringSubmatch(block[0]); m != nil {
		return []step{{where: where, word: m[1], target: m[2], body: strings.Join(block[1:], "\n")}}
	}
	end := slices.IndexFunc(block, statusLine.MatchString)
	if end < 0 { // each of them says what it finds
		end, block = len(block), append(block, "--- 200")
	}
	var answer step
	answer.status, _ = strconv.Atoi(statusLine.FindStringSubmatch(block[end])[1])
	want, golden := readHeader(block[end+1:])
	answer.want, answer.compare = want, len(golden) > 0
	for _, line := range golden {
		answer.golden += strings.TrimSpace(line)
	}
	if answer.golden == "(empty)" {
		answer.golden = ""
	}
	for requests := block[:end]; len(requests) > 0; {
		m := requestLine.FindStringSubmatch(requests[0])
		if m == nil {
			t.Fatalf("%s: %q is no request", where, requests[0])
		}
		s, next := answer, 1
		s.where, s.method, s.target, s.as, s.times, s.keep, s.found = where+" "+m[0], m[1], m[2], m[3], 1, m[5], m[6]
		if m[4] != "" {
			s.times, _ = strconv.Atoi(m[4])
		}
		for next < len(requests) && !requestLine.MatchString(requests[next]) {
			next++
		}
		var body []string
		s.header, body = readHeader(requests[1:next])
		s.body = strings.Join(body, "\n")
		steps, requests = append(steps, s), requests[next:]
	}
	return steps
}

func readHeader(block []string) (header []field, rest []string) {
	for len(block) > 0 {
		m := headerLine.FindStringSubmatch(block[0])
		if m == nil {
			break
		}
		header, block = append(header, field{m[1], m[2]}), block[1:]
	}
	return header, block
}

// stage is the environment of a scenario.
type stage struct {
	*server
	accounts map[string]access.Account
	secrets  map[string]string
	script
}

func newStage(t *testing.T, s *server, o settings) *stage {
	t.Helper()
	g := &stage{server: s, accounts: map[string]access.Account{}, secrets: map[string]string{}}
	g.script = script{start: clock.now(), vars: map[string]string{"base": g.url}}
	if o.baseURL != "" {
		g.vars["base"] = o.baseURL
	}
	g.account(t, "main", "")
	return g
}

func (g *stage) account(t *testing.T, name, parent string) {
	t.Helper()
	g.accounts[name] = newAccount(t, g.store, name, g.accounts[parent].ID)
	g.vars[name+".id"] = g.accounts[name].ID
}

// secret is the secret of a key by its name: an account's name for a key with all permissions, or one of these words.
func (g *stage) secret(t *testing.T, name string) string {
	t.Helper()
	if known, ok := g.secrets[name]; ok {
		return known
	}
	permissions := map[string][]string{
		"reader": {"contacts:read"}, "writer": {"contacts:write"}, "fundraiser": {"campaigns:read"}, "revoked": nil,
		"expired": nil,
		"auditor": {"transactions:read"}, "bookkeeper": {"transactions:write"}, "organizer": {"campaigns:write"},
	}
	rights, special := permissions[name]
	account, known := g.accounts[name]
	if special {
		account = g.accounts["main"]
	} else if !known {
		t.Fatalf("nobody is called %q", name)
	}
	if name == "expired" {
		g.secrets[name] = expiredKey(t, g.store, account)
		return g.secrets[name]
	}
	key, secret := makeKey(t, g.store, account, noExpiry, rights...)
	if name == "revoked" {
		succeed(t, g.store.RevokeKey(context.Background(), key.ID))
	}
	g.secrets[name] = secret
	return secret
}

func (g *stage) play(t *testing.T, scenario scenario) {
	for _, s := range scenario.steps {
		switch s.word {
		case "account":
			name, parent, _ := strings.Cut(s.target, " under ")
			g.account(t, name, parent)
		case "import":
			importCampaigns(t, g.store, g.accounts[s.target], g.fill(t, s.where, s.body))
		case "wait": // the times of contacts have a resolution of a second
			clock.pass(time.Second)
		case "differ":
			if one, two, _ := strings.Cut(s.target, " "); g.vars[one] == g.vars[two] || g.vars[one] == "" {
				t.Errorf("%s: %s and %s are both %q", s.where, one, two, g.vars[one])
			}
		default:
			for n := 1; n <= s.times; n++ {
				g.vars["n"] = strconv.Itoa(n)
				g.playStep(t, s)
			}
		}
		if t.Failed() {
			return // the rest would only repeat the failure
		}
	}
}

func (g *stage) playStep(t *testing.T, s step) {
	t.Helper()
	r := g.newRequest(t, s)
	got := g.send(t, r)
	checkContract(t, r, got)
	equal(t, got.status, s.status, "%s: the status (%v)", s.where, clip(got.body))
	for _, want := range s.want {
		values := got.header.Values(want.name)
		if want.value == "-" {
			if len(values) > 0 {
				t.Errorf("%s: the answer must not have %s: %q", s.where, want.name, values)
			}
			continue
		}
		if len(values) != 1 || !g.matches(t, s.where, want.value, values[0]) {
			t.Errorf("%s: %s is %q instead of %q", s.where, want.name, values, g.fill(t, s.where, want.value))
		}
	}
	if s.compare && !g.matches(t, s.where, s.golden, got.body) {
		want := g.fill(t, s.where, s.golden)
		t.Errorf("%s: the body is not as written\ngot:  %s\nwant: %s\n%s", s.where, clip(got.body), clip(want),
			cmp.Diff(byMember(want), byMember(got.body)))
	}
	if s.found != "" {
		g.wantFound(t, s, got.body)
	}
	if s.keep != "" {
		g.vars[s.keep] = idOf(t, got.body)
	}
	if r.Method == "HEAD" {
		g.compareWithGet(t, s, got)
	}
}

// wantFound checks what a list has on its page, and in all where the scenario says so.
func (g *stage) wantFound(t *testing.T, s step, body string) {
	t.Helper()
	var list struct {
		Data []struct{ ID json.RawMessage }
		Meta struct{ Total int }
	}
	succeed(t, json.Unmarshal([]byte(body), &list))
	names, total, inAll := strings.Cut(s.found, " of ")
	var want, got []string
	for _, name := range strings.Fields(strings.TrimPrefix(names, "none")) {
		want = append(want, g.vars[name])
	}
	for _, element := range list.Data {
		got = append(got, strings.Trim(string(element.ID), `"`))
	}
	if !inAll {
		total = strconv.Itoa(len(want))
	}
	if !slices.Equal(got, want) || strconv.Itoa(list.Meta.Total) != total {
		t.Errorf("%s: it has %q, %d in all, instead of %q", s.where, got, list.Meta.Total, want)
	}
}

// compareWithGet checks that HEAD says what GET would answer.
func (g *stage) compareWithGet(t *testing.T, s step, head answer) {
	t.Helper()
	s.method = "GET"
	get := g.send(t, g.newRequest(t, s))
	if get.status == 405 {
		return
	}
	for _, name := range []string{"Content-Type", "Content-Length"} {
		if head.status != get.status || head.header.Get(name) != get.header.Get(name) || head.header.Get(name) == "" {
			t.Errorf("%s: HEAD says %d and %s %q, GET %d and %q", s.where, head.status, name, head.header.Get(name),
				get.status, get.header.Get(name))
		}
	}
}

func (g *stage) newRequest(t *testing.T, s step) *http.Request {
	t.Helper()
	as := s.as
	if as == "" {
		as = "main"
	}
	secret := ""
	if as != "nobody" {
		secret = g.secret(t, as)
	}
	g.vars["secret"] = secret
	r := g.request(t, s.method, g.fill(t, s.where, s.target), secret, g.fill(t, s.where, s.body))
	r.Header["User-Agent"] = nil
	cleared := map[string]bool{}
	for _, h := range s.header {
		value := g.fill(t, s.where, h.value)
		switch {
		case h.name == "Host":
			r.Host = value
		case h.name == "Transfer-Encoding":
			r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(g.fill(t, s.where, s.body)))
		case value == "-":
			r.Header.Del(h.name)
		default:
			if !cleared[h.name] {
				r.Header.Del(h.name)
				cleared[h.name] = true
			}
			r.Header[h.name] = append(r.Header[h.name], value)
		}
	}
	return r
}
