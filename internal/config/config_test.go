package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"donorbook/internal/rig/assert"
	"donorbook/internal/rig/rows"
)

func TestDumpHidesPasswords(t *testing.T) {
	t.Parallel()
	for value, want := range rows.Pairs(`
		""                                                 ""
		sqlite:data                                        sqlite:data
		sqlite:/srv/data                                   sqlite:/srv/data
		postgres://db.example/db                           postgres://db.example/db
		postgres://ada@db.example/                         postgres://ada@db.example/
		postgres://ada:hunter2@db.example/db               postgres://ada:xxxxx@db.example/db
		postgres://ada:hunter2@db.example/db?sslmode=off   postgres://ada:xxxxx@db.example/db?sslmode=off
		postgres://db.example/db?password=hunter2          postgres://db.example/db?password=xxxxx
		postgres://db.example/db?SSLPassword=hunter2       postgres://db.example/db?SSLPassword=xxxxx
		postgres://db.example/db?a=b;password=hunter2      postgres://db.example/db?xxxxx
		postgres://ada:hunter2%@db.example/db              (not shown: not a valid URL)
		postgres:ada:hunter2@db.example                    (not shown: not a valid URL)
		ada:hunter2@db.example/db                          (not shown: not a valid URL)
		host=db.example password=hunter2                   (not shown: not a valid URL)
		postgres://ada:hunter2@a.example:1,b.example:2/db  postgres://ada:xxxxx@a.example:1,b.example:2/db
		postgres:///db?host=/run/pg&password=hunter2       postgres:///db?host=%2Frun%2Fpg&password=xxxxx
		host=db.example pwd=hunter2                        (not shown: not a valid URL)
	`) {
		settings := Dump(Storage{Database: value})
		if got := settings[1].Text(); settings[1].Name != "database" || got != want {
			t.Errorf("%s is shown as %s, want %s", value, got, want)
		}
	}
}

func TestDumpShowsValues(t *testing.T) {
	t.Parallel()
	settings := Dump(Storage{Data: "d"}, Server{
		ACMEEmail: "ops@example.org", TrustedProxy: []string{"10.0.0.1", "10.0.0.2"}, RateLimit: 7,
		StopDelay: 90 * time.Second,
	})
	text := map[string]string{}
	for _, s := range settings {
		text[s.Name] = s.Text()
	}
	for name, want := range rows.Pairs(`
		data           d
		acme-email     ops@example.org
		trusted-proxy  10.0.0.1,10.0.0.2
		rate-limit     7
		stop-delay     1m30s
		acme-host      ""
		base-url       ""
		tls-cert       ""
	`) {
		if got, ok := text[name]; !ok || got != want {
			t.Errorf("%s is shown as %q, want %q", name, got, want)
		}
	}
}

func TestStorageCheck(t *testing.T) {
	t.Parallel()
	for database, want := range rows.Pairs(`
		""                                        ""
		sqlite:dir                                ""
		sqlite:///srv/dir                         ""
		postgres://ada:hunter2@db.example/donors  ""
		postgresql:///donors                      ""
		sqlite:                                   --database: the URL names no directory; write sqlite:DIR
		sqlite://                                 --database: the URL names no directory; write sqlite:DIR
		mysql://ada:hunter2@db.example/db         --database: the URL must begin with postgres: or sqlite: (or be left out for SQLite in the data directory)
		dir/donorbook.db                          --database: the URL must begin with postgres: or sqlite: (or be left out for SQLite in the data directory)
	`) {
		got := ""
		if err := (Storage{Data: "d", Database: database}).Check(); err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, want, "%s", database)
	}
	if err := (Storage{}).Check(); err == nil || err.Error() != "--data: names no directory" {
		t.Errorf("no directory: %v", err)
	}
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	known := Dump(Storage{}, Server{})
	for content, want := range rows.Pairs(`
		lisen = 'x'                         has the unknown key "lisen"; use one of data, database,
		"[serve]\nlisten = 'x'"             has the unknown key "serve"
		Listen = 'x'                        has the unknown key "Listen"
		data = 5                            the value of data must be a string
		data = true                         the value of data must be a string
		data = {a = 1}                      the value of data must be a string
		listen = ['hunter2']                the value of listen must be a string
		stop-delay = 5                      the value of stop-delay must be a string
		rate-limit = '10'                   the value of rate-limit must be an integer
		rate-limit = 1.5                    the value of rate-limit must be an integer
		trusted-proxy = '10.0.0.1'          the value of trusted-proxy must be a list of strings
		trusted-proxy = [10]                the value of trusted-proxy must be a list of strings
		"listen = 'x'\ndatabase = hunter2"  line 2
		database = 'hunter2                 line 1
		"listen = 'x'\nlisten = 'hunter2'"  line 2
	`) {
		path := filepath.Join(t.TempDir(), "settings.toml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path, known)
		var problem *Problem
		if !errors.As(err, &problem) || problem.Flag != "config" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", content, err, want)
		}
		if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v must name the file and repeat no value", content, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "missing.toml"), known); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	var problem *Problem
	if _, err := ReadFile(t.TempDir(), known); !errors.As(err, &problem) {
		t.Errorf("a directory: %v", err)
	}
}

func TestFilePath(t *testing.T) {
	t.Parallel()
	variable := func(string) (string, bool) { return "variable.toml", true }
	for _, c := range rows.Of[struct{ Line, Want string }](`
		serve                                  variable.toml
		serve --config a.toml                  a.toml
		--config=a.toml serve                  a.toml
		serve --config a.toml --config=b.toml  b.toml
		serve --config=b.toml --config a.toml  a.toml
		serve --config                         variable.toml
	`) {
		assert.Equal(t, FilePath(strings.Fields(c.Line), variable), c.Want, "%s", c.Line)
	}
}
