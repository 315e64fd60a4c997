package db

import (
	"fmt"
	"os"
	"testing"

	"donorbook/internal/pgtest"
	"donorbook/internal/rig"
)

// Cluster is where the tests' PostgreSQL databases are.
var Cluster *pgtest.Cluster

func TestMain(m *testing.M) {
	var err error
	if Cluster, err = rig.Shared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	rig.Main(m)
}
