package cli

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
)

// engine is a kind of database that the command line works with.
type engine string

const (
	sqlite   engine = "sqlite"
	postgres engine = "postgres"
)

var engines = rig.OfBoth([]engine{sqlite, postgres})

// eachEngine runs a test on every engine, in parallel.
func eachEngine(t *testing.T, test func(*testing.T, engine)) {
	t.Parallel()
	for _, e := range engines {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

// onlySQLite is the data directory of a test of files, directories, TLS, HTTP or signals, which does not depend on the database.
func onlySQLite(t *testing.T) string { return t.TempDir() }

// sqliteScripts are about the settings and directories themselves; all others run on every engine.
var sqliteScripts = []string{"backup.txt", "config.txt", "database.txt", "usage.txt"}

// scripts are the files that TestScripts runs on an engine.
func (e engine) scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return e != sqlite && slices.Contains(sqliteScripts, filepath.Base(file))
	})
}

// setUp gives a script its own database. $THERE is what hints about other commands add for it.
func (e engine) setUp(env *testscript.Env) error {
	env.Setenv("THERE", "")
	if e == sqlite {
		return nil
	}
	cluster, err := rig.Shared()
	if err != nil {
		return err
	}
	url, err := cluster.Database()
	env.Setenv("DONORBOOK_DATABASE", url)
	env.Setenv("THERE", " --database URL")
	return err
}

// databases has the addresses that belong to data directories. If there is none, the database is in the directory.
var databases sync.Map

func databaseOf(data string) string {
	url, _ := databases.Load(data)
	text, _ := url.(string)
	return text
}

// data creates an empty data directory and a database for the commands that use it: see databaseOf.
func (e engine) data(t *testing.T) string {
	t.Helper()
	return e.dataIn(t, t.TempDir())
}

func (e engine) dataIn(t *testing.T, dir string) string {
	t.Helper()
	if e == sqlite {
		return dir
	}
	url := newDatabase(t, cluster(t))
	databases.Store(dir, url)
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "donorbook.db")); !os.IsNotExist(err) {
			t.Errorf("something used SQLite: %v", err)
		}
		if n, err := pgtest.Number(url, "SELECT count(*) FROM account"); err != nil || n == 0 {
			t.Errorf("PostgreSQL was not used: %d accounts, %v", n, err)
		}
	})
	return dir
}

// environment is the environment of a process that uses a data directory. Command lines in this process, which share one
// environment, get flags instead.
func environment(data string) []string {
	if url := databaseOf(data); url != "" {
		return append(os.Environ(), "DONORBOOK_DATABASE="+url)
	}
	return os.Environ()
}

func databaseFlags(args []string) []string {
	if i := slices.Index(args, "--data"); i >= 0 && i+1 < len(args) {
		if url := databaseOf(args[i+1]); url != "" {
			return []string{"--database", url}
		}
	}
	return nil
}

func cluster(t *testing.T) *pgtest.Cluster {
	t.Helper()
	return rig.Cluster(t)
}

func newDatabase(t *testing.T, cluster *pgtest.Cluster) string {
	t.Helper()
	url := must(cluster.Database())(t)
	return url
}

// must, must2 and succeed are for calls that must succeed.

func must[T any](v T, err error) func(rig.Failer) T { return rig.Must(v, err) }

func must2[T, U any](v T, u U, err error) func(rig.Failer) (T, U) { return rig.Must2(v, u, err) }

func succeed(t rig.Failer, err error) {
	t.Helper()
	rig.Succeed(t, err)
}
