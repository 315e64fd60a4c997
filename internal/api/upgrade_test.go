package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/doc"
	"donorbook/internal/crm/find"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
	"donorbook/internal/store/check"
)

// oldAnswer is what the program answered with an older schema.
type oldAnswer struct {
	Key, Path string
	Status    int
	Body      string
}

// A database of any released schema opens in this program, which answers every request as the older program did.
func TestOlderDatabasesAnswerAsBefore(t *testing.T) {
	fixtures, err := filepath.Glob("testdata/schemas/schema*.json.gz")
	if err != nil || len(fixtures) < 4 {
		t.Fatalf("%d fixtures: %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		var version int
		if _, err := fmt.Sscanf(filepath.Base(fixture), "schema%d", &version); err != nil {
			t.Fatal(err)
		}
		eachFixture(t, version, answersAsBefore)
	}
}

// eachFixture runs a test with an old database on each engine.
func eachFixture(t *testing.T, version int, test func(t *testing.T, name string, o store.Options)) {
	name := fmt.Sprintf("testdata/schemas/schema%d", version)
	t.Run(fmt.Sprintf("schema %d/sqlite", version), func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "donorbook.db"), unpacked(t, name+".db.gz"), 0o600); err != nil {
			t.Fatal(err)
		}
		test(t, name, store.Options{Data: dir})
	})
	t.Run(fmt.Sprintf("schema %d/postgres", version), func(t *testing.T) {
		url := rig.Database(t)
		load(t, url, string(unpacked(t, name+".sql.gz")))
		test(t, name, store.Options{Database: url})
	})
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
	_, err := book.Open(context.Background(), store.Options{Data: o.Data, Database: o.Database, Progress: func(string, int64, int64) {
		if o.Reports--; o.Reports == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it is dead
		}
	}})
	panic(fmt.Sprint("the upgrade ended before it was killed: ", err))
}

// An upgrade that is killed midway leaves the database as it was, and the next start upgrades it.
func TestAnUpgradeThatIsKilledBeginsAgain(t *testing.T) {
	eachFixture(t, 3, func(t *testing.T, name string, o store.Options) {
		for _, reports := range []int{1, 3} { // while checksums are computed, and while the search is built
			options, err := json.Marshal(map[string]any{"Data": o.Data, "Database": o.Database, "Reports": reports})
			if err != nil {
				t.Fatal(err)
			}
			killed := exec.Command(os.Args[0])
			killed.Env = append(os.Environ(), killedUpgrade+"="+string(options))
			out, err := killed.CombinedOutput()
			if killed.ProcessState == nil || killed.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the upgrade was not killed: %v %s", err, out)
			}
		}
		answersAsBefore(t, name, o)
	})
}

var (
	erasedMark   = regexp.MustCompile(`,"erased_at":"[^"]*"`)
	campaignEnds = regexp.MustCompile(`,"code":"[^"]*","status":"(published|draft|closed)"}`)
)

func answersAsBefore(t *testing.T, name string, o store.Options) {
	var asked []oldAnswer
	if err := json.Unmarshal(unpacked(t, name+".json.gz"), &asked); err != nil || len(asked) == 0 {
		t.Fatalf("%d answers: %v", len(asked), err)
	}
	var version int
	if _, err := fmt.Sscanf(filepath.Base(name), "schema%d", &version); err != nil {
		t.Fatal(err)
	}
	for round := range 2 { // upgraded, then opened again
		s, err := book.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		server, stop := startServer(t, s, settings{region: "US", baseURL: "https://donors.example.org"})
		for _, old := range asked {
			got := server.ask(t, "GET", old.Path, old.Key, "")
			body := got.body
			if round > 0 && strings.Contains(old.Path, "/activities") {
				continue // they have the create of the first round
			}
			if version < 10 { // contacts say that they were erased since, and activities name the plan that they are about
				body = erasedMark.ReplaceAllString(body, "")
			}
			if version < 11 && strings.HasPrefix(old.Path, "/v1/campaigns") { // which have a code and a status since
				body = campaignEnds.ReplaceAllString(body, "}")
			}
			if version < 10 && strings.Contains(old.Path, "/activities") {
				body = strings.ReplaceAll(body, `,"plan_id":null`, "")
			}
			if version < 11 && strings.HasPrefix(old.Path, "/v1/contacts") { // which have got keys since
				body = strings.ReplaceAll(body, ","+newKeys, "")
			}
			if got.status != old.Status || body != old.Body {
				t.Errorf("GET %s:\n got %d %s\nwant %d %s", old.Path, got.status, clip(body), old.Status, clip(old.Body))
			}
		}
		key := asked[0].Key
		for _, path := range []string{"/v1/transactions", "/v1/plans"} { // keys keep the permissions that they were created with
			if wasAsked(asked, path) {
				continue
			}
			if got := server.ask(t, "GET", path, key, ""); got.status != 403 {
				t.Errorf("a key of before gifts: GET %s: %d %s", path, got.status, clip(got.body))
			}
		}
		for method, path := range map[string]string{"POST": "/v1/campaigns", "PATCH": "/v1/campaigns/1", "DELETE": "/v1/campaigns/1"} {
			if got := server.ask(t, method, path, key, ""); version < 8 && got.status != 403 {
				t.Errorf("a key of before campaigns:write: %s %s: %d %s", method, path, got.status, clip(got.body))
			}
		}
		merged := server.ask(t, "POST", "/v1/contacts", key, `{"first_name":"Amelia","last_name":"Okafor-Reyes","emails":[{"value":"AMELIA@example.org"}]}`)
		if merged.status != 201 || merged.header.Get("X-Contact-Merged") != "true" {
			t.Errorf("a known email was not recognized: %d %s", merged.status, clip(merged.body))
		}
		var contact struct{ ID int64 }
		if err := json.Unmarshal([]byte(merged.body), &contact); err != nil {
			t.Fatal(err)
		}
		for _, typed := range []string{"a", "books", "reyes ame", "#newsletter", "work@exam", "0100"} {
			f := find.Filter{Search: find.ParseSearch(typed, "US")}
			found, _, err := s.MatchingContacts(t.Context(), doc.IDAccount(contact.ID), crm.Active, f, crm.PageRequest{Page: 1, PerPage: 100})
			if err != nil || !slices.ContainsFunc(found, func(c crm.Contact) bool { return c.ID == contact.ID }) {
				t.Errorf("%q does not find the contact: %+v, %v", typed, found, err)
			}
		}
		stop()
		if _, err := s.Check(t.Context(), check.CheckOptions{Found: func(p check.Problem) { t.Errorf("check: %s", p) }}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// wasAsked tells whether the program knew a path at that schema.
func wasAsked(asked []oldAnswer, path string) bool {
	return slices.ContainsFunc(asked, func(a oldAnswer) bool { return a.Path == path })
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// load runs the statements of a dump.
func load(t *testing.T, url, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// People who were erased with an older schema were known by their name. They are marked since, and stay erased.
func TestPeopleErasedBeforeStayErased(t *testing.T) {
	eachFixture(t, 9, func(t *testing.T, name string, o store.Options) {
		var asked []oldAnswer
		if err := json.Unmarshal(unpacked(t, name+".json.gz"), &asked); err != nil {
			t.Fatal(err)
		}
		s, err := book.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		server, stop := startServer(t, s, settings{region: "US"})
		defer stop()
		erased := 0
		for _, key := range slices.Sorted(maps.Keys(keysOf(asked))) {
			var list struct {
				Data []struct {
					ID        int64
					FirstName string `json:"first_name"`
					ErasedAt  string `json:"erased_at"`
				}
			}
			answer := server.ask(t, "GET", "/v1/contacts?scope=archived&per_page=100", key, "")
			if err := json.Unmarshal([]byte(answer.body), &list); err != nil {
				t.Fatal(err)
			}
			for _, c := range list.Data {
				if c.FirstName != "Erased" {
					continue
				}
				erased++
				if again := server.ask(t, "PATCH", fmt.Sprintf("/v1/contacts/%d/restore", c.ID), key, ""); c.ErasedAt == "" || again.status != http.StatusForbidden {
					t.Errorf("contact %d: erased at %q, restored with status %d", c.ID, c.ErasedAt, again.status)
				}
			}
		}
		if erased == 0 {
			t.Error("the fixture has no one who was erased")
		}
	})
}

func keysOf(asked []oldAnswer) map[string]bool {
	keys := make(map[string]bool)
	for _, a := range asked {
		keys[a.Key] = true
	}
	return keys
}
