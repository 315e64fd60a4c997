package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/client"
)

// givenGift is a gift that a client has sent, with its own key, and whether it was answered.
type givenGift struct {
	key, id  string
	cents    int
	refunds  []*sentRefund
	answered bool
}

type sentRefund struct {
	key      string
	answered bool
}

// post sends the gift, or sends it again. alive is false once the connection is gone.
func (g *givenGift) post(ctx context.Context, c *client.Client, contact int64) (alive bool, err error) {
	gift, failed := c.Transactions.Create(client.WithIdempotencyKey(ctx, g.key), client.TransactionInput{
		ContactID: contact, Amount: money(g.cents), Method: "card", TransactedAt: "2026-01-31",
	})
	g.id, g.answered = gift.ID, failed == nil
	return answered(failed)
}

// refund refunds one cent.
func (g *givenGift) refund(ctx context.Context, c *client.Client, r *sentRefund) (alive bool, err error) {
	_, failed := c.Transactions.Refund(client.WithIdempotencyKey(ctx, r.key), g.id, "0.01")
	r.answered = failed == nil
	return answered(failed)
}

// answered distinguishes a refusal, which is an error, from a lost connection.
func answered(failed error) (alive bool, err error) {
	var refused *client.Error
	switch {
	case failed == nil:
		return true, nil
	case errors.As(failed, &refused):
		return true, failed
	}
	return false, nil
}

// giver is one client that gives and refunds without a pause.
type giver struct {
	name    string
	contact int64
	gifts   []*givenGift
	sent    int
}

func (w *giver) step(ctx context.Context, c *client.Client) (alive bool, err error) {
	w.sent++
	attempt := fmt.Sprintf("%s-%d", w.name, w.sent)
	if len(w.gifts) > 0 && rand.IntN(3) == 0 {
		g := w.gifts[rand.IntN(len(w.gifts))]
		if !g.answered || len(g.refunds) > 5 {
			return true, nil
		}
		r := &sentRefund{key: attempt}
		g.refunds = append(g.refunds, r)
		return g.refund(ctx, c, r)
	}
	g := &givenGift{key: attempt, cents: 100 + rand.IntN(10_000)}
	w.gifts = append(w.gifts, g)
	return g.post(ctx, c, w.contact)
}

// money is an amount as the API writes it: without trailing zeros.
func money(cents int) client.Money { return client.Money(fmt.Sprint(float64(cents) / 100)) }

// settle resends everything that was never answered. Then it checks that each gift and each refund exists once, and that the
// contact's total is their sum.
func (w *giver) settle(t *testing.T, c *client.Client) {
	ctx := t.Context()
	cents := 0
	for _, g := range w.gifts {
		if !g.answered {
			if _, err := g.post(ctx, c, w.contact); err != nil {
				t.Error(err)
				return
			}
		}
		for _, r := range g.refunds {
			if !r.answered {
				if _, err := g.refund(ctx, c, r); err != nil {
					t.Error(err)
					return
				}
			}
		}
		found, err := c.Transactions.Get(ctx, g.id)
		if err != nil || found.Amount != money(g.cents) || len(found.Transactions) != 1+len(g.refunds) {
			t.Errorf("%s: %+v, and %s with %d refunds was acknowledged: %v", w.name, found, money(g.cents), len(g.refunds), err)
		}
		cents += g.cents - len(g.refunds)
	}
	w.wantGifts(t, c, len(w.gifts), int64(cents/100))
}

// wantGifts compares the contact with what it gave: the number of gifts, and their total in whole dollars.
func (w *giver) wantGifts(t *testing.T, c *client.Client, gifts int, total int64) {
	listed, err := c.Transactions.Page(t.Context(), client.TransactionFilter{ContactID: &w.contact}, 1)
	if err != nil || listed.Total != int64(gifts) {
		t.Errorf("%s: %d gifts are listed, and %d were sent: %v", w.name, listed.Total, gifts, err)
	}
	contact, err := c.Contacts.Get(t.Context(), w.contact)
	if err != nil || contact.Stats.TotalContributions != total {
		t.Errorf("%s: the contact's contributions are %d, and %d was given: %v", w.name, contact.Stats.TotalContributions, total, err)
	}
}

func newGivers(t *testing.T, c *client.Client, n int) []*giver {
	givers := make([]*giver, n)
	for i := range givers {
		made, _ := must2(c.Contacts.Create(t.Context(), client.ContactInput{FirstName: "Ada", LastName: fmt.Sprint("Giver ", i)}))(t)
		givers[i] = &giver{name: fmt.Sprintf("g%d", i), contact: made.ID}
	}
	return givers
}

// TestKillUnderGifts: no gift or refund that was acknowledged before kill -9 is lost, and one that is resent with its key counts
// once.
func TestKillUnderGifts(t *testing.T) { eachEngine(t, killUnderGifts) }

func killUnderGifts(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "0")
	givers := newGivers(t, p.api(key), 8)
	for range 3 {
		var acknowledged atomic.Int64
		var group sync.WaitGroup
		c := p.api(key, client.WithRetries(0))
		for _, w := range givers {
			group.Go(func() {
				for {
					alive, err := w.step(t.Context(), c)
					if err != nil {
						t.Error(err)
					}
					if err != nil || !alive {
						return
					}
					acknowledged.Add(1)
				}
			})
		}
		p.waitFor("some gifts", func() bool { return acknowledged.Load() > 60 || t.Failed() })
		time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
		p.kill()
		group.Wait()
		if t.Failed() {
			return
		}
		p = serve(t, data, "--rate-limit", "0")
		c = p.api(key)
		for _, w := range givers {
			w.settle(t, c)
		}
	}
	p.stop()
	checkIntegrity(t, data)
	wantSound(t, data)
}

// TestClientOutlivesTheServer: a client does not notice that the server was killed and restarted, and each of its gifts counts
// once.
func TestClientOutlivesTheServer(t *testing.T) { eachEngine(t, clientOutlivesTheServer) }

func clientOutlivesTheServer(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	p := serve(t, data, "--rate-limit", "0")
	var current atomic.Pointer[process] // the next server listens elsewhere
	current.Store(p)
	transport := p.newClient().Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if server := current.Load(); server != nil {
			return new(net.Dialer).DialContext(ctx, network, server.addr())
		}
		return nil, errors.New("no server")
	}
	c := p.api(key, client.WithHTTPClient(&http.Client{Transport: transport, Timeout: patience}), client.WithRetries(20))
	givers := newGivers(t, c, 4)
	var given atomic.Int64
	var enough atomic.Bool
	var group sync.WaitGroup
	for _, w := range givers {
		group.Go(func() {
			for ; !enough.Load(); given.Add(1) {
				if _, err := c.Transactions.Create(t.Context(), client.TransactionInput{ContactID: w.contact, Amount: "1.01", Method: "cash", TransactedAt: "2026-01-31"}); err != nil {
					t.Error(err)
					return
				}
				w.sent++
			}
		})
	}
	for range 2 {
		before := given.Load()
		p.waitFor("some gifts", func() bool { return given.Load() > before+20 || t.Failed() })
		current.Store(nil)
		p.kill()
		p = serve(t, data, "--rate-limit", "0")
		current.Store(p)
	}
	enough.Store(true)
	group.Wait()
	for _, w := range givers {
		w.wantGifts(t, c, w.sent, int64(w.sent*101/100))
	}
	c.CloseIdleConnections()
	p.stop()
}
