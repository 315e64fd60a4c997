package db

import (
	"fmt"
	"os"
	"testing"

	"donorbook/internal/pgtest"
)

// Cluster is where the tests' PostgreSQL databases are.
var Cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	var err error
	if Cluster, err = pgtest.Fast(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	Cluster.Remove()
	os.Exit(code)
}
