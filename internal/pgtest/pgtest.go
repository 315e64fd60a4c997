// Package pgtest makes throw-away PostgreSQL clusters for tests, from the programs that Debian's packages install. They
// need no running service, listen on a socket in a directory of their own, and never run as root.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a PostgreSQL server of a test's own.
type Cluster struct {
	Port string // "" for a server that listens on a socket in its directory alone
	dir  string
	bin  string
	run  *syscall.Credential // nil where the tests themselves are not root

	settings  []string
	server    *exec.Cmd
	pipe      io.Closer // the server's life hangs on it
	ended     chan struct{}
	databases atomic.Int64
}

// New makes a cluster that listens on a port, and starts it. Settings are lines of postgresql.conf.
func New(settings ...string) (*Cluster, error) {
	c, err := prepare()
	if err != nil {
		return nil, err
	}
	return c.initialize(settings)
}

func (c *Cluster) initialize(settings []string) (*Cluster, error) {
	if err := c.command("initdb", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"); err != nil {
		c.Remove()
		return nil, err
	}
	return c, c.Configure(settings...)
}

// prepare makes an empty directory that the server may own.
func prepare() (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "donorbook-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin}
	c.Port = strconv.Itoa(FreePort())
	if os.Getuid() != 0 {
		return c, nil
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user to run it as: %w", err)
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	c.run = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return c, os.Chown(dir, uid, gid)
}

// ErrMissing is that there is no PostgreSQL on this machine.
var ErrMissing = errors.New("PostgreSQL 15 or newer is not installed: apt-get install postgresql")

// programs finds the newest PostgreSQL of this machine, 15 at least.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	newest, where := 14, ""
	for _, path := range found {
		dir := filepath.Dir(path)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && n > newest {
			newest, where = n, dir
		}
	}
	if where == "" {
		return "", ErrMissing
	}
	return where, nil
}

// ports are those that FreePort has given away.
var ports sync.Map

// FreePort is a port to listen on, outside of the range that the system gives to outgoing connections: a server that is restarted must
// find its port free.
func FreePort() int {
	for {
		port := 10_000 + rand.IntN(20_000)
		if _, given := ports.LoadOrStore(port, true); given {
			continue
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// command runs one of PostgreSQL's programs to its end.
func (c *Cluster) command(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.run}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}

// fast is for clusters whose data need not survive the machine. Without autovacuum, a plan does not depend on when it came by, and
// hundreds of databases are not looked at in vain.
var fast = []string{"fsync = off", "synchronous_commit = off", "full_page_writes = off", "wal_level = minimal", "max_wal_senders = 0",
	"autovacuum = off"}

// Fast makes a cluster that does not wait for the disk.
func Fast() (*Cluster, error) { return New(fast...) }

// Local makes a cluster that does not wait for the disk either, and has no port, which another program could have taken.
func Local() (*Cluster, error) {
	c, err := prepare()
	if err != nil {
		return nil, err
	}
	c.Port = ""
	return c.initialize(fast)
}

// Configure writes postgresql.conf and starts the server.
func (c *Cluster) Configure(settings ...string) error {
	c.settings = settings
	where := []string{"listen_addresses = '127.0.0.1'", "port = " + c.Port, "unix_socket_directories = ''"}
	if c.Port == "" {
		where = []string{"listen_addresses = ''", "unix_socket_directories = '" + c.dir + "'"}
	}
	lines := slices.Concat(where, []string{
		"max_connections = 200", "shared_buffers = 64MB", "logging_collector = off", "timezone = 'UTC'",
		"autovacuum_naptime = 10s", "dynamic_shared_memory_type = mmap", // in its directory, so that a server that is killed leaves nothing behind
	}, settings)
	conf := filepath.Join(c.data(), "postgresql.conf")
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return c.Start()
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start() error {
	logFile, err := os.Create(filepath.Join(c.dir, "log"))
	if err != nil {
		return err
	}
	defer logFile.Close()
	log := func() string {
		text, _ := os.ReadFile(logFile.Name())
		return string(text)
	}
	if err := c.launch(logFile, filepath.Join(c.bin, "postgres"), "-D", c.data()); err != nil {
		return err
	}
	ended := c.ended
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		select {
		case <-ended:
			return fmt.Errorf("PostgreSQL ended at once:\n%s", log())
		case <-time.After(20 * time.Millisecond):
		}
		if err := c.Exec("SELECT 1"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("PostgreSQL does not answer:\n%s", log())
}

// launch starts a program that goes on by itself.
func (c *Cluster) launch(log *os.File, program string, args ...string) error {
	// A server whose test was killed must not stay behind: the shell ends it when the pipe from the test breaks.
	const watch = `exec 3<&0; "$0" "$@" & server=$!; (cat <&3; kill -QUIT $server; kill -TERM $server) 2>/dev/null & wait $server; kill $!`
	c.server = exec.Command("sh", slices.Concat([]string{"-c", watch, program}, args)...)
	c.server.Dir, c.server.Stderr, c.server.Stdout = c.dir, log, log
	c.server.SysProcAttr = &syscall.SysProcAttr{Credential: c.run, Setpgid: true}
	var err error
	if c.pipe, err = c.server.StdinPipe(); err != nil {
		return err
	}
	if err := c.server.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	c.ended = ended
	go func(server *exec.Cmd) {
		_ = server.Wait()
		close(ended)
	}(c.server)
	return nil
}

// Stop stops the server in order.
func (c *Cluster) Stop() {
	if c.server != nil {
		_ = syscall.Kill(c.postmaster(), syscall.SIGINT)
		<-c.ended
		c.server = nil
	}
}

// Kill ends the server and its children as a power cut would.
func (c *Cluster) Kill() {
	if c.server != nil {
		postmaster := c.postmaster()
		victims := append(Children(postmaster), postmaster)
		_ = syscall.Kill(postmaster, syscall.SIGSTOP) // so that it starts no more children
		victims = append(victims, Children(postmaster)...)
		for _, pid := range victims {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, pid := range victims { // the memory that they share goes with the last one
			for range 500 {
				if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(text), ") Z ") {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		<-c.ended // the shell has seen the end of the server
		c.server = nil
	}
}

// postmaster is the server's first process, which has noted its number.
func (c *Cluster) postmaster() int {
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, badLine := strconv.Atoi(line)
	if err != nil || badLine != nil {
		return c.server.Process.Pid
	}
	return pid
}

// Children finds the processes that a process has started; those of PostgreSQL are in process groups of their own.
func Children(parent int) (pids []int) {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range directories {
		if pid, _ := strconv.Atoi(filepath.Base(path)); Parent(pid) == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Parent is the process that has started a process; 0 where there is none.
func Parent(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	if fields := strings.Fields(rest); len(fields) > 1 {
		parent, _ = strconv.Atoi(fields[1])
	}
	return parent
}

// Remove ends the server and removes everything.
func (c *Cluster) Remove() {
	c.Kill()
	_ = os.RemoveAll(c.dir)
}

// URL is the address of a database.
func (c *Cluster) URL(database string) string {
	if c.Port == "" {
		return fmt.Sprintf("postgres://postgres@/%s?host=%s&sslmode=disable", database, url.QueryEscape(c.dir))
	}
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/%s?sslmode=disable", c.Port, database)
}

// Exec runs a statement in the cluster's own database.
func (c *Cluster) Exec(sql string) error {
	return connect(c.URL("postgres"), func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

// Number asks a database for one number.
func Number(address, sql string) (n int64, err error) {
	err = connect(address, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql).Scan(&n) })
	return n, err
}

func connect(address string, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return fn(ctx, conn)
}

// Database makes an empty database and returns its address.
func (c *Cluster) Database() (string, error) { return c.Copy(c.URL("template1")) }

// Copy makes a copy of a database that no one uses, and returns its address.
func (c *Cluster) Copy(of string) (string, error) {
	from, err := pgx.ParseConfig(of)
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("test%d", c.databases.Add(1))
	if err := c.Exec("CREATE DATABASE " + name + " TEMPLATE " + from.Database + " STRATEGY file_copy"); err != nil {
		return "", err
	}
	return c.URL(name), nil
}
