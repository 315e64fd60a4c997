package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// A program of today refuses a database that a program of tomorrow has made, whatever the command is, and leaves it as it is.
func TestEveryCommandRefusesANewerDatabase(t *testing.T) {
	data, files := filepath.Join(t.TempDir(), "data"), t.TempDir()
	account := result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	exported := filepath.Join(files, "exported")
	result(t, "account", "export", account, exported, "--data", data)
	table := filepath.Join(files, "people.csv")
	succeed(t, os.WriteFile(table, []byte("first_name,last_name,email,amount,date\nAda,Brooks,ada@example.org,5,2026-01-31\n"), 0o600))
	campaigns := filepath.Join(files, "campaigns.json")
	succeed(t, os.WriteFile(campaigns, []byte(`[{"title":"Coats"}]`), 0o600))
	db := must(sqlite3.Open(filepath.Join(data, "donorbook.db")))(t)
	succeed(t, db.Exec(`INSERT INTO schema_version SELECT MAX(version) + 1 FROM schema_version; PRAGMA wal_checkpoint(TRUNCATE)`))
	succeed(t, db.Close())
	before := must(os.ReadFile(filepath.Join(data, "donorbook.db")))(t)
	values := map[string]string{ // of flags and arguments, where any text will not do
		"account": account, "id": account, "email": "ada@example.org", "amount": "5", "method": "cash", "to": "sqlite:" + filepath.Join(files, "copy"), "from": "sqlite:" + data,
		"contact import file": table, "gift import file": table, "campaign import file": campaigns, "account import dir": exported,
		"contact": "1", "survivor": "1", "other": "2", "merge": "1", "date": "2026-01-31", "key-id": "1", "what": "letters", "campaign-id": "1", "import-id": "1",
	}
	parser := must(newParser())(t)
	const header = 100 // bytes, in which every open leaves a mark
	tried := 0
	for _, leaf := range parser.Model.Leaves(false) {
		name := leaf.Path()
		name = strings.TrimPrefix(name, parser.Model.Name+" ")
		name = strings.Join(slices.DeleteFunc(strings.Fields(name), func(word string) bool { return strings.HasPrefix(word, "<") }), " ")
		if slices.Contains([]string{"config", "distribute", "health", "version", "restore", "mcp", "mail test"}, name) {
			continue // these open no database: mcp asks a server, mail test a relay, and distribute tells of the tables that the program knows
		}
		args := append(strings.Fields(name), "--data", data)
		valueOf := func(of string) string {
			for _, known := range []string{name + " " + of, of} {
				if value := values[known]; value != "" {
					return value
				}
			}
			return filepath.Join(files, "new-"+strings.ReplaceAll(name, " ", "-")+"-"+of)
		}
		for _, flag := range leaf.Flags {
			if flag.Required && !flag.IsBool() {
				args = append(args, "--"+flag.Name, valueOf(flag.Name))
			}
		}
		for _, argument := range leaf.Positional {
			args = append(args, valueOf(argument.Name))
		}
		code, _, stderr := runLine(t, args...)
		if code == exitOK || !strings.Contains(stderr, "use a newer donorbook") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		tried++
	}
	if tried < 60 {
		t.Errorf("only %d commands were tried", tried)
	}
	if after, err := os.ReadFile(filepath.Join(data, "donorbook.db")); err != nil || string(after[header:]) != string(before[header:]) {
		t.Errorf("the database was changed, or cannot be read: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(files, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("a command has written %v", left)
	}
}
