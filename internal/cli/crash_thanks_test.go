package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"donorbook/client"
	"donorbook/internal/store"
)

// thanker is one client that records gifts of new people without a pause: some are thanked for at once with a receipt, others get one afterwards, and a part of these is given back.
type thanker struct {
	name  string
	gifts []*thankedGift
}

type thankedGift struct {
	key, email        string
	thanked, refunded bool
	id                string
	done              bool
}

// finish does what is left to do for a gift. Whatever was done before and not answered is done once.
func (g *thankedGift) finish(ctx context.Context, c *client.Client) (alive bool, err error) {
	made, failed := c.Transactions.Create(client.WithIdempotencyKey(ctx, g.key), client.TransactionInput{
		Amount: "50", Method: "check", TransactedAt: time.Now().Format(time.DateOnly), FirstName: "Ada", LastName: g.key, Email: g.email, SendReceipt: g.thanked,
	})
	if failed == nil && !g.thanked {
		_, failed = c.Transactions.IssueReceipt(ctx, made.ID)
	}
	if failed == nil && g.refunded {
		_, failed = c.Transactions.Refund(client.WithIdempotencyKey(ctx, g.key+"-back"), made.ID, "20")
	}
	g.id, g.done = made.ID, failed == nil
	return answered(failed)
}

func (w *thanker) step(ctx context.Context, c *client.Client) (alive bool, err error) {
	if n := len(w.gifts); n == 0 || w.gifts[n-1].done {
		key := fmt.Sprintf("%s-%d", w.name, n)
		w.gifts = append(w.gifts, &thankedGift{key: key, email: key + "@example.org", thanked: n%2 == 0, refunded: n%3 == 0})
	}
	return w.gifts[len(w.gifts)-1].finish(ctx, c)
}

// TestKillWhileGiftsAreThanked: after twenty times kill -9, each gift has one thank-you, each refund one email, each gift one valid receipt, and no number is missing.
func TestKillWhileGiftsAreThanked(t *testing.T) { eachEngine(t, killWhileGiftsAreThanked) }

func killWhileGiftsAreThanked(t *testing.T, e engine) {
	const kills = 20
	data := e.data(t)
	_, key := newKey(t, data)
	office, port := openOffice(t)
	var all []*thanker
	for i := range 4 {
		all = append(all, &thanker{name: fmt.Sprintf("t%d", i)})
	}
	for range kills {
		p := serve(t, data, mailing(port)...)
		c := p.api(key, client.WithRetries(0))
		var done atomic.Int64
		var working sync.WaitGroup
		for _, w := range all {
			working.Go(func() {
				for {
					alive, err := w.step(t.Context(), c)
					if err != nil {
						t.Error(err)
					}
					if err != nil || !alive {
						return
					}
					done.Add(1)
				}
			})
		}
		p.waitFor("some gifts", func() bool { return done.Load() > 6 || t.Failed() })
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		p.kill()
		if working.Wait(); t.Failed() {
			return
		}
	}
	p := serve(t, data, mailing(port)...)
	c := p.api(key)
	wanted, mails, gifts := map[string]int{}, 0, 0
	valid := map[string]int{}
	for _, w := range all {
		for _, g := range w.gifts {
			if !g.done {
				must(g.finish(t.Context(), c))(t)
			}
			gifts++
			for _, isTold := range []bool{g.thanked, g.refunded} {
				if isTold {
					wanted[g.email]++
					mails++
				}
			}
			valid[g.id] = 0
		}
	}
	next := 0
	for r, err := range c.Receipts.List(t.Context(), client.ReceiptFilter{}) {
		var year, number int
		if _, scanned := fmt.Sscanf(r.Number, "%d-%d", &year, &number); err != nil || scanned != nil || next != 0 && number != next-1 {
			t.Fatalf("%v: %s follows number %d", err, r.Number, next)
		}
		if next = number; r.Status == "valid" {
			valid[r.TransactionID]++
		}
	}
	if next != 1 {
		t.Errorf("the first receipt has number %d", next)
	}
	for id, n := range valid {
		if n != 1 {
			t.Errorf("gift %s has %d valid receipts", id, n)
		}
	}
	p.stop()
	office.sendRest(t, store.Options{Data: data, Database: databaseOf(data)}, port)
	got := map[string]int{}
	for _, to := range office.to {
		got[to]++
	}
	for email, n := range wanted {
		if got[email] != n {
			t.Errorf("%s got %d mails, not %d", email, got[email], n)
		}
	}
	if len(got) != len(wanted) || len(office.to) != mails || office.twice() > (kills+1)*atOnce {
		t.Errorf("%d mails for %d gifts, not %d; %d of them again", len(office.to), gifts, mails, office.twice())
	}
	t.Logf("%d gifts, %d mails, %d again", gifts, len(office.to), office.twice())
	wantSound(t, data)
}
