//go:build drill

package db_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"donorbook/internal/crm"
	"donorbook/internal/crm/access"
	"donorbook/internal/crm/campaign"
	"donorbook/internal/db"
	"donorbook/internal/rig"
	"donorbook/internal/store"
	"donorbook/internal/store/book"
)

func TestConcurrentTransactionPoolerInFrontNeedsOneSetting(t *testing.T) {
	t.Parallel()
	pooler, err := rig.Cluster(t).Pooler(8)
	succeed(t, err)
	t.Cleanup(pooler.Remove)
	direct := rig.Database(t)
	url := pooler.URL(databaseName(direct)) + "&pooler=transaction"
	through := store.Options{Database: url}
	rig.AtOnce(3, func(int) { // nodes that start together
		s, err := book.Open(t.Context(), through)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	stores := []*book.Book{open(t, through), open(t, through), open(t, store.Options{Database: direct})}
	s := stores[0]
	account := newAccount(t, s).Number

	ids := make([]int64, 64)
	rig.AtOnce(64, func(i int) {
		s := stores[i%len(stores)]
		ids[i] = create(t, s, account,
			fmt.Sprintf(`{"first_name":"Ana","emails":[{"value":"ana@x.org"}],"tags":["t%d"]}`, i)).ID
		create(t, s, account, fmt.Sprintf(`{"first_name":"N%d ü \\ '","phones":[{"value":"+1202555%04d"}]}`, i, 100+i))
		if _, total := page(t, s, account, crm.All, 1, 20); total < 2 {
			t.Errorf("%d contacts right after two were made", total)
		}
	})
	for _, id := range ids {
		equal(t, id, ids[0], "one email, and the contacts")
	}
	equal(t, len(rig.Get(t, s, account, ids[0]).Tags), 64)
	rig.Archive(t, s, account, ids[0])
	rig.Restore(t, s, account, ids[0])
	key, secret := must2(s.CreateKey(t.Context(), account,
		access.KeyInput{Name: "K", Permissions: access.ContactsRead}))(t)
	equal(t, must(s.Authenticate(t.Context(), secret))(t).Key, key.ID)
	succeed(t, errors.Join(s.RevokeKey(t.Context(), key.ID), s.Ready(t.Context())))
	_, err = s.Authenticate(t.Context(), secret)
	wantError(t, "a revoked key", err, crm.ErrUnauthenticated)
	want, total := page(t, stores[2], account, crm.All, 1, 100)
	if got, _ := page(t, s, account, crm.All, 1, 100); got != want || total != 65 {
		t.Errorf("%d contacts; the pooler shows\n%s\nwant\n%s", total, got, want)
	}
}

func databaseName(url string) string {
	_, name, _ := strings.Cut(strings.TrimPrefix(url, "postgres://"), "/")
	name, _, _ = strings.Cut(name, "?")
	return name
}

// proxy is between a store and its server and can cut connections.
type proxy struct {
	net.Listener
	server string
	cut    atomic.Pointer[ending] // what to do with the next commit
	cuts   atomic.Int64
	trips  atomic.Int64 // how often the server said that it is ready for more
	ran    atomic.Int64 // how many statements it has run
	open   sync.WaitGroup
}

// ending is how a connection ends in the middle of a commit.
type ending struct {
	forward bool   // the server gets the commit, and commits
	answer  []byte // what the client gets instead of the server's answer
}

func startProxy(t *testing.T, url string) (p *proxy, through string) {
	t.Helper()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p = &proxy{Listener: listener, server: "127.0.0.1:" + rig.Cluster(t).Port}
	p.open.Go(func() {
		for {
			client, err := p.Accept()
			if err != nil {
				return
			}
			p.open.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() { listener.Close(); p.open.Wait() })
	return p, strings.Replace(url, p.server, listener.Addr().String(), 1)
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	var silent atomic.Bool
	committed := make(chan struct{}, 1)
	p.open.Go(func() {
		buffer := make([]byte, 64<<10)
		var messages messageReader
		for {
			n, err := server.Read(buffer)
			messages.each(buffer[:n], func(kind byte) {
				switch kind {
				case 'Z':
					p.trips.Add(1)
				case 'C':
					p.ran.Add(1)
				}
			})
			if silent.Load() { // the connection to the client waits for the commit
				committed <- struct{}{}
				return
			}
			if err == nil {
				_, err = client.Write(buffer[:n])
			}
			if err != nil {
				client.Close()
				return
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("COMMIT\x00")) {
			if c := p.cut.Swap(nil); c != nil {
				p.cuts.Add(1)
				silent.Store(true)
				if c.forward {
					server.Write(buffer[:n]) //nolint:errcheck // the test looks at what came of it
					<-committed
				}
				client.Write(c.answer) //nolint:errcheck // the connection ends in any case
				return
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// messageReader finds the messages that a server sends, however they are split.
type messageReader struct {
	head []byte // the beginning of a message: its kind and its length
	skip int    // what is left of one
}

// each calls found with the kind of every message that begins here.
func (m *messageReader) each(data []byte, found func(kind byte)) {
	for len(data) > 0 {
		if m.skip > 0 {
			part := min(m.skip, len(data))
			m.skip, data = m.skip-part, data[part:]
			continue
		}
		m.head, data = append(m.head, data[0]), data[1:]
		if len(m.head) < 5 {
			continue
		}
		m.skip = int(binary.BigEndian.Uint32(m.head[1:])) - 4
		found(m.head[0])
		m.head = m.head[:0]
	}
}

// farewell is what a server or a pooler sends to its clients when it shuts down.
func farewell(code string) []byte {
	fields := "SFATAL\x00VFATAL\x00C" + code + "\x00Mgoodbye\x00\x00"
	return append([]byte{'E', 0, 0, 0, byte(len(fields) + 4)}, fields...)
}

// A client that loses the connection during a commit does not know whether the commit happened. That is not a success,
// and there is no retry: the change may be there already.
func TestConcurrentCommitThatNobodyAnsweredIsNeitherAcknowledgedNorRepeated(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	p, through := startProxy(t, url)
	s := open(t, store.Options{Database: through})
	account := newAccount(t, s).Number
	var want int64
	for _, test := range []struct {
		name string
		cut  ending
	}{
		{"cut after the server committed", ending{forward: true}},
		{"ended by a server that shuts down", ending{true, farewell("57P01")}},
		{"ended by a pooler that lost the server", ending{true, farewell("08P01")}},
		{"cut before the server committed", ending{forward: false}},
	} {
		p.cut.Store(&test.cut)
		_, err := s.CreateContact(t.Context(), account, input(t, named("Ana")), crm.Force)
		wantError(t, test.name, err, crm.ErrUnavailable)
		if test.cut.forward {
			want++
		}
		if _, total := page(t, s, account, crm.Active, 1, 10); total != want {
			t.Errorf("%s: %d contacts, want %d", test.name, total, want)
		}
	}
	equal(t, p.cuts.Load(), 4)
	if d := create(t, s, account, `{"emails":[{"value":"ana@x.org"}]}`); !d.Merged {
		t.Errorf("the repeated create made %+v", d)
	}
}

// client is a connection of someone else to a database, which fails the test where a statement fails.
func client(t *testing.T, url string) (exec func(sql string, args ...any)) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), url))(t)
	t.Cleanup(func() { conn.Close(context.Background()) }) //nolint:errcheck // the test is over
	return func(sql string, args ...any) {
		t.Helper()
		must(conn.Exec(t.Context(), sql, args...))(t)
	}
}

const lockTally = `SELECT 1 FROM account_tally WHERE account_id = $1 FOR UPDATE`

// Two transactions that lock two accounts in opposite order wait for each other until the server ends one of them. If
// it is ours, it is retried and the client does not notice.
func TestConcurrentDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	exec := client(t, url)
	exec("SET deadlock_timeout = '1h'") // so that the server ends ours
	exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''600ms''', current_database()); END $$")
	s := open(t, store.Options{Database: url})
	low, high := newAccount(t, s).Number, newAccount(t, s).Number
	attempts, done := make(chan error, 2), make(chan error, 1)
	exec("BEGIN")
	exec(lockTally, high)
	go func() {
		done <- s.DB().Update(t.Context(), low, nil, func(b db.Batch) error { // as an import for several accounts does
			lock := b.(interface {
				Lock(read func(db.Row), table *db.Table, key ...any) (bool, error)
			}).Lock
			_, first := lock(func(db.Row) {}, s.DB().Table("account_tally"), low)
			_, second := lock(func(db.Row) {}, s.DB().Table("account_tally"), high)
			attempts <- errors.Join(first, second)
			return errors.Join(first, second)
		})
	}()
	waitUntil(t, url, blocked, 1)
	exec(lockTally, low)
	exec("COMMIT")
	succeed(t, <-done)
	if err := <-attempts; err == nil {
		t.Error("there was no deadlock: the test has not come to its point")
	}
}

// If a campaign locked its owner first and its beneficiary later, two organizations that benefit each other would wait
// for each other.
func TestConcurrentCampaignLocksAccountsInAscendingOrder(t *testing.T) {
	t.Parallel()
	url := rig.Database(t)
	s := open(t, store.Options{Database: url})
	beneficiary, owner := newAccount(t, s), newAccount(t, s)
	if beneficiary.Number > owner.Number {
		beneficiary, owner = owner, beneficiary
	}
	exec := client(t, url)
	change := func(do func() error) {
		t.Helper()
		exec("BEGIN")
		exec(lockTally, beneficiary.Number)
		done := make(chan error, 1)
		go func() { done <- do() }()
		waitUntil(t, url, blocked, 1)
		exec(lockTally+" NOWAIT", owner.Number) // it is free while the change waits
		exec("ROLLBACK")
		succeed(t, <-done)
	}
	title, benefits, none := "Gala", []string{beneficiary.ID}, []string{}
	var made campaign.Campaign
	change(func() (err error) {
		made, err = s.CreateCampaign(t.Context(), owner, campaign.Input{Title: &title, Beneficiaries: &benefits})
		return err
	})
	change(func() error {
		_, err := s.UpdateCampaign(t.Context(), owner, made.ID, campaign.Input{Beneficiaries: &none})
		return err
	})
	equal(t, len(must(s.Campaign(t.Context(), owner.Number, made.ID))(t).Beneficiaries), 0)
}
