package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"donorbook/internal/api"
	"donorbook/internal/assistant"
)

// TestWrongUsage checks flags and settings only: nothing is opened, and the message names the mistake.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for line, want := range map[string]string{
		"frobnicate":                  "unexpected argument frobnicate",
		"-x":                          "unknown flag -x",
		"--json account list":         "unknown flag --json",
		"key":                         `expected one of "create", "list", "revoke"`,
		"campaign":                    `expected one of "list", "create", "get", "update", "delete", ...`,
		"key list --account X --xml":  "unknown flag --xml",
		"serve now":                   "unexpected argument now",
		"config now":                  "unexpected argument now",
		"version now":                 "unexpected argument now",
		"account list now":            "unexpected argument now",
		"account list --data":         "--data",
		"config --rate-limit=-1":      "--rate-limit: -1 is negative; 0 is no limit",
		"config --max-connections=-1": "--max-connections: -1 is negative; 0 is as many as there are file descriptors",
		"config --max-connections-per-address=-1":                   "--max-connections-per-address: -1 is negative; 0 is no limit",
		"config --rate-limit many":                                  `--rate-limit: expected a valid 64 bit int but got "many"`,
		"config --rate-limit 1e99":                                  "--rate-limit",
		"serve --listen localhost":                                  `--listen: "localhost" is not an address such as localhost:8443`,
		"serve --listen localhost:":                                 `--listen: "localhost:"`,
		"serve --listen localhost:70000":                            `--listen: "localhost:70000"`,
		"serve --listen localhost:-1":                               `--listen: "localhost:-1"`,
		"serve --listen ::1:8443":                                   `--listen: "::1:8443"`,
		"serve --listen=":                                           `--listen: ""`,
		"serve --metrics-listen 9464":                               `--metrics-listen: "9464"`,
		"serve --tls on":                                            "--tls must be one of",
		"serve --tls files":                                         "--tls: files needs --tls-cert",
		"serve --tls files --tls-cert c":                            "--tls: files needs --tls-key",
		"serve --tls-cert c --tls-key k":                            "--tls: --tls-cert and --tls-key need --tls files",
		"serve --tls acme":                                          "--tls: acme needs --acme-host",
		"serve --tls acme --acme-host localhost":                    "--tls: --acme-host \"localhost\" is not a public host name",
		"serve --tls acme --acme-host d.example.org --acme-email x": "--tls: --acme-email \"x\" is not an email address",
		"serve --acme-host d.example.org":                           "need --tls acme",
		"serve --acme-listen :80":                                   "need --tls acme",
		"serve --trusted-proxy nowhere":                             `--trusted-proxy: trusted proxy "nowhere" is neither an address nor a range`,
		"serve --trusted-proxy 10.0.0.0/99":                         "--trusted-proxy",
		"serve --base-url ftp://d.example":                          "--base-url: give only scheme and host, such as https://donors.example.org",
		"serve --base-url https://d.ex?a=b":                         "--base-url",
		"serve --base-url d.example":                                "--base-url",
		"serve --phone-region USA":                                  `--phone-region: "USA" is not a two-letter country code, such as US`,
		"serve --phone-region us":                                   "--phone-region",
		"serve --stop-delay 5":                                      "--stop-delay",
		"serve --stop-delay=-5s":                                    "--stop-delay: -5s is negative",
		"serve --log-format xml":                                    "--log-format must be one of",
		"serve --log-level loud":                                    "--log-level must be one of",
		"serve --demo=perhaps":                                      "--demo",
		"serve --database mysql:x":                                  "--database: the URL must begin with postgres: or sqlite:",
		"account list --database donors":                            "--database: the URL must begin with postgres: or sqlite:",
		"account list --database sqlite:":                           "--database: the URL names no directory; write sqlite:DIR",
		"account list --database sqlite://":                         "--database: the URL names no directory; write sqlite:DIR",
		"account create --name":                                     "--name",
		"account create Lost":                                       "unexpected argument Lost",
		"key create --account X":                                    "missing flags: --name=NAME",
		"key create --name X":                                       "missing flags: --account=ID",
		"key list":                                                  "missing flags: --account=ID",
		"key revoke":                                                `expected "<key-id>"`,
		"key revoke nonsense":                                       "a key ID is a number; see \"donorbook key list\"",
		"key revoke 99999999999999999999":                           "a key ID is a number; see \"donorbook key list\"",
		"key revoke 1 2":                                            "unexpected argument 2",
		"user":                                                      `expected one of "create", "list", "reset-password"`,
		"user create --name X --account X":                          "missing flags: --email=EMAIL",
		"user create --email X --account X":                         "missing flags: --name=NAME",
		"user create --email X --name X":                            "missing flags: --account=ID",
		"user create --email X --name X --account X --role boss":    `--role must be one of "owner","editor","viewer"`,
		"user create --email X --name X --account X --role=":        "--role must be one of",
		"user list now":                                             "unexpected argument now",
		"user reset-password":                                       `expected "<email>"`,
		"campaign list":                                             "missing flags: --account=ID",
		"campaign list --account X --base-url y":                    "--base-url: give only scheme and host",
		"campaign import campaigns.json":                            "missing flags: --account=ID",
		"campaign import --account X":                               `expected "<file>"`,
		"campaign delete 5":                                         `missing flags: --account=ID`,
		"campaign delete --account X":                               `expected "<id>"`,
		"gift":                                                      `expected one of "list", "create", "get", "update", "get-receipt", ...`,
		"gift create --amount 5":                                    "missing flags: --account=ID",
		"gift create --account X --amount 5 --phone-region USA":     "--phone-region",
		"gift create --account X --colour red":                      "unknown flag --colour",
		"gift refund --account X":                                   `expected "<id>"`,
		"gift add --account X --contact Y --amount 5":               `"donorbook gift add" is gone: use "donorbook gift create"`,
		"gift correct --account X Y --amount 5":                     `"donorbook gift correct" is gone: use "donorbook gift update ID --correction"`,
		"contact unmerge --account X 7":                             `"donorbook contact unmerge" is gone: use "donorbook merge undo"`,
		"gift import --account X":                                   `expected "<file>"`,
	} {
		args := append([]string{"--data=" + data}, strings.Fields(line)...)
		code, stdout, stderr := runLine(t, args...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "donorbook: ") || !strings.Contains(stderr, want) {
			t.Errorf("donorbook %s: exit code %d, stdout %q, stderr %q, want %q", line, code, stdout, stderr, want)
		}
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("something was made in the data directory: %v", err)
	}
}

func TestNamesThatNoShellCanType(t *testing.T) { eachEngine(t, namesThatNoShellCanType) }

func namesThatNoShellCanType(t *testing.T, e engine) {
	data := e.data(t)
	for _, c := range []struct {
		name string
		code int
		want string
	}{
		{"nul \x00 inside", exitInvalid, "The name field must not contain NUL characters."},
		{"broken \xff text", exitUsage, "argument 6 is not valid UTF-8"},
		{strings.Repeat("ü", 256), exitInvalid, "The name field must not be longer than 255 characters."},
	} {
		code, stdout, stderr := runLine(t, "account", "create", "--data", data, "--name", c.name)
		if code != c.code || stdout != "" || !strings.HasPrefix(stderr, "donorbook: "+c.want) {
			t.Errorf("%.20q: exit code %d, stdout %q, stderr %q", c.name, code, stdout, stderr)
		}
	}
	if got := result(t, "account", "list", "--data", data, "--json"); got != "[]" {
		t.Errorf("a refused name made an account: %s", got)
	}
	account := result(t, "account", "create", "--data", data, "--name", strings.Repeat("ü", 255))
	code, stdout, _ := runLine(t, "key", "create", "--data", data, "--account", account, "--name", "nul \x00")
	if code != exitInvalid || stdout != "" {
		t.Errorf("key: exit code %d, stdout %q", code, stdout)
	}
	if got := result(t, "key", "list", "--data", data, "--account", account, "--json"); got != "[]" {
		t.Errorf("a refused name made a key: %s", got)
	}
}

// TestHelpNamesEveryFlag walks the whole command line: the help of each group and command exits with 0, describes the command on
// standard output only, and lists every flag and argument with an explanation.
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
			if !strings.Contains(stdout, child.Path()) {
				t.Errorf("%s --help does not list %s", node.Path(), child.Path())
			}
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

// TestRefusedInput checks values: the message names a refused value, and nothing changes.
func TestRefusedInput(t *testing.T) { eachEngine(t, refusedInput) }

func refusedInput(t *testing.T, e engine) {
	dir := t.TempDir()
	data := e.dataIn(t, filepath.Join(dir, "data"))
	account := result(t, "account", "create", "--data", data, "--name", "Refused")
	file := func(content string) string {
		f, err := os.CreateTemp(dir, "*.json")
		if err == nil {
			_, err = f.WriteString(content)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		return f.Name()
	}
	state := func() string {
		return result(t, "account", "list", "--data", data, "--json") +
			result(t, "key", "list", "--data", data, "--json", "--account", account) +
			result(t, "user", "list", "--data", data, "--json") +
			result(t, "campaign", "list", "--data", data, "--json", "--account", account)
	}
	before := state()
	for _, c := range []struct {
		code int
		want string
		line []string
	}{
		{exitInvalid, "The name field is required.", []string{"account", "create", "--name", "  "}},
		{exitNotFound, `account "nonsense": not found`, []string{"account", "create", "--name", "X", "--parent", "nonsense"}},
		{exitInvalid, "The name field is required.", []string{"key", "create", "--name", ""}},
		{exitInvalid, `The permission "" does not exist`, []string{"key", "create", "--name", "X", "--permission", "contacts:read,"}},
		{exitInvalid, `The permission "Contacts:Read" does not exist`, []string{"key", "create", "--name", "X", "--permission", "Contacts:Read"}},
		{exitInvalid, `The expiry "2199-02-30" is not understood`, []string{"key", "create", "--name", "X", "--expires", "2199-02-30"}},
		{exitInvalid, `The expiry "12/31/2199" is not understood`, []string{"key", "create", "--name", "X", "--expires", "12/31/2199"}},
		{exitInvalid, `The expiry "0d" is not understood`, []string{"key", "create", "--name", "X", "--expires", "0d"}},
		{exitInvalid, `The expiry "2001-01-01" must be in the future.`, []string{"key", "create", "--name", "X", "--expires", "2001-01-01"}},
		{exitInvalid, `The expiry "-5h" must be in the future.`, []string{"key", "create", "--name", "X", "--expires=-5h"}},
		{exitInvalid, "The file must be a JSON array of campaigns.", []string{"campaign", "import", file(`{"title": "Alone"}`)}},
		{exitInvalid, "row 2: The row must be a JSON object.", []string{"campaign", "import", file(`[{"title": "Fine"}, "Gala"]`)}},
		{exitInvalid, "row 1: title: The title field is required.", []string{"campaign", "import", file(`[{"slug": "nobody-has-this"}]`)}},
		{exitInvalid, "row 2: slug: The slug field is the same as in row 1.", []string{"campaign", "import", file(`[{"title": "A", "slug": "a"}, {"title": "B", "slug": "a"}]`)}},
		{exitInvalid, "The file is empty.", []string{"campaign", "import", file(``)}},
		{exitInvalid, "The file has text after the end of the JSON value.", []string{"campaign", "import", file(`[{"title": "A"}] []`)}},
		{exitInvalid, "is a directory", []string{"campaign", "import", dir}},
		{exitInvalid, "The name field is required. (and 1 more error)", []string{"user", "create", "--name", " ", "--email", "ada"}},
		{exitInvalid, "The password field is required.", []string{"user", "create", "--name", "A", "--email", "a@b.org", "--password-stdin"}},
		{exitUsage, "--parent: is empty", []string{"account", "create", "--name", "X", "--parent", ""}},
		{exitUsage, "--expires: is empty", []string{"key", "create", "--name", "X", "--expires", ""}},
	} {
		args := append(slices.Clone(c.line), "--data", data)
		if c.line[0] != "account" {
			args = append(args, "--account", account)
		}
		code, stdout, stderr := runLine(t, args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("donorbook %s: exit code %d, stdout %q, stderr %q, want %d and %q", strings.Join(args, " "), code, stdout, stderr, c.code, c.want)
		}
	}
	if after := state(); after != before {
		t.Errorf("something refused changed something:\n%s", cmp.Diff(before, after))
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
	if got := result(t, "campaign", "import", "--data", dir, "--account", account, file); got != "150 created, 0 updated, 0 unchanged" {
		t.Errorf("import said %q", got)
	}
	list := result(t, "campaign", "list", "--data", dir, "--account", account, "--json")
	if n := strings.Count(list, `"slug": "campaign-`); n != 150 {
		t.Errorf("the list has %d campaigns, want all 150", n)
	}

	succeed(t, os.Truncate(file, maxImport+1))
	code, stdout, stderr := runLine(t, "campaign", "import", "--data", dir, "--account", account, file)
	if code != exitInvalid || stdout != "" || !strings.Contains(stderr, "is larger than 64 MiB") {
		t.Errorf("a giant file: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// newParser knows the whole command line.
func newParser() (*kong.Kong, error) {
	var c commands
	c.addData(func(string) bool { return true })
	return kong.New(&c, kong.Name("donorbook"))
}
