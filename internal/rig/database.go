// Package rig holds what the tests of several packages need: a database of each engine, contacts, programs that run and end, requests.
// Only tests import it. It knows neither db nor store, so that their own tests can use it.
package rig

import (
	"errors"
	"os"
	"sync"
	"testing"

	"donorbook/internal/pgtest"
	"donorbook/internal/rig/drill"
)

// Engine is a kind of database.
type Engine struct {
	Name string
	// New makes a place for a database that no other test uses: a directory, or the URL of an empty database.
	New func(t testing.TB) (directory, url string)
}

// SQLite and Postgres are the databases that there are.
var (
	SQLite   = Engine{"sqlite", func(t testing.TB) (string, string) { return t.TempDir(), "" }}
	Postgres = Engine{"postgres", func(t testing.TB) (string, string) { return "", Database(t) }}
)

// Both are the engines of the tests that say what an engine must do: make test has them on PostgreSQL too, where it is installed.
var Both = []Engine{SQLite, Postgres}

// Engines are the databases that all other tests run on.
var Engines = OfBoth(Both)

// OfBoth leaves those of two engines that all tests run on.
func OfBoth[E any](both []E) []E {
	switch {
	case !drill.On:
		return both[:1]
	case os.Getenv("DONORBOOK_ENGINE") == Postgres.Name: // make test has tried the other one
		return both[1:]
	}
	return both
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
		if e.Name == SQLite.Name {
			directory = t.TempDir()
			if made, err = sqlite(); err == nil {
				err = os.CopyFS(directory, os.DirFS(made))
			}
		} else {
			cluster := Cluster(t)
			if made, err = postgres(); err == nil {
				url, err = cluster.Copy(made)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return directory, url
	}
}

// Shared is the PostgreSQL server of this test program. The first test that needs it starts it. The drill's has a port, for proxies.
var Shared = sync.OnceValues(func() (*pgtest.Cluster, error) {
	make := pgtest.Local
	if drill.On {
		make = pgtest.Fast
	}
	made, err := make()
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

// Cluster is the shared server. Where PostgreSQL is not installed, a test that needs it is left out, and make test says so; the drill fails.
func Cluster(t testing.TB) *pgtest.Cluster {
	t.Helper()
	made, err := Shared()
	if errors.Is(err, pgtest.ErrMissing) && !drill.On {
		t.Skip(err)
	}
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
