package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/ncruces/go-sqlite3"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
	"donorbook/internal/rig/rows"
)

// TestWrongUsage checks flags and settings only: nothing is opened, and the message names the mistake.
func TestWrongUsage(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	t.Setenv("DONORBOOK_KEY", "dbk_secret")
	for line, want := range rows.Pairs(`
		frobnicate                                                 unexpected argument frobnicate
		-x                                                         unknown flag -x
		--json account list                                        unknown flag --json
		key                                                        expected one of "create", "list", "revoke"
		campaign                                                   expected one of "list", "create", "get", "update", "delete", ...
		key list --account X --xml                                 unknown flag --xml
		serve now                                                  unexpected argument now
		config now                                                 unexpected argument now
		version now                                                unexpected argument now
		account list now                                           unexpected argument now
		account list --data                                        --data
		config --rate-limit=-1                                     --rate-limit: -1 is negative; 0 is no limit
		config --max-connections=-1                                --max-connections: -1 is negative; 0 is as many as there are file descriptors
		config --max-connections-per-address=-1                    --max-connections-per-address: -1 is negative; 0 is no limit
		config --rate-limit many                                   --rate-limit: expected a valid 64 bit int but got "many"
		config --rate-limit 1e99                                   --rate-limit
		serve --listen localhost                                   --listen: "localhost" is not an address such as localhost:8443
		serve --listen localhost:                                  --listen: "localhost:"
		serve --listen localhost:70000                             --listen: "localhost:70000"
		serve --listen localhost:-1                                --listen: "localhost:-1"
		serve --listen ::1:8443                                    --listen: "::1:8443"
		serve --listen=                                            --listen: ""
		serve --metrics-listen 9464                                --metrics-listen: "9464"
		serve --tls on                                             --tls must be one of
		serve --tls files                                          --tls: files needs --tls-cert
		serve --tls files --tls-cert c                             --tls: files needs --tls-key
		serve --tls-cert c --tls-key k                             --tls: --tls-cert and --tls-key need --tls files
		serve --tls acme                                           --tls: acme needs --acme-host
		serve --tls acme --acme-host localhost                     --tls: --acme-host "localhost" is not a public host name
		serve --tls acme --acme-host d.example.org --acme-email x  --tls: --acme-email "x" is not an email address
		serve --acme-host d.example.org                            need --tls acme
		serve --acme-listen :80                                    need --tls acme
		serve --trusted-proxy nowhere                              --trusted-proxy: trusted proxy "nowhere" is neither an address nor a range
		serve --trusted-proxy 10.0.0.0/99                          --trusted-proxy
		serve --base-url ftp://d.example                           --base-url: give only scheme and host, such as https://donors.example.org
		serve --base-url https://d.ex?a=b                          --base-url
		serve --base-url d.example                                 --base-url
		serve --phone-region USA                                   --phone-region: "USA" is not a two-letter country code, such as US
		serve --phone-region us                                    --phone-region
		serve --stop-delay 5                                       --stop-delay
		serve --stop-delay=-5s                                     --stop-delay: -5s is negative
		serve --log-format xml                                     --log-format must be one of
		serve --log-level loud                                     --log-level must be one of
		serve --demo=perhaps                                       --demo
		serve --database mysql:x                                   --database: the URL must begin with postgres: or sqlite:
		account list --database donors                             --database: the URL must begin with postgres: or sqlite:
		account list --database sqlite:                            --database: the URL names no directory; write sqlite:DIR
		account list --database sqlite://                          --database: the URL names no directory; write sqlite:DIR
		account create --name                                      --name
		account create Lost                                        unexpected argument Lost
		key create --account X                                     missing flags: --name=NAME
		key create --name X                                        missing flags: --account=ID
		key list                                                   missing flags: --account=ID
		key revoke                                                 expected "<key-id>"
		key revoke nonsense                                        a key ID is a number; see "donorbook key list"
		key revoke 99999999999999999999                            a key ID is a number; see "donorbook key list"
		key revoke 1 2                                             unexpected argument 2
		user                                                       expected one of "create", "list", "reset-password"
		user create --name X --account X                           missing flags: --email=EMAIL
		user create --email X --account X                          missing flags: --name=NAME
		user create --email X --name X                             missing flags: --account=ID
		user create --email X --name X --account X --role boss     --role must be one of "owner","editor","viewer"
		user create --email X --name X --account X --role=         --role must be one of
		user list now                                              unexpected argument now
		user reset-password                                        expected "<email>"
		campaign list                                              missing flags: --account=ID
		campaign list --account X --base-url y                     --base-url: give only scheme and host
		campaign import campaigns.json                             missing flags: --account=ID
		campaign import --account X                                expected "<file>"
		campaign delete 5                                          missing flags: --account=ID
		campaign delete --account X                                expected "<id>"
		gift                                                       expected one of "list", "create", "get", "update", "get-receipt", ...
		gift create --amount 5                                     missing flags: --account=ID
		gift create --account X --amount 5 --phone-region USA      --phone-region
		gift create --account X --colour red                       unknown flag --colour
		gift refund --account X                                    expected "<id>"
		gift add --account X --contact Y --amount 5                "donorbook gift add" is gone: use "donorbook gift create"
		gift correct --account X Y --amount 5                      "donorbook gift correct" is gone: use "donorbook gift update ID --correction"
		contact unmerge --account X 7                              "donorbook contact unmerge" is gone: use "donorbook merge undo"
		gift import --account X                                    expected "<file>"
		"account create --name broken\xfftext"                     argument 5 is not valid UTF-8
		serve --mcp maybe                                          --mcp must be one of
		mcp --key dbk                                              unknown flag --key
		mcp --key-file /dev/null                                   --key-file: no API key in the file
		mcp --url http://donors.example.org                        --url: the key would be sent unencrypted
		mcp --url https://ada:hunter2@donors.example.org           --url: give scheme and host
		mcp --url donors.example.org                               --url: give scheme and host
		mcp --url https://donors.example.org --ca mcp.go           --ca: the file has no certificate
		mcp --url https://donors.example.org/?key=hunter2          --url: give scheme and host
	`) {
		args := append([]string{"--data=" + data}, strings.Fields(line)...)
		_, stderr := says(t, exitUsage, want, args...)
		if !strings.HasPrefix(stderr, "donorbook: ") || strings.Contains(stderr, "hunter2") ||
			strings.Contains(stderr, "dbk_secret") {
			t.Errorf("donorbook %s tells a secret, or not who it is: %s", line, stderr)
		}
	}
	for _, missing := range []string{"mcp --key-file missing", "mcp --ca missing"} {
		says(t, exitNotFound, "", strings.Fields(missing)...)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("something was made in the data directory: %v", err)
	}
}

// TestHelpNamesEveryFlag walks the whole command line: the help of each group and command exits with 0, describes the
// command on standard output only, and lists every flag and argument with an explanation.
func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	parser := must(newParser())(t)
	seen := 0
	succeed(t, kong.Visit(parser.Model, func(v kong.Visitable, next kong.Next) error {
		node, ok := v.(*kong.Node)
		if !ok {
			return next(nil)
		}
		seen++
		path := strings.Fields(node.Path())
		code, stdout, stderr := runLine(t, append(path, "--help")...)
		if code != exitOK || stderr != "" || !strings.HasPrefix(stdout, "Usage: donorbook") {
			t.Errorf("%s --help: exit code %d, stderr %q, stdout\n%s", node.Path(), code, stderr, stdout)
		}
		if node.Help == "" || !strings.Contains(stdout, node.Help[:min(len(node.Help), 40)]) {
			t.Errorf("%s --help does not say what it is for", node.Path())
		}
		for _, flags := range node.AllFlags(true) {
			for _, flag := range flags {
				if flag.Help == "" || !strings.Contains(stdout, "--"+flag.Name) {
					t.Errorf("%s --help does not explain --%s", node.Path(), flag.Name)
				}
			}
		}
		for _, argument := range node.Positional {
			if argument.Help == "" || !strings.Contains(stdout, argument.Summary()) {
				t.Errorf("%s --help does not explain %s", node.Path(), argument.Summary())
			}
		}
		for _, child := range node.Children {
			contains(t, stdout, child.Path(), "%s --help does not list", node.Path())
		}
		return next(nil)
	}))
	if seen < 13 {
		t.Errorf("saw %d commands and groups only", seen)
	}
}

// TestEveryOperationIsACommand: an operation of the API whose noun the command line does not know would be missing.
func TestEveryOperationIsACommand(t *testing.T) {
	t.Parallel()
	known := new(commands).addData(func(string) bool { return true })
	operations := assistant.NewCaller(api.Document(), nil).Operations()
	for _, op := range operations {
		if c := newDataCommand(op); known[c.noun+" "+c.verb] == nil {
			t.Errorf("%s would be donorbook %s %s, but the command line has no %s", op.Name, c.noun, c.verb, c.noun)
		}
	}
	if len(operations) < 34 || len(known) != len(operations) {
		t.Errorf("%d operations are %d commands", len(operations), len(known))
	}
}

func TestImportOfALargeFile(t *testing.T) { eachEngine(t, importOfALargeFile) }

func importOfALargeFile(t *testing.T, e engine) {
	dir := e.data(t)
	account := result(t, "account", "create", "--data", dir, "--name", "Large")
	file := filepath.Join(dir, "campaigns.json")
	var rows []string
	for i := range 150 {
		rows = append(rows, `{"title":"Campaign `+strconv.Itoa(i)+`","description":"`+strings.Repeat("wide ", 20)+`"}`)
	}
	succeed(t, os.WriteFile(file, []byte("["+strings.Join(rows, ",")+"]"), 0o600))
	equal(t, result(t, "campaign", "import", "--data", dir, "--account", account, file),
		"150 created, 0 updated, 0 unchanged",
		"import said")
	list := result(t, "campaign", "list", "--data", dir, "--account", account, "--json")
	equal(t, strings.Count(list, `"slug": "campaign-`), 150, "the list")

	succeed(t, os.Truncate(file, maxImport+1))
	says(t, exitInvalid, "is larger than 64 MiB", "campaign", "import", "--data", dir, "--account", account, file)
}

// newParser knows the whole command line.
func newParser() (*kong.Kong, error) {
	var c commands
	c.addData(func(string) bool { return true })
	return kong.New(&c, kong.Name("donorbook"))
}

// A program of today refuses a database that a program of tomorrow has made, whatever the command is, and leaves it as
// it is.
func TestEveryCommandRefusesANewerDatabase(t *testing.T) {
	data, files := filepath.Join(t.TempDir(), "data"), t.TempDir()
	account := result(t, "account", "create", "--data", data, "--name", "Harbor Light")
	exported := filepath.Join(files, "exported")
	result(t, "account", "export", account, exported, "--data", data)
	table := filepath.Join(files, "people.csv")
	succeed(t,
		os.WriteFile(table, []byte("first_name,last_name,email,amount,date\nAda,Brooks,ada@example.org,5,2026-01-31\n"),
			0o600))
	campaigns := filepath.Join(files, "campaigns.json")
	succeed(t, os.WriteFile(campaigns, []byte(`[{"title":"Coats"}]`), 0o600))
	db := must(sqlite3.Open(filepath.Join(data, "donorbook.db")))(t)
	succeed(t, db.Exec(`INSERT INTO schema_version SELECT MAX(version) + 1
		FROM schema_version; PRAGMA wal_checkpoint(TRUNCATE)`))
	succeed(t, db.Close())
	before := must(os.ReadFile(filepath.Join(data, "donorbook.db")))(t)
	values := map[string]string{ // of flags and arguments, where any text will not do
		"account": account, "id": account, "email": "ada@example.org", "amount": "5", "method": "cash",
		"to": "sqlite:" + filepath.Join(files, "copy"), "from": "sqlite:" + data,
		"contact import file": table, "gift import file": table, "campaign import file": campaigns,
		"account import dir": exported,
		"contact":            "1", "survivor": "1", "other": "2", "merge": "1", "date": "2026-01-31", "key-id": "1",
		"what": "letters", "campaign-id": "1", "import-id": "1",
	}
	parser := must(newParser())(t)
	const header = 100 // bytes, in which every open leaves a mark
	tried := 0
	for _, leaf := range parser.Model.Leaves(false) {
		name := leaf.Path()
		name = strings.TrimPrefix(name, parser.Model.Name+" ")
		name = strings.Join(slices.DeleteFunc(strings.Fields(name),
			func(word string) bool { return strings.HasPrefix(word, "<") }), " ")
		if slices.Contains([]string{"config", "distribute", "health", "version", "restore", "mcp", "mail test"}, name) {
			// these open no database: mcp asks a server, mail test a relay, and distribute tells of the tables that the
			// program knows
			continue
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
	if after, err := os.ReadFile(filepath.Join(data, "donorbook.db")); err != nil ||
		string(after[header:]) != string(before[header:]) {
		t.Errorf("the database was changed, or cannot be read: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(files, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("a command has written %v", left)
	}
}
