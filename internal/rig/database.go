// Package rig holds what the tests of several packages need: a database of each engine, contacts, programs that run and end, requests.
// Only tests import it. It knows neither db nor store, so that their own tests can use it.
package rig

import (
	"os"
	"sync"
	"testing"

	"donorbook/internal/pgtest"
)

// Engine is a kind of database.
type Engine struct {
	Name string
	// New makes a place for a database that no other test uses: a directory, or the URL of an empty database.
	New func(t testing.TB) (directory, url string)
}

// Engines are the databases that every test runs on.
var Engines = []Engine{
	{"sqlite", func(t testing.TB) (string, string) { return t.TempDir(), "" }},
	{"postgres", func(t testing.TB) (string, string) { return "", Database(t) }},
}

// Template is for tests that begin with the tables of the program. create makes them once for each engine, and each test gets a copy of
// that database: to create the tables takes longer than most tests.
func Template(create func(directory, url string) error) func(testing.TB, Engine) (directory, url string) {
	sqlite := sync.OnceValues(func() (made string, err error) {
		if made, err = os.MkdirTemp("", "donorbook-template-"); err != nil {
			return "", err
		}
		atEnd(func() { _ = os.RemoveAll(made) })
		return made, create(made, "")
	})
	postgres := sync.OnceValues(func() (made string, err error) {
		cluster, err := Shared()
		if err == nil {
			made, err = cluster.Database()
		}
		if err == nil {
			err = create("", made)
		}
		return made, err
	})
	return func(t testing.TB, e Engine) (directory, url string) {
		t.Helper()
		var made string
		var err error
		if e.Name == "sqlite" {
			directory = t.TempDir()
			if made, err = sqlite(); err == nil {
				err = os.CopyFS(directory, os.DirFS(made))
			}
		} else if made, err = postgres(); err == nil {
			url, err = Cluster(t).Copy(made)
		}
		if err != nil {
			t.Fatal(err)
		}
		return directory, url
	}
}

// Shared is the PostgreSQL server of this test program. The first test that needs it starts it.
var Shared = sync.OnceValues(func() (*pgtest.Cluster, error) {
	made, err := pgtest.Fast()
	if err == nil {
		atEnd(made.Remove)
	}
	return made, err
})

// ends is what removes that which all tests of the program share.
var ends struct {
	sync.Mutex
	do []func()
}

func atEnd(do func()) {
	ends.Lock()
	defer ends.Unlock()
	ends.do = append(ends.do, do)
}

// Run runs the tests of a package and removes what they share after the last one.
func Run(m interface{ Run() int }) int {
	code := m.Run()
	for _, do := range ends.do {
		do()
	}
	return code
}

// Main is a TestMain for packages that need nothing else.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Cluster is the shared server.
func Cluster(t testing.TB) *pgtest.Cluster {
	t.Helper()
	made, err := Shared()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Database is the URL of an empty database on the shared server.
func Database(t testing.TB) string {
	t.Helper()
	url, err := Cluster(t).Database()
	if err != nil {
		t.Fatal(err)
	}
	return url
}
