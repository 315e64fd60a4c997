package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Pair makes a primary and a standby whose answer every commit waits for.
func Pair() (primary, standby *Cluster, err error) {
	settings := []string{"fsync = off", "wal_log_hints = on", "wal_retrieve_retry_interval = 50ms"}
	if primary, err = New(settings...); err != nil {
		return nil, nil, err
	}
	standby, err = primary.standby("s1")
	if err != nil {
		primary.Remove()
		return nil, nil, err
	}
	return primary, standby, nil
}

// standby makes a copy that follows the cluster, and lets commits wait for it from now on.
func (c *Cluster) standby(name string) (*Cluster, error) {
	if err := c.Set("synchronous_standby_names", "FIRST 1 ("+name+")"); err != nil {
		return nil, err
	}
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	source := fmt.Sprintf("host=127.0.0.1 port=%s user=postgres application_name=%s", c.Port, name)
	err = s.command("pg_basebackup", "-d", source, "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "-C", "-S", name, "-N")
	if err == nil {
		err = s.Configure(c.settings...)
	}
	if err == nil {
		err = c.await("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
	}
	if err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// await waits until the answer to a question is 1.
func (c *Cluster) await(sql string) error {
	for range 600 {
		if n, err := Number(c.URL("postgres"), sql); err == nil && n == 1 {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	return fmt.Errorf("PostgreSQL does not come to say yes to %s:\n%s", sql, log)
}

// Set changes a setting, also of a standby. It holds for connections that are there already.
func (c *Cluster) Set(name, value string) error {
	if err := c.Exec("ALTER SYSTEM SET " + name + " = '" + value + "'"); err != nil {
		return err
	}
	return c.Exec("SELECT pg_reload_conf()")
}

// Promote makes a standby a primary that waits for nobody, as whoever runs a failover must.
func (c *Cluster) Promote() error {
	// The copy of the primary has its settings too: it would wait for itself.
	if err := c.Set("synchronous_standby_names", ""); err != nil {
		return err
	}
	return c.PromoteOnly()
}

// PromoteOnly makes a standby a primary with the settings that it has.
func (c *Cluster) PromoteOnly() error {
	if err := c.Exec("SELECT pg_promote(true, 30)"); err != nil {
		return err
	}
	return c.await("SELECT 1 - pg_is_in_recovery()::int")
}

// Freeze stops the server and its children where they are; connections stay open, and nothing answers.
func (c *Cluster) Freeze() { c.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (c *Cluster) Thaw() { c.signal(syscall.SIGCONT) }

func (c *Cluster) signal(signal syscall.Signal) {
	postmaster := c.postmaster()
	_ = syscall.Kill(postmaster, signal)
	for _, pid := range Children(postmaster) {
		_ = syscall.Kill(pid, signal)
	}
}
