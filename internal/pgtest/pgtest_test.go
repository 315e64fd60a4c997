package pgtest

import "testing"

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
