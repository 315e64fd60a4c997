//go:build drill

package pgtest

import (
	"testing"

	"donorbook/internal/rig/assert"
)

func TestAClusterStartsServesAndStops(t *testing.T) {
	c, err := Fast()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove()
	url, err := c.Database()
	if err != nil || url == "" {
		t.Fatal(err)
	}
	c.Stop()
	if err := c.Exec("SELECT 1"); err == nil {
		t.Error("stopped, and still answers")
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

func TestAStandbyFollowsAndTakesOver(t *testing.T) {
	primary, standby, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer primary.Remove()
	defer standby.Remove()
	if err := primary.Exec("CREATE TABLE kept AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	primary.Kill()
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	assert.Equal(t, assert.Must(Number(standby.URL("postgres"), "SELECT n FROM kept"))(t), 7)
	if err := standby.Exec("INSERT INTO kept VALUES (8)"); err != nil {
		t.Error(err)
	}
}

func TestAPoolerStandsInFront(t *testing.T) {
	c, err := Fast()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove()
	p, err := c.Pooler(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Remove()
	if _, err := Number(p.URL("postgres")+"&default_query_exec_mode=exec", "SELECT 1"); err != nil {
		t.Error(err)
	}
}
