//go:build drill

package deploy_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/rig"
	"donorbook/internal/rig/assert"
)

// query reads rows of a database, past every node.
func query[T any](t *testing.T, database, sql string, args ...any) []T {
	t.Helper()
	conn := assert.Must(pgx.Connect(t.Context(), database))(t)
	defer conn.Close(t.Context())
	rows := assert.Must(conn.Query(t.Context(), sql, args...))(t)
	return assert.Must(pgx.CollectRows(rows, pgx.RowToStructByPos[T]))(t)
}

func TestNodesComeAndGo(t *testing.T) {
	t.Parallel()
	database := rig.Database(t)
	_, keys := newKeys(t, database, 1)
	nodes := startNodes(t, 2, database, hasty...)
	made := 0
	create := func(n *node) {
		t.Helper()
		body := fmt.Sprintf(`{"first_name":"N","last_name":"%d"}`, made)
		n.client(t, keys[0]).call(t, 201, "POST", "/v1/contacts", body)
		made++
	}
	wantAll := func(n *node) {
		t.Helper()
		assert.Equal(t, len(n.client(t, keys[0]).walk(t, "all", 2)), made)
	}
	create(nodes[0])
	create(nodes[1])
	nodes[0].stop(syscall.SIGTERM) // in order
	create(nodes[1])
	nodes[0].start(t)
	nodes[0].waitUntilReady(t)
	wantAll(nodes[0])
	create(nodes[0])
	nodes[1].kill() // without a word
	create(nodes[0])
	third := startNodes(t, 1, database, hasty...)[0]
	wantAll(third)
	create(third)
	nodes[1].start(t)
	nodes[1].waitUntilReady(t)
	for _, n := range []*node{nodes[0], nodes[1], third} {
		wantAll(n)
	}
}

func TestTenNodesStartOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	database := rig.Database(t)
	nodes := startNodes(t, 10, database, hasty...)
	type row struct{ Version int64 }
	const migrations = "SELECT version FROM schema_version ORDER BY version"
	versions := query[row](t, database, migrations)
	for i, v := range versions {
		if v.Version != int64(i+1) {
			t.Errorf("the migrations that ran are %v", versions)
		}
	}
	_, keys := newKeys(t, database, 1)
	if after := query[row](t, database, migrations); !slices.Equal(after, versions) || len(after) == 0 {
		t.Errorf("the migrations that ran are %v, and later %v", versions, after)
	}
	for i, n := range nodes {
		n.client(t, keys[0]).call(t, 201, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"N","last_name":"%d"}`, i))
	}
	for _, n := range nodes {
		assert.Equal(t, len(n.client(t, keys[0]).walk(t, "active", 3)), len(nodes))
	}
}
