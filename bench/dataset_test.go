package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
)

func TestTheSameNumberMakesTheSamePerson(t *testing.T) {
	for n := range 50 {
		if one := personBody(n, ""); !bytes.Equal(one, personBody(n, "")) || bytes.Equal(one, personBody(n+1, "")) {
			t.Fatalf("person %d differs from run to run, or not from the next one", n)
		}
	}
}

func TestAContactIsAsLargeAsThoseOfTheGoals(t *testing.T) {
	const people = 400
	total, beyondASCII, hidden := 0, 0, 0
	tags := make(map[string]bool)
	for n := range people {
		p := makePerson(2, n, "", filledAt)
		total += len(p.body)
		if utf8.RuneCount(p.body) < len(p.body) {
			beyondASCII++
		}
		if p.contact.Archived() {
			hidden++
		}
		if len(p.contact.Emails) != 2 || len(p.contact.Phones) != 1 || len(p.contact.Addresses) != 1 || len(p.contact.Tags) != 3 || len(p.contact.MatchKeys) != 3 {
			t.Fatalf("person %d: %s", n, p.body)
		}
		for _, name := range p.contact.Tags {
			tags[name] = true
		}
	}
	if size := total / people; size < 1200 || size > 1450 {
		t.Errorf("a contact has %d bytes, not about 1.3 KB", size)
	}
	if hidden != people/16 {
		t.Errorf("%d of %d are archived", hidden, people)
	}
	if beyondASCII < people/4 || beyondASCII > people*99/100 {
		t.Errorf("%d of %d have letters beyond ASCII", beyondASCII, people)
	}
	if len(tags) < 24 || len(tags) > 60 {
		t.Errorf("there are %d tags", len(tags))
	}
}

func TestNoTwoPeopleShareAnEmailOrAPhone(t *testing.T) {
	seen := make(map[string]string)
	for _, mark := range []string{"", newcomer, "raw"} {
		for n := range 3000 {
			p := makePerson(2, n, mark, filledAt)
			for _, key := range p.contact.MatchKeys {
				if seen[key] != "" {
					t.Fatalf("%s belongs to %s and to %q %d", key, seen[key], mark, n)
				}
				seen[key] = mark
				if mark == "" {
					seen[key] = "the dataset"
				}
			}
		}
	}
}

func TestNeighborsHaveEmailsFarApart(t *testing.T) {
	near := 0
	for n := range 1000 {
		if a, b := scattered(n), scattered(n+1); a/100_000 == b/100_000 {
			near++
		}
	}
	if near > 50 {
		t.Errorf("%d of 1,000 people are followed by someone with nearly the same email", near)
	}
}

func TestRequestsAreAboutActiveContactsOfTheirAccount(t *testing.T) {
	d := &dataset{Accounts: []account{{Number: 1_000_001, First: 0, Contacts: 800}, {Number: 1_000_002, First: 800, Contacts: 150}, {Number: 1_000_003, First: 950, Contacts: 50}}}
	dice, asked := d.dice(), make(map[int64]int)
	for range 2000 {
		a, id := d.anyone(dice)
		place := int(doc.IDSeq(id)) - 1
		if doc.IDAccount(id) != a.Number || place < 0 || place >= a.Contacts || archived(a.First+place) {
			t.Fatalf("contact %d of account %d", id, a.Number)
		}
		asked[d.byWeight(dice).Number]++
	}
	if asked[1_000_001] < 1500 || asked[1_000_002] < 200 || asked[1_000_003] < 50 {
		t.Errorf("accounts are chosen %v", asked)
	}
}

func TestARareNameBelongsToOnePersonAndBeginsNoOther(t *testing.T) {
	seen := make(map[string]int)
	for n := 3; n < 1_000_000; n += 10 {
		name := rareName(n)
		if other, found := seen[name]; found || len(name) != 10 {
			t.Fatalf("%q is the name of %d and of %d", name, other, n)
		}
		seen[name] = n
	}
}

func TestSearchesFindWhatTheyAreComparedWith(t *testing.T) {
	grace := 0
	for n := range 2000 {
		p := makePerson(2, n, "", filledAt)
		finds := func(text string) bool { return find.ParseSearch(text, region).Finds(find.SearchWords(&p.contact)) }
		if rare(n) && !finds(rareName(n)) {
			t.Errorf("%s does not find %s", rareName(n), p.body)
		}
		if bytes.Contains(p.body, []byte(`"first_name":"Grace"`)) != finds("Grace") {
			t.Errorf("Grace finds, or does not find, %s", p.body)
		}
		if finds("Grace") {
			grace++
		}
	}
	if grace < 40 {
		t.Errorf("Grace is the name of %d of 2,000", grace)
	}
}

func TestAListIsComparedWithTheTables(t *testing.T) {
	d := &dataset{dir: t.TempDir()}
	db := openDatabase(d.file(), durable)
	defer db.close()
	for _, sql := range []string{
		`CREATE TABLE contact (account_id, id, archived, body)`, `INSERT INTO contact VALUES (2, 21, 0, CAST(',"a":1}' AS BLOB)), (2, 22, 1, CAST(',"a":2}' AS BLOB)), (2, 23, 0, CAST(',"a":3}' AS BLOB))`,
		`CREATE TABLE gift (account_id, id, code)`, `INSERT INTO gift VALUES (2, 31, 'x'), (2, 32, 'y')`,
	} {
		db.exec(sql)
	}
	a := account{Number: 2}
	for answer, right := range map[string]bool{
		`{"data":[{"id":21,"a":1},{"id":23,"a":3}],"meta":{"total":2}}`:                 true,
		`{"data":[{"id":21,"a":1},{"id":23,"a":3}],"meta":{"total":3}}`:                 false, // another total
		`{"data":[{"id":23,"a":3},{"id":21,"a":1}],"meta":{"total":2}}`:                 false, // another order
		`{"data":[{"id":21,"a":1},{"id":23,"a":4}],"meta":{"total":2}}`:                 false, // another document
		`{"data":[{"id":21,"a":1}],"meta":{"total":2}}`:                                 false,
		`{"data":[],"meta":{"total":2}}`:                                                false,
		`{"data":[{"id":21,"a":1},{"id":22,"a":2},{"id":23,"a":3}],"meta":{"total":2}}`: false, // one is archived
	} {
		if d.isPage([]byte(answer), a, contactList, 1) != right {
			t.Errorf("%s is right: %t", answer, !right)
		}
	}
	for answer, right := range map[string]bool{
		`{"data":[{"id":"x"},{"id":"y"}],"meta":{"total":2}}`: true,
		`{"data":[{"id":"y"},{"id":"x"}],"meta":{"total":2}}`: false,
		`{"data":[{"id":"x"},{"id":"y"}],"meta":{"total":1}}`: false,
	} {
		if d.isPage([]byte(answer), a, giftList, 1) != right {
			t.Errorf("%s is right: %t", answer, !right)
		}
	}
}

func TestPostgreSQLWritesTheRowsOfATableAtOnce(t *testing.T) {
	rows := lists{columns: make(map[string][]any)}
	rows.put(sqlTag, int64(2), "vip", "vip", int64(9))
	rows.put(sqlTag, int64(2), "choir", "choir", int64(1))
	if got := rows.columns[sqlTag]; len(rows.order) != 1 || !slices.Equal(got[1].([]string), []string{"vip", "choir"}) || !slices.Equal(got[3].([]int64), []int64{9, 1}) {
		t.Errorf("the lists are %v", got)
	}
	const want = `INSERT INTO tag (account_id, fold, name, contacts, size) SELECT a1, a2, a3, a4, length(CAST(a4 AS TEXT))` +
		` FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS n (a1, a2, a3, a4)`
	if got := listed(sqlTag, rows.columns[sqlTag]); !strings.HasPrefix(got, want) || !strings.Contains(got, "ON CONFLICT") {
		t.Errorf("got %s", got)
	}
	if got := listed(sqlCount, []any{[]int64{2}}); !strings.HasSuffix(got, ` FROM unnest($1::bigint[]) AS n (a1) WHERE account_id = a1`) {
		t.Errorf("got %s", got)
	}
}

// Raw is a fair limit only as long as it writes with the very settings of the store, which this package may not know.
func TestRawWritesWithTheSettingsOfTheStore(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/db/sqlite.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var theirs []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && strings.HasPrefix(text, "PRAGMA ") && strings.Contains(text, " = ") { // a setting
				theirs = append(theirs, text)
			}
		}
		return true
	})
	if !slices.Equal(theirs, durable) {
		t.Errorf("the store sets\n%q, raw sets\n%q", theirs, durable)
	}
}

func TestAnswersAreRead(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			http.Error(w, "no", http.StatusUnprocessableEntity)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("hello ", 10_000)) // in chunks
	}))
	defer s.Close()
	c := must(dial(s.Listener.Addr().String()))
	defer c.close()
	for range 2 { // a body that is not wanted is skipped, and the next answer begins after it
		if got, err := c.ask(request(nil, "GET", "/", "", nil), nil); err != nil || got != nil {
			t.Fatalf("got %.20q, %v", got, err)
		}
		if got, err := c.ask(request(nil, "GET", "/", "", nil), []byte{}); err != nil || len(got) != 60_000 {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
	if got, err := c.ask(request(nil, "POST", "/no", "", []byte("{}")), nil); err == nil || !strings.Contains(err.Error(), "status 422: no") {
		t.Errorf("a refusal gives %q, %v", got, err)
	}
}
