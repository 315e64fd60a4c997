package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
	"donorbook/internal/store/jobs"
)

// oldAnswer is what the program answered with an older schema.
type oldAnswer struct {
	Key, Path string
	Status    int
	Body      string
}

// A database of any released schema opens in this program, which answers every request as the older program did. An
// upgrade that is killed midway leaves the database as it was, and the next start upgrades it.
func TestOlderDatabasesAnswerAsBefore(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/schemas/schema*.json.gz")
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("%d fixtures: %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		var version int
		must(fmt.Sscanf(filepath.Base(fixture), "schema%d", &version))(t)
		eachFixture(t, version, func(t *testing.T, name string, o store.Options) {
			for _, reports := range []int{1, 2} { // of the first account, and of the last
				killUpgrade(t, o, reports)
			}
			answersAsBefore(t, name, o)
		})
	}
}

// eachFixture runs a test with an old database on each engine.
func eachFixture(t *testing.T, version int, test func(t *testing.T, name string, o store.Options)) {
	name := fmt.Sprintf("testdata/schemas/schema%d", version)
	t.Run(fmt.Sprintf("schema %d/sqlite", version), func(t *testing.T) {
		dir := t.TempDir()
		succeed(t, os.WriteFile(filepath.Join(dir, "donorbook.db"), unpacked(t, name+".db.gz"), 0o600))
		test(t, name, store.Options{Data: dir})
	})
	t.Run(fmt.Sprintf("schema %d/postgres", version), func(t *testing.T) {
		url := rig.Database(t)
		load(t, url, string(unpacked(t, name+".sql.gz")))
		test(t, name, store.Options{Database: url})
	})
}

// The texts of objects in SQLite are compared with a backup's, so that every space counts; PostgreSQL keeps what they
// mean.
const (
	sqliteSchema = `SELECT group_concat(line, char(10)) FROM (SELECT type || ' ' || name || ' ' || COALESCE(sql,
		'') AS line FROM sqlite_schema ORDER BY 1)`
	postgresSchema = `SELECT string_agg(line, chr(10) ORDER BY line) FROM (
		SELECT concat_ws(' ', c.relname, a.attnum - (SELECT COUNT(*) FROM pg_attribute AS gone WHERE gone.attrelid = c.oid AND gone.attisdropped AND gone.attnum > 0 AND gone.attnum < a.attnum),
			a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation, pg_get_expr(d.adbin, d.adrelid)) AS line
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public') AS lines`
)

// A database that was upgraded has the very schema of a new one, which the baseline and the steps after it make.
func TestAnUpgradedDatabaseHasTheSchemaOfANewOne(t *testing.T) {
	eachFixture(t, 13, func(t *testing.T, _ string, o store.Options) {
		fresh := store.Options{Data: t.TempDir()}
		if o.Database != "" {
			fresh = store.Options{Database: rig.Database(t)}
		}
		schemaOf := func(o store.Options) string {
			t.Helper()
			s, err := book.Open(t.Context(), o)
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			if o.Database == "" {
				return sqliteText(t, filepath.Join(o.Data, "donorbook.db"), sqliteSchema)
			}
			conn := must(pgx.Connect(t.Context(), o.Database))(t)
			defer conn.Close(context.Background())
			var text string
			succeed(t, conn.QueryRow(t.Context(), postgresSchema).Scan(&text))
			return text
		}
		was, is := strings.Split(schemaOf(o), "\n"), strings.Split(schemaOf(fresh), "\n")
		for i := range max(len(was), len(is)) {
			if i >= len(was) || i >= len(is) || was[i] != is[i] {
				t.Fatalf("line %d: upgraded\n%s\nnew\n%s", i, strings.Join(was[min(i, len(was)):min(i+5, len(was))],
					"\n"), strings.Join(is[min(i, len(is)):min(i+5, len(is))], "\n"))
			}
		}
		if len(was) < 100 {
			t.Errorf("%d lines were compared", len(was))
		}
	})
}

// Nothing does the work any more that moved gifts to another time zone: what was left of it ends with the upgrade.
func TestAnUpgradeEndsTheMoveToATimeZone(t *testing.T) {
	const leave = `UPDATE job SET kind = 'timezone', state = 'running' WHERE account_id = 1 AND id = 1`
	eachFixture(t, 13, func(t *testing.T, _ string, o store.Options) {
		if o.Database != "" {
			load(t, o.Database, leave)
		} else {
			c := must(sqlite3.Open("file:" + filepath.Join(o.Data, "donorbook.db")))(t)
			succeed(t, c.Exec(leave))
			succeed(t, c.Close())
		}
		s := must(book.Open(t.Context(), o))(t)
		defer s.Close()
		equal(t, must(s.Job(t.Context(), 1, 1))(t).State, jobs.JobCanceled)
	})
}

func sqliteText(t *testing.T, file, query string) string {
	t.Helper()
	c := must(sqlite3.Open("file:" + file + "?mode=ro"))(t)
	defer c.Close()
	statement, _ := must2(c.Prepare(query))(t)
	defer statement.Close()
	if !statement.Step() {
		t.Fatal(statement.Err())
	}
	return statement.ColumnText(0)
}

// killedUpgrade is the variable that makes this program upgrade a database and kill itself midway.
const killedUpgrade = "DONORBOOK_TEST_KILLED_UPGRADE"

// dieUpgrading opens a database and kills the process when the upgrade has reported progress this many times.
func dieUpgrading(options string) {
	var o struct {
		Data, Database string
		Reports        int
	}
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		panic(err)
	}
	_, err := book.Open(context.Background(), store.Options{Data: o.Data, Database: o.Database,
		Progress: func(string, int64, int64) {
			if o.Reports--; o.Reports == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until it is dead
			}
		}})
	panic(fmt.Sprint("the upgrade ended before it was killed: ", err))
}

func killUpgrade(t *testing.T, o store.Options, reports int) {
	t.Helper()
	options := must(json.Marshal(map[string]any{"Data": o.Data, "Database": o.Database, "Reports": reports}))(t)
	killed := exec.Command(os.Args[0])
	killed.Env = append(os.Environ(), killedUpgrade+"="+string(options))
	out, err := killed.CombinedOutput()
	if killed.ProcessState == nil || killed.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the upgrade was not killed: %v %s", err, out)
	}
}

func answersAsBefore(t *testing.T, name string, o store.Options) {
	var asked []oldAnswer
	if err := json.Unmarshal(unpacked(t, name+".json.gz"), &asked); err != nil || len(asked) == 0 {
		t.Fatalf("%d answers: %v", len(asked), err)
	}
	for round := range 2 { // upgraded, then opened again
		s := must(book.Open(t.Context(), o))(t)
		server, stop := startServer(t, s, settings{baseURL: "https://donors.example.org"})
		for _, old := range asked {
			got := server.ask(t, "GET", old.Path, old.Key, "")
			if round > 0 && strings.Contains(old.Path, "/activities") {
				continue // they have the create of the first round
			}
			if want := marked.ReplaceAllStringFunc(old.Body, withOpposites); got.status != old.Status ||
				sinceThen.ReplaceAllString(got.body, "}") != want {
				t.Errorf("GET %s:\n got %d %s\nwant %d %s", old.Path, got.status, clip(got.body), old.Status,
					clip(want))
			}
		}
		key := asked[0].Key
		merged := server.ask(t, "POST", "/v1/contacts", key,
			`{"first_name":"Amelia","last_name":"Okafor-Reyes","emails":[{"value":"AMELIA@example.org"}]}`)
		if merged.status != 201 || merged.header.Get("X-Contact-Merged") != "true" {
			t.Errorf("a known email was not recognized: %d %s", merged.status, clip(merged.body))
		}
		var contact struct{ ID int64 }
		succeed(t, json.Unmarshal([]byte(merged.body), &contact))
		for _, typed := range []string{"a", "books", "reyes ame", "#newsletter", "work@exam", "0100"} {
			f := find.Filter{Search: find.ParseSearch(typed, "US")}
			found, _, err := s.MatchingContacts(t.Context(), doc.IDAccount(contact.ID), crm.Active, f,
				crm.PageRequest{Page: 1, PerPage: 100})
			succeed(t, err)
			equal(t, slices.ContainsFunc(found, func(c crm.Contact) bool { return c.ID == contact.ID }), true,
				"%q does not find the contact", typed)
		}
		stop()
		if _, err := s.Check(t.Context(), check.CheckOptions{Found: func(p check.Problem) {
			t.Errorf("check: %s",
				p)
		}}); err != nil {
			t.Error(err)
		}
		succeed(t, s.Close())
	}
}

// Since release 0.10, a contact also has the email that bounced, and the opposites of its marks.
var marked = regexp.MustCompile(`"do_not_mail":(\w+),"do_not_email":(\w+),"do_not_call":(\w+),"deceased":\w+`)

// Since release 0.11, gifts and plans have more keys at their end.
var sinceThen = regexp.MustCompile(`,"(is_recurring":\w+,"refunded_at":("[^"]+"|null)|fee_covered":0)}`)

func withOpposites(marks string) string {
	of := marked.FindStringSubmatch(marks)
	opposite := map[string]string{"true": "false", "false": "true"}
	return marks + `,"bounced_email":null,"is_email_subscribed":` + opposite[of[2]] + `,"is_phone_subscribed":` +
		opposite[of[3]] + `,"is_address_subscribed":` + opposite[of[1]]
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	packed := must(os.ReadFile(path))(t)
	r := must(gzip.NewReader(bytes.NewReader(packed)))(t)
	plain := must(io.ReadAll(r))(t)
	return plain
}

// load runs the statements of a dump.
func load(t *testing.T, url, statements string) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(context.Background())
	must(conn.PgConn().Exec(t.Context(), statements).ReadAll())(t)
}
