// Package rig holds what the tests of several rooms need: a database of each engine, contacts, programs that run and end, requests.
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

// Shared is the PostgreSQL server of this test program. The first test that needs it starts it.
var Shared = sync.OnceValues(func() (*pgtest.Cluster, error) {
	made, err := pgtest.Fast()
	if err == nil {
		remove = made.Remove
	}
	return made, err
})

var remove = func() {}

// Run runs the tests of a package and removes the shared server after the last one.
func Run(m interface{ Run() int }) int {
	code := m.Run()
	remove()
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
