package db

import (
	"testing"
	"time"
)

func TestTheURLHasTheLastWordOnConnections(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		settings string
		conns    int32
		connect  time.Duration
		name     string
	}{
		{"", postgresReaders, connectTimeout, "donorbook"},
		{"?pool_max_conns=3&connect_timeout=7&application_name=node2", 3, 7 * time.Second, "node2"},
		{"?pooler=transaction", postgresReaders, connectTimeout, "donorbook"},
	} {
		config := must(postgresConfig("postgres://u:pool_max_conns@a:1,b:2/db" + test.settings))(t)
		c := config.ConnConfig
		if config.MaxConns != test.conns || c.ConnectTimeout != test.connect || c.RuntimeParams["application_name"] != test.name || len(c.RuntimeParams) != 1 {
			t.Errorf("%s: %d connections, %v to connect, and the server is told %v", test.settings, config.MaxConns, c.ConnectTimeout, c.RuntimeParams)
		}
	}
}
