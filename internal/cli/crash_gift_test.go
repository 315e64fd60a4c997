package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// givenGift is a gift that a client has sent, under a key of its own, and whether it was answered.
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

type gift struct {
	ID           string
	Amount       float64
	Transactions []struct{ Amount float64 }
}

func (g *givenGift) body(contact int64) string {
	return fmt.Sprintf(`{"contact_id":%d,"amount":%d.%02d,"method":"card","transacted_at":"2026-01-31"}`, contact, g.cents/100, g.cents%100)
}

// post sends the gift, again where it was sent before. alive is false once the connection is gone.
func (g *givenGift) post(p *process, key string, contact int64) (alive bool, err error) {
	a, failed := p.send(key, "POST", "/v1/transactions", g.body(contact), "Idempotency-Key", g.key)
	switch {
	case failed != nil:
		return false, nil
	case a.status != http.StatusCreated:
		return true, fmt.Errorf("gift: %s", a)
	}
	g.id, g.answered = decode[gift](p.t, a.body).ID, true
	return true, nil
}

// refund gives a cent back.
func (g *givenGift) refund(p *process, key string, r *sentRefund) (alive bool, err error) {
	a, failed := p.send(key, "POST", "/v1/transactions/"+g.id+"/refund", `{"amount":0.01}`, "Idempotency-Key", r.key)
	switch {
	case failed != nil:
		return false, nil
	case a.status != http.StatusOK:
		return true, fmt.Errorf("refund: %s", a)
	}
	r.answered = true
	return true, nil
}

// giver is one client that gives and refunds without pause.
type giver struct {
	name    string
	contact int64
	gifts   []*givenGift
	sent    int
}

func (w *giver) step(p *process, key string) (alive bool, err error) {
	w.sent++
	attempt := fmt.Sprintf("%s-%d", w.name, w.sent)
	if len(w.gifts) > 0 && rand.IntN(3) == 0 {
		g := w.gifts[rand.IntN(len(w.gifts))]
		if !g.answered || len(g.refunds) > 5 {
			return true, nil
		}
		r := &sentRefund{key: attempt}
		g.refunds = append(g.refunds, r)
		return g.refund(p, key, r)
	}
	g := &givenGift{key: attempt, cents: 100 + rand.IntN(10_000)}
	w.gifts = append(w.gifts, g)
	return g.post(p, key, w.contact)
}

// settle sends everything again that was never answered, and then looks whether each gift is there once, with each refund once, and whether the
// contact's number is their sum.
func (w *giver) settle(p *process, key string) {
	total := 0
	for _, g := range w.gifts {
		if !g.answered {
			if _, err := g.post(p, key, w.contact); err != nil {
				p.t.Error(err)
				return
			}
		}
		for _, r := range g.refunds {
			if !r.answered {
				if _, err := g.refund(p, key, r); err != nil {
					p.t.Error(err)
					return
				}
			}
		}
		found := decode[gift](p.t, p.call(key, http.StatusOK, "GET", "/v1/transactions/"+g.id, "").body)
		if int(found.Amount*100+0.5) != g.cents || len(found.Transactions) != 1+len(g.refunds) {
			p.t.Errorf("%s: %+v, and %d cents with %d refunds were acknowledged", w.name, found, g.cents, len(g.refunds))
		}
		total += g.cents - len(g.refunds)
	}
	listed := decode[struct{ Meta struct{ Total int } }](p.t, p.call(key, http.StatusOK, "GET", fmt.Sprintf("/v1/transactions?contact_id=%d", w.contact), "").body)
	if listed.Meta.Total != len(w.gifts) {
		p.t.Errorf("%s: %d gifts are listed, and %d were sent", w.name, listed.Meta.Total, len(w.gifts))
	}
	contact := decode[struct {
		Stats struct {
			Total int `json:"total_contributions"`
		}
	}](p.t, p.call(key, http.StatusOK, "GET", fmt.Sprintf("/v1/contacts/%d", w.contact), "").body)
	if contact.Stats.Total != total/100 {
		p.t.Errorf("%s: the contact's contributions are %d, and %d cents were given", w.name, contact.Stats.Total, total)
	}
}

// TestKillUnderGifts: no gift or refund that was acknowledged before kill -9 is lost, and one that is sent again with its key counts once.
func TestKillUnderGifts(t *testing.T) { eachEngine(t, killUnderGifts) }

func killUnderGifts(t *testing.T, e engine) {
	data := e.data(t)
	_, key := newKey(t, data)
	givers := make([]*giver, 8)
	p := serve(t, data, "--rate-limit", "0")
	for i := range givers {
		a := p.call(key, http.StatusCreated, "POST", "/v1/contacts", fmt.Sprintf(`{"first_name":"Ada","last_name":"Giver %d"}`, i))
		givers[i] = &giver{name: fmt.Sprintf("g%d", i), contact: decode[contact](t, a.body).ID}
	}
	for range 3 {
		var acknowledged atomic.Int64
		var group sync.WaitGroup
		for _, w := range givers {
			group.Go(func() {
				for {
					alive, err := w.step(p, key)
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
		for _, w := range givers {
			w.settle(p, key)
		}
	}
	p.stop()
	checkIntegrity(t, data)
	wantTyped(t, exitOK, "", "check", "--data", data)
}
