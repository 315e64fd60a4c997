package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"donorbook/client"
	"donorbook/internal/crm/doc"
	"donorbook/internal/pgtest"
)

// damage changes a database without the server's knowledge, as a failing disk would.
func damage(t *testing.T, data, sql string) {
	t.Helper()
	if url := databaseOf(data); url != "" {
		if n, err := pgtest.Number(url, "WITH changed AS ("+sql+
			" RETURNING 1) SELECT count(*) FROM changed"); err != nil || n == 0 {
			t.Fatalf("%s: %d rows, %v", sql, n, err)
		}
		return
	}
	db := must(sqlite3.Open(filepath.Join(data, "donorbook.db")))(t)
	defer db.Close()
	if err := db.Exec("PRAGMA busy_timeout = 10000; " + sql); err != nil || db.Changes() == 0 {
		t.Fatalf("%s: %d rows, %v", sql, db.Changes(), err)
	}
}

// TestDamageIsToldAndChecked: a damaged document gets a 500 without details, and a log line names the row; check names
// it as well and repairs what it can, while the server runs.
func TestDamageIsToldAndChecked(t *testing.T) { eachEngine(t, damageIsToldAndChecked) }

func damageIsToldAndChecked(t *testing.T, e engine) {
	data := e.data(t)
	account, key := newKey(t, data)
	p := serve(t, data, "--log-format", "text")
	var ids []int64
	for i := range 3 {
		a := p.call(key, 201, "POST", "/v1/contacts",
			fmt.Sprintf(`{"first_name":"Ada","last_name":"L%d","emails":[{"value":"ada%d@x.org"}],"tags":["vip"]}`, i,
				i))
		ids = append(ids, decode[client.Contact](t, a.body).ID)
	}
	typed := func(code int, args ...string) string {
		t.Helper()
		got, stdout, stderr := runLine(t, append(args, "--data", data)...)
		equal(t, got, code, "%v: %s%s", args, stdout, stderr)
		return stdout
	}
	const sound = "Checked 1 accounts, 3 contacts, 3 match keys, 24 search words, 0 gifts, 0 campaigns, 4 changes: 0 problems, 0 repaired.\n"
	equal(t, typed(exitOK, "check"), sound, "check says")

	damage(t, data, fmt.Sprintf(`UPDATE contact_index SET key = 'e:eda0@x.org' WHERE id = %d`, ids[0]))
	want := fmt.Sprintf("account %s: contact %d: the index does not have exactly its match keys", account, ids[0])
	if said := typed(exitFailed, "check"); !strings.Contains(said, want+"\n") ||
		!strings.HasSuffix(said, ": 1 problem, 0 repaired.\n") {
		t.Errorf("check says %q, want %q", said, want)
	}
	if said := typed(exitOK, "check", "--repair"); !strings.Contains(said, want+" (repaired)\n") ||
		!strings.HasSuffix(said, ": 1 problem, 1 repaired.\n") {
		t.Errorf("check --repair says %q, want %q", said, want)
	}
	equal(t, typed(exitOK, "check"), sound, "after the repair check says")

	damage(t, data, fmt.Sprintf(`UPDATE contact SET checksum = checksum + 1 WHERE id = %d`, ids[1]))
	for _, line := range []string{fmt.Sprintf("GET /v1/contacts/%d", ids[1]),
		fmt.Sprintf("PATCH /v1/contacts/%d/restore", ids[1]), "GET /v1/contacts"} {
		method, path, _ := strings.Cut(line, " ")
		equal(t, string(p.call(key, 500, method, path, "").body),
			`{"message":"Something went wrong on our side. Please try again later."}`,
			"%s", line)
	}
	named := fmt.Sprintf("contact %d of account number %d is damaged", ids[1], doc.IDAccount(ids[1]))
	p.waitFor("the log to name the damaged contact three times",
		func() bool { return strings.Count(p.stderr.String(), named) == 3 })
	p.call(key, 200, "GET", fmt.Sprintf("/v1/contacts/%d", ids[2]), "")
	type found struct {
		Account  string
		Contact  int64
		What     string
		Repaired bool
	}
	type result struct {
		Problems []found
		Checked  map[string]int
	}
	got := decode[result](t, []byte(typed(exitFailed, "check", "--repair", "--json")))
	equal(t, len(got.Problems), 1, "check --json says %+v", got)
	equal(t, got.Checked["contacts"], 3)
	problem := got.Problems[0]
	contains(t, problem.What, "restore it from a backup")
	problem.What = ""
	equal(t, problem, found{Account: account, Contact: ids[1]})
	damage(t, data, fmt.Sprintf(`UPDATE contact SET checksum = checksum - 1 WHERE id = %d`, ids[1]))
	if got := decode[result](t, []byte(typed(exitOK, "check", "--json"))); len(got.Problems) != 0 ||
		got.Checked["accounts"] != 1 {
		t.Errorf("check --json says %+v", got)
	}
	p.stop()
}
