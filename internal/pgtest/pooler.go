package pgtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Pooler is a PgBouncer that hands a cluster's connections out for one transaction at a time.
type Pooler struct{ process *Cluster }

// Pooler starts one in front of the cluster, with so many connections to each database.
func (c *Cluster) Pooler(connections int) (*Pooler, error) {
	const program = "/usr/sbin/pgbouncer"
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("PgBouncer is not installed: apt-get install pgbouncer")
	}
	p, err := prepare()
	if err != nil {
		return nil, err
	}
	users, conf := filepath.Join(p.dir, "users"), filepath.Join(p.dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = trust
auth_file = %s
pool_mode = transaction
default_pool_size = %d
`, c.Port, p.Port, users, connections)
	log, err := os.Create(filepath.Join(p.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err = os.WriteFile(users, []byte("\"postgres\" \"\"\n"), 0o644); err == nil {
		err = os.WriteFile(conf, []byte(text), 0o644)
	}
	if err == nil {
		err = p.launch(log, program, conf)
	}
	if err != nil {
		return nil, err
	}
	for range 500 {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+p.Port); err == nil {
			conn.Close()
			return &Pooler{p}, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	said, _ := os.ReadFile(log.Name())
	p.end()
	return nil, fmt.Errorf("PgBouncer does not answer:\n%s", said)
}

// URL is the address of one of the cluster's databases through the pooler.
func (p *Pooler) URL(database string) string { return p.process.URL(database) }

// Remove ends the pooler.
func (p *Pooler) Remove() { p.process.end() }

// end closes the pipe that a program's life hangs on, and removes its directory.
func (c *Cluster) end() {
	c.pipe.Close()
	<-c.ended
	_ = os.RemoveAll(c.dir)
}
