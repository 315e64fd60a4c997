package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"donorbook/internal/crm/doc"
)

// client is one keep-alive connection. It writes requests as bytes, so that the machine is left to the server.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

// patience is how long one answer may take.
const patience = 60 * time.Second

// dial connects to HOST:PORT. With https:// before it, it uses TLS and accepts any certificate: it measures, it does not trust.
func dial(address string) (*client, error) {
	host, secure := strings.CutPrefix(address, "https://")
	conn, err := net.DialTimeout("tcp", host, patience)
	if err != nil {
		return nil, err
	}
	if secure {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	return &client{conn: conn, reader: bufio.NewReaderSize(conn, 32<<10)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// bearer is the header of an API key.
const bearer = "Authorization: Bearer "

// request appends a request with an API key to dst, as it goes over the wire.
func request(dst []byte, method, path, key string, body []byte) []byte {
	return requestAs(dst, method, path, bearer, key, body)
}

// requestAs is request with another header that says who asks, such as "Cookie: session=".
func requestAs(dst []byte, method, path, header, secret string, body []byte) []byte {
	for _, text := range []string{method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n", header, secret} {
		dst = append(dst, text...)
	}
	if len(body) > 0 {
		dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
	}
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// ask sends a request and appends the body of the answer to dst. With a nil dst the body is skipped. Any status but 2xx is an error.
func (c *client) ask(wire, dst []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return dst, err
	}
	if _, err := c.conn.Write(wire); err != nil {
		return dst, err
	}
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return dst, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	refused := answer.StatusCode/100 != 2
	if dst == nil && !refused {
		_, err = io.Copy(io.Discard, answer.Body)
		return nil, err
	}
	body := bytes.NewBuffer(dst)
	if _, err = body.ReadFrom(answer.Body); err == nil && refused {
		err = fmt.Errorf("status %d: %.200s", answer.StatusCode, body)
	}
	return body.Bytes(), err
}

// once asks on a connection of its own and returns the body.
func once(address, method, path, key string, body []byte) []byte {
	return must(onceWire(address, request(nil, method, path, key, body)))
}

func onceWire(address string, wire []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.ask(wire, []byte{})
}

// work makes requests of one kind: it appends the next one to dst. n is a number that no other request of the run has.
type work func(dst []byte, r *rand.Rand, n int64) []byte

// load is what the clients of one variant do.
type load struct {
	addresses   []string // the connections are spread over these servers
	work        work
	connections int
}

// timing is how long a variant runs.
type timing struct{ warm, measured time.Duration }

// serial numbers the requests of the whole run.
var serial atomic.Int64

// newDice is a source of random choices that no other client has.
func newDice() *rand.Rand { return rand.New(rand.NewPCG(uint64(serial.Add(1)), 1)) }

// run warms up and measures. Any answer but 2xx makes the result an error.
func (l load) run(t timing, s *server) (r result) {
	return l.connected(func(clients []*client) result {
		if _, err := l.drive(clients, after(t.warm)); err != nil {
			return result{err: err}
		}
		mallocs, bytes := s.mallocs()
		cpu, start := s.cpu(), time.Now()
		times, err := l.drive(clients, after(t.measured))
		n := float64(max(1, len(times)))
		r = result{requests: len(times), seconds: time.Since(start).Seconds(), err: err, cpu: perRequest(s.cpu()-cpu, len(times)), rss: s.rss()}
		mallocsAfter, bytesAfter := s.mallocs()
		r.mallocs, r.bytes = (mallocsAfter-mallocs)/n, (bytesAfter-bytes)/n
		slices.Sort(times)
		r.p50, r.p99 = percentile(times, .5), percentile(times, .99)
		if err == nil && len(times) == 0 {
			r.err = errors.New("no request came back in time")
		}
		return r
	})
}

// beside runs fn while this load goes on.
func (l load) beside(fn func() result) result {
	return l.connected(func(clients []*client) result {
		var stop atomic.Bool
		ended := make(chan error)
		go func() {
			_, err := l.drive(clients, stop.Load)
			ended <- err
		}()
		r := fn()
		stop.Store(true)
		r.err = errors.Join(r.err, <-ended)
		return r
	})
}

// perRequest is a time in microseconds, divided by the requests.
func perRequest(d time.Duration, n int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(max(1, n))
}

// after is a condition that becomes true when the time is over.
func after(d time.Duration) func() bool {
	end := time.Now().Add(d)
	return func() bool { return !time.Now().Before(end) }
}

// connected opens the connections for fn.
func (l load) connected(fn func([]*client) result) result {
	var clients []*client
	for i := range l.connections {
		c, err := dial(l.addresses[i%len(l.addresses)])
		if err != nil {
			return result{err: err}
		}
		defer c.close()
		clients = append(clients, c)
	}
	return fn(clients)
}

// drive lets each client send one request after the other until the end, and returns how long each took.
func (l load) drive(clients []*client, over func() bool) ([]time.Duration, error) {
	times := make([][]time.Duration, len(clients))
	err := inParallel(len(clients), func(i int) {
		dice := newDice()
		var wire []byte
		for begun := time.Now(); !over(); {
			wire = l.work(wire[:0], dice, serial.Add(1))
			must(clients[i].ask(wire, nil))
			now := time.Now()
			times[i] = append(times[i], now.Sub(begun))
			begun = now
		}
	})
	return slices.Concat(times...), err
}

// loadRunning loads servers that already run, such as two nodes behind a proxy, and prints what they did.
func loadRunning(args []string) {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	urls := flags.String("url", "http://localhost:8443", "addresses of the nodes, separated by commas")
	key := flags.String("key", "", "API key")
	kind := flags.String("work", "get", "get, list (the first page), deep (any page) or create")
	connections := flags.Int("connections", 64, "connections in all")
	duration := flags.Duration("for", 5*time.Second, "how long")
	_ = flags.Parse(args[1:]) // it exits on an error
	l := load{connections: *connections}
	for address := range strings.SplitSeq(*urls, ",") {
		l.addresses = append(l.addresses, strings.TrimPrefix(strings.TrimSuffix(address, "/"), "http://"))
	}
	l.work = runningWork(l.addresses[0], *key, *kind)
	r := l.run(timing{warm: *duration / 10, measured: *duration}, &server{})
	check(r.err)
	fmt.Printf("%-7s %3d connections  %8.0f/s  p50 %8v  p99 %8v\n", *kind, *connections, r.rate(),
		r.p50.Round(10*time.Microsecond), r.p99.Round(10*time.Microsecond))
}

// runningWork is work on an account of which only the key is known. It chooses from the first 10,000 contacts.
func runningWork(address, key, kind string) work {
	serial.Store(time.Now().Unix()) // so that a second run creates others
	a := account{Key: key, Contacts: 1}
	var ids []int64
	for number := 1; number <= 100 && len(ids) == (number-1)*100; number++ {
		p := askPage(address, key, fmt.Sprintf("/v1/contacts?per_page=100&page=%d", number))
		var contacts []struct{ ID int64 }
		check(json.Unmarshal(p.Data, &contacts))
		for _, c := range contacts {
			ids = append(ids, c.ID)
		}
		a.Active = p.Meta.Total
	}
	if len(ids) == 0 && kind != "create" {
		fail("the account has no contacts: run -work create first")
	}
	anyone := func(r *rand.Rand) (account, int64) { return a, pick(r, ids) }
	task, known := map[string]func(*place) task{
		"create": create, "list": listFirst, "deep": listAnyPage, "get": func(p *place) task { return getBy(p, anyone) },
	}[kind]
	if !known {
		fail("unknown work %q", kind)
	}
	return task(&place{data: &dataset{Accounts: []account{a}}}).work
}

// loops do what the program's store does, in this process and with nothing around it: the same driver, schema, statements and
// durability. They are what the database allows.
type loops struct {
	data    *dataset
	cpu     func() time.Duration
	readers []func(a account, id int64) []byte // each reads one contact, on a connection of its own
	list    func(a account, from, to int64) []byte
	write   func([]joining) // in one transaction
	holds   func(joining)   // fails where the database does not have the last contact of an account
	single  bool            // a transaction is about one account
}

// openRaw opens the loops over SQLite.
func (b *bench) openRaw(p *place) {
	db := openDatabase(p.data.file(), durable)
	b.closing = append(b.closing, db.close)
	p.loops = rawLoops(db, p.data)
}

func rawLoops(db *database, d *dataset) *loops {
	var dst []byte
	read := func(a account, id int64) []byte {
		dst = db.appendContacts(dst[:0], sqlGet, a.Number, id)
		return dst
	}
	return &loops{
		data: d, cpu: ownCPU, readers: []func(account, int64) []byte{read},
		list: func(a account, from, to int64) []byte {
			dst = append(db.appendContacts(append(dst[:0], '['), sqlRange, a.Number, from, to), ']')
			return dst
		},
		write: func(people []joining) { db.write(people, true) },
		holds: func(p joining) {
			seq := db.number(`SELECT contact_seq FROM account_tally WHERE account_id = ?`, p.account)
			db.holds(account{Number: p.account}, doc.MakeID(p.account, seq), p.person)
		},
	}
}

// readOne reads random contacts, on all connections at once.
func readOne(p *place) task {
	l := p.loops
	right := func() {
		a, id := l.data.anyone(l.data.dice())
		compare(l.readers[0](a, id), l.data.contact(a, id))
	}
	return task{check: right, loop: l.measured(len(l.readers), func(reader int, dice *rand.Rand, _ *spent) int {
		l.readers[reader](l.data.anyone(dice))
		return 1
	})}
}

// readList reads the first page of the first account: 20 active contacts in a range.
func readList(p *place) task {
	l, a := p.loops, p.data.Accounts[0]
	first := firstActive(a, 20)
	read := func() []byte { return l.list(a, first[0], first[len(first)-1]) }
	right := func() { compare(read(), l.data.page(a, "active", 1)) }
	return task{check: right, loop: l.measured(1, func(int, *rand.Rand, *spent) int { read(); return 1 })}
}

// compare fails where what was read is not right.
func compare(got, want []byte) {
	if !bytes.Equal(got, want) {
		fail("the loop reads %.300s", got)
	}
}

// insert creates contacts, so many in a transaction. The people themselves are made outside of what is counted, as a server makes
// them before it queues.
func insert(group int) func(*place) task {
	return func(p *place) task {
		l := p.loops
		right := func() {
			people := l.newcomers(1, l.data.dice())
			l.write(people)
			l.holds(people[0])
		}
		return task{check: right, loop: l.measured(1, func(_ int, dice *rand.Rand, making *spent) int {
			var people []joining
			making.add(func() { people = l.newcomers(group, dice) })
			l.write(people)
			return group
		})}
	}
}

// newcomers are people who are not there yet, in accounts as clients would choose them.
func (l *loops) newcomers(n int, dice *rand.Rand) (people []joining) {
	a := l.data.byWeight(dice)
	for range n {
		if !l.single {
			a = l.data.byWeight(dice)
		}
		people = append(people, join(a, makePerson(int(serial.Add(1)), "raw", time.Now())))
	}
	return people
}

// spent is time of processors, time that went by and, of a command, the most MB of memory.
type spent struct {
	cpu, elapsed time.Duration
	peak         float64
}

// add adds what a function takes in this process.
func (s *spent) add(fn func()) {
	cpu, start := ownCPU(), time.Now()
	fn()
	s.cpu, s.elapsed = s.cpu+ownCPU()-cpu, s.elapsed+time.Since(start)
}

// measured warms up and measures a loop, whose steps tell how many requests they stood for, and what does not count.
func (l *loops) measured(workers int, step func(worker int, dice *rand.Rand, other *spent) int) func(timing) result {
	run := func(d time.Duration) (n int, other spent, err error) {
		counts, over := make([]int, workers), after(d)
		err = inParallel(workers, func(i int) {
			for dice := newDice(); !over(); {
				counts[i] += step(i, dice, &other)
			}
		})
		return sum(counts), other, err
	}
	return func(t timing) result {
		_, _, warm := run(t.warm)
		cpu, start := l.cpu(), time.Now()
		n, other, err := run(t.measured)
		took := time.Since(start) - other.elapsed
		return result{requests: n, seconds: took.Seconds(), cpu: perRequest(l.cpu()-cpu-other.cpu, n), err: errors.Join(warm, err)}
	}
}

// inParallel runs workers until all have ended.
func inParallel(workers int, work func(i int)) error {
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { errs[i] = try(func() { work(i) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
